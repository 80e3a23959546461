//! Progress of an endless run: a table that gains a line now and then, and its JSON.

use serde_json::{Value, json};

use super::{one_line, width};

/// One line of the progressive table of `online`.
///
/// ```
/// use multikernel::report::{StreamLine, StreamScore};
/// let line = StreamLine {
///     rows: 1024,
///     score: StreamScore::Accuracy { all: 0.9375, since_last: Some(0.96875) },
///     n_support: 120,
///     rows_per_second: Some(5321.7),
///     kernels: vec![("linear".into(), 0.25), ("gaussian(1)".into(), 0.75)],
/// };
/// assert_eq!(
///     line.header().lines().next().unwrap().to_owned() + "\n" + &line.to_string(),
///     "        rows  accuracy  since last   support      rows/s  kernels\n        \
///     1024    0.9375      0.9688       120        5322  gaussian(1) 0.75, linear 0.25"
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StreamLine {
    /// Rows of the stream learned so far.
    pub rows: u64,
    /// How well they were predicted before they were learned.
    pub score: StreamScore,
    /// Support vectors.
    pub n_support: usize,
    /// Rows learned per second since the last line, if the clock has advanced.
    pub rows_per_second: Option<f64>,
    /// All kernels with their weights.
    pub kernels: Vec<(String, f64)>,
}

/// How well the rows of a stream were predicted before they were learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StreamScore {
    /// Classes.
    Accuracy {
        /// The fraction predicted correctly.
        all: f64,
        /// The same for the rows since the last line, if there are any.
        since_last: Option<f64>,
    },
    /// Numbers: see [`StreamErrors`](crate::plan::StreamErrors).
    Errors {
        /// R2, if the numbers differ.
        r2: Option<f64>,
        /// R2 of the rows since the last line, if their numbers differ.
        since_last: Option<f64>,
        /// The root of the mean squared error.
        rmse: Option<f64>,
        /// The mean absolute error.
        mae: Option<f64>,
    },
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
    /// The column of numbers, where these are predicted.
    pub target: Option<String>,
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
    pub fn header(&self) -> String {
        let names: Vec<&str> = match self.score {
            StreamScore::Accuracy { .. } => vec!["rows", "accuracy", "since last", "support", "rows/s"],
            StreamScore::Errors { .. } => vec!["rows", "R2", "since last", "RMSE", "support", "rows/s"],
        };
        let rule: Vec<String> = self.widths().iter().map(|&width| "-".repeat(width)).collect();
        format!("{}  kernels\n{}  -------\n", self.cells(&names), self.cells(&rule))
    }

    /// The widths of the number columns: as wide as they may ever get, since later lines are not known.
    fn widths(&self) -> &'static [usize] {
        match self.score {
            StreamScore::Accuracy { .. } => &[12, 8, 10, 8, 10],
            StreamScore::Errors { .. } => &[12, 8, 10, 12, 8, 10],
        }
    }

    fn cells(&self, texts: &[impl AsRef<str>]) -> String {
        let cell = |(text, width): (&_, &usize)| format!("{:>width$}", AsRef::<str>::as_ref(text), width = width);
        texts.iter().zip(self.widths()).map(cell).collect::<Vec<_>>().join("  ")
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
        let mut line = json!({"rows": self.rows});
        match self.score {
            StreamScore::Accuracy { all, since_last } => {
                line["accuracy"] = json!(all);
                line["since_last"] = json!(since_last);
            }
            StreamScore::Errors { r2, since_last, rmse, mae } => {
                line["r2"] = json!(r2);
                line["since_last"] = json!(since_last);
                line["rmse"] = json!(rmse);
                line["mae"] = json!(mae);
            }
        }
        line["n_support"] = json!(self.n_support);
        line["rows_per_second"] = json!(self.rows_per_second);
        line["kernels"] = json!(kernels);
        line["final"] = json!(end.is_some());
        if let Some(end) = end {
            line["stop"] = json!(end.stop);
            line["skipped"] = json!(end.skipped);
            line["classes"] = json!(end.classes);
            if let Some(target) = &end.target {
                line["target"] = json!(target);
            }
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
        let score = match self.score {
            StreamScore::Accuracy { all, since_last } => vec![format!("{all:.4}"), some(since_last, 4)],
            StreamScore::Errors { r2, since_last, rmse, .. } => {
                vec![some(r2, 4), some(since_last, 4), rmse.map_or("-".into(), short_number)]
            }
        };
        let last = [self.n_support.to_string(), some(self.rows_per_second, digits)];
        let all: Vec<String> = [self.rows.to_string()].into_iter().chain(score).chain(last).collect();
        let cells = self.cells(&all);
        let top: Vec<String> = self.top().iter().map(|(name, weight)| format!("{} {weight:.2}", short(name))).collect();
        write!(f, "{cells}  {}", top.join(", "))
    }
}

/// An error in the target's own units: five digits, whatever its size.
fn short_number(value: f64) -> String {
    match value.abs() {
        size if (1e-3..1e9).contains(&size) => {
            let digits = (4.0 - size.log10().floor()).clamp(0.0, 7.0) as usize;
            format!("{value:.digits$}")
        }
        0.0 => "0".into(),
        _ => format!("{value:.4e}"),
    }
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
            score: StreamScore::Accuracy { all: 1.0 / 3.0, since_last: None },
            n_support: 2,
            rows_per_second: Some(12.34),
            kernels: kernels.map(|(name, weight)| (name.to_string(), weight)).to_vec(),
        }
    }

    #[test]
    fn numbers_have_their_errors_in_place_of_the_accuracy() {
        let score = StreamScore::Errors { r2: Some(0.75), since_last: None, rmse: Some(1234.5678), mae: Some(0.5) };
        let line = StreamLine { score, ..line() };
        let header = line.header();
        let names = header.lines().next().unwrap();
        assert_eq!(names, "        rows        R2  since last          RMSE   support      rows/s  kernels");
        let text = line.to_string();
        assert_eq!(
            text,
            "           3    0.7500           -        1234.6         2        12.3  b 0.30, d 0.30, c 0.20"
        );
        let end = StreamEnd {
            stop: "finished".into(),
            skipped: 0,
            classes: vec![],
            target: Some("price".into()),
            total_rows: 3,
            warnings: vec![],
        };
        let found: Value = serde_json::from_str(&line.to_json(Some(&end))).unwrap();
        assert_eq!((&found["r2"], &found["rmse"], &found["mae"]), (&json!(0.75), &json!(1234.5678), &json!(0.5)));
        assert_eq!((&found["target"], found.get("accuracy")), (&json!("price"), None));
        for (value, expected) in
            [(0.0, "0"), (0.012345, "0.012345"), (98765.4, "98765"), (1e-9, "1.0000e-9"), (1e12, "1.0000e12")]
        {
            assert_eq!(short_number(value), expected);
        }
    }

    #[test]
    fn lines_stand_under_their_header() {
        let header = line().header();
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
        let end =
            StreamEnd { stop: "finished".into(), skipped: 4, classes, target: None, total_rows: 9, warnings: vec![] };
        let found: Value = serde_json::from_str(&line().to_json(Some(&end))).unwrap();
        assert_eq!(found["kernels"].as_array().unwrap().len(), 5);
        assert_eq!(
            (&found["final"], &found["stop"], &found["skipped"], &found["classes"], &found["total_rows"]),
            (&json!(true), &json!("finished"), &json!(4), &json!(["q", "p"]), &json!(9))
        );
    }
}
