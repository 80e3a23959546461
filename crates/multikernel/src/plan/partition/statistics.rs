//! What is learned from all partitions before the first step: numbers of rows, kinds of columns, classes, means, spreads,
//! and a few rows.
//!
//! Means first, then squared deviations from them, as on one machine; each is a sum over partitions in their order.

use std::collections::HashMap;
use std::sync::Arc;

use super::labels_of;
use crate::data::{
    Coding, ColumnStatistics, Dataset, Features, Kind, Labels, Letters, NumberColumns, Numbers, Recipe, Samples,
    Standard, Target, TargetKind, Times, ToldKind, View,
};
use crate::error::{Error, Result};
use crate::file::{Record, record};
use crate::linalg::Matrix;
use crate::run::MOST_TIMES;

/// More rows than any partition has: sums of so many counts stay exact.
const MOST_ROWS: usize = 1 << 48;

/// The most bytes of texts that rows drawn from a partition may have: the reader of messages takes little more.
const MOST_BYTES: usize = 64 << 20;

pub(super) fn unfit() -> Error {
    Error::input("the answer of a partition does not fit the question; all workers need the same version")
}

record! {
    /// What is in partitions.
    #[derive(Clone, Debug)]
    pub(super) struct Summary {
        /// The first row of each partition among all, and the end of the last.
        starts: Vec<usize>,
        hash: String,
        names: Vec<String>,
        /// What columns hold; empty if all are numbers.
        kinds: Vec<String>,
        /// The bytes of the texts of each column that has some, as sets.
        letters: Vec<u64>,
        view_names: Vec<String>,
        /// The first column of each view, and the end.
        view_ends: Vec<usize>,
        /// How many rows lack each view.
        absent: Vec<usize>,
        /// Of each column of numbers: values that are there, their sum, the smallest and the largest.
        counts: Vec<usize>,
        sums: Vec<f64>,
        low: Vec<f64>,
        high: Vec<f64>,
        target: String,
        label: Option<String>,
        /// Those with rows, sorted as texts.
        classes: Vec<String>,
        number_names: Vec<String>,
        number_sums: Vec<f64>,
        /// The distinct times of events, ascending, and the number of events at each.
        event_times: Vec<f64>,
        event_counts: Vec<usize>,
    }
}

impl Summary {
    pub(super) fn of(partition: &Dataset, recipe: &Recipe) -> Result<Summary> {
        let samples = &partition.samples;
        let named = |error: Error| Error::input(format!("{}: {error}", partition.name));
        let numbers = NumberColumns::of(samples);
        let logged = recipe.logged(&numbers).map_err(named)?;
        let d = numbers.names.len();
        let (mut counts, mut sums) = (vec![0; d], vec![0.0; d]);
        let (mut low, mut high) = (vec![f64::INFINITY; d], vec![f64::NEG_INFINITY; d]);
        each_value(&logged, |j, value| {
            counts[j] += 1;
            sums[j] += value;
            low[j] = low[j].min(value);
            high[j] = high[j].max(value);
        });
        let (mut classes, mut number_names, mut number_sums) = (vec![], vec![], vec![]);
        let mut events = (vec![], vec![]);
        match &partition.target {
            Target::Classes => {
                let present = partition.labels.classes().iter().zip(partition.labels.counts());
                classes.extend(present.filter(|(_, count)| *count > 0).map(|(class, _)| class.clone()));
                classes.sort_unstable();
            }
            Target::Numbers(numbers) => {
                number_names = numbers.names().to_vec();
                number_sums = (0..numbers.n_targets()).map(|t| numbers.values().column(t).iter().sum()).collect();
            }
            Target::Times(times) => events = times.events(),
        }
        Ok(Summary {
            starts: vec![0, samples.n_samples()],
            hash: partition.fingerprint(),
            names: samples.names().to_vec(),
            kinds: samples.codings().iter().map(|coding| coding.told.to_string()).collect(),
            letters: letters_of(samples),
            view_names: samples.views().iter().map(|view| view.name.clone()).collect(),
            view_ends: samples.views().iter().flat_map(|view| [view.columns.start, view.columns.end]).collect(),
            absent: numbers.absent(),
            counts,
            sums,
            low,
            high,
            target: partition.target.kind().word().into(),
            label: partition.label_name.clone(),
            classes,
            number_names,
            number_sums,
            event_times: events.0,
            event_counts: events.1,
        })
    }

    /// Adds the next partition, which is the `n`th.
    pub(super) fn add(&mut self, next: &Summary, n: usize) -> Result<()> {
        if self.names != next.names {
            let at = self.names.iter().zip(&next.names).find(|(a, b)| a != b);
            let found = at
                .map_or(format!("{} columns, the first has {}", next.names.len(), self.names.len()), |(a, b)| {
                    format!("the column '{b}' where the first has '{a}'")
                });
            return Err(Error::input(format!("partition {} has {found}; give all the same columns", n - 1)));
        }
        self.check_kinds(next, n)?;
        if self.view_names != next.view_names || self.view_ends != next.view_ends {
            return Err(Error::input(format!("partition {} has other views than the first; give all the same", n - 1)));
        }
        if self.target != next.target || self.number_names != next.number_names {
            return Err(Error::input(format!("partition {} has other targets than the first", n - 1)));
        }
        let last = self.n_rows();
        self.starts.push(last + next.n_rows());
        self.letters.iter_mut().zip(&next.letters).for_each(|(set, next)| *set |= next);
        self.absent.iter_mut().zip(&next.absent).for_each(|(sum, next)| *sum += next);
        for j in 0..self.counts.len() {
            self.counts[j] += next.counts[j];
            self.sums[j] += next.sums[j];
            self.low[j] = self.low[j].min(next.low[j]);
            self.high[j] = self.high[j].max(next.high[j]);
        }
        add(&mut self.number_sums, &next.number_sums);
        for class in &next.classes {
            if let Err(place) = self.classes.binary_search(class) {
                self.classes.insert(place, class.clone());
            }
        }
        self.add_events(next)
    }

    /// Merges the times of events of the next partition.
    fn add_events(&mut self, next: &Summary) -> Result<()> {
        let (own, others) = (&self.event_times, &next.event_times);
        let (mut times, mut counts) = (vec![], vec![]);
        let (mut i, mut j) = (0, 0);
        while i < own.len() || j < others.len() {
            let is_own = j == others.len() || i < own.len() && own[i] <= others[j];
            let is_other = i == own.len() || j < others.len() && others[j] <= own[i];
            times.push(if is_own { own[i] } else { others[j] });
            let count = |is: bool, counts: &[usize], at: usize| if is { counts[at] } else { 0 };
            counts.push(count(is_own, &self.event_counts, i) + count(is_other, &next.event_counts, j));
            i += usize::from(is_own);
            j += usize::from(is_other);
        }
        if times.len() > MOST_TIMES {
            return Err(Error::input(format!(
                "events happen at more than {MOST_TIMES} distinct times, and partitions send numbers for each at every step; \
                 round the times, to days or weeks say"
            )));
        }
        (self.event_times, self.event_counts) = (times, counts);
        Ok(())
    }

    /// Columns hold the same in all partitions.
    fn check_kinds(&self, next: &Summary, n: usize) -> Result<()> {
        let kind = |kinds: &[String], j: usize| kinds.get(j).cloned().unwrap_or_else(|| Kind::Number.word().into());
        let differs = |&j: &usize| kind(&self.kinds, j) != kind(&next.kinds, j);
        let Some(j) = (0..self.names.len()).find(differs) else { return Ok(()) };
        let (name, found, first) = (&self.names[j], kind(&next.kinds, j), kind(&self.kinds, j));
        Err(Error::input(format!(
            "partition {}: column '{name}' is taken as {found}, in the first as {first}; say its kind for all of them",
            n - 1
        )))
    }

    /// Refuses an answer whose lists are not of its columns, or whose counts are not of its rows.
    pub(super) fn check(&self) -> Result<()> {
        let n = self.n_rows();
        let told = self.told()?;
        let d = told.iter().filter(|told| !told.kind.keeps_texts()).count();
        let n_texts = told.iter().filter(|told| told.kind.keeps_texts()).count();
        let n_views = self.view_names.len();
        let fits = self.starts.len() == 2
            && self.starts[0] == 0
            && n <= MOST_ROWS
            && (self.kinds.is_empty() || self.kinds.len() == self.names.len())
            && self.letters.len() == 4 * n_texts
            && [self.view_ends.len(), self.absent.len()] == [2 * n_views, n_views]
            && self.absent.iter().all(|&absent| absent <= n)
            && [self.counts.len(), self.sums.len(), self.low.len(), self.high.len()] == [d; 4]
            && self.counts.iter().all(|&count| count <= n)
            && self.number_sums.len() == self.number_names.len()
            && (self.event_times.is_empty() || self.target == TargetKind::Times.word())
            && self.event_times.len() == self.event_counts.len()
            && self.event_times.iter().all(|time| time.is_finite() && *time >= 0.0)
            && self.event_times.is_sorted_by(|a, b| a < b)
            && !self.event_counts.contains(&0)
            && self
                .event_counts
                .iter()
                .try_fold(0, |sum: usize, &count| sum.checked_add(count))
                .is_some_and(|sum| sum <= n);
        if fits { Ok(()) } else { Err(unfit()) }
    }

    /// What columns hold.
    fn told(&self) -> Result<Vec<ToldKind>> {
        match self.kinds.is_empty() {
            true => Ok(vec![ToldKind::default(); self.names.len()]),
            false => self.kinds.iter().map(|kind| kind.parse()).collect(),
        }
    }

    /// The bytes of the texts of each column.
    pub(super) fn letters(&self) -> Result<Vec<Letters>> {
        let mut sets = self.letters.chunks_exact(4).map(|set| Letters([set[0], set[1], set[2], set[3]]));
        let of = |told: ToldKind| match told.kind.keeps_texts() {
            true => sets.next().unwrap_or_default(),
            false => Letters::default(),
        };
        Ok(self.told()?.into_iter().map(of).collect())
    }

    fn views(&self) -> Vec<View> {
        let ends = self.view_ends.chunks_exact(2);
        self.view_names
            .iter()
            .zip(ends)
            .map(|(name, ends)| View { name: name.clone(), columns: ends[0]..ends[1] })
            .collect()
    }

    /// The names of the columns of numbers.
    fn number_columns(&self) -> Result<Vec<&String>> {
        let told = self.told()?;
        Ok(self.names.iter().zip(told).filter(|(_, told)| !told.kind.keeps_texts()).map(|(name, _)| name).collect())
    }

    /// The number of rows in a partition.
    pub(super) fn rows_of(&self, number: usize) -> usize {
        match (self.starts.get(number), self.starts.get(number + 1)) {
            (Some(start), Some(end)) => end - start,
            _ => 0,
        }
    }

    pub(super) fn n_rows(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    pub(super) fn starts(&self) -> &[usize] {
        &self.starts
    }

    pub(super) fn hash(&self) -> &str {
        &self.hash
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn number_names(&self) -> &[String] {
        &self.number_names
    }

    pub(super) fn events(&self) -> (Vec<f64>, Vec<usize>) {
        (self.event_times.clone(), self.event_counts.clone())
    }

    /// Numbers in which the target of a row is told.
    fn target_width(&self) -> usize {
        match self.kind() {
            Ok(TargetKind::Numbers) => self.number_names.len().max(1),
            Ok(TargetKind::Times) => 2,
            _ => 1,
        }
    }

    pub(super) fn label(&self) -> Option<String> {
        self.label.clone()
    }

    pub(super) fn kind(&self) -> Result<TargetKind> {
        let kinds = [TargetKind::Classes, TargetKind::Numbers, TargetKind::Times];
        kinds.into_iter().find(|kind| kind.word() == self.target).ok_or_else(|| Error::input("targets of unknown kind"))
    }

    /// All classes, in the order one machine gives them.
    pub(super) fn class_list(&self) -> Result<Vec<String>> {
        if self.classes.is_empty() { Ok(vec![]) } else { Ok(Labels::new(&self.classes)?.classes().to_vec()) }
    }

    /// The mean of each column of numbers over the values that are there, 0 for none.
    pub(super) fn means(&self) -> Result<Vec<f64>> {
        let names = self.number_columns()?;
        let mean = |j: usize| match self.counts[j] {
            0 => Ok(0.0),
            _ if self.low[j] == self.high[j] => Ok(self.low[j]),
            n if self.sums[j].is_finite() => Ok(self.sums[j] / n as f64),
            _ => Err(Error::input(format!(
                "the sum of column '{}' leaves the range of numbers; give it in larger units",
                names[j]
            ))),
        };
        (0..self.counts.len()).map(mean).collect()
    }

    pub(super) fn number_means(&self) -> Vec<f64> {
        self.number_sums.iter().map(|sum| sum / self.n_rows().max(1) as f64).collect()
    }
}

record! {
    /// Rows that were drawn, and the spread of columns and numbers around the means of all rows.
    #[derive(Clone, Debug, Default)]
    pub(super) struct Picks {
        /// Of each column: the sum of deviations from the mean, which rounding leaves, and of their squares.
        shifts: Vec<f64>,
        squares: Vec<f64>,
        number_shifts: Vec<f64>,
        number_squares: Vec<f64>,
        /// Rows as they come, one after the other.
        rows: Vec<f64>,
        /// The texts that values of each column are positions in, one column after the other, and how many each has.
        texts: Vec<String>,
        n_texts: Vec<usize>,
        /// Codes of classes, numbers one after the other, or times, each followed by 1 for an event, 0 for none.
        targets: Vec<f64>,
    }
}

impl Picks {
    pub(super) fn of(setup: &Record, number: usize, partition: &Dataset, recipe: &Recipe) -> Result<Picks> {
        let (means, number_means): (Vec<f64>, Vec<f64>) = (setup.take("means")?, setup.take("number_means")?);
        let (starts, wanted): (Vec<usize>, Vec<usize>) = (setup.take("starts")?, setup.take("wanted")?);
        let samples = &partition.samples;
        let n_numbers = partition.target.numbers().map_or(0, Numbers::n_targets);
        let numbers = NumberColumns::of(samples);
        if means.len() != numbers.names.len() || number_means.len() != n_numbers {
            return Err(Error::input("the question is of other columns than the partition has; train again"));
        }
        let mut picks = Picks {
            shifts: vec![0.0; means.len()],
            squares: vec![0.0; means.len()],
            number_shifts: vec![0.0; number_means.len()],
            number_squares: vec![0.0; number_means.len()],
            ..Picks::default()
        };
        each_value(&recipe.logged(&numbers)?, |j, value| {
            let deviation = value - means[j];
            picks.shifts[j] += deviation;
            picks.squares[j] += deviation * deviation;
        });
        let (Some(&start), Some(&end)) = (starts.get(number), starts.get(number + 1)) else {
            return Err(Error::input(format!("there is no partition {number}")));
        };
        if end.checked_sub(start) != Some(samples.n_samples()) {
            return Err(Error::input(format!("the question is of another number of rows than partition {number} has")));
        }
        let here: Vec<usize> = wanted.iter().filter(|row| (start..end).contains(*row)).map(|row| row - start).collect();
        picks.take_rows(samples, &here).map_err(|error| Error::input(format!("{}: {error}", partition.name)))?;
        if let Target::Numbers(numbers) = &partition.target {
            for values in numbers.values().rows() {
                for (t, value) in values.iter().enumerate() {
                    let deviation = value - number_means[t];
                    picks.number_shifts[t] += deviation;
                    picks.number_squares[t] += deviation * deviation;
                }
            }
            here.iter().for_each(|&i| picks.targets.extend(numbers.values().row(i)));
        } else if let Target::Times(times) = &partition.target {
            let told = |&i: &usize| [times.time()[i], f64::from(u8::from(times.event()[i]))];
            picks.targets.extend(here.iter().flat_map(told));
        } else {
            let labels = labels_of(&partition.labels, &setup.take::<Vec<String>>("classes")?, &here)?;
            picks.targets.extend(labels.codes().iter().map(|&code| code as f64));
        }
        Ok(picks)
    }

    /// Takes rows as they come, with the texts they hold.
    fn take_rows(&mut self, samples: &Samples, rows: &[usize]) -> Result<()> {
        let d = samples.n_features();
        let mut row = vec![0.0; d];
        for &i in rows {
            samples.features().row_into(i, &mut row);
            self.rows.extend(&row);
        }
        self.n_texts = vec![0; d];
        for j in (0..d).filter(|&j| samples.kind(j).keeps_texts()) {
            let mut places = HashMap::new();
            for value in self.rows.iter_mut().skip(j).step_by(d).filter(|value| !value.is_nan()) {
                let next = places.len();
                let text = &samples.codings()[j].texts[*value as usize];
                let place = *places.entry(text).or_insert_with(|| {
                    self.texts.push(text.clone());
                    next
                });
                *value = place as f64;
            }
            self.n_texts[j] = places.len();
        }
        let bytes: usize = self.texts.iter().map(String::len).sum();
        if bytes > MOST_BYTES {
            return Err(Error::input(format!(
                "the texts of {} rows drawn have {} MiB, and at most {} are taken from one partition; give smaller partitions",
                rows.len(),
                bytes >> 20,
                MOST_BYTES >> 20
            )));
        }
        Ok(())
    }

    /// Refuses an answer whose lists are not of the columns and numbers asked for.
    pub(super) fn check(&self, summary: &Summary) -> Result<()> {
        let (d, t) = (summary.names().len(), summary.number_names().len());
        let told = summary.told()?;
        let n_numbers = summary.counts.len();
        let place = |value: f64, n: usize| value.is_nan() || value >= 0.0 && value.fract() == 0.0 && value < n as f64;
        let is_placed = |j: usize| self.rows.iter().skip(j).step_by(d).all(|&value| place(value, self.n_texts[j]));
        let fits = [self.shifts.len(), self.squares.len()] == [n_numbers; 2]
            && [self.number_shifts.len(), self.number_squares.len()] == [t; 2]
            && self.targets.len().is_multiple_of(summary.target_width())
            && Some(self.rows.len()) == (self.targets.len() / summary.target_width()).checked_mul(d)
            && self.n_texts.len() == d
            && self.n_texts.iter().try_fold(0usize, |sum, &n| sum.checked_add(n)) == Some(self.texts.len())
            && (0..d).all(|j| if told[j].kind.keeps_texts() { is_placed(j) } else { self.n_texts[j] == 0 });
        if fits { Ok(()) } else { Err(unfit()) }
    }

    /// Adds the next partition.
    pub(super) fn add(&mut self, next: &Picks) -> Result<()> {
        if self.n_texts.is_empty() {
            *self = next.clone();
            return Ok(());
        }
        add(&mut self.shifts, &next.shifts);
        add(&mut self.squares, &next.squares);
        add(&mut self.number_shifts, &next.number_shifts);
        add(&mut self.number_squares, &next.number_squares);
        self.add_rows(next);
        self.targets.extend(&next.targets);
        Ok(())
    }

    /// Adds rows; each text is listed once.
    fn add_rows(&mut self, next: &Picks) {
        let (d, first) = (self.n_texts.len(), self.rows.len());
        self.rows.extend(&next.rows);
        let (mut own, mut others) = (std::mem::take(&mut self.texts).into_iter(), next.texts.iter());
        for j in 0..d {
            let mut texts: Vec<String> = own.by_ref().take(self.n_texts[j]).collect();
            let mut places: HashMap<String, usize> = HashMap::new();
            places.extend(texts.iter().enumerate().map(|(place, text)| (text.clone(), place)));
            let mut place = |text: &String| {
                *places.entry(text.clone()).or_insert_with(|| {
                    texts.push(text.clone());
                    texts.len() - 1
                })
            };
            let moved: Vec<usize> = others.by_ref().take(next.n_texts[j]).map(&mut place).collect();
            if next.n_texts[j] > 0 {
                let values = self.rows[first..].iter_mut().skip(j).step_by(d).filter(|value| !value.is_nan());
                values.for_each(|value| *value = moved[*value as usize] as f64);
            }
            self.n_texts[j] = texts.len();
            self.texts.extend(texts);
        }
    }

    /// What columns hold, with the texts of the rows.
    fn codings(&self, summary: &Summary) -> Result<Vec<Coding>> {
        let mut texts = self.texts.iter();
        let of = |(told, &n): (ToldKind, &usize)| {
            let texts = match told.kind {
                Kind::Ordered => told.words.clone(),
                _ => texts.by_ref().take(n).cloned().collect(),
            };
            Coding { told, texts: Arc::new(texts) }
        };
        Ok(summary.told()?.into_iter().zip(&self.n_texts).map(of).collect())
    }

    /// The rows as a data set.
    pub(super) fn dataset(&self, name: &str, summary: &Summary, classes: &[String]) -> Result<Dataset> {
        let d = summary.names().len();
        let n = self.targets.len() / summary.target_width();
        let samples = Samples::new(Matrix::from_vec(n, d, self.rows.clone())?, summary.names().to_vec())?;
        let samples = samples.with_codings(self.codings(summary)?).with_views(summary.views())?;
        let names = summary.number_names();
        if !names.is_empty() {
            let values = Matrix::from_vec(n, names.len(), self.targets.clone())?;
            return Dataset::of_numbers(name, samples, Numbers::new(names.to_vec(), values)?);
        }
        if summary.kind()? == TargetKind::Times {
            let (time, event) = self.targets.chunks_exact(2).map(|told| (told[0], told[1] != 0.0)).unzip();
            return Dataset::of_times(name, samples, Times::new(time, event)?);
        }
        let codes = self.targets.iter().map(|&code| code as usize).collect();
        let mut set = Dataset::new(name, samples, Labels::from_parts(classes.to_vec(), codes)?)?;
        set.label_name = summary.label();
        Ok(set)
    }

    /// The statistics of each column of numbers, as on one machine; `views` are ranges among these.
    pub(super) fn statistics(&self, summary: &Summary, views: &[View]) -> Result<Vec<ColumnStatistics>> {
        let means = summary.means()?;
        let column = |j: usize| {
            let count = summary.counts[j];
            let (is_empty, is_constant) = (count == 0, summary.low[j] == summary.high[j] || count == 0);
            let n = count.max(1) as f64;
            // The deviations of a computed mean do not add up to 0: the rest corrects it (Chan, Golub and LeVeque 1983).
            let shift = self.shifts[j] / n;
            let variance = (self.squares[j] / n - shift * shift).max(0.0);
            let deviation = variance.sqrt().clamp(f64::MIN_POSITIVE, f64::MAX);
            let (mean, scale) = match (is_empty, is_constant) {
                (true, _) => (0.0, f64::MAX),
                (_, true) => (means[j], 1.0),
                _ => (means[j] + shift, deviation),
            };
            let spread = if is_constant { 0.0 } else { scale };
            ColumnStatistics { mean, scale, spread, n_missing: summary.n_rows() - count, is_empty }
        };
        let mut columns: Vec<ColumnStatistics> = (0..means.len()).map(column).collect();
        for (view, absent) in views.iter().zip(&summary.absent) {
            // Rows that lack a view entirely have no gaps in it.
            let inside = columns.get_mut(view.columns.clone()).into_iter().flatten();
            inside.for_each(|column| column.n_missing = column.n_missing.saturating_sub(*absent));
        }
        Ok(columns)
    }

    /// The mean and the standard deviation of each number.
    pub(super) fn standard(&self, summary: &Summary) -> Standard {
        let n = summary.n_rows().max(1) as f64;
        let (mut mean, mut scale) = (vec![], vec![]);
        for (t, rough) in summary.number_means().iter().enumerate() {
            let shift = self.number_shifts[t] / n;
            let deviation = (self.number_squares[t] / n - shift * shift).max(0.0).sqrt();
            mean.push(rough + shift);
            // A spread of rounding errors is none.
            let is_spread = deviation > 1e-12 * rough.abs() && deviation.is_finite();
            scale.push(if is_spread { deviation } else { 1.0 });
        }
        Standard { mean, scale }
    }
}

/// The bytes of the texts of each column that has some.
fn letters_of(samples: &Samples) -> Vec<u64> {
    if samples.is_numeric() {
        return vec![];
    }
    let sets = Letters::of(samples).into_iter().enumerate();
    sets.filter(|(j, _)| samples.kind(*j).keeps_texts()).flat_map(|(_, set)| set.0).collect()
}

/// Calls `take` with the column of each value that is there, row by row.
fn each_value(rows: &Features, mut take: impl FnMut(usize, f64)) {
    let mut row = vec![0.0; rows.n_cols()];
    for i in 0..rows.n_rows() {
        rows.row_into(i, &mut row);
        row.iter().enumerate().filter(|(_, value)| !value.is_nan()).for_each(|(j, &value)| take(j, value));
    }
}

fn add(sums: &mut [f64], next: &[f64]) {
    sums.iter_mut().zip(next).for_each(|(sum, value)| *sum += value);
}
