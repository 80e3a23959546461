//! Forged models of streams: an error, or a stream that goes on, is stored and read again.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use multikernel::file::{self, Kind};
use multikernel::{Model, Online, OnlineOptions};
use multikernel_fuzz::{Seed, forged, learn, pool, streams};

fuzz_target!(|bytes: &[u8]| {
    static SEEDS: OnceLock<Vec<Seed>> = OnceLock::new();
    let prefix = if bytes.len() % 4 == 0 { "" } else { "stream" };
    let Some((seed, record)) = forged(SEEDS.get_or_init(streams), bytes, prefix) else { return };
    let Ok(model) = file::bytes(Kind::Model, &record).and_then(|bytes| Model::from_bytes(&bytes)) else { return };
    let Ok(mut online) = Online::from_model(model, &seed.plan, &OnlineOptions::default(), pool()) else { return };
    if learn(&mut online, &seed.data.select(&(0..9).collect::<Vec<_>>())).is_ok() {
        let _ = online.model().and_then(|model| model.predict_in(&seed.few, pool()));
    }
});
