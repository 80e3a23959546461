//! `online`.

mod counters;
mod predictions;
mod source;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use multikernel::data::{Batch, OnError, RowStream, Samples};
use multikernel::file;
use multikernel::plan::{Model, Plan, Registry};
use multikernel::report::{StreamEnd, StreamLine, StreamScore, count};
use multikernel::run::{Control, Observer, Stop};
use multikernel::{Error, Matrix, Online, Place, Pool};

use crate::args;
use crate::bar::Bar;
use crate::flags;
use crate::predict::guard_formulas;
use crate::{data, is_closed_pipe, memory, print, stop, terminal};
use counters::{Counters, Setup};
use predictions::Predictions;
use source::Source;

/// Maximum number of rows learned between two checks whether to stop.
const CHUNK: usize = 256;

/// Maximum number of skipped lines reported individually.
const TOLD: u64 = 20;

/// Default number of rows to learn scales and widths from.
const WARMUP: usize = 1000;

pub(crate) fn run(args: &args::Online, registry: &Registry) -> Result<()> {
    let plan = plan(args, registry)?;
    check_numbers(args)?;
    check_paths(args)?;
    guard_formulas(args.guard_formulas);
    let mut job = Job {
        args,
        name: if args.stream == "-" { "standard input" } else { args.stream.as_str() },
        setup: Setup::new(args, &plan),
        pool: args.limits.pool()?,
        control: data::control(&args.limits)?,
        bar: Bar::new(args.limits.quiet).watching(args.watch.as_deref())?,
        skipped: Skipped::default(),
        spelling: Spelling::default(),
    };
    // Streams ask whether to stop between any two reads.
    stop::enter("stream");
    let known = job.known(registry)?;
    job.skipped.after = known.counters().map_or(0, |counters| counters.line);
    let mut stream = job.open(&known)?;
    let first = job.first_rows(&mut stream, &known)?;
    let run = Run::new(job, known, &stream, &first)?;
    run.through(&mut stream, first)
}

/// The default method.
const METHOD: &str = "mklda";

/// The plan: as requested or, when resuming from a model, the model's own.
fn plan(args: &args::Online, registry: &Registry) -> Result<Plan> {
    let model = args.model.as_ref().map(|path| Model::load_with(path, registry)).transpose()?;
    if let Some(model) = &model {
        let (asked, scale) = (args.choices.scale.as_str(), model.input().scale().word());
        if asked != "standard" && asked != scale {
            bail!("--scale {asked} cannot be given: the model's features are scaled {scale}");
        }
    }
    let model = model.filter(|model| model.training().is_online());
    let known = model.as_ref().map_or(METHOD, |model| model.training().method()).to_string();
    let method = args.method.clone().unwrap_or(known);
    let mut plan = data::plans_of(std::slice::from_ref(&method), &args.choices, registry)?.remove(0);
    let is_set = |name: &str| {
        let key = |set: &String| set.split('=').next().is_some_and(|key| key.trim().rsplit('.').next() == Some(name));
        args.choices.set.iter().any(key)
    };
    for (name, value) in
        model.iter().filter(|model| model.training().method() == method).flat_map(|model| model.training().params())
    {
        if !is_set(name) {
            plan = plan.set(name, value)?;
        }
    }
    Ok(plan)
}

/// The context of a run.
struct Job<'a> {
    args: &'a args::Online,
    /// The stream's name in messages.
    name: &'a str,
    setup: Setup,
    pool: Pool,
    control: Control,
    bar: Bar,
    skipped: Skipped,
    spelling: Spelling,
}

/// What is known before the first row.
enum Known {
    /// Nothing: scales, kernels and features are set from the first rows.
    Nothing,
    /// A model, to continue with new rows.
    Model(Online),
    /// A stored run, to resume.
    Run(Online, Counters),
}

impl Known {
    fn counters(&self) -> Option<&Counters> {
        if let Known::Run(_, counters) = self { Some(counters) } else { None }
    }

    fn online(&self) -> Option<&Online> {
        match self {
            Known::Nothing => None,
            Known::Model(online) | Known::Run(online, _) => Some(online),
        }
    }
}

impl<'a> Job<'a> {
    /// The checkpoint if there is one to resume, else the given model.
    fn known(&self, registry: &Registry) -> Result<Known> {
        let (args, Setup { plan, options, .. }) = (self.args, &self.setup);
        if let Some(path) = args.checkpoint.as_deref().filter(|path| args.resume && path.exists()) {
            let model = Model::load_with(path, registry)?;
            self.setup.check_model(path, &model)?;
            let online = Online::from_model(model, plan, options, &self.pool)?;
            let Some(counters) = Counters::from_memo(online.memo()).filter(|_| online.is_continued()) else {
                bail!("{}: is a model, but no checkpoint of an online run; go on from it with --model", path.display());
            };
            self.setup.check_memo(path, online.memo())?;
            return Ok(Known::Run(online, counters));
        }
        let Some(path) = &args.model else { return Ok(Known::Nothing) };
        let online = Online::from_model(Model::load_with(path, registry)?, plan, options, &self.pool)?;
        let given = [("update-every", args.update_every), ("budget", args.budget)];
        if let Some((flag, _)) = given.iter().find(|(_, given)| given.is_some() && online.is_continued()) {
            bail!("--{flag} cannot be given: {} was learned online and goes on as it was begun", path.display());
        }
        Ok(Known::Model(online))
    }

    /// Opens the stream. Without a model its first rows determine its columns, on resuming just as at the start.
    fn open(&self, known: &Known) -> Result<RowStream<'a>> {
        let expect = known.online().filter(|_| self.args.model.is_some()).map(Online::expect);
        let mut options = data::options_of(&self.args.columns, expect)?;
        options.target = self.target(known)?.into_iter().collect();
        options.memory = memory::limit(None)?;
        let source = Source::open(&self.args.stream, self.control.clone())?;
        Ok(RowStream::open(source, self.name, &options).map_err(|error| self.stopped(error))?)
    }

    /// The column of numbers to predict: as given, or the model's.
    fn target(&self, known: &Known) -> Result<Option<String>> {
        let given = self.args.target.clone();
        let Some(online) = known.online() else { return Ok(given) };
        match (online.number_names(), given) {
            ([], Some(_)) => bail!("--target cannot be given: the model to go on from predicts classes"),
            ([], None) => Ok(None),
            ([name], given) => Ok(Some(given.unwrap_or_else(|| name.clone()))),
            (names, _) => {
                let names = names.join(", ");
                bail!("the model predicts several numbers ({names}), and a stream has one; go on from it in Rust")
            }
        }
    }

    /// The rows that scales, kernels and features are set from; with a model, those available now.
    fn first_rows(&mut self, stream: &mut RowStream<'_>, known: &Known) -> Result<Batch> {
        let waits = self.args.model.is_none();
        let warmup = self.args.warmup.unwrap_or(WARMUP);
        let n = known.counters().map_or(warmup, |counters| counters.first as usize);
        let name = self.name;
        self.bar
            .live(|| if waits { format!("{name}: waiting for {n} rows") } else { format!("{name}: waiting for rows") });
        let found =
            self.on_error(|on_error| if waits { stream.gather(n, on_error) } else { stream.next(CHUNK, on_error) });
        let Some(mut batch) = found.map_err(|error| self.stopped(error))? else {
            bail!("{name}: the stream ended without a row to learn from; give at least one");
        };
        stream.notes().iter().for_each(|note| self.bar.note(&format!("{name}: {}", flags::text(note))));
        self.spelling.of_numbers = self.target(known)?.is_some();
        if let Some(online) = known.online() {
            self.spelling.know(online.classes());
        }
        self.spelling.respell(&mut batch.labels);
        Ok(batch)
    }

    /// The next available rows; `None` at the end and when asked to stop.
    fn next_rows(&mut self, stream: &mut RowStream<'_>) -> Result<Option<Batch>> {
        match (self.on_error(|on_error| stream.next(CHUNK, on_error)), self.control.stop()) {
            (Err(_), Some(_)) => Ok(None),
            (Ok(Some(mut batch)), _) => {
                self.spelling.respell(&mut batch.labels);
                Ok(Some(batch))
            }
            (found, _) => Ok(found?),
        }
    }

    /// When a stream is read again, its rows must have the same features.
    fn check_features(&self, online: &Online, names: &[String]) -> Result<()> {
        // A stop may have truncated the first rows.
        if self.control.stop().is_some() || online.expect().names == names {
            return Ok(());
        }
        bail!(
            "{}: belongs to another run: its features are not those of {}; give the same stream from its beginning, or another \
             checkpoint file",
            self.checkpoint(),
            self.name
        );
    }

    /// The checkpoint's name in messages.
    fn checkpoint(&self) -> String {
        self.args.checkpoint.as_deref().unwrap_or(Path::new("the checkpoint")).display().to_string()
    }

    /// Reads with a policy for lines that are not rows.
    fn on_error<T>(&mut self, read: impl FnOnce(OnError<'_>) -> T) -> T {
        let (skipped, bar) = (&mut self.skipped, &mut self.bar);
        if !self.args.skips() {
            return read(OnError::Fail);
        }
        read(OnError::Skip(&mut |error: Error| {
            skipped.count += 1;
            skipped.tell(&error, bar);
        }))
    }

    /// The error for a stream that gave nothing because it was stopped.
    fn stopped(&self, error: Error) -> Error {
        match self.control.stop() {
            Some(stop) => Error::Stopped(format!("{stop} before the first row; nothing was learned")),
            None => error,
        }
    }
}

/// Rejects numbers that the argument parser accepts but that make no sense.
fn check_numbers(args: &args::Online) -> Result<()> {
    for (flag, given) in [("warmup", args.warmup), ("update-every", args.update_every), ("budget", args.budget)] {
        if given == Some(0) {
            bail!("--{flag} 0: must be 1 or more");
        }
    }
    if Duration::try_from_secs_f64(args.checkpoint_seconds).is_err() {
        bail!("--checkpoint-seconds {}: must be 0 (after each chunk of rows) or more", args.checkpoint_seconds);
    }
    let chosen = [
        ("kernels", !args.choices.kernels.is_empty()),
        ("log", !args.choices.log.is_empty()),
        ("top-variance", args.choices.top_variance.is_some()),
    ];
    if let Some((flag, _)) = chosen.iter().find(|(_, is_given)| *is_given && args.model.is_some()) {
        bail!(
            "--{flag} cannot be given with --model, whose preprocessing and kernels are taken; leave one of them out"
        );
    }
    Ok(())
}

/// Checks before work starts that results can be written and overwrite nothing else, and claims their files.
fn check_paths(args: &args::Online) -> Result<()> {
    let outputs = [
        ("--out", &args.out),
        ("--checkpoint", &args.checkpoint),
        ("--predictions", &args.predictions),
        ("--watch", &args.watch),
    ];
    let outputs: Vec<(&str, &Path)> =
        outputs.into_iter().filter_map(|(flag, path)| Some((flag, path.as_deref()?))).collect();
    let model = args.model.as_ref().map(|path| path.display().to_string());
    for (k, &(flag, path)) in outputs.iter().enumerate() {
        for input in [Some(&args.stream), model.as_ref()].into_iter().flatten() {
            data::check_other_file(flag, path, input)?;
        }
        if let Some((other, _)) = outputs[..k].iter().find(|(_, other)| file::is_same(path, other)) {
            bail!("{flag} and {other} are both {}; give two different files", path.display());
        }
        match flag {
            "--predictions" | "--watch" => file::check_writable(path)?,
            _ => file::check_replaceable(path)?,
        }
    }
    match &args.checkpoint {
        Some(path) if path.exists() && !args.resume => bail!(
            "{}: exists already and would be overwritten; add --resume to go on from it, or remove it to start anew",
            path.display()
        ),
        _ => stop::claim(outputs.iter().map(|(_, path)| *path)),
    }
}

/// Lines that were not rows.
#[derive(Default)]
struct Skipped {
    /// Those that could not be parsed.
    count: u64,
    told: u64,
    /// Lines up to this one were reported by the run being resumed.
    after: u64,
}

impl Skipped {
    /// Reports where and why, for the first ones.
    fn tell(&mut self, error: &Error, bar: &mut Bar) {
        if matches!(error, Error::Data { place: Place { line: Some(line), .. }, .. } if *line <= self.after) {
            return;
        }
        self.told += 1;
        if self.told <= TOLD {
            bar.note(&format!("skipped {}", flags::of(error)));
        }
        if self.told == TOLD {
            bar.note("further lines that are no rows are skipped and only counted");
        }
    }
}

/// One spelling per class: a label that does not match a class literally is matched by its numeric value, so `1.0` is
/// the class `1`.
#[derive(Default)]
struct Spelling {
    /// Whether labels are numbers, no classes: those stay as they are.
    of_numbers: bool,
    known: HashSet<String>,
    numbers: HashMap<u64, String>,
}

impl Spelling {
    fn know(&mut self, classes: &[String]) {
        for class in classes {
            if let Some(number) = number(class) {
                self.numbers.entry(number).or_insert_with(|| class.clone());
            }
            self.known.insert(class.clone());
        }
    }

    fn respell(&mut self, labels: &mut [String]) {
        if self.of_numbers {
            return;
        }
        for label in labels {
            if self.known.contains(label.as_str()) {
                continue;
            }
            match number(label).and_then(|number| self.numbers.get(&number)) {
                Some(class) => label.clone_from(class),
                None => self.know(std::slice::from_ref(label)),
            }
        }
    }
}

/// The bits of a numeric label, with -0 as 0.
fn number(label: &str) -> Option<u64> {
    label.parse::<f64>().ok().filter(|value| value.is_finite()).map(|value| (value + 0.0).to_bits())
}

/// A learner working through a stream.
struct Run<'a> {
    job: Job<'a>,
    online: Online,
    counters: Counters,
    /// The counters of the run being resumed; taken once its rows have been passed.
    resumed: Option<Counters>,
    predictions: Option<Predictions>,
    /// Whether the header of the table is printed.
    is_headed: bool,
    /// Whether the table still has a reader.
    is_heard: bool,
    /// When the last line was printed, and after how many rows.
    last_line: (Instant, u64),
    last_checkpoint: Instant,
    /// Whether the last checkpoint could not be stored.
    is_failing: bool,
}

impl<'a> Run<'a> {
    fn new(mut job: Job<'a>, known: Known, stream: &RowStream<'_>, first: &Batch) -> Result<Self> {
        let waits = job.args.model.is_none();
        let begun = Counters::begun_with(if waits { first.lines.len() } else { 0 });
        let (online, resumed) = match known {
            Known::Run(online, counters) => {
                job.check_features(&online, stream.names())?;
                (online, Some(counters))
            }
            Known::Model(online) => (online, None),
            Known::Nothing => {
                let warmup = stream.dataset(first.clone())?;
                (Online::begin(&job.setup.plan, &warmup, &job.setup.options, &job.pool)?, None)
            }
        };
        let predictions = match (&job.args.predictions, &resumed) {
            (Some(path), Some(resumed)) => Some(Predictions::resume(path, resumed.rows)?),
            (Some(path), None) => Some(Predictions::create(path)?),
            (None, _) => None,
        };
        if let (Some(path), None, true) = (&job.args.model, &resumed, online.is_continued()) {
            let n = online.n_rows();
            job.bar.note(&format!("going on from {}, which has learned {n} rows", path.display()));
        }
        if let (Some(path), None, false) = (&job.args.model, &resumed, online.is_continued()) {
            let (path, is_numbers) = (path.display(), !online.number_names().is_empty());
            let last = if is_numbers { "units" } else { "classes" };
            job.bar.note(&format!("{path} was not learned online: only its scales, kernels and {last} are taken"));
        }
        if let (true, None, [(mean, deviation)], [name]) =
            (waits, &resumed, &online.number_units()[..], online.number_names())
        {
            let n = count(first.lines.len(), "row");
            job.bar.note(&format!(
                "{name}: standardised by the first {n}, mean {mean:.6}, standard deviation {deviation:.6}"
            ));
        }
        let begun = begun.with_errors(online.errors().first());
        let now = Instant::now();
        Ok(Run {
            job,
            online,
            // The rows of a resumed run are counted again, to verify that they are the same.
            counters: begun,
            resumed,
            predictions,
            is_headed: false,
            is_heard: true,
            last_line: (now, 0),
            last_checkpoint: now,
            is_failing: false,
        })
    }

    /// Learns the stream to its end, or until it is stopped.
    fn through(mut self, stream: &mut RowStream<'_>, first: Batch) -> Result<()> {
        match self.learn_all(stream, first) {
            Ok(stop) => self.end(stop),
            Err(error) => {
                // Keep what was learned before the error. Should that fail too, the first error is the one that
                // matters.
                if self.resumed.is_none() && self.job.args.checkpoint.is_some() {
                    self.store().ok();
                }
                self.job.bar.clear();
                Err(error)
            }
        }
    }

    fn learn_all(&mut self, stream: &mut RowStream<'_>, first: Batch) -> Result<Stop> {
        let mut next = Some(first);
        while let Some(batch) = next {
            self.take(&batch)?;
            if let Some(predictions) = &mut self.predictions {
                predictions.flush()?;
            }
            let due = self.last_checkpoint.elapsed().as_secs_f64() >= self.job.args.checkpoint_seconds;
            if due && self.resumed.is_none() && self.job.args.checkpoint.is_some() {
                self.store_or_warn();
            }
            next = if self.job.control.stop().is_none() { self.job.next_rows(stream)? } else { None };
        }
        match self.job.control.stop() {
            Some(stop) => Ok(stop),
            None => {
                self.pass_resumed(true)?;
                Ok(Stop::Finished)
            }
        }
    }

    /// Skips rows that a resumed run has already learned, and learns the others.
    fn take(&mut self, batch: &Batch) -> Result<()> {
        let before = self.resumed.as_ref().map_or(0, |resumed| resumed.line);
        let n_before = batch.lines.iter().take_while(|&&line| line <= before).count();
        for i in 0..n_before {
            self.counters.see(batch, i);
        }
        if n_before < batch.lines.len() {
            self.pass_resumed(false)?;
        }
        for start in (n_before..batch.lines.len()).step_by(CHUNK) {
            if start > n_before && self.job.control.stop().is_some() {
                break;
            }
            self.learn_chunk(batch, start, batch.lines.len().min(start + CHUNK))?;
            self.show();
        }
        Ok(())
    }

    /// Learns rows, stopping at each table line that falls among them.
    fn learn_chunk(&mut self, batch: &Batch, mut start: usize, end: usize) -> Result<()> {
        while start < end {
            let stop = start + self.counters.until_line(end - start);
            self.learn(batch, start, stop)?;
            start = stop;
            if self.counters.is_line_due() {
                self.print_line(None)?;
            }
        }
        Ok(())
    }

    /// Once the rows of a resumed run have been passed: they must be those it learned.
    fn pass_resumed(&mut self, at_end: bool) -> Result<()> {
        let Some(resumed) = &self.resumed else { return Ok(()) };
        let (path, name) = (self.job.checkpoint(), self.job.name);
        if at_end && self.counters.line < resumed.line {
            bail!(
                "{name}: ended after line {}, but {path} has learned up to line {}; give the whole stream again",
                self.counters.line,
                resumed.line
            );
        }
        if self.counters.seen() != resumed.seen() {
            bail!(
                "{path}: belongs to another run: the rows of {name} up to line {} are not those it has learned; give the \
                 same stream from its beginning, or another checkpoint file",
                resumed.line
            );
        }
        self.job
            .bar
            .note(&format!("resumed: read past {} that {path} has learned", count(resumed.rows as usize, "row")));
        self.go_on();
        Ok(())
    }

    /// From here on, this is the resumed run.
    fn go_on(&mut self) {
        if let Some(resumed) = self.resumed.take() {
            self.counters = resumed;
            self.last_line = (Instant::now(), self.counters.rows);
        }
    }

    /// Learns rows without a table line among them. A row that the learner rejects counts as a line that is not a row.
    fn learn(&mut self, batch: &Batch, start: usize, end: usize) -> Result<()> {
        let rows: Vec<usize> = (start..end).collect();
        let (correct, n_rows) = (self.online.n_correct(), self.online.n_rows());
        let samples = batch.samples.select_rows(&rows);
        let predicted = match self.learned(&samples, &batch.labels[start..end]) {
            Ok(predicted) => predicted,
            Err(Error::Input(_)) if end - start > 1 && self.online.n_rows() == n_rows => {
                return (start..end).try_for_each(|i| self.learn(batch, i, i + 1));
            }
            Err(Error::Input(message)) if end - start == 1 => {
                let error = Error::data(Place::line(self.job.name, batch.lines[start]), message);
                if !self.job.args.skips() {
                    return Err(error.into());
                }
                self.counters.refuse(batch, start);
                self.job.skipped.tell(&error, &mut self.job.bar);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        for (i, predicted) in (start..end).zip(predicted) {
            self.counters.learned(batch, i);
            if let Some(predictions) = &mut self.predictions {
                predictions.add(self.counters.rows, &batch.labels[i], predicted.as_deref())?;
            }
        }
        self.counters.correct += self.online.n_correct() - correct;
        Ok(())
    }

    /// Learns rows. Returns what was predicted for them before, as text; nothing while no class is known.
    fn learned(&mut self, samples: &Samples, labels: &[String]) -> multikernel::Result<Vec<Option<String>>> {
        let pool = &self.job.pool;
        let Some(name) = self.online.number_names().first() else {
            let found = self.online.learn(samples, labels, pool)?;
            let class = |code: Option<usize>| code.and_then(|code| self.online.classes().get(code)).cloned();
            return Ok(found.into_iter().map(class).collect());
        };
        let number = |label: &String| {
            let value = label.parse::<f64>().ok().filter(|value| value.is_finite());
            value.ok_or_else(|| Error::Input(format!("'{label}' for the target '{name}' is not a number").into()))
        };
        let values = labels.iter().map(number).collect::<multikernel::Result<Vec<f64>>>()?;
        let found = self.online.learn_numbers(samples, &Matrix::from_vec(values.len(), 1, values)?, pool)?;
        Ok(found.data().iter().map(|value| Some(value.to_string())).collect())
    }

    /// The next line of the table.
    fn line(&self) -> StreamLine {
        let (rows, correct) = self.counters.since_line();
        let seconds = self.last_line.0.elapsed().as_secs_f64();
        let learned = self.counters.rows - self.last_line.1;
        let score = match self.online.errors().first() {
            None => StreamScore::Accuracy {
                all: share(self.counters.correct, self.counters.rows).unwrap_or(0.0),
                since_last: share(correct, rows),
            },
            Some(errors) => {
                let [all, since_last] = self.counters.errors(errors);
                StreamScore::Errors { r2: all.r2(), since_last: since_last.r2(), rmse: all.rmse(), mae: all.mae() }
            }
        };
        StreamLine {
            rows: self.counters.rows,
            score,
            n_support: self.online.n_support(),
            rows_per_second: (seconds > 0.0 && learned > 0).then(|| learned as f64 / seconds),
            kernels: self.online.kernel_names().into_iter().zip(self.online.weights()).collect(),
        }
    }

    fn print_line(&mut self, end: Option<&StreamEnd>) -> Result<()> {
        let line = self.line();
        let text = match (self.job.args.json, self.is_headed) {
            (true, _) => line.to_json(end) + "\n",
            (false, true) => terminal::escaped(&format!("{line}\n")).into_owned(),
            (false, false) => terminal::escaped(&format!("{}{line}\n", line.header())).into_owned(),
        };
        self.is_headed = true;
        if self.is_heard {
            match self.job.bar.above(|| print(&text)) {
                // A closed pipe has had all the table it wanted, but the model is still needed.
                Err(error) if is_closed_pipe(&error) && self.job.args.out.is_some() => self.is_heard = false,
                printed => printed?,
            }
        }
        self.counters.print_line(self.online.errors().first());
        self.last_line = (Instant::now(), self.counters.rows);
        Ok(())
    }

    /// Shows the run's progress on a terminal.
    fn show(&mut self) {
        let (name, counters) = (self.job.name, &self.counters);
        let (figure, value) = match self.online.errors().first() {
            None => ("accuracy", share(counters.correct, counters.rows).unwrap_or(0.0)),
            Some(errors) => ("R2", counters.errors(errors)[0].r2().unwrap_or(0.0)),
        };
        let n_support = self.online.n_support();
        self.job.bar.live(|| format!("{name}: {} rows, {figure} {value:.4}, support {n_support}", counters.rows));
        self.job.bar.figure(figure, counters.rows, value);
    }

    /// Writes the checkpoint, after the predictions it relies on.
    fn store(&mut self) -> Result<()> {
        if let Some(predictions) = &mut self.predictions {
            predictions.sync()?;
        }
        // With a single class there is no model yet, and little is lost.
        let is_model = self.online.classes().len() > 1 || !self.online.number_names().is_empty();
        if let Some(path) = self.job.args.checkpoint.as_ref().filter(|_| is_model) {
            self.online.set_memo(self.job.setup.memo(&self.counters));
            self.online.save(path)?;
        }
        self.last_checkpoint = Instant::now();
        Ok(())
    }

    /// [`Run::store`] amid the stream: a temporarily full disk must not cost the run, so that a failure is reported,
    /// unless the one before it was, and the run goes on.
    fn store_or_warn(&mut self) {
        let stored = self.store();
        self.last_checkpoint = Instant::now();
        let failed = stored.is_err();
        if let (Err(error), false) = (stored, self.is_failing) {
            let reason = flags::with_causes(&error);
            self.job.bar.warn(&format!("warning: this checkpoint was not stored, the run goes on: {reason}"));
        }
        self.is_failing = failed;
    }

    /// Writes the last line, the model, and a checkpoint unless there is nothing to resume.
    fn end(mut self, stop: Stop) -> Result<()> {
        // Stopped before the rows of a resumed run had been passed: its counters are unchanged.
        self.go_on();
        self.job.bar.clear();
        let skipped = self.job.skipped.count + self.counters.refused;
        let end = StreamEnd {
            stop: stop.to_string(),
            skipped,
            classes: self.online.classes().to_vec(),
            target: self.online.number_names().first().cloned(),
            total_rows: self.online.n_rows(),
            // Without two classes there is no model yet, and nothing to warn of.
            warnings: self.online.model().map_or_else(|_| vec![], |model| model.training().warnings()),
        };
        if self.job.args.json || self.counters.since_line().0 > 0 || !self.is_headed {
            self.print_line(Some(&end))?;
        }
        for warning in &end.warnings {
            self.job.bar.note(&format!("warning: {warning}"));
        }
        if skipped > 0 {
            self.job.bar.note(&format!("{} skipped in all", count(skipped as usize, "line")));
        }
        self.keep(stop)
    }

    fn keep(mut self, stop: Stop) -> Result<()> {
        self.online.set_stop(stop);
        let is_done = stop == Stop::Finished && self.job.args.out.is_some();
        // Where one file cannot be written, the model must not be lost with it: told once that is stored.
        let stored = if is_done { Ok(()) } else { self.store() };
        let flushed = self.predictions.as_mut().map_or(Ok(()), Predictions::flush);
        if let Some(out) = &self.job.args.out {
            self.online.set_memo(self.job.setup.memo(&self.counters));
            self.online.save(out)?;
        }
        flushed.and(stored)?;
        match &self.job.args.checkpoint {
            // The model is safe; a finished run has nothing to resume.
            Some(path) if is_done && path.exists() => file::remove(path)?,
            Some(path) if stop != Stop::Finished => {
                self.job.bar.note(&format!("{stop}; add --resume to go on from {}", path.display()));
            }
            _ => {}
        }
        self.job.bar.end_watch(|watch| Ok(watch.ended(&stop.to_string())));
        Ok(())
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_are_one_number_are_one_class() {
        let mut spelling = Spelling::default();
        spelling.know(&["1".to_string(), "a".into()]);
        let mut labels: Vec<String> =
            ["1.0", "2.50", "a", "+1", "2.5", "0", "-0", "b", "inf", "Inf"].map(Into::into).into();
        spelling.respell(&mut labels);
        assert_eq!(labels, ["1", "2.50", "a", "1", "2.50", "0", "0", "b", "inf", "Inf"]);
    }
}
