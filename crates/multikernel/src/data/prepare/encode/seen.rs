//! What rows say about the features of a table. Parts of the rows are asked one by one, wherever they are; what all say
//! is the sum of what the parts say, and an [`Encoder`](super::Encoder) is learned from that alone.

use rustc_hash::FxHashMap;

use super::block::{Encoded, Source, used_texts};
use super::encoding::Encoding;
use super::levels::SeenLevels;
use super::terms::{Room, each_term, sequence_terms, spelled};
use crate::data::table::{Kind, Samples};
use crate::error::{Error, Result};
use crate::file::{Codec, Record, record};

/// More texts than rows can have: sums of so many counts stay exact.
const MOST_TEXTS: usize = 1 << 53;

/// The features that kernels ask for beside columns themselves, and the letters of texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) encoded: Vec<Encoded>,
    /// For each column of the table the bytes that its texts are made of.
    pub(crate) letters: Vec<Letters>,
}

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Letters(pub(crate) [u64; 4]);

/// What rows say about the features of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(super) n_rows: usize,
    /// Levels of categories; empty for other columns.
    pub(super) levels: Vec<SeenLevels>,
    /// One for each of the features asked for.
    pub(super) blocks: Vec<SeenBlock>,
}

/// What rows say about one encoding of some columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SeenBlock {
    /// Each column of `overlap` and `clinical`.
    pub(super) columns: Vec<SeenRange>,
    pub(super) terms: SeenTerms,
    /// How many values of these rows are not zero.
    pub(super) n_stored: usize,
}

record! {
    /// One column of the clinical kernel: levels, or numbers by how many there are, their ends and their mean.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub(super) struct SeenRange {
        pub(super) levels: SeenLevels,
        pub(super) count: usize,
        pub(super) low: f64,
        pub(super) high: f64,
        pub(super) mean: f64,
    }
}

record! {
    /// The terms of texts or sequences, in order of their names.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub(super) struct SeenTerms {
        pub(super) words: Vec<String>,
        /// In how many texts each occurs; empty for sequences.
        pub(super) counts: Vec<usize>,
        pub(super) n_texts: usize,
    }
}

impl Letters {
    /// The bytes of the texts of each column that rows hold.
    pub(crate) fn of(samples: &Samples) -> Vec<Letters> {
        let source = Source { features: samples.features(), codings: samples.codings() };
        let of_column = |j: usize| {
            let mut letters = Letters::default();
            if samples.kind(j).keeps_texts() {
                for (text, _) in used_texts(&source, &[j]) {
                    text.bytes().for_each(|byte| letters.0[byte as usize / 64] |= 1 << (byte % 64));
                }
            }
            letters
        };
        (0..samples.n_features()).map(of_column).collect()
    }

    fn has(self, byte: u8) -> bool {
        self.0[byte as usize / 64] >> (byte % 64) & 1 == 1
    }
}

impl Wanted {
    /// For rows that are all here.
    pub(super) fn of(samples: &Samples, encoded: &[Encoded]) -> Wanted {
        let is_sequence = |encoded: &Encoded| encoded.encoding.takes_texts() && !encoded.encoding.is_of_texts();
        let letters = if encoded.iter().any(is_sequence) { Letters::of(samples) } else { vec![] };
        Wanted { encoded: encoded.to_vec(), letters }
    }

    /// The letters of the sequences of an encoding, as its features spell them.
    pub(super) fn alphabet(&self, encoded: &Encoded) -> Vec<u8> {
        let letters =
            |byte: &u8| encoded.columns.iter().any(|&j| self.letters.get(j).is_some_and(|letters| letters.has(*byte)));
        let spell = |byte: u8| match byte.is_ascii() {
            true => spelled(char::from(byte).encode_utf8(&mut [0; 4]), encoded.encoding).into_bytes()[0],
            false => byte,
        };
        let mut alphabet: Vec<u8> = (0..=u8::MAX).filter(letters).map(spell).collect();
        alphabet.sort_unstable();
        alphabet.dedup();
        alphabet
    }

    /// Whether columns are those of a table with so many, and of kinds that encodings take.
    pub(crate) fn fits(&self, samples: &Samples) -> bool {
        let takes = |encoding: Encoding, kind: Kind| match encoding {
            Encoding::Overlap | Encoding::Clinical => !matches!(kind, Kind::Text | Kind::Sequence),
            Encoding::Period(_) => kind == Kind::Date,
            _ => kind.keeps_texts(),
        };
        let fits = |encoded: &Encoded| {
            let inside = |&j: &usize| j < samples.n_features() && takes(encoded.encoding, samples.kind(j));
            !encoded.columns.is_empty() && encoded.columns.iter().all(inside)
        };
        self.encoded.iter().all(fits) && self.letters.len() == samples.n_features()
    }
}

impl Codec for Wanted {
    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("encodings", &self.encoded.iter().map(|each| each.encoding.to_string()).collect::<Vec<_>>());
        record.put("n_columns", &self.encoded.iter().map(|each| each.columns.len()).collect::<Vec<_>>());
        record.put("columns", &self.encoded.iter().flat_map(|each| each.columns.clone()).collect::<Vec<usize>>());
        record.put("letters", &self.letters.iter().flat_map(|letters| letters.0).collect::<Vec<u64>>());
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        let (encodings, sizes): (Vec<String>, Vec<usize>) = (record.take("encodings")?, record.take("n_columns")?);
        let (columns, letters): (Vec<usize>, Vec<u64>) = (record.take("columns")?, record.take("letters")?);
        let mut rest = columns.into_iter();
        let one = |(text, size): (&String, &usize)| {
            let columns = rest.by_ref().take(*size).collect();
            Ok(Encoded { encoding: text.parse()?, columns })
        };
        let encoded = encodings.iter().zip(&sizes).map(one).collect::<Result<Vec<_>>>()?;
        if encodings.len() != sizes.len() || rest.next().is_some() || !letters.len().is_multiple_of(4) {
            return Err(Error::input("the features asked for do not fit together"));
        }
        let letters = letters.chunks_exact(4).map(|four| Letters([four[0], four[1], four[2], four[3]]));
        Ok(Wanted { encoded, letters: letters.collect() })
    }
}

impl Seen {
    /// What these rows say. Costs about as much as making the features.
    pub(crate) fn of(samples: &Samples, wanted: &Wanted) -> Seen {
        let source = Source { features: samples.features(), codings: samples.codings() };
        let level = |j: usize| match samples.kind(j) {
            Kind::Category => SeenLevels::of(&source.column(j), source.texts(j)),
            _ => SeenLevels::default(),
        };
        let block = |encoded: &Encoded| SeenBlock::of(encoded, &source, &wanted.alphabet(encoded));
        Seen {
            n_rows: samples.n_samples(),
            levels: (0..samples.n_features()).map(level).collect(),
            blocks: wanted.encoded.iter().map(block).collect(),
        }
    }

    /// Adds what other rows of the same table say about the same features.
    pub(crate) fn add(&mut self, next: &Seen) {
        self.n_rows += next.n_rows;
        self.levels.iter_mut().zip(&next.levels).for_each(|(levels, next)| levels.add(next));
        for (block, next) in self.blocks.iter_mut().zip(&next.blocks) {
            block.columns.iter_mut().zip(&next.columns).for_each(|(column, next)| column.add(next));
            block.terms.add(&next.terms);
            block.n_stored = block.n_stored.saturating_add(next.n_stored);
        }
    }

    /// Whether it can be what rows of this table, up to `n_rows` of them, say about the features asked for. `samples` are
    /// any of its rows.
    pub(crate) fn is_sound(&self, samples: &Samples, wanted: &Wanted, n_rows: usize) -> bool {
        let kind = |j: usize| samples.kind(j);
        let fits = |(encoded, block): (&Encoded, &SeenBlock)| {
            let n_columns = match encoded.encoding {
                Encoding::Overlap | Encoding::Clinical => encoded.columns.len(),
                _ => 0,
            };
            let most = n_rows.saturating_mul(encoded.columns.len());
            block.columns.len() == n_columns
                && most <= MOST_TEXTS
                && encoded
                    .columns
                    .iter()
                    .zip(&block.columns)
                    .all(|(&j, seen)| seen.is_sound(kind(j).keeps_texts(), n_rows))
                && block.terms.is_sound(encoded.encoding, most)
                && block.n_stored <= most.saturating_mul(2 + block.terms.words.len())
        };
        self.n_rows == n_rows
            && wanted.fits(samples)
            && self.levels.len() == samples.n_features()
            && self.levels.iter().enumerate().all(|(j, seen)| match kind(j) {
                Kind::Category => seen.is_sound(true),
                _ => *seen == SeenLevels::default(),
            })
            && self.blocks.len() == wanted.encoded.len()
            && wanted.encoded.iter().zip(&self.blocks).all(fits)
    }

    /// The longest of its lists of texts: what it lists, how many, and the bytes of all lists together.
    pub(crate) fn longest(&self, names: &[String], wanted: &Wanted) -> (String, usize, usize) {
        let levels =
            self.levels.iter().zip(names).map(|(seen, name)| (format!("levels of column '{name}'"), &seen.texts));
        let blocks = wanted.encoded.iter().zip(&self.blocks).flat_map(|(encoded, block)| {
            let of: Vec<&str> = encoded.columns.iter().map(|&j| names[j].as_str()).collect();
            let what = format!("features of {}", encoded.encoding.on(&of.join(", ")));
            let terms = std::iter::once(&block.terms.words);
            terms.chain(block.columns.iter().map(|seen| &seen.levels.texts)).map(move |texts| (what.clone(), texts))
        });
        let (mut longest, mut bytes) = ((String::new(), 0), 0);
        for (what, texts) in levels.chain(blocks) {
            bytes += texts.iter().map(String::len).sum::<usize>();
            if texts.len() > longest.1 {
                longest = (what, texts.len());
            }
        }
        (longest.0, longest.1, bytes)
    }
}

impl Codec for Seen {
    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("n_rows", &self.n_rows);
        // 1 for columns that have levels.
        let has_levels = |seen: &SeenLevels| usize::from(*seen != SeenLevels::default());
        record.put("has_levels", &self.levels.iter().map(has_levels).collect::<Vec<_>>());
        for (j, seen) in self.levels.iter().enumerate().filter(|(_, seen)| has_levels(seen) == 1) {
            record.put(&format!("levels.{j}"), seen);
        }
        record.put("n_blocks", &self.blocks.len());
        for (b, block) in self.blocks.iter().enumerate() {
            record.put(&format!("block.{b}.n_stored"), &block.n_stored);
            record.put(&format!("block.{b}.n_columns"), &block.columns.len());
            record.put(&format!("block.{b}.terms"), &block.terms);
            for (k, column) in block.columns.iter().enumerate() {
                record.put(&format!("block.{b}.column.{k}"), column);
            }
        }
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        // No list is longer than the record has fields.
        let most = record.values.len() + record.arrays.len();
        let within = |n: usize| if n <= most { Ok(n) } else { Err(Error::input("a list of an answer is too long")) };
        let of_column = |(j, &has_levels): (usize, &usize)| match has_levels {
            0 => Ok(SeenLevels::default()),
            _ => record.take(&format!("levels.{j}")),
        };
        let block = |b: usize| {
            let inner = record.take_record(&format!("block.{b}"));
            let n_columns = within(inner.take("n_columns")?)?;
            let column = |k: usize| inner.take(&format!("column.{k}"));
            Ok(SeenBlock {
                columns: (0..n_columns).map(column).collect::<Result<_>>()?,
                terms: inner.take("terms")?,
                n_stored: inner.take("n_stored")?,
            })
        };
        let has_levels: Vec<usize> = record.take("has_levels")?;
        Ok(Seen {
            n_rows: record.take("n_rows")?,
            levels: has_levels.iter().enumerate().map(of_column).collect::<Result<_>>()?,
            blocks: (0..within(record.take("n_blocks")?)?).map(block).collect::<Result<_>>()?,
        })
    }
}

impl SeenBlock {
    fn of(encoded: &Encoded, source: &Source<'_>, alphabet: &[u8]) -> SeenBlock {
        let (columns, n) = (&encoded.columns, source.features.n_rows());
        match encoded.encoding {
            Encoding::Overlap => {
                let levels = |&j: &usize| SeenLevels::of(&source.column(j), source.texts(j));
                let columns: Vec<SeenRange> =
                    columns.iter().map(|j| SeenRange { levels: levels(j), ..SeenRange::default() }).collect();
                SeenBlock { n_stored: n * columns.len(), columns, ..SeenBlock::default() }
            }
            Encoding::Clinical => {
                let columns: Vec<SeenRange> = columns.iter().map(|&j| SeenRange::of(source, j)).collect();
                SeenBlock { n_stored: n * columns.len(), columns, ..SeenBlock::default() }
            }
            Encoding::Period(_) => {
                let present = |&j: &usize| source.column(j).iter().filter(|value| !value.is_nan()).count();
                // A sine and a cosine.
                SeenBlock { n_stored: 2 * columns.iter().map(present).sum::<usize>(), ..SeenBlock::default() }
            }
            _ => {
                let (terms, n_stored) = SeenTerms::of(encoded, source, alphabet);
                SeenBlock { columns: vec![], terms, n_stored }
            }
        }
    }
}

impl SeenRange {
    fn of(source: &Source<'_>, j: usize) -> SeenRange {
        let (values, texts) = (source.column(j), source.texts(j));
        if !texts.is_empty() {
            return SeenRange { levels: SeenLevels::of(&values, texts), ..SeenRange::default() };
        }
        let n = values.len();
        let present: Vec<f64> = values.into_iter().filter(|value| !value.is_nan()).collect();
        let levels = SeenLevels { has_missing: present.len() < n, ..SeenLevels::default() };
        if present.is_empty() {
            return SeenRange { levels, ..SeenRange::default() };
        }
        SeenRange {
            levels,
            count: present.len(),
            low: present.iter().copied().fold(f64::INFINITY, f64::min),
            high: present.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            mean: present.iter().map(|value| value / present.len() as f64).sum(),
        }
    }

    fn add(&mut self, next: &SeenRange) {
        self.levels.add(&next.levels);
        if next.count == 0 {
            return;
        }
        if self.count == 0 {
            (self.count, self.low, self.high, self.mean) = (next.count, next.low, next.high, next.mean);
            return;
        }
        let count = self.count + next.count;
        let share = |n: usize| n as f64 / count as f64;
        self.mean = self.mean * share(self.count) + next.mean * share(next.count);
        (self.low, self.high, self.count) = (self.low.min(next.low), self.high.max(next.high), count);
    }

    fn is_sound(&self, keeps_texts: bool, n_rows: usize) -> bool {
        self.levels.is_sound(keeps_texts)
            && self.count <= if keeps_texts { 0 } else { n_rows }
            && [self.low, self.high, self.mean].iter().all(|value| value.is_finite())
            && self.low <= self.high
    }
}

impl SeenTerms {
    /// The terms of these columns, and how many features of all rows are not zero.
    fn of(encoded: &Encoded, source: &Source<'_>, alphabet: &[u8]) -> (SeenTerms, usize) {
        let texts = used_texts(source, &encoded.columns);
        let (seen, n_stored) = match encoded.encoding.is_of_texts() {
            true => SeenTerms::of_texts(encoded.encoding, &texts),
            false => SeenTerms::of_sequences(encoded.encoding, &texts, alphabet),
        };
        match encoded.columns.len() {
            1 => (seen, n_stored),
            // Texts of several columns may have terms in common.
            _ => (seen, n_distinct(encoded, source, alphabet)),
        }
    }

    /// Counts in how many texts each term of `words` or `chars` occurs, each text as often as rows hold it; also
    /// returns the sum of these counts.
    fn of_texts(encoding: Encoding, texts: &[(&str, usize)]) -> (SeenTerms, usize) {
        // The number of texts that hold a term, and the last of them.
        let mut seen: FxHashMap<String, (usize, usize)> = FxHashMap::default();
        let mut room = Room::default();
        for (t, (text, times)) in texts.iter().enumerate() {
            each_term(text, encoding, &mut room, |term| match seen.get_mut(term) {
                Some((_, last)) if *last == t => {}
                Some((count, last)) => (*count, *last) = (*count + times, t),
                None => drop(seen.insert(term.to_string(), (*times, t))),
            });
        }
        let mut sorted: Vec<(String, usize)> = seen.into_iter().map(|(term, (count, _))| (term, count)).collect();
        sorted.sort_unstable();
        let (words, counts): (Vec<String>, Vec<usize>) = sorted.into_iter().unzip();
        let n_stored = counts.iter().sum();
        (SeenTerms { words, counts, n_texts: texts.iter().map(|(_, times)| times).sum() }, n_stored)
    }

    /// The features of sequences; also returns how many all rows have.
    fn of_sequences(encoding: Encoding, texts: &[(&str, usize)], alphabet: &[u8]) -> (SeenTerms, usize) {
        let (mut words, mut n_stored): (Vec<String>, usize) = (vec![], 0);
        for (text, times) in texts {
            let terms = sequence_terms(text, encoding, alphabet);
            n_stored += times * terms.len();
            words.extend(terms.into_iter().map(|(term, _)| term));
            if words.len() > 1 << 20 {
                words.sort_unstable();
                words.dedup();
            }
        }
        words.sort_unstable();
        words.dedup();
        (SeenTerms { words, counts: vec![], n_texts: texts.iter().map(|(_, times)| times).sum() }, n_stored)
    }

    fn add(&mut self, next: &SeenTerms) {
        self.n_texts += next.n_texts;
        let has_counts = !self.counts.is_empty() || !next.counts.is_empty();
        let count = |counts: &[usize], k: usize| counts.get(k).copied().unwrap_or(0);
        let own = std::mem::take(&mut self.words).into_iter().enumerate();
        let mut all: Vec<(String, usize)> = own.map(|(k, word)| (word, count(&self.counts, k))).collect();
        all.extend(next.words.iter().enumerate().map(|(k, word)| (word.clone(), count(&next.counts, k))));
        // Both are sorted, and the sort merges runs.
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all.dedup_by(|later, first| {
            let is_same = later.0 == first.0;
            first.1 += if is_same { later.1 } else { 0 };
            is_same
        });
        let (words, counts) = all.into_iter().unzip();
        (self.words, self.counts) = (words, if has_counts { counts } else { vec![] });
    }

    /// `most` is how many texts rows can hold.
    fn is_sound(&self, encoding: Encoding, most: usize) -> bool {
        let n_counts = if encoding.is_of_texts() { self.words.len() } else { 0 };
        (encoding.takes_texts() || self.words.is_empty())
            && self.n_texts <= most
            && self.counts.len() == n_counts
            && self.counts.iter().all(|&count| (1..=self.n_texts).contains(&count))
            && self.words.windows(2).all(|pair| pair[0] < pair[1])
    }
}

/// How many features of all rows are not zero, where a row has texts in several columns.
fn n_distinct(encoded: &Encoded, source: &Source<'_>, alphabet: &[u8]) -> usize {
    let mut numbers: FxHashMap<String, u32> = FxHashMap::default();
    let mut room = Room::default();
    let mut rows: Vec<Vec<u32>> = vec![vec![]; source.features.n_rows()];
    for &j in &encoded.columns {
        let mut of_text: FxHashMap<usize, Vec<u32>> = FxHashMap::default();
        let texts = source.texts(j);
        for (row, value) in rows.iter_mut().zip(source.column(j)).filter(|(_, value)| !value.is_nan()) {
            let Some(text) = texts.get(value as usize) else { continue };
            let terms = of_text.entry(value as usize).or_insert_with(|| {
                let mut found = vec![];
                let mut take = |term: &str| {
                    let next = numbers.len() as u32;
                    found.push(*numbers.entry(term.to_string()).or_insert(next));
                };
                match encoded.encoding.is_of_texts() {
                    true => each_term(text, encoded.encoding, &mut room, &mut take),
                    false => sequence_terms(text, encoded.encoding, alphabet).iter().for_each(|(term, _)| take(term)),
                }
                found.sort_unstable();
                found.dedup();
                found
            });
            row.extend_from_slice(terms);
        }
    }
    let distinct = |mut row: Vec<u32>| {
        row.sort_unstable();
        row.dedup();
        row.len()
    };
    rows.into_iter().map(distinct).sum()
}
