//! Prepared training rows: preprocessed, with their kernels, everything learned from these rows alone.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use super::model::Kept;
use super::session::Session;
use super::views::{Missing, Part, Places, presence};
use crate::data::{Dataset, Encoded, Preprocessor, Presence, Recipe, Samples, Target};
use crate::error::{Error, Message, Place, Remedy, Result, message};
use crate::features::Features;
use crate::kernel::{Columns, Kernel, KernelBank, Layout};
use crate::run::{KernelsOfView, Needs, Predict, Progress};
use crate::stack::{Points, Precision, Stack, StackOptions, Storage};

/// The settings that determine how rows are prepared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Preparation {
    pub(super) recipe: Recipe,
    pub(super) missing: Missing,
    pub(super) part: Part,
    /// None for methods that work on rows.
    pub(super) bank: Option<KernelBank>,
    pub(super) precision: Precision,
    pub(super) needs: Needs,
    pub(super) is_supervised: bool,
}

impl Preparation {
    /// Whether rows prepared like this can serve for `wanted`.
    pub(super) fn serves(&self, wanted: &Preparation) -> bool {
        let same_rows = self.recipe == wanted.recipe && self.missing == wanted.missing;
        let same_kernels = self.part == wanted.part && self.bank == wanted.bank && self.precision == wanted.precision;
        let stored = self.needs == Needs::Stack || self.needs == wanted.needs;
        same_rows && (wanted.needs == Needs::Rows || same_kernels && stored)
    }

    /// Preprocessing learned on these rows.
    pub(super) fn preprocessor(&self, samples: &Samples) -> Result<Preprocessor> {
        Preprocessor::fit_samples(&self.recipe, samples, &self.encoded(samples)?, self.is_dense())
    }

    /// The features that kernels need besides the columns of these rows.
    pub(super) fn encoded(&self, samples: &Samples) -> Result<Vec<Encoded>> {
        self.bank.as_ref().map_or(Ok(vec![]), |bank| bank.encoded(samples))
    }

    /// Methods that work on rows need them dense.
    pub(super) fn is_dense(&self) -> bool {
        self.needs == Needs::Rows
    }

    /// The kernels on these rows, not yet computed.
    pub(super) fn kernels(&self, samples: &Samples) -> Result<Vec<Kernel>> {
        let Some(bank) = &self.bank else { return Ok(vec![]) };
        let preprocessor = self.preprocessor(samples)?;
        let rows = preprocessor.apply_samples(samples)?;
        let presence = presence(samples, self.missing)?;
        let medians = bank.medians(samples.grams(), samples.rows_of_grams());
        let resolved =
            bank.resolve_named(&layout(&preprocessor, &medians), &present(&rows, &preprocessor, presence.as_ref()))?;
        Places::of(&preprocessor).part(resolved.kernels, &self.part)
    }
}

/// Prepared training rows: scaled, with their kernels. Several plans with the same bank share one.
pub struct Prepared<'a> {
    pub(super) data: Cow<'a, Dataset>,
    pub(super) preparation: Preparation,
    pub(super) preprocessor: Preprocessor,
    pub(super) points: Points,
    pub(super) presence: Option<Presence>,
    pub(super) kernels: Vec<Kernel>,
    pub(super) sets: Vec<(String, Columns)>,
    pub(super) views: Vec<KernelsOfView>,
    pub(super) alternatives: Vec<Vec<usize>>,
    pub(super) stack: Option<Stack>,
    scale_seconds: f64,
    seconds: f64,
}

impl<'a> Prepared<'a> {
    /// Scales the rows and computes the kernels.
    pub(super) fn new(preparation: Preparation, data: &'a Dataset, session: &mut Session<'_>) -> Result<Prepared<'a>> {
        let start = Instant::now();
        session.observer.phase("preparing");
        let n_all = data.samples.n_samples();
        let data = complete_rows(data, preparation.missing)?;
        if data.samples.n_samples() < n_all {
            let n = data.samples.n_samples();
            session.observer.talk(&format!("trained on the {n} of {n_all} rows that have all views"));
        }
        match data.target {
            Target::Classes if preparation.is_supervised => check_labels(&data)?,
            Target::Classes => {}
            Target::Numbers(_) | Target::Times(_) => check_rows(&data)?,
        }
        let samples = &data.samples;
        let preprocessor = preparation.preprocessor(samples)?;
        let mut points = Points::from(&preprocessor.apply_samples(samples)?).with_units(preprocessor.units())?;
        let presence = presence(samples, preparation.missing)?;
        let scale_seconds = start.elapsed().as_secs_f64();
        let places = Places::of(&preprocessor);
        let mut prepared = (vec![], vec![], vec![]);
        if let Some(bank) = &preparation.bank {
            points = points.with_grams(samples.grams(), samples.rows_of_grams())?;
            let medians = bank.medians(samples.grams(), samples.rows_of_grams());
            let present = present(points.features(), &preprocessor, presence.as_ref());
            let resolved = bank.resolve_named(&layout(&preprocessor, &medians), &present)?;
            resolved.notes.iter().for_each(|note| session.observer.note(note));
            let all = resolved.kernels.clone();
            let kernels = places.part(resolved.kernels, &preparation.part)?;
            let alternatives = those_left(&resolved.alternatives, &all, &kernels);
            prepared = (kernels, resolved.sets, alternatives);
            if let Some(presence) = &presence {
                points = points.with_presence(presence, preprocessor.views(), &prepared.0)?;
            }
        }
        let (kernels, sets, alternatives) = prepared;
        let views = places.kernels_of_views(&kernels);
        let uses_kernels = preparation.needs != Needs::Rows;
        let stack = uses_kernels.then(|| build(&preparation, &points, &kernels, session)).transpose()?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(Prepared {
            data,
            preparation,
            preprocessor,
            points,
            presence,
            kernels,
            sets,
            views,
            alternatives,
            stack,
            scale_seconds,
            seconds,
        })
    }

    /// Landmarks with their kernels: `chosen` of the rows drawn from all, prepared by a preprocessor learned on all. The
    /// widths of kernels are those of the rows drawn.
    pub(super) fn of_landmarks(
        preparation: Preparation,
        preprocessor: Preprocessor,
        drawn: &Dataset,
        chosen: &[usize],
        session: &mut Session<'_>,
    ) -> Result<Prepared<'a>> {
        let start = Instant::now();
        let rows = preprocessor.apply_samples(&drawn.samples)?;
        let all = presence(&drawn.samples, preparation.missing)?;
        let presence = all.as_ref().map(|presence| presence.select(chosen));
        let mut points = Points::from(&rows.select_rows(chosen)).with_units(preprocessor.units())?;
        let places = Places::of(&preprocessor);
        let (mut kernels, mut sets, mut alternatives, mut stack) = (vec![], vec![], vec![], None);
        if let Some(bank) = &preparation.bank {
            let present = present(&rows, &preprocessor, all.as_ref());
            let resolved = bank.resolve_named(&layout(&preprocessor, &[]), &present)?;
            resolved.notes.iter().for_each(|note| session.observer.note(note));
            (kernels, sets, alternatives) = (resolved.kernels, resolved.sets, resolved.alternatives);
            if let Some(presence) = &presence {
                points = points.with_presence(presence, preprocessor.views(), &kernels)?;
            }
            stack = Some(build(&preparation, &points, &kernels, session)?);
        }
        let views = places.kernels_of_views(&kernels);
        let seconds = start.elapsed().as_secs_f64();
        Ok(Prepared {
            data: Cow::Owned(drawn.select(chosen)),
            preparation,
            preprocessor,
            points,
            presence,
            kernels,
            sets,
            views,
            alternatives,
            stack,
            scale_seconds: 0.0,
            seconds,
        })
    }

    /// Seconds spent on preparation: scaling and, for a method that works on them, kernels.
    pub fn seconds(&self, with_kernels: bool) -> f64 {
        if with_kernels { self.seconds } else { self.scale_seconds }
    }

    /// The rows they were prepared from.
    pub fn data(&self) -> &Dataset {
        &self.data
    }

    /// The kernels between the prepared rows, in their order; `None` for methods that work on rows.
    pub fn stack(&self) -> Option<&Stack> {
        self.stack.as_ref()
    }

    /// Human-readable notes on what was filled in and left out during preparation.
    pub fn notes(&self) -> Vec<String> {
        self.preprocessor.notes()
    }

    /// What a model keeps of the training rows: its points, or all rows if a centred kernel averages over all of them.
    /// `all` are the kernels of its bank, empty for methods that work on rows.
    pub(super) fn kept(&self, all: &[Kernel], model: &dyn Predict) -> Kept {
        let used = model.kernels().unwrap_or_else(|| (0..all.len()).collect());
        let kernels: Vec<Kernel> = used.iter().map(|&m| all[m].clone()).collect();
        let centring = |stack: &Stack| used.iter().map(|&m| stack.centring()[m].clone()).collect();
        let centring = self.stack.as_ref().map_or_else(Vec::new, centring);
        let (rows, columns) = if kernels.iter().any(Kernel::is_centred) {
            ((0..self.points.n_points()).collect(), model.points().to_vec())
        } else {
            (model.points().to_vec(), (0..model.points().len()).collect())
        };
        let samples = &self.data.samples;
        let wanted = |name: &str| all.iter().any(|kernel| kernel.gram() == Some(name));
        let grams = samples.grams().iter().filter(|gram| wanted(gram.name()));
        Kept {
            preprocessor: self.preprocessor.clone(),
            missing: self.preparation.missing,
            sets: self.sets.clone(),
            views: Places::of(&self.preprocessor).kernels_of_views(all),
            points: self.points.select(&rows),
            presence: self.presence.as_ref().map(|presence| presence.select(&rows)),
            at: rows.iter().map(|&i| samples.rows_of_grams()[i]).collect(),
            diagonals: grams.map(|gram| (gram.name().to_string(), gram.diagonal().to_vec())).collect(),
            columns,
            used,
            kernels,
            centring,
            label_column: self.data.label_column.clone(),
            id_name: samples.id_name().filter(|_| samples.views().len() > 1).map(str::to_string),
        }
    }
}

/// The alternatives of a bank by the numbers of the kernels that are left of it; empty ones are left out.
fn those_left(alternatives: &[Vec<usize>], all: &[Kernel], left: &[Kernel]) -> Vec<Vec<usize>> {
    // Kernels that are left are in the order of the bank.
    let mut numbers = vec![None; all.len()];
    let mut next = 0;
    for (m, kernel) in all.iter().enumerate() {
        if left.get(next) == Some(kernel) {
            numbers[m] = Some(next);
            next += 1;
        }
    }
    let of = |kernels: &Vec<usize>| kernels.iter().filter_map(|&m| numbers[m]).collect::<Vec<_>>();
    alternatives.iter().map(of).filter(|kernels| !kernels.is_empty()).collect()
}

/// The names that the selectors of kernels refer to.
pub(super) fn layout<'a>(preprocessor: &'a Preprocessor, medians: &'a [(String, f64)]) -> Layout<'a> {
    let (names, views) = (preprocessor.names(), preprocessor.views());
    Layout { names, views, medians, units: preprocessor.units(), encoded: preprocessor.layout() }
}

/// The rows with the values of absent views missing again, so that the medians for widths leave them out.
fn present<'f>(rows: &'f Features, preprocessor: &Preprocessor, presence: Option<&Presence>) -> Cow<'f, Features> {
    let (Some(presence), Features::Dense(table)) = (presence, rows) else { return Cow::Borrowed(rows) };
    let mut table = table.clone();
    for (v, view) in preprocessor.views().iter().enumerate() {
        for i in (0..presence.n_rows()).filter(|&i| !presence.has(i, v)) {
            table.row_mut(i)[view.columns.clone()].fill(f64::NAN);
        }
    }
    Cow::Owned(table.into())
}

/// The rows that have all views, if some do not and are left out.
pub(super) fn those_complete(samples: &Samples, missing: Missing) -> Option<Vec<usize>> {
    let presence = match missing {
        Missing::Drop => Presence::of(samples.features(), samples.views()),
        _ => None,
    }?;
    Some((0..presence.n_rows()).filter(|&i| presence.is_complete(i)).collect())
}

fn complete_rows(data: &Dataset, missing: Missing) -> Result<Cow<'_, Dataset>> {
    let Some(complete) = those_complete(&data.samples, missing) else { return Ok(Cow::Borrowed(data)) };
    if complete.is_empty() {
        let n = data.samples.n_samples();
        return Err(Error::param("missing", format!("drop leaves none of {n} rows: each lacks a view; use skip")));
    }
    Ok(Cow::Owned(data.select(&complete)))
}

fn build(preparation: &Preparation, points: &Points, kernels: &[Kernel], session: &mut Session<'_>) -> Result<Stack> {
    session.observer.phase("kernels");
    let control = session.control.clone();
    let stop = session.control.clone();
    let observer = std::sync::Mutex::new(&mut *session.observer);
    let watch = |done: usize, total: usize| {
        // If the observer is busy, leave the update to the next block.
        if let Ok(mut observer) = observer.try_lock() {
            observer.progress(&Progress::of(done, total));
        }
        control.stop().is_none()
    };
    let building = StackOptions {
        pool: session.pool,
        memory: session.memory,
        precision: preparation.precision,
        storage: if preparation.needs == Needs::Pass { Storage::Tiled } else { Storage::Fit },
        sparse: true,
        watch: Some(&watch),
        stop: Some(Arc::new(move || stop.stop().is_some())),
    };
    let stack = Stack::train(points, kernels, &building)?;
    for note in stack.notes() {
        session.observer.note(note);
    }
    Ok(stack)
}

/// Numbers and times are learned from differences between rows.
fn check_rows(data: &Dataset) -> Result<()> {
    let n = data.samples.n_samples();
    if n < 2 {
        let message = format!("there {} to train on; give at least 2", if n == 1 { "is 1 row" } else { "are no rows" });
        return Err(Error::data(Place::file(&data.name), message));
    }
    Ok(())
}

/// More classes than this, with fewer than two rows each, is not a classification problem.
pub(super) const MAX_SPARSE_CLASSES: usize = 10;

fn check_labels(data: &Dataset) -> Result<()> {
    let labels = &data.labels;
    let counts = labels.counts();
    let present: Vec<usize> = (0..labels.n_classes()).filter(|&class| counts[class] > 0).collect();
    let (n, n_classes) = (labels.n_samples(), present.len());
    let message = match present.as_slice() {
        [] => Message::from("there are no training rows; give at least one row of each of two classes"),
        [only] => {
            let name = &labels.classes()[*only];
            format!("all training rows ({n}) have the class `{name}`; a classifier needs rows of at least two classes")
                .into()
        }
        _ if n_classes > MAX_SPARSE_CLASSES && 2 * n_classes > n => {
            let column =
                data.label_name.as_ref().map_or("the label".into(), |name| format!("the label column '{name}'"));
            message![
                format!("{column} has {n_classes} different values in {n} rows: a number or an id is no class; "),
                "predict numbers with ",
                Remedy::Target(None),
                ", or choose the class column with ",
                Remedy::Label(None)
            ]
        }
        _ => return Ok(()),
    };
    Err(Error::data(Place::file(data.name.clone()), message))
}
