//! Rows in partitions: the bound is a sum over rows, and the optimiser needs only sums.
//!
//! A step asks for the contributions of all rows at one point, `(m + 1) c + 3 P` numbers of each partition for m
//! landmarks, c functions and P kernels; steps 0, 8, 16, 32, ... also for the curvature, m^2 numbers. Nothing that grows
//! with the number of rows is kept between requests: the outputs of kernels at rows are computed anew from the sample
//! weights, in the pass that one machine makes for a step anyway.

use super::climb::{Elsewhere, MIN_CURVATURE, Passes};
use super::clip::Clip;
use super::functions::{FunctionsModel, SviMklEnd};
use super::loss::{Loss, NumbersLoss};
use super::model::LogisticModel;
use super::objective::{CurvatureSums, Objective, RowSums};
use super::settings::Settings;
use super::{facts, first_point, on_points, warning};
use crate::data::Target;
use crate::error::{Error, Remedy, Result, message};
use crate::file::{Codec, Record};
use crate::linalg::Matrix;
use crate::run::{AllRows, AskPartitions, ByPartitions, Control, Observer, Progress, Run, Stop, Task};
use crate::simd::ln;
use crate::solve::product::scaled_square;

/// The kinds of requests.
const VALUE: &str = "value";
const CURVATURE: &str = "curvature";

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

impl Settings {
    fn check_partitions(&self, landmarks: &Task<'_>) -> Result<()> {
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
        Ok(())
    }
}

impl ByPartitions for Settings {
    fn n_landmarks(&self, n_rows: usize) -> Option<usize> {
        Some(self.points(n_rows))
    }

    fn sums(&self, request: &Record, block: &Task<'_>) -> Result<Record> {
        let objective = objective(block, self)?;
        let x: Vec<f64> = request.take("x")?;
        if x.len() != objective.layout.size() {
            return Err(Error::input("a request does not fit the partition; all workers need the same version"));
        }
        let (all, outputs, collected) = objective.contributions(&x, objective.stack)?;
        let curvature: Vec<f64> = all.curvature.iter().map(|value| value.max(MIN_CURVATURE)).collect();
        let mut sums = Record::default();
        if request.take::<String>("kind")? == CURVATURE {
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

    fn learn(
        &self,
        landmarks: &Task<'_>,
        rows: &AllRows<'_>,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Run> {
        self.check_partitions(landmarks)?;
        let objective = objective(landmarks, self)?;
        let asked = Asked(rows.ask);
        let passes = Passes::over(&objective, &asked);
        let first = first_point(&objective, self, |c| first_intercept(self.loss, rows, c));
        let outputs = vec![0.0; objective.layout.samples().len() * objective.layout.n_kernels];
        let mut fit = objective.begin(first, outputs, &passes)?;
        let stop = || control.stop().is_some();
        let mut progress = Progress::of(0, self.iterations);
        let why = loop {
            let taken = fit.losses.len() - 1;
            if fit.converged || taken >= self.iterations {
                break Stop::Finished;
            }
            if let Some(why) = control.stop() {
                break why;
            }
            objective.climb(&mut fit, self.tol, &passes, &stop)?;
            let taken = fit.losses.len() - 1;
            progress = Progress::of(taken.min(self.iterations), self.iterations).with("bound", -fit.losses[taken]);
            observer.progress(&progress);
        };
        let taken = fit.losses.len() - 1;
        if taken == 0 && why != Stop::Finished {
            return Err(Error::Stopped(format!("{why} before anything was learned; no model was made")));
        }
        let mut told = facts(&objective, taken, fit.losses[taken], fit.gap);
        told.push(("rows".into(), format!("{} in partitions", rows.n_rows)));
        let model = match landmarks.target {
            Target::Classes => {
                let functions = functions(landmarks);
                SviMklEnd::Classes(LogisticModel::of_functions(functions, landmarks, &objective, &fit.x)?)
            }
            _ => SviMklEnd::Functions(FunctionsModel::new(&objective, &fit.x, &[])),
        };
        let model = model.with(told, warning(self, &fit, fit.gap));
        let record = model.encode();
        Ok(Run { model: Box::new(model), record, stop: why, steps: taken as u64, progress })
    }
}

/// As [`Loss::first_intercept`], from the mean of all rows.
fn first_intercept(loss: NumbersLoss, rows: &AllRows<'_>, function: usize) -> f64 {
    match rows.number_means.get(function) {
        Some(mean) if loss == NumbersLoss::Poisson => ln(mean + 0.5 / rows.n_rows.max(1) as f64),
        _ => 0.0,
    }
}

/// The rows of all partitions.
struct Asked<'a>(&'a AskPartitions<'a>);

impl Asked<'_> {
    fn ask(&self, kind: &str, x: &[f64], means: &[f64]) -> Result<Record> {
        let mut request = Record::default();
        request.put("kind", &kind.to_string());
        request.put("x", &x.to_vec());
        request.put("means", &means.to_vec());
        (self.0)(&request)
    }
}

impl Elsewhere for Asked<'_> {
    fn at(&self, x: &[f64]) -> Result<(RowSums, Vec<f64>, CurvatureSums)> {
        let sums = self.ask(VALUE, x, &[])?;
        let rows = RowSums {
            loss: sums.take("loss")?,
            curvature: vec![],
            products: sums.take("products")?,
            residuals: sums.take("residuals")?,
        };
        Ok((rows, sums.take("collected")?, sums.take("curvature")?))
    }

    fn curvature(&self, x: &[f64], means: &[f64]) -> Result<Matrix> {
        let curvature: Vec<f64> = self.ask(CURVATURE, x, means)?.take("curvature")?;
        let no_half = || Error::input("the curvature of the partitions is no half of a matrix");
        Matrix::of_upper(&curvature).ok_or_else(no_half)
    }
}
