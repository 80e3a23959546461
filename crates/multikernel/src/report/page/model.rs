//! The page of a model, with rows to look at where they are given.

use super::html::{Page, Section};
use super::section::brief;
use super::section::clusters::Map;
use super::section::shares::Share;
use super::section::weights::Weight;
use super::section::{
    alignment, calibration, candidates, chains, clusters, columns, confusion, curves, missing, residuals, rows,
    settings, shares, survival, weights,
};
use crate::data::{Dataset, Numbers, Samples, Target, Times};
use crate::error::{Error, Result};
use crate::evaluate::{Curves, ImportanceOf, Importances, Metrics, NumberMetrics, concordance, importance};
use crate::linalg::{Matrix, centre_columns, dot};
use crate::plan::{Model, PartsBy};
use crate::pool::Pool;
use crate::report::clusters::{apart, largest};
use crate::report::{count, model_json};
use crate::run::Intervals;
use crate::solve::eigen::leading;

/// Rows that are looked at one by one.
const MOST_ROWS: usize = 400;
/// Kernels whose alignment is drawn, on so many rows.
const MOST_KERNELS: usize = 40;
const ALIGNED_ROWS: usize = 150;
/// Kernel values that permutations may cost, about a second of one thread.
const BUDGET: u64 = 600_000_000;
const REPEATS: usize = 5;
/// Rows that permutations are measured on.
const PERMUTED_ROWS: usize = 300;
/// Columns that are permuted one by one.
const MOST_COLUMNS: usize = 60;

/// A model as one HTML page: weights with intervals beside the prior, shares by view, chains, settings. With rows, also
/// what each view adds to the decision on each of them, kernels that see the same, clusters and missing views. With
/// what they truly are, also which columns matter; for classes confusion, curves and calibration, for numbers residuals
/// and the coverage of intervals, for times survival by predicted risk.
///
/// The page loads nothing, is at most 1 MB long, can be read without script and printed. Many rows are thinned out;
/// what permutations cost is bounded, and the page says what was left out.
///
/// ```
/// use multikernel::{Plan, Pool, data::bundled, report::ModelPage};
/// let data = bundled("sonar")?;
/// let model = Plan::new("average")?.kernels("gaussian(1..3), linear")?.train(&data)?;
/// let page = ModelPage { model: &model, rows: None, known: Some(&data), command: None };
/// assert!(page.html(&Pool::new(1)?)?.contains("Shares by row"));
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ModelPage<'a> {
    /// The model.
    pub model: &'a Model,
    /// Rows to look at, with the model's columns.
    pub rows: Option<&'a Samples>,
    /// In place of these, rows with their labels (of the model's classes), numbers or times; best rows that it was not
    /// trained on.
    pub known: Option<&'a Dataset>,
    /// The command that makes the page again, if known.
    pub command: Option<&'a str>,
}

impl ModelPage<'_> {
    /// The page.
    pub fn html(&self, pool: &Pool) -> Result<String> {
        Ok(self.page(pool)?.html())
    }

    /// One chart of the page as an SVG file: `candidates`, `weights`, `shares`, `rows` (`rows-2` for the next decision, ...),
    /// `importance`, `confusion`, `curves`, `calibration`, `residuals`, `survival`, `chains`, `alignment`, `clusters` or
    /// `missing`, as far as the page has it.
    pub fn picture(&self, kind: &str, pool: &Pool) -> Result<String> {
        self.page(pool)?.picture(kind)
    }

    fn page(&self, pool: &Pool) -> Result<Page> {
        let (model, training) = (self.model, self.model.training());
        let mut sections = vec![];
        let is_trained_on = self.known.is_some_and(|data| {
            data.samples.n_samples() == training.n_samples() && data.fingerprint() == training.fingerprint()
        });
        let tested = self.known.map(|data| Tested::of(model, data, is_trained_on, pool)).transpose()?;
        let (kernels, intervals) = (self.kernels(), self.intervals());
        sections.extend(self.verdict(&kernels, tested.as_ref()));
        sections.extend(training.compared().map(|compared| candidates::section(compared, &training.choices())));
        let (spans, prior, note) = match &intervals {
            Some(found) => (
                format!(", with {:.0} % intervals", 100.0 * found.level),
                Some(found.prior),
                format!(" {}", found.note),
            ),
            None => (String::new(), None, String::new()),
        };
        let of = format!("{} trained on {}", training.method(), count(training.n_samples(), "row"));
        sections.extend(weights::section(&of, &kernels, &spans, prior, &note));
        sections.extend(self.shares(&kernels));
        sections.extend(self.of_rows(pool)?);
        if let Some(data) = self.known {
            sections.extend(self.importance(data, is_trained_on, pool)?);
        }
        if let Some(tested) = &tested {
            // Whoever looks at charts alone should see what they are of.
            let rows = if is_trained_on { " (training rows)" } else { "" };
            let titled = |section: Section| Section { title: section.title + rows, ..section };
            sections.extend(tested.sections(model).into_iter().map(titled));
        }
        sections.extend(model.draws().as_ref().and_then(chains::section));
        sections.extend(self.alignment(&kernels, pool));
        sections.extend(self.clusters(pool)?);
        sections.extend(self.samples().and_then(missing::section));
        sections.push(settings::section(&self.facts()));
        Ok(Page {
            title: format!("{}: {} model", training.dataset(), training.method()),
            subtitle: format!(
                "trained on {}, {}, {}, seed {}",
                count(training.n_samples(), "row"),
                count(model.input().features().len(), "feature"),
                match (model.numbers(), model.times()) {
                    (Some(numbers), _) => count(numbers.names().len(), "number"),
                    (None, Some(_)) => "times to an event".into(),
                    (None, None) => format!("{} classes", model.classes().len()),
                },
                training.seed()
            ),
            warnings: training.warnings(),
            sections,
            json: model_json(model),
            refresh: None,
        })
    }

    /// The kernels with weights, and their intervals by the method or by its draws.
    fn kernels(&self) -> Vec<Weight> {
        let kernels = self.model.kernels();
        let (Some(found), shares, intervals) = (kernels.weights(), kernels.shares(), self.intervals()) else {
            return vec![];
        };
        let one = |(m, name): (usize, String)| Weight {
            name,
            weight: found.get(m).copied().unwrap_or(f64::NAN),
            interval: intervals.as_ref().and_then(|all| all.bounds.get(m).copied()),
            share: shares.and_then(|all| all.get(m).copied()),
            selected: None,
        };
        kernels.names().into_iter().enumerate().map(one).collect()
    }

    fn intervals(&self) -> Option<Intervals> {
        self.model.kernels().intervals().or_else(|| {
            let found = self.model.draws()?.summary();
            let weights: Vec<_> = found.into_iter().filter(|one| one.variable == "weights").collect();
            let prior = weights.first()?.prior?;
            let bounds = weights.iter().map(|one| one.diagnosis.interval).collect();
            Some(Intervals {
                level: 0.9,
                bounds,
                prior,
                note: "Intervals go from the 5th to the 95th percentile of the draws of all chains.".into(),
            })
        })
    }

    /// What matters, in a sentence or two.
    fn verdict(&self, kernels: &[Weight], tested: Option<&Tested>) -> Option<Section> {
        let training = self.model.training();
        let target = match self.model.numbers() {
            Some(numbers) => format!("for the numbers {}", some(numbers.names())),
            None if self.model.times().is_some() => "for times to an event".into(),
            None => format!("for the classes {}", some(self.model.classes())),
        };
        let mut says = format!("A model by the method `{}` {target}.", training.method());
        if let Some(tested) = tested {
            let (known, others) = match tested.is_trained_on {
                true => (", which it was trained on,", "; `multikernel evaluate` tells how it does on others"),
                false => ("", ""),
            };
            says += &format!(" On the {} given{known} {}{others}.", tested.rows(), tested.says());
        }
        let views = self.model.kernels().by_view();
        let sum = |view: &crate::run::KernelsOfView, of: &dyn Fn(&Weight) -> Option<f64>| {
            view.kernels.iter().filter_map(|&m| of(kernels.get(m)?)).sum::<f64>()
        };
        let by_share = views.iter().max_by(|a, b| sum(a, &|w| w.share).total_cmp(&sum(b, &|w| w.share)));
        match by_share {
            Some(view) if views.len() > 1 => {
                says += &format!(
                    " The view that carries most of its decisions is {} ({:.0} %).",
                    brief(&view.name),
                    100.0 * sum(view, &|w| w.share)
                );
            }
            _ => {
                let most =
                    kernels.iter().filter(|one| one.weight.is_finite()).max_by(|a, b| a.weight.total_cmp(&b.weight));
                if let Some(one) = most.filter(|_| kernels.len() > 1) {
                    let sure = match (one.interval, self.intervals()) {
                        (Some((low, _)), Some(all)) if low > all.prior.1 => {
                            "; its whole interval lies above what was believed before any data"
                        }
                        (Some(_), Some(_)) => {
                            "; its interval overlaps what was believed before any data, so single kernels are not certain"
                        }
                        _ => "",
                    };
                    says += &format!(" The kernel with the largest weight is {}{sure}.", brief(&one.name));
                }
            }
        }
        if kernels.iter().any(|one| one.weight != kernels[0].weight) {
            says += " Whether learned weights beat equal ones cannot be told from a model: `multikernel evaluate` compares them.";
        }
        if let Some(worst) = self.model.draws().as_ref().and_then(chains::worst).filter(|worst| worst.r_hat > 1.01) {
            says += &format!(
                " The chains have not settled (R-hat {:.3}, 1.01 is wanted): take weights as rough.",
                worst.r_hat
            );
        }
        if !training.is_finished() {
            says += &format!(" The run was not finished: {}.", training.stop());
        }
        Some(Section { id: "verdict", title: "In short".into(), says, figures: vec![] })
    }

    fn shares(&self, kernels: &[Weight]) -> Option<Section> {
        let views = self.model.kernels().by_view();
        if kernels.iter().any(|one| one.share.is_none()) {
            return None;
        }
        if views.len() < 2 {
            let all: Vec<Share> = kernels
                .iter()
                .map(|one| Share {
                    name: one.name.clone(),
                    share: one.share.unwrap_or(f64::NAN),
                    std: None,
                    weight: Some(one.weight),
                })
                .collect();
            return shares::section("kernel", &all);
        }
        let of = |view: &crate::run::KernelsOfView| Share {
            name: view.name.clone(),
            share: view.kernels.iter().filter_map(|&m| kernels[m].share).sum(),
            std: None,
            weight: Some(view.kernels.iter().map(|&m| kernels[m].weight).sum()),
        };
        let mut all: Vec<Share> = views.iter().map(of).collect();
        let rest: Vec<usize> =
            (0..kernels.len()).filter(|m| !views.iter().any(|view| view.kernels.contains(m))).collect();
        if !rest.is_empty() {
            let share = rest.iter().filter_map(|&m| kernels[m].share).sum();
            all.push(Share {
                name: "across views".into(),
                share,
                std: None,
                weight: Some(rest.iter().map(|&m| kernels[m].weight).sum()),
            });
        }
        shares::section("view", &all)
    }

    /// What each view, or kernel, adds on each row.
    fn of_rows(&self, pool: &Pool) -> Result<Option<Section>> {
        let Some(samples) = self.samples().filter(|_| self.model.has_parts() && self.model.kernels().len() > 1) else {
            return Ok(None);
        };
        let some = samples.select_rows(&spaced(samples.n_samples(), MOST_ROWS));
        let (by, of) = if self.model.kernels().by_view().len() > 1 {
            (PartsBy::View, "view")
        } else {
            (PartsBy::Kernel, "kernel")
        };
        let names = row_names(&some);
        let parts = self.model.parts_in(&some, by, pool)?;
        let outputs = self.model.outputs();
        let outputs = rows::Outputs { names: &outputs, are_classes: !self.model.classes().is_empty() };
        Ok(rows::section(&parts, &outputs, &names, of))
    }

    /// The rows to look at.
    fn samples(&self) -> Option<&Samples> {
        self.known.map(|data| &data.samples).or(self.rows)
    }

    fn importance(&self, data: &Dataset, is_trained_on: bool, pool: &Pool) -> Result<Option<Section>> {
        if data.samples.n_features() == 0 || data.samples.n_samples() < 2 {
            return Ok(None);
        }
        let data = data.select(&spaced(data.samples.n_samples(), PERMUTED_ROWS));
        let samples = &data.samples;
        let training = self.model.training();
        // Decisions that are no sums over kernels are votes or means over many of them.
        let (n_kernels, dear) = (self.model.kernels().len().max(1), if self.model.has_parts() { 1 } else { 200 });
        let each = (dear * samples.n_samples() * training.n_samples() * n_kernels) as u64;
        let affordable = (BUDGET / each.max(1)) as usize;
        let (n_views, n_columns) = (samples.views().len(), samples.n_features());
        let ask = |of: &ImportanceOf| {
            importance(self.model, &data, of, REPEATS, 0, pool).map(|found| Importances { is_trained_on, ..found })
        };
        let views = (n_views > 1 && n_views * REPEATS <= affordable).then(|| ask(&ImportanceOf::Views)).transpose()?;
        let left = affordable.saturating_sub(if views.is_some() { n_views * REPEATS } else { 0 });
        let can = n_columns > 1 && n_columns <= MOST_COLUMNS && n_columns * REPEATS <= left;
        let columns = can.then(|| ask(&ImportanceOf::Columns)).transpose()?;
        let note = if columns.is_none() && n_columns > 1 {
            format!(
                " Each of the {n_columns} columns alone would take long here: `multikernel importance MODEL DATA` measures them."
            )
        } else {
            String::new()
        };
        Ok(columns::section(views.as_ref(), columns.as_ref(), &note))
    }

    fn alignment(&self, kernels: &[Weight], pool: &Pool) -> Option<Section> {
        let samples = self.samples().filter(|samples| samples.n_samples() > 2)?;
        let mut order: Vec<usize> = (0..kernels.len()).collect();
        order.sort_by(|&a, &b| kernels[b].weight.abs().total_cmp(&kernels[a].weight.abs()));
        let is_cut = order.len() > MOST_KERNELS;
        order.truncate(MOST_KERNELS);
        order.sort_unstable();
        let some = samples.select_rows(&spaced(samples.n_samples(), ALIGNED_ROWS));
        // Kernels given as Gram matrices have no values between new rows.
        let found = self.model.alignment(&some, &order, pool).ok()?;
        let names: Vec<String> = order.iter().map(|&m| kernels[m].name.clone()).collect();
        let cut = if is_cut {
            format!(" Of {} kernels the {MOST_KERNELS} with the largest weights are shown.", kernels.len())
        } else {
            String::new()
        };
        alignment::section(&names, &found, &format!(" Measured on {}.{cut}", count(some.n_samples(), "row")))
    }

    fn clusters(&self, pool: &Pool) -> Result<Option<Section>> {
        let (Some(samples), Some(clustering)) = (self.samples(), self.model.clustering()) else { return Ok(None) };
        let some = samples.select_rows(&spaced(samples.n_samples(), MOST_ROWS));
        let is_all = some.n_samples() == samples.n_samples() && clustering.clusters().len() == samples.n_samples();
        let placed = if is_all { clustering.clusters().to_vec() } else { clustering.place_in(&some, pool)?.clusters };
        let points = self.model.input().scaled(&some)?;
        let n = placed.iter().max().map_or(0, |most| most + 1);
        let off = apart(&points, &placed, n);
        let names = self.model.input().scaled_names();
        let apart: Vec<String> =
            (0..n).map(|k| largest(off.row(k), names, 3, |value| format!("{value:+.1}"))).collect();
        let Ok(dense) = points.to_dense() else { return Ok(None) };
        let places = components(dense.into_owned(), pool)?;
        Ok(clusters::section(&Map { clusters: &placed, places: &places, apart: &apart }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let (model, training) = (self.model, self.model.training());
        let params: Vec<String> = training.params().iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let mut facts = vec![
            ("command".to_string(), self.command.unwrap_or_default().to_string()),
            ("method".into(), training.method().into()),
            ("parameters".into(), params.join(", ")),
            ("kernels".into(), model.kernels().bank().unwrap_or_default().into()),
            ("data".into(), training.dataset().into()),
            ("fingerprint of the data".into(), training.fingerprint().into()),
            ("label".into(), model.input().label().unwrap_or_default().into()),
            ("classes".into(), some(model.classes())),
            ("scale".into(), model.input().scale().word().into()),
            ("precision".into(), model.kernels().precision().word().into()),
            ("seed".into(), training.seed().to_string()),
            ("ended".into(), training.stop().into()),
        ];
        facts.extend(training.facts());
        facts.push(("version".into(), env!("CARGO_PKG_VERSION").into()));
        facts
    }
}

/// Names of rows: their ids, or their numbers.
fn row_names(samples: &Samples) -> Vec<String> {
    match samples.ids() {
        Some(ids) => ids.to_vec(),
        None => (0..samples.n_samples()).map(|i| samples.row_number(i).to_string()).collect(),
    }
}

/// Rows that are known, and what the model says about them.
struct Tested<'a> {
    data: &'a Dataset,
    found: Found<'a>,
    /// Whether the model was trained on these very rows.
    is_trained_on: bool,
}

/// What the model says.
enum Found<'a> {
    Classes { metrics: Metrics, probabilities: Option<Matrix> },
    Numbers { truth: &'a Numbers, predicted: Matrix, deviations: Option<Matrix>, metrics: NumberMetrics },
    Times { truth: &'a Times, risks: Vec<f64> },
}

impl<'a> Tested<'a> {
    fn of(model: &Model, data: &'a Dataset, is_trained_on: bool, pool: &Pool) -> Result<Tested<'a>> {
        let other = || Error::input("the rows have another target than the model; read them as its test rows");
        let samples = &data.samples;
        let found = match &data.target {
            Target::Classes => {
                let truth = data.labels.codes();
                let metrics =
                    Metrics::new(truth, &model.predict_in(samples, pool)?.labels, None, model.classes().len())?;
                let has = model.has_probabilities();
                let probabilities = has.then(|| model.probabilities_in(samples, pool)).transpose()?;
                Found::Classes { metrics, probabilities }
            }
            Target::Numbers(truth) => {
                let numbers = model.numbers().ok_or_else(other)?;
                let predicted = numbers.predict_in(samples, pool)?;
                let deviations = numbers.deviations_in(samples, pool)?;
                let metrics = NumberMetrics::new(truth.values(), &predicted, deviations.as_ref())?;
                Found::Numbers { truth, predicted, deviations, metrics }
            }
            Target::Times(truth) => {
                Found::Times { truth, risks: model.times().ok_or_else(other)?.risks_in(samples, pool)? }
            }
        };
        Ok(Tested { data, found, is_trained_on })
    }

    /// How many rows, in words.
    fn rows(&self) -> String {
        let word = if matches!(self.found, Found::Classes { .. }) { "labelled row" } else { "row" };
        count(self.data.samples.n_samples(), word)
    }

    /// How good it is, in words.
    fn says(&self) -> String {
        match &self.found {
            Found::Classes { metrics, .. } => format!("it is right in {:.1} %", 100.0 * metrics.accuracy),
            Found::Numbers { metrics, .. } => format!("R2 is {:.3}", metrics.r2),
            Found::Times { truth, risks } => match concordance(truth, risks) {
                Some(found) => format!("the concordance is {found:.3}"),
                None => "no two rows can be compared".into(),
            },
        }
    }

    fn sections(&self, model: &Model) -> Vec<Section> {
        let known = if self.is_trained_on { "on the rows it was trained on" } else { "on the rows given" };
        match &self.found {
            Found::Classes { metrics, probabilities } => self.of_classes(model, metrics, probabilities.as_ref(), known),
            Found::Numbers { truth, predicted, deviations, metrics } => residuals::section(&residuals::Residuals {
                names: truth.names(),
                truth: truth.values(),
                predicted,
                deviations: deviations.as_ref(),
                metrics: *metrics,
                over: known,
                rows: &row_names(&self.data.samples),
            })
            .into_iter()
            .collect(),
            Found::Times { truth, risks } => survival::section(&survival::Survived {
                times: truth,
                risks,
                predicted: &|at| model.times()?.survival_of(risks, at).ok(),
                concordance: concordance(truth, risks),
                over: known,
            })
            .into_iter()
            .collect(),
        }
    }

    fn of_classes(
        &self,
        model: &Model,
        metrics: &Metrics,
        probabilities: Option<&Matrix>,
        known: &str,
    ) -> Vec<Section> {
        let mut sections = vec![];
        sections.extend(confusion::section(&format!("The model {known}"), model.classes(), &metrics.confusion));
        let truth = self.data.labels.codes().to_vec();
        if let Some(found) = probabilities.and_then(|table| Curves::of(&[(truth.clone(), table)])) {
            let named = |curve| vec![(model.training().method().to_string(), curve)];
            let roc = named(found.roc);
            sections.extend(curves::section(
                &roc,
                &named(found.precision_recall),
                model.classes(),
                &format!(", {known}"),
            ));
            let named = [(model.training().method().to_string(), found.reliability)];
            sections.extend(calibration::section(&named, &format!(", {known}")));
        }
        sections
    }
}

/// At most `most` of 0..n, evenly spaced.
fn spaced(n: usize, most: usize) -> Vec<usize> {
    let count = n.min(most);
    (0..count).map(|k| k * n / count).collect()
}

/// A list in words, cut after twenty.
fn some(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| brief(name)).collect();
    crate::report::some_of(&names, 20)
}

/// The two leading principal components of rows.
fn components(mut rows: Matrix, pool: &Pool) -> Result<Matrix> {
    centre_columns(&mut rows);
    let n = rows.n_rows();
    let width = n.min(6);
    let product = Matrix::from_fn(n, n, |i, j| dot(rows.row(i), rows.row(j)));
    // Any start will do; this one is the same everywhere.
    let start = Matrix::from_fn(width, n, |k, i| ((i * (2 * k + 3) + k) % 13) as f64 - 6.0 + 0.01 * k as f64);
    let found = leading(&product, width.min(2), &start, pool, &|| false)?;
    let place = |i: usize, k: usize| found.vectors.get(k, i) * found.values[k].max(0.0).sqrt();
    Ok(Matrix::from_fn(n, 2, |i, k| if k < found.values.len() { place(i, k) } else { 0.0 }))
}
