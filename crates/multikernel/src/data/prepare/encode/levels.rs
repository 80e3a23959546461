//! The levels of a column of categories.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::file::Record;

/// The levels that training rows have, in alphabetical order, and whether some lack one: that is a level of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Levels {
    texts: Vec<String>,
    has_missing: bool,
}

impl Levels {
    /// The levels among the values of a column, which are positions in `texts`, or, without texts, the levels
    /// themselves.
    pub(super) fn fit(values: &[f64], texts: &[String]) -> Levels {
        let has_missing = values.iter().any(|value| value.is_nan());
        if texts.is_empty() {
            let mut numbers: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
            numbers.sort_by(f64::total_cmp);
            numbers.dedup();
            return Levels { texts: numbers.iter().map(f64::to_string).collect(), has_missing };
        }
        let mut is_used = vec![false; texts.len()];
        values.iter().filter(|value| !value.is_nan()).for_each(|&value| is_used[value as usize] = true);
        let mut used: Vec<String> =
            texts.iter().zip(is_used).filter(|(_, is_used)| *is_used).map(|(text, _)| text.clone()).collect();
        used.sort_unstable();
        Levels { texts: used, has_missing }
    }

    /// Number of features: one for each level, and one for missing values if training rows have some.
    pub(super) fn width(&self) -> usize {
        self.texts.len() + usize::from(self.has_missing)
    }

    /// Calls `f` with each row and the position of its level; not for levels that no training row has.
    pub(super) fn each(&self, values: &[f64], texts: &[String], mut f: impl FnMut(usize, u32)) {
        let missing = self.has_missing.then_some(self.texts.len() as u32);
        let places = self.places(texts);
        let numbers: HashMap<u64, u32> = match texts.is_empty() {
            true => {
                let bits = |text: &String| text.parse().map_or(u64::MAX, f64::to_bits);
                self.texts.iter().zip(0..).map(|(text, at)| (bits(text), at)).collect()
            }
            false => HashMap::new(),
        };
        for (i, &value) in values.iter().enumerate() {
            let place = match () {
                () if value.is_nan() => missing,
                () if texts.is_empty() => numbers.get(&value.to_bits()).copied(),
                () => places.get(value as usize).copied().flatten(),
            };
            if let Some(place) = place {
                f(i, place);
            }
        }
    }

    /// The position of each of these texts among the levels.
    fn places(&self, texts: &[String]) -> Vec<Option<u32>> {
        let place = |text: &String| self.texts.binary_search(text).ok().map(|at| at as u32);
        texts.iter().map(place).collect()
    }

    /// The texts that are no levels, among those that values refer to, and how many values do.
    pub(super) fn unseen(&self, values: &[f64], texts: &[String]) -> (Vec<String>, usize) {
        let places = self.places(texts);
        let mut is_unseen = vec![false; texts.len()];
        let mut n = 0;
        for &value in values.iter().filter(|value| !value.is_nan()) {
            if texts.get(value as usize).is_some() && places[value as usize].is_none() {
                is_unseen[value as usize] = true;
                n += 1;
            }
        }
        let unseen = texts.iter().zip(is_unseen).filter(|(_, is_unseen)| *is_unseen);
        (unseen.map(|(text, _)| text.clone()).collect(), n)
    }

    /// The names of the features of the column of this name.
    pub(super) fn names(&self, column: &str) -> Vec<String> {
        let missing = self.has_missing.then(|| format!("{column} missing"));
        self.texts.iter().map(|level| format!("{column}={level}")).chain(missing).collect()
    }

    pub(super) fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("texts", &self.texts);
        record.put("missing", &u64::from(self.has_missing));
        record
    }

    pub(super) fn decode(record: &Record) -> Result<Levels> {
        let (texts, missing): (Vec<String>, u64) = (record.take("texts")?, record.take("missing")?);
        // Levels of numbers are in the order of the numbers.
        let is_number = texts.iter().all(|text| text.parse::<f64>().is_ok());
        if !is_number && texts.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(Error::input("the levels of its categories are out of order"));
        }
        Ok(Levels { texts, has_missing: missing != 0 })
    }
}
