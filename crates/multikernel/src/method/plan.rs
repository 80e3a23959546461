//! A plan: method, parameters, bank, scaling and seed; what is trained, cross-validated and written into a model.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

use super::model::{Header, Model};
use super::registry::Registry;
use crate::data::{Dataset, Samples, Scaler};
use crate::error::{Error, Place, Result};
use crate::features::Features;
use crate::kernel::{Bank, Kernel, Layout};
use crate::pool::Pool;
use crate::run::{
    AnyMethod, Checkpoint, Control, Input, Needs, Observer, Params, Predict, Progress, Rows, Runner, Silent, Stop, Task,
};
use crate::stack::{Building, Centring, Precision, Stack, Storage};

/// How features are scaled before kernels see them; learned on training rows, stored in the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Mean 0 and standard deviation 1 per column; constant columns are only shifted.
    #[default]
    Standard,
    /// As they are.
    None,
}

impl Scale {
    /// The word used by the command line and in files.
    pub fn word(self) -> &'static str {
        match self {
            Scale::Standard => "standard",
            Scale::None => "none",
        }
    }
}

impl FromStr for Scale {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "standard" => Ok(Scale::Standard),
            "none" => Ok(Scale::None),
            _ => Err(Error::param("scale", format!("must be standard or none, got `{text}`"))),
        }
    }
}

/// What a run works with besides the data: threads, limits, who is told, where it is stored.
pub struct Session<'a> {
    /// The threads.
    pub pool: &'a Pool,
    /// When to stop.
    pub control: Control,
    /// Who is told.
    pub observer: &'a mut dyn Observer,
    /// Where the state is stored, if anywhere.
    pub checkpoint: Option<Checkpoint>,
    /// Most bytes the kernel stack may take, or the dense table of sparse rows for a method that asks for one.
    pub memory: Option<u64>,
}

impl<'a> Session<'a> {
    /// A session without limits or checkpoints.
    pub fn new(pool: &'a Pool, observer: &'a mut dyn Observer) -> Self {
        Session { pool, control: Control::default(), observer, checkpoint: None, memory: None }
    }
}

/// Training rows made ready: scaled, with their kernels. Several plans with the same bank share one.
pub struct Prepared<'a> {
    data: &'a Dataset,
    scale: Scale,
    scaler: Scaler,
    rows: Features,
    bank: Option<Bank>,
    kernels: Vec<Kernel>,
    precision: Precision,
    needs: Needs,
    stack: Option<Stack>,
    scale_seconds: f64,
    seconds: f64,
}

impl Prepared<'_> {
    /// Seconds of preparation that this plan needs: scaling, and kernels if it works on them.
    pub fn seconds(&self, plan: &Plan) -> f64 {
        if plan.uses_kernels() { self.seconds } else { self.scale_seconds }
    }

    /// Whether they are what this plan would prepare: the same scaling and, for methods that work on kernels, the same
    /// bank and precision, stored if the method passes over them again and again.
    pub fn fits(&self, plan: &Plan) -> bool {
        let kernels = || {
            let stored = self.needs == Needs::Stack || plan.method.about().needs == Needs::Pass;
            self.bank == plan.bank && self.precision == plan.precision && stored
        };
        self.scale == plan.scale && (!plan.uses_kernels() || kernels())
    }
}

/// What to train: a method with its parameters, the kernel bank, the scaling and the seed.
///
/// ```
/// use multikernel::{Plan, data::bundled};
/// let data = bundled("ionosphere")?;
/// let model = Plan::new("average")?.kernels("gaussian(2^-2..2^3), linear")?.set("c", "50")?.train(&data)?;
/// let predicted = model.predict(&data.samples)?;
/// assert_eq!(model.classes()[predicted.labels[0]], "good");
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone)]
pub struct Plan {
    method: Arc<dyn AnyMethod>,
    params: Params,
    bank: Option<Bank>,
    scale: Scale,
    precision: Precision,
    seed: u64,
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.settings()).finish()
    }
}

impl Plan {
    /// A method of the standard registry at its defaults.
    pub fn new(method: &str) -> Result<Plan> {
        Plan::from_registry(&Registry::standard(), method)
    }

    /// A method of any registry at its defaults.
    pub fn from_registry(registry: &Registry, method: &str) -> Result<Plan> {
        let method = registry.get(method)?;
        let about = method.about();
        let bank = if about.needs != Needs::Rows { Some(about.bank.parse()?) } else { None };
        Ok(Plan {
            params: Params::new(about.params)?,
            method,
            bank,
            scale: Scale::default(),
            precision: Precision::default(),
            seed: 0,
        })
    }

    /// Sets the kernel bank; an error for methods that work on rows.
    pub fn kernels(mut self, bank: &str) -> Result<Plan> {
        if !self.uses_kernels() {
            return Err(Error::param(
                "kernels",
                format!("the method {} works on rows and takes no kernels; leave it out", self.name()),
            ));
        }
        self.bank = Some(bank.parse()?);
        Ok(self)
    }

    /// Sets one parameter from its text.
    pub fn set(mut self, name: &str, value: &str) -> Result<Plan> {
        self.params.set(name, value)?;
        Ok(self)
    }

    /// Sets the seed of all randomness.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Plan {
        self.seed = seed;
        self
    }

    /// Sets the scaling of features.
    #[must_use]
    pub fn scale(mut self, scale: Scale) -> Plan {
        self.scale = scale;
        self
    }

    /// Sets how kernel values are held; recorded in the model, whose predictions hold them the same way.
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Plan {
        self.precision = precision;
        self
    }

    /// The method's name.
    pub fn name(&self) -> &'static str {
        self.method.about().name
    }

    /// Whether the method works on kernels.
    pub fn uses_kernels(&self) -> bool {
        self.method.about().needs != Needs::Rows
    }

    /// The kernel bank, for methods that work on kernels.
    pub fn bank(&self) -> Option<&Bank> {
        self.bank.as_ref()
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Everything that was decided, as printed at the head of a run and compared when one is resumed.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([
            ("method".to_string(), self.name().to_string()),
            ("scale".to_string(), self.scale.word().to_string()),
            ("seed".to_string(), self.seed.to_string()),
        ]);
        if let Some(bank) = &self.bank {
            settings.insert("kernels".to_string(), bank.to_string());
            settings.insert("precision".to_string(), self.precision.word().to_string());
        }
        settings.extend(self.params.to_texts());
        settings
    }

    /// Trains on all rows with the machine's threads, silently.
    pub fn train(&self, data: &Dataset) -> Result<Model> {
        let pool = Pool::new(0)?;
        self.train_in(data, &mut Session::new(&pool, &mut Silent))
    }

    /// Trains on all rows in a session; see [`Runner::run`] for what happens when it is stopped.
    pub fn train_in(&self, data: &Dataset, session: &mut Session<'_>) -> Result<Model> {
        if let Some(checkpoint) = &session.checkpoint {
            // A checkpoint that cannot be used is told before the kernels are computed, not after.
            checkpoint.open(&self.identity(&data.fingerprint()))?;
        }
        let prepared = self.prepare(data, session)?;
        if let Some(stack) = &prepared.stack {
            // Who set a limit should hear that it was reached, also in a pipe: it costs time.
            if stack.is_limited() {
                session.observer.note(&stack.describe());
            } else {
                session.observer.talk(&stack.describe());
            }
        }
        self.fit(&prepared, session)
    }

    /// Scales the rows and computes the kernels. Cost: see [`Stack::train`].
    pub fn prepare<'a>(&self, data: &'a Dataset, session: &mut Session<'_>) -> Result<Prepared<'a>> {
        let start = Instant::now();
        check_labels(data)?;
        let scaler = match self.scale {
            Scale::Standard => Scaler::fit(data.samples.features())?,
            Scale::None => Scaler::identity(data.samples.n_features()),
        };
        let rows = scaler.apply(data.samples.features())?;
        let scale_seconds = start.elapsed().as_secs_f64();
        let layout = Layout { names: data.samples.names(), views: data.samples.views() };
        let kernels = self.bank.as_ref().map(|bank| bank.resolve(&layout, &rows)).transpose()?;
        let stack = kernels.as_ref().map(|kernels| self.build(&rows, kernels, session)).transpose()?;
        let bank = self.bank.clone();
        let kernels = kernels.unwrap_or_default();
        let seconds = start.elapsed().as_secs_f64();
        let (scale, precision, needs) = (self.scale, self.precision, self.method.about().needs);
        Ok(Prepared { data, scale, scaler, rows, bank, kernels, precision, needs, stack, scale_seconds, seconds })
    }

    fn build(&self, rows: &Features, kernels: &[Kernel], session: &mut Session<'_>) -> Result<Stack> {
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
        let building = Building {
            pool: session.pool,
            memory: session.memory,
            precision: self.precision,
            storage: if self.method.about().needs == Needs::Pass { Storage::Tiled } else { Storage::Fit },
            watch: Some(&watch),
            stop: Some(Arc::new(move || stop.stop().is_some())),
        };
        let stack = Stack::train(rows, kernels, &building)?;
        for note in stack.notes() {
            session.observer.note(note);
        }
        Ok(stack)
    }

    /// Runs the method on prepared rows; see [`Prepared::fits`] for which.
    pub fn fit(&self, prepared: &Prepared<'_>, session: &mut Session<'_>) -> Result<Model> {
        let rows = Rows::new(&prepared.rows, session.memory);
        let input = match &prepared.stack {
            Some(stack) if self.uses_kernels() => Input::Stack(stack),
            _ => Input::Rows(&rows),
        };
        if !prepared.fits(self) {
            return Err(Error::input("the rows were prepared with another bank, precision or scaling than the plan's"));
        }
        let task = Task { input, labels: &prepared.data.labels, seed: self.seed, pool: session.pool };
        let fingerprint = prepared.data.fingerprint();
        let identity = self.identity(&fingerprint);
        let checkpoint = session.checkpoint.as_ref();
        let mut runner = Runner { control: &session.control, observer: session.observer, checkpoint, identity };
        let run = runner.run(self.method.as_ref(), &task, &self.params)?;
        let mut header = self.header(prepared, fingerprint);
        header.stop = match run.stop {
            Stop::Finished => "finished".into(),
            stop => format!("{stop} after {} of {} units of work", run.progress.done, run.progress.total),
        };
        header.finished = run.stop == Stop::Finished;
        header.steps = run.steps;
        let kept = self.kept(prepared, run.model.as_ref());
        Ok(Model::new(header, prepared.scaler.clone(), kept, run.model, run.record))
    }

    /// What a stored state must agree with.
    fn identity(&self, fingerprint: &str) -> BTreeMap<String, String> {
        let mut identity = self.settings();
        identity.insert("data fingerprint".into(), fingerprint.into());
        // Another version may round in another order, and a resumed run promises the bits of an uninterrupted one.
        identity.insert("multikernel version".into(), env!("CARGO_PKG_VERSION").into());
        identity
    }

    fn header(&self, prepared: &Prepared<'_>, fingerprint: String) -> Header {
        let samples: &Samples = &prepared.data.samples;
        Header {
            method: self.name().into(),
            params: self.params.to_texts(),
            kernels: self.bank.as_ref().map(Bank::to_string),
            resolved: if self.uses_kernels() {
                prepared.kernels.iter().map(Kernel::to_string).collect()
            } else {
                vec![]
            },
            scale: self.scale.word().into(),
            precision: self.precision,
            seed: self.seed,
            classes: prepared.data.labels.classes().to_vec(),
            features: samples.names().to_vec(),
            views: samples
                .views()
                .iter()
                .map(|view| format!("{}={}:{}", view.name, view.columns.start, view.columns.end))
                .collect(),
            label: prepared.data.label_name.clone(),
            index_base: prepared.data.index_base.map(u64::from),
            dataset: prepared.data.name.clone(),
            n_samples: samples.n_samples(),
            fingerprint,
            stop: String::new(),
            finished: true,
            steps: 0,
        }
    }

    /// The training rows the model needs: its points, or all of them where a centred kernel averages over all.
    fn kept(&self, prepared: &Prepared<'_>, model: &dyn Predict) -> Kept {
        let stack = prepared.stack.as_ref().filter(|_| self.uses_kernels());
        let all = if self.uses_kernels() { prepared.kernels.len() } else { 0 };
        let used = model.kernels().unwrap_or_else(|| (0..all).collect());
        let kernels: Vec<Kernel> = used.iter().map(|&m| prepared.kernels[m].clone()).collect();
        let centring = stack.map_or_else(Vec::new, |stack| used.iter().map(|&m| stack.centring()[m].clone()).collect());
        let points = model.points();
        if kernels.iter().any(Kernel::is_centred) {
            Kept { used, rows: prepared.rows.clone(), columns: points.to_vec(), centring, kernels }
        } else {
            Kept {
                used,
                rows: prepared.rows.select_rows(points),
                columns: (0..points.len()).collect(),
                centring,
                kernels,
            }
        }
    }
}

/// The training rows inside a model and how its stack is made from them.
pub(super) struct Kept {
    /// Which kernels of the bank the model uses, ascending.
    pub(super) used: Vec<usize>,
    pub(super) rows: Features,
    /// Which of `rows` the model's points are, in its order.
    pub(super) columns: Vec<usize>,
    /// The used kernels and, for the centred ones, their training means.
    pub(super) kernels: Vec<Kernel>,
    pub(super) centring: Vec<Option<Centring>>,
}

/// More classes than this, and fewer than two rows each, is no classification.
const FEW_CLASSES: usize = 10;

fn check_labels(data: &Dataset) -> Result<()> {
    let labels = &data.labels;
    let counts = labels.counts();
    let present: Vec<usize> = (0..labels.n_classes()).filter(|&class| counts[class] > 0).collect();
    let (n, n_classes) = (labels.n_samples(), present.len());
    let message = match present.as_slice() {
        [] => "there are no training rows; give at least one row of each of two classes".into(),
        [only] => {
            let name = &labels.classes()[*only];
            format!("all training rows ({n}) have the class `{name}`; a classifier needs rows of at least two classes")
        }
        _ if n_classes > FEW_CLASSES && 2 * n_classes > n => {
            let column =
                data.label_name.as_ref().map_or("the label".into(), |name| format!("the label column '{name}'"));
            format!(
                "{column} has {n_classes} different values in {n} rows: a number or an id is no class; choose the class column with --label"
            )
        }
        _ => return Ok(()),
    };
    Err(Error::data(Place::file(data.name.clone()), message))
}
