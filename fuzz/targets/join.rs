//! Any bytes as two views and a file of labels, with options taken from the first byte: an error or rows that fit together,
//! never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multikernel::data::{Gram, MissingLabels, ReadOptions, Samples, ViewSource, labelled, read_matrix, read_views};
use multikernel_fuzz::written;

fuzz_target!(|bytes: &[u8]| {
    let Some((&how, content)) = bytes.split_first() else { return };
    // Files end at a byte that no text has.
    let mut parts = content.split(|&byte| byte == 0xff);
    let mut path = |name: &str| written(name, parts.next().unwrap_or_default());
    let views = ["a", "b"].map(|name| ViewSource { name: name.into(), source: path(&format!("{name}.csv")) });
    let labels = path("labels.csv");
    let mut options = ReadOptions::default();
    options.memory = Some(1 << 22);
    options.id = (how & 1 != 0).then(|| "0".to_string());
    options.groups = (how & 2 != 0).then(|| "g".to_string());
    options.target = if how & 4 != 0 { vec!["t".into()] } else { vec![] };
    options.event = (how & 12 == 12).then(|| "e".to_string());
    options.missing_labels = if how & 16 != 0 { MissingLabels::Drop } else { MissingLabels::Refuse };
    let given = (how & 32 != 0).then_some(labels.as_str());
    if let Ok(table) = read_views(&views, given, &options) {
        let n = table.samples.n_samples();
        assert!(table.labels.as_ref().is_none_or(|labels| labels.len() == n));
        let set = match (options.target.is_empty(), &options.event) {
            (true, _) => table.into_dataset(),
            (false, None) => table.into_numbers(&options.target),
            (false, Some(event)) => table.into_times("t", event),
        };
        if let Ok(set) = set {
            assert_eq!(set.labels.codes().len(), set.samples.n_samples());
            let _ = labelled(set.samples, &labels, &options);
        }
    }
    if let Ok(matrix) = read_matrix(views[0].source.as_ref(), Some(1 << 22))
        && let Ok(gram) = Gram::square("k", matrix)
        && let Ok(samples) = Samples::of_grams(vec![gram])
    {
        let _ = labelled(samples, &labels, &options);
    }
});
