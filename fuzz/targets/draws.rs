//! Forged models of methods that sample: an error, or draws that are summarised and written as CSV and Arrow.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use multikernel::Model;
use multikernel::draws::DrawsFormat;
use multikernel::file::{self, Kind};
use multikernel_fuzz::{Seed, forged, models};

fuzz_target!(|bytes: &[u8]| {
    static SEEDS: OnceLock<Vec<Seed>> = OnceLock::new();
    let seeds = SEEDS.get_or_init(|| models(|model| model.draws().is_some()));
    let Some((_, record)) = forged(seeds, bytes, "") else { return };
    let Ok(model) = file::bytes(Kind::Model, &record).and_then(|bytes| Model::from_bytes(&bytes)) else { return };
    let Some(draws) = model.draws() else { return };
    let _ = (draws.summary(), draws.worst(), draws.verdict(), draws.outweighs(0, 1), model.kernels().intervals());
    let about = [("method", model.training().method().to_string())];
    let _ = (draws.encode(DrawsFormat::Csv, &about), draws.encode(DrawsFormat::Arrow, &about));
});
