//! Rows in partitions: the bound is a sum over rows, and the optimiser needs only sums.
//!
//! A step asks for the contributions of all rows at one point, `(m + 1) c + 3 P` numbers of each partition for m
//! landmarks, c functions and P kernels; steps 0, 8, 16, 32, ... also for the curvature, m^2 numbers. Nothing that grows
//! with the number of rows is kept between requests: the outputs of kernels at rows are computed anew from the sample
//! weights, in the pass that one machine makes for a step anyway.
//!
//! The partial likelihood of times is no sum over rows, but two rounds of sums give it ([`RiskSums`]): a step makes two
//! passes, and with K times of events and S nodes a partition answers the first with 3 K S numbers.

#[cfg(test)]
mod tests;

use std::cell::RefCell;

use super::climb::{Elsewhere, MIN_CURVATURE, Passes};
use super::clip::Clip;
use super::functions::{FunctionsModel, SviMklEnd};
use super::layout::Layout;
use super::loss::{Loss, NumbersLoss};
use super::model::LogisticModel;
use super::objective::{CurvatureSums, Objective, RowSums};
use super::settings::Settings;
use super::state::Fit;
use super::{check_fit, facts, first_point, misfit, on_points, warning};
use crate::data::Target;
use crate::error::{Error, Remedy, Result, message};
use crate::file::{Cache, Codec, Record};
use crate::linalg::Matrix;
use crate::method::ends::{Hazards, RiskSums, RowHazards};
use crate::pool::Pool;
use crate::run::{AllRows, ByPartitions, Control, Keeper, MOST_TIMES, Observer, Progress, Run, Stop, Task, add_sums};
use crate::simd::ln;
use crate::solve::product::scaled_square;

/// The kinds of requests.
const VALUE: &str = "value";
const CURVATURE: &str = "curvature";
/// The first round of times, at the nodes and at the mean weights.
const RISKS: &str = "risks";
const BASELINE: &str = "baseline";

/// The classes that have functions, where all classes have rows somewhere.
fn functions(task: &Task<'_>) -> Vec<usize> {
    match task.labels.n_classes() {
        2 => vec![0],
        n => (0..n).collect(),
    }
}

fn n_functions(task: &Task<'_>) -> usize {
    match task.target {
        Target::Classes => functions(task).len(),
        Target::Numbers(numbers) => numbers.n_targets(),
        Target::Times(_) => 1,
    }
}

/// The objective on the rows of a task, whose stack is between them and the landmarks.
fn objective<'a>(task: &Task<'a>, settings: &Settings) -> Result<Objective<'a>> {
    let loss = Loss::of_functions(task, &functions(task), settings.loss);
    let points = (0..task.stack()?.n_cols()).collect();
    on_points(task, settings, Clip::default(), (loss, n_functions(task)), points)
}

/// What the rows of a block say of times: the first round, or the loss of the second.
fn of_times(
    request: &Record,
    kind: &str,
    x: &[f64],
    block: &Task<'_>,
    objective: &mut Objective<'_>,
) -> Result<Option<Record>> {
    let Target::Times(times) = block.target else { return Ok(None) };
    let events: Vec<f64> = request.take("events")?;
    if kind != RISKS && kind != BASELINE {
        let rows = RowHazards::new(times, &events, request.take("hazards")?, objective.n_nodes())?;
        objective.loss = Loss::Hazards(rows);
        return Ok(None);
    }
    let outputs = objective.outputs(&x[objective.layout.samples()], objective.stack)?;
    let risks = match kind {
        BASELINE => RiskSums::new(times, &events, &objective.mean_functions(x, &outputs), 1)?,
        _ => RiskSums::new(times, &events, &objective.node_functions(x, &outputs), objective.n_nodes())?,
    };
    let mut sums = Record::default();
    sums.put(RISKS, &risks);
    Ok(Some(sums))
}

impl Settings {
    fn check_partitions(&self, landmarks: &Task<'_>, rows: &AllRows<'_>) -> Result<()> {
        if self.ascent {
            return Err(Error::param(
                "solver",
                "ascent and plain draw rows, which partitions do not have at hand; use lbfgs",
            ));
        }
        if self.clip {
            return Err(Error::param("indefinite", "clipping needs all rows as points; leave out the kernel"));
        }
        let (m, stack) = (landmarks.n_samples() as u64, landmarks.stack()?);
        let (need, limit) = ((8 * 5 * m).saturating_mul(m), stack.room());
        if need > limit {
            let what = format!("the curvature between {m} landmarks");
            let help = message!["set landmarks to fewer rows, or raise ", Remedy::Memory];
            return Err(Error::Memory { what, need, limit, help });
        }
        let (n_times, most) = (rows.events.0.len(), MOST_TIMES / self.nodes.max(1));
        if n_times > most {
            return Err(Error::input(format!(
                "events happen at {n_times} distinct times, and partitions send three numbers for each at every step (and for \
                 each of {} nodes); round the times, to days or weeks say, so that there are at most {most}",
                self.nodes
            )));
        }
        Ok(())
    }
}

impl ByPartitions for Settings {
    fn n_landmarks(&self, n_rows: usize) -> Option<usize> {
        Some(self.points(n_rows))
    }

    fn sums(&self, request: &Record, block: &Task<'_>) -> Result<Record> {
        // Nodes are arranged as for all other rows.
        let mut objective = objective(&Task { seed: request.take("seed")?, ..*block }, self)?;
        let (x, kind): (Vec<f64>, String) = (request.take("x")?, request.take("kind")?);
        if x.len() != objective.layout.size() {
            return Err(Error::input("a request does not fit the partition; all workers need the same version"));
        }
        if let Some(sums) = of_times(request, &kind, &x, block, &mut objective)? {
            return Ok(sums);
        }
        let (all, outputs, collected) = objective.contributions(&x, objective.stack)?;
        let curvature: Vec<f64> = all.curvature.iter().map(|value| value.max(MIN_CURVATURE)).collect();
        let mut sums = Record::default();
        if kind == CURVATURE {
            let means: Vec<f64> = request.take("means")?;
            let weights = Matrix::from_vec(means.len(), 1, means)?;
            let combined = objective.stack.combine(&weights, block.pool)?.remove(0).transposed();
            sums.put("curvature", &scaled_square(&combined, &curvature, block.pool, &|| false)?.upper());
            return Ok(sums);
        }
        let squares = |curvature: &[f64]| objective.squares(&outputs, curvature);
        let (total, plain) = (curvature.iter().sum(), squares(&all.curvature));
        sums.put("loss", &all.loss);
        sums.put("products", &all.products);
        sums.put("residuals", &all.residuals);
        sums.put("collected", &collected);
        sums.put("curvature", &CurvatureSums { total, squares: squares(&curvature), plain });
        Ok(sums)
    }

    fn add(&self, sums: &mut Record, next: &Record) -> Result<()> {
        if sums.is_empty() || !next.has("risks.most") {
            return add_sums(sums, next);
        }
        let mut all: RiskSums = sums.take(RISKS)?;
        all.add(&next.take(RISKS)?)?;
        sums.put(RISKS, &all);
        Ok(())
    }

    fn learn(
        &self,
        landmarks: &Task<'_>,
        rows: &AllRows<'_>,
        keeper: &mut Keeper,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Run> {
        self.check_partitions(landmarks, rows)?;
        let objective = objective(landmarks, self)?;
        let asked = Asked { rows, seed: landmarks.seed, pool: landmarks.pool, last: RefCell::default() };
        let passes = Passes::over(&objective, &asked);
        let first = first_point(&objective, self, |c| first_intercept(self.loss, rows, c));
        let outputs = vec![0.0; objective.layout.samples().len() * objective.layout.n_kernels];
        let mut fit = match keeper.take_stored() {
            Some(state) => resumed(&state, &objective)?,
            None => objective.begin(first, outputs, &passes)?,
        };
        let why = self.climbed(&objective, &passes, &mut fit, (keeper, control, observer))?;
        let (taken, progress) = (fit.losses.len() - 1, self.progress(&fit));
        if taken == 0 && why != Stop::Finished {
            return Err(Error::Stopped(format!("{why} before anything was learned; no model was made")));
        }
        let made = made(landmarks, &objective, &fit, &asked);
        // The last question may be one too many for the cluster.
        let (model, of_target) = made.inspect_err(|_| keeper.keep(&progress, kept(&fit), observer))?;
        let mut told = facts(&objective, taken, fit.losses[taken], fit.gap);
        told.push(("rows".into(), format!("{} in partitions", rows.n_rows)));
        told.extend(of_target);
        let model = model.with(told, warning(self, &fit, fit.gap));
        let record = model.encode();
        Ok(Run { model: Box::new(model), record, stop: why, steps: taken as u64, progress })
    }
}

impl Settings {
    fn progress(&self, fit: &Fit) -> Progress {
        let taken = fit.losses.len() - 1;
        Progress::of(taken.min(self.iterations), self.iterations).with("bound", -fit.losses[taken])
    }

    /// Steps until they are enough, or a stop is asked for.
    fn climbed(
        &self,
        objective: &Objective<'_>,
        passes: &Passes<'_>,
        fit: &mut Fit,
        (keeper, control, observer): (&mut Keeper, &Control, &mut dyn Observer),
    ) -> Result<Stop> {
        let stop = || control.stop().is_some();
        loop {
            let before = self.progress(fit);
            if fit.converged || fit.losses.len() > self.iterations {
                return Ok(Stop::Finished);
            }
            if let Some(why) = control.stop() {
                keeper.keep(&before, kept(fit), observer);
                return Ok(why);
            }
            // A step that fails may have changed some of it.
            let state = keeper.is_on().then(|| kept(fit));
            if let Err(error) = objective.climb(fit, self.tol, passes, &stop) {
                state.into_iter().for_each(|state| keeper.keep(&before, state, observer));
                return Err(error);
            }
            let progress = self.progress(fit);
            observer.progress(&progress);
            keeper.after_step(&progress, || kept(fit), observer);
        }
    }
}

/// The model of a state, and what is told of its target.
fn made(
    landmarks: &Task<'_>,
    objective: &Objective<'_>,
    fit: &Fit,
    asked: &Asked<'_>,
) -> Result<(SviMklEnd, Vec<(String, String)>)> {
    let functions_model = |baseline| SviMklEnd::Functions(FunctionsModel::new(objective, &fit.x, baseline));
    match landmarks.target {
        Target::Classes => {
            let model = LogisticModel::of_functions(functions(landmarks), landmarks, objective, &fit.x)?;
            Ok((SviMklEnd::Classes(model), vec![]))
        }
        Target::Numbers(_) => Ok((functions_model(Default::default()), vec![])),
        Target::Times(_) => {
            let (risks, rows) = (asked.risks(BASELINE, &fit.x)?, asked.rows);
            let (times, counts) = &rows.events;
            let told = vec![
                ("events".into(), format!("{} of {} rows", counts.iter().sum::<usize>(), rows.n_rows)),
                ("log risks".into(), format!("standard deviation {:.3}", risks.deviation(rows.n_rows))),
            ];
            Ok((functions_model((times.clone(), risks.baseline(counts)?)), told))
        }
    }
}

/// A state as it is stored: with what only rows elsewhere know.
fn kept(fit: &Fit) -> Record {
    let mut record = Record::default();
    record.put("fit", fit);
    record.put("sums", &fit.sums.0.clone().unwrap_or_default());
    record.put("basis_at", &fit.basis.at.0.clone().unwrap_or_default());
    record
}

/// The state that was stored; the factor of its basis is asked for again.
fn resumed(record: &Record, objective: &Objective<'_>) -> Result<Fit> {
    let (mut fit, sums): (Fit, CurvatureSums) = (record.take("fit")?, record.take("sums")?);
    let (at, layout): (Vec<f64>, Layout) = (record.take("basis_at")?, objective.layout);
    check_fit(&fit, layout, (layout.n_points, 0))?;
    let begun = !fit.basis.means.is_empty();
    if [sums.squares.len(), sums.plain.len()] != [layout.n_kernels; 2]
        || at.len() != if begun { layout.size() } else { 0 }
    {
        return Err(misfit());
    }
    fit.sums = Cache(Some(sums));
    fit.basis.at = Cache(begun.then_some(at));
    fit.clip = Cache(Some(objective.clip.clone()));
    Ok(fit)
}

/// As [`Loss::first_intercept`], from the mean of all rows.
fn first_intercept(loss: NumbersLoss, rows: &AllRows<'_>, function: usize) -> f64 {
    match rows.number_means.get(function) {
        Some(mean) if loss == NumbersLoss::Poisson => ln(mean + 0.5 / rows.n_rows.max(1) as f64),
        _ => 0.0,
    }
}

/// The rows of all partitions.
struct Asked<'a> {
    rows: &'a AllRows<'a>,
    /// That of the arrangement of nodes.
    seed: u64,
    pool: &'a Pool,
    /// The point whose hazards were asked for last: the curvature is that of a point just looked at.
    last: RefCell<Option<(Vec<f64>, f64, Hazards)>>,
}

impl Asked<'_> {
    fn request(&self, kind: &str, x: &[f64]) -> Record {
        let mut request = Record::default();
        request.put("kind", &kind.to_string());
        request.put("seed", &self.seed);
        request.put("x", &x.to_vec());
        request
    }

    /// The second round at a point, or the only one; also minus the likelihood of times there, else 0.
    fn ask(&self, kind: &str, x: &[f64], means: &[f64]) -> Result<(Record, f64)> {
        let (mut request, mut loss) = (self.request(kind, x), 0.0);
        request.put("means", &means.to_vec());
        if !self.rows.events.0.is_empty() {
            let (value, hazards) = self.hazards(x)?;
            request.put("events", &self.rows.events.0);
            request.put("hazards", &hazards);
            loss = -value;
        }
        Ok(((self.rows.ask)(&request)?, loss))
    }

    /// The first round of times.
    fn risks(&self, kind: &str, x: &[f64]) -> Result<RiskSums> {
        let mut request = self.request(kind, x);
        request.put("events", &self.rows.events.0);
        (self.rows.ask)(&request)?.take(RISKS)
    }

    /// The likelihood of times at a point, and its hazards.
    fn hazards(&self, x: &[f64]) -> Result<(f64, Hazards)> {
        if let Some((at, value, hazards)) = &*self.last.borrow()
            && at == x
        {
            return Ok((*value, hazards.clone()));
        }
        let (value, hazards) = self.risks(RISKS, x)?.likelihood(&self.rows.events.1, self.pool)?;
        *self.last.borrow_mut() = Some((x.to_vec(), value, hazards.clone()));
        Ok((value, hazards))
    }
}

impl Elsewhere for Asked<'_> {
    fn at(&self, x: &[f64]) -> Result<(RowSums, Vec<f64>, CurvatureSums)> {
        let (sums, loss) = self.ask(VALUE, x, &[])?;
        let rows = RowSums {
            loss: sums.take::<f64>("loss")? + loss,
            curvature: vec![],
            products: sums.take("products")?,
            residuals: sums.take("residuals")?,
        };
        Ok((rows, sums.take("collected")?, sums.take("curvature")?))
    }

    fn curvature(&self, x: &[f64], means: &[f64]) -> Result<Matrix> {
        let curvature: Vec<f64> = self.ask(CURVATURE, x, means)?.0.take("curvature")?;
        let no_half = || Error::input("the curvature of the partitions is no half of a matrix");
        Matrix::of_upper(&curvature).ok_or_else(no_half)
    }
}
