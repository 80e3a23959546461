//! Gram matrices that were computed elsewhere: two of them, no features. `cargo run --release --example grams`
use multikernel::data::{Dataset, Gram, Labels, Samples};
use multikernel::dist::{Rng, normal};
use multikernel::{Matrix, Plan};

const N_TRAIN: usize = 80;

fn main() -> multikernel::Result<()> {
    // Stand-ins for what your own program computes: similarities of 100 patients by kinship, which says something of the
    // class, and by diet, which says nothing.
    let mut rng = Rng::new(7, 0);
    let ill: Vec<bool> = (0..100).map(|i| i % 2 == 0).collect();
    let kin: Vec<f64> = ill.iter().map(|&ill| normal(&mut rng) + if ill { 1.5 } else { -1.5 }).collect();
    let diet: Vec<f64> = ill.iter().map(|_| normal(&mut rng)).collect();
    let alike = |x: &[f64], i: usize, j: usize| (-0.5 * (x[i] - x[j]).powi(2)).exp();

    // To train: the kernel among the training points, n x n.
    let square = |name, x: &[f64]| Gram::square(name, Matrix::from_fn(N_TRAIN, N_TRAIN, |i, j| alike(x, i, j)));
    let samples = Samples::of_grams(vec![square("kinship", &kin)?, square("diet", &diet)?])?;
    let labels: Vec<&str> = ill.iter().map(|&ill| if ill { "ill" } else { "well" }).collect();
    let data = Dataset::new("patients", samples, Labels::new(&labels[..N_TRAIN])?)?;
    let model = Plan::new("evidence")?.kernels("precomputed(kinship), precomputed(diet)")?.train(&data)?;
    for (kernel, weight) in model.kernel_names().iter().zip(model.weights().unwrap_or_default()) {
        println!("{kernel}: weight {weight:.2}");
    }

    // To predict: the kernel between new points (rows) and training points, and k(x, x) of the new points.
    let n_new = 100 - N_TRAIN;
    let cross = |name: &str, x: &[f64]| {
        let values = Matrix::from_fn(n_new, N_TRAIN, |i, j| alike(x, N_TRAIN + i, j));
        let trained = vec![1.0; N_TRAIN];
        Gram::cross(name, values, Some(vec![1.0; n_new]), &trained)
    };
    let new = Samples::of_grams(vec![cross("kinship", &kin)?, cross("diet", &diet)?])?;
    let predicted = model.predict(&new)?.labels;
    let right = predicted.iter().zip(&labels[N_TRAIN..]).filter(|(class, label)| model.classes()[**class] == **label);
    println!("{} of {n_new} new patients are right", right.count());
    Ok(())
}
