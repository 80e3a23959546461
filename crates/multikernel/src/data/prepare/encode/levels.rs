//! The levels of a column of categories.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::file::{Record, record};

record! {
    /// What rows say about the levels of a column; that of all rows is the union of what parts of them say.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub(super) struct SeenLevels {
        /// In alphabetical order.
        pub(super) texts: Vec<String>,
        /// Levels that are numbers, ascending.
        pub(super) numbers: Vec<f64>,
        pub(super) has_missing: bool,
        /// Whether values are positions among texts.
        pub(super) is_text: bool,
    }
}

impl SeenLevels {
    /// The levels among the values of a column, which are positions in `texts`, or, without texts, the levels
    /// themselves.
    pub(super) fn of(values: &[f64], texts: &[String]) -> SeenLevels {
        let has_missing = values.iter().any(|value| value.is_nan());
        let present = values.iter().copied().filter(|value| !value.is_nan());
        if texts.is_empty() {
            let mut seen = SeenLevels { numbers: present.collect(), has_missing, ..SeenLevels::default() };
            seen.numbers.sort_by(f64::total_cmp);
            seen.numbers.dedup();
            return seen;
        }
        let mut is_used = vec![false; texts.len()];
        present.for_each(|value| is_used[value as usize] = true);
        let used = texts.iter().zip(is_used).filter(|(_, is_used)| *is_used);
        let mut texts: Vec<String> = used.map(|(text, _)| text.clone()).collect();
        texts.sort_unstable();
        SeenLevels { texts, numbers: vec![], has_missing, is_text: true }
    }

    /// Adds what other rows say.
    pub(super) fn add(&mut self, next: &SeenLevels) {
        // Both are sorted, and the sort merges runs.
        self.texts.extend_from_slice(&next.texts);
        self.texts.sort();
        self.texts.dedup();
        self.numbers.extend_from_slice(&next.numbers);
        self.numbers.sort_by(f64::total_cmp);
        self.numbers.dedup();
        self.has_missing |= next.has_missing;
        self.is_text |= next.is_text;
    }

    /// Whether lists are in order, and of the kind of the column.
    pub(super) fn is_sound(&self, keeps_texts: bool) -> bool {
        let has_texts = self.is_text || !self.texts.is_empty();
        self.texts.windows(2).all(|pair| pair[0] < pair[1])
            && self.numbers.iter().all(|number| number.is_finite())
            && self.numbers.windows(2).all(|pair| pair[0] < pair[1])
            && if keeps_texts { self.numbers.is_empty() } else { !has_texts }
    }

    pub(super) fn finish(self) -> Levels {
        let texts = match self.is_text {
            true => self.texts,
            false => self.numbers.iter().map(f64::to_string).collect(),
        };
        Levels { texts, has_missing: self.has_missing }
    }
}

/// The levels that training rows have, in alphabetical order, and whether some lack one: that is a level of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Levels {
    texts: Vec<String>,
    has_missing: bool,
}

impl Levels {
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
