//! Any bytes as LIBSVM text: an error or a table, never a panic; a table that was read is one that can be trained on.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multikernel::data::{Format, ReadOptions, read_from};

fuzz_target!(|bytes: &[u8]| {
    let mut options = ReadOptions::default();
    options.format = Some(Format::Libsvm);
    options.memory = Some(1 << 24);
    if let Ok(table) = read_from(bytes, "f", &options) {
        assert_eq!(table.labels.as_ref().map(Vec::len), Some(table.samples.n_samples()));
        let expect = table.clone().into_dataset().ok().map(|set| set.expect());
        if let Some(expect) = expect {
            options.expect = Some(expect);
            let again = read_from(bytes, "f", &options).expect("its own rows fit a model of them");
            assert_eq!(again.samples, table.samples);
        }
    }
});
