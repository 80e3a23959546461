//! Training on rows that lie in partitions, on this machine or on many: the driver asks, partitions answer with sums.
//!
//! Four kinds of questions: what is in a partition; the spread of its columns around the means of all rows, with a
//! few rows drawn from it; for tables that are not all numbers, levels and terms; and the sums that a step of the method
//! needs. Answers are added in the order of partitions, and each depends on the question and the partition alone: the
//! model has the same bits wherever they were computed.

mod answer;
mod statistics;
#[cfg(test)]
mod tests;

pub use answer::answer;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use super::model::{Learned, Model, Units};
use super::plan::Plan;
use super::prepare::{MAX_SPARSE_CLASSES, Prepared};
use super::registry::Registry;
use super::session::Session;
use super::share::shares;
use crate::data::{
    Dataset, Features, Labels, NumberColumns, Numbers, Preprocessor, Presence, Samples, Seen, Standard, Target,
    TargetKind, Wanted,
};
use crate::error::{Error, Result};
use crate::file::{self, Codec, Kind, Record, record};
use crate::kernel::Kernel;
use crate::linalg::Matrix;
use crate::run::{AllRows, ByPartitions, Input, Keeper, Rows, Run, Stop, Task, method_rng};
use statistics::{Picks, Summary, unfit};

/// Rows of a partition whose kernels are computed at a time: what a task takes in memory does not grow with its rows.
pub(super) const BLOCK_ROWS: usize = 2048;
/// Rows drawn for each landmark.
const DRAWN_OF_LANDMARK: usize = 2;
/// The most levels of a column, or features of an encoding, and the most bytes of all of them: the reader of messages and
/// models takes little more.
const MOST_TEXTS: usize = 1 << 20;
const MOST_BYTES: usize = 32 << 20;
/// The random streams of the rows drawn and of the landmarks among them.
const DRAW: u64 = 5 << 41;
const CHOOSE: u64 = 6 << 41;

/// Partitions of rows, wherever they are.
pub trait Partitions {
    /// Has [`answer`] called on each partition with these bytes, and gives the answers to `take` in the order of
    /// partitions. `setup` stays the same for many requests.
    fn ask(&mut self, setup: &[u8], request: &[u8], take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;
}

record! {
    /// What partitions are told before the steps of a method.
    pub(super) struct Setup {
        pub(super) method: String,
        pub(super) params: std::collections::BTreeMap<String, String>,
        pub(super) seed: u64,
        pub(super) precision: crate::stack::Precision,
        pub(super) preprocessor: Preprocessor,
        pub(super) kernels: Vec<String>,
        /// The landmarks as kernels take them.
        pub(super) points: Features,
        /// Which views each has; empty if all have all.
        pub(super) presence: Vec<u64>,
        pub(super) missing: String,
        pub(super) classes: Vec<String>,
        /// The units of the numbers to predict; empty for classes.
        pub(super) mean: Vec<f64>,
        pub(super) scale: Vec<f64>,
        pub(super) hashes: Vec<String>,
    }
}

/// The kinds of questions.
pub(super) const SUMMARY: &str = "summary";
pub(super) const PICKS: &str = "picks";
pub(super) const SEEN: &str = "seen";
pub(super) const STEPS: &str = "steps";

/// The bytes of a record under the word of its question.
pub(super) fn packed(word: &str, record: Record) -> Result<Vec<u8>> {
    let mut whole = Record::default();
    whole.put("word", &word.to_string());
    whole.put_record("content", record);
    file::bytes(Kind::Partition, &whole)
}

/// The word and the record of some bytes.
pub(super) fn unpacked(bytes: &[u8]) -> Result<(String, Record)> {
    let whole = file::parse(Path::new("the message of a partition"), bytes, Kind::Partition)?;
    Ok((whole.take("word")?, whole.take_record("content")))
}

impl Plan {
    /// Trains on rows in partitions, which need not be on this machine: for methods that need sums over rows alone (`mklr`,
    /// `svimkl`, `evidence`, `cik`, `dpm`), on columns of any kind, with views or without, to predict classes, numbers or (`mklr`,
    /// `svimkl`) times to an event. Some rows (`landmarks`) carry the functions; they, the widths of kernels, the default bank,
    /// and the first clusters come from rows drawn with the seed. Preprocessing is that of all rows: means and scales, levels
    /// of categories, vocabularies of texts, of which a column or an encoding may have up to 1,048,576. The model depends on
    /// the partitions and their order, not on where and how often they were asked. With a checkpoint in the session, the
    /// state is stored after steps, and when a partition could not be asked; a session that resumes goes on from it to the
    /// same bits.
    ///
    /// Cost: two questions for preprocessing, a third for tables that are not all numbers, and one or two for each step; a
    /// partition of n rows answers one in n P kernel values for each landmark, at some steps n m^2 products for m landmarks,
    /// in memory of up to 2,048 rows times landmarks beside its rows. Cox's partial likelihood of times takes two questions
    /// where others take one: sums of risks, 24 bytes for each distinct time of an event and node, then what follows from
    /// them.
    ///
    /// ```
    /// use multikernel::{Plan, Pool, Result, data::{Dataset, bundled}, run::Silent};
    /// use multikernel::plan::{Partitions, Session, answer};
    /// struct Here(Vec<Dataset>, Pool);
    /// impl Partitions for Here {
    ///     fn ask(&mut self, setup: &[u8], request: &[u8], take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    ///         self.0.iter().enumerate().try_for_each(|(k, rows)| take(&answer(setup, request, k, rows, &self.1)?))
    ///     }
    /// }
    /// let (data, pool) = (bundled("wdbc")?, Pool::new(1)?);
    /// let halves = vec![data.select(&(0..300).collect::<Vec<_>>()), data.select(&(300..569).collect::<Vec<_>>())];
    /// let plan = Plan::new("mklr")?.set("landmarks", "50")?;
    /// let mut silent = Silent;
    /// let model = plan.train_partitions("wdbc", &mut Here(halves, Pool::new(1)?), &mut Session::new(&pool, &mut silent))?;
    /// let found = model.predict(&data.samples)?;
    /// let right = found.labels.iter().zip(data.labels.codes()).filter(|(found, code)| found == code).count();
    /// assert!(right > 545, "{right}");
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    ///
    /// # Errors
    /// A method that is no sum over rows, `auto` parameters, kernels that need all rows, more than 2,097,152 distinct times of
    /// events, a checkpoint of other rows or settings, partitions that differ in their columns, kinds or views or change
    /// between questions, too many levels or terms, and what partitions report.
    pub fn train_partitions(
        &self,
        name: &str,
        partitions: &mut dyn Partitions,
        session: &mut Session<'_>,
    ) -> Result<Model> {
        let sums = self.method().by_partitions().ok_or_else(|| no_sum(self.name()))?;
        if let Some(auto) = self.params().autos().first() {
            return Err(Error::param(
                *auto,
                "auto is chosen on inner folds, which need all rows; choose it on a sample of rows, then set it",
            ));
        }
        session.observer.phase("preprocessing");
        let n_drawn = sums.n_drawn();
        let mut asked = Asked { plan: self, name, partitions: RefCell::new(partitions), n_drawn, hashes: vec![] };
        let summary = asked.summary()?;
        let kind = summary.kind()?;
        self.check_kind(kind)?;
        let classes = summary.class_list()?;
        check_targets(&summary, kind, &classes)?;
        let fingerprint = asked.fingerprint(&summary);
        let identity = self.identity(&fingerprint, session.pool);
        let mut keeper = Keeper::new(session.checkpoint.clone(), identity, session.observer)?;
        let picks = asked.picks(&summary, &classes)?;
        let drawn = picks.dataset(name, &summary, &classes)?;
        session.observer.phase("kernels");
        let landmarks = self.landmarks(&drawn, &asked, (&summary, &picks), session)?;
        let units = self.units(&summary, &picks);
        let target = match (&landmarks.data.target, &units) {
            (Target::Numbers(numbers), Some(units)) => {
                let values = units.standard.apply(numbers.values());
                Target::Numbers(Numbers::new(units.names.clone(), values)?)
            }
            (target, _) => target.clone(),
        };
        let setup = packed(STEPS, asked.setup(&landmarks, &classes, units.as_ref())?.encode())?;
        let few = Rows::new(landmarks.points.features(), session.memory);
        let task = Task {
            input: landmarks.stack.as_ref().map_or(Input::Rows(&few), Input::Stack),
            labels: &landmarks.data.labels,
            target: &target,
            groups: None,
            views: &landmarks.views,
            alternatives: &landmarks.alternatives,
            seed: self.own_seed(),
            pool: session.pool,
        };
        let ask = |request: &Record| asked.sums(&setup, request, sums.as_ref());
        let number_means = units.as_ref().map_or_else(Vec::new, |units| units.given_means(&summary.number_means()));
        let rows = AllRows { n_rows: summary.n_rows(), number_means, events: summary.events(), ask: &ask };
        session.observer.phase(self.name());
        let run = sums.learn(&task, &rows, &mut keeper, &session.control, session.observer)?;
        session.observer.phase("shares");
        let shares = shares(&task, run.model.as_ref(), &session.control)?;
        let learned = Learned { shares, units, ..Learned::default() };
        Ok(self.model_of(&landmarks, run, learned, (&summary, &fingerprint)))
    }

    /// The landmarks with their kernels, prepared by what all rows say: rows drawn have the medians of widths, and the
    /// landmarks are among them.
    fn landmarks(
        &self,
        drawn: &Dataset,
        asked: &Asked<'_, '_>,
        (summary, picks): (&Summary, &Picks),
        session: &mut Session<'_>,
    ) -> Result<Prepared<'static>> {
        self.remarks(&drawn.samples).iter().for_each(|remark| session.observer.note(remark));
        let preparation = self.preparation(&drawn.samples)?;
        let columns = picks.statistics(summary, &NumberColumns::of(&drawn.samples).views)?;
        let wanted = Wanted { encoded: preparation.encoded(&drawn.samples)?, letters: summary.letters()? };
        let is_plain = drawn.samples.is_numeric() && wanted.encoded.is_empty();
        let seen = if is_plain { None } else { Some((asked.seen(&drawn.samples, &wanted, summary)?, &wanted)) };
        let is_dense = preparation.is_dense();
        let preprocessor = Preprocessor::of_parts(&preparation.recipe, &columns, &drawn.samples, seen, is_dense)?;
        let n = drawn.samples.n_samples();
        let wanted = self.n_landmarks(summary.n_rows()).unwrap_or(n);
        let chosen = draw(n, wanted.min(n), self.own_seed(), CHOOSE);
        let prepared = Prepared::of_landmarks(preparation, preprocessor, drawn, &chosen, session)?;
        prepared.notes().iter().for_each(|note| session.observer.note(note));
        let needs_rows = |kernel: &&Kernel| kernel.is_centred() || kernel.gram().is_some();
        match prepared.kernels.iter().find(needs_rows) {
            Some(kernel) => Err(Error::param(
                "kernels",
                format!(
                    "{kernel} depends on all training rows, which no partition has; leave out `centred` and matrices"
                ),
            )),
            None => Ok(prepared),
        }
    }

    /// How many rows in partitions are landmarks.
    fn n_landmarks(&self, n_rows: usize) -> Option<usize> {
        self.method().by_partitions()?.n_landmarks(n_rows)
    }

    /// The units of numbers; none for classes.
    fn units(&self, summary: &Summary, picks: &Picks) -> Option<Units> {
        let names = summary.number_names();
        if names.is_empty() {
            return None;
        }
        let standard = match self.method().takes_counts() {
            true => Standard::plain(names.len()),
            false => picks.standard(summary),
        };
        Some(Units { names: names.to_vec(), standard })
    }

    fn model_of(
        &self,
        landmarks: &Prepared<'_>,
        run: Run,
        learned: Learned,
        (summary, fingerprint): (&Summary, &str),
    ) -> Model {
        let bank = landmarks.preparation.bank.as_ref();
        let mut header = self.header(&landmarks.data, bank, &landmarks.kernels, self.params(), fingerprint.into());
        header.n_samples = summary.n_rows();
        header.finished = run.stop == Stop::Finished;
        header.stop = match run.stop {
            Stop::Finished => "finished".into(),
            stop => format!("{stop} after {} of {} units of work", run.progress.done, run.progress.total),
        };
        header.steps = run.steps;
        let kept = landmarks.kept(&header.kernels, run.model.as_ref());
        Model { header, kept, learned, predictor: run.model, record: run.record }
    }
}

impl Units {
    /// The means of numbers as methods are given them.
    fn given_means(&self, means: &[f64]) -> Vec<f64> {
        let standard = &self.standard;
        means
            .iter()
            .zip(standard.mean.iter().zip(&standard.scale))
            .map(|(m, (mean, scale))| (m - mean) / scale)
            .collect()
    }
}

/// The partitions of a run.
struct Asked<'a, 'p> {
    plan: &'a Plan,
    name: &'a str,
    partitions: RefCell<&'p mut dyn Partitions>,
    n_drawn: usize,
    /// The fingerprint of each partition when it was first asked.
    hashes: Vec<String>,
}

impl Asked<'_, '_> {
    /// Asks all partitions; `take` gets the records of their answers.
    fn ask(&self, setup: &[u8], request: Record, take: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
        let request = packed("request", request)?;
        self.partitions.borrow_mut().ask(setup, &request, &mut |bytes| take(unpacked(bytes)?.1))
    }

    fn summary(&mut self) -> Result<Summary> {
        let mut setup = self.plan.recipe_record();
        setup.put("counts", &self.plan.method().takes_counts());
        let mut all: Option<Summary> = None;
        let mut hashes = vec![];
        self.ask(&packed(SUMMARY, setup)?, Record::default(), &mut |record| {
            let next = Summary::decode(&record)?;
            next.check()?;
            hashes.push(next.hash().to_string());
            match &mut all {
                None => all = Some(next),
                Some(all) => all.add(&next, hashes.len())?,
            }
            Ok(())
        })?;
        self.hashes = hashes;
        all.ok_or_else(|| Error::input(format!("{}: there is no partition; give at least one", self.name)))
    }

    /// A few rows of all, drawn with the seed, and the spread of columns and numbers around their means.
    fn picks(&self, summary: &Summary, classes: &[String]) -> Result<Picks> {
        let (n, seed) = (summary.n_rows(), self.plan.own_seed());
        let landmarks = self.plan.n_landmarks(n).unwrap_or(0);
        let wanted = draw(n, (DRAWN_OF_LANDMARK * landmarks).max(self.n_drawn).min(n), seed, DRAW);
        let mut setup = self.plan.recipe_record();
        setup.put("means", &summary.means()?);
        setup.put("number_means", &summary.number_means());
        setup.put("starts", &summary.starts().to_vec());
        setup.put("wanted", &wanted);
        setup.put("classes", &classes.to_vec());
        setup.put("hashes", &self.hashes);
        let mut all = Picks::default();
        self.ask(&packed(PICKS, setup)?, Record::default(), &mut |record| {
            let next = Picks::decode(&record)?;
            next.check(summary)?;
            all.add(&next)
        })?;
        Ok(all)
    }

    /// What the rows of all partitions say about levels and features of texts; `drawn` are some of them.
    fn seen(&self, drawn: &Samples, wanted: &Wanted, summary: &Summary) -> Result<Seen> {
        let mut setup = self.plan.recipe_record();
        setup.put("wanted", wanted);
        setup.put("hashes", &self.hashes);
        let (mut all, mut number): (Option<Seen>, usize) = (None, 0);
        self.ask(&packed(SEEN, setup)?, Record::default(), &mut |record| {
            let next = Seen::decode(&record)?;
            if !next.is_sound(drawn, wanted, summary.rows_of(number)) {
                return Err(unfit());
            }
            number += 1;
            match &mut all {
                None => all = Some(next),
                Some(all) => all.add(&next),
            }
            all.as_ref().map_or(Ok(()), |all| check_size(all, drawn.names(), wanted))
        })?;
        all.ok_or_else(unfit)
    }

    fn setup(&self, landmarks: &Prepared<'_>, classes: &[String], units: Option<&Units>) -> Result<Setup> {
        let standard = units.map_or_else(|| Standard::plain(0), |units| units.standard.clone());
        Ok(Setup {
            method: self.plan.name().into(),
            params: self.plan.params().to_texts(),
            seed: self.plan.own_seed(),
            precision: self.plan.stack_precision(),
            preprocessor: landmarks.preprocessor.clone(),
            kernels: landmarks.kernels.iter().map(Kernel::to_string).collect(),
            // Methods on rows have no kernels with those drawn.
            points: match landmarks.stack {
                Some(_) => landmarks.points.features().clone(),
                None => Matrix::zeros(0, 0).into(),
            },
            presence: landmarks.presence.as_ref().map_or(vec![], Presence::flags),
            missing: landmarks.preparation.missing.word().into(),
            classes: classes.to_vec(),
            mean: standard.mean,
            scale: standard.scale,
            hashes: self.hashes.clone(),
        })
    }

    /// The answers of all partitions to a request of the method, added in their order.
    fn sums(&self, setup: &[u8], request: &Record, method: &dyn ByPartitions) -> Result<Record> {
        let mut sums = Record::default();
        self.ask(setup, request.clone(), &mut |record| method.add(&mut sums, &record))?;
        Ok(sums)
    }

    /// Identifies the rows, their order and how they were divided.
    fn fingerprint(&self, summary: &Summary) -> String {
        let mut hash = blake3::Hasher::new();
        hash.update(b"multikernel partitions 1\n");
        for text in summary.names().iter().chain(&self.hashes) {
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
        hash.finalize().to_hex().to_string()
    }
}

/// This many of n rows, ascending, each as likely as any other (Floyd's algorithm): nothing of the size of n is made.
fn draw(n: usize, count: usize, seed: u64, stream: u64) -> Vec<usize> {
    let mut rng = method_rng(seed, stream, 0);
    let mut chosen = BTreeSet::new();
    for last in n - count..n {
        let row = rng.below(last + 1);
        if !chosen.insert(row) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().collect()
}

fn no_sum(name: &str) -> Error {
    let registry = Registry::standard();
    let able: Vec<&str> = registry.iter().filter(|m| m.by_partitions().is_some()).map(|m| m.about().name).collect();
    Error::param(
        "method",
        format!(
            "{name} is no sum over rows, so it cannot be trained on partitions; {} can, and learners of streams go through \
             partitions in their order",
            able.join(", ")
        ),
    )
}

fn check_targets(summary: &Summary, kind: TargetKind, classes: &[String]) -> Result<()> {
    let (n, n_classes) = (summary.n_rows(), classes.len());
    if n < 2 {
        return Err(Error::input(format!("{n} rows in all partitions; give at least 2")));
    }
    match kind {
        TargetKind::Classes => {}
        TargetKind::Numbers => return Ok(()),
        TargetKind::Times if summary.events().0.is_empty() => {
            return Err(Error::input(
                "no row of any partition has an event; nothing can be learned from censored rows alone",
            ));
        }
        TargetKind::Times => return Ok(()),
    }
    if n_classes < 2 {
        let found = classes.first().map_or(String::new(), |class| format!(" (`{class}`)"));
        return Err(Error::input(format!(
            "all rows of all partitions have one class{found}; a classifier needs rows of at least two"
        )));
    }
    if n_classes > MAX_SPARSE_CLASSES && 2 * n_classes > n {
        return Err(Error::input(format!("{n_classes} classes in {n} rows: a number or an id is no class")));
    }
    Ok(())
}

/// The rows of a set without what partitions cannot have.
pub(super) fn check_samples(name: &str, samples: &Samples) -> Result<()> {
    if samples.grams().is_empty() {
        return Ok(());
    }
    Err(Error::input(format!("{name}: Gram matrices are between all rows, which no partition has; leave them out")))
}

/// Refuses more levels or terms than messages and models can hold.
pub(super) fn check_size(seen: &Seen, names: &[String], wanted: &Wanted) -> Result<()> {
    let (what, n, bytes) = seen.longest(names, wanted);
    if n <= MOST_TEXTS && bytes <= MOST_BYTES {
        return Ok(());
    }
    Err(Error::input(format!(
        "{n} {what}, {} MiB of texts in all: partitions take up to {MOST_TEXTS} and {} MiB; choose an encoding with fewer, \
         such as single words, or leave the column out",
        bytes >> 20,
        MOST_BYTES >> 20
    )))
}

/// Labels with a given list of classes.
pub(super) fn labels_of(labels: &Labels, classes: &[String], rows: &[usize]) -> Result<Labels> {
    let place = |class: &String| {
        let unknown = || Error::input(format!("the class '{class}' was not there at the first question; train again"));
        classes.iter().position(|known| known == class).ok_or_else(unknown)
    };
    let places = labels.classes().iter().map(place).collect::<Result<Vec<_>>>()?;
    Labels::from_parts(classes.to_vec(), rows.iter().map(|&i| places[labels.codes()[i]]).collect())
}
