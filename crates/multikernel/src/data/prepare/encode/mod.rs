//! From the columns of a table, whatever they hold, to the features of kernels; all of it learned on training rows.
//!
//! Features come in the order of the table: a number is one column, a category one for each level. Texts and sequences
//! have none of their own. Behind these stand the blocks that kernels ask for, such as the words of a text.

mod block;
mod encoding;
mod levels;
mod seen;
mod terms;
#[cfg(test)]
mod tests;

use std::ops::Range;

use self::block::{Block, Source};
use self::levels::{Levels, SeenLevels};
use crate::data::table::words::{list, quoted};
use crate::data::table::{Kind, Samples, ToldKind, View};
use crate::error::{Error, Result};
use crate::features::{Features, Sparse};
use crate::file::Record;
use crate::linalg::Matrix;
pub use block::Encoded;
pub use encoding::{Encoding, Period};
pub(crate) use seen::{Letters, Seen, Wanted};

/// Fewer features than this are kept dense.
const MIN_SPARSE_COLUMNS: usize = 65;
/// Rows are kept sparse if at most one value in this many is not zero.
const SPARSITY: u128 = 4;

/// Where the columns of a table went, for selectors of kernels.
#[derive(Clone, Copy, Debug)]
pub struct EncodedLayout<'a> {
    /// The columns of the table.
    pub names: &'a [String],
    /// What they hold.
    pub kinds: &'a [Kind],
    /// The views of the table.
    pub views: &'a [View],
    /// The features of each column; none for texts and sequences.
    pub spans: &'a [Range<usize>],
    /// The features of each block.
    pub blocks: &'a [(Encoded, Range<usize>)],
}

/// What was learned about the columns of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Encoder {
    names: Vec<String>,
    told: Vec<ToldKind>,
    kinds: Vec<Kind>,
    raw_views: Vec<View>,
    /// Levels of categories; empty for other columns.
    levels: Vec<Levels>,
    blocks: Vec<Block>,
    is_sparse: bool,
    /// The position of each number among the numbers that are kept.
    numbers: Vec<Option<usize>>,
    spans: Vec<Range<usize>>,
    ranges: Vec<(Encoded, Range<usize>)>,
    pub(super) out_names: Vec<String>,
    pub(super) out_views: Vec<View>,
}

/// Whether the values of a kind are numbers.
pub(super) fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Number | Kind::YesNo | Kind::Ordered | Kind::Date)
}

/// The columns of numbers.
pub(super) fn numbers_of(samples: &Samples) -> Vec<usize> {
    (0..samples.n_features()).filter(|&j| is_number(samples.kind(j))).collect()
}

/// The views as ranges among some of the columns, which ascend.
pub(super) fn views_among(views: &[View], columns: &[usize]) -> Vec<View> {
    let at = |j: usize| columns.partition_point(|&column| column < j);
    let of = |view: &View| View { name: view.name.clone(), columns: at(view.columns.start)..at(view.columns.end) };
    views.iter().map(of).collect()
}

impl Encoder {
    /// Learns from training rows; `kept` are the columns of numbers that kernels see, among all columns of numbers.
    pub(super) fn fit(samples: &Samples, wanted: &[Encoded], kept: &[usize], is_dense: bool) -> Result<Encoder> {
        let wanted = Wanted::of(samples, wanted);
        Encoder::of_seen(Seen::of(samples, &wanted), &wanted, samples, kept, is_dense)
    }

    /// [`Encoder::fit`] from what all rows say, wherever they are; of `samples`, which may be any of them, only names, kinds
    /// and views count.
    pub(super) fn of_seen(
        seen: Seen,
        wanted: &Wanted,
        samples: &Samples,
        kept: &[usize],
        is_dense: bool,
    ) -> Result<Encoder> {
        let kinds: Vec<Kind> = (0..samples.n_features()).map(|j| samples.kind(j)).collect();
        let Seen { n_rows, levels, blocks } = seen;
        let n_stored: u128 = blocks.iter().map(|block| block.n_stored as u128).sum();
        let learn = |(encoded, block)| Block::of(encoded, block, wanted.alphabet(encoded));
        let blocks = wanted.encoded.iter().zip(blocks).map(learn).collect::<Result<Vec<_>>>()?;
        let numbers = numbers_of(samples);
        let mut at: Vec<Option<usize>> = vec![None; kinds.len()];
        kept.iter().enumerate().for_each(|(place, &k)| at[numbers[k]] = Some(place));
        let told = match samples.codings() {
            [] => vec![ToldKind::default(); kinds.len()],
            codings => codings.iter().map(|coding| coding.told.clone()).collect(),
        };
        let mut encoder = Encoder {
            names: samples.names().to_vec(),
            told,
            kinds,
            raw_views: samples.views().to_vec(),
            levels: levels.into_iter().map(SeenLevels::finish).collect(),
            blocks,
            numbers: at,
            ..Encoder::default()
        };
        encoder.place();
        let n_columns = encoder.out_names.len();
        let n_own = encoder.kinds.iter().filter(|kind| !matches!(kind, Kind::Text | Kind::Sequence)).count();
        // About how many values of training rows are not zero.
        let n_stored = n_rows as u128 * n_own as u128 + n_stored;
        encoder.is_sparse =
            !is_dense && n_columns >= MIN_SPARSE_COLUMNS && n_stored * SPARSITY <= n_rows as u128 * n_columns as u128;
        Ok(encoder)
    }

    /// Decides where features go.
    fn place(&mut self) {
        self.out_names.clear();
        self.spans.clear();
        for (j, kind) in self.kinds.iter().enumerate() {
            let start = self.out_names.len();
            match kind {
                Kind::Category => self.out_names.extend(self.levels[j].names(&self.names[j])),
                _ if self.numbers[j].is_some() => self.out_names.push(self.names[j].clone()),
                _ => {}
            }
            self.spans.push(start..self.out_names.len());
        }
        let at = |j: usize| self.spans.get(j).map_or(self.out_names.len(), |span| span.start);
        let view =
            |view: &View| View { name: view.name.clone(), columns: at(view.columns.start)..at(view.columns.end) };
        self.out_views = self.raw_views.iter().map(view).collect();
        self.ranges.clear();
        for block in &self.blocks {
            let start = self.out_names.len();
            self.out_names.extend(block.names(&self.names));
            self.ranges.push((block.encoded.clone(), start..self.out_names.len()));
        }
    }

    pub(super) fn layout(&self) -> EncodedLayout<'_> {
        EncodedLayout {
            names: &self.names,
            kinds: &self.kinds,
            views: &self.raw_views,
            spans: &self.spans,
            blocks: &self.ranges,
        }
    }

    /// The columns of the table.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// What they hold; empty if all are numbers.
    pub(super) fn told(&self) -> &[ToldKind] {
        let is_plain = self.kinds.iter().all(|kind| matches!(kind, Kind::Number | Kind::YesNo));
        if is_plain { &[] } else { &self.told }
    }

    /// How many columns hold numbers.
    pub(super) fn n_numbers(&self) -> usize {
        self.kinds.iter().filter(|&&kind| is_number(kind)).count()
    }

    /// The features of rows that have been [checked](Encoder::check), given the scaled numbers among them.
    pub(super) fn apply(&self, samples: &Samples, numbers: &Features) -> Result<Features> {
        let source = Source { features: samples.features(), codings: samples.codings() };
        let (n, n_columns) = (samples.n_samples(), self.out_names.len());
        let numbers = numbers.to_dense()?;
        let mut rows: Vec<Vec<(u32, f64)>> = vec![vec![]; n];
        for (j, span) in self.spans.iter().enumerate() {
            let start = span.start as u32;
            match (self.numbers[j], self.kinds[j]) {
                (Some(at), _) => {
                    rows.iter_mut().enumerate().for_each(|(i, row)| row.push((start, numbers.get(i, at))));
                }
                (None, Kind::Category) => {
                    self.levels[j]
                        .each(&source.column(j), source.texts(j), |i, level| rows[i].push((start + level, 1.0)));
                }
                _ => {}
            }
        }
        for (block, (_, range)) in self.blocks.iter().zip(&self.ranges) {
            for (row, found) in rows.iter_mut().zip(block.apply(&source)) {
                row.extend(found.into_iter().map(|(at, value)| (range.start as u32 + at, value)));
            }
        }
        if self.is_sparse {
            let (mut ends, mut columns, mut values) = (Vec::with_capacity(n), vec![], vec![]);
            for row in rows {
                let stored = row.into_iter().filter(|&(_, value)| value != 0.0);
                stored.for_each(|(at, value)| {
                    columns.push(at);
                    values.push(value);
                });
                ends.push(columns.len());
            }
            return Ok(Sparse::from_parts(ends, columns, values, vec![0.0; n_columns])?.into());
        }
        let mut table = Matrix::zeros(n, n_columns);
        for (i, row) in rows.into_iter().enumerate() {
            row.into_iter().for_each(|(at, value)| table.row_mut(i)[at as usize] = value);
        }
        Ok(table.into())
    }

    /// Rows must hold what the training rows did.
    pub(super) fn check(&self, samples: &Samples) -> Result<()> {
        for (j, kind) in self.kinds.iter().enumerate() {
            let found = samples.kind(j);
            if kind.is_text() != found.is_text() || (*kind == Kind::Ordered) != (found == Kind::Ordered) {
                return Err(Error::input(format!(
                    "column {} holds {} in the rows, {} in training; read the rows for the model, or give the same kind",
                    quoted(&self.names[j]),
                    found.plural(),
                    kind.plural()
                )));
            }
        }
        Ok(())
    }

    /// What rows hold that no training row did, one line each.
    pub(super) fn unseen(&self, samples: &Samples) -> Vec<String> {
        let source = Source { features: samples.features(), codings: samples.codings() };
        let mut notes = vec![];
        for (j, name) in self.names.iter().enumerate().filter(|(j, _)| self.kinds[*j] == Kind::Category) {
            let (levels, n) = self.levels[j].unseen(&source.column(j), source.texts(j));
            if n > 0 {
                let shown: Vec<String> = levels.iter().map(|level| quoted(level)).collect();
                let rows = if n == 1 { "1 row has".into() } else { format!("{n} rows have") };
                let what = if levels.len() == 1 { "a level" } else { "levels" };
                notes.push(format!(
                    "column {}: {rows} {what} that no training row has, {}; it agrees with none of them",
                    quoted(name),
                    list(&shown, 5)
                ));
            }
        }
        for block in &self.blocks {
            if let Some((unknown, all)) = block.unknown_terms(&source).filter(|(unknown, _)| *unknown > 0) {
                let of: Vec<&str> = block.encoded.columns.iter().map(|&j| self.names[j].as_str()).collect();
                let what = block.encoded.encoding.on(&of.join(", "));
                let share = 100.0 * unknown as f64 / all.max(1) as f64;
                notes.push(format!("{what}: {share:.1} % of the terms are in no training row and say nothing"));
            }
        }
        notes
    }

    pub(super) fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("names", &self.names);
        record.put("kinds", &self.told.iter().map(ToldKind::to_string).collect::<Vec<_>>());
        let ends: Vec<usize> = self.raw_views.iter().flat_map(|view| [view.columns.start, view.columns.end]).collect();
        record.put("views", &self.raw_views.iter().map(|view| view.name.clone()).collect::<Vec<_>>());
        record.put("ends", &ends);
        record.put("sparse", &u64::from(self.is_sparse));
        let numbers = self.numbers.iter().map(|at| at.map_or(0, |at| at as u64 + 1)).collect::<Vec<_>>();
        record.put("numbers", &numbers);
        for (j, levels) in self.levels.iter().enumerate().filter(|(j, _)| self.kinds[*j] == Kind::Category) {
            record.put_record(&format!("levels.{j}"), levels.encode());
        }
        record.put("n_blocks", &self.blocks.len());
        for (b, block) in self.blocks.iter().enumerate() {
            record.put_record(&format!("block.{b}"), block.encode());
        }
        record
    }

    /// `n_numbers` is how many columns of numbers are kept.
    pub(super) fn decode(record: &Record, n_numbers: usize) -> Result<Encoder> {
        let names: Vec<String> = record.take("names")?;
        let told =
            record.take::<Vec<String>>("kinds")?.iter().map(|text| text.parse()).collect::<Result<Vec<ToldKind>>>()?;
        let kinds: Vec<Kind> = told.iter().map(|told| told.kind).collect();
        let (views, ends): (Vec<String>, Vec<usize>) = (record.take("views")?, record.take("ends")?);
        let numbers: Vec<Option<usize>> =
            record.take::<Vec<u64>>("numbers")?.into_iter().map(|at| (at as usize).checked_sub(1)).collect();
        let fits = kinds.len() == names.len()
            && numbers.len() == names.len()
            && numbers.iter().zip(&kinds).all(|(at, &kind)| at.is_none_or(|at| at < n_numbers && is_number(kind)))
            && ends.len() == 2 * views.len()
            && ends.chunks_exact(2).all(|ends| ends[0] <= ends[1] && ends[1] <= names.len());
        if !fits {
            return Err(Error::input("the kinds of its columns do not fit together"));
        }
        let view = |(name, ends): (String, &[usize])| View { name, columns: ends[0]..ends[1] };
        let level = |(j, kind): (usize, &Kind)| match kind {
            Kind::Category => Levels::decode(&record.take_record(&format!("levels.{j}"))),
            _ => Ok(Levels::default()),
        };
        let n_blocks: usize = record.take("n_blocks")?;
        let block = |b: usize| Block::decode(&record.take_record(&format!("block.{b}")), names.len());
        let mut encoder = Encoder {
            raw_views: views.into_iter().zip(ends.chunks_exact(2)).map(view).collect(),
            levels: kinds.iter().enumerate().map(level).collect::<Result<_>>()?,
            blocks: (0..n_blocks).map(block).collect::<Result<_>>()?,
            is_sparse: record.take::<u64>("sparse")? != 0,
            names,
            told,
            kinds,
            numbers,
            ..Encoder::default()
        };
        encoder.place();
        Ok(encoder)
    }
}
