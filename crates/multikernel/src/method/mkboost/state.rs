//! The state machine of all four methods: some trials of some pairs per step.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::BoostParams;
use super::boost::{Boost, Pair, Setting};
use super::kernels::{Held, WORKING, Whole, bytes, unfold};
use super::model::MkBoostModel;
use super::trials::Trials;
use crate::data::{Labels, repeats_by_group};
use crate::error::{Error, Result};
use crate::file::{Cache, record};
use crate::linalg::Matrix;
use crate::method::alike::alike;
use crate::method::machine::pairs;
use crate::method::problems::{Problem, one_vs_one};
use crate::run::{Control, Progress, Task};

/// Approximate number of kernel values a step may touch: their SVMs and decisions take a tenth of a second or two.
const STEP: u64 = 40_000_000;
/// Pairs boosted in parallel in one step: few, so that their data stay in the cache.
const SIDE_BY_SIDE: usize = 4;
/// Trials of a pair before others get their turn: enough to make storing the kernels of a pair worthwhile.
const TURN: usize = 10;
/// The random stream that selects held-out rows, and the one that compares kernels; pairs have those from 0 on, two
/// each.
const HOLDOUT_STREAM: u64 = 1 << 40;
const ALIKE_STREAM: u64 = HOLDOUT_STREAM + 1;

record! {
    /// Progress of the pairs of classes: `D` and `F` for the rows of each, one pair after the other, `S` for the
    /// kernels of each, and all trials so far.
    #[derive(Clone, Debug)]
    pub struct Boosting {
        pub(super) weights: Vec<f64>,
        pub(super) votes: Vec<f64>,
        pub(super) sampling: Vec<f64>,
        row_position: Vec<u64>,
        kernel_position: Vec<u64>,
        pub(super) n_fits: Vec<usize>,
        n_open: Vec<usize>,
        /// Trials of each pair so far, the number of trials that did best on the held-out rows, and how many of these
        /// were right then.
        n_done: Vec<usize>,
        pub(super) best: Vec<usize>,
        pub(super) best_right: Vec<usize>,
        pub(super) trials: Trials,
        work: Cache<Work>,
    }
}

/// The part of the state that is rebuilt from the data.
#[derive(Clone, Debug)]
struct Work {
    pairs: Vec<Pair>,
    /// Offsets of each pair's rows in flat arrays.
    starts: Vec<usize>,
    /// All kernels on the rows sorted by class, if they fit: each pair is two runs of these. Unset before the first
    /// step.
    all: Option<Option<Arc<Matrix>>>,
    /// The kernels of the pairs being boosted.
    held: BTreeMap<usize, Held>,
}

impl Work {
    fn new(task: &Task<'_>, params: &BoostParams) -> Result<Work> {
        let pairs = pairs_of(task, params)?;
        let mut next = 0;
        let start = |pair: &Pair| {
            next += pair.rows.len();
            next - pair.rows.len()
        };
        Ok(Work { starts: pairs.iter().map(start).collect(), pairs, all: None, held: BTreeMap::new() })
    }

    /// All kernels on the rows sorted by class; `None` if they are too large, or if there are only two classes.
    fn all(&mut self, task: &Task<'_>) -> Result<Option<Arc<Matrix>>> {
        if self.all.is_none() {
            let order = by_class(task.labels);
            let sorted = order.iter().copied().eq(0..order.len());
            self.all = Some(match task.labels.n_classes() {
                2 => None,
                _ if sorted => unfold(task.stack()?, task.pool)?,
                _ => unfold(&task.stack()?.view(&order)?, task.pool)?,
            });
        }
        Ok(self.all.clone().flatten())
    }

    /// Loads the kernels of these pairs, and drops all others.
    fn hold(&mut self, some: &[usize], task: &Task<'_>) -> Result<()> {
        let all = self.all(task)?;
        let counts = task.labels.counts();
        let start = |class: usize| counts[..class].iter().sum::<usize>();
        let classes: Vec<(usize, usize)> = pairs(task.labels.n_classes()).collect();
        self.held.retain(|pair, _| some.contains(pair));
        for &p in some.iter().filter(|p| !self.held.contains_key(p)).collect::<Vec<_>>() {
            let held = match &all {
                Some(kernels) => {
                    let run = |class: usize| start(class)..start(class + 1);
                    Held::Whole(Whole { kernels: kernels.clone(), runs: [run(classes[p].0), run(classes[p].1)] })
                }
                None => {
                    let (stack, rows) = (task.stack()?, &self.pairs[p].rows);
                    let whole = rows.iter().copied().eq(0..stack.n_rows());
                    Held::new(if whole { stack.clone() } else { stack.view(rows)? }, task.pool)?
                }
            };
            self.held.insert(p, held);
        }
        Ok(())
    }
}

/// All rows, sorted by class.
fn by_class(labels: &Labels) -> Vec<usize> {
    let mut order: Vec<usize> = (0..labels.n_samples()).collect();
    order.sort_by_key(|&i| labels.codes()[i]);
    order
}

/// The pairs of classes and their rows, some of them held out. With more than two classes, the rows of the first class
/// of a pair come first.
pub(super) fn pairs_of(task: &Task<'_>, params: &BoostParams) -> Result<Vec<Pair>> {
    let mut held = vec![false; task.n_samples()];
    if params.holdout > 0.0 {
        let seed = task.rng(HOLDOUT_STREAM, 0).bits();
        let fraction = 1.0 - params.holdout;
        let split = repeats_by_group(task.labels, task.groups, 1, fraction, seed)
            .map_err(|error| Error::param("holdout", format!("no rows can be held out ({error}); use holdout=0")))?;
        split.iter().flat_map(|split| &split.test).for_each(|&i| held[i] = true);
    }
    let pair = |(at, problem): (usize, Problem)| {
        let (mut rows, mut positive) = (problem.rows, problem.positive);
        if task.labels.n_classes() > 2 {
            rows.sort_by_key(|&i| task.labels.codes()[i]);
            positive.sort_by_key(|&positive| !positive);
        }
        let of_pair: Vec<bool> = rows.iter().map(|&i| held[i]).collect();
        let mut pair = Pair { at, rows, positive, held: of_pair, n_drawn: 0 };
        if !pair.is_trainable() {
            // All rows of a class would be held out, because they are one group: hold out none in this pair.
            pair.held.fill(false);
        }
        let n_fit = pair.rows.len() - pair.n_held();
        pair.n_drawn = ((params.ratio * n_fit as f64).round() as usize).max(2);
        pair
    };
    Ok(one_vs_one(task.labels).into_iter().enumerate().map(pair).collect())
}

/// The result of one pair's step.
struct Moved {
    boost: Boost,
    trials: Trials,
}

impl Boosting {
    pub(super) fn new(task: &Task<'_>, params: &BoostParams) -> Result<Boosting> {
        let n_kernels = task.stack()?.n_kernels();
        let work = Work::new(task, params)?;
        let most = work.pairs.iter().map(|pair| pair.n_drawn).max().unwrap_or(0);
        let bound = params.c * most as f64;
        if !bound.is_normal() || !params.c.is_normal() {
            return Err(Error::param("c", format!("c times {most} rows drawn is {bound}; bring c nearer to 1")));
        }
        let n = work.pairs.len();
        let mut state = Boosting {
            weights: vec![],
            votes: vec![],
            sampling: vec![],
            row_position: vec![0; n],
            kernel_position: vec![0; n],
            n_fits: vec![0; n],
            n_open: vec![0; n],
            n_done: vec![0; n],
            best: vec![0; n],
            best_right: vec![0; n],
            trials: Trials::default(),
            work: Cache(None),
        };
        for pair in &work.pairs {
            let boost = Boost::new(pair, n_kernels);
            state.weights.extend(boost.weights);
            state.votes.extend(boost.votes);
            state.sampling.extend(boost.sampling);
        }
        state.work = Cache(Some(work));
        Ok(state)
    }

    /// Whether the arrays of a stored state have the lengths of the task's pairs.
    pub(super) fn fits(&self, task: &Task<'_>, params: &BoostParams) -> Result<()> {
        let (work, n_kernels) = (Work::new(task, params)?, task.stack()?.n_kernels());
        let n = work.pairs.len();
        let size: usize = work.pairs.iter().map(|pair| pair.rows.len()).sum();
        let counts = [&self.n_fits, &self.n_open, &self.n_done, &self.best, &self.best_right].map(Vec::len);
        let done = |p: usize| self.trials.pair.iter().filter(|&&pair| pair == p).count();
        let is_chance = |value: &f64| (0.0..=1.0).contains(value);
        let fits = [self.weights.len(), self.votes.len()] == [size; 2]
            && self.sampling.len() == n * n_kernels
            && [self.row_position.len(), self.kernel_position.len()] == [n; 2]
            && counts == [n; 5]
            && self.trials.fit(n, n_kernels, task.n_samples())
            && self.n_done.iter().enumerate().all(|(p, &n_done)| n_done == done(p))
            && self.best.iter().zip(&self.n_done).all(|(best, done)| best <= done)
            && self.weights.iter().all(is_chance)
            // One kernel always has probability 1, so that a trial always has a kernel.
            && self.sampling.chunks(n_kernels.max(1)).all(|of_pair| of_pair.iter().all(is_chance) && of_pair.contains(&1.0));
        if fits { Ok(()) } else { Err(Error::input("the checkpoint's arrays do not fit the data; start anew")) }
    }

    /// Runs some trials of the open pairs with the fewest, in parallel.
    pub(super) fn advance(&mut self, task: &Task<'_>, params: &BoostParams, control: &Control) -> Result<Progress> {
        let mut work = match self.work.0.take() {
            Some(work) => work,
            None => Work::new(task, params)?,
        };
        let moved = self.move_on(&mut work, Setting { task, params, control });
        if let Ok(Some(moved)) = &moved {
            moved.iter().for_each(|(p, moved)| self.take_over(*p, moved, &work));
        }
        let progress = self.progress(&work, params);
        self.work.0 = Some(work);
        Ok(moved?.map_or_else(Progress::cancelled, |_| progress))
    }

    /// Advances the open pairs with the fewest trials; `None` if cancelled.
    fn move_on(&self, work: &mut Work, how: Setting<'_>) -> Result<Option<Vec<(usize, Moved)>>> {
        let n_kernels = how.task.stack()?.n_kernels();
        let shared = work.all(how.task)?.is_some();
        let size =
            |p: usize| if shared { 0 } else { bytes(n_kernels, work.pairs[p].rows.len(), work.pairs[p].rows.len()) };
        let mut left = WORKING;
        let mut active: Vec<usize> = vec![];
        let mut open: Vec<usize> =
            (0..work.pairs.len()).filter(|&p| !self.is_closed(p, &work.pairs[p], how.params)).collect();
        // In turns, so that a stopped run has votes from all pairs.
        open.sort_by_key(|&p| self.n_done[p] / TURN);
        for p in open {
            if active.len() == SIDE_BY_SIDE || (!active.is_empty() && size(p) > left) {
                break;
            }
            left = left.saturating_sub(size(p));
            active.push(p);
        }
        let values: u64 =
            active.iter().map(|&p| bytes(n_kernels, work.pairs[p].rows.len(), work.pairs[p].n_drawn) / 8).sum();
        let n_trials = (STEP / values.max(1)).max(1);
        work.hold(&active, how.task)?;
        let moved = how.task.pool.map(active.len(), |k| self.move_pair(active[k], work, n_trials, how));
        let moved = moved.into_iter().collect::<Result<Option<Vec<Moved>>>>()?;
        Ok(moved.map(|moved| active.into_iter().zip(moved).collect()))
    }

    /// Up to `n_trials` trials of one pair.
    fn move_pair(&self, p: usize, work: &Work, n_trials: u64, how: Setting<'_>) -> Result<Option<Moved>> {
        let (pair, mut trials) = (&work.pairs[p], Trials::default());
        let Some(held) = work.held.get(&p) else { return Ok(Some(Moved { boost: self.boost(p, work), trials })) };
        let (mut boost, mut at) = (self.boost(p, work), At::of(self, p));
        for _ in 0..n_trials {
            if at.is_closed(pair, how.params) {
                break;
            }
            if !boost.trial(pair, held, how, &mut trials)? {
                return Ok(None);
            }
            at.count(trials.held_right[trials.len() - 1], pair);
        }
        Ok(Some(Moved { boost, trials }))
    }

    /// State of one pair.
    fn boost(&self, p: usize, work: &Work) -> Boost {
        let rows = work.starts[p]..work.starts[p] + work.pairs[p].rows.len();
        let n_kernels = self.sampling.len() / work.pairs.len().max(1);
        Boost {
            weights: self.weights[rows.clone()].to_vec(),
            votes: self.votes[rows].to_vec(),
            sampling: self.sampling[p * n_kernels..(p + 1) * n_kernels].to_vec(),
            row_position: self.row_position[p],
            kernel_position: self.kernel_position[p],
            n_fits: self.n_fits[p],
            n_open: self.n_open[p],
        }
    }

    fn take_over(&mut self, p: usize, moved: &Moved, work: &Work) {
        let (pair, boost) = (&work.pairs[p], &moved.boost);
        let rows = work.starts[p]..work.starts[p] + pair.rows.len();
        let n_kernels = boost.sampling.len();
        self.weights[rows.clone()].copy_from_slice(&boost.weights);
        self.votes[rows].copy_from_slice(&boost.votes);
        self.sampling[p * n_kernels..(p + 1) * n_kernels].copy_from_slice(&boost.sampling);
        (self.row_position[p], self.kernel_position[p]) = (boost.row_position, boost.kernel_position);
        (self.n_fits[p], self.n_open[p]) = (boost.n_fits, boost.n_open);
        let mut at = At::of(self, p);
        for trial in 0..moved.trials.len() {
            at.count(moved.trials.held_right[trial], pair);
            self.trials.copy(&moved.trials, trial);
        }
        (self.n_done[p], self.best[p], self.best_right[p]) = (at.n_done, at.best, at.best_right);
    }

    fn is_closed(&self, p: usize, pair: &Pair, params: &BoostParams) -> bool {
        At::of(self, p).is_closed(pair, params)
    }

    fn progress(&self, work: &Work, params: &BoostParams) -> Progress {
        let n_trials = params.trials;
        let trainable = || work.pairs.iter().filter(|pair| pair.is_trainable());
        let done = trainable()
            .map(|pair| if self.is_closed(pair.at, pair, params) { n_trials } else { self.n_done[pair.at] })
            .sum();
        let progress = Progress::of(done, n_trials * trainable().count());
        match self.trials.error.last() {
            Some(&error) => progress.with("error", error),
            None => progress,
        }
    }

    pub(super) fn model(self, task: &Task<'_>, params: &BoostParams) -> Result<MkBoostModel> {
        let (pairs, stack) = (pairs_of(task, params)?, task.stack()?);
        // Without held-out rows all trials are kept.
        let kept: Vec<usize> = pairs
            .iter()
            .map(|pair| if pair.n_held() > 0 { self.best[pair.at] } else { self.n_done[pair.at] })
            .collect();
        let groups = alike(stack, &mut task.rng(ALIKE_STREAM, 0), task.pool)?;
        let warning = self.warning(&pairs, params);
        let counts = pairs.iter().map(|pair| (pair.rows.len() - pair.n_held(), pair.n_held())).unzip();
        let n_fits = self.n_fits.iter().sum();
        Ok(MkBoostModel::new(self.trials.grouped(&kept), task.labels.n_classes(), groups, counts, n_fits, warning))
    }

    fn warning(&self, pairs: &[Pair], params: &BoostParams) -> Vec<String> {
        let trainable = pairs.iter().filter(|pair| pair.is_trainable());
        let n_trainable = trainable.clone().count();
        let untouched = trainable.filter(|pair| self.n_done[pair.at] == 0).count();
        let (n_open, n_fits) = (self.n_open.iter().sum::<usize>(), self.n_fits.iter().sum::<usize>());
        let open = (n_open > 0).then(|| {
            format!("{n_open} of {n_fits} SVMs did not converge to {}; use a smaller c or a larger tol", params.tol)
        });
        let untouched = (untouched > 0)
            .then(|| format!("{untouched} of {n_trainable} pairs of classes were not reached and take no part"));
        open.into_iter().chain(untouched).collect()
    }
}

/// How many trials a pair has had, and after how many it did best on the held-out rows.
#[derive(Clone, Copy, Debug)]
struct At {
    n_done: usize,
    best: usize,
    best_right: usize,
}

impl At {
    fn of(state: &Boosting, p: usize) -> At {
        At { n_done: state.n_done[p], best: state.best[p], best_right: state.best_right[p] }
    }

    fn count(&mut self, held_right: usize, pair: &Pair) {
        self.n_done += 1;
        if pair.n_held() > 0 && (self.best == 0 || held_right > self.best_right) {
            (self.best, self.best_right) = (self.n_done, held_right);
        }
    }

    fn is_closed(&self, pair: &Pair, params: &BoostParams) -> bool {
        let impatient = pair.n_held() > 0 && self.n_done - self.best >= params.patience;
        self.n_done >= params.trials || impatient || !pair.is_trainable()
    }
}
