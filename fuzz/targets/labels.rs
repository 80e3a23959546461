//! Any bytes as a file of labels, targets or times for rows with ids or without: an error or one of each per row.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use multikernel::data::{MissingLabels, read_with_labels};
use multikernel_fuzz::{options, written};

fuzz_target!(|bytes: &[u8]| {
    static ROWS: OnceLock<[String; 2]> = OnceLock::new();
    let rows = ROWS.get_or_init(|| {
        [
            written("ids.csv", b"id,a,b\ns1,1,2\ns2,3,4\ns3,5,6\ns4,7,9\n"),
            written("plain.csv", b"a,b\n1,2\n3,4\n5,6\n7,9\n"),
        ]
    });
    let Some((&how, content)) = bytes.split_first() else { return };
    let labels = written("given.csv", content);
    let mut options = options();
    options.target = if how & 2 != 0 { vec!["t".into()] } else { vec![] };
    options.event = (how & 6 == 6).then(|| "e".to_string());
    options.groups = (how & 8 != 0).then(|| "g".to_string());
    options.missing_labels = if how & 16 != 0 { MissingLabels::Drop } else { MissingLabels::Refuse };
    if let Ok(table) = read_with_labels(&rows[usize::from(how & 1)], &labels, &options) {
        let n = table.samples.n_samples();
        assert!(table.labels.as_ref().is_none_or(|labels| labels.len() == n));
        let set = match (options.target.is_empty(), &options.event) {
            (true, _) => table.into_dataset(),
            (false, None) => table.into_numbers(&options.target),
            (false, Some(event)) => table.into_times("t", event),
        };
        assert!(set.is_err() || set.is_ok_and(|set| set.labels.n_samples() == n));
    }
});
