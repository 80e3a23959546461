//! Any bytes as a Gram matrix, in text or in a NumPy array: an error, or a kernel that a model is trained and used on.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multikernel::Plan;
use multikernel::data::{Dataset, Gram, Labels, Samples, read_matrix};
use multikernel::plan::Session;
use multikernel::run::Silent;
use multikernel_fuzz::{pool, written};

fuzz_target!(|bytes: &[u8]| {
    let name = if bytes.starts_with(b"\x93NUMPY") { "k.npy" } else { "k.csv" };
    let Ok(matrix) = read_matrix(written(name, bytes).as_ref(), Some(1 << 22)) else { return };
    let _ = Gram::cross("k", matrix.clone(), Some(vec![1.0; matrix.n_rows()]), &vec![1.0; matrix.n_cols()]);
    let Ok(gram) = Gram::square("k", matrix) else { return };
    let n = gram.n_rows();
    let Ok(samples) = Samples::of_grams(vec![gram]) else { return };
    let labels: Vec<String> = (0..n).map(|i| ["p", "q"][i % 2].to_string()).collect();
    if n > 12 {
        return;
    }
    let Ok(set) = Labels::new(&labels).and_then(|labels| Dataset::new("rows", samples, labels)) else { return };
    let plan = Plan::new("average").and_then(|plan| plan.kernels("precomputed(k), distance(median) on k"));
    if let Ok(model) = plan.and_then(|plan| plan.train_in(&set, &mut Session::new(pool(), &mut Silent))) {
        let _ = model.predict_in(&set.samples, pool());
    }
});
