//! A sampler's draws, as text and as JSON.

use serde_json::{Map, Value, json};

use super::numbers::{figure, short};
use super::{TextTable, count, paragraph};
use crate::draws::{Diagnosis, Draws, MEANINGS, Summary, Variable, Worst};

/// Maximum number of a variable's numbers listed; JSON has them all.
const MAX_LISTED: usize = 20;

/// Up to this many kernels, JSON has a table of all pairs.
const MAX_PAIRS: usize = 64;

/// The posterior of the kernel weights as a table, largest mean first, then the other variables, then what the columns
/// mean.
pub(super) fn draws_text(draws: &Draws) -> String {
    let found = draws.summary();
    let (weights, others): (Vec<&Summary>, Vec<&Summary>) = found.iter().partition(|one| one.variable == "weights");
    let sizes = format!("{} of {}", count(draws.n_chains(), "chain"), count(draws.n_draws(), "draw"));
    let mut text = String::new();
    if !weights.is_empty() {
        // A variable has a single prior, which needs no column.
        let prior = weights[0].prior.map_or(String::new(), |prior| format!("; prior {}", interval(prior)));
        let title = format!("Kernel weights, posterior from {sizes}{prior}");
        text += &format!("\n{}{}", paragraph(&title), weights_table(draws, &weights));
    }
    if !others.is_empty() {
        text += &format!("\nWhat else was drawn\n{}", others_table(&others));
    }
    if let Some(Worst { r_hat, ess_bulk, ess_tail }) = Worst::of(weights.iter().map(|one| &one.diagnosis)) {
        let [bulk, tail] = [ess_bulk, ess_tail].map(whole);
        text +=
            &format!("\nOver all kernels: largest R-hat {}, least ESS bulk {bulk}, tail {tail}\n", r_hat_text(r_hat));
        text += &MEANINGS.map(|(name, meaning)| paragraph(&format!("{name}: {meaning}"))).concat();
    }
    text
}

fn weights_table(draws: &Draws, weights: &[&Summary]) -> String {
    let mut order = weights.to_vec();
    order.sort_by(|a, b| b.diagnosis.mean.total_cmp(&a.diagnosis.mean));
    let mut table =
        TextTable::new(&["kernel", "weight", "90 % interval", "R-hat", "ESS bulk", "ESS tail", "above next"]);
    for (place, one) in order.iter().enumerate().take(MAX_LISTED) {
        let next = order.get(place + 1).and_then(|next| draws.outweighs(one.index, next.index));
        let mut row = vec![name_of(one), figure(one.diagnosis.mean), interval(one.diagnosis.interval)];
        row.extend(quality(&one.diagnosis));
        row.push(next.map_or("-".into(), |share| format!("{share:.3}")));
        table.row(row);
    }
    let rest: f64 = order.iter().skip(MAX_LISTED).map(|one| one.diagnosis.mean).sum();
    match order.len().saturating_sub(MAX_LISTED) {
        0 => table.to_string(),
        n => format!(
            "{table}and {} with {} together; the JSON report has them all\n",
            count(n, "more kernel"),
            figure(rest)
        ),
    }
}

fn others_table(others: &[&Summary]) -> TextTable {
    let mut table = TextTable::new(&["variable", "mean", "90 % interval", "prior", "R-hat", "ESS bulk", "ESS tail"]);
    for variable in others.chunk_by(|a, b| a.variable == b.variable) {
        for one in variable.iter().take(MAX_LISTED) {
            let name = one.coordinate.as_ref().map_or(one.variable.clone(), |at| format!("{}[{at}]", one.variable));
            let prior = one.prior.map_or("-".into(), interval);
            let mut row = vec![name, figure(one.diagnosis.mean), interval(one.diagnosis.interval), prior];
            row.extend(quality(&one.diagnosis));
            table.row(row);
        }
    }
    table
}

fn quality(one: &Diagnosis) -> [String; 3] {
    [r_hat_text(one.r_hat), whole(one.ess_bulk), whole(one.ess_tail)]
}

fn name_of(one: &Summary) -> String {
    one.coordinate.as_deref().map_or(one.index.to_string(), short)
}

fn interval((low, high): (f64, f64)) -> String {
    format!("[{}, {}]", figure(low), figure(high))
}

fn r_hat_text(x: f64) -> String {
    if x.is_nan() { "-".into() } else { format!("{x:.3}") }
}

fn whole(x: f64) -> String {
    if x.is_nan() { "-".into() } else { format!("{x:.0}") }
}

/// The same for all numbers, and for up to 64 kernels how often each outweighs each other one.
pub(super) fn draws_json(draws: &Draws) -> Value {
    let found = draws.summary();
    let of = |variable: &Variable| found.iter().filter(|one| one.variable == variable.name).collect::<Vec<_>>();
    let worst = Worst::of(found.iter().filter(|one| one.variable == "weights").map(|one| &one.diagnosis));
    let worst =
        worst.map(|worst| json!({"r_hat": worst.r_hat, "ess_bulk": worst.ess_bulk, "ess_tail": worst.ess_tail}));
    json!({
        "n_chains": draws.n_chains(),
        "n_draws": draws.n_draws(),
        "worst": worst,
        "variables": draws.variables().iter().map(|variable| variable_json(variable, &of(variable))).collect::<Vec<_>>(),
        "outweighs": pairs(draws),
        "meanings": MEANINGS.map(|(name, text)| (name.to_string(), json!(text))).into_iter().collect::<Map<_, _>>(),
    })
}

fn variable_json(variable: &Variable, numbers: &[&Summary]) -> Value {
    let number = |one: &&Summary| {
        let found = &one.diagnosis;
        json!({
            "name": one.coordinate,
            "mean": found.mean,
            "sd": found.sd,
            "mcse": found.mcse,
            "interval": found.interval,
            "r_hat": found.r_hat,
            "ess_bulk": found.ess_bulk,
            "ess_tail": found.ess_tail,
        })
    };
    json!({
        "name": variable.name,
        "dimension": variable.dimension,
        "prior": variable.prior,
        "numbers": numbers.iter().map(number).collect::<Vec<_>>(),
    })
}

/// Row i, column j: the share of draws in which kernel i outweighs kernel j.
fn pairs(draws: &Draws) -> Option<Vec<Vec<f64>>> {
    let n = draws.variable("weights").map(|weights| weights.values.n_cols()).filter(|&n| n <= MAX_PAIRS)?;
    (0..n).map(|i| (0..n).map(|j| draws.outweighs(i, j)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::{Rng, gamma};
    use crate::linalg::Matrix;

    /// Independent draws of weights from a Dirichlet distribution with the given shapes, and a constant.
    fn draws(shapes: &[f64], n_chains: usize, n_draws: usize) -> Draws {
        let mut rng = Rng::new(9, 0);
        let rows = n_chains * n_draws;
        let mut values = Matrix::zeros(rows, shapes.len());
        for t in 0..rows {
            let row = values.row_mut(t);
            row.iter_mut().zip(shapes).for_each(|(cell, shape)| *cell = gamma(&mut rng, *shape, 1.0));
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|cell| *cell /= sum);
        }
        let weights = Variable {
            name: "weights".into(),
            dimension: Some("kernel".into()),
            coordinates: (0..shapes.len()).map(|m| format!("gaussian({}.123456789)", m + 1)).collect(),
            values,
            prior: Some((0.0253, 0.6316)),
        };
        let single = Variable {
            name: "log_posterior".into(),
            dimension: None,
            coordinates: vec![],
            values: Matrix::from_fn(rows, 1, |_, _| -12.5),
            prior: None,
        };
        Draws::new(n_chains, vec![weights, single]).unwrap()
    }

    #[test]
    fn weights_stand_beside_their_prior_in_the_order_of_their_means() {
        let draws = draws(&[2.0, 9.0, 0.001], 2, 50);
        let found = draws.summary();
        let cells = |m: usize| {
            let one = &found[m].diagnosis;
            (one.r_hat, one.ess_bulk, one.ess_tail, one.mean, one.interval)
        };
        let (first, second, last) = (cells(1), cells(0), cells(2));
        let above = draws.outweighs(1, 0).unwrap();
        let text = draws_text(&draws);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "Kernel weights, posterior from 2 chains of 50 draws; prior [0.0253, 0.6316]");
        let words = |line: &str| {
            line.split("  ").map(str::trim).filter(|word| !word.is_empty()).map(str::to_string).collect::<Vec<_>>()
        };
        let head = ["kernel", "weight", "90 % interval", "R-hat", "ESS", "ESS", "above"];
        assert_eq!((words(lines[2]), words(lines[3])), (head.map(str::to_string).to_vec(), words("bulk  tail  next")));
        let row = |name: &str, one: (f64, f64, f64, f64, (f64, f64)), above: &str| {
            vec![
                name.to_string(),
                format!("{:.4}", one.3),
                format!("[{:.4}, {:.4}]", one.4.0, one.4.1),
                format!("{:.3}", one.0),
                format!("{:.0}", one.1),
                format!("{:.0}", one.2),
                above.into(),
            ]
        };
        assert_eq!(words(lines[5]), row("gaussian(2.123)", first, &format!("{above:.3}")));
        assert_eq!(words(lines[6]), row("gaussian(1.123)", second, "1.000"));
        // The smallest weight is shown to two digits, and nothing follows it.
        let small = words(lines[7]);
        assert_eq!(
            (small[0].as_str(), small[1].as_str(), small[6].as_str()),
            ("gaussian(3.123)", figure(last.3).as_str(), "-")
        );
        let worst = draws.worst().unwrap();
        let expected = format!(
            "\nWhat else was drawn\n\
             variable           mean         90 % interval  prior  R-hat  ESS bulk  ESS tail\n\
             -------------  --------  --------------------  -----  -----  --------  --------\n\
             log_posterior  -12.5000  [-12.5000, -12.5000]  -      -      -         -\n\
             \nOver all kernels: largest R-hat {:.3}, least ESS bulk {:.0}, tail {:.0}\n\
             weight: posterior mean",
            worst.r_hat, worst.ess_bulk, worst.ess_tail
        );
        assert!(text.contains(&expected), "{text}");
        let unwrapped = text.replace("\n  ", " ");
        for (name, meaning) in MEANINGS {
            assert!(unwrapped.contains(&format!("\n{name}: {meaning}\n")), "{name}");
        }
    }

    #[test]
    fn large_banks_show_twenty_kernels_and_what_the_rest_weighs() {
        let shapes: Vec<f64> = (0..70).map(|m| if m < 20 { 30.0 } else { 0.4 }).collect();
        let draws = draws(&shapes, 2, 100);
        let text = draws_text(&draws);
        let listed = text.lines().filter(|line| line.starts_with("gaussian(")).count();
        let rest: f64 = draws.summary()[20..70].iter().map(|one| one.diagnosis.mean).sum();
        assert_eq!(listed, 20);
        assert!(
            text.contains(&format!("\nand 50 more kernels with {rest:.4} together; the JSON report has them all\n")),
            "{text}"
        );
        let json = draws_json(&draws);
        assert_eq!(json["variables"][0]["numbers"].as_array().unwrap().len(), 70);
        assert!(json["outweighs"].is_null());
    }

    #[test]
    fn json_has_every_number_and_every_pair() {
        let draws = draws(&[2.0, 9.0, 1.0], 2, 50);
        let json = draws_json(&draws);
        assert_eq!((&json["n_chains"], &json["n_draws"]), (&json!(2), &json!(50)));
        let weights = &json["variables"][0];
        assert_eq!((&weights["name"], &weights["dimension"]), (&json!("weights"), &json!("kernel")));
        assert_eq!(weights["prior"], json!([0.0253, 0.6316]));
        for (number, one) in weights["numbers"].as_array().unwrap().iter().zip(draws.summary()) {
            let found = one.diagnosis;
            assert_eq!(number["name"], json!(one.coordinate));
            let fields = [
                ("mean", found.mean),
                ("sd", found.sd),
                ("mcse", found.mcse),
                ("r_hat", found.r_hat),
                ("ess_bulk", found.ess_bulk),
                ("ess_tail", found.ess_tail),
            ];
            fields.iter().for_each(|(field, value)| assert_eq!(number[field], json!(value)));
            assert_eq!(number["interval"], json!([found.interval.0, found.interval.1]));
        }
        let single = &json["variables"][1];
        assert!(single["dimension"].is_null() && single["prior"].is_null());
        assert!(single["numbers"][0]["r_hat"].is_null() && single["numbers"][0]["mean"] == json!(-12.5));
        for (i, row) in json["outweighs"].as_array().unwrap().iter().enumerate() {
            for (j, share) in row.as_array().unwrap().iter().enumerate() {
                assert_eq!(share, &json!(draws.outweighs(i, j).unwrap()), "{i} {j}");
            }
        }
        assert_eq!(json["outweighs"].as_array().unwrap().len(), 3);
        assert_eq!(json["worst"]["r_hat"], json!(draws.worst().unwrap().r_hat));
        assert_eq!(json["meanings"]["R-hat"], json!(MEANINGS[2].1));
    }
}
