//! `cik`: clusters of a Dirichlet-process mixture with a random-feature kernel machine for each; and `dpm`, the
//! clusters alone.

mod dpm;
mod machine;
mod model;
mod opinions;
mod partition;
mod settings;
mod space;
mod start;
#[cfg(test)]
mod tests;

pub use dpm::{Dpm, DpmModel};
pub use model::CikModel;

use machine::{Answers, Lesson, Machine, Rates, Work, ln_softmin, losses};
use opinions::{Opinions, Scene};
use settings::clustering_params;
pub use settings::{ClusterSampler, Covariance, MachineLikelihood, Optimiser};
use space::Space;
use start::Sampling;

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::weighted::misfit;
use crate::data::{Target, TargetKind};
use crate::dist::Rng;
use crate::error::{Error, Remedy, Result, message};
use crate::file::{Cache, Codec, Record, record};
use crate::linalg::Matrix;
use crate::mixture::{Mixture, Nothing, Witness};
use crate::run::{About, Allowed, ByPartitions, Control, Method, Needs, Progress, State, Task};

clustering_params! {
    /// Clustering induced kernel learning (Nguyen et al. 2018): a Dirichlet-process mixture of Gaussians assigns every
    /// row to a cluster, and each cluster has its own kernel machine: random Fourier features whose per-column widths
    /// are learned along with the weights by the multiclass hinge loss. Cluster membership depends on the row's density
    /// and on how well the cluster's machine classifies it (`beta`). A model is a classifier, a clustering and a
    /// density estimate in one.
    ///
    /// Numbers (one or several columns): machines minimise the squared error, and cluster membership depends on it as on a
    /// normal density of variance `1 / beta`, in standard deviations of the numbers. A predicted number is the mean over
    /// clusters, given the row's density, of what their machines say, and the mean of all numbers for an unseen cluster.
    /// There are no intervals. `lambda` matters more than for classes, as squared errors pull at every row: take
    /// `lambda=auto`.
    ///
    /// Training runs in rounds: one sweep over all rows, a few splits and merges of whole clusters, and one mini-batch
    /// epoch for each machine. It ends with epochs on fixed clusters, the second half of which is averaged. Machines
    /// are optimised, not sampled, and with `beta` above 0 the two halves of a split start from copies of one machine:
    /// the clusters are those of a stochastic search, not draws from a posterior (with `beta = 0` they are).
    ///
    /// For rows that fall into groups which need different kernels, and for finding such groups; where they do not, one
    /// machine (`start=1 sampler=fixed`) or any other method is as good and faster. Works on rows, takes no kernels.
    ///
    /// Cost per round: N K d^2 for densities (N K d if diagonal), and 2 N D (d + classes) per machine that matters for
    /// a row. Memory: rows twice, 4 K + 40 bytes for each row, and three times 8 D (d + 8 classes) for each cluster,
    /// which is an error if it exceeds `--memory`; a model keeps a twelfth of the latter.
    pub struct Cik {
        /// how much the machine of a cluster has a say in who belongs to it; 0: nothing, as for dpm
        beta: f64 = 1.0, Allowed::Number(0.0, 1e6);
    } {
        /// what a machine says of a row: exp(-beta loss) over that of all classes, or exp(-beta loss) as published; the same
        /// for numbers
        likelihood: MachineLikelihood = MachineLikelihood::Normalised, Allowed::OneOf(MachineLikelihood::WORDS);
        /// random frequencies of each machine; it has a cosine and a sine of each as features
        frequencies: usize = 384, Allowed::Whole(1, 100_000);
        /// penalty on the weights of machines, per row; auto chooses among 0.1, 0.01, 0.001, 1e-4 and 1e-5, of which numbers
        /// with much noise need the large ones
        lambda: f64 = 1e-4, Allowed::NumberOrAuto(0.0, 1e3, &[0.1, 0.01, 0.001, 1e-4, 1e-5]);
        /// steps of machines: adam, sized for every parameter, or sgd, the gradient times a learning rate, as published,
        /// which needs rates of its own
        optimiser: Optimiser = Optimiser::Adam, Allowed::OneOf(Optimiser::WORDS);
        /// learning rate of the weights of machines
        rate: f64 = 0.01, Allowed::Number(1e-12, 1.0);
        /// learning rate of the widths of kernels; 0 leaves them at 1/sqrt(columns)
        kernel_rate: f64 = 0.001, Allowed::Number(0.0, 1.0);
        /// passes over the rows of each cluster after the last sweep; the second half is averaged
        epochs: usize = 10, Allowed::Whole(1, 1_000_000);
    }
}

/// Rows per mini-batch.
const BATCH: usize = 64;
/// Minimum number of mini-batches per epoch: small clusters have a machine to train as well.
const MIN_STEPS: usize = 5;

/// How a machine's scores become the likelihood of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Likelihood {
    beta: f64,
    normalised: bool,
}

impl Likelihood {
    fn new(method: &Cik) -> Likelihood {
        Likelihood { beta: method.beta, normalised: method.likelihood == MachineLikelihood::Normalised }
    }

    /// The log-likelihood of a row's class or numbers given the scores; never above 0. `room` is scratch space as long as
    /// the scores.
    ///
    /// Numbers are normal around their scores with the variance `1 / beta`, in units of theirs, and the constant that all
    /// clusters share is left out.
    fn of(&self, scores: &[f64], answers: Answers<'_>, row: usize, room: &mut [f64]) -> f64 {
        let code = match answers {
            Answers::Codes(codes) => codes[row],
            Answers::Numbers(numbers) => {
                return self.of_errors(scores.iter().zip(numbers.row(row)).map(|(f, y)| f - y));
            }
        };
        if self.normalised {
            return ln_softmin(scores, code, self.beta, room);
        }
        losses(scores, room);
        -self.beta * room[code]
    }

    fn of_errors(&self, errors: impl Iterator<Item = f64>) -> f64 {
        -0.5 * self.beta * errors.map(|error| error * error).sum::<f64>()
    }

    /// The log-likelihood in a cluster without a machine, whose scores are all 0: one for any class, or one of each row.
    fn fresh(&self, answers: Answers<'_>, n_outputs: usize) -> Vec<f64> {
        match answers {
            Answers::Numbers(numbers) => numbers.rows().map(|row| self.of_errors(row.iter().copied())).collect(),
            Answers::Codes(_) if self.normalised => vec![-(n_outputs as f64).ln()],
            Answers::Codes(_) => vec![-self.beta],
        }
    }
}

/// One machine for each cluster.
#[derive(Clone, Debug, Default)]
struct Machines(Vec<Machine>);

impl Codec for Machines {
    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("count", &self.0.len());
        self.0.iter().enumerate().for_each(|(k, machine)| record.put(&k.to_string(), machine));
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        let count: usize = record.take("count")?;
        // Does not trust a count from the file: the first missing machine ends the list.
        let mut machines = vec![];
        for k in 0..count {
            machines.push(record.take(&k.to_string())?);
        }
        Ok(Machines(machines))
    }
}

record! {
    /// State of a run.
    #[derive(Clone, Debug)]
    pub struct Search {
        /// Number of rounds done.
        n_rounds: usize,
        position: u64,
        space: Space,
        mixture: Mixture,
        machines: Machines,
        /// After each sweep: the number of clusters, and the log joint density of rows and clusters.
        n_clusters: Vec<usize>,
        ln_joint: Vec<f64>,
        /// Splits and merges tried, splits made, and merges made.
        moves: Vec<usize>,
        table: Cache<Matrix>,
    }
}

impl Method for Cik {
    type State = Search;

    fn about(&self) -> About {
        About {
            name: "cik",
            summary: "clusters of a Dirichlet-process mixture, each with a kernel machine whose kernel is learned",
            needs: Needs::Rows,
            bank: "",
        }
    }

    fn finds_clusters(&self) -> bool {
        true
    }

    fn targets(&self) -> &'static [TargetKind] {
        &[TargetKind::Classes, TargetKind::Numbers]
    }

    fn tuned_targets(&self) -> &'static [TargetKind] {
        &[TargetKind::Classes, TargetKind::Numbers]
    }

    fn tunes_by_log_loss(&self) -> bool {
        true
    }

    fn by_partitions(&self) -> Option<Box<dyn ByPartitions>> {
        Some(Box::new(self.clone()))
    }
}

impl Cik {
    fn rates(&self) -> Rates {
        Rates {
            lambda: self.lambda,
            weights: self.rate,
            sigma: self.kernel_rate,
            batch: BATCH,
            plain: self.optimiser == Optimiser::Sgd,
        }
    }
}

/// What machines learn.
fn answers<'a>(task: &Task<'a>) -> Answers<'a> {
    match task.target {
        Target::Numbers(numbers) => Answers::Numbers(numbers.values()),
        _ => Answers::Codes(task.labels.codes()),
    }
}

impl Search {
    /// Checks that it fits the task, and knows the clusters of so many rows.
    fn check_for(&self, method: &Cik, task: &Task<'_>, n_rows: usize) -> Result<()> {
        let d = task.rows()?.n_cols();
        let told = self.moves.len() == 3 && self.n_clusters.len() == self.ln_joint.len();
        if !told || !self.space.fits(d) || self.machines.0.len() != self.mixture.n_clusters() {
            return Err(misfit());
        }
        self.mixture.check(n_rows, self.space.n_columns())?;
        let wanted = method.frequencies;
        let right = |machine: &Machine| match machine.n_frequencies() == wanted && machine.is_in_training() {
            true => machine.check(d, task.n_outputs()),
            false => Err(misfit()),
        };
        self.machines.0.iter().try_for_each(right)
    }
}

impl State<Cik> for Search {
    type Model = CikModel;

    fn init(method: &Cik, task: &Task<'_>) -> Result<Search> {
        let rows = task.rows()?;
        let mut rng = task.rng(0, 0);
        let space = Space::new(rows, method.covariance)?;
        let table = space.apply(rows)?;
        let mixture = start::mixture(&space, &table, &method.clustering(), &mut rng, task.pool)?;
        check_memory(task, method, mixture.n_clusters())?;
        let mut search = Search {
            n_rounds: 0,
            position: 0,
            space,
            machines: Machines::default(),
            n_clusters: vec![],
            ln_joint: vec![],
            moves: vec![0; 3],
            mixture,
            table: Cache(Some(table)),
        };
        let fresh = (0..search.mixture.n_clusters()).map(|_| fresh(task, method, &mut rng));
        search.machines = Machines(fresh.collect::<Result<_>>()?);
        search.position = rng.position();
        Ok(search)
    }

    fn check(&self, method: &Cik, task: &Task<'_>) -> Result<()> {
        self.check_for(method, task, task.n_samples())
    }

    fn step(&mut self, method: &Cik, task: &Task<'_>, control: &Control) -> Result<Progress> {
        let (sweeps, epochs) = (method.sweeps, method.epochs);
        let stop = || control.stop().is_some();
        let rows = task.rows()?;
        let table = self.table.0.take().map_or_else(|| self.space.apply(rows), Ok)?;
        let scene = Scene {
            rows,
            table: &table,
            answers: answers(task),
            n_outputs: task.n_outputs(),
            pool: task.pool,
            stop: &stop,
        };
        // A cancelled round leaves the search unchanged.
        let mut next = self.clone();
        let done = next.round(task, method, &scene, sweeps, epochs);
        if done.is_ok() {
            *self = next;
        }
        self.table = Cache(Some(table));
        done?;
        Ok(Progress::of(self.n_rounds, 1 + sweeps + epochs).with("clusters", self.mixture.n_clusters() as f64))
    }

    fn finish(self, method: &Cik, task: &Task<'_>) -> Result<CikModel> {
        CikModel::new(task, method, self)
    }
}

/// Rejects runs that would not fit in memory: the machines, and their opinion of each row.
fn check_memory(task: &Task<'_>, method: &Cik, n_clusters: usize) -> Result<()> {
    let (need, limit) = (needed(task, method, n_clusters)?, task.input.room());
    if need <= limit {
        return Ok(());
    }
    let (frequencies, n_outputs) = (method.frequencies, task.n_outputs());
    let kind = if task.target.numbers().is_some() { "numbers" } else { "classes" };
    Err(Error::Memory {
        what: format!("a set of {n_clusters} machines of {frequencies} frequencies for {n_outputs} {kind}"),
        need,
        limit,
        help: message![
            "take fewer frequencies (",
            Remedy::Set("frequencies", "96".into()),
            "), start from fewer clusters (",
            Remedy::Set("start", "5".into()),
            "), or raise ",
            Remedy::Memory
        ],
    })
}

/// Bytes needed for this many clusters. Machines exist three times while a sweep reassigns them: in the search, in the
/// working copy, and in the result.
fn needed(task: &Task<'_>, method: &Cik, n_clusters: usize) -> Result<u64> {
    let (n, d, frequencies) = (task.n_samples() as u64, task.rows()?.n_cols(), method.frequencies);
    let (k, machine) = (n_clusters as u64, Machine::bytes(d, frequencies, task.n_outputs()));
    let threads = Work::bytes(frequencies, BATCH).saturating_mul(task.pool.n_threads() as u64);
    let of_rows = n.saturating_mul(8 * d as u64 + 4 * k + 40);
    Ok(machine.saturating_mul(3 * k).saturating_add(threads).saturating_add(of_rows))
}

/// An untrained machine.
fn fresh(task: &Task<'_>, method: &Cik, rng: &mut Rng) -> Result<Machine> {
    Machine::new(task.rows()?.n_cols(), method.frequencies, task.n_outputs(), rng)
}

impl Search {
    /// The first round trains the initial machines, each of the next starts with a sweep, and the last ones leave the
    /// clusters fixed.
    fn round(&mut self, task: &Task<'_>, method: &Cik, scene: &Scene<'_>, sweeps: usize, epochs: usize) -> Result<()> {
        let mut rng = task.rng(0, self.position);
        let sampling = Sampling::new(method.sampler, scene.rows.n_rows());
        if (1..=sweeps).contains(&self.n_rounds) && sampling != Sampling::Fixed {
            self.sweep(task, method, scene, sampling, &mut rng)?;
        }
        // Epochs on the final clusters are averaged from the middle on.
        if self.n_rounds == 1 + sweeps + epochs / 2 {
            self.machines.0.iter_mut().for_each(Machine::begin_average);
        }
        self.train(method, scene, rng.bits())?;
        self.position = rng.position();
        self.n_rounds += 1;
        Ok(())
    }

    /// Reassigns every row, then splits and merges whole clusters.
    fn sweep(
        &mut self,
        task: &Task<'_>,
        method: &Cik,
        scene: &Scene<'_>,
        sampling: Sampling,
        rng: &mut Rng,
    ) -> Result<()> {
        let likelihood = Likelihood::new(method);
        // With beta = 0 machines have no say and are not evaluated.
        let asked = likelihood.beta > 0.0;
        let opinions = asked.then(|| Opinions::of(scene, &self.mixture, &self.machines.0, &likelihood)).transpose()?;
        let witness: &dyn Witness = opinions.as_ref().map_or(&Nothing, |opinions| opinions);
        // Merge pieces of k-means that fit one cluster and whose machines agree.
        let whole: Vec<Option<usize>> = match self.n_rounds {
            1 => self.mixture.condense(scene.table, witness, scene.pool, scene.stop)?.into_iter().map(Some).collect(),
            _ => (0..self.mixture.n_clusters()).map(Some).collect(),
        };
        let moved = opinions.as_ref().map(|opinions| opinions.moved(&whole));
        let witness: &dyn Witness = moved.as_ref().map_or(&Nothing, |moved| moved);
        let before = start::sweep(&mut self.mixture, sampling, witness, scene, rng)?;
        let before: Vec<Option<usize>> = before.into_iter().map(|k| whole[k?]).collect();
        let moved = opinions.as_ref().map(|opinions| opinions.moved(&before));
        let witness: &dyn Witness = moved.as_ref().map_or(&Nothing, |moved| moved);
        let (from, made) = start::split_merge(&mut self.mixture, method.moves, witness, scene, rng)?;
        check_memory(task, method, from.len())?;
        let inherit = |k: usize| match before[k] {
            Some(old) => Ok(self.machines.0[old].clone()),
            None => fresh(task, method, rng),
        };
        self.machines = Machines(from.into_iter().map(inherit).collect::<Result<_>>()?);
        self.moves.iter_mut().zip(made).for_each(|(sum, made)| *sum += made);
        self.n_clusters.push(self.mixture.n_clusters());
        self.ln_joint.push(self.mixture.ln_joint());
        Ok(())
    }

    /// One mini-batch epoch for each machine over the rows of its cluster, in random order; after an error some of them
    /// are untrained.
    fn train(&mut self, method: &Cik, scene: &Scene<'_>, seed: u64) -> Result<()> {
        let rates = method.rates();
        let members = self.mixture.members();
        let mut results: Vec<Result<()>> = members.iter().map(|_| Ok(())).collect();
        let mut tasks: Vec<_> = self.machines.0.iter_mut().zip(&members).zip(&mut results).enumerate().collect();
        // Largest first, so that no thread is left with it at the end.
        tasks.sort_by_key(|(_, ((_, members), _))| std::cmp::Reverse(members.len()));
        let spare = Mutex::new(vec![]);
        scene.pool.each(tasks, |(k, ((machine, members), result))| {
            let mut members = members.clone();
            Rng::new(seed, k as u64).shuffle(&mut members);
            let n_steps = members.len().div_ceil(BATCH).max(MIN_STEPS);
            let lesson = Lesson { rows: scene.rows, answers: scene.answers, members: &members, n_steps };
            let mut work: Work = lock(&spare).pop().unwrap_or_default();
            *result = machine.train(&lesson, &rates, &mut work, scene.stop);
            lock(&spare).push(work);
        });
        results.into_iter().collect()
    }
}

/// The value behind a lock, even if poisoned: a thread that panicked left nothing but scratch space there.
fn lock<T>(spare: &Mutex<T>) -> MutexGuard<'_, T> {
    spare.lock().unwrap_or_else(PoisonError::into_inner)
}
