//! What was run: settings, seed, version, fingerprint and the command that makes it again.

use super::super::html::{Figure, Section, Table};

/// Names and values.
pub(in crate::report::page) fn section(facts: &[(String, String)]) -> Section {
    let mut table = Table::new("What was run", &["setting", "value"]);
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        table.row(vec![name.clone().into(), value.clone().into()]);
    }
    Section {
        id: "settings",
        title: "Settings".into(),
        says: "With the same version, data and settings, the same figures come out, bit for bit, on any number of threads.".into(),
        figures: vec![Figure { svg: String::new(), table }],
    }
}
