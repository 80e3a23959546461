//! The distribution of a kernel weight: its nodes, entropy and coverage.
//!
//! Every family is a mean times a distribution of mean 1 with one shape parameter, so all of them share one bound and
//! one gradient.

use std::sync::{Arc, Mutex, PoisonError};

use crate::dist::{digamma, ln_gamma_function, ln_gamma_quantile, normal_quantile, trigamma};
use crate::simd::{exp, ln};

/// Euler's constant: minus the mean logarithm of an exponential variate.
const EULER: f64 = 0.577_215_664_901_532_9;
/// From here on entropies of gamma distributions use their asymptotic expansion: its error is below 1e-9.
const LARGE: f64 = 9.25;
/// Log shapes of gamma distributions between which nodes are interpolated: from, to, step.
const MIN_LOG_SHAPE: f64 = -4.0;
const MAX_LOG_SHAPE: f64 = 9.25;
const LOG_SHAPE_STEP: f64 = 0.125;

/// The distribution family of a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// A point mass at the mean.
    Point,
    Exponential,
    /// The shape is the log of the gamma distribution's shape.
    Gamma,
    /// The shape is the log of the standard deviation of the logarithm.
    LogNormal,
}

/// A family, and the levels whose quantiles are its nodes: the midpoints of equal parts of probability.
#[derive(Clone, Debug)]
pub(super) struct WeightDistribution {
    pub(super) family: Family,
    levels: usize,
    /// Normal quantiles at the levels, or logarithms of exponential ones.
    quantiles: Vec<f64>,
    table: Option<Arc<QuantileTable>>,
}

impl WeightDistribution {
    /// A distribution with this many nodes.
    pub(super) fn new(family: Family, levels: usize) -> WeightDistribution {
        let levels = if family == Family::Point { 1 } else { levels };
        let middle = |s: usize| (s as f64 + 0.5) / levels as f64;
        let quantile = |s: usize| match family {
            Family::Exponential => ln(-ln(1.0 - middle(s))),
            Family::LogNormal => normal_quantile(middle(s)),
            Family::Point | Family::Gamma => 0.0,
        };
        let table = (family == Family::Gamma).then(|| QuantileTable::of(levels));
        WeightDistribution { family, levels, quantiles: (0..levels).map(quantile).collect(), table }
    }

    /// Number of nodes.
    pub(super) fn levels(&self) -> usize {
        self.levels
    }

    /// Whether there is a shape parameter to learn.
    pub(super) fn has_shape(&self) -> bool {
        matches!(self.family, Family::Gamma | Family::LogNormal)
    }

    /// The initial shape: a standard deviation of about 0.22 of the mean. In a prototype, finding the functions first
    /// and then widening the distributions took a third fewer steps than starting from the prior's width.
    pub(super) fn first_shape(&self) -> f64 {
        if self.family == Family::LogNormal { -1.5 } else { 3.0 }
    }

    /// The curvature of the loss in a shape, at an optimum determined by the data: the entropy gain balances the cost
    /// of the spread.
    pub(super) fn shape_curvature(&self) -> f64 {
        if self.family == Family::LogNormal { 2.0 } else { 0.5 }
    }

    /// The nodes of the distribution of mean 1, normalised to have mean 1 themselves, and their derivatives in the
    /// shape.
    pub(super) fn nodes(&self, shape: f64, nodes: &mut [f64], slopes: &mut [f64]) {
        for (s, (node, slope)) in nodes.iter_mut().zip(slopes.iter_mut()).enumerate() {
            (*node, *slope) = match (self.family, &self.table) {
                (Family::LogNormal, _) => {
                    let ln_node = exp(shape) * self.quantiles[s];
                    (ln_node, ln_node)
                }
                (Family::Gamma, Some(table)) => table.at(s, shape),
                _ => (self.quantiles[s], 0.0),
            };
        }
        let most = nodes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        nodes.iter_mut().for_each(|node| *node = exp(*node - most));
        let mean = nodes.iter().sum::<f64>() / self.levels as f64;
        nodes.iter_mut().for_each(|node| *node /= mean);
        let mean_slope =
            nodes.iter().zip(slopes.iter()).map(|(node, slope)| node * slope).sum::<f64>() / self.levels as f64;
        slopes.iter_mut().zip(nodes).for_each(|(slope, node)| *slope = *node * (*slope - mean_slope));
    }

    /// The entropy of the distribution of mean 1, and its derivative in the shape.
    pub(super) fn entropy(&self, shape: f64) -> (f64, f64) {
        match self.family {
            Family::Point => (0.0, 0.0),
            Family::Exponential => (1.0, 0.0),
            // The terms below cancel; this expansion is from DLMF 5.11.
            Family::Gamma if shape > LARGE => {
                let third = exp(-shape) / 3.0;
                (0.5 * (1.0 + ln(std::f64::consts::TAU) - shape) - third, third - 0.5)
            }
            Family::Gamma => {
                let a = exp(shape);
                let entropy = a - shape + ln_gamma_function(a) + (1.0 - a) * digamma(a);
                (entropy, a + a * (1.0 - a) * trigamma(a) - 1.0)
            }
            Family::LogNormal => {
                let variance = exp(2.0 * shape);
                (0.5 - 0.5 * variance + 0.5 * ln(std::f64::consts::TAU) + shape, 1.0 - variance)
            }
        }
    }

    /// The mean logarithm under the distribution of mean 1, and its derivative in the shape.
    pub(super) fn mean_ln(&self, shape: f64) -> (f64, f64) {
        match self.family {
            Family::Point => (0.0, 0.0),
            Family::Exponential => (-EULER, 0.0),
            Family::Gamma if shape > LARGE => {
                let half = 0.5 * exp(-shape);
                (-half - half * half / 3.0, half + 2.0 * half * half / 3.0)
            }
            Family::Gamma => {
                let a = exp(shape);
                (digamma(a) - shape, a * trigamma(a) - 1.0)
            }
            Family::LogNormal => {
                let variance = exp(2.0 * shape);
                (-0.5 * variance, -variance)
            }
        }
    }

    /// The quantile at `p` of the distribution with this mean and shape.
    pub(super) fn quantile(&self, p: f64, mean: f64, shape: f64) -> f64 {
        match self.family {
            Family::Point => mean,
            Family::Exponential => -mean * ln(1.0 - p),
            Family::Gamma => mean * exp(ln_gamma_quantile(p, exp(shape)) - shape),
            Family::LogNormal => {
                let deviation = exp(shape);
                mean * exp(deviation * normal_quantile(p) - 0.5 * deviation * deviation)
            }
        }
    }

    /// The standard deviation of the distribution of mean 1.
    #[cfg(test)]
    pub(super) fn deviation(&self, shape: f64) -> f64 {
        match self.family {
            Family::Point => 0.0,
            Family::Exponential => 1.0,
            Family::Gamma => exp(-0.5 * shape),
            Family::LogNormal => (exp(exp(2.0 * shape)) - 1.0).sqrt(),
        }
    }
}

/// Log quantiles of gamma distributions of mean 1 at some levels, times the square root of the shape: values that
/// hardly change for large shapes, so that few shapes are enough. In between, cubics with continuous slopes: a bound
/// needs derivatives consistent with its values, not the last digits of a quantile.
#[derive(Debug)]
struct QuantileTable {
    /// The values of each level, shape by shape.
    values: Vec<Vec<f64>>,
}

/// Tables computed so far, by number of levels: cross-validation needs the same one again and again.
static QUANTILE_TABLES: Mutex<Vec<Arc<QuantileTable>>> = Mutex::new(vec![]);

impl QuantileTable {
    fn of(levels: usize) -> Arc<QuantileTable> {
        let mut tables = QUANTILE_TABLES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = tables.iter().find(|table| table.values.len() == levels) {
            return table.clone();
        }
        let table = Arc::new(QuantileTable::new(levels));
        tables.push(table.clone());
        table
    }

    fn new(levels: usize) -> QuantileTable {
        let count = ((MAX_LOG_SHAPE - MIN_LOG_SHAPE) / LOG_SHAPE_STEP) as usize + 1;
        let value = |s: usize, k: usize| {
            let shape = MIN_LOG_SHAPE + LOG_SHAPE_STEP * k as f64;
            exp(0.5 * shape) * (ln_gamma_quantile((s as f64 + 0.5) / levels as f64, exp(shape)) - shape)
        };
        QuantileTable { values: (0..levels).map(|s| (0..count).map(|k| value(s, k)).collect()).collect() }
    }

    /// The log quantile at a level, and its derivative in the shape.
    fn at(&self, s: usize, shape: f64) -> (f64, f64) {
        let (value, slope) = self.interpolate(s, shape);
        let scale = exp(-0.5 * shape);
        (scale * value, scale * (slope - 0.5 * value))
    }

    /// Outside the table, values are extrapolated linearly at the lower end and held constant at the upper end.
    fn interpolate(&self, s: usize, shape: f64) -> (f64, f64) {
        let values = &self.values[s];
        let last = values.len() - 1;
        let slope_at = |k: usize| match k {
            0 => values[1] - values[0],
            k if k == last => 0.0,
            k => 0.5 * (values[k + 1] - values[k - 1]),
        };
        let place = (shape - MIN_LOG_SHAPE) / LOG_SHAPE_STEP;
        if place <= 0.0 || place.is_nan() {
            return (values[0] + slope_at(0) * place, slope_at(0) / LOG_SHAPE_STEP);
        }
        if place >= last as f64 {
            return (values[last], 0.0);
        }
        let k = place as usize;
        let (t, rise) = (place - k as f64, values[k + 1] - values[k]);
        let (first, second) = (slope_at(k), slope_at(k + 1));
        let (square, cube) = (3.0 * rise - 2.0 * first - second, first + second - 2.0 * rise);
        let value = values[k] + t * (first + t * (square + t * cube));
        (value, (first + t * (2.0 * square + 3.0 * t * cube)) / LOG_SHAPE_STEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAMILIES: [Family; 3] = [Family::Exponential, Family::Gamma, Family::LogNormal];

    fn nodes(distribution: &WeightDistribution, shape: f64) -> (Vec<f64>, Vec<f64>) {
        let (mut nodes, mut slopes) = (vec![0.0; distribution.levels()], vec![0.0; distribution.levels()]);
        distribution.nodes(shape, &mut nodes, &mut slopes);
        (nodes, slopes)
    }

    #[test]
    fn nodes_have_mean_one_and_nearly_the_moments_of_their_law() {
        for family in FAMILIES {
            let distribution = WeightDistribution::new(family, 4096);
            for shape in [-0.7, 0.0, 1.3] {
                if family == Family::LogNormal && shape > 0.0 {
                    continue;
                }
                let (nodes, _) = nodes(&distribution, shape);
                let mean = |f: &dyn Fn(f64) -> f64| nodes.iter().map(|&x| f(x)).sum::<f64>() / nodes.len() as f64;
                assert!((mean(&|x| x) - 1.0).abs() < 1e-12, "{family:?}");
                let deviation = mean(&|x| (x - 1.0).powi(2)).sqrt();
                assert!(
                    (deviation / distribution.deviation(shape) - 1.0).abs() < 0.02,
                    "{family:?} {shape}: {deviation}"
                );
                let mean_ln = distribution.mean_ln(shape).0;
                assert!((mean(&|x| x.ln()) - mean_ln).abs() < 2e-3, "{family:?} {shape}: {mean_ln}");
            }
        }
    }

    #[test]
    fn derivatives_by_the_shape_are_those_of_the_values() {
        for family in FAMILIES {
            let distribution = WeightDistribution::new(family, 16);
            for shape in [-4.4f64, -1.03, 0.26, 2.6, 9.6] {
                let shape = if family == Family::LogNormal { shape.min(1.0) } else { shape };
                let step = 1e-5;
                let ((up, _), (down, _), (_, slopes)) = (
                    nodes(&distribution, shape + step),
                    nodes(&distribution, shape - step),
                    nodes(&distribution, shape),
                );
                for ((up, down), slope) in up.iter().zip(&down).zip(&slopes) {
                    let found = (up - down) / (2.0 * step);
                    assert!((found - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{family:?} {shape}: {found} {slope}");
                }
                if family == Family::Gamma {
                    // Both formulas at the crossover.
                    let (below, above) = (distribution.entropy(LARGE - 1e-9), distribution.entropy(LARGE + 1e-9));
                    assert!(
                        (below.0 - above.0).abs() < 1e-7 && (below.1 - above.1).abs() < 1e-6,
                        "{below:?} {above:?}"
                    );
                    let (below, above) = (distribution.mean_ln(LARGE - 1e-9), distribution.mean_ln(LARGE + 1e-9));
                    assert!(
                        (below.0 - above.0).abs() < 1e-9 && (below.1 - above.1).abs() < 1e-8,
                        "{below:?} {above:?}"
                    );
                }
                for f in [WeightDistribution::entropy, WeightDistribution::mean_ln] {
                    let found = (f(&distribution, shape + step).0 - f(&distribution, shape - step).0) / (2.0 * step);
                    let slope = f(&distribution, shape).1;
                    assert!((found - slope).abs() < 1e-5 * (1.0 + slope.abs()), "{family:?} {shape}: {found} {slope}");
                }
            }
        }
    }

    /// Interpolated quantiles against exact ones, between the shapes of the table.
    #[test]
    fn nodes_of_gamma_laws_are_their_quantiles() {
        let distribution = WeightDistribution::new(Family::Gamma, 8);
        for shape in [-2.93, -0.06, 0.19, 3.3, 7.77] {
            let (found, _) = nodes(&distribution, shape);
            let exact: Vec<f64> =
                (0..8).map(|s| (ln_gamma_quantile((s as f64 + 0.5) / 8.0, shape.exp()) - shape).exp()).collect();
            let mean = exact.iter().sum::<f64>() / 8.0;
            for (found, exact) in found.iter().zip(&exact) {
                let exact = exact / mean;
                assert!((found - exact).abs() < 2e-5 * (1.0 + exact), "{shape}: {found} {exact}");
            }
        }
    }

    /// The entropy is minus the mean log density, by the midpoint rule in ln x.
    #[test]
    fn entropies_are_integrals() {
        let normal = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
        for (family, shape) in
            [(Family::Exponential, 0.0f64), (Family::Gamma, -0.5), (Family::Gamma, 1.7), (Family::LogNormal, -0.4)]
        {
            let density = |x: f64| match family {
                Family::LogNormal => {
                    let s = shape.exp();
                    normal((x.ln() + 0.5 * s * s) / s) / (s * x)
                }
                _ => {
                    let a = if family == Family::Exponential { 1.0 } else { shape.exp() };
                    (a * a.ln() + (a - 1.0) * x.ln() - a * x - ln_gamma_function(a)).exp()
                }
            };
            let step = 1e-3;
            let terms = (-60_000..6_000).map(|k| {
                let x = (f64::from(k) * step).exp();
                let p = density(x);
                if p > 0.0 { -step * x * p * p.ln() } else { 0.0 }
            });
            let (found, distribution) = (terms.sum::<f64>(), WeightDistribution::new(family, 8));
            assert!((found - distribution.entropy(shape).0).abs() < 1e-6, "{family:?} {shape}: {found}");
        }
    }

    #[test]
    fn quantiles_leave_their_part_of_the_nodes_below() {
        for family in FAMILIES {
            let distribution = WeightDistribution::new(family, 1000);
            let (nodes, _) = nodes(&distribution, -0.3);
            for p in [0.025, 0.5, 0.975] {
                let below = nodes.iter().filter(|&&node| 3.0 * node < distribution.quantile(p, 3.0, -0.3)).count();
                assert!((below as f64 / 1000.0 - p).abs() < 0.003, "{family:?} {p}: {below}");
            }
        }
    }
}
