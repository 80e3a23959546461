//! Steps that single rows cannot take: splitting a cluster in two, merging two into one.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::cluster::{Cluster, Scratch};
use super::sweep::one;
use super::{Mixture, Prior, Witness, stopped};
use crate::dist::{Rng, ln_gamma_function};
use crate::error::Result;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::simd::{exp, ln};

/// Scans of the rows between two clusters before a split is proposed.
const SCANS: usize = 3;
/// Rows between two polls of `stop`.
const ROWS: usize = 256;

/// Numbers of proposed and accepted steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    /// All proposals.
    pub(crate) proposed: usize,
    /// Accepted splits.
    pub(crate) splits: usize,
    /// Accepted merges.
    pub(crate) merges: usize,
}

impl Mixture {
    /// Split and merge steps (Jain and Neal 2004): two rows are drawn; if they share a cluster its split is proposed,
    /// else the merge of theirs. A split starts with rows assigned one after the other to the two clusters and some
    /// scans between them, and both steps are accepted so that the distribution is invariant.
    ///
    /// Returns for each resulting cluster the position it takes over: both halves of a split that of the whole, a
    /// merged one that of the larger. The witness's likelihood cancels in a split; in a merge it counts for the rows
    /// that change, at the position their new cluster takes over, so with a witness the distribution is invariant only
    /// in that sense. If stopped, it leaves the mixture unchanged.
    ///
    /// Proposals draw from streams of their own, so they are computed ahead of one another: as many as the pool has threads
    /// after an accepted one, else all. Those after an accepted one are broken off and computed again. The bits are those of
    /// one after the other.
    ///
    /// Cost: that of some 12 densities per row of the clusters touched.
    pub(crate) fn split_merge(
        &mut self,
        rows: &Matrix,
        witness: &dyn Witness,
        n_moves: usize,
        rng: &mut Rng,
        pool: &Pool,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(Vec<usize>, Moves)> {
        self.fits(rows)?;
        let lists = self.members().into_iter();
        let groups = self.parts.iter().cloned().zip(lists).enumerate();
        let groups = groups.map(|(origin, (part, rows))| Some(Group { part, rows, origin })).collect();
        let mut work = SplitMerge { prior: &self.prior, rows, witness, groups, clusters: self.clusters.clone() };
        let (seed, n_moves) = (rng.bits(), if rows.n_rows() > 1 { n_moves } else { 0 });
        let (mut moves, mut next) = (Moves { proposed: n_moves, ..Moves::default() }, 0);
        let mut ahead = pool.n_threads();
        while next < n_moves {
            let found = work.propose_some(next..n_moves.min(next + ahead), seed, pool, stop);
            ahead = n_moves;
            for found in found {
                next += 1;
                if let Some(change) = found? {
                    work.make(change, &mut moves);
                    ahead = pool.n_threads();
                    break;
                }
            }
        }
        let kept: Vec<Group> = work.groups.into_iter().flatten().collect();
        let origins = kept.iter().map(|group| group.origin).collect();
        for (k, group) in kept.iter().enumerate() {
            group.rows.iter().for_each(|&i| self.clusters[i] = k);
        }
        self.parts = kept.into_iter().map(|group| group.part).collect();
        Ok((origins, moves))
    }
}

/// A cluster and its rows, ascending.
struct Group {
    part: Cluster,
    rows: Vec<usize>,
    /// The cluster whose witness it uses.
    origin: usize,
}

/// An accepted proposal.
enum Change {
    /// The cluster at this position becomes two.
    Split(usize, [Group; 2]),
    /// The clusters at these positions become one.
    Merge([usize; 2], Group),
}

/// The clustering while splits and merges are proposed.
struct SplitMerge<'a> {
    prior: &'a Prior,
    rows: &'a Matrix,
    witness: &'a dyn Witness,
    /// Positions of clusters that were merged into others stay empty.
    groups: Vec<Option<Group>>,
    clusters: Vec<usize>,
}

impl SplitMerge<'_> {
    /// Some proposals, in order; those after the first accepted one are meaningless.
    fn propose_some(
        &self,
        numbers: Range<usize>,
        seed: u64,
        pool: &Pool,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Vec<Result<Option<Change>>> {
        let found: Vec<Mutex<Result<Option<Change>>>> = numbers.clone().map(|_| Mutex::new(Ok(None))).collect();
        let accepted = AtomicUsize::new(usize::MAX);
        pool.in_order(numbers.zip(&found).collect(), found.len(), |(k, found)| {
            let is_late = || accepted.load(Ordering::Relaxed) < k;
            if is_late() {
                return;
            }
            let proposal = self.propose(&mut Rng::new(seed, k as u64), &|| is_late() || stop());
            if let Ok(Some(_)) = proposal {
                accepted.fetch_min(k, Ordering::Relaxed);
            }
            *found.lock().unwrap_or_else(PoisonError::into_inner) = proposal;
        });
        found.into_iter().map(|found| found.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// One proposal, and what it changes if it is accepted.
    fn propose(&self, rng: &mut Rng, stop: &(dyn Fn() -> bool + Sync)) -> Result<Option<Change>> {
        let n = self.rows.n_rows();
        let first = rng.below(n);
        let second = (first + 1 + rng.below(n - 1)) % n;
        let ends = [first, second];
        match ends.map(|i| (self.clusters[i], self.groups[self.clusters[i]].as_ref())) {
            [(place, Some(whole)), (other, _)] if place == other => self.split(place, whole, ends, rng, stop),
            [(one, Some(first)), (other, Some(second))] => self.merge([one, other], [first, second], ends, rng, stop),
            _ => Ok(None),
        }
    }

    fn make(&mut self, change: Change, moves: &mut Moves) {
        match change {
            Change::Split(place, [one, other]) => {
                let new = self.groups.len();
                other.rows.iter().for_each(|&i| self.clusters[i] = new);
                self.groups[place] = Some(one);
                self.groups.push(Some(other));
                moves.splits += 1;
            }
            Change::Merge([place, other], whole) => {
                whole.rows.iter().for_each(|&i| self.clusters[i] = place);
                (self.groups[place], self.groups[other]) = (Some(whole), None);
                moves.merges += 1;
            }
        }
    }

    fn split(
        &self,
        place: usize,
        whole: &Group,
        ends: [usize; 2],
        rng: &mut Rng,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Change>> {
        let others = whole.rows.iter().copied().filter(|i| !ends.contains(i)).collect();
        let mut pair = Pair::launch(self, ends, others, rng, stop)?;
        let ln_proposal = pair.scan(None, rng)?;
        let halves = pair.groups(whole.origin);
        let ratio = self.ln_joint(&halves) - self.ln_joint([whole]) - ln_proposal;
        Ok((ln(1.0 - rng.uniform()) < ratio).then_some(Change::Split(place, halves)))
    }

    fn merge(
        &self,
        places: [usize; 2],
        [one, other]: [&Group; 2],
        ends: [usize; 2],
        rng: &mut Rng,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Change>> {
        let mut all: Vec<usize> = one.rows.iter().chain(&other.rows).copied().collect();
        all.sort_unstable();
        let others = all.iter().copied().filter(|i| !ends.contains(i)).collect();
        let mut pair = Pair::launch(self, ends, others, rng, stop)?;
        let sides: Vec<usize> = pair.others.iter().map(|&i| usize::from(self.clusters[i] == places[1])).collect();
        let ln_reverse = pair.scan(Some(&sides), rng)?;
        let (large, small) = if one.rows.len() >= other.rows.len() { (one, other) } else { (other, one) };
        let known = |i: &usize| self.witness.known(*i, large.origin) - self.witness.known(*i, small.origin);
        let gained: f64 = if large.origin == small.origin { 0.0 } else { small.rows.iter().map(known).sum() };
        let whole = self.group(all, large.origin);
        let ratio = self.ln_joint([&whole]) - self.ln_joint([one, other]) + ln_reverse + gained;
        // A NaN ratio is rejected.
        Ok((ln(1.0 - rng.uniform()) < ratio).then_some(Change::Merge(places, whole)))
    }

    fn group(&self, rows: Vec<usize>, origin: usize) -> Group {
        Group { part: one(self.prior, self.rows, &rows), rows, origin }
    }

    /// Log joint density of the partition and the rows, restricted to these clusters.
    fn ln_joint<'g>(&self, groups: impl IntoIterator<Item = &'g Group>) -> f64 {
        let of = |group: &Group| {
            ln(self.prior.alpha) + ln_gamma_function(group.part.n as f64) + group.part.ln_marginal(self.prior)
        };
        groups.into_iter().map(of).sum()
    }
}

/// Two clusters, each of which keeps its own of the two rows drawn, and the rows assigned between them.
struct Pair<'a> {
    prior: &'a Prior,
    rows: &'a Matrix,
    stop: &'a (dyn Fn() -> bool + Sync),
    ends: [usize; 2],
    parts: [Cluster; 2],
    others: Vec<usize>,
    /// The side of each of the others.
    sides: Vec<usize>,
    scratch: Scratch,
}

impl<'a> Pair<'a> {
    /// The launch state of a proposal: it must not depend on the present assignment of the rows, or a reverse step
    /// would not be as likely.
    fn launch(
        work: &SplitMerge<'a>,
        ends: [usize; 2],
        mut others: Vec<usize>,
        rng: &mut Rng,
        stop: &'a (dyn Fn() -> bool + Sync),
    ) -> Result<Pair<'a>> {
        rng.shuffle(&mut others);
        let mut scratch = Scratch::new(work.rows.n_cols());
        let parts = ends.map(|i| {
            let mut part = Cluster::empty(work.prior);
            part.add(work.prior, work.rows.row(i), &mut scratch);
            part
        });
        let (prior, rows) = (work.prior, work.rows);
        let mut pair = Pair { prior, rows, stop, ends, parts, others, sides: vec![], scratch };
        for k in 0..pair.others.len() {
            pair.ask(k)?;
            let x = rows.row(pair.others[k]);
            let values = pair.parts.each_ref().map(|part| part.ln_joint(prior.shape, x, &mut pair.scratch));
            let side = usize::from(rng.uniform() >= share(values));
            pair.parts[side].add(prior, x, &mut pair.scratch);
            pair.sides.push(side);
        }
        for _ in 0..SCANS {
            pair.scan(None, rng)?;
        }
        Ok(pair)
    }

    fn ask(&self, k: usize) -> Result<()> {
        if k.is_multiple_of(ROWS) && (self.stop)() { Err(stopped()) } else { Ok(()) }
    }

    /// Reassigns each row given all others, or to the given sides; returns the log probability of the assignment.
    fn scan(&mut self, given: Option<&[usize]>, rng: &mut Rng) -> Result<f64> {
        let mut sum = 0.0;
        for k in 0..self.others.len() {
            self.ask(k)?;
            let (own, x) = (self.sides[k], self.rows.row(self.others[k]));
            let mut values = [0.0; 2];
            values[1 - own] = self.parts[1 - own].ln_joint(self.prior.shape, x, &mut self.scratch);
            values[own] = match self.parts[own].ln_joint_without(self.prior.shape, x, &mut self.scratch) {
                Some(value) => value,
                None => self.rebuilt_without(k).ln_joint(self.prior.shape, x, &mut self.scratch),
            };
            let first = share(values);
            let side = match given {
                Some(sides) => sides[k],
                None => usize::from(rng.uniform() >= first),
            };
            sum += ln(if side == 0 { first } else { share([values[1], values[0]]) });
            if side != own {
                self.carry(k, side);
            }
        }
        Ok(sum)
    }

    fn carry(&mut self, k: usize, side: usize) {
        let x = self.rows.row(self.others[k]);
        if !self.parts[1 - side].remove(self.prior, x, &mut self.scratch) {
            self.parts[1 - side] = self.rebuilt_without(k);
        }
        self.parts[side].add(self.prior, x, &mut self.scratch);
        self.sides[k] = side;
    }

    /// The rows of one side, optionally without one of the others.
    fn members(&self, side: usize, without: Option<usize>) -> Vec<usize> {
        let here = self.sides.iter().enumerate().filter(|&(k, &own)| own == side && Some(k) != without);
        let mut rows: Vec<usize> = here.map(|(k, _)| self.others[k]).chain([self.ends[side]]).collect();
        rows.sort_unstable();
        rows
    }

    fn rebuilt_without(&self, k: usize) -> Cluster {
        one(self.prior, self.rows, &self.members(self.sides[k], Some(k)))
    }

    fn groups(&self, origin: usize) -> [Group; 2] {
        [0, 1].map(|side| {
            let rows = self.members(side, None);
            Group { part: one(self.prior, self.rows, &rows), rows, origin }
        })
    }
}

/// The share of the first of two weights given by their logarithms.
fn share(values: [f64; 2]) -> f64 {
    1.0 / (1.0 + exp(values[1] - values[0]))
}
