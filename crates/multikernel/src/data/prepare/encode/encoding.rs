//! The ways in which columns become features of a kernel, and their texts.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// A way to turn columns into the features of a kernel, learned on training rows.
///
/// Each is the exact feature map of a kernel: the kernel is the inner product of the features, or a function of it.
///
/// ```
/// use multikernel::data::Encoding;
/// let encoding: Encoding = "mismatch(5, 1) revcomp".parse()?;
/// assert_eq!(encoding, Encoding::Mismatch { k: 5, m: 1, revcomp: true });
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// One feature per level and column; the inner product is the share of columns in which two rows agree.
    Overlap,
    /// Numbers by their range, levels as by `Overlap`; 1 less their L1 distance is the mean over columns of
    /// 1 - |x - y| / range, or of agreement.
    Clinical,
    /// Words, and sequences of up to `high` words, weighted by term frequency and rareness (tf-idf), of length 1.
    Words {
        /// The fewest words of a feature.
        low: usize,
        /// The most.
        high: usize,
    },
    /// The same for sequences of characters within words.
    Chars {
        /// The fewest characters of a feature.
        low: usize,
        /// The most.
        high: usize,
    },
    /// How often each sequence of k letters occurs.
    Spectrum {
        /// Letters of a feature.
        k: usize,
        /// Whether a feature and its reverse complement are one.
        revcomp: bool,
    },
    /// The same, an occurrence counting for all sequences with up to m other letters.
    Mismatch {
        /// Letters of a feature.
        k: usize,
        /// The most letters that differ.
        m: usize,
        /// Whether a feature and its reverse complement are one.
        revcomp: bool,
    },
    /// How often each choice of k letters of a window occurs at its places, the others being anything.
    Gapped {
        /// Letters of the window.
        length: usize,
        /// Letters of a feature.
        k: usize,
        /// Whether a feature and its reverse complement are one.
        revcomp: bool,
    },
    /// Sequences of up to `degree` letters at their positions, short ones weighted more; those up to `shift` positions
    /// apart count in part: the weighted degree kernel with shifts.
    Degree {
        /// The most letters of a feature.
        degree: usize,
        /// The most positions between two that match.
        shift: usize,
    },
    /// Sine and cosine of the time within a year, a week or a day.
    Period(Period),
}

/// A period of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Period {
    /// 365.2425 days.
    Year,
    /// Seven days.
    Week,
    /// 24 hours.
    Day,
}

impl Period {
    /// All periods.
    pub const ALL: [Period; 3] = [Period::Year, Period::Week, Period::Day];

    /// The word in a bank of kernels.
    pub fn word(self) -> &'static str {
        match self {
            Period::Year => "year",
            Period::Week => "week",
            Period::Day => "day",
        }
    }

    /// Its length in days.
    pub fn days(self) -> f64 {
        match self {
            Period::Year => 365.2425,
            Period::Week => 7.0,
            Period::Day => 1.0,
        }
    }
}

impl Encoding {
    /// Whether it takes columns of texts.
    pub fn takes_texts(self) -> bool {
        !matches!(self, Encoding::Overlap | Encoding::Clinical | Encoding::Period(_))
    }

    /// Whether its features are terms of free texts, weighted by their rareness.
    pub(super) fn is_of_texts(self) -> bool {
        matches!(self, Encoding::Words { .. } | Encoding::Chars { .. })
    }

    /// Whether it is written in the place of columns, as in `linear on words(abstract)`.
    pub fn is_selector(self) -> bool {
        matches!(self, Encoding::Words { .. } | Encoding::Chars { .. } | Encoding::Period(_))
    }

    /// The text of the encoding on columns of this name, as banks write it.
    pub fn on(self, columns: &str) -> String {
        match self {
            Encoding::Words { low: 1, high: 1 } => format!("words({columns})"),
            Encoding::Words { low, high } => format!("words({columns}; {low}..{high})"),
            Encoding::Chars { low, high } => format!("chars({columns}; {low}..{high})"),
            Encoding::Period(period) => format!("period({columns}; {})", period.word()),
            other => format!("{other} on {columns}"),
        }
    }

    /// What is wrong with its numbers, if anything.
    pub fn fault(self) -> Option<String> {
        let between = |what: &str, value: usize, low: usize, high: usize| {
            (!(low..=high).contains(&value)).then(|| format!("{what} must lie between {low} and {high}, found {value}"))
        };
        match self {
            Encoding::Overlap | Encoding::Clinical | Encoding::Period(_) => None,
            Encoding::Words { low, high } => between("words", low, 1, high).or(between("words", high, low, 5)),
            Encoding::Chars { low, high } => {
                between("characters", low, 1, high).or(between("characters", high, low, 12))
            }
            Encoding::Spectrum { k, .. } => between("letters", k, 1, 32),
            Encoding::Mismatch { k, m, .. } => between("letters", k, 1, 12).or(between("mismatches", m, 0, k.min(4))),
            Encoding::Gapped { length, k, .. } => {
                between("the window", length, 1, 12).or(between("letters", k, 1, length))
            }
            Encoding::Degree { degree, shift } => {
                between("the degree", degree, 1, 32).or(between("shift", shift, 0, 32))
            }
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = |revcomp: bool| if revcomp { " revcomp" } else { "" };
        match *self {
            Encoding::Overlap => f.write_str("overlap"),
            Encoding::Clinical => f.write_str("clinical"),
            Encoding::Words { low, high } => write!(f, "words({low}, {high})"),
            Encoding::Chars { low, high } => write!(f, "chars({low}, {high})"),
            Encoding::Spectrum { k, revcomp } => write!(f, "spectrum({k}){}", suffix(revcomp)),
            Encoding::Mismatch { k, m, revcomp } => write!(f, "mismatch({k}, {m}){}", suffix(revcomp)),
            Encoding::Gapped { length, k, revcomp } => write!(f, "gapped({length}, {k}){}", suffix(revcomp)),
            Encoding::Degree { degree, shift: 0 } => write!(f, "degree({degree})"),
            Encoding::Degree { degree, shift } => write!(f, "degree({degree}; shift={shift})"),
            Encoding::Period(period) => write!(f, "period({})", period.word()),
        }
    }
}

impl FromStr for Encoding {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = || Error::input(format!("`{text}` is no encoding of columns"));
        let (rest, revcomp) = text.strip_suffix(" revcomp").map_or((text, false), |rest| (rest, true));
        let (name, inside) =
            rest.split_once('(').map_or((rest, ""), |(name, inside)| (name, inside.trim_end_matches(')')));
        let parts: Vec<&str> = inside.split([',', ';']).map(|part| part.trim().trim_start_matches("shift=")).collect();
        let number = |at: usize| parts.get(at).and_then(|part| part.parse::<usize>().ok()).ok_or_else(refuse);
        let encoding = match name {
            "overlap" => Encoding::Overlap,
            "clinical" => Encoding::Clinical,
            "words" => Encoding::Words { low: number(0)?, high: number(1)? },
            "chars" => Encoding::Chars { low: number(0)?, high: number(1)? },
            "spectrum" => Encoding::Spectrum { k: number(0)?, revcomp },
            "mismatch" => Encoding::Mismatch { k: number(0)?, m: number(1)?, revcomp },
            "gapped" => Encoding::Gapped { length: number(0)?, k: number(1)?, revcomp },
            "degree" => Encoding::Degree { degree: number(0)?, shift: if parts.len() > 1 { number(1)? } else { 0 } },
            "period" => {
                Encoding::Period(Period::ALL.into_iter().find(|period| period.word() == inside).ok_or_else(refuse)?)
            }
            _ => return Err(refuse()),
        };
        match encoding.fault() {
            Some(fault) => Err(Error::input(format!("`{text}`: {fault}"))),
            None => Ok(encoding),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_come_back_from_their_texts() {
        for text in [
            "overlap",
            "clinical",
            "words(1, 2)",
            "chars(3, 5)",
            "spectrum(4)",
            "spectrum(4) revcomp",
            "mismatch(5, 1)",
            "gapped(6, 3) revcomp",
            "degree(6)",
            "degree(6; shift=2)",
            "period(week)",
        ] {
            assert_eq!(text.parse::<Encoding>().unwrap().to_string(), text);
        }
        for text in ["", "words", "words(2, 1)", "mismatch(3, 4)", "gapped(3, 4)", "spectrum(0)", "period(month)"] {
            assert!(text.parse::<Encoding>().is_err(), "{text}");
        }
    }
}
