//! Any bytes as .npz (where they begin like an archive) or .npy: an error or a table, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multikernel::data::{ReadOptions, read_from};

fuzz_target!(|bytes: &[u8]| {
    let mut options = ReadOptions::default();
    options.memory = Some(1 << 24);
    options.label = (bytes.len() % 3 == 1).then(|| "-1".to_string());
    options.unlabelled = bytes.len() % 3 == 2;
    let _ = read_from(bytes, if bytes.starts_with(b"PK") { "f.npz" } else { "f.npy" }, &options);
});
