//! Comparison of methods on the same splits.

use serde::Serialize;

use super::student;
use crate::error::{Error, Result};

/// Two methods compared on the same splits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Paired {
    /// The first method.
    pub a: String,
    /// The second method.
    pub b: String,
    /// Mean over the splits of (value of `a` - value of `b`).
    pub difference: f64,
    /// Interval around `difference` at its Holm step; it excludes 0 exactly when `distinguishable`. `None` with fewer
    /// than two splits. In JSON `[low, high]` or `null`.
    pub interval: Option<(f64, f64)>,
    /// Two-sided p-value, Holm-adjusted for all pairs of the call. `None` with fewer than two splits.
    pub p_value: Option<f64>,
    /// Whether the methods differ at the requested level; if not, the word is "not distinguishable".
    pub distinguishable: bool,
}

/// Compares every pair of methods, in the order given: (0, 1), (0, 2), ..., (1, 2), ...
///
/// `values[i][j]` is the metric of method `i` on split `j`, the splits being the same for all; `n_train` and `n_test`
/// are the mean sizes of the two parts, `level` is the confidence level, such as 0.95.
///
/// Training sets of repeated splits overlap, so the plain standard error s/sqrt(J) of J differences is too small; the
/// corrected one is s sqrt(1/J + n_test/n_train) (Nadeau and Bengio, Machine Learning 52, 2003), and the statistic is
/// compared with Student's t with J - 1 degrees of freedom. Among m pairs, the one with the r-th smallest p-value is
/// tested at (1 - level)/(m - r + 1), until one fails; it and all later ones are "not distinguishable" (Holm, Scand. J.
/// Statist. 6, 1979). The chance of calling any two equal methods distinguishable is then at most 1 - level.
///
/// Each interval uses the level of its own step (the failing step for all after it), so it reflects the decision. It is
/// never narrower than the interval of that pair alone at `level`; simultaneous coverage is not promised.
///
/// Differences within rounding (4 units in the last place of the values) count as 0. If all differences of a pair
/// are equal, s is 0 and the interval is a single point: not distinguishable (p = 1) if it is 0, else distinguishable
/// (p = 0).
///
/// Errors: mismatched counts, no splits, values that are not finite, sizes that are not positive, a level outside
/// 0.5..1.
///
/// ```
/// use multikernel::evaluate::compare;
/// let names = ["mklda".to_string(), "average".to_string()];
/// let values = [vec![0.91, 0.93, 0.92, 0.94], vec![0.85, 0.86, 0.87, 0.86]];
/// let pairs = compare(&names, &values, 150.0, 50.0, 0.95)?;
/// assert!(pairs[0].distinguishable);
/// let (low, high) = pairs[0].interval.unwrap();
/// assert!(0.0 < low && low < 0.065 && 0.065 < high);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn compare(names: &[String], values: &[Vec<f64>], n_train: f64, n_test: f64, level: f64) -> Result<Vec<Paired>> {
    let pairs = (0..names.len()).flat_map(|a| (a + 1..names.len()).map(move |b| (a, b)));
    compare_pairs(pairs, names, values, n_train, n_test, level)
}

/// [`compare`] of the first method with each of the others only: what the first loses or gains.
pub fn compare_with_first(
    names: &[String],
    values: &[Vec<f64>],
    n_train: f64,
    n_test: f64,
    level: f64,
) -> Result<Vec<Paired>> {
    compare_pairs((1..names.len()).map(|b| (0, b)), names, values, n_train, n_test, level)
}

fn compare_pairs(
    chosen: impl Iterator<Item = (usize, usize)>,
    names: &[String],
    values: &[Vec<f64>],
    n_train: f64,
    n_test: f64,
    level: f64,
) -> Result<Vec<Paired>> {
    check(names, values, n_train, n_test, level)?;
    let pair = |(a, b): (usize, usize)| Pair {
        names: [&names[a], &names[b]],
        values: [values[a].clone(), values[b].clone()],
        sizes: (n_train, n_test),
    };
    decided(chosen.map(pair).collect(), level)
}

/// The chosen pairs of methods, each over the splits that both have; pairs without any are left out.
///
/// `values[i][j]` is the metric of method `i` on split `j`, `None` where it was not measured; `sizes[j]` holds the
/// numbers of training and test rows of split `j`. If all methods have all splits this is [`compare`] with the mean
/// sizes, to the last bit; otherwise each pair has its own degrees of freedom, and pairs with one split take no part in
/// Holm's rule.
pub(super) fn compare_common(
    chosen: impl Iterator<Item = (usize, usize)>,
    names: &[String],
    values: &[Vec<Option<f64>>],
    sizes: &[(usize, usize)],
    level: f64,
) -> Result<Vec<Paired>> {
    let mut pairs = vec![];
    for (a, b) in chosen {
        let mut pair = Pair { names: [&names[a], &names[b]], values: [vec![], vec![]], sizes: (0.0, 0.0) };
        for ((a, b), size) in values[a].iter().zip(&values[b]).zip(sizes) {
            let (Some(a), Some(b)) = (a, b) else { continue };
            pair.values[0].push(*a);
            pair.values[1].push(*b);
            pair.sizes = (pair.sizes.0 + size.0 as f64, pair.sizes.1 + size.1 as f64);
        }
        let n = pair.values[0].len() as f64;
        if n > 0.0 {
            pair.sizes = (pair.sizes.0 / n, pair.sizes.1 / n);
            let named: Vec<String> = pair.names.iter().map(|name| name.to_string()).collect();
            check(&named, &pair.values, pair.sizes.0, pair.sizes.1, level)?;
            pairs.push(pair);
        }
    }
    decided(pairs, level)
}

/// Two methods on their common splits, and the mean sizes of the training and test parts of those.
struct Pair<'a> {
    names: [&'a String; 2],
    values: [Vec<f64>; 2],
    sizes: (f64, f64),
}

fn decided(pairs: Vec<Pair<'_>>, level: f64) -> Result<Vec<Paired>> {
    let (mut found, mut judged) = (vec![], vec![]);
    for (at, Pair { names: [a, b], values: [of_a, of_b], sizes: (n_train, n_test) }) in pairs.iter().enumerate() {
        let (difference, deviation) = moments(of_a, of_b);
        if !(difference.is_finite() && deviation.is_finite()) {
            return Err(Error::input(format!(
                "values of {a} and {b}: too large to subtract; give them in another unit"
            )));
        }
        let n = of_a.len() as f64;
        if n >= 2.0 {
            judged.push(Judged { at, difference, error: deviation * (1.0 / n + n_test / n_train).sqrt(), df: n - 1.0 });
        }
        let (a, b) = (a.to_string(), b.to_string());
        found.push(Paired { a, b, difference, interval: None, p_value: None, distinguishable: false });
    }
    decide(&mut found, &judged, 1.0 - level);
    Ok(found)
}

/// A pair under Holm's rule: its index, mean difference, standard error and degrees of freedom.
struct Judged {
    at: usize,
    difference: f64,
    error: f64,
    df: f64,
}

/// Holm's step-down rule.
fn decide(pairs: &mut [Paired], judged: &[Judged], alpha: f64) {
    let statistic: Vec<f64> = judged.iter().map(|one| ratio(one.difference, one.error)).collect();
    let tail: Vec<f64> = judged.iter().zip(&statistic).map(|(one, t)| student::cdf(-t, one.df)).collect();
    let mut order: Vec<usize> = (0..judged.len()).collect();
    if judged.windows(2).all(|two| two[0].df == two[1].df) {
        // With equal df the largest statistic has the smallest p-value; p-values themselves may tie at 0.
        order.sort_by(|&i, &j| statistic[j].total_cmp(&statistic[i]));
    } else {
        order.sort_by(|&i, &j| tail[i].total_cmp(&tail[j]).then(statistic[j].total_cmp(&statistic[i])));
    }

    let mut failed: Option<f64> = None;
    let mut adjusted = 0.0f64;
    for (rank, &i) in order.iter().enumerate() {
        let Judged { at, error, df, .. } = judged[i];
        let n_left = (judged.len() - rank) as f64;
        adjusted = adjusted.max((n_left * 2.0 * tail[i]).min(1.0));
        // The tail of the step that failed applies to all later ones, each at its own df.
        let step = failed.unwrap_or(0.5 * alpha / n_left);
        let critical = -student::quantile(step, df);
        let pair = &mut pairs[at];
        let size = pair.difference.abs();
        let mut half = critical * error;
        // Comparing `size` with `half` is comparing the interval's end with 0, to the last bit.
        pair.distinguishable = failed.is_none() && size > half;
        if !pair.distinguishable {
            failed = Some(step);
            // After a failure only the rounding of statistic and product could still exclude 0.
            half = half.max(size);
        }
        pair.p_value = Some(adjusted);
        pair.interval = Some((pair.difference - half, pair.difference + half));
    }
}

/// |difference| / error, with 0/0 = 0: equal methods give no evidence.
fn ratio(difference: f64, error: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { (difference / error).abs() }
}

/// Mean and standard deviation (divisor J - 1; 0 for one split) of a - b.
fn moments(a: &[f64], b: &[f64]) -> (f64, f64) {
    let differences: Vec<f64> = a.iter().zip(b).map(|(&a, &b)| difference(a, b)).collect();
    let n = differences.len() as f64;
    // Summing equal numbers may round; then s would be noise instead of 0.
    if differences.iter().all(|d| *d == differences[0]) {
        return (differences[0], 0.0);
    }
    let mean = differences.iter().sum::<f64>() / n;
    let largest = differences.iter().map(|d| (d - mean).abs()).fold(0.0, f64::max);
    // In units of the largest deviation, squares neither overflow nor vanish.
    let sum: f64 = differences.iter().map(|d| ((d - mean) / largest).powi(2)).sum();
    (mean, largest * (sum / (n - 1.0)).sqrt())
}

/// a - b, and 0 if they differ by rounding only: a constant difference of one unit in the last place would otherwise
/// pass for certainty.
fn difference(a: f64, b: f64) -> f64 {
    let d = a - b;
    if d.abs() <= 4.0 * f64::EPSILON * a.abs().max(b.abs()) { 0.0 } else { d }
}

fn check(names: &[String], values: &[Vec<f64>], n_train: f64, n_test: f64, level: f64) -> Result<()> {
    if names.len() != values.len() {
        return Err(Error::input(format!(
            "comparison: {} names but values of {} methods; pass one row of values for each name",
            names.len(),
            values.len()
        )));
    }
    let n_splits = values.first().map_or(0, Vec::len);
    for (name, row) in names.iter().zip(values) {
        if row.is_empty() {
            return Err(Error::input(format!(
                "values of {name}: no splits, at least one is needed; evaluate it first"
            )));
        }
        if row.len() != n_splits {
            return Err(Error::input(format!(
                "values of {name}: {} splits but {} has {n_splits}; compare methods on the same splits",
                row.len(),
                names[0]
            )));
        }
        if let Some(split) = row.iter().position(|v| !v.is_finite()) {
            return Err(Error::input(format!(
                "values of {name}: {} on split {split}, only finite numbers can be compared; leave the method or the \
                 split out",
                row[split]
            )));
        }
    }
    for (name, size) in [("n_train", n_train), ("n_test", n_test)] {
        if !(size > 0.0 && size.is_finite()) {
            return Err(Error::param(name, format!("{size} is not a mean number of rows; pass a number above 0")));
        }
    }
    if !(0.5..1.0).contains(&level) {
        return Err(Error::param("level", format!("{level} is not a confidence; pass 0.5 to below 1, such as 0.95")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dist::Rng;

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|i| format!("m{i}")).collect()
    }

    fn excludes_zero(pair: &Paired) -> bool {
        pair.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }

    /// Raw two-sided p-values for each pair, straight from the definition.
    fn raw(values: &[Vec<f64>], n_train: f64, n_test: f64) -> Vec<f64> {
        let j = values[0].len() as f64;
        let mut p = Vec::new();
        for a in 0..values.len() {
            for b in a + 1..values.len() {
                let d: Vec<f64> = values[a].iter().zip(&values[b]).map(|(x, y)| x - y).collect();
                let mean = d.iter().sum::<f64>() / j;
                let s = (d.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (j - 1.0)).sqrt();
                p.push(2.0 * student::cdf(-(mean / (s * (1.0 / j + n_test / n_train).sqrt())).abs(), j - 1.0));
            }
        }
        p
    }

    /// Holm's rule is the closed test of Bonferroni: pair i is judged by the worst set of pairs that contains it.
    fn closed_test(p: &[f64], i: usize) -> f64 {
        (1u32..1 << p.len())
            .filter(|set| set >> i & 1 == 1)
            .map(|set| {
                let members = (0..p.len()).filter(|j| set >> j & 1 == 1);
                (f64::from(set.count_ones()) * members.map(|j| p[j]).fold(1.0, f64::min)).min(1.0)
            })
            .fold(0.0, f64::max)
    }

    /// Values of 2 to 4 methods on 2 to 8 splits; shifts make some pairs clearly different.
    fn tables() -> impl Strategy<Value = Vec<Vec<f64>>> {
        (2usize..5, 2usize..9).prop_flat_map(|(k, j)| {
            prop::collection::vec(
                (prop::collection::vec(-1.0..1.0f64, j), prop::sample::select(vec![0.0, 1.0, 9.0])),
                k,
            )
            .prop_map(|rows| rows.into_iter().map(|(r, s)| r.iter().map(|v| v + s).collect()).collect())
        })
    }

    /// Few distinct values: equal differences, zero differences and tied statistics are common.
    fn coarse_tables() -> impl Strategy<Value = Vec<Vec<f64>>> {
        (2usize..6, 1usize..5).prop_flat_map(|(k, j)| {
            let cell = prop::sample::select(vec![0.0, 0.1, 0.2, 0.3, 1e-200, 1e200]);
            prop::collection::vec(prop::collection::vec(cell, j), k)
        })
    }

    #[test]
    fn with_first_corrects_for_its_own_pairs_alone() {
        let values = [vec![0.9, 0.8, 0.95], vec![0.7, 0.75, 0.8], vec![0.6, 0.65, 0.8]];
        let found = compare_with_first(&names(3), &values, 50.0, 50.0, 0.95).unwrap();
        let alone = |b: usize| compare(&names(2), &[values[0].clone(), values[b].clone()], 50.0, 50.0, 0.95).unwrap();
        for (b, pair) in found.iter().enumerate() {
            assert_eq!((pair.a.as_str(), pair.b.as_str()), ("m0", names(3)[b + 1].as_str()));
            let (p, alone) = (pair.p_value.unwrap(), alone(b + 1)[0].p_value.unwrap());
            assert!(alone <= p && p <= 2.0 * alone + 1e-12);
        }
    }

    proptest! {
        #[test]
        fn compare_random_values_equals_closed_test(values in tables(), level in 0.5..0.999f64) {
            let pairs = compare(&names(values.len()), &values, 90.0, 10.0, level)?;
            let p = raw(&values, 90.0, 10.0);
            for (i, pair) in pairs.iter().enumerate() {
                let expected = closed_test(&p, i);
                prop_assert!((pair.p_value.unwrap() - expected).abs() <= 1e-9 * expected);
                if (expected - (1.0 - level)).abs() > 1e-9 {
                    prop_assert_eq!(pair.distinguishable, expected < 1.0 - level);
                }
            }
        }

        #[test]
        fn compare_any_values_interval_excludes_zero_iff_distinguishable(
            values in prop_oneof![tables(), coarse_tables()],
            ratio in prop::sample::select(vec![1e-12, 0.1, 1.0, 9.0]),
            level in 0.5..0.9999f64,
        ) {
            for pair in compare(&names(values.len()), &values, 1.0, ratio, level)? {
                prop_assert_eq!(excludes_zero(&pair), pair.distinguishable);
                prop_assert_eq!(pair.interval.is_some(), values[0].len() > 1);
                if let Some((low, high)) = pair.interval {
                    prop_assert!(low <= pair.difference && pair.difference <= high && high.is_finite());
                }
            }
        }

        #[test]
        fn compare_at_the_critical_value_interval_excludes_zero_iff_distinguishable(
            seed in 0u64..1000, n_methods in 2usize..5, ulps in -3i64..=3,
        ) {
            // The level is set within a few units in the last place of one pair's own p-value.
            let mut rng = Rng::new(seed, 0);
            let values: Vec<Vec<f64>> = (0..n_methods).map(|_| (0..5).map(|_| rng.uniform()).collect()).collect();
            for p in raw(&values, 1.0, 0.25) {
                for m in 1..=n_methods * (n_methods - 1) / 2 {
                    let level = 1.0 - p * m as f64 * (1.0 + ulps as f64 * f64::EPSILON);
                    if !(0.5..1.0).contains(&level) {
                        continue;
                    }
                    for pair in compare(&names(n_methods), &values, 1.0, 0.25, level)? {
                        prop_assert_eq!(excludes_zero(&pair), pair.distinguishable);
                    }
                }
            }
        }

        #[test]
        fn compare_any_values_interval_is_no_narrower_than_alone(values in tables()) {
            let k = values.len();
            for (i, pair) in compare(&names(k), &values, 90.0, 10.0, 0.95)?.iter().enumerate() {
                let (a, b) = (0..k).flat_map(|a| (a + 1..k).map(move |b| (a, b))).nth(i).unwrap();
                let two = [values[a].clone(), values[b].clone()];
                let alone = &compare(&names(2), &two, 90.0, 10.0, 0.95)?[0];
                let width = |p: &Paired| p.interval.map(|(low, high)| high - low).unwrap();
                prop_assert!(width(pair) >= width(alone) * (1.0 - 1e-12));
            }
        }
    }

    #[test]
    fn decide_statistics_tied_up_to_rounding_stand_or_fall_together() {
        // All statistics equal the critical value of the first step up to rounding. If the first pair passes, the later
        // steps are easier and all pass; if it fails, all fail, whichever side of it rounding puts them.
        let (df, alpha, n_pairs) = (4.0, 0.05, 6);
        let critical = -student::quantile(0.5 * alpha / f64::from(n_pairs), df);
        let mut n_passed = 0;
        for run in 0..500 {
            let mut rng = Rng::new(13, run);
            let errors: Vec<f64> = (0..n_pairs).map(|_| rng.uniform() + 0.01).collect();
            let mut pairs: Vec<Paired> = errors
                .iter()
                .map(|e| Paired {
                    a: String::new(),
                    b: String::new(),
                    difference: [e * critical, (e * critical).next_up(), (e * critical).next_down()][rng.below(3)],
                    interval: None,
                    p_value: None,
                    distinguishable: false,
                })
                .collect();
            let judged =
                |(at, (pair, &error)): (usize, (&Paired, &f64))| Judged { at, difference: pair.difference, error, df };
            let judged: Vec<Judged> = pairs.iter().zip(&errors).enumerate().map(judged).collect();
            decide(&mut pairs, &judged, alpha);
            for pair in &pairs {
                assert_eq!(pair.distinguishable, pairs[0].distinguishable);
                assert_eq!(pair.distinguishable, excludes_zero(pair));
            }
            n_passed += u32::from(pairs[0].distinguishable);
        }
        assert!(n_passed > 0 && n_passed < 500, "{n_passed}");
    }

    #[test]
    fn compare_one_pair_equals_hand_computed_interval() {
        // d = 0.1, 0.2, 0.3: mean 0.2, s = 0.1, error 0.1 sqrt(1/3 + 1/2); t quantile of 2 df at 0.975 in closed form.
        let values = [vec![1.1, 1.2, 1.3], vec![1.0, 1.0, 1.0]];
        let pair = &compare(&names(2), &values, 20.0, 10.0, 0.95).unwrap()[0];
        let error = 0.1 * (1.0 / 3.0 + 0.5f64).sqrt();
        let half = 0.95 / (2.0 * 0.025 * 0.975f64).sqrt() * error;
        let (low, high) = pair.interval.unwrap();
        assert!((low - (0.2 - half)).abs() < 1e-12 && (high - (0.2 + half)).abs() < 1e-12);
        let t = 0.2 / error;
        assert!((pair.p_value.unwrap() - (1.0 - t / (2.0 + t * t).sqrt())).abs() < 1e-12);
        assert!(!pair.distinguishable);
    }

    #[test]
    fn compare_three_methods_lists_pairs_in_order() {
        let values = vec![vec![0.3, 0.2], vec![0.1, 0.1], vec![0.0, 0.2]];
        let pairs = compare(&names(3), &values, 90.0, 10.0, 0.95).unwrap();
        let found: Vec<(&str, &str)> = pairs.iter().map(|p| (p.a.as_str(), p.b.as_str())).collect();
        assert_eq!(found, [("m0", "m1"), ("m0", "m2"), ("m1", "m2")]);
        assert!((pairs[0].difference - 0.15).abs() < 1e-15);
        assert_eq!(compare(&names(1), &values[..1], 90.0, 10.0, 0.95).unwrap(), vec![]);
        assert_eq!(compare(&[], &[], 90.0, 10.0, 0.95).unwrap(), vec![]);
    }

    #[test]
    fn compare_equal_differences_gives_a_point_interval() {
        let values = [vec![0.5, 0.75, 1.0], vec![0.25, 0.5, 0.75], vec![0.25, 0.5, 0.75]];
        let pairs = compare(&names(3), &values, 90.0, 10.0, 0.95).unwrap();
        assert_eq!(
            (pairs[0].interval, pairs[0].p_value, pairs[0].distinguishable),
            (Some((0.25, 0.25)), Some(0.0), true)
        );
        assert_eq!(
            (pairs[2].interval, pairs[2].p_value, pairs[2].distinguishable),
            (Some((0.0, 0.0)), Some(1.0), false)
        );
    }

    #[test]
    fn compare_differences_of_rounding_are_zero() {
        let values = [vec![0.1 + 0.2, 0.3], vec![0.3, 0.1 + 0.2]];
        let pair = &compare(&names(2), &values, 90.0, 10.0, 0.95).unwrap()[0];
        assert_eq!((pair.difference, pair.distinguishable), (0.0, false));
    }

    #[test]
    fn compare_one_split_has_no_interval_and_serializes_null() {
        let values = [vec![0.75], vec![0.5]];
        let pairs = compare(&names(2), &values, 90.0, 10.0, 0.95).unwrap();
        let json = serde_json::to_string(&pairs).unwrap();
        assert_eq!(
            json,
            r#"[{"a":"m0","b":"m1","difference":0.25,"interval":null,"p_value":null,"distinguishable":false}]"#
        );
        let values = [vec![0.75, 0.75], vec![0.5, 0.5]];
        let pairs = compare(&names(2), &values, 90.0, 10.0, 0.95).unwrap();
        assert!(serde_json::to_string(&pairs).unwrap().contains(r#""interval":[0.25,0.25]"#));
    }

    #[test]
    fn compare_bad_input_is_an_error_naming_it() {
        let text = |values: &[Vec<f64>], n_train, n_test, level| {
            compare(&names(2), values, n_train, n_test, level).unwrap_err().to_string()
        };
        let good = [vec![0.1, 0.2], vec![0.2, 0.2]];
        assert!(text(&good[..1], 9.0, 1.0, 0.95).contains("2 names but values of 1 methods"));
        assert!(text(&[vec![0.1], vec![0.2, 0.3]], 9.0, 1.0, 0.95).contains("values of m1: 2 splits but m0 has 1"));
        assert!(text(&[vec![], vec![]], 9.0, 1.0, 0.95).contains("values of m0: no splits"));
        assert!(text(&[vec![0.1], vec![f64::NAN]], 9.0, 1.0, 0.95).contains("values of m1: NaN on split 0"));
        assert!(text(&[vec![1.0, 1e308], vec![0.0, -1e308]], 9.0, 1.0, 0.95).contains("too large"));
        assert!(text(&good, 0.0, 1.0, 0.95).starts_with("parameter n_train: 0 is not"));
        assert!(text(&good, 9.0, f64::NAN, 0.95).starts_with("parameter n_test: NaN"));
        assert!(text(&good, 9.0, 1.0, 0.05).starts_with("parameter level: 0.05 is not a confidence"));
        assert!(text(&good, 9.0, 1.0, 1.0).starts_with("parameter level: 1 "));
    }

    /// Box-Muller.
    fn normal(rng: &mut Rng) -> f64 {
        (-2.0 * (1.0 - rng.uniform()).ln()).sqrt() * (std::f64::consts::TAU * rng.uniform()).cos()
    }

    /// Share of simulated comparisons of equal methods that are correctly called not distinguishable: differences on 10
    /// splits have variance 1 and correlation `rho`, as with overlapping training sets.
    fn coverage(rho: f64, n_test_by_n_train: f64, n_runs: u32, stream: u64) -> f64 {
        let mut rng = Rng::new(11, stream);
        let covered = (0..n_runs).filter(|_| {
            let shared = rho.sqrt() * normal(&mut rng);
            let a: Vec<f64> = (0..10).map(|_| shared + (1.0 - rho).sqrt() * normal(&mut rng)).collect();
            let pairs = compare(&names(2), &[a, vec![0.0; 10]], 1.0, n_test_by_n_train, 0.95);
            pairs.is_ok_and(|pairs| !excludes_zero(&pairs[0]))
        });
        covered.count() as f64 / f64::from(n_runs)
    }

    #[test]
    fn compare_equal_methods_intervals_cover_at_the_level() {
        let n_runs = 20_000;
        let error = (0.95 * 0.05 / f64::from(n_runs)).sqrt();
        let independent = coverage(0.0, 1e-12, n_runs, 0);
        assert!((independent - 0.95).abs() < 4.0 * error, "{independent}");
        // With correlation n_test/(n_test + n_train) the corrected statistic has exactly Student's distribution.
        let corrected = coverage(0.2, 0.25, n_runs, 1);
        assert!((corrected - 0.95).abs() < 4.0 * error, "{corrected}");
        // The same data without the correction: sd of the mean sqrt(0.28), estimated by sqrt(0.08): t shrinks by 1.87.
        let plain = coverage(0.2, 1e-12, n_runs, 1);
        let expected = 1.0 - 2.0 * student::cdf(student::quantile(0.025, 9.0) / (0.28f64 / 0.08).sqrt(), 9.0);
        assert!((plain - expected).abs() < 4.0 * (expected * (1.0 - expected) / f64::from(n_runs)).sqrt(), "{plain}");
    }

    #[test]
    fn compare_equal_methods_any_false_alarm_is_as_rare_as_promised() {
        let mut rng = Rng::new(12, 0);
        let n_runs = 5000;
        let alarms = (0..n_runs).filter(|_| {
            let values: Vec<Vec<f64>> = (0..4).map(|_| (0..10).map(|_| normal(&mut rng)).collect()).collect();
            compare(&names(4), &values, 1.0, 1e-12, 0.95).unwrap().iter().any(|p| p.distinguishable)
        });
        let rate = alarms.count() as f64 / f64::from(n_runs);
        assert!(rate < 0.05 + 4.0 * (0.05 * 0.95 / f64::from(n_runs)).sqrt(), "{rate}");
    }

    /// Methods on five splits, the second without the last two, the third on the first alone, the fourth on none.
    fn ragged() -> Vec<Vec<Option<f64>>> {
        let full = [[0.91, 0.93, 0.92, 0.94, 0.90], [0.85, 0.86, 0.88, 0.86, 0.87], [0.5; 5], [0.4; 5]];
        let kept = [5, 3, 1, 0];
        let values = full.iter().zip(kept).map(|(row, n)| (0..5).map(|j| (j < n).then_some(row[j])).collect());
        values.collect()
    }

    #[test]
    fn pairs_are_compared_on_the_splits_both_have() {
        let (values, sizes) = (ragged(), [(80, 20), (82, 18), (80, 20), (79, 21), (80, 20)]);
        let chosen = [(0, 1), (0, 2), (1, 2), (0, 3)];
        let found = compare_common(chosen.into_iter(), &names(4), &values, &sizes, 0.95).unwrap();
        let titles: Vec<(&str, &str)> = found.iter().map(|pair| (pair.a.as_str(), pair.b.as_str())).collect();
        assert_eq!(titles, [("m0", "m1"), ("m0", "m2"), ("m1", "m2")], "no split in common, no pair");
        // Only one pair, with three splits, is judged: alone, by the sizes of those three.
        let plain = |row: &[Option<f64>]| row.iter().take(3).map(|value| value.unwrap()).collect::<Vec<_>>();
        let alone = compare(&names(2), &[plain(&values[0]), plain(&values[1])], 242.0 / 3.0, 58.0 / 3.0, 0.95).unwrap();
        assert_eq!(found[0], alone[0]);
        assert_eq!((found[1].difference, found[1].interval, found[1].p_value), (0.91 - 0.5, None, None));
    }

    #[test]
    fn pairs_of_different_numbers_of_splits_follow_holm_by_their_p_values() {
        let row = |base: f64, n: usize| {
            (0..6).map(|j| (j < n).then_some(base + [0.0, 0.02, 0.01, 0.03, 0.0, 0.02][j])).collect()
        };
        let values: Vec<Vec<Option<f64>>> = vec![
            row(0.9, 6),
            (0..6).map(|j| Some([0.8, 0.85, 0.84, 0.82, 0.83, 0.84][j])).collect(),
            vec![Some(0.7), Some(0.75), None, None, None, None],
        ];
        let sizes = vec![(90, 10); 6];
        let found = compare_common([(0, 1), (0, 2)].into_iter(), &names(3), &values, &sizes, 0.95).unwrap();
        // Two splits have one degree of freedom: a larger statistic may well have the larger p-value.
        let raw = |b: usize, n: usize| {
            let of = |m: usize| values[m].iter().take(n).map(|value| value.unwrap()).collect::<Vec<_>>();
            compare(&names(2), &[of(0), of(b)], 90.0, 10.0, 0.95).unwrap()[0].p_value.unwrap()
        };
        let (six, two) = (raw(1, 6), raw(2, 2));
        assert!(six < two, "{six} {two}");
        assert!((found[0].p_value.unwrap() - 2.0 * six).abs() < 1e-12);
        assert!((found[1].p_value.unwrap() - two.max(2.0 * six)).abs() < 1e-12);
        assert!(found.iter().all(|pair| excludes_zero(pair) == pair.distinguishable));
    }

    #[test]
    fn pairs_that_have_all_splits_are_those_of_compare_to_the_last_bit() {
        let values = vec![vec![0.91, 0.93, 0.92], vec![0.85, 0.94, 0.87], vec![0.90, 0.92, 0.93]];
        let common: Vec<Vec<Option<f64>>> = values.iter().map(|row| row.iter().copied().map(Some).collect()).collect();
        let sizes = [(133, 67), (133, 67), (134, 66)];
        let chosen = [(0, 1), (0, 2), (1, 2)].into_iter();
        let found = compare_common(chosen, &names(3), &common, &sizes, 0.95).unwrap();
        assert_eq!(found, compare(&names(3), &values, 400.0 / 3.0, 200.0 / 3.0, 0.95).unwrap());
    }
}
