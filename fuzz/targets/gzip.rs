//! Any bytes as gzip text, one member or several: an error or a table, never a panic. Bytes that are no gzip are packed
//! first, so that text comes through.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use multikernel::data::{Format, read_from};
use multikernel_fuzz::options;

fuzz_target!(|bytes: &[u8]| {
    let Some((&how, content)) = bytes.split_first() else { return };
    let mut options = options();
    options.format = [None, Some(Format::Csv), Some(Format::Libsvm), Some(Format::Tsv)][usize::from(how & 3)];
    options.unlabelled = how & 4 != 0;
    if content.starts_with(&[0x1f, 0x8b]) {
        let _ = read_from(content, "f.gz", &options);
        return;
    }
    let mut file = flate2::write::GzEncoder::new(vec![], flate2::Compression::none());
    let packed = file.write_all(content).and_then(|()| file.finish()).expect("memory takes what is written");
    let (packed, plain) = (read_from(packed.as_slice(), "f", &options), read_from(content, "f", &options));
    // Without a format told, the first bytes of what is not packed may say that it is no text.
    if options.format.is_none() {
        return;
    }
    assert_eq!(packed.map_err(|error| error.to_string()), plain.map_err(|error| error.to_string()));
});
