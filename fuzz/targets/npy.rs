//! Any bytes as .npy (first byte even) or .npz: an error or a table, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multikernel::data::{ReadOptions, read_from};

fuzz_target!(|bytes: &[u8]| {
    let Some((&how, bytes)) = bytes.split_first() else { return };
    let mut options = ReadOptions::default();
    options.memory = Some(1 << 24);
    options.unlabelled = how & 2 != 0;
    let _ = read_from(bytes, if how & 1 == 0 { "f.npy" } else { "f.npz" }, &options);
});
