//! Triangular systems with several right-hand sides side by side.

use super::PANEL;
use super::dispatched;

dispatched! {
    /// Overwrites the lines of `panel` with the solution x of `L x = panel`, for [`PANEL`] right-hand sides side by side. `lower`
    /// holds L row by row, as many numbers as there are lines; what is above its diagonal is not read.
    pub(crate) fn solve_lower(lower: &[f64], panel: &mut [[f64; PANEL]]) {
        for c in 0..panel.len() {
            let (done, rest) = panel.split_at_mut(c);
            let row = &lower[c * (done.len() + rest.len())..];
            let x = eliminated(&row[..c], done, rest[0]);
            rest[0] = x.map(|x| x / row[c]);
        }
    }
}

dispatched! {
    /// As [`solve_lower`] for `L' x = panel`; `columns` holds L column by column.
    pub(crate) fn solve_transposed(columns: &[f64], panel: &mut [[f64; PANEL]]) {
        let n = panel.len();
        for c in (0..n).rev() {
            let (rest, done) = panel.split_at_mut(c + 1);
            let column = &columns[c * n..(c + 1) * n];
            let x = eliminated(&column[c + 1..], done, rest[c]);
            rest[c] = x.map(|x| x / column[c]);
        }
    }
}

/// `x - sum_k factors_k lines_k`, in order.
#[inline(always)]
fn eliminated(factors: &[f64], lines: &[[f64; PANEL]], mut x: [f64; PANEL]) -> [f64; PANEL] {
    for (factor, line) in factors.iter().zip(lines) {
        for l in 0..PANEL {
            x[l] = (-factor).mul_add(line[l], x[l]);
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::at_every_level;
    use crate::simd::check::{bits, uniform};

    #[test]
    fn solutions_put_back_give_the_right_hand_sides_at_every_level() {
        let mut rng = Rng::new(1, 0);
        for n in [0, 1, 2, 15, 16, 17, 64] {
            let mut lower = uniform(&mut rng, n * n);
            (0..n).for_each(|i| lower[i * n + i] += 1.5);
            let at = |i: usize, j: usize| if j <= i { lower[i * n + j] } else { 0.0 };
            let mut columns = vec![f64::NAN; n * n];
            let mut rows = vec![f64::NAN; n * n];
            for i in 0..n {
                for j in 0..=i {
                    (rows[i * n + j], columns[j * n + i]) = (at(i, j), at(i, j));
                }
            }
            let right: Vec<[f64; PANEL]> = (0..n).map(|_| std::array::from_fn(|_| rng.uniform())).collect();
            let flat = |panel: &[[f64; PANEL]]| bits(panel.as_flattened());
            for transposed in [false, true] {
                let solved = at_every_level(|| {
                    let mut panel = right.clone();
                    if transposed {
                        solve_transposed(&columns, &mut panel)
                    } else {
                        solve_lower(&rows, &mut panel)
                    }
                    flat(&panel)
                });
                let x = |i: usize, l: usize| f64::from_bits(solved[i * PANEL + l]);
                for (i, right) in right.iter().enumerate() {
                    for (l, right) in right.iter().enumerate() {
                        let terms = (0..n).map(|k| if transposed { at(k, i) } else { at(i, k) } * x(k, l));
                        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), t| (sum + t, size + t.abs()));
                        assert!((sum - right).abs() <= 1e-13 * (1.0 + size), "{n}, {transposed}: {sum} for {right}");
                    }
                }
            }
        }
    }
}
