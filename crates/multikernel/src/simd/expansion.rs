//! Kernel expansions summed for several rows at a time.

use super::{dispatched, each};

/// Rows summed together: one vector of the widest instruction set.
pub(crate) const ROWS_AT_ONCE: usize = 8;

dispatched! {
    /// `sums_r += sum_k values_k lines[at_k][r]`, in the order of k, each product rounded before it is added: the bits
    /// of adding one row after the other.
    ///
    /// # Panics
    /// If a line is out of range.
    pub(crate) fn expand(
        lines: &[[f64; ROWS_AT_ONCE]],
        at: &[u32],
        values: &[f64],
        sums: &mut [f64; ROWS_AT_ONCE],
    ) {
        let mut now = *sums;
        for (&at, &value) in at.iter().zip(values) {
            let line = &lines[at as usize];
            now = each(0.0, |r| now[r] + value * line[r]);
        }
        *sums = now;
    }
}

dispatched! {
    /// The adjoint of [`expand`]: `lines[at_k][r] += values_k with_r` for each k.
    ///
    /// # Panics
    /// If a line is out of range.
    pub(crate) fn spread(
        with: &[f64; ROWS_AT_ONCE],
        at: &[u32],
        values: &[f64],
        lines: &mut [[f64; ROWS_AT_ONCE]],
    ) {
        for (&at, &value) in at.iter().zip(values) {
            let line = &mut lines[at as usize];
            *line = each(0.0, |r| line[r] + value * with[r]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::at_every_level;
    use crate::simd::check::{bits, uniform};

    #[test]
    fn expand_and_spread_are_the_plain_sums_in_order_at_every_level() {
        let mut rng = Rng::new(3, 0);
        for n in [0, 1, 2, 7, 40] {
            let line = |rng: &mut Rng| std::array::from_fn(|_| uniform(rng, 1)[0]);
            let lines: Vec<[f64; ROWS_AT_ONCE]> = (0..n).map(|_| line(&mut rng)).collect();
            let at: Vec<u32> = (0..n as u32).rev().step_by(2).collect();
            let (values, with) = (uniform(&mut rng, at.len()), line(&mut rng));
            let found = at_every_level(|| {
                let mut sums = with;
                expand(&lines, &at, &values, &mut sums);
                bits(&sums)
            });
            let mut sums = with;
            for (r, sum) in sums.iter_mut().enumerate() {
                at.iter().zip(&values).for_each(|(&k, value)| *sum += value * lines[k as usize][r]);
            }
            assert_eq!(found, bits(&sums));

            let found = at_every_level(|| {
                let mut lines = lines.clone();
                spread(&with, &at, &values, &mut lines);
                bits(lines.as_flattened())
            });
            let mut spread = lines.clone();
            for (&k, value) in at.iter().zip(&values) {
                (0..ROWS_AT_ONCE).for_each(|r| spread[k as usize][r] += value * with[r]);
            }
            assert_eq!(found, bits(spread.as_flattened()));
        }
    }
}
