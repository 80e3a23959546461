//! Horizontal bars in a terminal.

use super::{one_line, width};

/// Bars of kernel weights or other values: a line `label  value  bar` for each item, at most `width` characters where
/// `width` leaves room (40 or more always does for values of ordinary size).
///
/// The largest value has the longest bar; values of 0 or below and NaN have none. Labels longer than half of `width`
/// are cut in the middle. No items give an empty text.
///
/// ```
/// use multikernel::report::bars;
/// let weights = [("gaussian(1)".to_string(), 0.75), ("linear".to_string(), 0.25)];
/// assert_eq!(
///     bars(&weights, 33),
///     "gaussian(1)  0.7500  ████████████\n\
///      linear       0.2500  ████\n"
/// );
/// ```
pub fn bars(items: &[(String, f64)], width: usize) -> String {
    // Narrower bars or labels would be useless: a line may then exceed the requested width.
    const MIN_WIDTH: usize = 8;
    let labels: Vec<String> = items.iter().map(|item| cut(&one_line(&item.0), (width / 2).max(MIN_WIDTH))).collect();
    // Adding 0 turns -0 into 0.
    let values: Vec<String> = items.iter().map(|item| format!("{:.4}", item.1 + 0.0)).collect();
    let label_width = longest(&labels);
    let value_width = longest(&values);
    let bar_width = width.saturating_sub(label_width + value_width + 4).max(MIN_WIDTH);
    let largest = items.iter().map(|item| item.1).filter(|v| v.is_finite()).fold(0.0, f64::max);

    let mut text = String::new();
    for ((label, value), item) in labels.iter().zip(&values).zip(items) {
        let bar = bar(share(item.1, largest), bar_width);
        let line = format!("{label:<label_width$}  {value:>value_width$}  {bar}");
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Fraction of the longest bar, 0 to 1.
fn share(value: f64, largest: f64) -> f64 {
    if value == f64::INFINITY {
        1.0
    } else if value > 0.0 {
        value / largest
    } else {
        0.0
    }
}

fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share * 8.0 * width as f64).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// The text in at most `limit` characters; both ends are kept, since kernels differ in their parameters and their
/// columns.
pub(super) fn cut(text: &str, limit: usize) -> String {
    let n = width(text);
    if n <= limit {
        return text.to_string();
    }
    let mark = "…";
    let kept = limit.saturating_sub(width(mark));
    let tail = kept / 2;
    let head: String = text.chars().take(kept - tail).collect();
    head + mark + &text.chars().skip(n - tail).collect::<String>()
}

fn longest(texts: &[String]) -> usize {
    texts.iter().map(|text| width(text)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(list: &[(&str, f64)]) -> Vec<(String, f64)> {
        list.iter().map(|(label, value)| (label.to_string(), *value)).collect()
    }

    #[test]
    fn bars_eighths_are_drawn_to_scale() {
        let list: Vec<(String, f64)> = (0..=8).rev().map(|i| (i.to_string(), f64::from(i) / 8.0)).collect();
        // A bar of 8 columns: i/8 of it is i columns; 1/64 more is an eighth of a column.
        let found = bars(&list, 19);
        assert!(found.starts_with("8  1.0000  ████████\n7  0.8750  ███████\n"), "{found}");
        assert!(found.ends_with("1  0.1250  █\n0  0.0000\n"), "{found}");
        let list: Vec<(String, f64)> = (0..9).map(|i| (i.to_string(), 1.0 - f64::from(i) / 64.0)).collect();
        let expected = "\
0  1.0000  ████████
1  0.9844  ███████▉
2  0.9688  ███████▊
3  0.9531  ███████▋
4  0.9375  ███████▌
5  0.9219  ███████▍
6  0.9062  ███████▎
7  0.8906  ███████▏
8  0.8750  ███████
";
        assert_eq!(bars(&list, 19), expected);
    }

    #[test]
    fn bars_long_labels_are_cut_in_the_middle() {
        let list = items(&[("gaussian(0.0078125) on a_long_view", 1.0), ("é", 0.5)]);
        let expected = "\
gaussian(0.007812…) on a_long_view  1.0000  ████████████████████████
é                                   0.5000  ████████████
";
        let long = items(&[("gaussian(0.007812500) on a_long_view", 1.0), ("é", 0.5)]);
        assert_eq!(bars(&long, 68), expected);
        assert!(bars(&list, 68).starts_with("gaussian(0.0078125) on a_long_view  1.0000"));
        assert_eq!(cut("abcdefghij", 9), "abcd…ghij");
        assert_eq!(cut("abcdefghij", 8), "abcd…hij");
    }

    #[test]
    fn bars_negative_zero_and_odd_values_are_empty_with_the_value_shown() {
        let list = items(&[("a", -0.5), ("b", f64::NAN), ("c", -0.0), ("d", 0.25), ("e", f64::INFINITY)]);
        let expected = "\
a  -0.5000
b      NaN
c   0.0000
d   0.2500  ████████
e      inf  ████████
";
        assert_eq!(bars(&list, 20), expected);
    }

    #[test]
    fn bars_all_zero_draws_no_bar() {
        assert_eq!(bars(&items(&[("a", 0.0), ("b", 0.0)]), 40), "a  0.0000\nb  0.0000\n");
        assert_eq!(bars(&items(&[("a", f64::INFINITY)]), 15), "a  inf  ████████\n");
    }

    #[test]
    fn bars_no_items_is_empty() {
        assert_eq!(bars(&[], 40), "");
    }

    #[test]
    fn bars_any_width_never_fails_and_fits_when_there_is_room() {
        let list = items(&[("x\ny", 1.0), ("a label that is rather long for this", 1e-9), ("z", 123.5)]);
        for n in 0..120 {
            let text = bars(&list, n);
            assert_eq!(text.lines().count(), 3);
            assert!(n < 40 || text.lines().all(|line| width(line) <= n), "{n}\n{text}");
        }
    }
}
