//! Models of every method with some of their fields changed and the checksum right: an error, or a model that can be asked
//! for everything.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use multikernel::file::{self, Kind};
use multikernel::plan::PartsBy;
use multikernel::{Model, report};
use multikernel_fuzz::{Seed, forged, models, pool};

fuzz_target!(|bytes: &[u8]| {
    static SEEDS: OnceLock<Vec<Seed>> = OnceLock::new();
    let Some((seed, record)) = forged(SEEDS.get_or_init(|| models(|_| true)), bytes, "") else { return };
    let Ok(bytes) = file::bytes(Kind::Model, &record) else { return };
    let Ok(model) = Model::from_bytes(&bytes) else { return };
    let _ = (model.predict_in(&seed.few, pool()), model.probabilities_in(&seed.few, pool()));
    let _ = (model.parts_in(&seed.few, PartsBy::View, pool()), report::model_text(&model), report::model_json(&model));
    if let Some(numbers) = model.numbers() {
        let _ = numbers.intervals_in(&seed.few, 0.9, pool());
    }
    if let Some(times) = model.times() {
        let _ = times.survival_in(&seed.few, &[0.0, 5.0, f64::MAX], pool());
    }
    let again = model.to_bytes().expect("a model that was read can be written");
    Model::from_bytes(&again).expect("and read again");
});
