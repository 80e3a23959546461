//! The texts of a column that is not, or may not be, a feature.

use std::collections::{HashMap, HashSet};

use super::cells::Cells;
use crate::data::read::options::ReadOptions;
use crate::data::read::roles::End;
use crate::data::table::words::{finite, is_missing, quoted};
use crate::error::{Error, Remedy, Result, message};

/// The texts of a column that is not, or may not be, a feature.
pub(super) struct Kept {
    pub(super) column: usize,
    pub(super) texts: Vec<String>,
    /// The line of each text, while none is missing and all are distinct.
    pub(super) lines: Option<HashMap<String, u64>>,
    /// Whether the column was given as ids, so that a repeated text is an error.
    pub(super) is_given: bool,
    /// Whether texts are kept even if they repeat.
    pub(super) keeps_all: bool,
}

impl Kept {
    pub(super) fn new(column: usize, is_given: bool, keeps_all: bool) -> Self {
        Kept { column, texts: vec![], lines: Some(HashMap::new()), is_given, keeps_all }
    }

    pub(super) fn add(&mut self, name: &str, cells: &Cells) -> Result<()> {
        let (j, text) = (self.column, cells.cell(self.column));
        if let Some(lines) = &mut self.lines {
            let before = if text.is_empty() { Some(0) } else { lines.insert(text.to_string(), cells.line()) };
            match before {
                Some(0) if self.is_given => {
                    let message = message![
                        "the id is missing; fill it in, or leave the column out with ",
                        Remedy::Ignore(vec![j.to_string()])
                    ];
                    return Err(Error::data(cells.place(name, j), message));
                }
                Some(line) if self.is_given => {
                    let message = message![
                        format!("the id {} stands in line {line} already; give every row its own, ", quoted(text)),
                        "leave the column out with ",
                        Remedy::Ignore(vec![j.to_string()]),
                        ", or keep such rows together with ",
                        Remedy::Groups(Some(j.to_string()))
                    ];
                    return Err(Error::data(cells.place(name, j), message));
                }
                Some(_) => self.lines = None,
                None => (),
            }
        }
        if self.lines.is_some() || self.keeps_all {
            self.texts.push(text.to_string());
        } else {
            self.texts = vec![];
        }
        Ok(())
    }

    /// Bytes that the next text takes: it is held twice while all are distinct, once if all are kept.
    pub(super) fn cost(&self, cells: &Cells) -> usize {
        const ENTRY: usize = 64;
        let n_held = 2 * usize::from(self.lines.is_some()) + usize::from(self.lines.is_none() && self.keeps_all);
        n_held * (cells.cell(self.column).len() + ENTRY)
    }

    pub(super) fn all_differ(&self) -> bool {
        self.lines.is_some()
    }

    /// What the column may be, as the first or last of rows with too many columns; `counts` if it counts the rows.
    pub(super) fn end(&self, options: &ReadOptions, counts: bool) -> End {
        let Some(expect) = &options.expect else { return End::default() };
        let there = || self.texts.iter().filter(|text| !is_missing(text) || expect.is_class(text));
        let known: HashSet<&String> = there().collect();
        let is_number = |text: &&String| finite(text).is_some();
        let is_text = there().any(|text| !is_number(&text));
        let is_words = there().all(|text| !is_number(&text)) && there().count() == self.texts.len();
        let is_whole = there().all(|text| finite(text).is_some_and(|value| value.fract() == 0.0));
        End {
            is_classes: !known.is_empty() && known.iter().all(|text| expect.is_class(text)),
            is_text,
            is_maybe_id: self.all_differ() && (is_words || (is_whole && self.texts.len() > 1)),
            is_id: self.all_differ() && (is_words || counts),
        }
    }
}
