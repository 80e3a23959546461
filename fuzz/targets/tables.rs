//! Any bytes as a workbook, a Parquet or Arrow file, or gzip text, whichever they begin like: an error or a table, never a
//! panic. The first byte gives the options, the rest is the file; text that is no gzip is compressed first.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use multikernel::data::{ReadOptions, read_from};
use multikernel_fuzz::refusing;

fn compressed(text: &[u8]) -> Vec<u8> {
    let mut file = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    file.write_all(text).and_then(|()| file.finish()).expect("memory takes what is written")
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&how, content)) = bytes.split_first() else { return };
    let mut options = ReadOptions::default();
    options.memory = Some(1 << 24);
    options.label = (how & 1 != 0).then(|| "-1".to_string());
    options.target = if how & 2 != 0 { vec!["0".into()] } else { vec![] };
    options.unlabelled = how & 4 != 0 && how & 3 == 0;
    options.transpose = how & 8 != 0;
    let (name, content) = match content {
        [b'P', b'K', ..] => ("f.xlsx", content.to_vec()),
        [b'P', b'A', b'R', b'1', ..] => ("f.parquet", content.to_vec()),
        [b'A', b'R', b'R', b'O', ..] => ("f.arrow", content.to_vec()),
        [0x1f, 0x8b, ..] => ("f.csv.gz", content.to_vec()),
        text => ("f.csv.gz", compressed(text)),
    };
    refusing(|| drop(read_from(content.as_slice(), name, &options)));
});
