//! Any bytes as a model file (the checksum is not looked at when fuzzing): an error, or a model that predicts or
//! refuses.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multikernel::data::Samples;
use multikernel::{Matrix, Model, Pool};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(model) = Model::from_bytes(bytes) {
        let n = model.input().features().len();
        if n == 0 || n > 1000 {
            return;
        }
        let (Ok(pool), Ok(samples)) = (Pool::new(1), Samples::unnamed(Matrix::from_fn(2, n, |i, j| (i + j) as f64))) else {
            return;
        };
        let _ = (model.predict_in(&samples, &pool), model.probabilities_in(&samples, &pool));
        let _ = (model.kernels().names(), model.training().facts(), model.input().expect());
    }
});
