//! Whether chains agree and how much their draws are worth: rank-normalised split R-hat and effective sample sizes, as
//! defined by Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021).
//!
//! Each chain is split into halves (an odd one loses its middle draw), so that a drifting chain disagrees with itself.
//! Effective sizes sum autocorrelations up to Geyer's first pair that is not positive, made monotone; lags beyond are
//! never computed, which makes well-mixing chains cheap.

use crate::dist::normal_quantile;

/// The diagnosis of one number: what its draws say, and how reliably.
///
/// A field is NaN if the draws cannot determine it: everything if a draw is not finite or there is none; `sd` and
/// `mcse` of a single draw; `r_hat` and the effective sizes, and with them `mcse`, of chains of fewer than 4 draws and
/// of a constant (agreement of constants says nothing about mixing). If one tail is all ties, `ess_tail` is that of the
/// other tail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diagnosis {
    /// Mean over all draws.
    pub mean: f64,
    /// Sample standard deviation over all draws.
    pub sd: f64,
    /// Monte Carlo standard error of the mean: `sd` over the root of the effective number of draws for the mean.
    pub mcse: f64,
    /// Rank-normalised split R-hat, the larger of those for location and for spread: 1 is agreement.
    pub r_hat: f64,
    /// Effective number of draws for the middle of the distribution.
    pub ess_bulk: f64,
    /// Effective number of draws for its 5 % and 95 % quantiles, the smaller of the two.
    pub ess_tail: f64,
    /// The middle 90 % of the draws.
    pub interval: (f64, f64),
}

/// Diagnoses one number, given its draws chain by chain. Chains of different lengths are cut to the shortest, dropping
/// their first draws; a single chain is compared with itself, half by half.
///
/// Costs three sorts of all draws, and a pass over them for each lag until the autocorrelation dies out: about 0.3 ms
/// for 4 chains of 500 draws.
///
/// ```
/// use multikernel::dist::{Rng, normal};
/// use multikernel::draws::diagnose;
/// let chain = |stream| { let mut rng = Rng::new(0, stream); (0..500).map(|_| normal(&mut rng)).collect() };
/// let mut chains: Vec<Vec<f64>> = (0..4).map(chain).collect();
/// let found = diagnose(&chains);
/// assert!(found.r_hat < 1.01 && found.ess_bulk > 1500.0 && found.mean.abs() < 4.0 * found.mcse);
/// chains[3].iter_mut().for_each(|draw| *draw += 1.0);
/// assert!(diagnose(&chains).r_hat > 1.05);
/// ```
pub fn diagnose(chains: &[Vec<f64>]) -> Diagnosis {
    let shortest = chains.iter().map(Vec::len).min().unwrap_or(0);
    let chains: Vec<&[f64]> = chains.iter().map(|chain| &chain[chain.len() - shortest..]).collect();
    Scores::new(chains.len(), shortest).diagnose(&chains)
}

/// The normal scores of ranks among this many draws: the costly part of ranking, the same for every number of a run.
pub(super) struct Scores {
    /// Score of rank 1 + i/2, since ties share the mean of their ranks.
    of_halves: Vec<f64>,
}

impl Scores {
    /// For chains of equal length.
    pub(super) fn new(n_chains: usize, n_draws: usize) -> Scores {
        let n = 2 * (n_draws / 2) * n_chains;
        // Blom's offset: approximately the expected order statistics of a normal sample.
        let score = |i: usize| normal_quantile((1.0 + 0.5 * i as f64 - 0.375) / (n as f64 + 0.25));
        Scores { of_halves: (0..(2 * n).saturating_sub(1)).map(score).collect() }
    }

    /// [`diagnose`] for chains of the length these scores were made for.
    pub(super) fn diagnose(&self, chains: &[&[f64]]) -> Diagnosis {
        let n = f64::NAN;
        let mut found = Diagnosis { mean: n, sd: n, mcse: n, r_hat: n, ess_bulk: n, ess_tail: n, interval: (n, n) };
        let mut sorted = chains.concat();
        if sorted.is_empty() || sorted.iter().any(|draw| !draw.is_finite()) {
            return found;
        }
        (found.mean, found.sd) = moments(&sorted);
        sorted.sort_unstable_by(f64::total_cmp);
        found.interval = (quantile(&sorted, 0.05), quantile(&sorted, 0.95));
        let is_constant = sorted.first() == sorted.last();
        if is_constant || chains[0].len() < 4 {
            return found;
        }
        let halves = Halves::of(chains);
        let ranked = halves.with(self.of(&halves.values));
        let folded = halves.with(self.of(&folded(&halves.values)));
        // The maximum of the two, ignoring one that is NaN: chains of 0 and 1 have no spread to fold.
        found.r_hat = ranked.r_hat().max(folded.r_hat());
        found.ess_bulk = ranked.effective();
        let tail = |end: f64| halves.with(halves.values.iter().map(|&x| f64::from(u8::from(x <= end))).collect());
        found.ess_tail = tail(found.interval.0).effective().min(tail(found.interval.1).effective());
        found.mcse = found.sd / halves.effective().sqrt();
        found
    }

    /// The normal score of each value's rank among them.
    fn of(&self, values: &[f64]) -> Vec<f64> {
        let mut order: Vec<(f64, usize)> = values.iter().copied().zip(0..).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut scores = vec![0.0; values.len()];
        let mut start = 0;
        for ties in order.chunk_by(|a, b| a.0 == b.0) {
            // Ranks from start + 1 to start + n: their mean is 1 + (2 start + n - 1) / 2.
            let score = self.of_halves[2 * start + ties.len() - 1];
            ties.iter().for_each(|&(_, at)| scores[at] = score);
            start += ties.len();
        }
        scores
    }
}

/// Chains of equal length, one after the other.
struct Halves {
    values: Vec<f64>,
    length: usize,
}

impl Halves {
    /// Each chain split in two, without its middle draw if its length is odd.
    fn of(chains: &[&[f64]]) -> Halves {
        let length = chains[0].len() / 2;
        let halves = |chain: &&[f64]| [&chain[..length], &chain[chain.len() - length..]].concat();
        Halves { values: chains.iter().flat_map(halves).collect(), length }
    }

    /// The same chains with different values.
    fn with(&self, values: Vec<f64>) -> Halves {
        Halves { values, length: self.length }
    }

    /// Mean variance within chains, and variance of their means.
    fn variances(&self) -> (f64, f64) {
        let (means, within): (Vec<f64>, Vec<f64>) = self.values.chunks_exact(self.length).map(variance_of).unzip();
        let mean_within = within.iter().sum::<f64>() / within.len() as f64;
        (mean_within, variance_of(&means).1)
    }

    fn is_constant(&self) -> bool {
        self.values.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// How much wider the pooled chains are than each alone; NaN for constants, infinite if only chains differ.
    fn r_hat(&self) -> f64 {
        if self.is_constant() {
            return f64::NAN;
        }
        let ((within, between), n) = (self.variances(), self.length as f64);
        (between / within + (n - 1.0) / n).sqrt()
    }

    /// The number of independent draws that would determine the mean equally well; NaN for constants.
    fn effective(&self) -> f64 {
        if self.is_constant() {
            return f64::NAN;
        }
        let (within, between) = self.variances();
        let n = self.length as f64;
        let total = within * (n - 1.0) / n + between;
        let centred = self.centred();
        let correlation = |lag: usize| 1.0 - (within - centred.autocovariance(lag)) / total;
        let time = integrated_time(self.length, correlation);
        let size = self.values.len() as f64;
        // An upper bound on the effective size of antithetic chains.
        size / time.max(1.0 / size.log10())
    }

    /// Each chain minus its mean.
    fn centred(&self) -> Halves {
        let centre = |chain: &[f64]| {
            let mean = moments(chain).0;
            chain.iter().map(move |value| value - mean).collect::<Vec<_>>()
        };
        self.with(self.values.chunks_exact(self.length).flat_map(centre).collect())
    }

    /// The mean over centred chains of their autocovariance at a lag, divided by the length as for lag 0.
    fn autocovariance(&self, lag: usize) -> f64 {
        let products = |chain: &[f64]| chain.iter().zip(&chain[lag..]).map(|(now, later)| now * later).sum::<f64>();
        self.values.chunks_exact(self.length).map(products).sum::<f64>() / self.values.len() as f64
    }
}

/// One plus twice the sum of the autocorrelations from lag 1 on, over Geyer's initial monotone sequence: for a
/// reversible chain, pairs of neighbouring lags have positive, decreasing sums; the first that does not is noise, and
/// so is what follows. The even lag of that first pair still counts once if it is positive, which removes the bias of
/// the truncation.
fn integrated_time(length: usize, correlation: impl Fn(usize) -> f64) -> f64 {
    let mut pair = (1.0, correlation(1));
    let (mut sum, mut before, mut lag) = (0.0, f64::INFINITY, 0);
    // The last lags have only a few products each.
    while lag + 4 < length && pair.0 + pair.1 > 0.0 {
        before = (pair.0 + pair.1).min(before);
        sum += before;
        lag += 2;
        pair = (correlation(lag), correlation(lag + 1));
    }
    -1.0 + 2.0 * sum + pair.0.max(0.0)
}

/// Mean and sample standard deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let (mean, variance) = variance_of(values);
    (mean, variance.sqrt())
}

/// Mean and sample variance; the variance of one value is NaN, that of equal values is exactly 0, because they are
/// summed as differences from the first.
fn variance_of(values: &[f64]) -> (f64, f64) {
    let (n, first) = (values.len() as f64, values.first().copied().unwrap_or(f64::NAN));
    let mean = first + values.iter().map(|value| value - first).sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, squares / (n - 1.0))
}

/// Distances from the median, whose ranks distinguish chains of different spread.
fn folded(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let median = quantile(&sorted, 0.5);
    values.iter().map(|value| (value - median).abs()).collect()
}

/// The `p` quantile of sorted values, linearly interpolated.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let place = p * (sorted.len() - 1) as f64;
    let (below, rest) = (place as usize, place.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + rest * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::{Rng, normal};

    /// Chains of x_t = rho x_(t-1) + sqrt(1 - rho^2) z.
    fn autoregressive(n_chains: u64, n: usize, rho: f64, seed: u64) -> Vec<Vec<f64>> {
        let chain = |stream| {
            let mut rng = Rng::new(seed, stream);
            let mut x = normal(&mut rng);
            let step = |_| {
                x = rho * x + (1.0 - rho * rho).sqrt() * normal(&mut rng);
                x
            };
            (0..n).map(step).collect()
        };
        (0..n_chains).map(chain).collect()
    }

    /// The definitions verbatim: all lags, ranks by counting, no table of scores.
    mod plain {
        use super::*;

        pub(super) fn halves(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
            let half = chains[0].len() / 2;
            chains.iter().flat_map(|chain| [chain[..half].to_vec(), chain[chain.len() - half..].to_vec()]).collect()
        }

        pub(super) fn scores(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
            let all = chains.concat();
            let score = |x: &f64| {
                let below = all.iter().filter(|y| *y < x).count() as f64;
                let same = all.iter().filter(|y| *y == x).count() as f64;
                normal_quantile((below + 0.5 * (same + 1.0) - 0.375) / (all.len() as f64 + 0.25))
            };
            chains.iter().map(|chain| chain.iter().map(score).collect()).collect()
        }

        fn mean(values: &[f64]) -> f64 {
            values.iter().sum::<f64>() / values.len() as f64
        }

        /// The within-chain variance, and the pooled estimate of the variance.
        fn variances(chains: &[Vec<f64>]) -> (f64, f64) {
            let (m, n) = (chains.len() as f64, chains[0].len() as f64);
            let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
            let between = n * means.iter().map(|x| (x - mean(&means)).powi(2)).sum::<f64>() / (m - 1.0);
            let square =
                |(chain, at): (&Vec<f64>, &f64)| chain.iter().map(|x| (x - at).powi(2)).sum::<f64>() / (n - 1.0);
            let within = mean(&chains.iter().zip(&means).map(square).collect::<Vec<_>>());
            (within, within * (n - 1.0) / n + between / n)
        }

        pub(super) fn r_hat(chains: &[Vec<f64>]) -> f64 {
            let (within, pooled) = variances(chains);
            (pooled / within).sqrt()
        }

        pub(super) fn effective(chains: &[Vec<f64>]) -> f64 {
            let (m, n) = (chains.len(), chains[0].len());
            let (within, pooled) = variances(chains);
            let autocovariance = |chain: &Vec<f64>, lag: usize| {
                let at = mean(chain);
                (lag..n).map(|t| (chain[t] - at) * (chain[t - lag] - at)).sum::<f64>() / n as f64
            };
            let rho = |lag: usize| match lag {
                0 => 1.0,
                _ => {
                    1.0 - (within - chains.iter().map(|chain| autocovariance(chain, lag)).sum::<f64>() / m as f64)
                        / pooled
                }
            };
            let last = (n - 4).div_ceil(2);
            let pairs: Vec<(f64, f64)> = (0..=last).map(|k| (rho(2 * k), rho(2 * k + 1))).collect();
            let end = pairs.iter().position(|(even, odd)| even + odd <= 0.0).unwrap_or(last);
            let falling: Vec<f64> = (0..end)
                .map(|k| pairs[..=k].iter().map(|(even, odd)| even + odd).fold(f64::INFINITY, f64::min))
                .collect();
            (m * n) as f64 / (-1.0 + 2.0 * falling.iter().sum::<f64>() + pairs[end].0.max(0.0))
        }
    }

    fn assert_near(found: f64, expected: f64, what: &str) {
        assert!((found - expected).abs() <= 1e-10 * expected.abs(), "{what}: {found}, expected {expected}");
    }

    #[test]
    fn diagnosis_equals_its_definition_lag_by_lag() {
        let mut cases =
            vec![autoregressive(4, 200, 0.8, 1), autoregressive(2, 101, 0.0, 2), autoregressive(1, 301, 0.5, 3)];
        // Ties, and chains that differ in spread alone.
        cases.push(
            autoregressive(3, 120, 0.3, 4).iter().map(|c| c.iter().map(|x| (4.0 * x).round()).collect()).collect(),
        );
        let mut wide = autoregressive(4, 150, 0.2, 5);
        wide[0].iter_mut().for_each(|x| *x *= 4.0);
        cases.push(wide);
        for (i, chains) in cases.iter().enumerate() {
            let found = diagnose(chains);
            let halves = plain::halves(chains);
            let middle = quantile(
                &{
                    let mut all = halves.concat();
                    all.sort_by(f64::total_cmp);
                    all
                },
                0.5,
            );
            let over = |f: &dyn Fn(f64) -> f64| -> Vec<Vec<f64>> {
                halves.iter().map(|c| c.iter().map(|&x| f(x)).collect()).collect()
            };
            let (bulk, folded) = (plain::scores(&halves), plain::scores(&over(&|x| (x - middle).abs())));
            let what = format!("case {i}");
            assert_near(found.r_hat, plain::r_hat(&bulk).max(plain::r_hat(&folded)), &what);
            assert_near(found.ess_bulk, plain::effective(&bulk), &what);
            let tail = |end: f64| plain::effective(&over(&|x| if x <= end { 1.0 } else { 0.0 }));
            assert_near(found.ess_tail, tail(found.interval.0).min(tail(found.interval.1)), &what);
            assert_near(found.mcse, found.sd / plain::effective(&halves).sqrt(), &what);
        }
        assert!(diagnose(&cases[4]).r_hat > 1.05);
    }

    #[test]
    fn diagnosis_equals_the_reference() {
        let text = include_str!("../../../../testdata/diagnostics/reference.json");
        let cases: Vec<serde_json::Value> = serde_json::from_str(text).unwrap();
        assert_eq!(cases.len(), 13);
        for case in &cases {
            let chains: Vec<Vec<f64>> = serde_json::from_value(case["draws"].clone()).unwrap();
            let found = diagnose(&chains);
            let fields = [
                ("r_hat", found.r_hat),
                ("ess_bulk", found.ess_bulk),
                ("ess_tail", found.ess_tail),
                ("mcse", found.mcse),
                ("sd", found.sd),
            ];
            for (field, found) in fields {
                match (case["name"].as_str().unwrap(), field) {
                    // A constant: the reference counts all its draws as effective, we report nothing.
                    ("constant", "r_hat" | "ess_bulk" | "ess_tail" | "mcse") => assert!(found.is_nan()),
                    // The reference requires two chains, we compare the halves of one.
                    ("one chain", "r_hat") => assert!((0.99..1.1).contains(&found), "{found}"),
                    // Nothing varies within a half: the reference divides by a rounding error or by zero.
                    ("constant chains, one different" | "halves that differ", "r_hat") => {
                        assert_eq!(found, f64::INFINITY)
                    }
                    (name, _) => {
                        let expected = case[field].as_f64().unwrap();
                        assert!(
                            (found - expected).abs() <= 1e-8 * expected,
                            "{name} {field}: {found}, expected {expected}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn autoregressive_chains_are_worth_what_theory_says() {
        for (rho, seed) in [(0.0, 1), (0.5, 2), (0.9, 3)] {
            let found = diagnose(&autoregressive(4, 20_000, rho, seed));
            let expected = 80_000.0 * (1.0 - rho) / (1.0 + rho);
            assert!((found.ess_bulk / expected - 1.0).abs() < 0.15, "{rho}: {} of {expected}", found.ess_bulk);
            assert!(found.r_hat < 1.01 && found.mean.abs() < 4.0 * found.mcse, "{rho}: {found:?}");
            assert!((found.interval.1 - 1.645).abs() < 0.1 && (found.sd - 1.0).abs() < 0.06);
        }
        // Alternating chains determine their mean better than independent draws.
        assert!(diagnose(&autoregressive(4, 2000, -0.5, 4)).ess_bulk > 12_000.0);
    }

    #[test]
    fn chains_apart_in_place_or_in_spread_or_drifting_are_found_out() {
        let shifted = |by: &dyn Fn(usize, usize) -> f64| {
            let mut chains = autoregressive(4, 500, 0.0, 6);
            for (c, chain) in chains.iter_mut().enumerate() {
                chain.iter_mut().enumerate().for_each(|(t, x)| *x += by(c, t));
            }
            diagnose(&chains).r_hat
        };
        assert!(shifted(&|_, _| 0.0) < 1.01);
        assert!(shifted(&|c, _| if c == 0 { 1.0 } else { 0.0 }) > 1.05);
        // All chains drift alike: only their halves disagree.
        assert!(shifted(&|_, t| t as f64 / 250.0) > 1.05);
    }

    #[test]
    fn what_the_draws_cannot_tell_is_nan() {
        let all_nan = |found: Diagnosis| {
            [found.mean, found.sd, found.r_hat, found.ess_bulk, found.interval.0].iter().all(|x| x.is_nan())
        };
        assert!(all_nan(diagnose(&[])) && all_nan(diagnose(&[vec![]])));
        assert!(all_nan(diagnose(&[vec![1.0, f64::NAN, 2.0, 3.0]])) && all_nan(diagnose(&[vec![f64::INFINITY; 8]])));
        let one = diagnose(&[vec![3.0]]);
        assert!(one.mean == 3.0 && one.sd.is_nan() && one.r_hat.is_nan() && one.interval == (3.0, 3.0));
        let short = diagnose(&[vec![1.0, 2.0, 3.0], vec![2.0, 3.0, 4.0]]);
        assert!(short.mean == 2.5 && short.r_hat.is_nan() && short.ess_bulk.is_nan() && short.mcse.is_nan());
        let constant = diagnose(&[vec![0.1; 50], vec![0.1; 50]]);
        assert!(constant.sd < 1e-15 && constant.r_hat.is_nan() && constant.ess_tail.is_nan() && constant.mcse.is_nan());
        let apart = diagnose(&[vec![0.0; 50], vec![1.0; 50]]);
        assert_eq!(apart.r_hat, f64::INFINITY);
        for n in 4..12 {
            let found = diagnose(&autoregressive(2, n, 0.0, 7));
            assert!(found.r_hat.is_finite() && found.ess_bulk > 0.0 && found.mcse > 0.0, "{n}: {found:?}");
        }
        // Chains of different lengths: the last draws of each.
        let chains = autoregressive(2, 20, 0.0, 8);
        let longer = vec![chains[0].clone(), [vec![9.0; 5], chains[1].clone()].concat()];
        assert_eq!(diagnose(&longer), diagnose(&chains));
    }
}
