//! Any bytes as delimited text, with options taken from the first byte: an error or a table, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multikernel::data::{Format, ReadOptions, group_columns, read_from};

fuzz_target!(|bytes: &[u8]| {
    let Some((&how, text)) = bytes.split_first() else { return };
    let mut options = ReadOptions::default();
    options.memory = Some(1 << 24);
    options.format = Some(if how & 1 == 0 { Format::Csv } else { Format::Tsv });
    options.header = [None, Some(true), Some(false), None][usize::from(how >> 1 & 3)];
    options.label = (how & 8 != 0).then(|| "0".to_string());
    options.id = (how & 16 != 0).then(|| "1".to_string());
    options.groups = (how & 32 != 0).then(|| "-1".to_string());
    options.unlabelled = how & 64 != 0;
    if let Ok(table) = read_from(text, "f", &options) {
        assert!(table.labels.as_ref().is_none_or(|labels| labels.len() == table.samples.n_samples()));
        let names = table.samples.names().to_vec();
        let views = [("a".to_string(), format!("{}*", names[0])), ("b".to_string(), "0:1".to_string())];
        let _ = group_columns(table.clone(), &views[..1]);
        let _ = group_columns(table.clone(), &views);
        if let Ok(set) = table.into_dataset() {
            options.expect = Some(set.expect());
            let _ = read_from(text, "f", &options);
        }
    }
});
