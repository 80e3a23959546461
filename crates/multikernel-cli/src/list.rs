//! `datasets list` and `methods`.

use anyhow::Result;
use multikernel::data::bundled_sets;
use multikernel::plan::Registry;
use multikernel::report::{TextTable, datasets_json, methods_json};
use multikernel::run::{About, AnyMethod};

use crate::args::{ListDatasets, Methods};
use crate::print;

pub(crate) fn datasets(args: &ListDatasets) -> Result<()> {
    if args.json {
        return print(&(datasets_json() + "\n"));
    }
    let mut table = TextTable::new(&["name", "rows", "features", "classes", "views", "licence", "source"]);
    for set in bundled_sets() {
        let views: Vec<String> = set.views.iter().map(|(name, columns)| format!("{name} ({columns})")).collect();
        table.row(vec![
            set.name.to_string(),
            set.n_samples.to_string(),
            set.n_features.to_string(),
            set.n_classes.to_string(),
            views.join(" "),
            set.licence.to_string(),
            set.source.to_string(),
        ]);
    }
    print(&table.to_string())
}

pub(crate) fn methods(args: &Methods, registry: &Registry) -> Result<()> {
    let one = args.name.as_ref().map(|name| registry.get(name)).transpose()?;
    let chosen: Vec<&dyn AnyMethod> = one.as_ref().map_or(registry.iter().collect(), |method| vec![method.as_ref()]);
    if args.json {
        return print(&(methods_json(chosen) + "\n"));
    }
    if one.is_some() || args.all {
        return print(&chosen.iter().map(|method| card(*method)).collect::<Vec<_>>().join("\n"));
    }
    let lines: String = chosen.iter().map(|method| line(method.about())).collect();
    print(&(lines + "\n`multikernel methods NAME` shows the parameters of one, --all those of all.\n"))
}

/// A method with its parameters.
fn card(method: &dyn AnyMethod) -> String {
    let about = method.about();
    let mut card = format!("{}: {}\n", about.name, about.summary);
    if !about.bank.is_empty() {
        card += &format!("  default bank: {}\n", about.bank);
    }
    for param in method.param_list() {
        card += &format!("  {} = {}  ({})\n      {}\n", param.name, param.default, param.allowed, param.help);
    }
    card
}

/// A method's name and summary, wrapped to fit any terminal.
fn line(about: About) -> String {
    const INDENT: usize = 12;
    const WIDTH: usize = 80;
    let mut text = format!("{:<INDENT$}", about.name);
    let mut used = text.len();
    for word in about.summary.split_whitespace() {
        if used > INDENT && used + 1 + word.len() > WIDTH {
            text += &format!("\n{:INDENT$}", "");
            used = INDENT;
        } else if used > INDENT {
            text.push(' ');
            used += 1;
        }
        text += word;
        used += word.len();
    }
    text + "\n"
}
