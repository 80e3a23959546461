//! How alike the kernels of a model are on some rows.

use super::predict::Model;
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::linalg::{Matrix, dot};
use crate::pool::Pool;
use crate::stack::{Stack, StackOptions};

impl Model {
    /// The centred alignment (Cortes, Mohri and Rostamizadeh 2012) between kernels, given by their positions, on rows:
    /// `<H K H, H L H> / (|H K H| |H L H|)`, 1 for the same kernel. A kernel that is constant on the rows has 0 with all
    /// others.
    ///
    /// Holds all these kernels between all rows at once: use a few hundred rows and tens of kernels. An error for
    /// kernels that were given as Gram matrices, since those hold no values between new rows.
    ///
    /// ```
    /// use multikernel::{Plan, Pool, data::bundled};
    /// let data = bundled("sonar")?;
    /// let model = Plan::new("average")?.kernels("gaussian(1), gaussian(1.1), linear")?.train(&data)?;
    /// let found = model.alignment(&data.samples, &[0, 1, 2], &Pool::new(1)?)?;
    /// assert!((found.get(0, 0) - 1.0).abs() < 1e-12 && found.get(0, 1) > found.get(0, 2));
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn alignment(&self, samples: &Samples, kernels: &[usize], pool: &Pool) -> Result<Matrix> {
        let all = self.kernels().as_slice();
        let known = |&m: &usize| all.get(m).cloned();
        let picked: Option<Vec<_>> = kernels.iter().map(known).collect();
        let picked =
            picked.ok_or_else(|| Error::input(format!("the model has {} kernels, counted from 0", all.len())))?;
        let stack = Stack::train(self.points(samples)?, &picked, &StackOptions::new(pool))?;
        let n = samples.n_samples();
        let mut grams = stack.unfold(pool)?;
        pool.chunks_mut(grams.data_mut(), (n * n).max(1), |_, gram| centre(gram, n));
        let gram = |m: usize| &grams.data()[m * n * n..(m + 1) * n * n];
        let norms: Vec<f64> = (0..picked.len()).map(|m| dot(gram(m), gram(m)).sqrt()).collect();
        let pairs = pool.map(picked.len() * picked.len(), |at| {
            let (i, j) = (at / picked.len(), at % picked.len());
            let norm = norms[i] * norms[j];
            match i.cmp(&j) {
                std::cmp::Ordering::Greater => 0.0,
                _ if norm > 1e-12 * (n * n) as f64 => dot(gram(i), gram(j)) / norm,
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Less => 0.0,
            }
        });
        Ok(Matrix::from_fn(picked.len(), picked.len(), |i, j| pairs[i.min(j) * picked.len() + i.max(j)]))
    }
}

/// `H K H` of an n x n matrix.
fn centre(gram: &mut [f64], n: usize) {
    let means: Vec<f64> = gram.chunks_exact(n).map(|row| row.iter().sum::<f64>() / n as f64).collect();
    let all = means.iter().sum::<f64>() / n as f64;
    for (row, &mean) in gram.chunks_exact_mut(n).zip(&means) {
        row.iter_mut().zip(&means).for_each(|(value, other)| *value -= mean + other - all);
    }
}
