//! Text cells as values, and wording for messages.

/// The finite number a text represents.
pub(in crate::data) fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The column at a position counted from 0, or backwards from -1.
pub(in crate::data) fn position(wanted: &str, n: usize) -> Option<usize> {
    let n = i64::try_from(n).ok()?;
    let at = wanted.parse::<i64>().ok()?;
    let column = if at < 0 { n.checked_add(at)? } else { at };
    (0..n).contains(&column).then_some(column as usize)
}

/// Whether a cell marks its value as missing.
pub(in crate::data) fn is_missing(cell: &str) -> bool {
    const WORDS: [&str; 16] = [
        "na", "n/a", "nan", "-nan", "null", "none", "?", "<na>", "#n/a", "#n/a!", "#na", "#value!", "#div/0!",
        "#null!", "#ref!", "#num!",
    ];
    cell.is_empty() || (cell.len() <= 7 && WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word)))
}

/// Whether a cell is the word `None`: a missing value among numbers, but possibly a class among words.
pub(in crate::data) fn is_none(cell: &str) -> bool {
    cell.eq_ignore_ascii_case("none")
}

/// Whether a label is missing, given that `None` is a class.
pub(in crate::data) fn is_missing_label(label: &str) -> bool {
    is_missing(label) && !is_none(label)
}

/// Whether at least one label is a word, so that `None` is one too.
pub(in crate::data) fn has_words<T: AsRef<str>>(labels: &[T]) -> bool {
    labels.iter().map(AsRef::as_ref).any(|label| !is_missing(label) && finite(label).is_none())
}

/// Completes "the text ..." for a text that is not a finite number.
pub(in crate::data) fn not_finite(text: &str) -> &'static str {
    match text.parse::<f64>() {
        Ok(_) if text.bytes().any(|byte| byte.is_ascii_digit()) => "is too large (numbers go up to 1.8e308)",
        Ok(_) => "is not a finite number",
        Err(_) if finite(&text.replacen(',', ".", 1)).is_some() => "is not a number (write decimals with a point)",
        Err(_) => "is not a number",
    }
}

/// A text as errors show it: in quotes, control characters made visible, cut after 40 characters.
pub(in crate::data) fn quoted(text: &str) -> String {
    let mut shown = String::from("'");
    for c in text.chars().take(40) {
        if c.is_control() { shown.extend(c.escape_debug()) } else { shown.push(c) }
    }
    shown + if text.chars().nth(40).is_some() { "...'" } else { "'" }
}

/// `1 column`, `2 columns`.
pub(in crate::data) fn columns(n: usize) -> String {
    format!("{n} column{}", if n == 1 { "" } else { "s" })
}

/// Names as errors show them: at most `most`, then how many more.
pub(in crate::data) fn list<T: AsRef<str>>(names: &[T], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let more = names.len().saturating_sub(most);
    format!("{}{}", shown.join(", "), if more > 0 { format!(" and {more} more") } else { String::new() })
}

/// Whether a cell is a word: neither a number nor a missing-value mark.
pub(in crate::data) fn is_word(cell: &str) -> bool {
    finite(cell).is_none() && !is_missing(cell)
}

/// A note on missing values, from their number in each column.
pub(in crate::data) fn missing_note(missing: &[usize]) -> Option<String> {
    let (total, holed) = (missing.iter().sum::<usize>(), missing.iter().filter(|&&count| count > 0).count());
    (total > 0).then(|| format!("missing values: {total}, in {holed} of {}", columns(missing.len())))
}

pub(in crate::data) fn did_you_mean(name: &str) -> String {
    format!("; did you mean {name}?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_long_or_odd_text_cut_and_escaped() {
        assert_eq!(quoted("a\nb"), "'a\\nb'");
        assert_eq!(quoted("it's"), "'it's'");
        assert_eq!(quoted(&"x".repeat(41)), format!("'{}...'", "x".repeat(40)));
    }
}
