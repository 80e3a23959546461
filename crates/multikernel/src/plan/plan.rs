//! A plan: method, parameters, bank, scaling and seed; the unit that is trained, cross-validated and written into a
//! model.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::by_kind::bank_by_kind;
use super::model::{Header, Learned, Model, TrainedOn, Units};
use super::one_class::one_class;
use super::prepare::{Preparation, Prepared};
use super::registry::Registry;
use super::session::Session;
use super::share::shares;
use super::views::{Missing, Part};
use crate::data::{Dataset, Preprocessor, Recipe, Samples, Scale, Standard, Target, TargetKind};
use crate::error::{Error, Result};
use crate::kernel::{
    AUTO_BANK, AUTO_BANK_OF_ONE_WIDTH, AUTO_BANK_OF_VIEWS, AUTO_BANK_WITHOUT_COLUMNS, CENTRED_BANK,
    CENTRED_BANK_OF_VIEWS, DEFAULT_BANK, DEFAULT_BANK_OF_VIEWS, Families, Kernel, KernelBank,
};
use crate::pool::Pool;
use crate::run::inner::{self, Deal, HeldOut, Tuned, Want};
use crate::run::{AnyMethod, Calibration, Input, Method, Needs, Param, Params, Rows, Run, Runner, Silent, Stop, Task};
use crate::stack::Precision;

/// Kernels on single columns of the default bank of `auto` are for tables with at most this many values; of more rows
/// than this, `auto` compares candidates on some.
const MOST_VALUES_OF_COLUMNS: usize = 40_000;
const MOST_ROWS_OF_COLUMNS: usize = 2_000;
/// How many kernels that bank has on each column.
const KERNELS_OF_A_COLUMN: usize = 5;
/// Rows for each column from which on it has a kernel of its own in the bank of one width.
const ROWS_OF_A_COLUMN: usize = 2;
/// Rows from which on `auto` also has kernels on columns in their own units.
const FEWEST_ROWS_UNSCALED: usize = 50;

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
    params: Params,
    families: Families,
    bank: Option<KernelBank>,
    recipe: Recipe,
    missing: Missing,
    part: Part,
    title: Option<String>,
    proba: bool,
    precision: Precision,
    seed: u64,
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.settings()).finish()
    }
}

impl Plan {
    /// A method of the standard registry, with default parameters.
    pub fn new(method: &str) -> Result<Plan> {
        Plan::from_registry(&Registry::standard(), method)
    }

    /// A method given by its parameter struct; values out of range are rejected.
    ///
    /// ```
    /// use multikernel::{Plan, method::SimpleMkl};
    /// let plan = Plan::of(SimpleMkl { c: 50.0, ..Default::default() })?;
    /// assert_eq!(plan.params(), Plan::new("simplemkl")?.set("c", "50")?.params());
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn of(method: impl Method) -> Result<Plan> {
        Plan::with_method(Box::new(method), Families::standard())
    }

    /// A method of any registry, with the parameters it was registered with.
    pub fn from_registry(registry: &Registry, method: &str) -> Result<Plan> {
        Plan::with_method(registry.get(method)?.boxed(), registry.families().clone())
    }

    fn with_method(method: Box<dyn AnyMethod>, families: Families) -> Result<Plan> {
        let about = method.about();
        // The method's default bank must parse even if it is never used.
        if about.needs != Needs::Rows {
            families.bank(about.bank)?;
        }
        Ok(Plan {
            params: Params::new(method)?,
            families,
            bank: None,
            recipe: Recipe::default(),
            missing: Missing::default(),
            part: Part::default(),
            title: None,
            proba: false,
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
        self.bank = Some(self.families.bank(bank)?);
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
        self.recipe.scale = scale;
        self
    }

    /// Sets all preprocessing of features before the kernels.
    #[must_use]
    pub fn recipe(mut self, recipe: Recipe) -> Plan {
        self.recipe = recipe;
        self
    }

    /// Sets how rows that lack views are treated.
    #[must_use]
    pub fn missing(mut self, missing: Missing) -> Plan {
        self.missing = missing;
        self
    }

    /// Requests class probabilities: five more trainings on inner folds, for methods that have none of their own.
    #[must_use]
    pub fn proba(mut self, proba: bool) -> Plan {
        self.proba = proba;
        self
    }

    /// Drops the kernels of some views, or keeps only those.
    #[must_use]
    pub fn part(mut self, part: Part) -> Plan {
        self.part = part;
        self
    }

    /// Sets how kernel values are stored; recorded in the model, whose predictions store them the same way.
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Plan {
        self.precision = precision;
        self
    }

    /// The method's name.
    pub fn name(&self) -> &'static str {
        self.method().about().name
    }

    /// Whether the method works on kernels.
    pub fn uses_kernels(&self) -> bool {
        self.method().about().needs != Needs::Rows
    }

    /// Whether the method learns from labels; an unsupervised one accepts rows of a single class.
    pub fn is_supervised(&self) -> bool {
        self.method().is_supervised()
    }

    /// The kernel bank for these samples, for methods that work on kernels: the one that was set, or the method's
    /// default, which is on each view if there are views and includes all Gram matrices.
    pub fn bank(&self, samples: &Samples) -> Result<Option<KernelBank>> {
        if !self.uses_kernels() {
            return Ok(None);
        }
        let own = self.own_bank(samples);
        if self.part == Part::Concatenated {
            return self.families.bank(own).map(Some);
        }
        if self.bank.is_some() {
            return Ok(self.bank.clone());
        }
        let by_kind = (!samples.is_numeric()).then(|| bank_by_kind(own, samples).0);
        let own = match own {
            _ if by_kind.is_some() => by_kind.as_deref().unwrap_or_default(),
            DEFAULT_BANK if !samples.views().is_empty() => match self.method().about().bank {
                AUTO_BANK | AUTO_BANK_WITHOUT_COLUMNS if samples.grams().is_empty() => {
                    self.with_or_without_unscaled(AUTO_BANK_OF_VIEWS, samples)
                }
                _ => DEFAULT_BANK_OF_VIEWS,
            },
            CENTRED_BANK if !samples.views().is_empty() => CENTRED_BANK_OF_VIEWS,
            bank => bank,
        };
        let own = (samples.n_features() > 0).then(|| own.to_string());
        let grams = samples.grams().iter().map(|gram| Kernel::precomputed(gram.name()).to_string());
        self.families.bank(&own.into_iter().chain(grams).collect::<Vec<_>>().join(", ")).map(Some)
    }

    /// The bank of the method before views and kinds of columns are looked at. Alternatives are for plain tables of
    /// numbers, and kernels on single columns for those with few enough values and at least as many rows as kernels,
    /// or with one width twice as many as columns: with fewer, some fit by chance.
    fn own_bank(&self, samples: &Samples) -> &'static str {
        let bank = self.method().about().bank;
        let is_plain = samples.is_numeric() && samples.grams().is_empty() && samples.views().is_empty();
        let n_values = samples.n_samples().min(MOST_ROWS_OF_COLUMNS).saturating_mul(samples.n_features());
        let has_columns = |rows_of_each: usize| {
            samples.n_features() > 1
                && n_values <= MOST_VALUES_OF_COLUMNS
                && rows_of_each * samples.n_features() <= samples.n_samples()
        };
        let bank = match bank {
            AUTO_BANK | AUTO_BANK_WITHOUT_COLUMNS if !is_plain => return DEFAULT_BANK,
            AUTO_BANK if has_columns(KERNELS_OF_A_COLUMN) => AUTO_BANK,
            AUTO_BANK if has_columns(ROWS_OF_A_COLUMN) => AUTO_BANK_OF_ONE_WIDTH,
            AUTO_BANK => AUTO_BANK_WITHOUT_COLUMNS,
            bank => bank,
        };
        self.with_or_without_unscaled(bank, samples)
    }

    /// The bank of `auto` without its last alternative where columns are not scaled anyway, or where rows are so few that
    /// more candidates only give chance more to choose from.
    fn with_or_without_unscaled(&self, bank: &'static str, samples: &Samples) -> &'static str {
        let offered = self.recipe.scale == Scale::Standard && samples.n_samples() >= FEWEST_ROWS_UNSCALED;
        match bank.rsplit_once(" | ") {
            Some((scaled, last)) if last.ends_with("unscaled") && !offered => scaled,
            _ => bank,
        }
    }

    /// Remarks on the default bank for these samples: columns that no kernel is on.
    pub fn remarks(&self, samples: &Samples) -> Vec<String> {
        match self.uses_kernels() && self.bank.is_none() && !samples.is_numeric() {
            true => bank_by_kind(self.own_bank(samples), samples).1,
            false => vec![],
        }
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// All settings, as printed at the head of a run and compared when one is resumed.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([
            ("method".to_string(), self.name().to_string()),
            ("scale".to_string(), self.recipe.scale.word().to_string()),
            ("seed".to_string(), self.seed.to_string()),
        ]);
        if self.uses_kernels() {
            let bank = self.bank.as_ref().map_or(self.method().about().bank.to_string(), KernelBank::to_string);
            settings.insert("kernels".to_string(), bank);
            settings.insert("precision".to_string(), self.precision.word().to_string());
        }
        // Settings at their defaults are left out.
        let mut say = |name: &str, value: Option<String>| value.map(|value| settings.insert(name.into(), value));
        say("log", self.recipe.log.word());
        say("top_variance", self.recipe.top_variance.map(|k| k.to_string()));
        say("missing", (self.missing != Missing::Skip).then(|| self.missing.word().to_string()));
        say("views", self.part.word());
        say("proba", self.proba.then(|| "yes".to_string()));
        settings.extend(self.params.to_texts());
        settings
    }

    /// What [`Plan::title`] says, for plans that differ in something else than their method.
    #[must_use]
    pub fn titled(mut self, title: &str) -> Plan {
        self.title = Some(title.into());
        self
    }

    /// The plan's name next to others: its method, and the views if not all take part; or what [`Plan::titled`] said.
    pub fn title(&self) -> String {
        if let Some(title) = &self.title {
            return title.clone();
        }
        self.part.word().map_or(self.name().to_string(), |part| format!("{}, {part}", self.name()))
    }

    /// The plain sum of the plan's kernels, to hold learned weights against; `None` if the plan is that.
    pub(crate) fn equal_weights(&self, samples: &Samples) -> Result<Option<Plan>> {
        const PLAIN: &str = "average";
        if self.name() == PLAIN {
            return Ok(None);
        }
        let mut plain = Plan::new(PLAIN)?;
        if let Some((_, c)) = self.settings().into_iter().find(|(name, _)| name == "c") {
            plain = plain.set("c", &c)?;
        }
        // Alternatives are for methods that choose.
        let bank = self.bank(samples)?.filter(|bank| bank.n_alternatives() == 1);
        let plan = Plan { params: plain.params, bank, ..self.clone() };
        Ok(Some(plan.titled(&format!("{}, equal weights", self.name()))))
    }

    /// Whether the plan can be applied to all rows of a data set about to be split.
    pub(crate) fn check(&self, samples: &Samples) -> Result<()> {
        if samples.is_numeric() {
            return self.recipe.check(samples.features(), samples.names(), samples.views());
        }
        // Only numbers have logarithms.
        Preprocessor::fit_samples(&self.recipe, samples, &[], false).map(|_| ())
    }

    /// Whether probabilities are requested.
    pub(crate) fn wants_proba(&self) -> bool {
        self.proba
    }

    /// Whether the plan has the same kernels on these rows as another that differs in its views.
    pub(crate) fn has_kernels_of(&self, other: &Plan, samples: &Samples) -> Result<bool> {
        Ok(self.preparation(samples)?.kernels(samples)? == other.preparation(samples)?.kernels(samples)?)
    }

    /// Whether views are left out.
    pub(crate) fn is_part(&self) -> bool {
        self.part != Part::All
    }

    /// The plan with `auto` parameters at their defaults.
    pub(super) fn without_autos(mut self) -> Plan {
        self.params = self.params.with_defaults();
        self
    }

    pub(super) fn stack_precision(&self) -> Precision {
        self.precision
    }

    pub(super) fn own_seed(&self) -> u64 {
        self.seed
    }

    pub(super) fn own_recipe(&self) -> &Recipe {
        &self.recipe
    }

    pub(super) fn own_missing(&self) -> Missing {
        self.missing
    }

    pub(super) fn method(&self) -> &dyn AnyMethod {
        self.params.method()
    }

    /// Trains on all rows with the machine's threads, silently.
    pub fn train(&self, data: &Dataset) -> Result<Model> {
        let pool = Pool::shared()?;
        self.train_in(data, &mut Session::new(&pool, &mut Silent))
    }

    /// Trains on all rows in a session; see [`Runner::run`] for what happens when it is stopped.
    pub fn train_in(&self, data: &Dataset, session: &mut Session<'_>) -> Result<Model> {
        if let Some(checkpoint) = &session.checkpoint {
            // Report an unusable checkpoint before the kernels are computed, not after.
            checkpoint.open(&self.identity(&data.fingerprint(), session.pool))?;
        }
        let prepared = self.prepare(data, session)?;
        self.remarks(&data.samples).iter().for_each(|note| session.observer.note(note));
        prepared.notes().iter().for_each(|note| session.observer.note(note));
        if let Some(stack) = &prepared.stack {
            // Whoever set a limit should know that it was reached, even in a pipe: it costs time.
            if stack.is_limited() {
                session.observer.note(&stack.describe());
            } else {
                session.observer.talk(&stack.describe());
            }
        }
        self.fit(&prepared, session)
    }

    /// Scales the rows and computes the kernels. Cost: see [`Stack::train`](crate::stack::Stack::train).
    pub fn prepare<'a>(&self, data: &'a Dataset, session: &mut Session<'_>) -> Result<Prepared<'a>> {
        self.check_target(data)?;
        Prepared::new(self.preparation(&data.samples)?, data, session)
    }

    /// Whether the method predicts what the data ask for.
    pub(crate) fn check_target(&self, data: &Dataset) -> Result<()> {
        self.check_kind(data.target.kind())?;
        match &data.target {
            Target::Numbers(numbers) if self.method().takes_counts() => numbers.check_counts(),
            _ => Ok(()),
        }
    }

    /// The kinds of targets that its method predicts, with its parameters.
    pub(crate) fn targets(&self) -> &'static [TargetKind] {
        self.method().targets()
    }

    /// Whether the method predicts targets of this kind.
    pub(super) fn check_kind(&self, kind: TargetKind) -> Result<()> {
        let name = self.name();
        if !self.method().targets().contains(&kind) {
            let registry = Registry::standard();
            let able: Vec<&str> =
                registry.iter().filter(|method| method.targets().contains(&kind)).map(|m| m.about().name).collect();
            if able.contains(&name) {
                let texts = self.params.to_texts();
                let is_own = |param: &&Param| texts.get(param.name).is_some_and(|text| *text != param.default);
                let own =
                    self.method().param_list().iter().filter(is_own).map(|p| format!("{}={}", p.name, texts[p.name]));
                let own = own.collect::<Vec<_>>().join(" ");
                return Err(Error::input(format!(
                    "the method {name} does not predict {kind} with {own}; with its defaults it does"
                )));
            }
            let able = if able.is_empty() { "no method does".into() } else { format!("use {}", able.join(", ")) };
            return Err(Error::input(format!("the method {name} does not predict {kind}; {able}")));
        }
        if kind != TargetKind::Classes && self.proba {
            return Err(Error::param("proba", "probabilities are those of classes; numbers have intervals instead"));
        }
        match self.params.autos().first() {
            Some(auto) if !self.method().tuned_targets().contains(&kind) => Err(Error::param(
                *auto,
                format!("auto is for classes; {name} chooses the noise of {kind} by the evidence: leave it out"),
            )),
            _ => Ok(()),
        }
    }

    /// Whether prepared rows are what this plan would prepare: the same preprocessing and, for methods that work on
    /// kernels, the same bank and precision, and stored kernels if the method passes over them repeatedly.
    pub fn can_use(&self, prepared: &Prepared<'_>) -> bool {
        self.preparation(&prepared.data.samples).is_ok_and(|wanted| prepared.preparation.serves(&wanted))
    }

    /// The settings that determine how rows are prepared.
    pub(super) fn preparation(&self, samples: &Samples) -> Result<Preparation> {
        let (recipe, part) = (self.recipe.clone(), self.part.clone());
        // Kernels on all columns cannot skip a single missing view.
        let missing = if part == Part::Concatenated { Missing::Impute } else { self.missing };
        let (bank, precision) = (self.bank(samples)?, self.precision);
        let (n, is_supervised) = (samples.n_samples(), self.is_supervised());
        let needs = match self.method().about().needs {
            // Kernels between all rows would be gathered from their store, which takes longer than computing them.
            Needs::Stack if self.method().n_landmarks(n).is_some_and(|landmarks| landmarks < n) => Needs::Pass,
            needs => needs,
        };
        Ok(Preparation { recipe, missing, part, bank, precision, needs, is_supervised })
    }

    /// Runs the method on prepared rows; see [`Plan::can_use`] for which. `auto` parameters are chosen first, and
    /// probabilities learned last, both on inner folds.
    pub fn fit(&self, prepared: &Prepared<'_>, session: &mut Session<'_>) -> Result<Model> {
        let (n_rows, kind) = (prepared.data.samples.n_samples(), prepared.data.target.kind());
        self.fit_to(prepared, session).map_err(|error| self.with_way_out(error, n_rows, kind))
    }

    fn fit_to(&self, prepared: &Prepared<'_>, session: &mut Session<'_>) -> Result<Model> {
        if !self.can_use(prepared) {
            return Err(Error::input("the rows were prepared with another bank, precision or scaling than the plan's"));
        }
        let rows = Rows::new(prepared.points.features(), session.memory);
        let input = match &prepared.stack {
            Some(stack) if self.uses_kernels() => Input::Stack(stack),
            _ => Input::Rows(&rows),
        };
        self.check_target(&prepared.data)?;
        let (target, units) = as_given(&prepared.data.target, self.method().takes_counts());
        let task = Task {
            input,
            labels: &prepared.data.labels,
            target: &target,
            groups: prepared.data.groups.as_deref(),
            views: &prepared.views,
            alternatives: &prepared.alternatives,
            seed: self.seed,
            pool: session.pool,
        };
        let (params, tuned) = self.chosen(&task, session)?;
        let fingerprint = prepared.data.fingerprint();
        let identity = self.identity(&fingerprint, session.pool);
        let checkpoint = session.checkpoint.as_ref();
        let mut runner = Runner { control: &session.control, observer: session.observer, checkpoint, identity };
        let run = runner.run(params.method(), &task)?;
        session.observer.phase("shares");
        let shares = shares(&task, run.model.as_ref(), &session.control)?;
        let calibration = self.calibrated(&task, &params, &run, session)?;
        let one_class = match run.stop {
            Stop::Finished if self.is_supervised() => one_class(&task, run.model.as_ref(), &session.control)?,
            _ => None,
        };
        let wants_more = self.proba && calibration.is_none() && run.model.probabilistic().is_none();
        let learned = Learned { shares, calibration, units, tuned, one_class, stream: None };
        let (bank, kernels) = (prepared.preparation.bank.as_ref(), &prepared.kernels);
        let mut header = self.header(&prepared.data, bank, kernels, &params, fingerprint);
        header.stop = match run.stop {
            Stop::Finished if wants_more => {
                let stop = session.control.stop().unwrap_or(Stop::Cancelled);
                format!("{stop} while probabilities were learned: the model has none")
            }
            Stop::Finished => "finished".into(),
            stop => format!("{stop} after {} of {} units of work", run.progress.done, run.progress.total),
        };
        header.device = TrainedOn(session.pool.device().map(|device| device.name().to_string()));
        header.finished = run.stop == Stop::Finished && !wants_more;
        header.steps = run.steps;
        let kept = prepared.kept(&header.kernels, run.model.as_ref());
        Ok(Model { header, kept, learned, predictor: run.model, record: run.record })
    }

    /// The parameters with `auto` ones chosen, and one line about the choice. Under a time limit this takes at most
    /// half of the remaining time; the rest is for the model.
    fn chosen(&self, task: &Task<'_>, session: &mut Session<'_>) -> Result<(Params, Option<String>)> {
        let half = session.control.part(0.5);
        let (mut params, mut lines) = (self.params.clone(), vec![]);
        if let Some((name, candidates)) = params.growing() {
            session.observer.phase("inner fold");
            let tuned = inner::grow(&candidates, task, &half, session.observer)?;
            let (found, line) = told(&[name], &candidates, tuned, None, &params);
            params = params.with_value_of(name, &found);
            lines.push(line);
        }
        let candidates = params.candidates();
        let n = task.n_samples();
        let rehearsals: Option<Vec<Params>> = candidates.iter().map(|params| params.rehearsal(n)).collect();
        if let Some(rehearsals) = rehearsals.filter(|_| candidates.len() > 1) {
            session.observer.phase("inner fold");
            let tuned = inner::descend(&rehearsals, task, inner::SOME, &half, session.observer)?;
            let (found, line) = told(&params.autos(), &candidates, tuned, None, &params);
            params = found;
            lines.push(line);
        } else if candidates.len() > 1 {
            session.observer.phase("inner folds");
            let tuned = inner::tune(&candidates, task, &half, session.observer)?;
            let (found, line) = told(&params.autos(), &candidates, tuned, Some(n), &params);
            params = found;
            lines.push(line);
        }
        match session.control.stop() {
            // The error reports the choice, so that nothing is lost.
            Some(stop) if !lines.is_empty() => Err(Error::Stopped(format!(
                "{stop} while parameters were chosen on inner folds; no model was made, but so far: {}",
                lines.join("; ")
            ))),
            _ => Ok((params.with_defaults(), (!lines.is_empty()).then(|| lines.join("; ")))),
        }
    }

    /// The map from scores to probabilities, if requested and the method has none of its own. If stopped, the model
    /// goes without one.
    fn calibrated(
        &self,
        task: &Task<'_>,
        params: &Params,
        run: &Run,
        session: &mut Session<'_>,
    ) -> Result<Option<Calibration>> {
        if !self.proba || run.model.probabilistic().is_some() || run.stop != Stop::Finished {
            return Ok(None);
        }
        session.observer.phase("probabilities");
        let (folds, control) = (inner::folds(task, Deal::Calibrate)?, &session.control);
        let held_out = HeldOut { want: Want::Margins, task, folds: &folds, control };
        match held_out.all(std::slice::from_ref(params), session.observer) {
            Err(Error::Stopped(_)) => Ok(None),
            margins => Calibration::fit(&margins?[0], task.labels.codes()).map(Some),
        }
    }

    /// What a stored state must match.
    pub(super) fn identity(&self, fingerprint: &str, pool: &Pool) -> BTreeMap<String, String> {
        let mut identity = self.settings();
        // A device rounds otherwise than the threads.
        identity.extend(pool.device().map(|device| ("device".to_string(), device.name().to_string())));
        identity.insert("data fingerprint".into(), fingerprint.into());
        // Another version may round in a different order, and a resumed run promises the bits of an uninterrupted one.
        identity.insert("multikernel version".into(), env!("CARGO_PKG_VERSION").into());
        identity
    }

    pub(super) fn header(
        &self,
        data: &Dataset,
        bank: Option<&KernelBank>,
        kernels: &[Kernel],
        params: &Params,
        fingerprint: String,
    ) -> Header {
        let samples: &Samples = &data.samples;
        let kernels = if self.uses_kernels() { kernels } else { &[] };
        Header {
            method: self.name().into(),
            params: params.to_texts(),
            bank: bank.filter(|_| self.uses_kernels()).map(KernelBank::to_string),
            kernels: kernels.into(),
            scale: self.recipe.scale,
            precision: self.precision,
            device: TrainedOn::default(),
            seed: self.seed,
            classes: if data.target == Target::Classes { data.labels.classes().to_vec() } else { vec![] },
            features: samples.names().to_vec(),
            views: samples.views().to_vec(),
            label: data.label_name.clone(),
            index_base: data.index_base.map(u64::from),
            dataset: data.name.clone(),
            n_samples: samples.n_samples(),
            fingerprint,
            stop: String::new(),
            finished: true,
            steps: 0,
        }
    }
}

/// The target as a method is given it, and the units of its numbers.
pub(super) fn as_given(target: &Target, takes_counts: bool) -> (Cow<'_, Target>, Option<Units>) {
    match target {
        Target::Numbers(numbers) if takes_counts => {
            let units = Units { names: numbers.names().to_vec(), standard: Standard::plain(numbers.n_targets()) };
            (Cow::Borrowed(target), Some(units))
        }
        Target::Numbers(numbers) => {
            let (standard, units) = numbers.standardised();
            let units = Units { names: numbers.names().to_vec(), standard: units };
            (Cow::Owned(Target::Numbers(standard)), Some(units))
        }
        other => (Cow::Borrowed(other), None),
    }
}

/// The setting chosen for parameters that are `auto`, and a line about it. Of `n_rows` rows, if known, some may be left
/// unscored.
fn told(
    autos: &[&'static str],
    candidates: &[Params],
    tuned: Option<Tuned>,
    n_rows: Option<usize>,
    params: &Params,
) -> (Params, String) {
    let texts = |params: &Params| {
        let texts = params.to_texts();
        autos.iter().map(|&name| format!("{name} = {}", texts[name])).collect::<Vec<_>>().join(", ")
    };
    let Some(Tuned { best, figure, figures, n_scored }) = tuned else {
        let params = params.with_defaults();
        let line = format!("{}, the default: inner folds had no time to score a value", texts(&params));
        return (params, line);
    };
    let scored = candidates.iter().zip(&figures);
    let all: Vec<String> = scored.map(|(params, figure)| format!("{} {figure:.4}", texts(params))).collect();
    let on = match n_rows {
        None => format!(" on {n_scored} rows"),
        Some(n) if n_scored < n => format!(" on {n_scored} of {n} rows, as time ran out,"),
        Some(_) => String::new(),
    };
    (candidates[best].clone(), format!("{}; held-out {figure}{on} of {}", texts(&candidates[best]), all.join("; ")))
}
