//! One plan on one split at a time, for engines that spread an evaluation over processes or machines.

use std::path::Path;
use std::sync::Arc;

use super::metrics::Metrics;
use super::numbers::NumberMetrics;
use super::protocol::{Cut, Protocol};
use super::result::{Evaluation, Fold, NumberFold, TimeFold};
use super::times::TimeMetrics;
use crate::data::{Dataset, Target};
use crate::error::{Error, Result};
use crate::file::{self, Codec, Kind, Record, record};
use crate::linalg::Matrix;
use crate::plan::{Plan, Session};
use crate::run::KernelsOfView;

/// An evaluation in parts: each plan on each split is one, can be run anywhere, in any order and more than once, and comes
/// back as bytes. Joined they are the evaluation that [`evaluate`](super::evaluate) gives on one machine, but for seconds.
///
/// ```
/// use multikernel::{Plan, Pool, data::bundled, evaluate::{Protocol, SplitEvaluation, evaluate}, plan::Session, run::Silent};
/// let (data, pool) = (bundled("sonar")?, Pool::new(1)?);
/// let (plans, protocol) = ([Plan::new("majority")?, Plan::new("average")?], Protocol::Folds(3));
/// let cut = SplitEvaluation::new(&data, &plans, &protocol, 0)?;
/// let mut silent = Silent;
/// let mut session = Session::new(&pool, &mut silent);
/// let mut parts = vec![];
/// for (plan, split) in cut.parts() {
///     parts.push(cut.run(plan, split, &mut session)?);
/// }
/// let (found, whole) = (cut.join(&parts)?, evaluate(&data, &plans, &protocol, 0, &mut Session::new(&pool, &mut Silent))?);
/// assert_eq!(found.results[1].accuracy(), whole.results[1].accuracy());
/// # Ok::<(), multikernel::Error>(())
/// ```
pub struct SplitEvaluation<'a> {
    cut: Cut<'a>,
    /// Identifies data, plans, protocol and seed, so that parts of another evaluation are refused.
    fingerprint: String,
}

impl<'a> SplitEvaluation<'a> {
    /// An evaluation of these plans on the splits of a protocol.
    pub fn new(data: &'a Dataset, plans: &'a [Plan], protocol: &'a Protocol, seed: u64) -> Result<SplitEvaluation<'a>> {
        let cut = Cut::new(data, plans, protocol, seed)?;
        let mut hash = blake3::Hasher::new();
        let mut text = |text: &str| {
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        text(env!("CARGO_PKG_VERSION"));
        text(&data.fingerprint());
        text(&cut.words);
        text(&seed.to_string());
        if let Protocol::Test(test) = protocol {
            text(&test.fingerprint());
        }
        for plan in plans {
            text(&plan.title());
            plan.settings().iter().for_each(|(name, value)| {
                text(name);
                text(value);
            });
        }
        Ok(SplitEvaluation { cut, fingerprint: hash.finalize().to_hex().to_string() })
    }

    /// 64 hexadecimal digits that change when the data, a plan, the protocol, the seed or the version changes.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// All parts as pairs of plan and split, those of one split together.
    pub fn parts(&self) -> Vec<(usize, usize)> {
        let n = self.cut.plans.len();
        (0..self.cut.splits.len()).flat_map(|split| (0..n).map(move |plan| (plan, split))).collect()
    }

    /// Runs one part. An error for a part that does not exist, and if it was stopped.
    pub fn run(&self, plan: usize, split: usize, session: &mut Session<'_>) -> Result<Vec<u8>> {
        if plan >= self.cut.plans.len() || split >= self.cut.splits.len() {
            return Err(Error::input(format!("there is no plan {plan} on split {split}; see the parts")));
        }
        let (train, test, rows) = self.cut.rows(split);
        let mut found = None;
        self.cut.run(split, &train, &test, plan..plan + 1, session, &mut |model, fold| {
            let kernels = model.kernels();
            found = Some(Part {
                fingerprint: self.fingerprint.clone(),
                plan,
                sizes: vec![train.samples.n_samples(), test.samples.n_samples()],
                kernel_names: kernels.names(),
                views: kernels.by_view().to_vec(),
                fold: Fold { rows: Arc::clone(&rows), ..fold },
            });
        })?;
        let part = found.ok_or_else(|| Error::Stopped("stopped before it was measured".into()))?;
        file::bytes(Kind::Part, &part.encode())
    }

    /// The evaluation of all parts, in any order; a part that is there twice counts once. A missing part, or one of another
    /// evaluation, is an error.
    pub fn join(&self, parts: &[impl AsRef<[u8]>]) -> Result<Evaluation> {
        let mut all: Vec<Option<Part>> = self.parts().iter().map(|_| None).collect();
        for bytes in parts {
            let part = Part::decode(&file::parse(Path::new("the part"), bytes.as_ref(), Kind::Part)?)?;
            if part.fingerprint != self.fingerprint {
                return Err(Error::input("a part is of other data, plans or splits; run it anew"));
            }
            part.check(self)?;
            let at = part.fold.split * self.cut.plans.len() + part.plan;
            all[at] = Some(part);
        }
        let places = self.parts();
        if let Some(at) = all.iter().position(Option::is_none) {
            let (plan, split) = places[at];
            return Err(Error::input(format!("the part of plan {plan} on split {split} is missing; run it")));
        }
        let mut found = self.cut.finished();
        for part in all.into_iter().flatten() {
            if part.plan == 0 {
                found.sizes.push((part.sizes[0], part.sizes[1]));
            }
            found.keep(part.plan, part.kernel_names, part.views, part.fold);
        }
        self.cut.evaluation(found, None)
    }
}

/// One plan on one split.
struct Part {
    fingerprint: String,
    plan: usize,
    /// Training and test rows.
    sizes: Vec<usize>,
    kernel_names: Vec<String>,
    views: Vec<KernelsOfView>,
    fold: Fold,
}

impl Part {
    fn check(&self, of: &SplitEvaluation<'_>) -> Result<()> {
        let has_place = self.plan < of.cut.plans.len() && self.fold.split < of.cut.splits.len();
        let fits = has_place && self.fits(of);
        if fits { Ok(()) } else { Err(Error::input("a part has no place in this evaluation; run it anew")) }
    }

    /// Whether its lists are those of the rows, classes and kernels of its split.
    fn fits(&self, of: &SplitEvaluation<'_>) -> bool {
        let (sizes, rows) = of.cut.sizes(self.fold.split);
        let (target, n_classes) = of.cut.target();
        let (fold, n, p) = (&self.fold, rows.len(), self.kernel_names.len());
        let is_shaped = |found: &Matrix, n_cols: usize| [found.n_rows(), found.n_cols()] == [n, n_cols];
        let answers = match target {
            Target::Classes => {
                let probabilities = fold.probabilities.as_ref().is_none_or(|found| is_shaped(found, n_classes));
                let codes = fold.predicted.len() == n && fold.predicted.iter().all(|&code| code < n_classes);
                codes && probabilities && fold.metrics.confusion.len() == n_classes && fold.numbers.is_none()
            }
            Target::Numbers(numbers) => fold.numbers.as_ref().is_some_and(|found| {
                let spread = found.deviations.as_ref().is_none_or(|spread| is_shaped(spread, numbers.n_targets()));
                is_shaped(&found.predicted, numbers.n_targets()) && spread
            }),
            Target::Times(_) => fold.times.as_ref().is_some_and(|found| found.risks.len() == n),
        };
        let of_kernels = |list: &Option<Vec<f64>>| list.as_ref().is_none_or(|list| list.len() == p);
        answers
            && sizes == self.sizes[..]
            && *fold.rows == *rows
            && of_kernels(&fold.weights)
            && of_kernels(&fold.shares)
            && self.views.iter().flat_map(|view| &view.kernels).all(|&m| m < p)
    }
}

impl Codec for Part {
    fn encode(&self) -> Record {
        let mut record = self.fold.encode();
        record.put("fingerprint", &self.fingerprint);
        record.put("plan", &self.plan);
        record.put("sizes", &self.sizes);
        record.put("kernel_names", &self.kernel_names);
        record.put("view_names", &self.views.iter().map(|view| view.name.clone()).collect::<Vec<_>>());
        record.put("view_ends", &self.views.iter().map(|view| view.kernels.len()).collect::<Vec<_>>());
        record.put("view_kernels", &self.views.iter().flat_map(|view| view.kernels.clone()).collect::<Vec<_>>());
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        let (names, sizes): (Vec<String>, Vec<usize>) = (record.take("view_names")?, record.take("view_ends")?);
        let mut kernels = record.take::<Vec<usize>>("view_kernels")?.into_iter();
        let views = names.into_iter().zip(sizes);
        Ok(Part {
            fingerprint: record.take("fingerprint")?,
            plan: record.take("plan")?,
            sizes: record.take("sizes")?,
            kernel_names: record.take("kernel_names")?,
            views: views.map(|(name, n)| KernelsOfView { name, kernels: kernels.by_ref().take(n).collect() }).collect(),
            fold: Fold::decode(record)?,
        })
    }
}

record! {
    /// What every fold has.
    struct Common {
        split: usize,
        train_seconds: f64,
        predict_seconds: f64,
        warnings: Vec<String>,
        rows: Vec<usize>,
        predicted: Vec<usize>,
        /// Metrics of classes in the order of their declaration; NaN for none.
        figures: Vec<f64>,
        confusion: Vec<u64>,
    }
}

impl Codec for Fold {
    fn encode(&self) -> Record {
        let Metrics { accuracy, balanced_accuracy, macro_precision, macro_recall, macro_f, macro_specificity, .. } =
            self.metrics;
        let Metrics { mcc, auroc, auprc, brier, log_loss, calibration_error, .. } = self.metrics;
        let known = [accuracy, balanced_accuracy, macro_precision, macro_recall, macro_f, macro_specificity, mcc];
        let maybe = [auroc, auprc, brier, log_loss, calibration_error].map(|figure| figure.unwrap_or(f64::NAN));
        let mut record = Common {
            split: self.split,
            train_seconds: self.train_seconds,
            predict_seconds: self.predict_seconds,
            warnings: self.warnings.clone(),
            rows: self.rows.to_vec(),
            predicted: self.predicted.clone(),
            figures: known.into_iter().chain(maybe).collect(),
            confusion: self.metrics.confusion.concat(),
        }
        .encode();
        put_some(&mut record, "weights", self.weights.as_ref());
        put_some(&mut record, "shares", self.shares.as_ref());
        put_some(&mut record, "chosen", self.chosen.as_ref());
        put_some(&mut record, "probabilities", self.probabilities.as_ref());
        if let Some(NumberFold { metrics, predicted, deviations }) = &self.numbers {
            let NumberMetrics { r2, rmse, mae, crps, coverage } = *metrics;
            let maybe = [crps, coverage].map(|figure| figure.unwrap_or(f64::NAN));
            record.put("number_figures", &vec![r2, rmse, mae, maybe[0], maybe[1]]);
            record.put("numbers", predicted);
            put_some(&mut record, "deviations", deviations.as_ref());
        }
        if let Some(TimeFold { metrics, risks }) = &self.times {
            record.put("time_figures", &vec![metrics.concordance, metrics.integrated_brier.unwrap_or(f64::NAN)]);
            record.put("risks", risks);
        }
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        let common = Common::decode(record)?;
        let figures: [f64; 12] = fixed(common.figures)?;
        let maybe = |value: f64| Some(value).filter(|value| !value.is_nan());
        let n = common.confusion.len().isqrt();
        let total = common.confusion.iter().fold(0u64, |sum, &count| sum.saturating_add(count));
        if n * n != common.confusion.len() || total > common.predicted.len() as u64 {
            return Err(Error::input("a part's counts of classes are no square table of its rows; run it anew"));
        }
        let mut metrics = Metrics::of_confusion(common.confusion.chunks(n.max(1)).map(<[u64]>::to_vec).collect());
        [
            metrics.accuracy,
            metrics.balanced_accuracy,
            metrics.macro_precision,
            metrics.macro_recall,
            metrics.macro_f,
            metrics.macro_specificity,
            metrics.mcc,
        ] = [figures[0], figures[1], figures[2], figures[3], figures[4], figures[5], figures[6]];
        [metrics.auroc, metrics.auprc, metrics.brier, metrics.log_loss, metrics.calibration_error] =
            [7, 8, 9, 10, 11].map(|k: usize| maybe(figures[k]));
        let numbers = match take_some::<Matrix>(record, "numbers")? {
            Some(predicted) => {
                let [r2, rmse, mae, crps, coverage] = fixed(record.take("number_figures")?)?;
                let metrics = NumberMetrics { r2, rmse, mae, crps: maybe(crps), coverage: maybe(coverage) };
                Some(NumberFold { metrics, predicted, deviations: take_some(record, "deviations")? })
            }
            None => None,
        };
        let times = match take_some::<Vec<f64>>(record, "risks")? {
            Some(risks) => {
                let [concordance, brier] = fixed(record.take("time_figures")?)?;
                Some(TimeFold { metrics: TimeMetrics { concordance, integrated_brier: maybe(brier) }, risks })
            }
            None => None,
        };
        Ok(Fold {
            split: common.split,
            metrics,
            numbers,
            times,
            train_seconds: common.train_seconds,
            predict_seconds: common.predict_seconds,
            weights: take_some(record, "weights")?,
            shares: take_some(record, "shares")?,
            chosen: take_some(record, "chosen")?,
            warnings: common.warnings,
            rows: common.rows.into(),
            predicted: common.predicted,
            probabilities: take_some(record, "probabilities")?,
        })
    }
}

fn put_some<T: file::Field>(record: &mut Record, name: &str, value: Option<&T>) {
    if let Some(value) = value {
        record.put(name, value);
    }
}

fn take_some<T: file::Field>(record: &Record, name: &str) -> Result<Option<T>> {
    record.has(name).then(|| record.take(name)).transpose()
}

fn fixed<const N: usize>(values: Vec<f64>) -> Result<[f64; N]> {
    values.try_into().map_err(|_| Error::input(format!("a part has not {N} figures; run it anew")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Numbers, Samples, Times, bundled};
    use crate::evaluate::evaluate;
    use crate::pool::Pool;
    use crate::report::evaluation_json;
    use crate::run::Silent;

    /// The report without seconds.
    fn timeless(found: &Evaluation) -> String {
        let json = evaluation_json(found);
        json.lines().filter(|line| !line.contains("seconds")).collect::<Vec<_>>().join("\n")
    }

    fn seconds_are_zero(mut found: Evaluation) -> Evaluation {
        for fold in found.results.iter_mut().flat_map(|result| &mut result.folds) {
            (fold.train_seconds, fold.predict_seconds) = (0.0, 0.0);
        }
        found
    }

    fn joined_is_whole(data: &Dataset, plans: &[Plan], protocol: &Protocol) {
        let pool = Pool::new(1).unwrap();
        let cut = SplitEvaluation::new(data, plans, protocol, 3).unwrap();
        let run =
            |&(plan, split): &(usize, usize)| cut.run(plan, split, &mut Session::new(&pool, &mut Silent)).unwrap();
        let mut parts: Vec<Vec<u8>> = cut.parts().iter().rev().map(run).collect();
        parts.push(parts[0].clone());
        let whole = evaluate(data, plans, protocol, 3, &mut Session::new(&pool, &mut Silent)).unwrap();
        let (joined, whole) = (seconds_are_zero(cut.join(&parts).unwrap()), seconds_are_zero(whole));
        assert_eq!(timeless(&joined), timeless(&whole));
        assert_eq!(format!("{:?}", joined.results), format!("{:?}", whole.results));
        assert!(cut.join(&parts[2..]).is_err() || parts.len() < 4);
        // A damaged part, and one of another seed.
        let mut damaged = parts.clone();
        let middle = damaged[0].len() / 2;
        damaged[0][middle] ^= 1;
        assert!(cut.join(&damaged).is_err());
        let other = SplitEvaluation::new(data, plans, protocol, 4).unwrap();
        assert!(other.join(&parts).err().unwrap().to_string().contains("of other data"));
        assert!(cut.run(plans.len(), 0, &mut Session::new(&pool, &mut Silent)).is_err());
    }

    #[test]
    fn parts_in_any_order_join_to_the_whole_for_classes_numbers_and_times() {
        let sonar = bundled("sonar").unwrap();
        let plan = |name: &str| Plan::new(name).unwrap();
        let plans = [plan("majority"), plan("average").proba(true), plan("mkboost-d1").set("trials", "3").unwrap()];
        joined_is_whole(&sonar, &plans, &Protocol::Folds(3));
        let mice = bundled("nutrimouse").unwrap();
        joined_is_whole(&mice, &[plan("evidence")], &Protocol::Repeats { n_repeats: 2, train_fraction: 0.5 });
        let x = Matrix::from_fn(60, 2, |i, j| ((i * (j + 3)) % 17) as f64);
        let y: Vec<f64> = (0..60).map(|i| x.get(i, 0) + 0.1 * (i % 7) as f64).collect();
        let samples = Samples::unnamed(x).unwrap();
        let numbers = Dataset::of_numbers("n", samples.clone(), Numbers::one("y", y.clone()).unwrap()).unwrap();
        joined_is_whole(&numbers, &[plan("average"), plan("evidence")], &Protocol::Folds(2));
        let times = Times::new(y, (0..60).map(|i| i % 3 > 0).collect()).unwrap();
        let times = Dataset::of_times("t", samples, times).unwrap();
        joined_is_whole(&times, &[plan("average")], &Protocol::Folds(2));
        joined_is_whole(&numbers, &[plan("average")], &Protocol::Test(Box::new(numbers.clone())));
    }

    #[test]
    fn counts_of_more_rows_than_there_are_are_refused() {
        let (data, plans, pool) = (bundled("sonar").unwrap(), [Plan::new("average").unwrap()], Pool::new(1).unwrap());
        let cut = SplitEvaluation::new(&data, &plans, &Protocol::Folds(2), 0).unwrap();
        let run = |(plan, split)| cut.run(plan, split, &mut Session::new(&pool, &mut Silent)).unwrap();
        let mut parts: Vec<Vec<u8>> = cut.parts().into_iter().map(run).collect();
        let mut forged = file::parse(Path::new("part"), &parts[0], Kind::Part).unwrap();
        let mut counts: Vec<u64> = forged.take("confusion").unwrap();
        // Half of what a sum can hold: rows and columns together overflow.
        counts[0] = u64::MAX / 2 + 1;
        forged.put("confusion", &counts);
        parts[0] = file::bytes(Kind::Part, &forged).unwrap();
        let refused = cut.join(&parts).err().unwrap().to_string();
        assert!(refused.contains("counts of classes"), "{refused}");
    }
}
