//! Each method's predictions for its test rows, and its models' warnings.

use std::collections::HashSet;

use super::result::Evaluation;
use super::watch::without_numbers;

/// One row, as predicted by a model that had not seen it.
#[derive(Clone, Debug, PartialEq)]
pub struct OutOfFold<'a> {
    /// The method, as in [`PlanResult::method`](super::PlanResult::method).
    pub method: &'a str,
    /// The split, counted from 0.
    pub split: usize,
    /// The row, counted from 0.
    pub row: usize,
    /// Its row number in its file, counted from 1: differs if rows of the file were left out.
    pub number: usize,
    /// Its id, if rows have ids.
    pub id: Option<&'a str>,
    /// Its class.
    pub label: &'a str,
    /// The predicted class.
    pub predicted: &'a str,
    /// The probability of each class, if the plan requested probabilities.
    pub probabilities: Option<&'a [f64]>,
}

/// One row's number, as predicted by a model that had not seen it.
#[derive(Clone, Debug, PartialEq)]
pub struct OutOfFoldNumber<'a> {
    /// The method, as in [`PlanResult::method`](super::PlanResult::method).
    pub method: &'a str,
    /// The split, counted from 0.
    pub split: usize,
    /// Its row number in its file, counted from 1.
    pub number: usize,
    /// Its id, if rows have ids.
    pub id: Option<&'a str>,
    /// The name of the number.
    pub name: &'a str,
    /// The number.
    pub truth: f64,
    /// The predicted number.
    pub predicted: f64,
    /// Its standard deviation, for methods that have one.
    pub deviation: Option<f64>,
}

impl Evaluation {
    /// The test rows of each method on each split it finished, where numbers are predicted: one entry for each number
    /// of a row; none where classes are.
    pub fn number_predictions(&self) -> Vec<OutOfFoldNumber<'_>> {
        let rows = &self.test_rows;
        let Some(truth) = rows.target.numbers() else { return vec![] };
        let mut all = vec![];
        for (result, fold) in self.results.iter().flat_map(|result| result.folds.iter().map(move |fold| (result, fold)))
        {
            let Some(found) = &fold.numbers else { continue };
            for (at, &row) in fold.rows.iter().enumerate() {
                for (t, name) in truth.names().iter().enumerate() {
                    all.push(OutOfFoldNumber {
                        method: &result.method,
                        split: fold.split,
                        number: rows.numbers[row],
                        id: rows.ids.as_ref().map(|ids| ids[row].as_str()),
                        name,
                        truth: truth.values().get(row, t),
                        predicted: found.predicted.get(at, t),
                        deviation: found.deviations.as_ref().map(|deviations| deviations.get(at, t)),
                    });
                }
            }
        }
        all
    }

    /// The test rows of each method on each split it finished: to inspect errors one by one, to stack models, or to
    /// compute other figures. With folds each row occurs once per method, with repeats as often as it was drawn.
    ///
    /// ```
    /// use multikernel::{Plan, Pool, data::bundled, evaluate::{Protocol, evaluate}, plan::Session, run::Silent};
    /// let (pool, data) = (Pool::new(1)?, bundled("glass")?);
    /// let found = evaluate(&data, &[Plan::new("svm")?], &Protocol::Folds(3), 0, &mut Session::new(&pool, &mut Silent))?;
    /// let wrong = found.predictions().filter(|one| one.predicted != one.label).count();
    /// assert!(wrong < 30);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn predictions(&self) -> impl Iterator<Item = OutOfFold<'_>> {
        let (rows, classes) = (&self.test_rows, &self.classes);
        self.results.iter().flat_map(|result| result.folds.iter().map(move |fold| (result, fold))).flat_map(
            move |(result, fold)| {
                fold.rows.iter().zip(&fold.predicted).enumerate().map(move |(at, (&row, &predicted))| OutOfFold {
                    method: &result.method,
                    split: fold.split,
                    row,
                    number: rows.numbers[row],
                    id: rows.ids.as_ref().map(|ids| ids[row].as_str()),
                    label: &classes[rows.labels[row]],
                    predicted: &classes[predicted],
                    probabilities: fold.probabilities.as_ref().map(|table| table.row(at)),
                })
            },
        )
    }

    /// The warnings of the models of the splits, each once with the methods and the number of splits it concerns; of
    /// warnings that differ only in numbers, the first.
    pub fn remarks(&self) -> Vec<String> {
        // (kind, first text, number of splits for each method)
        let mut found: Vec<(String, &str, Vec<usize>)> = vec![];
        for (m, result) in self.results.iter().enumerate() {
            for fold in &result.folds {
                let mut here = HashSet::new();
                for text in &fold.warnings {
                    let kind = without_numbers(text);
                    if !here.insert(kind.clone()) {
                        continue;
                    }
                    let at = found.iter().position(|one| one.0 == kind).unwrap_or_else(|| {
                        found.push((kind, text, vec![0; self.results.len()]));
                        found.len() - 1
                    });
                    found[at].2[m] += 1;
                }
            }
        }
        found.iter().map(|(_, text, counts)| format!("{}: {text}", self.about(counts))).collect()
    }

    /// The methods a warning concerns, and in how many of their splits.
    fn about(&self, counts: &[usize]) -> String {
        const MAX_NAMED: usize = 3;
        let all = self.results.iter().zip(counts).filter(|(_, n)| **n > 0);
        let named: Vec<String> = all
            .clone()
            .map(|(result, n)| format!("{} ({n} of {} splits)", result.method, result.folds.len()))
            .collect();
        if named.len() <= MAX_NAMED {
            return named.join(", ");
        }
        let (n, of) = all.fold((0, 0), |sum, (result, n)| (sum.0 + n, sum.1 + result.folds.len()));
        format!("{} methods ({n} of {of} fits)", named.len())
    }
}
