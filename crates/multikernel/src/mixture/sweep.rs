//! The collapsed sweep: the cluster of each row given those of all others.

use super::build::build;
use super::cluster::{Cluster, Scratch, fill};
use super::loops::SIDE;
use super::{Mixture, Prior, Witness, stopped};
use crate::dist::Rng;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::simd::exps;

impl Mixture {
    /// One sweep in random order; returns for each resulting cluster its previous position, or `None` if it is new.
    ///
    /// A row leaves its cluster and is assigned to cluster k with weight `n_k t(x | k)` times the witness's likelihood,
    /// or to a new one with `alpha t(x | prior)`. A cluster without rows is removed, even if its only row starts a new
    /// one. If stopped, or on an error, it leaves the mixture unchanged.
    ///
    /// Cost: N K d^2 / 2 products (diagonal: N K d) on the calling thread. Densities of several rows are computed side
    /// by side, and again if a cluster has changed since.
    pub(crate) fn sweep(
        &mut self,
        rows: &Matrix,
        witness: &dyn Witness,
        rng: &mut Rng,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Option<usize>>> {
        self.fits(rows)?;
        let mut order: Vec<usize> = (0..rows.n_rows()).collect();
        rng.shuffle(&mut order);
        let mut table = Seating::new(self, rows, witness);
        for few in order.chunks(SIDE) {
            if stop() {
                return Err(stopped());
            }
            table.deal(few, rng)?;
        }
        let origins;
        (self.parts, self.clusters, origins) = table.finish()?;
        Ok(origins)
    }
}

/// A cluster at a position that stays fixed during a sweep.
struct Slot {
    /// Without rows it is removed, and its position stays empty.
    part: Cluster,
    /// ln n t of the rows of the block, at its start.
    values: [f64; SIDE],
    /// Whether it has changed since.
    changed: bool,
    /// Whether a row has been removed from it.
    worn: bool,
}

impl Slot {
    fn new(part: Cluster) -> Slot {
        Slot { part, values: [0.0; SIDE], changed: true, worn: false }
    }
}

/// Clusters, the cluster of each row, and the previous position of each cluster.
type Dealt = (Vec<Cluster>, Vec<usize>, Vec<Option<usize>>);

struct Seating<'a> {
    prior: &'a Prior,
    rows: &'a Matrix,
    witness: &'a dyn Witness,
    /// Positions before this one have a known witness.
    n_known: usize,
    slots: Vec<Slot>,
    empty: Cluster,
    clusters: Vec<usize>,
    block: Vec<f64>,
    scratch: Scratch,
    weights: Vec<f64>,
}

impl<'a> Seating<'a> {
    fn new(mixture: &'a Mixture, rows: &'a Matrix, witness: &'a dyn Witness) -> Seating<'a> {
        let d = rows.n_cols();
        Seating {
            prior: &mixture.prior,
            rows,
            witness,
            n_known: mixture.parts.len(),
            slots: mixture.parts.iter().cloned().map(Slot::new).collect(),
            empty: Cluster::empty(&mixture.prior),
            clusters: mixture.clusters.clone(),
            block: vec![0.0; d * SIDE],
            scratch: Scratch::new(d),
            weights: vec![],
        }
    }

    /// Reassigns some rows, one after the other.
    fn deal(&mut self, few: &[usize], rng: &mut Rng) -> Result<()> {
        let (shape, rows) = (self.prior.shape, self.rows);
        fill(&mut self.block, few.iter().map(|&i| rows.row(i)));
        for slot in self.slots.iter_mut().filter(|slot| slot.part.n > 0) {
            slot.values = slot.part.ln_joints(shape, &self.block, &mut self.scratch);
            slot.changed = false;
        }
        let births = self.empty.ln_joints(shape, &self.block, &mut self.scratch);
        for (s, &i) in few.iter().enumerate() {
            self.weigh(i, s, births[s]);
            let chosen = draw(&mut self.weights, rng).ok_or_else(|| misled(i))?;
            if chosen != self.clusters[i] {
                self.carry(i, chosen);
            }
        }
        Ok(())
    }

    /// Log weights of all positions for a row, followed by that of a new cluster.
    fn weigh(&mut self, row: usize, side: usize, birth: f64) {
        let (shape, x, own) = (self.prior.shape, self.rows.row(row), self.clusters[row]);
        self.weights.clear();
        for k in 0..self.slots.len() {
            let slot = &self.slots[k];
            let value = match slot.part.n {
                0 => f64::NEG_INFINITY,
                1 if k == own => f64::NEG_INFINITY,
                _ if k == own => match slot.part.ln_joint_without(shape, x, &mut self.scratch) {
                    Some(value) => value,
                    None => self.rebuilt_without(row).ln_joint(shape, x, &mut self.scratch),
                },
                _ if slot.changed => slot.part.ln_joint(shape, x, &mut self.scratch),
                _ => slot.values[side],
            };
            let known = match value {
                f64::NEG_INFINITY => 0.0,
                _ if k < self.n_known => self.witness.known(row, k),
                _ => self.witness.fresh(row),
            };
            self.weights.push(value + known);
        }
        self.weights.push(birth + self.witness.fresh(row));
    }

    /// The cluster of a row, rebuilt from its other rows.
    fn rebuilt_without(&self, row: usize) -> Cluster {
        let own = self.clusters[row];
        let others = |&i: &usize| i != row && self.clusters[i] == own;
        let members: Vec<usize> = (0..self.clusters.len()).filter(others).collect();
        one(self.prior, self.rows, &members)
    }

    /// Moves a row to another position; the one after the last is a new cluster.
    fn carry(&mut self, row: usize, to: usize) {
        let (own, x) = (self.clusters[row], self.rows.row(row));
        if self.slots[own].part.n == 1 {
            self.slots[own].part = self.empty.clone();
        } else if !self.slots[own].part.remove(self.prior, x, &mut self.scratch) {
            self.slots[own].part = self.rebuilt_without(row);
        }
        (self.slots[own].changed, self.slots[own].worn) = (true, true);
        let to = if to < self.slots.len() { to } else { self.vacancy() };
        self.slots[to].part.add(self.prior, x, &mut self.scratch);
        self.slots[to].changed = true;
        self.clusters[row] = to;
    }

    /// A position for a new cluster: one that was created and emptied in this sweep, or one more.
    fn vacancy(&mut self) -> usize {
        let born = self.n_known..self.slots.len();
        born.clone().find(|&k| self.slots[k].part.n == 0).unwrap_or_else(|| {
            self.slots.push(Slot::new(self.empty.clone()));
            born.end
        })
    }

    /// The clusters without gaps, the cluster of each row, and the previous positions.
    fn finish(self) -> Result<Dealt> {
        let kept: Vec<usize> = (0..self.slots.len()).filter(|&k| self.slots[k].part.n > 0).collect();
        let mut place = vec![0; self.slots.len()];
        kept.iter().enumerate().for_each(|(new, &k)| place[k] = new);
        let origins = kept.iter().map(|&k| (k < self.n_known).then_some(k)).collect();
        let worn: Vec<usize> = (0..kept.len()).filter(|&new| self.slots[kept[new]].worn).collect();
        let clusters: Vec<usize> = self.clusters.iter().map(|&k| place[k]).collect();
        let mut parts: Vec<Cluster> = kept.iter().map(|&k| self.slots[k].part.clone()).collect();
        // Removing rows costs digits, so clusters that lost rows are rebuilt.
        let mut lists: Vec<Vec<usize>> = vec![vec![]; parts.len()];
        let mut is_worn = vec![false; parts.len()];
        worn.iter().for_each(|&k| is_worn[k] = true);
        clusters.iter().enumerate().filter(|&(_, &k)| is_worn[k]).for_each(|(i, &k)| lists[k].push(i));
        let members: Vec<&[usize]> = worn.iter().map(|&k| lists[k].as_slice()).collect();
        let fresh = build(self.prior, self.rows, &members, Pool::alone()?);
        worn.iter().zip(fresh).for_each(|(&k, part)| parts[k] = part);
        Ok((parts, clusters, origins))
    }
}

/// A single cluster of these rows.
pub(super) fn one(prior: &Prior, rows: &Matrix, members: &[usize]) -> Cluster {
    let pool = Pool::alone();
    let built = pool.map(|pool| build(prior, rows, &[members], pool).pop());
    // One list gives one cluster.
    built.ok().flatten().unwrap_or_else(|| Cluster::empty(prior))
}

/// A position drawn from log weights, which are overwritten; `None` if they are invalid: the largest is not finite, or
/// one is NaN.
pub(super) fn draw(weights: &mut [f64], rng: &mut Rng) -> Option<usize> {
    let most = weights.iter().fold(f64::NEG_INFINITY, |most, &w| most.max(w));
    if !most.is_finite() || weights.iter().any(|w| w.is_nan()) {
        return None;
    }
    weights.iter_mut().for_each(|w| *w -= most);
    exps(weights);
    let mut left = rng.uniform() * weights.iter().sum::<f64>();
    for (k, w) in weights.iter().enumerate() {
        if left < *w {
            return Some(k);
        }
        left -= w;
    }
    // Rounding left a remainder.
    weights.iter().rposition(|&w| w > 0.0)
}

pub(super) fn misled(row: usize) -> Error {
    Error::input(format!(
        "row {} fits no cluster: its likelihoods are zero, infinite or no numbers; scale the columns",
        row + 1
    ))
}
