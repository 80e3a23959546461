//! The progress of a run, and what a checkpoint must record of it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};
use multikernel::OnlineOptions;
use multikernel::data::{Batch, Features};
use multikernel::plan::{Model, Plan, StreamErrors};

use crate::args;

/// Counts along a stream. They depend on the rows alone, not on how they arrived or on interruptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// Rows learned.
    pub(super) rows: u64,
    /// How many of them were predicted correctly first.
    pub(super) correct: u64,
    /// Rows the learner rejected.
    pub(super) refused: u64,
    /// The line number of the last row, learned or rejected.
    pub(super) line: u64,
    /// Both counts at the last printed line of the table.
    printed: (u64, u64),
    /// Hash of every label and value, including those of rejected rows.
    hash: u64,
    /// Number of rows that scales, kernels and features were set from; 0 if they came from a model.
    pub(super) first: u64,
    /// The errors of a stream of numbers before this run, and at the last printed line.
    errors: Option<Moments>,
}

/// The errors at two moments, as words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moments {
    begun: [u64; 7],
    printed: [u64; 7],
}

const NAMES: [&str; 8] =
    ["rows", "correct", "refused", "line", "printed_rows", "printed_correct", "rows_hash", "first_rows"];

/// The moments whose errors a memo holds.
const BEGUN: &str = "errors_before";
const PRINTED: &str = "errors_printed";

fn word(moment: &str, k: usize) -> String {
    format!("{moment}_{k}")
}

impl Counters {
    /// The counters in a memo; `None` unless it is that of a run.
    pub(super) fn from_memo(memo: &BTreeMap<String, u64>) -> Option<Self> {
        let values: Vec<u64> = NAMES.iter().map(|&name| memo.get(name).copied()).collect::<Option<_>>()?;
        let [rows, correct, refused, line, printed_rows, printed_correct, hash, first] = values[..] else {
            return None;
        };
        let words = |moment: &str| -> Option<[u64; 7]> {
            let found: Vec<u64> = (0..7).map(|k| memo.get(&word(moment, k)).copied()).collect::<Option<_>>()?;
            found.try_into().ok()
        };
        let errors = words(BEGUN).zip(words(PRINTED)).map(|(begun, printed)| Moments { begun, printed });
        Some(Counters { rows, correct, refused, line, printed: (printed_rows, printed_correct), hash, first, errors })
    }

    fn memo(&self) -> impl Iterator<Item = (String, u64)> {
        let (printed_rows, printed_correct) = self.printed;
        let values =
            [self.rows, self.correct, self.refused, self.line, printed_rows, printed_correct, self.hash, self.first];
        let moments = self.errors.iter().flat_map(|errors| [(BEGUN, errors.begun), (PRINTED, errors.printed)]);
        let words = moments
            .flat_map(|(moment, words)| words.into_iter().enumerate().map(move |(k, value)| (word(moment, k), value)));
        NAMES.into_iter().map(String::from).zip(values).chain(words)
    }

    /// Before the first row of this run, which has these errors from earlier ones.
    pub(super) fn with_errors(self, errors: Option<&StreamErrors>) -> Self {
        let errors = errors.map(StreamErrors::to_words).map(|begun| Moments { begun, printed: begun });
        Counters { errors, ..self }
    }

    /// The errors of this run, and of the rows since the last line of the table, given those over all runs.
    pub(super) fn errors(&self, now: &StreamErrors) -> [StreamErrors; 2] {
        let since = |words: [u64; 7]| now.since(&StreamErrors::from_words(words));
        self.errors.map_or([*now; 2], |errors| [since(errors.begun), since(errors.printed)])
    }

    /// Before any row; scales, kernels and features are set from `first` rows.
    pub(super) fn begun_with(first: usize) -> Self {
        Counters { first: first as u64, ..Counters::default() }
    }

    /// Number of rows until the next line of the table, printed after 1, 2, 4, 8, ... rows; at most `most`.
    pub(super) fn until_line(&self, most: usize) -> usize {
        usize::try_from((self.rows + 1).next_power_of_two() - self.rows).unwrap_or(most).min(most)
    }

    /// Whether a line of the table is due here and has not been printed.
    pub(super) fn is_line_due(&self) -> bool {
        self.rows > self.printed.0 && self.rows.is_power_of_two()
    }

    /// Rows since the last line of the table, and how many were predicted correctly.
    pub(super) fn since_line(&self) -> (u64, u64) {
        (self.rows - self.printed.0, self.correct - self.printed.1)
    }

    /// Records that a line of the table was printed, when numbers had these errors.
    pub(super) fn print_line(&mut self, errors: Option<&StreamErrors>) {
        self.printed = (self.rows, self.correct);
        if let (Some(moments), Some(errors)) = (&mut self.errors, errors) {
            moments.printed = errors.to_words();
        }
    }

    /// Counts row `i` of a batch as seen.
    pub(super) fn see(&mut self, batch: &Batch, i: usize) {
        self.line = batch.lines[i];
        let mut add = |word: u64| self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let label = batch.labels[i].as_bytes();
        add(label.len() as u64);
        label.iter().for_each(|&byte| add(u64::from(byte)));
        if let Features::Dense(rows) = batch.samples.features() {
            rows.row(i).iter().for_each(|value| add(value.to_bits()));
        }
    }

    /// Counts it as learned.
    pub(super) fn learned(&mut self, batch: &Batch, i: usize) {
        self.see(batch, i);
        self.rows += 1;
    }

    /// Counts it as rejected.
    pub(super) fn refuse(&mut self, batch: &Batch, i: usize) {
        self.see(batch, i);
        self.refused += 1;
    }

    /// What must match when the rows are read again.
    pub(super) fn seen(&self) -> (u64, u64) {
        (self.line, self.hash)
    }
}

/// The setup of a run: what must match when it is resumed.
pub(super) struct Setup {
    pub(super) plan: Plan,
    pub(super) options: OnlineOptions,
    warmup: Option<usize>,
    has_model: bool,
    /// Whether the bank was given; else it follows from the method and the columns of the rows.
    has_bank: bool,
}

/// Whether a stored run was given its bank, among the numbers of its memo.
const HAS_BANK: &str = "has_bank";

impl Setup {
    pub(super) fn new(args: &args::Online, plan: &Plan) -> Self {
        let default = OnlineOptions::default();
        let options =
            OnlineOptions { budget: args.budget, update_every: args.update_every.unwrap_or(default.update_every) };
        let has_model = args.model.is_some();
        let warmup = (!has_model).then(|| args.warmup.unwrap_or(super::WARMUP));
        Setup { plan: plan.clone(), options, warmup, has_model, has_bank: !args.choices.kernels.is_empty() }
    }

    /// Options under the names of their flags; 0 for `None`.
    fn numbers(&self) -> [(&'static str, u64); 3] {
        let or_none = |value: Option<usize>| value.unwrap_or(0) as u64;
        [
            ("warmup", or_none(self.warmup)),
            ("update-every", self.options.update_every as u64),
            ("budget", or_none(self.options.budget)),
        ]
    }

    /// What is stored with the learner.
    pub(super) fn memo(&self, counters: &Counters) -> BTreeMap<String, u64> {
        let numbers = self.numbers().map(|(name, value)| (name.to_string(), value));
        counters.memo().chain(numbers).chain([(HAS_BANK.to_string(), u64::from(self.has_bank))]).collect()
    }

    /// Whether the numbers of a checkpoint match this run.
    pub(super) fn check_memo(&self, path: &Path, memo: &BTreeMap<String, u64>) -> Result<()> {
        let word = |value: u64| if value == 0 { "none".to_string() } else { value.to_string() };
        for (name, now) in self.numbers() {
            let then = memo.get(name).copied().unwrap_or(0);
            same(path, name, &word(then), &word(now))?;
        }
        let whose = |given: bool| if given { "given" } else { "those of the method" };
        let then = memo.get(HAS_BANK).map_or(self.has_bank, |&given| given != 0);
        same(path, "kernels", whose(then), whose(self.has_bank))
    }

    /// Whether the settings of a checkpoint match this run.
    pub(super) fn check_model(&self, path: &Path, model: &Model) -> Result<()> {
        let settings = self.plan.settings();
        let now = |name: &str| settings.get(name).map_or("none", String::as_str);
        same(path, "method", model.training().method(), now("method"))?;
        same(path, "seed", &model.training().seed().to_string(), now("seed"))?;
        for (name, then) in model.training().params() {
            same(path, name, then, now(name))?;
        }
        if !self.has_model {
            if self.has_bank {
                same(path, "kernels", model.kernels().bank().unwrap_or("none"), now("kernels"))?;
            }
            same(path, "scale", model.input().scale().word(), now("scale"))?;
        }
        Ok(())
    }
}

fn same(path: &Path, name: &str, then: &str, now: &str) -> Result<()> {
    if then != now {
        bail!(
            "{}: belongs to another run: its {name} is `{then}`, this run's is `{now}`; use the same settings and data, or \
             another checkpoint file",
            path.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use multikernel::Matrix;
    use multikernel::data::Samples;

    use super::*;

    fn batch(values: &[f64], labels: &[&str]) -> Batch {
        let matrix = Matrix::from_vec(labels.len(), values.len() / labels.len(), values.to_vec()).unwrap();
        let labels: Vec<String> = labels.iter().map(|label| label.to_string()).collect();
        let lines = (1..=labels.len() as u64).collect();
        Batch { samples: Samples::unnamed(matrix).unwrap(), labels, lines }
    }

    #[test]
    fn lines_of_the_table_stand_at_powers_of_two() {
        let mut counters = Counters::default();
        let mut printed = vec![];
        let one = batch(&[1.0], &["p"]);
        for _ in 0..100 {
            let until = counters.until_line(1000);
            counters.learned(&one, 0);
            assert_eq!(until == 1, counters.is_line_due(), "{}", counters.rows);
            if counters.is_line_due() {
                counters.print_line(None);
                printed.push(counters.rows);
            }
        }
        assert_eq!(printed, [1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(counters.since_line(), (36, 0));
        // A line printed in between, at a stop, does not shift later ones.
        counters.print_line(None);
        assert_eq!((counters.until_line(1000), counters.until_line(20), counters.is_line_due()), (28, 20, false));
    }

    #[test]
    fn counters_come_back_from_a_memo() {
        let mut counters = Counters { correct: 1, refused: 2, printed: (3, 4), ..Counters::default() };
        counters.learned(&batch(&[1.0, 2.0], &["p"]), 0);
        let mut memo: BTreeMap<String, u64> = counters.memo().collect();
        assert_eq!(Counters::from_memo(&memo), Some(counters.clone()));
        let mut errors = StreamErrors::new(1.0, 2.0);
        errors.add(3.0, 2.5);
        let mut of_numbers = counters.with_errors(Some(&errors));
        errors.add(4.0, 4.5);
        of_numbers.print_line(Some(&errors));
        errors.add(5.0, 5.0);
        assert_eq!(Counters::from_memo(&of_numbers.memo().collect()), Some(of_numbers.clone()));
        assert_eq!(of_numbers.errors(&errors).map(|errors| errors.n_rows()), [2, 1]);
        memo.remove("line");
        assert_eq!(Counters::from_memo(&memo), None);
    }

    #[test]
    fn rows_that_differ_anywhere_are_seen_to_differ() {
        let seen = |values: &[f64], labels: &[&str]| {
            let batch = batch(values, labels);
            let mut counters = Counters::default();
            (0..labels.len()).for_each(|i| counters.see(&batch, i));
            counters.seen()
        };
        let whole = seen(&[1.0, 2.0, 3.0, 4.0], &["p", "q"]);
        for (values, labels) in [
            ([1.0, 2.0, 3.0, 5.0], ["p", "q"]),
            ([2.0, 1.0, 3.0, 4.0], ["p", "q"]),
            ([3.0, 4.0, 1.0, 2.0], ["p", "q"]),
            ([1.0, 2.0, 3.0, f64::NAN], ["p", "q"]),
            ([1.0, 2.0, 3.0, 4.0], ["q", "p"]),
            ([1.0, 2.0, 3.0, 4.0], ["p", "qq"]),
        ] {
            assert_ne!(seen(&values, &labels), whole, "{values:?} {labels:?}");
        }
        assert_eq!(seen(&[1.0, 2.0, 3.0, 4.0], &["p", "q"]), whole);
    }
}
