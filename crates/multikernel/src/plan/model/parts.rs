//! How much each kernel, or each view, adds to the decision on a row.

use super::predict::Model;
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::Decision;

/// The methods of [`Registry::standard`](crate::plan::Registry::standard) whose decisions are sums over kernels, for
/// messages.
const ADDITIVE_METHODS: &str = "svm, average, single, bestview, fheuristic, alignf, easymkl, evidence, simplemkl, silp, \
                                level, lpmkl, mklda, ufomkl, obscure, bemkl, sbemkl, svimkl and mklr";
/// Memory for the parts of all kernels of a batch.
const WORKING: usize = 64 << 20;
/// Most memory for a result: far more than anyone reads, and less than a machine has.
const MOST: u64 = 4 << 30;

/// What the parts of a decision belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartsBy {
    /// One part for each kernel.
    Kernel,
    /// One part for each view; kernels on columns of several views have one together, `across views`.
    View,
}

/// The decisions on rows, each as a sum of parts; from [`Model::parts`].
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// The kernels or views, in the order of the columns of `values`.
    pub names: Vec<String>,
    /// What each decision decides; classes and numbers are indices into [`Model::outputs`].
    pub decisions: Vec<Decision>,
    /// The constant of each decision, which no kernel accounts for.
    pub biases: Vec<f64>,
    /// For each decision, the part of each kernel or view (columns) for each row.
    pub values: Vec<Matrix>,
}

impl Parts {
    /// The decisions (columns) on each row: the sums of all parts and the biases.
    pub fn totals(&self) -> Matrix {
        let n = self.values.first().map_or(0, Matrix::n_rows);
        Matrix::from_fn(n, self.values.len(), |i, p| self.values[p].row(i).iter().sum::<f64>() + self.biases[p])
    }

    /// A decision in words, such as `M or R`: positive for the first. `outputs` are [`Model::outputs`].
    pub fn title(&self, decision: usize, outputs: &[String]) -> String {
        match self.decisions[decision] {
            Decision::Between(first, second) => format!("{} or {}", outputs[first], outputs[second]),
            Decision::For(output) => outputs[output].clone(),
        }
    }
}

impl Model {
    /// The decisions on rows, or the predicted numbers, logarithms of counts or log risks, each split exactly into one
    /// part per kernel or view and a constant. Use it to see which view spoke for a class on a single row, where shares
    /// tell it over all rows. Columns are matched as by [`Model::predict`].
    ///
    /// An error for methods whose decisions are no sums over kernels, such as votes or averages over draws. Cost: one
    /// kernel value per row, kept training row and kernel of nonzero weight, and a product of it per decision; memory
    /// for rows x names x decisions values.
    ///
    /// ```
    /// use multikernel::{Plan, data::bundled, plan::PartsBy};
    /// let data = bundled("sonar")?;
    /// let model = Plan::new("average")?.kernels("gaussian(1..3), linear")?.train(&data)?;
    /// let parts = model.parts(&data.samples, PartsBy::Kernel)?;
    /// assert_eq!(parts.names, model.kernels().names());
    /// let decision: f64 = parts.values[0].row(0).iter().sum::<f64>() + parts.biases[0];
    /// assert!((decision - model.predict(&data.samples)?.scores.get(0, 0)).abs() < 1e-10);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn parts(&self, samples: &Samples, by: PartsBy) -> Result<Parts> {
        self.parts_in(samples, by, &Pool::shared()?)
    }

    /// [`Model::parts`] with given threads.
    pub fn parts_in(&self, samples: &Samples, by: PartsBy, pool: &Pool) -> Result<Parts> {
        let additive = self.predictor.additive().ok_or_else(|| {
            let method = &self.header.method;
            Error::input(format!(
                "the decisions of {method} are no sums over kernels, so they have no parts; these methods have them: {ADDITIVE_METHODS}"
            ))
        })?;
        let (names, place) = self.groups(by);
        let (decisions, biases) = (additive.decisions(), additive.biases());
        let (n, width) = (samples.n_samples(), names.len().max(1));
        check_size(n, names.len(), decisions.len())?;
        let mut values: Vec<Vec<f64>> = vec![Vec::with_capacity(n * width); decisions.len()];
        let used = self.predictor.kernels().unwrap_or_else(|| (0..self.header.kernels.len()).collect());
        let per_row = 8 * (used.len() * decisions.len()).max(1);
        let all: Vec<usize> = (0..n).collect();
        for rows in all.chunks((WORKING / per_row).clamp(1, 4096)) {
            self.each_batch(&samples.select_rows(rows), pool, &|| false, |input| {
                let parts = additive.parts(input, pool)?;
                let n = parts.first().map_or(input.n_samples(), Matrix::n_rows);
                for (p, values) in values.iter_mut().enumerate() {
                    let start = values.len();
                    values.resize(start + n * names.len(), 0.0);
                    for (part, &m) in parts.iter().zip(&used) {
                        (0..n).for_each(|i| values[start + i * names.len() + place[m]] += part.get(i, p));
                    }
                }
                Ok(())
            })?;
        }
        let values: Result<Vec<Matrix>> =
            values.into_iter().map(|data| Matrix::from_vec(n, names.len(), data)).collect();
        Ok(self.in_units(Parts { names, decisions, biases, values: values? }))
    }

    /// Numbers are learned with mean 0 and standard deviation 1; their parts are told in their own units.
    fn in_units(&self, mut parts: Parts) -> Parts {
        if let Some(units) = &self.learned.units {
            for (p, (mean, scale)) in units.standard.mean.iter().zip(&units.standard.scale).enumerate() {
                parts.values[p].data_mut().iter_mut().for_each(|value| *value *= scale);
                parts.biases[p] = parts.biases[p] * scale + mean;
            }
        }
        parts
    }

    /// What decisions are about: the classes, the numbers or their logarithms, or the risk.
    pub fn outputs(&self) -> Vec<String> {
        match (self.numbers(), self.times()) {
            (Some(numbers), _) if numbers.are_exponentials() => {
                numbers.names().iter().map(|name| format!("log of {name}")).collect()
            }
            (Some(numbers), _) => numbers.names().to_vec(),
            (None, Some(_)) => vec!["risk".into()],
            (None, None) => self.classes().to_vec(),
        }
    }

    /// Whether [`Model::parts`] is available.
    pub fn has_parts(&self) -> bool {
        self.predictor.additive().is_some()
    }

    /// The names parts are told by, and the name of each kernel among them.
    fn groups(&self, by: PartsBy) -> (Vec<String>, Vec<usize>) {
        let (kernels, n) = (self.kernels(), self.header.kernels.len());
        let views = kernels.by_view();
        if by == PartsBy::Kernel {
            return (kernels.names(), (0..n).collect());
        }
        let mut names: Vec<String> = views.iter().map(|view| view.name.clone()).collect();
        let of = |m: usize| views.iter().position(|view| view.kernels.contains(&m)).unwrap_or(views.len());
        let place: Vec<usize> = (0..n).map(of).collect();
        if place.contains(&views.len()) {
            names.push(if views.is_empty() { "all columns" } else { "across views" }.into());
        }
        (names, place)
    }
}

fn check_size(n: usize, names: usize, decisions: usize) -> Result<()> {
    let need = 8u64.saturating_mul(n as u64).saturating_mul(names as u64).saturating_mul(decisions as u64);
    if need <= MOST {
        return Ok(());
    }
    Err(Error::Memory {
        what: format!("the parts of {n} rows: {names} kernels or views and {decisions} decisions for each"),
        need,
        limit: MOST,
        help: "ask for the parts of views, or of fewer rows at a time".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Labels, Numbers, Samples, TargetKind, Times, View, bundled};
    use crate::dist::Rng;
    use crate::plan::{Plan, Registry};
    use crate::run::Needs;

    /// Rows of two views, a third of which lack the second.
    fn rows(n: usize, n_classes: usize, incomplete: bool) -> Dataset {
        let mut rng = Rng::new(7, 1);
        let codes: Vec<usize> = (0..n).map(|i| i % n_classes).collect();
        let table = Matrix::from_fn(n, 5, |i, j| {
            let value = rng.uniform() + if j % 3 == 0 { codes[i] as f64 } else { 0.0 };
            if incomplete && i % 3 == 1 && j >= 3 { f64::NAN } else { value }
        });
        let names = ["a1", "a2", "a3", "b1", "b2"].map(String::from).to_vec();
        let views = vec![View { name: "a".into(), columns: 0..3 }, View { name: "b".into(), columns: 3..5 }];
        let samples = Samples::new(table, names).unwrap().with_views(views).unwrap();
        let texts: Vec<String> = codes.iter().map(|code| format!("c{code}")).collect();
        Dataset::new("rows", samples, Labels::new(&texts).unwrap()).unwrap()
    }

    /// What the model's own scores or margins should be, from the decisions.
    fn margins(decisions: &[Decision], values: &[f64], n_classes: usize) -> Vec<f64> {
        let mut found = vec![f64::INFINITY; n_classes];
        for (&decision, &value) in decisions.iter().zip(values) {
            match decision {
                Decision::Between(first, second) => {
                    found[first] = found[first].min(value);
                    found[second] = found[second].min(-value);
                }
                Decision::For(class) => found[class] = value,
            }
        }
        found
    }

    #[test]
    fn parts_of_numbers_and_risks_add_up_to_them() {
        let data = rows(60, 3, true);
        let of = |i: usize| data.labels.codes()[i] as f64 + 0.02 * i as f64;
        let table = Matrix::from_fn(60, 2, |i, t| 50.0 * of(i) + 1000.0 * t as f64);
        let numbers = Numbers::new(vec!["a".into(), "b".into()], table).unwrap();
        let set = Dataset::of_numbers("numbers", data.samples.clone(), numbers).unwrap();
        let plan = |name: &str| Plan::new(name).unwrap().kernels("gaussian(1..2) each view, linear").unwrap();
        let registry = Registry::standard();
        let takes = |name: &&str| {
            let method = registry.get(name).unwrap();
            method.targets().contains(&TargetKind::Numbers) && method.about().needs != Needs::Rows
        };
        for name in registry.names().into_iter().filter(takes) {
            let settings: &[(&str, &str)] = match name {
                "svm" => &[("kernel", "0")],
                "bm3kl" => &[("chains", "2"), ("warmup", "5"), ("draws", "7")],
                _ => &[],
            };
            let plan = settings.iter().try_fold(plan(name), |plan, (name, value)| plan.set(name, value)).unwrap();
            let model = plan.train(&set).unwrap();
            assert_eq!(model.outputs(), ["a", "b"]);
            let Ok(parts) = model.parts(&data.samples, PartsBy::View) else {
                assert!(name != "bm3kl" && !ADDITIVE_METHODS.contains(name), "{name} has no parts of numbers");
                continue;
            };
            let (totals, expected) = (parts.totals(), model.numbers().unwrap().predict(&data.samples).unwrap());
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-10 * b.abs().max(1.0);
            assert!(totals.data().iter().zip(expected.data()).all(near), "{name}");
        }
        let times = Times::new((0..60).map(|i| 9.0 - of(i)).collect(), vec![true; 60]).unwrap();
        let set = Dataset::of_times("times", data.samples.clone(), times).unwrap();
        let model = plan("average").train(&set).unwrap();
        let parts = model.parts(&data.samples, PartsBy::Kernel).unwrap();
        let (totals, expected) = (parts.totals(), model.times().unwrap().risks(&data.samples).unwrap());
        assert!(totals.data().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-10));
    }

    fn check(name: &str, data: &Dataset, bank: &str) -> bool {
        let mut plan = Plan::new(name).unwrap().kernels(bank).unwrap();
        match name {
            "svimkl" | "mklr" if bank.contains("sigmoid") => plan = plan.set("indefinite", "clip").unwrap(),
            "svm" => plan = plan.set("kernel", "0").unwrap(),
            _ if name.starts_with("mkboost") => plan = plan.set("trials", "3").unwrap(),
            _ => {}
        }
        let model = plan.train(data).unwrap();
        let Ok(parts) = model.parts(&data.samples, PartsBy::Kernel) else { return false };
        let (totals, pool) = (parts.totals(), Pool::new(1).unwrap());
        let expected = model.margins(&data.samples, &pool).unwrap();
        for i in 0..data.samples.n_samples() {
            let mut found = margins(&parts.decisions, totals.row(i), model.classes().len());
            let mut expected = expected.row(i).to_vec();
            if matches!(name, "svimkl" | "mklr") && model.classes().len() > 2 {
                // Logarithms of probabilities: the decisions up to a constant.
                let (a, b) = (found[0], expected[0]);
                found.iter_mut().for_each(|value| *value -= a);
                expected.iter_mut().for_each(|value| *value -= b);
            }
            let size = found.iter().map(|value| value.abs()).fold(1e-3, f64::max);
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() <= 1e-10 * size, "{name} row {i}: {found} {expected}");
            }
        }
        let by_view = model.parts(&data.samples, PartsBy::View).unwrap();
        let sums = by_view.totals();
        assert_eq!(by_view.names, ["a", "b", "across views"]);
        assert!(totals.data().iter().zip(sums.data()).all(|(a, b)| (a - b).abs() <= 1e-10 * a.abs().max(1e-3)));
        let of_a: f64 = parts.values[0].row(4)[..2].iter().sum();
        assert!((by_view.values[0].get(4, 0) - of_a).abs() < 1e-12 * of_a.abs().max(1.0));
        true
    }

    #[test]
    fn parts_of_every_method_on_kernels_add_up_to_its_decisions_or_are_refused() {
        let bank = "gaussian(1) on a, linear on a, gaussian(2) on b, gaussian(1)";
        let data = [rows(24, 2, false), rows(36, 3, true)];
        let known: Vec<&str> = ADDITIVE_METHODS.split([',', ' ']).filter(|word| !["", "and"].contains(word)).collect();
        let registry = Registry::standard();
        let mut found = vec![];
        for name in registry.names() {
            // Methods that take minutes or work on rows; majority has no decisions.
            if matches!(name, "bm3kl" | "gpc" | "mkc" | "bsvm" | "cik" | "dpm" | "bank" | "majority") {
                continue;
            }
            // `auto` has parts where it keeps one machine, not where it keeps two.
            if data.iter().all(|data| check(name, data, bank)) && name != "auto" {
                found.push(name);
            }
        }
        assert_eq!(found, known);
    }

    #[test]
    fn kernels_that_were_clipped_have_parts_of_their_own_coefficients() {
        let bank = "gaussian(1) on a, linear on a, gaussian(2) on b, sigmoid(2) raw";
        assert!(check("mklr", &rows(24, 2, false), bank) && check("svimkl", &rows(36, 3, false), bank));
    }

    #[test]
    fn models_of_other_methods_say_which_have_parts() {
        let data = bundled("sonar").unwrap();
        let model = Plan::new("majority").unwrap().train(&data).unwrap();
        let text = model.parts(&data.samples, PartsBy::View).unwrap_err().to_string();
        assert!(text.contains("majority are no sums over kernels") && text.contains("evidence"), "{text}");
        assert!(!model.has_parts());
        assert!(check_size(1_000_000, 3_000, 45).unwrap_err().to_string().contains("ask for the parts of views"));
    }

    #[test]
    fn streams_with_weights_anew_keep_the_parts_of_their_earlier_weights() {
        let data = rows(60, 3, false);
        let plan = Plan::new("obscure").unwrap().kernels("gaussian(1) on a, gaussian(2) on b").unwrap();
        let model = plan.train(&data).unwrap();
        let parts = model.parts(&data.samples, PartsBy::Kernel).unwrap();
        let scores = model.predict(&data.samples).unwrap().scores;
        let totals = parts.totals();
        assert!(totals.data().iter().zip(scores.data()).all(|(a, b)| (a - b).abs() <= 1e-10 * a.abs().max(1e-3)));
        assert_eq!(parts.decisions, [Decision::For(0), Decision::For(1), Decision::For(2)]);
        assert_eq!(parts.title(1, model.classes()), "c1");
    }
}
