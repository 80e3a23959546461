//! `cik` and `dpm` on rows in partitions.
//!
//! Rows that are drawn are searched as on one machine. Then each pass over all rows draws weights, means and covariances
//! of the clusters here, and has rows dealt to them where they are ([`Offer`]); what comes back is sums. Machines go
//! along: each block of rows trains copies of them on the rows it dealt to their clusters, by the mini-batches of one
//! machine, and the mean of all copies, weighted by rows, is the machine of the next pass. One pass thus takes as many
//! steps as a block has mini-batches, where one gradient summed over all rows would be a single step.

use super::dpm::{Dpm, DpmModel, Ordinary, Sampled};
use super::machine::{Answers, Lesson, Machine, Work};
use super::model::{CikModel, Told, responsibilities};
use super::opinions::{Opinions, Scene};
use super::settings::ClusterSampler;
use super::space::Space;
use super::{BATCH, Cik, Likelihood, Machines, Search, answers, check_memory, fresh, misfit};
use crate::dist::Rng;
use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::linalg::Matrix;
use crate::mixture::{DealtSums, Mixture, N_FRESH, Nothing, Offer, Witness};
use crate::run::{AllRows, ByPartitions, Control, Keeper, Observer, Predict, Progress, Run, State, Status, Stop, Task};

/// Rows drawn for the search: as many as are given clusters row by row.
const DRAWN: usize = 20_000;

/// The pass of a request, and what blocks need for it.
struct Pass {
    number: u64,
    space: Space,
    offer: Offer,
    /// Those of known clusters; none for `dpm`.
    machines: Machines,
}

impl Codec for Pass {
    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("number", &self.number);
        record.put_record("space", self.space.encode());
        record.put_record("offer", self.offer.encode());
        record.put_record("machines", self.machines.encode());
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        Ok(Pass {
            number: record.take("number")?,
            space: Space::decode(&record.take_record("space"))?,
            offer: Offer::decode(&record.take_record("offer"))?,
            machines: Machines::decode(&record.take_record("machines"))?,
        })
    }
}

/// The rows of a block with the clusters they were dealt to.
struct Dealt {
    clusters: Vec<usize>,
    sums: Record,
}

impl Pass {
    /// Deals the rows of a block, whose seed is its own.
    fn deal(&self, block: &Task<'_>, likelihood: Option<&Likelihood>) -> Result<Dealt> {
        let (rows, stop) = (block.rows()?, || false);
        let table = self.space.apply(rows)?;
        let joints = self.offer.ln_joints(&table)?;
        let scene = Scene {
            rows,
            table: &table,
            answers: answers(block),
            n_outputs: block.n_outputs(),
            pool: block.pool,
            stop: &stop,
        };
        let densities = |rows: &[usize]| Ok(joints.select_rows(rows));
        let opinions = likelihood.map(|how| Opinions::given(&scene, &densities, &self.machines.0, how)).transpose()?;
        let witness: &dyn Witness = opinions.as_ref().map_or(&Nothing, |opinions| opinions);
        let clusters = self.offer.deal(&joints, witness, &mut block.rng(2 * self.number, 0))?;
        let mut sums = Record::default();
        sums.put_record("dealt", self.offer.sums(&table, &clusters).encode());
        let mut counts = Matrix::zeros(self.offer.len(), block.n_outputs());
        for (i, &cluster) in clusters.iter().enumerate() {
            match answers(block) {
                Answers::Codes(codes) => counts.set(cluster, codes[i], counts.get(cluster, codes[i]) + 1.0),
                Answers::Numbers(_) => counts.row_mut(cluster).iter_mut().for_each(|count| *count += 1.0),
            }
        }
        sums.put("counts", &counts);
        Ok(Dealt { clusters, sums })
    }
}

/// What a pass over all rows found.
struct Found {
    /// Of each cluster that has rows, its position in the offer.
    kept: Vec<usize>,
    /// Rows by cluster and class.
    counts: Matrix,
    sums: Record,
}

/// The passes over all rows, and the state that they change.
struct Passes<S> {
    state: S,
    rng: Rng,
    /// Rows by cluster and class after the last pass.
    counts: Matrix,
    /// After each pass.
    n_clusters: Vec<usize>,
    ln_joint: Vec<f64>,
}

impl<S: Codec> Passes<S> {
    /// Those of a state that was found in the rows drawn.
    fn new(state: S, rng: Rng) -> Passes<S> {
        Passes { state, rng, counts: Matrix::zeros(0, 0), n_clusters: vec![], ln_joint: vec![] }
    }

    /// Those that were stored; `check` tells whether their state, which knows no row's cluster, fits.
    fn resumed(record: &Record, drawn: &Task<'_>, check: impl FnOnce(&S, usize) -> Result<()>) -> Result<Passes<S>> {
        let passes = Passes {
            state: record.take("state")?,
            rng: drawn.rng(1, record.take("position")?),
            counts: record.take("counts")?,
            n_clusters: record.take("n_clusters")?,
            ln_joint: record.take("ln_joint")?,
        };
        let n_clusters = passes.n_clusters.last().copied().unwrap_or(0);
        if passes.n_clusters.len() != passes.ln_joint.len()
            || (passes.counts.n_rows(), passes.counts.n_cols()) != (n_clusters, drawn.n_outputs())
        {
            return Err(misfit());
        }
        check(&passes.state, n_clusters)?;
        Ok(passes)
    }

    fn kept(&self) -> Record {
        let mut record = Record::default();
        record.put("state", &self.state);
        record.put("position", &self.rng.position());
        record.put("counts", &self.counts);
        record.put("n_clusters", &self.n_clusters);
        record.put("ln_joint", &self.ln_joint);
        record
    }

    /// Passes until they are enough, or a stop is asked for; the first is always made.
    fn make(
        &mut self,
        total: usize,
        keeper: &mut Keeper,
        control: &Control,
        observer: &mut dyn Observer,
        mut pass: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<Stop> {
        for done in self.n_clusters.len()..total {
            let before = Progress::of(done, total);
            if let Some(why) = control.stop().filter(|_| done > 0) {
                keeper.keep(&before, self.kept(), observer);
                return Ok(why);
            }
            // A pass that fails may have changed some of it.
            let state = keeper.is_on().then(|| self.kept());
            if let Err(error) = pass(self) {
                state.into_iter().for_each(|state| keeper.keep(&before, state, observer));
                return Err(error);
            }
            let n_clusters = self.n_clusters.last().copied().unwrap_or(0);
            let progress = Progress::of(done + 1, total).with("clusters", n_clusters as f64);
            observer.progress(&progress);
            keeper.after_step(&progress, || self.kept(), observer);
        }
        Ok(Stop::Finished)
    }

    /// Notes what a pass found.
    fn took(&mut self, mixture: (usize, f64), counts: Matrix) {
        self.n_clusters.push(mixture.0);
        self.ln_joint.push(mixture.1);
        self.counts = counts;
    }
}

/// What a pass offers rows.
struct Offered<'a> {
    number: usize,
    space: &'a Space,
    machines: Machines,
}

impl Offered<'_> {
    /// One pass: `mixture` is made of what comes back.
    fn ask(self, mixture: &mut Mixture, rows: &AllRows<'_>, rng: &mut Rng) -> Result<Found> {
        let offer = mixture.offer(N_FRESH, rng);
        let pass = Pass { number: self.number as u64, space: self.space.clone(), offer, machines: self.machines };
        let sums = (rows.ask)(&pass.encode())?;
        let dealt = DealtSums::decode(&sums.take_record("dealt"))?;
        let kept = mixture.take_dealt(&pass.offer, &dealt)?;
        let counts: Matrix = sums.take("counts")?;
        if counts.n_rows() != pass.offer.len() {
            return Err(Error::input("the counts of partitions do not fit; all workers need the same version"));
        }
        Ok(Found { counts: counts.select_rows(&kept), kept, sums })
    }
}

/// Clusters of k-means stay with their rows, and row by row needs all rows at hand.
fn check_sampler(sampler: ClusterSampler) -> Result<()> {
    match sampler {
        ClusterSampler::Auto | ClusterSampler::Blocked => Ok(()),
        _ => Err(Error::param(
            "sampler",
            "rows in partitions are given clusters all at once: leave it out, or use blocked",
        )),
    }
}

/// Runs the method on the rows that were drawn; `Err` if stopped.
fn on_drawn<M: crate::run::Method<State = S>, S: State<M>>(
    method: &M,
    drawn: &Task<'_>,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<S> {
    let mut state = S::init(method, drawn)?;
    loop {
        if let Some(why) = control.stop() {
            return Err(Error::Stopped(format!(
                "{why} while clusters were looked for in rows drawn; no model was made"
            )));
        }
        let progress = state.step(method, drawn, control)?;
        observer.progress(&progress);
        if progress.status != Status::Running {
            return Ok(state);
        }
    }
}

/// The result of a run over all rows.
fn run<P: Predict + Codec + 'static>(model: P, stop: Stop, done: usize, total: usize) -> Run {
    let record = model.encode();
    Run { model: Box::new(model), record, stop, steps: done as u64, progress: Progress::of(done, total) }
}

impl ByPartitions for Dpm {
    fn n_drawn(&self) -> usize {
        DRAWN
    }

    fn sums(&self, request: &Record, block: &Task<'_>) -> Result<Record> {
        Ok(Pass::decode(request)?.deal(block, None)?.sums)
    }

    fn learn(
        &self,
        drawn: &Task<'_>,
        rows: &AllRows<'_>,
        keeper: &mut Keeper,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Run> {
        check_sampler(self.sampler)?;
        let mut passes = match keeper.take_stored() {
            Some(stored) => Passes::resumed(&stored, drawn, |state: &Sampled, n_clusters| {
                state.check_for(drawn, 0)?;
                if state.mixture.n_clusters() == n_clusters { Ok(()) } else { Err(misfit()) }
            })?,
            None => {
                let state = on_drawn(self, drawn, control, observer)?;
                let rng = drawn.rng(1, state.position);
                Passes::new(state, rng)
            }
        };
        let total = self.sweeps.max(1);
        let why = passes.make(total, keeper, control, observer, |passes| {
            let (number, Sampled { space, mixture, .. }) = (passes.n_clusters.len(), &mut passes.state);
            let offered = Offered { number, space, machines: Machines::default() };
            let counts = offered.ask(mixture, rows, &mut passes.rng)?.counts;
            let told = (mixture.n_clusters(), mixture.ln_joint());
            passes.took(told, counts);
            Ok(())
        })?;
        let (done, is_whole) = (passes.n_clusters.len(), why == Stop::Finished);
        let (Sampled { space, mixture, moves, .. }, counts) = (passes.state, passes.counts);
        // One row among so many hardly moves its cluster: rows drawn are judged as new ones.
        let mut joint = mixture.ln_joint_densities(&space.apply(drawn.rows()?)?, drawn.pool)?;
        let (n, alpha) = (mixture.n_rows(), mixture.prior().alpha);
        let densities = (0..joint.n_rows()).map(|i| responsibilities(joint.row_mut(i), n, alpha)).collect();
        let told = Told::new(passes.n_clusters, passes.ln_joint, moves, is_whole);
        let model = DpmModel::new(space, mixture, counts, told, Ordinary::new(densities));
        Ok(run(model, why, done, total))
    }
}

impl ByPartitions for Cik {
    fn n_drawn(&self) -> usize {
        DRAWN
    }

    fn sums(&self, request: &Record, block: &Task<'_>) -> Result<Record> {
        let pass = Pass::decode(request)?;
        let (d, n_outputs) = (block.rows()?.n_cols(), block.n_outputs());
        let fits = |machine: &Machine| machine.is_in_training() && machine.check(d, n_outputs).is_ok();
        if pass.machines.0.len() != pass.offer.n_known() || !pass.machines.0.iter().all(fits) {
            return Err(Error::input("a request does not fit the partition; all workers need the same version"));
        }
        let likelihood = Likelihood::new(self);
        let mut dealt = pass.deal(block, (likelihood.beta > 0.0).then_some(&likelihood))?;
        let lessons = self.lessons(&pass, &dealt.clusters, block)?;
        lessons.iter().enumerate().for_each(|(k, sum)| dealt.sums.put(&format!("machine.{k}"), sum));
        Ok(dealt.sums)
    }

    fn learn(
        &self,
        drawn: &Task<'_>,
        rows: &AllRows<'_>,
        keeper: &mut Keeper,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Run> {
        check_sampler(self.sampler)?;
        let mut passes = match keeper.take_stored() {
            Some(stored) => Passes::resumed(&stored, drawn, |search: &Search, n_clusters| {
                search.check_for(self, drawn, 0)?;
                if search.mixture.n_clusters() == n_clusters { Ok(()) } else { Err(misfit()) }
            })?,
            None => {
                let mut search: Search = on_drawn(self, drawn, control, observer)?;
                search.machines.0.iter_mut().for_each(Machine::take_average);
                let rng = drawn.rng(1, search.position);
                Passes::new(search, rng)
            }
        };
        let total = self.epochs.max(1);
        let why = passes.make(total, keeper, control, observer, |passes| {
            let (search, rng) = (&mut passes.state, &mut passes.rng);
            let (number, machines) = (passes.n_clusters.len(), search.machines.clone());
            let found = Offered { number, space: &search.space, machines }.ask(&mut search.mixture, rows, rng)?;
            check_memory(drawn, self, found.kept.len())?;
            search.machines = self.taught(&search.machines, &found, drawn, rng)?;
            let told = (search.mixture.n_clusters(), search.mixture.ln_joint());
            passes.took(told, found.counts);
            Ok(())
        })?;
        let (done, search, counts) = (passes.n_clusters.len(), passes.state, passes.counts);
        let told = Told::new(passes.n_clusters, passes.ln_joint, search.moves.clone(), why == Stop::Finished);
        Ok(run(CikModel::of_counts(drawn, self, search, counts, told)?, why, done, total))
    }
}

impl Cik {
    /// For each machine: its copy trained on the rows of a block that were dealt to its cluster, times their number; and
    /// that number.
    fn lessons(&self, pass: &Pass, clusters: &[usize], block: &Task<'_>) -> Result<Vec<Vec<f64>>> {
        let (rows, rates) = (block.rows()?, self.rates());
        let seed = block.rng(2 * pass.number + 1, 0).bits();
        let one = |k: usize| -> Result<Vec<f64>> {
            let mut members: Vec<usize> = (0..clusters.len()).filter(|&i| clusters[i] == k).collect();
            Rng::new(seed, k as u64).shuffle(&mut members);
            let mut machine = pass.machines.0[k].clone();
            let n_steps = members.len().div_ceil(BATCH);
            let lesson = Lesson { rows, answers: answers(block), members: &members, n_steps };
            machine.train(&lesson, &rates, &mut Work::default(), &|| false)?;
            let n = members.len() as f64;
            let mut sum: Vec<f64> = machine.state().map(|value| n * value).collect();
            sum.push(n);
            Ok(sum)
        };
        block.pool.map(pass.machines.0.len(), one).into_iter().collect()
    }

    /// The machines of the clusters that were kept: the means of their copies, untouched where no row had a say, and
    /// fresh ones for new clusters.
    fn taught(&self, before: &Machines, found: &Found, drawn: &Task<'_>, rng: &mut Rng) -> Result<Machines> {
        let one = |&at: &usize| {
            let Some(old) = before.0.get(at) else { return fresh(drawn, self, rng) };
            let mut sum: Vec<f64> = found.sums.take(&format!("machine.{at}"))?;
            let n = sum.pop().unwrap_or(0.0);
            let mut machine = old.clone();
            if n > 0.0 && !machine.set_state(sum.iter().map(|value| value / n)) {
                return Err(Error::input("the machines of partitions do not fit; all workers need the same version"));
            }
            Ok(machine)
        };
        Ok(Machines(found.kept.iter().map(one).collect::<Result<_>>()?))
    }
}
