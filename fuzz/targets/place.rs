//! Forged models of clusterings: an error, or a place for each row.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use multikernel::Model;
use multikernel::file::{self, Kind};
use multikernel_fuzz::{Seed, forged, models, pool};

fuzz_target!(|bytes: &[u8]| {
    static SEEDS: OnceLock<Vec<Seed>> = OnceLock::new();
    let seeds = SEEDS.get_or_init(|| models(|model| model.clustering().is_some()));
    let Some((seed, record)) = forged(seeds, bytes, "") else { return };
    let Ok(model) = file::bytes(Kind::Model, &record).and_then(|bytes| Model::from_bytes(&bytes)) else { return };
    let Some(clusters) = model.clustering() else { return };
    let _ = (clusters.clusters().len(), clusters.threshold(0.05), clusters.relevance());
    if let Ok(placed) = clusters.place_in(&seed.few, pool()) {
        assert_eq!(placed.clusters.len(), seed.few.n_samples());
    }
});
