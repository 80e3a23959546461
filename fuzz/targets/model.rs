//! Any bytes as a model file (the checksum is not looked at when fuzzing): an error, or a model that predicts or
//! refuses.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multikernel::data::Samples;
use multikernel::{Matrix, Model};
use multikernel_fuzz::pool;

fuzz_target!(|bytes: &[u8]| {
    let Ok(model) = Model::from_bytes(bytes) else { return };
    let n = model.input().features().len();
    let _ = (model.kernels().names(), model.training().facts(), model.input().expect());
    if n == 0 || n > 100 {
        return;
    }
    let Ok(samples) = Samples::unnamed(Matrix::from_fn(2, n, |i, j| (i + j) as f64)) else { return };
    let _ = (model.predict_in(&samples, pool()), model.probabilities_in(&samples, pool()));
});
