//! Tables as text and JSON.

use std::collections::BTreeSet;

use multikernel::evaluate::Spread;
use multikernel::report::{TextTable, count};
use serde_json::{Value, json};

use super::line::{Line, against_first};
use super::verdict::{Judged, RULE};

/// A column's title and its cell for a line.
pub(super) type Column = (&'static str, fn(&Line) -> String);

/// The layout of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) columns: &'static [Column],
    /// The note below a table of this many seeds.
    pub(super) note: fn(usize) -> String,
}

pub(super) const SET: Column = ("set", |line| line.dataset.clone());
const BANK: Column = ("bank", |line| line.bank.clone());
const SPLIT: Column = ("split", |line| line.split.clone());
pub(super) const SEEDS: Column = ("seeds", |line| line.accuracies.len().to_string());
const SPLITS: Column = ("splits", SEEDS.1);
pub(super) const KERNELS: Column = ("P", |line| line.n_kernels.to_string());
pub(super) const METHOD: Column = ("method", |line| line.method.clone());
pub(super) const ACCURACY: Column = ("accuracy", |line| {
    let Spread { mean, std } = line.accuracy();
    with_std(mean, std)
});
const MACRO_F: Column = ("macro F", |line| {
    line.macro_f().map_or(String::new(), |(mean, low, high)| format!("{mean:.4} [{low:.4}, {high:.4}]"))
});
const PAPER: Column = ("paper", |line| line.paper().map_or(String::new(), |paper| with_std(paper.accuracy, paper.std)));
const PAPER_F: Column = ("paper F", |line| short(line.paper().and_then(|paper| paper.macro_f)));
const PRECISION: Column = ("precision", |line| mean_of(&line.precisions));
const PAPER_PRECISION: Column = ("paper", |line| short(line.printed.precision));
const RECALL: Column = ("recall", |line| mean_of(&line.recalls));
const PAPER_RECALL: Column = ("paper", |line| short(line.printed.recall));
const SPECIFICITY: Column = ("specificity", |line| mean_of(&line.specificities));
const PAPER_SPECIFICITY: Column = ("paper", |line| short(line.printed.specificity));
const PROTOTYPE: Column = ("prototype", |line| short(line.prototype()));
const MINUS_PAPER: Column =
    ("minus the paper", |line| line.judged().map_or(String::new(), |one| one.difference_text()));
const VERDICT: Column = ("verdict", |line| verdict(line, line.judged()));
const VERDICT_F: Column = ("F verdict", |line| verdict(line, line.judged_f()));
pub(super) const OTHERS: Column = ("verdicts of the others", |line| {
    let one = |judged: &Judged| format!("{} {}", judged.of, judged.verdict.word());
    line.judged_others().iter().map(one).collect::<Vec<_>>().join(", ")
});
const MINUS_FIRST: Column = ("minus the first", |line| against_first(line.difference.as_ref()).0);
const MEANING: Column = ("", |line| against_first(line.difference.as_ref()).1.into());
const BRIER: Column = ("Brier", |line| spread(&line.briers));
const BRIER_MINUS_FIRST: Column = ("minus the first", |line| against_first(line.brier_difference.as_ref()).0);
const BRIER_MEANING: Column = ("", |line| against_first(line.brier_difference.as_ref()).1.into());
pub(super) const LOG_LOSS: Column = ("log-loss", |line| spread(&line.log_losses));
const LOG_LOSS_MINUS_FIRST: Column = ("minus the first", |line| against_first(line.log_loss_difference.as_ref()).0);
const LOG_LOSS_MEANING: Column = ("", |line| against_first(line.log_loss_difference.as_ref()).1.into());
const FITS: Column = ("SVM fits", |line| whole(&line.fits));
const CLUSTERS: Column = ("K", |line| spread_short(&line.n_clusters, 1));
const NMI: Column = ("NMI", |line| spread_short(&line.nmis, 3));
const RAND: Column = ("Rand", |line| spread_short(&line.rand_indices, 3));
const PURITY: Column = ("purity", |line| spread_short(&line.purities, 3));
const DAVIES_BOULDIN: Column = ("Davies-Bouldin", |line| spread_short(&line.davies_bouldins, 2));
const DUNN: Column = ("Dunn", |line| spread_short(&line.dunns, 4));
const SUPPORT: Column = ("support", |line| whole(&line.supports));
pub(super) const TRAIN: Column = ("train s", |line| format!("{:.3}", mean_seconds(line)));
const SECONDS: Column = ("seconds", TRAIN.1);
const FAILED: Column = ("failed", |line| line.n_failed.to_string());
pub(super) const WARNINGS: Column = ("warnings", |line| line.n_warnings.to_string());

pub(super) const MEAN_WEIGHTS: Column = ("weights", |line| mean_weights(line));

/// The verdict, with a star where the paper's figure is of another experiment.
fn verdict(line: &Line, judged: Option<Judged>) -> String {
    let star = if line.paper().is_some_and(|paper| paper.caveat.is_some()) { "*" } else { "" };
    judged.map_or(String::new(), |judged| format!("{}{star}", judged.verdict.word()))
}

/// The weight of each kernel, averaged over splits, if there are few.
fn mean_weights(line: &Line) -> String {
    let of = |m: usize| {
        let values: Vec<f64> = line.weights.iter().filter_map(|weights| weights.get(m).copied()).collect();
        Spread::of(&values).map_or(String::new(), |spread| format!("{:.4}", spread.mean))
    };
    (0..line.n_kernels.min(8)).map(of).collect::<Vec<_>>().join(" / ")
}

/// Accuracy and log-loss, every method against the first.
pub(super) const LOGISTIC: Layout = Layout {
    columns: &[
        SET,
        BANK,
        SPLITS,
        KERNELS,
        METHOD,
        ACCURACY,
        MINUS_FIRST,
        MEANING,
        LOG_LOSS,
        LOG_LOSS_MINUS_FIRST,
        LOG_LOSS_MEANING,
        TRAIN,
        WARNINGS,
    ],
    note: |_| CORRECTED.into(),
};

/// Many methods on the same halves.
pub(super) const HALVES: Layout = Layout {
    columns: &[
        SET,
        BANK,
        KERNELS,
        METHOD,
        ACCURACY,
        PAPER,
        MINUS_PAPER,
        VERDICT,
        PROTOTYPE,
        MINUS_FIRST,
        MEANING,
        FITS,
        TRAIN,
    ],
    note: |n_seeds| format!("Stratified halves, {}; ± standard deviation", count(n_seeds, "seed")),
};

/// Methods that differ by a parameter.
pub(super) const STUDY: Layout = Layout {
    columns: &[SET, SPLIT, SPLITS, KERNELS, METHOD, ACCURACY, MINUS_FIRST, MEANING, FITS, TRAIN],
    note: |_| CORRECTED.into(),
};

/// A paper's splits and figures.
pub(super) const FIGURES: Layout = Layout {
    columns: &[
        SET,
        SPLIT,
        SEEDS,
        KERNELS,
        METHOD,
        ACCURACY,
        PAPER,
        MINUS_PAPER,
        VERDICT,
        MACRO_F,
        PAPER_F,
        VERDICT_F,
        PROTOTYPE,
        PRECISION,
        PAPER_PRECISION,
        RECALL,
        PAPER_RECALL,
        SPECIFICITY,
        PAPER_SPECIFICITY,
        TRAIN,
        WARNINGS,
    ],
    note: |_| INTERVALS.into(),
};

/// Data sets without published figures.
pub(super) const COMPARED: Layout = Layout {
    columns: &[SET, SPLIT, SEEDS, KERNELS, METHOD, ACCURACY, MACRO_F, MINUS_FIRST, MEANING, TRAIN, WARNINGS],
    note: |_| INTERVALS.into(),
};

/// A paper's figures, and every method against the first.
pub(super) const PAIRED: Layout = Layout {
    columns: &[
        SET,
        SPLIT,
        SPLITS,
        KERNELS,
        METHOD,
        ACCURACY,
        PAPER,
        MINUS_PAPER,
        VERDICT,
        PROTOTYPE,
        MINUS_FIRST,
        MEANING,
        TRAIN,
        WARNINGS,
    ],
    note: |_| CORRECTED.into(),
};

/// A method that fails on some splits beside a paper's figures.
pub(super) const PRINTED: Layout = Layout {
    columns: &[
        SET,
        BANK,
        SPLIT,
        SPLITS,
        KERNELS,
        METHOD,
        ACCURACY,
        PAPER,
        MINUS_PAPER,
        VERDICT,
        FAILED,
        TRAIN,
        WARNINGS,
    ],
    note: |_| "± standard deviation over the splits that did not fail".into(),
};

/// Probabilities, every method against the first.
pub(super) const PROBABILITIES: Layout = Layout {
    columns: &[
        SET,
        SPLIT,
        SPLITS,
        KERNELS,
        METHOD,
        BRIER,
        BRIER_MINUS_FIRST,
        BRIER_MEANING,
        LOG_LOSS,
        LOG_LOSS_MINUS_FIRST,
        LOG_LOSS_MEANING,
        ACCURACY,
        TRAIN,
        WARNINGS,
    ],
    note: |_| CORRECTED.into(),
};

/// Classes and clusters.
pub(super) const CLUSTERED: Layout = Layout {
    columns: &[
        SET,
        SPLIT,
        SEEDS,
        METHOD,
        ACCURACY,
        PAPER,
        MINUS_PAPER,
        VERDICT,
        PROTOTYPE,
        MINUS_FIRST,
        MEANING,
        CLUSTERS,
        DAVIES_BOULDIN,
        DUNN,
        OTHERS,
        TRAIN,
        WARNINGS,
    ],
    note: |_| {
        "± standard deviation over seeds; Davies-Bouldin and Dunn index of training rows, columns as in the file".into()
    },
};

/// Clusters of rows whose classes are planted.
pub(super) const PLANTED: Layout = Layout {
    columns: &[SET, SEEDS, METHOD, NMI, RAND, PURITY, OTHERS, CLUSTERS, ACCURACY, TRAIN],
    note: |_| {
        "± standard deviation over seeds; NMI, Rand index and purity of test rows, placed by density alone".into()
    },
};

/// Streams.
pub(super) const STREAMS: Layout = Layout {
    columns: &[
        SET,
        SPLIT,
        SEEDS,
        KERNELS,
        METHOD,
        ACCURACY,
        PAPER,
        MINUS_PAPER,
        VERDICT,
        PROTOTYPE,
        SUPPORT,
        SECONDS,
        WARNINGS,
    ],
    note: |_| "Each row is predicted, then learned; accuracy over all rows, ± standard deviation over orders".into(),
};

const CORRECTED: &str = "± standard deviation over splits; differences with 95 % intervals, corrected for splits that share rows, Holm over the methods of a set";

const INTERVALS: &str = "± standard deviation over seeds; macro F with the 95 % bootstrap interval of one split's test rows, mean over seeds";

fn with_std(mean: f64, std: Option<f64>) -> String {
    std.map_or(format!("{mean:.4}"), |std| format!("{mean:.4} ± {std:.4}"))
}

fn spread(values: &[f64]) -> String {
    Spread::of(values).map_or(String::new(), |spread| with_std(spread.mean, spread.std))
}

pub(super) fn spread_short(values: &[f64], digits: usize) -> String {
    match Spread::of(values) {
        Some(Spread { mean, std: Some(std) }) => format!("{mean:.digits$} ± {std:.digits$}"),
        Some(Spread { mean, std: None }) => format!("{mean:.digits$}"),
        None => String::new(),
    }
}

fn short(value: Option<f64>) -> String {
    fixed(value, 4)
}

fn fixed(value: Option<f64>, digits: usize) -> String {
    value.map_or(String::new(), |value| format!("{value:.digits$}"))
}

fn mean_of(values: &[f64]) -> String {
    short(Spread::of(values).map(|spread| spread.mean))
}

fn whole(values: &[f64]) -> String {
    Spread::of(values).map_or(String::new(), |spread| format!("{:.0}", spread.mean))
}

fn mean_seconds(line: &Line) -> f64 {
    Spread::of(&line.seconds).map_or(f64::NAN, |spread| spread.mean)
}

/// The results of a rerun table.
#[derive(Clone, Debug)]
pub(super) struct Reproduction {
    /// Its name.
    pub(super) table: String,
    /// Its lines.
    pub(super) lines: Vec<Line>,
    /// Data sets that were not found, or not reached.
    pub(super) left_out: Vec<String>,
    pub(super) layout: Layout,
}

impl std::fmt::Display for Reproduction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let titles: Vec<&str> = self.layout.columns.iter().map(|column| column.0).collect();
        let mut table = TextTable::new(&titles);
        for line in &self.lines {
            table.row(self.layout.columns.iter().map(|column| column.1(line)).collect::<Vec<_>>());
        }
        // Tables of papers are kept in files and read next to the paper: one line for each of theirs.
        write!(f, "{}", table.within(usize::MAX))?;
        let n_seeds = self.lines.first().map_or(0, |line| line.accuracies.len());
        writeln!(f, "\n{}", (self.layout.note)(n_seeds))?;
        if self.lines.iter().any(|line| line.paper().is_some() || !line.judged_others().is_empty()) {
            writeln!(f, "{RULE}")?;
        }
        let caveats: BTreeSet<&str> = self.lines.iter().filter_map(|line| line.paper()?.caveat).collect();
        for caveat in caveats {
            writeln!(f, "* another experiment: {caveat}")?;
        }
        for line in self.lines.iter().filter(|line| line.n_failed > 0) {
            writeln!(f, "{} on {}: failed on {} splits", line.method, line.dataset, line.n_failed)?;
        }
        for line in self.lines.iter().filter(|line| line.n_warnings > 0) {
            writeln!(f, "{} on {}: warnings on {} splits", line.method, line.dataset, line.n_warnings)?;
        }
        if !self.left_out.is_empty() {
            writeln!(f, "left out: {}", self.left_out.join(", "))?;
        }
        Ok(())
    }
}

impl Reproduction {
    /// The table as JSON, every seed included.
    pub(super) fn to_json(&self) -> Value {
        let lines: Vec<Value> = self.lines.iter().map(line_json).collect();
        json!({ "table": self.table, "rule": RULE, "lines": lines, "left_out": self.left_out })
    }
}

fn line_json(line: &Line) -> Value {
    let accuracy = line.accuracy();
    let paper = line.paper().map(|paper| json!({ "mean": paper.accuracy, "std": paper.std, "macro_f": paper.macro_f }));
    let caveat = line.paper().and_then(|paper| paper.caveat);
    let published = line.judged().into_iter().chain(line.judged_f()).chain(line.judged_others());
    let published: Vec<Value> = published.map(|judged| judged.to_json()).collect();
    let macro_f = line.macro_f().map(|(mean, low, high)| json!({ "mean": mean, "interval": [low, high] }));
    json!({
        "dataset": line.dataset,
        "bank": line.bank,
        "split": line.split,
        "n_kernels": line.n_kernels,
        "method": line.method,
        "accuracy": { "mean": accuracy.mean, "std": accuracy.std },
        "accuracies": line.accuracies,
        "macro_f": macro_f,
        "macro_fs": line.macro_fs,
        "macro_f_intervals": line.macro_f_intervals,
        "macro_precisions": line.precisions,
        "macro_recalls": line.recalls,
        "macro_specificities": line.specificities,
        "printed": {
            "precision": line.printed.precision,
            "recall": line.printed.recall,
            "specificity": line.printed.specificity,
        },
        "briers": line.briers,
        "log_losses": line.log_losses,
        "train_seconds": { "mean": mean_seconds(line) },
        "seconds": line.seconds,
        "svm_fits": Spread::of(&line.fits).map(|fits| fits.mean),
        "supports": line.supports,
        "n_clusters": line.n_clusters,
        "nmis": line.nmis,
        "rand_indices": line.rand_indices,
        "purities": line.purities,
        "davies_bouldins": line.davies_bouldins,
        "dunns": line.dunns,
        "weights": line.weights,
        "level": line.calibration.level,
        "covered": line.calibration.covered,
        "ranks": line.calibration.ranks,
        "p_of_ranks": line.calibration.uniformity(),
        "paper": paper,
        "prototype": line.prototype(),
        "published": published,
        "caveat": caveat,
        "first_minus_this": line.difference,
        "first_minus_this_brier": line.brier_difference,
        "first_minus_this_log_loss": line.log_loss_difference,
        "n_failed": line.n_failed,
        "n_warnings": line.n_warnings,
        "warnings": line.warnings,
    })
}

#[cfg(test)]
mod tests {
    use multikernel::evaluate::compare_with_first;

    use super::*;
    use crate::reproduce::line::{PaperFigures, Printed, Published};

    fn line() -> Line {
        let paper =
            PaperFigures { accuracy: 0.9, std: None, macro_f: Some(0.8), n_splits: 5, caveat: Some("other rows") };
        let published = Published { paper: Some(paper), prototype: Some(0.75) };
        Line {
            n_kernels: 300,
            accuracies: vec![0.75, 0.5],
            macro_fs: vec![0.5, 0.75],
            macro_f_intervals: vec![(0.25, 0.75), (0.5, 1.0)],
            precisions: vec![0.25, 0.5],
            recalls: vec![0.5, 1.0],
            specificities: vec![0.75, 1.0],
            printed: Printed { precision: Some(0.7), specificity: Some(0.6), ..Printed::default() },
            seconds: vec![1.0, 2.0],
            n_warnings: 1,
            warnings: ["alpha ran away".to_string()].into(),
            ..Line::new("german", "bank", "800 rows to train".into(), "mklda".into(), Some(published))
        }
    }

    fn reproduction(layout: Layout) -> Reproduction {
        Reproduction { table: "mklda".into(), lines: vec![line()], left_out: vec!["shuttle (lost)".into()], layout }
    }

    #[test]
    fn figures_stand_beside_those_of_the_paper() {
        let expected = format!("\
set     split              seeds    P  method         accuracy   paper             minus the paper  verdict                               macro F  paper F  F verdict             prototype  precision   paper  recall  paper  specificity   paper  train s  warnings
------  -----------------  -----  ---  ------  ---------------  ------  --------------------------  --------------------  -----------------------  -------  --------------------  ---------  ---------  ------  ------  -----  -----------  ------  -------  --------
german  800 rows to train      2  300  mklda   0.6250 ± 0.1768  0.9000  -0.2750 [-2.1543, +1.6043]  not distinguishable*  0.6250 [0.3750, 0.8750]   0.8000  not distinguishable*     0.7500     0.3750  0.7000  0.7500              0.8750  0.6000    1.500         1

± standard deviation over seeds; macro F with the 95 % bootstrap interval of one split's test rows, mean over seeds
{RULE}
* another experiment: other rows
mklda on german: warnings on 1 splits
left out: shuttle (lost)
");
        assert_eq!(reproduction(FIGURES).to_string(), expected);
    }

    #[test]
    fn halves_are_shown_as_ever() {
        let text = reproduction(HALVES).to_string();
        let titles: Vec<&str> =
            text.lines().next().unwrap().split("  ").map(str::trim).filter(|t| !t.is_empty()).collect();
        let expected = [
            "set",
            "bank",
            "P",
            "method",
            "accuracy",
            "paper",
            "minus the paper",
            "verdict",
            "prototype",
            "minus the first",
            "SVM fits",
            "train s",
        ];
        assert_eq!(titles, expected);
        assert!(text.contains("\nStratified halves, 2 seeds; ± standard deviation\n"), "{text}");
    }

    #[test]
    fn probabilities_stand_beside_their_differences() {
        let paired = |first: f64, this: f64| {
            let values = [vec![first, first + 0.01, first], vec![this, this, this]];
            compare_with_first(&["a".into(), "b".into()], &values, 90.0, 10.0, 0.95).unwrap().remove(0)
        };
        let line = Line {
            briers: vec![0.25, 0.5],
            log_losses: vec![0.5, 1.0],
            brier_difference: Some(paired(0.1, 0.3)),
            log_loss_difference: Some(paired(0.5, 0.503)),
            ..line()
        };
        let found = Reproduction { lines: vec![line], ..reproduction(PROBABILITIES) };
        let text = found.to_string();
        let cells: Vec<&str> =
            text.lines().nth(2).unwrap().split("  ").map(str::trim).filter(|t| !t.is_empty()).collect();
        assert_eq!(
            cells[4..12],
            [
                "mklda",
                "0.3750 ± 0.1768",
                "+0.1967 [+0.1801, +0.2132]",
                "above",
                "0.7500 ± 0.3536",
                "-0.0003 [-0.0169, +0.0162]",
                "not distinguishable",
                "0.6250 ± 0.1768",
            ]
        );
        let json = found.to_json();
        assert_eq!(json["lines"][0]["briers"], json!([0.25, 0.5]));
        assert!((json["lines"][0]["first_minus_this_brier"]["difference"].as_f64().unwrap() + 0.1967).abs() < 1e-4);
        assert!(json["lines"][0]["first_minus_this_log_loss"]["interval"][0].as_f64().unwrap() < 0.0);
    }

    #[test]
    fn json_has_every_seed() {
        let json = reproduction(STREAMS).to_json();
        let line = &json["lines"][0];
        assert_eq!(line["accuracies"], json!([0.75, 0.5]));
        assert_eq!(line["macro_f"], json!({ "mean": 0.625, "interval": [0.375, 0.875] }));
        assert_eq!(line["macro_f_intervals"], json!([[0.25, 0.75], [0.5, 1.0]]));
        assert_eq!(line["seconds"], json!([1.0, 2.0]));
        assert_eq!(line["paper"], json!({ "mean": 0.9, "std": null, "macro_f": 0.8 }));
        // 12.7062 * .176777 * sqrt(1/2 + 1/5) = 1.8793 around -.275 and -.175.
        let published = line["published"].as_array().unwrap();
        assert_eq!((&published[0]["of"], &published[1]["of"]), (&json!("accuracy"), &json!("macro F")));
        assert_eq!(published[0]["verdict"], "not distinguishable");
        assert!((published[0]["interval"][0].as_f64().unwrap() + 0.275 + 1.8793).abs() < 1e-3);
        assert!((published[1]["interval"][1].as_f64().unwrap() + 0.175 - 1.8793).abs() < 1e-3);
        assert_eq!((&published[0]["n_splits"], &line["caveat"]), (&json!(5), &json!("other rows")));
        assert_eq!(json["rule"], RULE);
        assert_eq!(line["warnings"], json!(["alpha ran away"]));
        assert_eq!(line["split"], "800 rows to train");
        assert_eq!(json["left_out"], json!(["shuttle (lost)"]));
    }
}
