//! The features of one encoding of some columns, with everything learned from training rows.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::encoding::Encoding;
use super::levels::Levels;
use super::seen::{SeenBlock, SeenRange, SeenTerms};
use super::terms::{Room, each_term, sequence_terms};
use crate::data::table::{Coding, Kind};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::file::Record;

/// Features of texts: more than this would not fit anywhere.
const MAX_TERMS: usize = 50_000_000;

/// Columns and the features a kernel takes of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Encoded {
    /// How the columns become features.
    pub encoding: Encoding,
    /// The columns of the table, ascending.
    pub columns: Vec<usize>,
}

/// What was learned about the columns of a block.
#[derive(Clone, Debug, PartialEq)]
enum State {
    /// Levels of each column.
    Levels(Vec<Levels>),
    /// Numbers by their lowest value and their range, or levels.
    Ranges(Vec<Range>),
    /// Terms of texts with their weights.
    Terms(Terms),
    /// Nothing.
    Nothing,
}

/// One column of the clinical kernel.
#[derive(Clone, Debug, PartialEq)]
enum Range {
    Number { low: f64, range: f64, mean: f64 },
    Levels(Levels),
}

/// A vocabulary.
#[derive(Clone, Debug, Default, PartialEq)]
struct Terms {
    words: Vec<String>,
    /// The weight of each word; empty for sequences, where all count alike.
    weights: Vec<f64>,
    /// The letters of all training sequences.
    alphabet: Vec<u8>,
    index: FxHashMap<String, u32>,
}

/// The features of [`Encoded`] columns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) encoded: Encoded,
    state: State,
}

/// The columns of rows, by which a block reads its own.
pub(super) struct Source<'a> {
    pub(super) features: &'a Features,
    pub(super) codings: &'a [Coding],
}

impl Source<'_> {
    /// All values of a column.
    pub(super) fn column(&self, j: usize) -> Vec<f64> {
        match self.features {
            Features::Dense(matrix) => matrix.column(j),
            Features::Sparse(_) => {
                self.features.select_cols(&[j]).to_dense().map_or(vec![], |column| column.data().to_vec())
            }
        }
    }

    /// The texts that the values of a column are positions in; none for numbers.
    pub(super) fn texts(&self, j: usize) -> &[String] {
        self.codings.get(j).filter(|coding| coding.kind() != Kind::Ordered).map_or(&[], |coding| &coding.texts)
    }
}

impl Terms {
    fn new(words: Vec<String>, weights: Vec<f64>, alphabet: Vec<u8>) -> Terms {
        let index = words.iter().enumerate().map(|(k, word)| (word.clone(), k as u32)).collect();
        Terms { words, weights, alphabet, index }
    }

    /// The vocabulary of all training rows.
    fn of(encoding: Encoding, seen: SeenTerms, alphabet: Vec<u8>) -> Terms {
        if !encoding.is_of_texts() {
            return Terms::new(seen.words, vec![], alphabet);
        }
        let n = seen.n_texts;
        let weight = |&count: &usize| ((1 + n) as f64 / (1 + count) as f64).ln() + 1.0;
        let weights = seen.counts.iter().map(weight).collect();
        Terms::new(seen.words, weights, vec![])
    }

    /// Positions and values of a text's features, ascending, and how many of its terms are unknown.
    fn features(&self, encoding: Encoding, text: &str, room: &mut Room) -> (Vec<(u32, f64)>, usize) {
        let mut n_unknown = 0;
        if !self.weights.is_empty() {
            let mut places = std::mem::take(&mut room.places);
            places.clear();
            each_term(text, encoding, room, |term| match self.index.get(term) {
                Some(&at) => places.push(at),
                None => n_unknown += 1,
            });
            places.sort_unstable();
            let value = |run: &[u32]| (run[0], (1.0 + (run.len() as f64).ln()) * self.weights[run[0] as usize]);
            let mut found: Vec<(u32, f64)> = places.chunk_by(|a, b| a == b).map(value).collect();
            room.places = places;
            let length = found.iter().map(|(_, value)| value * value).sum::<f64>().sqrt();
            found.iter_mut().for_each(|(_, value)| *value /= length);
            return (found, n_unknown);
        }
        let (mut found, mut rest) = (vec![], 0.0);
        for (term, value) in sequence_terms(text, encoding, &self.alphabet) {
            match self.index.get(&term) {
                Some(&at) => found.push((at, value)),
                None => {
                    n_unknown += 1;
                    rest += value * value;
                }
            }
        }
        // Terms that no training row has count in the length of a row, as in the kernel itself.
        if rest > 0.0 {
            found.push((self.words.len() as u32, rest.sqrt()));
        }
        found.sort_unstable_by_key(|&(at, _)| at);
        (found, n_unknown)
    }

    /// How many features there are: sequences have one more, for terms that no training row has.
    fn width(&self, encoding: Encoding) -> usize {
        self.words.len() + usize::from(!encoding.is_of_texts())
    }
}

impl Block {
    /// What is learned from what all training rows say; `alphabet` are the letters of their sequences.
    pub(super) fn of(encoded: &Encoded, seen: SeenBlock, alphabet: Vec<u8>) -> Result<Block> {
        let encoding = encoded.encoding;
        let state = match encoding {
            Encoding::Overlap => State::Levels(seen.columns.into_iter().map(|column| column.levels.finish()).collect()),
            Encoding::Clinical => State::Ranges(seen.columns.into_iter().map(range).collect()),
            Encoding::Period(_) => State::Nothing,
            _ if seen.terms.words.len() > MAX_TERMS => {
                return Err(Error::input(format!(
                    "{encoding} has more than {MAX_TERMS} features; choose fewer letters"
                )));
            }
            _ => State::Terms(Terms::of(encoding, seen.terms, alphabet)),
        };
        Ok(Block { encoded: encoded.clone(), state })
    }

    /// Number of features.
    pub(super) fn width(&self) -> usize {
        match &self.state {
            State::Levels(columns) => columns.iter().map(Levels::width).sum(),
            State::Ranges(columns) => columns
                .iter()
                .map(|range| match range {
                    Range::Number { .. } => 1,
                    Range::Levels(levels) => levels.width(),
                })
                .sum(),
            State::Terms(terms) => terms.width(self.encoded.encoding),
            State::Nothing => 2 * self.encoded.columns.len(),
        }
    }

    /// The features of each row, positions ascending.
    pub(super) fn apply(&self, source: &Source<'_>) -> Vec<Vec<(u32, f64)>> {
        let n = source.features.n_rows();
        let mut rows: Vec<Vec<(u32, f64)>> = vec![vec![]; n];
        let share = 1.0 / self.encoded.columns.len().max(1) as f64;
        let mut start = 0u32;
        for (at, &j) in self.encoded.columns.iter().enumerate() {
            let values = source.column(j);
            match &self.state {
                State::Levels(columns) => {
                    columns[at].each(&values, source.texts(j), |i, level| rows[i].push((start + level, share.sqrt())));
                    start += columns[at].width() as u32;
                }
                State::Ranges(columns) => match &columns[at] {
                    Range::Number { low, range, mean } => {
                        for (row, value) in rows.iter_mut().zip(values) {
                            let value = if value.is_nan() { *mean } else { value };
                            // Beyond the range nothing is further apart than its ends.
                            let place = ((value - low) / range).clamp(0.0, 1.0);
                            row.push((start, place * share));
                        }
                        start += 1;
                    }
                    Range::Levels(levels) => {
                        levels.each(&values, source.texts(j), |i, level| rows[i].push((start + level, share / 2.0)));
                        start += levels.width() as u32;
                    }
                },
                State::Terms(terms) => {
                    let texts = source.texts(j);
                    let of_text = self.of_texts(terms, texts, &values);
                    for (row, value) in rows.iter_mut().zip(&values).filter(|(_, value)| !value.is_nan()) {
                        if let Some(found) = of_text.get(*value as usize) {
                            add(row, found);
                        }
                    }
                }
                State::Nothing => {
                    let Encoding::Period(period) = self.encoded.encoding else { continue };
                    for (row, value) in rows.iter_mut().zip(values).filter(|(_, value)| !value.is_nan()) {
                        let angle = (value / period.days()).fract() * std::f64::consts::TAU;
                        row.extend([(start, angle.sin()), (start + 1, angle.cos())]);
                    }
                    start += 2;
                }
            }
        }
        rows
    }

    /// The features of each text that a value refers to.
    fn of_texts(&self, terms: &Terms, texts: &[String], values: &[f64]) -> Vec<Vec<(u32, f64)>> {
        let mut is_used = vec![false; texts.len()];
        values.iter().filter(|value| !value.is_nan()).for_each(|&value| is_used[value as usize] = true);
        let mut room = Room::default();
        let one = |(text, is_used): (&String, bool)| match is_used {
            true => terms.features(self.encoded.encoding, text, &mut room).0,
            false => vec![],
        };
        texts.iter().zip(is_used).map(one).collect()
    }

    /// The names of the features.
    pub(super) fn names(&self, columns: &[String]) -> Vec<String> {
        let mut names = vec![];
        let name = self.encoded.encoding.to_string();
        match &self.state {
            State::Levels(levels) => {
                for (levels, &j) in levels.iter().zip(&self.encoded.columns) {
                    names.extend(levels.names(&columns[j]).into_iter().map(|level| format!("{name}:{level}")));
                }
            }
            State::Ranges(ranges) => {
                for (range, &j) in ranges.iter().zip(&self.encoded.columns) {
                    match range {
                        Range::Number { .. } => names.push(format!("{name}:{}", columns[j])),
                        Range::Levels(levels) => {
                            names.extend(levels.names(&columns[j]).into_iter().map(|level| format!("{name}:{level}")));
                        }
                    }
                }
            }
            State::Terms(terms) => {
                let of: Vec<&str> = self.encoded.columns.iter().map(|&j| columns[j].as_str()).collect();
                let prefix = format!("{}:", self.encoded.encoding.on(&of.join(", ")));
                names.extend(terms.words.iter().map(|word| format!("{prefix}{word}")));
                names.extend((terms.words.len()..self.width()).map(|_| format!("{prefix}others")));
            }
            State::Nothing => {
                for &j in &self.encoded.columns {
                    names.extend(["sin", "cos"].map(|part| format!("{name}:{}:{part}", columns[j])));
                }
            }
        }
        names
    }

    /// How many of all terms in the texts of these rows are unknown; `None` for blocks without terms.
    pub(super) fn unknown_terms(&self, source: &Source<'_>) -> Option<(usize, usize)> {
        let State::Terms(terms) = &self.state else { return None };
        let (mut unknown, mut all, mut room) = (0, 0, Room::default());
        for (text, times) in used_texts(source, &self.encoded.columns) {
            let (_, n) = terms.features(self.encoded.encoding, text, &mut room);
            let mut count = 0;
            match terms.weights.is_empty() {
                true => count = sequence_terms(text, self.encoded.encoding, &terms.alphabet).len(),
                false => each_term(text, self.encoded.encoding, &mut room, |_| count += 1),
            }
            (unknown, all) = (unknown + times * n, all + times * count);
        }
        Some((unknown, all))
    }

    pub(super) fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("encoding", &self.encoded.encoding.to_string());
        record.put("columns", &self.encoded.columns);
        match &self.state {
            State::Levels(columns) => {
                columns
                    .iter()
                    .enumerate()
                    .for_each(|(k, levels)| record.put_record(&format!("levels.{k}"), levels.encode()));
            }
            State::Ranges(columns) => {
                for (k, range) in columns.iter().enumerate() {
                    match range {
                        Range::Number { low, range, mean } => {
                            record.put(&format!("range.{k}"), &vec![*low, *range, *mean])
                        }
                        Range::Levels(levels) => record.put_record(&format!("levels.{k}"), levels.encode()),
                    }
                }
            }
            State::Terms(terms) => {
                record.put("words", &terms.words);
                record.put("weights", &terms.weights);
                record.put("alphabet", &String::from_utf8_lossy(&terms.alphabet).into_owned());
            }
            State::Nothing => {}
        }
        record
    }

    pub(super) fn decode(record: &Record, n_columns: usize) -> Result<Block> {
        let (encoding, columns): (String, Vec<usize>) = (record.take("encoding")?, record.take("columns")?);
        let encoding: Encoding = encoding.parse()?;
        if columns.is_empty() || columns.iter().any(|&j| j >= n_columns) {
            return Err(Error::input("its encoded columns do not fit its number of features"));
        }
        let levels = |k: usize| Levels::decode(&record.take_record(&format!("levels.{k}")));
        let state = match encoding {
            Encoding::Overlap => State::Levels((0..columns.len()).map(levels).collect::<Result<_>>()?),
            Encoding::Clinical => {
                let one = |k: usize| match record.take::<Vec<f64>>(&format!("range.{k}")).as_deref() {
                    Ok(&[low, range, mean]) if low.is_finite() && range > 0.0 && mean.is_finite() => {
                        Ok(Range::Number { low, range, mean })
                    }
                    Ok(_) => Err(Error::input("a range of its encoding is no range")),
                    Err(_) => levels(k).map(Range::Levels),
                };
                State::Ranges((0..columns.len()).map(one).collect::<Result<_>>()?)
            }
            Encoding::Period(_) => State::Nothing,
            _ => {
                let (words, weights): (Vec<String>, Vec<f64>) = (record.take("words")?, record.take("weights")?);
                let is_sound = weights.len() == if encoding.is_of_texts() { words.len() } else { 0 };
                if !is_sound || weights.iter().any(|weight| !weight.is_finite()) {
                    return Err(Error::input("the weights of its words do not fit"));
                }
                State::Terms(Terms::new(words, weights, record.take::<String>("alphabet")?.into_bytes()))
            }
        };
        Ok(Block { encoded: Encoded { encoding, columns }, state })
    }
}

/// Adds features to those of a row, both ascending.
fn add(row: &mut Vec<(u32, f64)>, more: &[(u32, f64)]) {
    if row.is_empty() {
        row.extend_from_slice(more);
        return;
    }
    let mut sums: BTreeMap<u32, f64> = row.iter().copied().collect();
    more.iter().for_each(|&(at, value)| *sums.entry(at).or_default() += value);
    *row = sums.into_iter().collect();
}

/// The texts of these columns that rows hold, and how many do.
pub(super) fn used_texts<'a>(source: &'a Source<'_>, columns: &[usize]) -> Vec<(&'a str, usize)> {
    let mut found = vec![];
    for &j in columns {
        let texts = source.texts(j);
        let mut times = vec![0; texts.len()];
        for value in source.column(j).into_iter().filter(|value| !value.is_nan()) {
            if let Some(times) = times.get_mut(value as usize) {
                *times += 1;
            }
        }
        let used = texts.iter().map(String::as_str).zip(times);
        found.extend(used.filter(|(_, times)| *times > 0));
    }
    found
}

/// What the clinical kernel needs of a column.
fn range(seen: SeenRange) -> Range {
    if seen.levels.is_text {
        return Range::Levels(seen.levels.finish());
    }
    if seen.count == 0 {
        return Range::Number { low: 0.0, range: 1.0, mean: 0.0 };
    }
    let range = if seen.high > seen.low { seen.high - seen.low } else { 1.0 };
    Range::Number { low: seen.low, range, mean: seen.mean }
}
