//! Progress of an endless run: a table that gains a line now and then, and its JSON.

use serde_json::{Value, json};

use super::{one_line, width};

/// One line of the progressive table of `online`.
///
/// ```
/// use multikernel::report::StreamLine;
/// let line = StreamLine {
///     rows: 1024,
///     accuracy: 0.9375,
///     since_last: Some(0.96875),
///     n_support: 120,
///     rows_per_second: Some(5321.7),
///     kernels: vec![("linear".into(), 0.25), ("gaussian(1)".into(), 0.75)],
/// };
/// assert_eq!(
///     StreamLine::header().lines().next().unwrap().to_owned() + "\n" + &line.to_string(),
///     "        rows  accuracy  since last   support      rows/s  kernels\n        \
///     1024    0.9375      0.9688       120        5322  gaussian(1) 0.75, linear 0.25"
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StreamLine {
    /// Rows of the stream learned so far.
    pub rows: u64,
    /// The fraction of them predicted correctly before they were learned.
    pub accuracy: f64,
    /// The same for the rows since the last line, if there are any.
    pub since_last: Option<f64>,
    /// Support vectors.
    pub n_support: usize,
    /// Rows learned per second since the last line, if the clock has advanced.
    pub rows_per_second: Option<f64>,
    /// All kernels with their weights.
    pub kernels: Vec<(String, f64)>,
}

/// The end of a run, apart from its last line.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamEnd {
    /// Why it ended: `finished`, `cancelled`, `time limit reached`.
    pub stop: String,
    /// Lines that were not rows.
    pub skipped: u64,
    /// The classes, in order of appearance.
    pub classes: Vec<String>,
    /// Total rows the model has learned, including earlier runs.
    pub total_rows: u64,
    /// The model's warnings.
    pub warnings: Vec<String>,
}

/// Kernels shown per line.
const TOP: usize = 3;

/// Maximum characters of a kernel's name in a line.
const NAME_WIDTH: usize = 40;

impl StreamLine {
    /// The header: the names of the columns, and a rule.
    pub fn header() -> String {
        let names = cells(["rows", "accuracy", "since last", "support", "rows/s"].map(String::from));
        let rule = cells([12, 8, 10, 8, 10].map(|width| "-".repeat(width)));
        format!("{names}  kernels\n{rule}  -------\n")
    }

    /// The kernels with the largest weights, largest first, ties in their order.
    fn top(&self) -> Vec<&(String, f64)> {
        let mut top: Vec<&(String, f64)> = self.kernels.iter().collect();
        top.sort_by(|a, b| b.1.total_cmp(&a.1));
        top.truncate(TOP);
        top
    }

    /// The line as one line of JSON; the last line of a run says how it ended.
    pub fn to_json(&self, end: Option<&StreamEnd>) -> String {
        let kernel = |(name, weight): &(String, f64)| json!({"name": name, "weight": weight});
        let kernels: Vec<Value> = match end {
            Some(_) => self.kernels.iter().map(kernel).collect(),
            None => self.top().into_iter().map(kernel).collect(),
        };
        let mut line = json!({
            "rows": self.rows,
            "accuracy": self.accuracy,
            "since_last": self.since_last,
            "n_support": self.n_support,
            "rows_per_second": self.rows_per_second,
            "kernels": kernels,
            "final": end.is_some(),
        });
        if let Some(end) = end {
            line["stop"] = json!(end.stop);
            line["skipped"] = json!(end.skipped);
            line["classes"] = json!(end.classes);
            line["total_rows"] = json!(end.total_rows);
            if !end.warnings.is_empty() {
                line["warnings"] = json!(end.warnings);
            }
        }
        line.to_string()
    }
}

impl std::fmt::Display for StreamLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let some = |value: Option<f64>, digits: usize| value.map_or("-".into(), |value| format!("{value:.digits$}"));
        let digits = usize::from(self.rows_per_second.is_some_and(|rate| rate < 100.0));
        let cells = cells([
            self.rows.to_string(),
            format!("{:.4}", self.accuracy),
            some(self.since_last, 4),
            self.n_support.to_string(),
            some(self.rows_per_second, digits),
        ]);
        let top: Vec<String> = self.top().iter().map(|(name, weight)| format!("{} {weight:.2}", short(name))).collect();
        write!(f, "{cells}  {}", top.join(", "))
    }
}

/// The number columns: as wide as they may ever get, since later lines are not known.
fn cells([rows, accuracy, since, support, rate]: [String; 5]) -> String {
    format!("{rows:>12}  {accuracy:>8}  {since:>10}  {support:>8}  {rate:>10}")
}

/// A kernel's name on one line, its numbers to three digits, truncated if long.
fn short(name: &str) -> String {
    let name = one_line(name);
    // The columns a kernel is on have names of their own, which must not be rounded.
    let (kernel, place) = name.split_at(name.find(" on ").unwrap_or(name.len()));
    let name = rounded(kernel) + place;
    if width(&name) <= NAME_WIDTH {
        return name;
    }
    name.chars().take(NAME_WIDTH - 3).chain("...".chars()).collect()
}

/// The text with its decimal fractions rounded to three digits.
fn rounded(text: &str) -> String {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let (mut short, mut rest) = (String::new(), text);
    while let Some(start) = rest.find(is_number) {
        let end = rest[start..].find(|c| !is_number(c)).map_or(rest.len(), |length| start + length);
        let (before, number) = (&rest[..start], &rest[start..end]);
        short += before;
        match number.parse::<f64>() {
            Ok(value) if number.contains('.') && value > 0.0 => {
                let digits = (2.0 - value.log10().floor()).clamp(0.0, 20.0) as usize;
                let fixed = format!("{value:.digits$}");
                short += if digits > 0 { fixed.trim_end_matches('0').trim_end_matches('.') } else { &fixed };
            }
            _ => short += number,
        }
        rest = &rest[end..];
    }
    short + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_shown_in_three_digits() {
        for (name, expected) in [
            ("gaussian(0.2086722619977624)", "gaussian(0.209)"),
            ("gaussian(13.355024767856793) centred on [a1.2345, b]", "gaussian(13.4) centred on [a1.2345, b]"),
            ("gaussian(1234.5678)", "gaussian(1235)"),
            ("gaussian(gamma=0.000030517578125)", "gaussian(gamma=0.0000305)"),
            ("gaussian(3.0517578125e-5)", "gaussian(3.05e-5)"),
            ("laplacian(0.50)", "laplacian(0.5)"),
            ("gaussian(9.999)", "gaussian(10)"),
            ("polynomial(3) raw", "polynomial(3) raw"),
            ("odd(1.2.3) .", "odd(1.2.3) ."),
        ] {
            assert_eq!(short(name), expected);
        }
    }

    fn line() -> StreamLine {
        let kernels = [("a\n", 0.1), ("b", 0.3), ("c", 0.2), ("d", 0.3), ("e", 0.1)];
        StreamLine {
            rows: 3,
            accuracy: 1.0 / 3.0,
            since_last: None,
            n_support: 2,
            rows_per_second: Some(12.34),
            kernels: kernels.map(|(name, weight)| (name.to_string(), weight)).to_vec(),
        }
    }

    #[test]
    fn lines_stand_under_their_header() {
        let header = StreamLine::header();
        let (names, rule) = header.trim_end().split_once('\n').unwrap();
        let text = line().to_string();
        assert_eq!(text, "           3    0.3333           -         2        12.3  b 0.30, d 0.30, c 0.20");
        let kernels = names.find("kernels").unwrap();
        assert_eq!(
            (rule.find("-------").map(|_| &rule[kernels..]), &text[kernels..kernels + 1]),
            (Some("-------"), "b")
        );
        for end in [12, 22, 34, 44, 56] {
            assert!(
                [names, rule, &text].iter().all(|line| !line[end - 1..].starts_with(' ')),
                "column that ends at {end}"
            );
        }
        let long = StreamLine { kernels: vec![("x".repeat(41), 1.0)], rows_per_second: None, ..line() };
        assert!(long.to_string().ends_with(&format!("         -  {}... 1.00", "x".repeat(37))), "{long}");
    }

    #[test]
    fn json_is_one_line_and_the_last_says_how_it_ended() {
        let text = line().to_json(None);
        assert_eq!(
            text,
            "{\"rows\":3,\"accuracy\":0.3333333333333333,\"since_last\":null,\"n_support\":2,\"rows_per_second\":12.34,\
             \"kernels\":[{\"name\":\"b\",\"weight\":0.3},{\"name\":\"d\",\"weight\":0.3},{\"name\":\"c\",\"weight\":0.2}],\
             \"final\":false}"
        );
        let classes = vec!["q".to_string(), "p".to_string()];
        let end = StreamEnd { stop: "finished".into(), skipped: 4, classes, total_rows: 9, warnings: vec![] };
        let found: Value = serde_json::from_str(&line().to_json(Some(&end))).unwrap();
        assert_eq!(found["kernels"].as_array().unwrap().len(), 5);
        assert_eq!(
            (&found["final"], &found["stop"], &found["skipped"], &found["classes"], &found["total_rows"]),
            (&json!(true), &json!("finished"), &json!(4), &json!(["q", "p"]), &json!(9))
        );
    }
}
