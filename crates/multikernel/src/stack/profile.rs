//! A weighted sum of radial kernels on the same columns as one function of the distance: piecewise quintic on segments
//! given by the top bits of the distance; and its transpose, for inner products with all the kernels.

use std::ops::Range;

use crate::device::Table;
use crate::pool::Pool;
use crate::simd::{COEFFICIENTS, LINE, Line, OCTAVE_BITS, Real, add_moments, add_profile, decay_into};

/// In the first segment, starting at 0, the narrowest kernel falls by at most this exponent: its quintic is exact to
/// 4e-14.
const FIRST: f64 = 1.0 / 16.0;
/// From here on the widest kernel, e^-40 = 4e-18, is taken as zero.
const LAST: f64 = 40.0;
/// Segment starts and their reciprocals are normal numbers.
const HIGHEST: i32 = 1022;
/// Segments interpolated together.
const PIECE: usize = 32;
const SEGMENTS_PER_OCTAVE: usize = 1 << OCTAVE_BITS;

/// The segments for a set of rates, 16 per octave from where the narrowest kernel starts to fall to where the widest
/// has vanished. Interpolation at Chebyshev nodes has an error of at most 5e-12 for a unit kernel: 2 (x/64)^6 e^-x / 6!
/// at x = 6.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid {
    /// The segments between the first and the last start at 2^low; there are 16 in each of `octaves`.
    low: i32,
    octaves: usize,
}

impl Grid {
    /// The segments for these rates, all positive.
    pub(super) fn new(rates: &[f64]) -> Grid {
        let narrowest = rates.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let widest = rates.iter().copied().fold(f64::MAX, f64::min);
        let low = floor_log2(FIRST / narrowest);
        // 2^1024 exceeds every number.
        let high = if LAST / widest > power_of_two(HIGHEST) { HIGHEST + 2 } else { floor_log2(LAST / widest) + 1 };
        let high = high.max(low + 1);
        Grid { low, octaves: (high - low) as usize }
    }

    /// One from 0, those of the octaves, and one where everything is zero.
    pub(super) fn n_segments(&self) -> usize {
        1 + self.octaves * SEGMENTS_PER_OCTAVE + 1
    }

    fn first_bits(&self) -> u64 {
        power_of_two(self.low).to_bits() >> (52 - OCTAVE_BITS)
    }

    /// Reciprocal of the end of the first segment.
    fn scale(&self) -> f64 {
        power_of_two(-self.low)
    }

    /// The interpolation nodes of consecutive segments.
    fn nodes(&self, segments: Range<usize>) -> Vec<f64> {
        segments.flat_map(|segment| self.nodes_of(segment)).collect()
    }

    fn nodes_of(&self, segment: usize) -> [f64; COEFFICIENTS] {
        if segment == 0 {
            return first_nodes().map(|node| node * power_of_two(self.low));
        }
        let (octave, part) = ((segment - 1) / SEGMENTS_PER_OCTAVE, (segment - 1) % SEGMENTS_PER_OCTAVE);
        let unit = power_of_two(self.low + octave as i32);
        let width = 1.0 / SEGMENTS_PER_OCTAVE as f64;
        chebyshev().map(|node| unit * (1.0 + width * (part as f64 + 0.5 * (node + 1.0))))
    }
}

/// The exponent of the largest power of two not above a positive number, clamped to the exponents a segment may have.
fn floor_log2(value: f64) -> i32 {
    // Subnormal numbers have the exponent 0, infinity 2047.
    ((value.to_bits() >> 52) as i32 - 1023).clamp(-HIGHEST, HIGHEST)
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// Zeros of the Chebyshev polynomial of degree 6 on [-1, 1]. Square roots are the same on every machine, cosines are
/// not.
fn chebyshev() -> [f64; COEFFICIENTS] {
    let (two, six) = (2f64.sqrt(), 6f64.sqrt());
    let (a, b, c) = ((six + two) / 4.0, two / 2.0, (six - two) / 4.0);
    [-a, -b, -c, c, b, a]
}

/// Extrema of the Chebyshev polynomial of degree 5 on [0, 1]: including both ends, so that the sum at distance 0 is
/// exact.
fn first_nodes() -> [f64; COEFFICIENTS] {
    let five = 5f64.sqrt();
    let (a, b) = ((1.0 + five) / 4.0, (five - 1.0) / 4.0);
    [0.0, (1.0 - a) / 2.0, (1.0 - b) / 2.0, (1.0 + b) / 2.0, (1.0 + a) / 2.0, 1.0]
}

/// `matrix[k][j]`: the coefficient of r^j in the polynomial that is 1 at node k and 0 at the others.
fn interpolation(nodes: [f64; COEFFICIENTS]) -> [[f64; COEFFICIENTS]; COEFFICIENTS] {
    std::array::from_fn(|k| {
        let mut poly = [0.0; COEFFICIENTS];
        poly[0] = 1.0;
        for (degree, &node) in nodes.iter().enumerate().filter(|&(i, _)| i != k).map(|(_, node)| node).enumerate() {
            // Multiply by (r - node) / (node_k - node).
            for j in (0..=degree + 1).rev() {
                let below = if j == 0 { 0.0 } else { poly[j - 1] };
                poly[j] = (below - node * poly[j]) / (nodes[k] - node);
            }
        }
        poly
    })
}

/// The interpolation matrices of the first and of the other segments.
struct Interpolation {
    first: [[f64; COEFFICIENTS]; COEFFICIENTS],
    others: [[f64; COEFFICIENTS]; COEFFICIENTS],
}

impl Interpolation {
    fn new() -> Self {
        Interpolation { first: interpolation(first_nodes()), others: interpolation(chebyshev()) }
    }

    fn of(&self, segment: usize) -> &[[f64; COEFFICIENTS]; COEFFICIENTS] {
        if segment == 0 { &self.first } else { &self.others }
    }
}

/// `sum_m weights_m exp(-rates_m d)` as a function of the distance.
#[derive(Debug)]
pub(super) struct Profile {
    first: u64,
    scale: f64,
    table: Vec<Line>,
}

impl Profile {
    /// One profile per column of weights. Cost: one exponential per kernel, segment and coefficient, whatever the
    /// number of columns.
    pub(super) fn several(grid: &Grid, rates: &[f64], columns: &[Vec<f64>], pool: &Pool) -> Vec<Profile> {
        let matrix = Interpolation::new();
        let last = grid.n_segments() - 1;
        let pieces = pool.map(last.div_ceil(PIECE), |piece| {
            let segments = piece * PIECE..(piece * PIECE + PIECE).min(last);
            let nodes = grid.nodes(segments.clone());
            let (mut values, mut sums) = (vec![0.0; nodes.len()], vec![vec![0.0; nodes.len()]; columns.len()]);
            for (m, &rate) in rates.iter().enumerate() {
                if columns.iter().all(|weights| weights[m] == 0.0) {
                    continue;
                }
                decay_into(rate, &nodes, &mut values);
                for (weights, sums) in columns.iter().zip(&mut sums).filter(|(weights, _)| weights[m] != 0.0) {
                    f64::add_scaled(weights[m], &values, sums);
                }
            }
            let line = |(segment, sums): (usize, &[f64])| {
                let mut line = Line::default();
                for (polynomial, sum) in matrix.of(segment).iter().zip(sums) {
                    for (out, c) in line.0.iter_mut().zip(polynomial) {
                        *out += c * sum;
                    }
                }
                line
            };
            let lines = |sums: &Vec<f64>| {
                segments.clone().zip(sums.chunks_exact(COEFFICIENTS)).map(line).collect::<Vec<Line>>()
            };
            sums.iter().map(lines).collect::<Vec<_>>()
        });
        let whole = |c: usize| {
            let mut table: Vec<Line> = pieces.iter().flat_map(|columns| &columns[c]).copied().collect();
            table.push(Line::default());
            Profile { first: grid.first_bits(), scale: grid.scale(), table }
        };
        (0..columns.len()).map(whole).collect()
    }

    /// The function as devices read it.
    pub(super) fn table(&self) -> Table<'_> {
        Table { first: self.first, scale: self.scale, lines: &self.table }
    }

    /// `out += profile(distance)`, for non-negative distances.
    pub(super) fn add_into(&self, distances: &[f64], out: &mut [f64]) {
        add_profile(self.first, self.scale, &self.table, distances, out);
    }
}

/// Sums of `weight r^j` over entries, by the segment of their distance: enough for the inner product with any kernel.
#[derive(Clone, Debug)]
pub(super) struct Moments {
    table: Vec<Line>,
}

impl Moments {
    pub(super) fn new(grid: &Grid) -> Moments {
        Moments { table: vec![Line::default(); grid.n_segments()] }
    }

    /// Adds entries; the grid is the one the moments were built for.
    pub(super) fn add(&mut self, grid: &Grid, distances: &[f64], weights: &[f64]) {
        add_moments(grid.first_bits(), grid.scale(), distances, weights, &mut self.table);
    }

    /// Whether these are moments on the segments of this grid.
    pub(super) fn fits(&self, grid: &Grid) -> bool {
        self.table.len() == grid.n_segments()
    }

    /// Adds the moments of other entries.
    pub(super) fn merge(&mut self, other: &Moments) {
        for (line, other) in self.table.iter_mut().zip(&other.table) {
            for (a, b) in line.0.iter_mut().zip(other.0) {
                *a += b;
            }
        }
    }

    /// `sum over entries of weight exp(-rate d)` for each rate: the moments are converted to node weights, once for all
    /// rates. Cost: one exponential per kernel, coefficient and segment that holds an entry.
    pub(super) fn inner(&self, grid: &Grid, rates: &[f64], pool: &Pool) -> Vec<f64> {
        Moments::several(&[self], grid, rates, pool).iter().map(|inner| inner[0]).collect()
    }

    /// [`Moments::inner`] of several sets of entries: for each rate, one number per set. The exponentials are shared.
    pub(super) fn several(sets: &[&Moments], grid: &Grid, rates: &[f64], pool: &Pool) -> Vec<Vec<f64>> {
        let matrix = Interpolation::new();
        let last = grid.n_segments() - 1;
        let holds = |&segment: &usize| sets.iter().any(|moments| moments.table[segment] != Line::default());
        let held: Vec<usize> = (0..last).filter(holds).collect();
        let nodes: Vec<f64> = held.iter().flat_map(|&segment| grid.nodes_of(segment)).collect();
        let weights = |moments: &&Moments| -> Vec<f64> {
            let of_segment = |&segment: &usize| {
                let line = moments.table[segment].0;
                matrix.of(segment).map(|polynomial| polynomial.iter().zip(line).map(|(c, h)| c * h).sum::<f64>())
            };
            held.iter().flat_map(of_segment).collect()
        };
        let weights: Vec<Vec<f64>> = sets.iter().map(weights).collect();
        pool.map(rates.len(), |m| {
            let mut values = vec![0.0; nodes.len()];
            decay_into(rates[m], &nodes, &mut values);
            weights.iter().map(|weights| f64::dot(&values, weights)).collect()
        })
    }

    /// The sums as plain numbers, segment by segment.
    pub(super) fn to_numbers(&self) -> Vec<f64> {
        self.table.iter().flat_map(|line| line.0).collect()
    }

    /// The inverse of [`Moments::to_numbers`]; `None` if there are none.
    pub(super) fn from_numbers(numbers: &[f64]) -> Option<Moments> {
        let table: Vec<Line> = numbers.as_chunks::<LINE>().0.iter().map(|line| Line(*line)).collect();
        (!table.is_empty()).then_some(Moments { table })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;

    fn new(grid: &Grid, rates: &[f64], weights: &[f64], pool: &Pool) -> Profile {
        Profile::several(grid, rates, &[weights.to_vec()], pool).remove(0)
    }

    /// Distances over many binades, with 0 and the ends of segments.
    fn distances(rng: &mut Rng) -> Vec<f64> {
        let spread = (0..20_000).map(|_| (60.0 * rng.uniform() - 35.0).exp2());
        let powers = (-30..30).map(|e| 2f64.powi(e));
        let below = (-30..30).map(|e| 2f64.powi(e).next_down());
        spread.chain(powers).chain(below).chain([0.0, 5e-324, 1e308, f64::INFINITY]).collect()
    }

    fn rates() -> Vec<f64> {
        (0..300).map(|i| (30.0 * f64::from(i) / 299.0 - 15.0).exp2()).collect()
    }

    #[test]
    fn profile_of_many_kernels_is_their_sum_to_1e_11() {
        let (mut rng, pool) = (Rng::new(1, 0), Pool::new(1).unwrap());
        let (rates, distances) = (rates(), distances(&mut rng));
        let weights: Vec<f64> = rates.iter().map(|_| rng.uniform()).collect();
        let total: f64 = weights.iter().sum();
        let profile = new(&Grid::new(&rates), &rates, &weights, &pool);
        let mut found = vec![0.0; distances.len()];
        profile.add_into(&distances, &mut found);
        for (d, found) in distances.iter().zip(found) {
            let sum: f64 = rates.iter().zip(&weights).map(|(rate, weight)| weight * (-rate * d).exp()).sum();
            assert!((found - sum).abs() < 1e-11 * total, "{d}: {found} {sum}");
        }
    }

    #[test]
    fn profile_of_each_kernel_alone_is_it_to_1e_11() {
        let (mut rng, pool) = (Rng::new(2, 0), Pool::new(1).unwrap());
        let distances = distances(&mut rng);
        for rates in [vec![1.0], vec![3.7e-5], vec![2f64.powi(15), 2f64.powi(-15)], vec![1e290, 1e-290], vec![5e-324]] {
            let grid = Grid::new(&rates);
            for (m, rate) in rates.iter().enumerate() {
                let mut weights = vec![0.0; rates.len()];
                weights[m] = 1.0;
                let mut found = vec![0.0; distances.len()];
                new(&grid, &rates, &weights, &pool).add_into(&distances, &mut found);
                for (d, found) in distances.iter().zip(found) {
                    let expected = (-rate * d).exp();
                    assert!((found - expected).abs() < 1e-11, "{rate} {d}: {found} {expected}");
                }
            }
        }
    }

    #[test]
    fn cubics_of_a_kernel_are_it_to_the_rounding_of_f32() {
        let (mut rng, pool) = (Rng::new(7, 0), Pool::new(1).unwrap());
        let distances = distances(&mut rng);
        let rates = [2f64.powi(15), 3.7, 2f64.powi(-15)];
        let grid = Grid::new(&rates);
        for (m, rate) in rates.iter().enumerate() {
            let weights: Vec<f64> = (0..rates.len()).map(|k| f64::from(u8::from(k == m))).collect();
            let mut profile = new(&grid, &rates, &weights, &pool);
            let n = profile.table.len();
            let quintics: Vec<f64> =
                (0..COEFFICIENTS).flat_map(|k| profile.table.iter().map(move |l| l.0[k])).collect();
            assert_eq!(profile.table().coefficients(COEFFICIENTS), quintics);
            let cubics = profile.table().coefficients(4);
            assert_eq!(cubics.len(), 4 * n);
            for (segment, line) in profile.table.iter_mut().enumerate() {
                line.0 = std::array::from_fn(|k| if k < 4 { cubics[k * n + segment] } else { 0.0 });
            }
            let mut found = vec![0.0; distances.len()];
            profile.add_into(&distances, &mut found);
            for (d, found) in distances.iter().zip(found) {
                let expected = (-rate * d).exp();
                assert!((found - expected).abs() < 2.4e-8, "{rate} {d}: {found} {expected}");
                assert!(*d > 0.0 || found as f32 == 1.0, "{rate}: {found} at 0");
            }
        }
    }

    #[test]
    fn profile_at_distance_zero_is_the_sum_of_weights_exactly() {
        let pool = Pool::new(1).unwrap();
        let weights: Vec<f64> = (1..=300).map(|i| 1.0 / f64::from(i)).collect();
        let mut found = [0.0];
        new(&Grid::new(&rates()), &rates(), &weights, &pool).add_into(&[0.0], &mut found);
        assert_eq!(found[0], weights.iter().sum::<f64>());
    }

    #[test]
    fn moments_give_the_inner_product_with_every_kernel() {
        let (mut rng, pool) = (Rng::new(3, 0), Pool::new(1).unwrap());
        let (rates, distances) = (rates(), distances(&mut rng));
        let weights: Vec<f64> = distances.iter().map(|_| 2.0 * rng.uniform() - 1.0).collect();
        let grid = Grid::new(&rates);
        let (mut moments, mut rest) = (Moments::new(&grid), Moments::new(&grid));
        moments.add(&grid, &distances[..777], &weights[..777]);
        rest.add(&grid, &distances[777..], &weights[777..]);
        moments.merge(&rest);
        let size: f64 = weights.iter().map(|weight| weight.abs()).sum();
        for (rate, found) in rates.iter().zip(moments.inner(&grid, &rates, &pool)) {
            let sum: f64 = distances.iter().zip(&weights).map(|(d, weight)| weight * (-rate * d).exp()).sum();
            assert!((found - sum).abs() < 1e-11 * size, "{rate}: {found} {sum}");
        }
    }
}
