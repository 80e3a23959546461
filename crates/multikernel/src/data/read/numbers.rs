//! Numbers as people write them: decimal commas, thousands separators, percent signs, missing-value marks.

use crate::data::table::words::finite;
use crate::error::{Error, Result};

/// The decimal separator of a text; detected from the file unless given by
/// [`ReadOptions::decimal`](crate::data::ReadOptions::decimal).
///
/// ```
/// use multikernel::data::{Decimal, ReadOptions, read_from};
/// let text = "a;label\n1,234;p\n2,500;q\n".as_bytes();
/// assert!(read_from(text, "rows.csv", &ReadOptions::default()).unwrap_err().to_string().contains("ReadOptions::decimal"));
/// let mut options = ReadOptions::default();
/// options.decimal = Some(Decimal::Comma);
/// assert_eq!(read_from(text, "rows.csv", &options)?.samples.features().to_dense()?.data(), [1.234, 2.5]);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decimal {
    /// `1234.5`, or `1,234.5`.
    Point,
    /// `1234,5`, or `1.234,5`.
    Comma,
}

impl std::str::FromStr for Decimal {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "point" => Ok(Decimal::Point),
            "comma" => Ok(Decimal::Comma),
            _ => Err(Error::param("decimal", format!("'{text}' is no mark for decimals; give point or comma"))),
        }
    }
}

impl Decimal {
    /// The finite number that a text represents. Thousands may be separated by the other mark, a space or an
    /// apostrophe.
    pub(super) fn parse(self, text: &str) -> Option<f64> {
        let (mark, other) = match self {
            Decimal::Point => ('.', ','),
            Decimal::Comma => (',', '.'),
        };
        let (digits, exponent) = match text.find(['e', 'E']) {
            Some(at) => text.split_at(at),
            None => (text, ""),
        };
        let (whole, fraction) = match digits.split_once(mark) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (digits, None),
        };
        if fraction.is_some_and(|fraction| !is_digits(fraction)) {
            return None;
        }
        let (sign, whole) = match whole.strip_prefix(['-', '\u{2212}']) {
            Some(rest) => ("-", rest),
            None => ("", whole.strip_prefix('+').unwrap_or(whole)),
        };
        let whole = if is_digits(whole) { whole.to_string() } else { ungrouped(whole, other, fraction.is_some())? };
        finite(&format!("{sign}{whole}.{}{exponent}", fraction.unwrap_or("0")))
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The digits of a whole number whose thousands are separated, all by the same mark; an empty whole part is allowed
/// only before decimals.
fn ungrouped(whole: &str, other: char, has_fraction: bool) -> Option<String> {
    if whole.is_empty() {
        return has_fraction.then(String::new);
    }
    let mark = whole.chars().find(|c| !c.is_ascii_digit())?;
    if mark != other && !matches!(mark, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\'' | '\u{2019}') {
        return None;
    }
    let mut groups = whole.split(mark);
    let first = groups.next().filter(|first| is_digits(first) && first.len() <= 3 && !first.starts_with('0'))?;
    let mut digits = first.to_string();
    for group in groups {
        digits.push_str(Some(group).filter(|group| is_digits(group) && group.len() == 3)?);
    }
    Some(digits)
}

/// The text before a percent sign.
pub(super) fn before_percent(text: &str) -> Option<&str> {
    text.strip_suffix('%').map(str::trim_end)
}

/// Whether the text is a number in any format.
pub(super) fn is_readable(text: &str) -> bool {
    let text = before_percent(text).unwrap_or(text);
    Decimal::Point.parse(text).is_some() || Decimal::Comma.parse(text).is_some()
}

/// Whether a plain number could equally have a point as its thousands separator, such as `1.234`.
pub(super) fn is_maybe_thousands(number: &str) -> bool {
    let digits = number.strip_prefix(['-', '+']).unwrap_or(number);
    digits.split_once('.').is_some_and(|(whole, rest)| {
        (1..=3).contains(&whole.len())
            && is_digits(whole)
            && !whole.starts_with('0')
            && rest.len() == 3
            && is_digits(rest)
    })
}

/// A pair of words for 1 and 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::data) enum Truth {
    TrueFalse,
    YesNo,
    Letters,
}

impl Truth {
    pub(super) const ALL: [Truth; 3] = [Truth::TrueFalse, Truth::YesNo, Truth::Letters];

    /// The words, the one for 1 first.
    pub(super) fn words(self) -> [&'static str; 2] {
        match self {
            Truth::TrueFalse => ["True", "False"],
            Truth::YesNo => ["yes", "no"],
            Truth::Letters => ["T", "F"],
        }
    }

    /// The pair that a text belongs to, ignoring case, and its value.
    pub(in crate::data) fn parse(text: &str) -> Option<(Truth, f64)> {
        Truth::ALL.into_iter().find_map(|pair| {
            let at = pair.words().into_iter().position(|word| text.eq_ignore_ascii_case(word))?;
            Some((pair, if at == 0 { 1.0 } else { 0.0 }))
        })
    }
}

/// Whether a text marks a missing value if the other cells of its column are numbers.
pub(super) fn is_mark(text: &str) -> bool {
    matches!(text, "-" | "--" | "---" | "." | ".." | "..." | "*" | "**" | "\u{2013}" | "\u{2014}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_their_decimal_mark_says() {
        for (text, point, comma) in [
            ("1,5", None, Some(1.5)),
            ("1,234", Some(1234.0), Some(1.234)),
            ("-1,234.5", Some(-1234.5), None),
            ("1.234,5", None, Some(1234.5)),
            ("1.234.567", None, Some(1_234_567.0)),
            ("1,234,567", Some(1_234_567.0), None),
            ("1 234,5", None, Some(1234.5)),
            ("1 234.5", Some(1234.5), None),
            ("1\u{a0}234\u{202f}567", None, None),
            ("12\u{a0}345", Some(12345.0), Some(12345.0)),
            ("1'234.5", Some(1234.5), None),
            ("\u{2212}3,5", None, Some(-3.5)),
            (",5", None, Some(0.5)),
            ("1,5e3", None, Some(1500.0)),
            ("0,123", None, Some(0.123)),
            ("1,23,456", None, None),
            ("1,2345", None, Some(1.2345)),
            ("12,34.5", None, None),
            ("1,", None, None),
            (",", None, None),
            ("-", None, None),
            ("1e999", None, None),
            ("1 2", None, None),
            ("a1,5", None, None),
            ("1,5x", None, None),
            ("1,234 567", None, None),
        ] {
            assert_eq!((Decimal::Point.parse(text), Decimal::Comma.parse(text)), (point, comma), "{text:?}");
        }
    }

    #[test]
    fn plain_numbers_that_may_be_thousands() {
        for (text, expected) in [
            ("1.234", true),
            ("-12.000", true),
            ("0.123", false),
            ("1234.567", false),
            ("1.23", false),
            ("1.2345", false),
        ] {
            assert_eq!(is_maybe_thousands(text), expected, "{text}");
        }
    }
}
