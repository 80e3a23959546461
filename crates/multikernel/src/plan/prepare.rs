//! Training rows made ready: preprocessed, with their kernels, everything learned from these rows alone.

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

use super::plan::{Plan, Session};
use crate::data::{Dataset, Preprocessor, Presence, Recipe, Samples, View};
use crate::error::{Error, Message, Place, Remedy, Result, message};
use crate::features::Features;
use crate::kernel::{Columns, Kernel, KernelBank, Layout};
use crate::run::{KernelsOfView, Needs, Predict, Progress};
use crate::stack::{Centring, Points, Precision, Stack, StackOptions, Storage};

/// What becomes of rows that lack views. Single missing values are filled with the training means whatever is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// Kernels on a view are 0 for rows that lack it, and the others make up for them: see [`Points`].
    #[default]
    Skip,
    /// The missing view is filled with the means of the training rows.
    Impute,
    /// Rows that lack a view are not trained on; new rows are treated as by `Skip`.
    Drop,
}

impl Missing {
    /// The word used by the command line and in files.
    pub fn word(self) -> &'static str {
        match self {
            Missing::Skip => "skip",
            Missing::Impute => "impute",
            Missing::Drop => "drop",
        }
    }
}

impl FromStr for Missing {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "skip" => Ok(Missing::Skip),
            "impute" => Ok(Missing::Impute),
            "drop" => Ok(Missing::Drop),
            _ => Err(Error::param("missing", format!("must be skip, impute or drop, got `{text}`"))),
        }
    }
}

/// Which views take part, by the kernels on them. A Gram matrix counts as a view of its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All.
    #[default]
    All,
    /// All but the kernels that look at this view.
    Without(String),
    /// Only kernels that look at this view and no other.
    Only(String),
    /// The same where it leaves out one other view and nothing else: of two views, what is left without the other.
    OnlyWithout {
        /// The view that takes part.
        only: String,
        /// The view that does not.
        without: String,
    },
    /// All columns side by side as one: the bank of data without views.
    Concatenated,
}

impl Part {
    pub(super) fn word(&self) -> Option<String> {
        match self {
            Part::All => None,
            Part::Without(view) => Some(format!("without {view}")),
            Part::Only(view) => Some(format!("only {view}")),
            Part::OnlyWithout { only, without } => Some(format!("only {only} (without {without})")),
            Part::Concatenated => Some("concatenated".into()),
        }
    }
}

/// What decides how rows are prepared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Preparation {
    pub(super) recipe: Recipe,
    pub(super) missing: Missing,
    pub(super) part: Part,
    pub(super) bank: Option<KernelBank>,
    pub(super) precision: Precision,
}

/// Training rows made ready: scaled, with their kernels. Several plans with the same bank share one.
pub struct Prepared<'a> {
    pub(super) data: Cow<'a, Dataset>,
    pub(super) preparation: Preparation,
    pub(super) preprocessor: Preprocessor,
    pub(super) points: Points,
    pub(super) presence: Option<Presence>,
    pub(super) kernels: Vec<Kernel>,
    pub(super) sets: Vec<(String, Columns)>,
    pub(super) views: Vec<KernelsOfView>,
    needs: Needs,
    pub(super) stack: Option<Stack>,
    scale_seconds: f64,
    seconds: f64,
}

impl<'a> Prepared<'a> {
    pub(super) fn new(plan: &Plan, data: &'a Dataset, session: &mut Session<'_>) -> Result<Prepared<'a>> {
        let start = Instant::now();
        session.observer.phase("preparing");
        let preparation = plan.preparation(&data.samples)?;
        let n_all = data.samples.n_samples();
        let data = complete_rows(data, preparation.missing)?;
        if data.samples.n_samples() < n_all {
            let n = data.samples.n_samples();
            session.observer.talk(&format!("trained on the {n} of {n_all} rows that have all views"));
        }
        if plan.is_supervised() {
            check_labels(&data)?;
        }
        let samples = &data.samples;
        let preprocessor =
            Preprocessor::fit(&preparation.recipe, samples.features(), samples.names(), samples.views())?;
        let mut points = Points::from(&preprocessor.apply(samples.features())?);
        let presence = presence(samples, preparation.missing)?;
        let scale_seconds = start.elapsed().as_secs_f64();
        let mut prepared = (vec![], vec![]);
        if let Some(bank) = preparation.bank.as_ref().filter(|_| plan.uses_kernels()) {
            points = points.with_grams(samples.grams(), samples.rows_of_grams())?;
            let layout = Layout { names: preprocessor.names(), views: preprocessor.views() };
            let resolved =
                bank.resolve_named(&layout, &present(points.features(), &preprocessor, presence.as_ref()))?;
            resolved.notes.iter().for_each(|note| session.observer.note(note));
            prepared = (part(resolved.kernels, &preparation.part, preprocessor.views())?, resolved.sets);
            if let Some(presence) = &presence {
                points = points.with_presence(presence, preprocessor.views(), &prepared.0)?;
            }
        }
        let (kernels, sets) = prepared;
        let views = kernels_of_views(&kernels, preprocessor.views());
        let stack = plan.uses_kernels().then(|| build(plan, &preparation, &points, &kernels, session)).transpose()?;
        let (seconds, needs) = (start.elapsed().as_secs_f64(), plan.method().about().needs);
        Ok(Prepared {
            data,
            preparation,
            preprocessor,
            points,
            presence,
            kernels,
            sets,
            views,
            needs,
            stack,
            scale_seconds,
            seconds,
        })
    }

    /// Seconds of preparation that this plan needs: scaling, and kernels if it works on them.
    pub fn seconds(&self, plan: &Plan) -> f64 {
        if plan.uses_kernels() { self.seconds } else { self.scale_seconds }
    }

    /// The rows it was prepared from.
    pub fn data(&self) -> &Dataset {
        &self.data
    }

    /// The kernels between the prepared rows, in their order; `None` for methods that work on rows.
    pub fn stack(&self) -> Option<&Stack> {
        self.stack.as_ref()
    }

    /// What was filled in and left out while the rows were prepared, for people.
    pub fn notes(&self) -> Vec<String> {
        self.preprocessor.notes()
    }

    /// Whether they are what this plan would prepare: the same preprocessing and, for methods that work on kernels, the same
    /// bank and precision, stored if the method passes over them again and again.
    pub fn fits(&self, plan: &Plan) -> bool {
        let Ok(wanted) = plan.preparation(&self.data.samples) else { return false };
        let found = &self.preparation;
        if !plan.uses_kernels() {
            return found.recipe == wanted.recipe && found.missing == wanted.missing;
        }
        *found == wanted && (self.needs == Needs::Stack || plan.method().about().needs == self.needs)
    }

    /// What a model keeps of the training rows: its points, or all of them where a centred kernel averages over all.
    pub(super) fn kept(&self, plan: &Plan, model: &dyn Predict) -> Kept {
        let stack = self.stack.as_ref().filter(|_| plan.uses_kernels());
        let all = if plan.uses_kernels() { self.kernels.clone() } else { vec![] };
        let used = model.kernels().unwrap_or_else(|| (0..all.len()).collect());
        let kernels: Vec<Kernel> = used.iter().map(|&m| all[m].clone()).collect();
        let centring = stack.map_or_else(Vec::new, |stack| used.iter().map(|&m| stack.centring()[m].clone()).collect());
        let (rows, columns) = if kernels.iter().any(Kernel::is_centred) {
            ((0..self.points.n_points()).collect(), model.points().to_vec())
        } else {
            (model.points().to_vec(), (0..model.points().len()).collect())
        };
        let samples = &self.data.samples;
        let wanted = |name: &str| all.iter().any(|kernel| kernel.gram() == Some(name));
        let grams = samples.grams().iter().filter(|gram| wanted(gram.name()));
        let diagonals = grams.map(|gram| (gram.name().to_string(), gram.diagonal().to_vec())).collect();
        Kept {
            preprocessor: self.preprocessor.clone(),
            all,
            sets: self.sets.clone(),
            views: self.views.clone(),
            used,
            points: self.points.select(&rows),
            presence: self.presence.as_ref().map(|presence| presence.select(&rows)),
            at: rows.iter().map(|&i| samples.rows_of_grams()[i]).collect(),
            diagonals,
            columns,
            kernels,
            centring,
            label_column: self.data.label_column.clone(),
            id_name: samples.id_name().filter(|_| samples.views().len() > 1).map(str::to_string),
        }
    }
}

/// What a model keeps of its training rows, and how its stack is made from them.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) preprocessor: Preprocessor,
    /// All kernels of the bank, with the feature sets and views they are on.
    pub(super) all: Vec<Kernel>,
    pub(super) sets: Vec<(String, Columns)>,
    pub(super) views: Vec<KernelsOfView>,
    /// Which kernels of the bank the model uses, ascending.
    pub(super) used: Vec<usize>,
    pub(super) points: Points,
    pub(super) presence: Option<Presence>,
    /// Which rows of the training data's Gram matrices the points are, and the diagonals of those.
    pub(super) at: Vec<usize>,
    pub(super) diagonals: Vec<(String, Vec<f64>)>,
    /// Which of the points the model's own are, in its order.
    pub(super) columns: Vec<usize>,
    /// The used kernels and, for the centred ones, their training means.
    pub(super) kernels: Vec<Kernel>,
    pub(super) centring: Vec<Option<Centring>>,
    /// Where the label column stands, if it has no name.
    pub(super) label_column: Option<String>,
    /// The column by which views were joined.
    pub(super) id_name: Option<String>,
}

/// Which views the rows have, where some lack one and that is not filled in.
pub(super) fn presence(samples: &Samples, missing: Missing) -> Result<Option<Presence>> {
    if missing == Missing::Impute || samples.views().is_empty() {
        return Ok(None);
    }
    let presence = Presence::of(samples.features(), samples.views());
    match presence.as_ref().and_then(Presence::first_without_any) {
        Some(i) if samples.grams().is_empty() => {
            Err(Error::input(format!("{} has no view at all; leave it out", row_name(samples, i))))
        }
        _ => Ok(presence),
    }
}

/// What to call a row in a message: by its id if it has one.
fn row_name(samples: &Samples, i: usize) -> String {
    match samples.ids() {
        Some(ids) => format!("sample {} (row {})", ids[i], i + 1),
        None => format!("row {}", i + 1),
    }
}

/// The rows with views that are absent missing again, so that medians for widths leave them out.
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

fn complete_rows(data: &Dataset, missing: Missing) -> Result<Cow<'_, Dataset>> {
    let presence = match missing {
        Missing::Drop => Presence::of(data.samples.features(), data.samples.views()),
        _ => None,
    };
    let Some(presence) = presence else { return Ok(Cow::Borrowed(data)) };
    let complete: Vec<usize> = (0..presence.n_rows()).filter(|&i| presence.is_complete(i)).collect();
    if complete.is_empty() {
        let n = presence.n_rows();
        return Err(Error::param("missing", format!("drop leaves none of {n} rows: each lacks a view; use skip")));
    }
    Ok(Cow::Owned(data.select(&complete)))
}

/// The view a kernel looks at, if it is one and no other; Gram matrices count as views of their name.
fn view_of<'k>(kernel: &'k Kernel, views: &'k [View]) -> Option<&'k str> {
    if let Some(name) = kernel.gram() {
        return Some(name);
    }
    let ranges = kernel.columns().ranges()?;
    let inside = |view: &&View| ranges.iter().all(|r| view.columns.start <= r.start && r.end <= view.columns.end);
    views.iter().find(inside).map(|view| view.name.as_str())
}

fn looks_at(kernel: &Kernel, name: &str, views: &[View]) -> bool {
    let Some(view) = views.iter().find(|view| view.name == name) else { return kernel.gram() == Some(name) };
    let touches = |r: &std::ops::Range<usize>| r.start < view.columns.end && view.columns.start < r.end;
    kernel.gram().is_none() && kernel.columns().ranges().is_none_or(|ranges| ranges.iter().any(touches))
}

/// The kernels that a plan has on these rows, none of them computed.
pub(super) fn kernels_of(plan: &Plan, samples: &Samples) -> Result<Vec<Kernel>> {
    let Preparation { recipe, missing, part: views, bank, .. } = plan.preparation(samples)?;
    let Some(bank) = bank else { return Ok(vec![]) };
    let preprocessor = Preprocessor::fit(&recipe, samples.features(), samples.names(), samples.views())?;
    let rows = preprocessor.apply(samples.features())?;
    let presence = presence(samples, missing)?;
    let layout = Layout { names: preprocessor.names(), views: preprocessor.views() };
    let resolved = bank.resolve_named(&layout, &present(&rows, &preprocessor, presence.as_ref()))?;
    part(resolved.kernels, &views, preprocessor.views())
}

/// The kernels of the views that take part.
fn part(kernels: Vec<Kernel>, part: &Part, views: &[View]) -> Result<Vec<Kernel>> {
    let (left, name): (Vec<Kernel>, _) = match part {
        Part::All | Part::Concatenated => return Ok(kernels),
        Part::Without(name) => (kernels.into_iter().filter(|kernel| !looks_at(kernel, name, views)).collect(), name),
        Part::Only(name) | Part::OnlyWithout { only: name, .. } => {
            (kernels.into_iter().filter(|kernel| view_of(kernel, views) == Some(name)).collect(), name)
        }
    };
    if left.is_empty() {
        let word = part.word().unwrap_or_default();
        return Err(Error::input(format!(
            "{word} no kernel of the bank is left; give kernels on single views (`each view`), or another view than {name}"
        )));
    }
    Ok(left)
}

pub(super) fn kernels_of_views(kernels: &[Kernel], views: &[View]) -> Vec<KernelsOfView> {
    let mut found: Vec<KernelsOfView> =
        views.iter().map(|view| KernelsOfView { name: view.name.clone(), kernels: vec![] }).collect();
    for (m, kernel) in kernels.iter().enumerate() {
        let Some(name) = view_of(kernel, views) else { continue };
        match found.iter_mut().find(|view| view.name == name) {
            Some(view) => view.kernels.push(m),
            None => found.push(KernelsOfView { name: name.into(), kernels: vec![m] }),
        }
    }
    found.retain(|view| !view.kernels.is_empty());
    found
}

fn build(
    plan: &Plan,
    preparation: &Preparation,
    points: &Points,
    kernels: &[Kernel],
    session: &mut Session<'_>,
) -> Result<Stack> {
    session.observer.phase("kernels");
    let control = session.control.clone();
    let stop = session.control.clone();
    let observer = std::sync::Mutex::new(&mut *session.observer);
    let watch = |done: usize, total: usize| {
        // Whoever finds the observer busy leaves the news to the next block.
        if let Ok(mut observer) = observer.try_lock() {
            observer.progress(&Progress::of(done, total));
        }
        control.stop().is_none()
    };
    let building = StackOptions {
        pool: session.pool,
        memory: session.memory,
        precision: preparation.precision,
        storage: if plan.method().about().needs == Needs::Pass { Storage::Tiled } else { Storage::Fit },
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

/// More classes than this, and fewer than two rows each, is no classification.
const MAX_SPARSE_CLASSES: usize = 10;

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
                "choose the class column with ",
                Remedy::Label(None)
            ]
        }
        _ => return Ok(()),
    };
    Err(Error::data(Place::file(data.name.clone()), message))
}
