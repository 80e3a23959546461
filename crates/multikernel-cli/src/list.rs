//! `datasets list` and `methods`.

use anyhow::Result;
use multikernel::data::bundled_sets;
use multikernel::method::Registry;
use multikernel::report::{Table, datasets_json, methods_json};

use crate::args::{ListDatasets, Methods};
use crate::print;

pub(crate) fn datasets(args: &ListDatasets) -> Result<()> {
    if args.json {
        return print(&(datasets_json() + "\n"));
    }
    let mut table = Table::new(&["name", "rows", "features", "classes", "views", "licence", "source"]);
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
    if args.json {
        return print(&(methods_json(registry) + "\n"));
    }
    let mut blocks = vec![];
    for method in registry.iter() {
        let about = method.about();
        let mut block = format!("{}: {}\n", about.name, about.summary);
        if !about.bank.is_empty() {
            block += &format!("  default bank: {}\n", about.bank);
        }
        for param in about.params {
            block += &format!("  {} = {}  ({})\n      {}\n", param.name, param.default, param.allowed, param.help);
        }
        blocks.push(block);
    }
    print(&blocks.join("\n"))
}
