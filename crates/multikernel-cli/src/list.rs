//! `datasets list` and `methods`.

use anyhow::Result;
use multikernel::data::bundled_sets;
use multikernel::method::Registry;
use multikernel::report::Table;
use serde_json::json;

use crate::args::{Datasets, DatasetsCommand, Methods};
use crate::print;

pub(crate) fn datasets(args: &Datasets) -> Result<()> {
    let DatasetsCommand::List(args) = &args.command;
    let sets = bundled_sets();
    if args.json {
        let sets: Vec<_> = sets
            .iter()
            .map(|set| {
                let views: serde_json::Map<_, _> = set.views.iter().map(|(name, columns)| (name.to_string(), json!(columns))).collect();
                json!({"name": set.name, "n_samples": set.n_samples, "n_features": set.n_features, "n_classes": set.n_classes, "views": views, "source": set.source, "licence": set.licence, "note": set.note})
            })
            .collect();
        return print(&format!("{:#}\n", json!(sets)));
    }
    let mut table = Table::new(&["name", "rows", "features", "classes", "views", "licence", "source"]);
    for set in sets {
        table.row(vec![
            set.name.to_string(),
            set.n_samples.to_string(),
            set.n_features.to_string(),
            set.n_classes.to_string(),
            set.views.iter().map(|(name, columns)| format!("{name} ({columns})")).collect::<Vec<_>>().join(" "),
            set.licence.to_string(),
            set.source.to_string(),
        ]);
    }
    print(&table.to_string())
}

pub(crate) fn methods(args: &Methods, registry: &Registry) -> Result<()> {
    if args.json {
        let methods: Vec<_> = registry
            .iter()
            .map(|method| {
                let about = method.about();
                let params: Vec<_> = about
                    .params
                    .iter()
                    .map(|param| json!({"name": param.name, "default": param.default, "allowed": param.allowed.to_string(), "help": param.help}))
                    .collect();
                json!({"name": about.name, "summary": about.summary, "bank": about.bank, "params": params})
            })
            .collect();
        return print(&format!("{:#}\n", json!(methods)));
    }
    let mut text = String::new();
    for method in registry.iter() {
        let about = method.about();
        text += &format!("{}: {}\n", about.name, about.summary);
        if !about.bank.is_empty() {
            text += &format!("  default bank: {}\n", about.bank);
        }
        for param in about.params {
            text += &format!("  {} = {}  ({})\n      {}\n", param.name, param.default, param.allowed, param.help);
        }
        text += "\n";
    }
    print(text.trim_end_matches('\n'))?;
    print("\n")
}
