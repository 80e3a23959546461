//! Forged checkpoints of every method: an error, or a run that goes on from there.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use multikernel::file::{self, Kind};
use multikernel_fuzz::{Seed, checkpoints, forged, train, written};

fuzz_target!(|bytes: &[u8]| {
    static SEEDS: OnceLock<Vec<Seed>> = OnceLock::new();
    let prefix = if bytes.len() % 8 == 0 { "" } else { "state" };
    let Some((seed, record)) = forged(SEEDS.get_or_init(checkpoints), bytes, prefix) else { return };
    let Ok(bytes) = file::bytes(Kind::Checkpoint, &record) else { return };
    written("checkpoint", &bytes);
    let _ = train(&seed.plan, seed.method, &seed.data, 2, true);
});
