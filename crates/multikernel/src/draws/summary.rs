//! A summary of all draws of a run, and whether they can be trusted.

use super::diagnose::Scores;
use super::{Diagnosis, Draws, Variable};

/// The variable that holds the kernel weights.
const WEIGHTS: &str = "weights";

/// Above this [`Draws::verdict`] warns. For one number 1.01 is the usual limit; the largest of many kernels exceeds
/// that by chance, and at 1.05 the pooled chains have a tenth more variance than each alone.
const LARGEST_R_HAT: f64 = 1.05;

/// The meaning of each figure and what to do when it is bad, in the order of the columns that show them.
pub const MEANINGS: [(&str, &str); 6] = [
    (
        "weight",
        "posterior mean, and beside it the middle 90 % of the draws; where ESS tail is low the ends are rough: raise draws",
    ),
    (
        "prior",
        "the middle 90 % before any data were seen: where a kernel's interval is much the same, the data say nothing of this \
         kernel alone; take fewer kernels, or kernels that differ more",
    ),
    (
        "R-hat",
        "how much wider all chains lie than each alone, 1 is agreement: above 1.01 raise draws; above 1.05 believe none of the \
         figures, raise warmup and draws, and leave the prior at gp",
    ),
    (
        "ESS bulk",
        "so many independent draws would know the weight as well, to its standard deviation over their root: below 100 for each \
         chain raise draws",
    ),
    (
        "ESS tail",
        "the same for the ends of the interval, which are harder to know than the middle: below 100 for each chain raise draws",
    ),
    (
        "above next",
        "the share of draws in which the kernel weighs more than the next one: near 0.5 their order is not known, which more \
         rows of data may change and more draws will not",
    ),
];

/// One sampled number, and its diagnosis.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The variable it belongs to.
    pub variable: String,
    /// Which number of the variable, from 0.
    pub index: usize,
    /// Its name along the variable's dimension; `None` for a single number, or if unknown.
    pub coordinate: Option<String>,
    /// The middle 90 % under the prior, if known.
    pub prior: Option<(f64, f64)>,
    /// The diagnosis of its draws.
    pub diagnosis: Diagnosis,
}

/// The worst figures over all kernel weights; NaN if no weight has any (see [`Diagnosis`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst {
    /// The largest R-hat.
    pub r_hat: f64,
    /// The smallest effective number of draws for the middle.
    pub ess_bulk: f64,
    /// The smallest effective number of draws for the tails.
    pub ess_tail: f64,
}

impl Draws {
    /// Each number of each variable with its diagnosis, in stored order. About 0.3 ms for each number of 4 chains of
    /// 500 draws.
    pub fn summary(&self) -> Vec<Summary> {
        let scores = Scores::new(self.n_chains, self.n_draws);
        self.variables.iter().flat_map(|variable| self.summaries(variable, &scores)).collect()
    }

    /// The worst figures over the kernel weights, `None` if there are none. Costs what [`Draws::summary`] costs for
    /// them.
    pub fn worst(&self) -> Option<Worst> {
        let weights = self.variable(WEIGHTS)?;
        let found = self.summaries(weights, &Scores::new(self.n_chains, self.n_draws));
        Worst::of(found.iter().map(|one| &one.diagnosis))
    }

    /// A warning if the draws should not be trusted: the chains disagree on a number (R-hat above 1.05), or are too
    /// short to tell. For a method's `warnings`; costs what [`Draws::summary`] costs. Constants are fine.
    pub fn verdict(&self) -> Option<String> {
        let found = self.summary();
        let worst = found.iter().filter(|one| !one.diagnosis.r_hat.is_nan());
        let worst = worst.max_by(|a, b| a.diagnosis.r_hat.total_cmp(&b.diagnosis.r_hat));
        if self.n_draws < 4 {
            return Some(format!(
                "chains of {} cannot tell whether they agree; raise draws to 4 at least, better to 100",
                if self.n_draws == 1 { "1 draw".into() } else { format!("{} draws", self.n_draws) }
            ));
        }
        let worst = worst.filter(|one| one.diagnosis.r_hat > LARGEST_R_HAT)?;
        let what = if worst.variable == WEIGHTS { "the kernel weights" } else { worst.variable.as_str() };
        let who = match self.n_chains {
            1 => "the two halves of the chain disagree".into(),
            n => format!("the {n} chains disagree"),
        };
        Some(format!(
            "{who} on {what} (largest R-hat {:.3}, {LARGEST_R_HAT} is the most that is fine): figures and intervals are not to be \
             trusted; raise warmup and draws, and leave the prior at gp",
            worst.diagnosis.r_hat
        ))
    }

    /// The share of draws in which kernel `i` outweighs kernel `j`; ties count for neither. `None` without weights for
    /// these kernels, or without draws.
    ///
    /// ```
    /// use multikernel::{Matrix, draws::{Draws, Variable}};
    /// let values = Matrix::from_vec(4, 2, vec![0.1, 0.9, 0.8, 0.2, 0.3, 0.7, 0.5, 0.5])?;
    /// let weights = Variable { name: "weights".into(), dimension: Some("kernel".into()), coordinates: vec![], values, prior: None };
    /// let draws = Draws::new(1, vec![weights])?;
    /// assert_eq!((draws.outweighs(0, 1), draws.outweighs(1, 0), draws.outweighs(0, 2)), (Some(0.25), Some(0.5), None));
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn outweighs(&self, i: usize, j: usize) -> Option<f64> {
        let values = &self.variable(WEIGHTS)?.values;
        if i.max(j) >= values.n_cols() || values.n_rows() == 0 {
            return None;
        }
        Some(values.rows().filter(|row| row[i] > row[j]).count() as f64 / values.n_rows() as f64)
    }

    /// The numbers of one variable.
    fn summaries(&self, variable: &Variable, scores: &Scores) -> Vec<Summary> {
        // Transposed: otherwise each number would stride over the whole matrix again.
        let columns = variable.values.transposed();
        let summary = |(index, column): (usize, &[f64])| Summary {
            variable: variable.name.clone(),
            index,
            coordinate: variable.coordinates.get(index).cloned(),
            prior: variable.prior,
            diagnosis: scores.diagnose(&column.chunks_exact(self.n_draws.max(1)).collect::<Vec<_>>()),
        };
        columns.rows().enumerate().map(summary).collect()
    }
}

impl Worst {
    /// The worst of some diagnoses, `None` if there are none; those that are NaN are left out.
    pub(crate) fn of<'a>(all: impl IntoIterator<Item = &'a Diagnosis>) -> Option<Worst> {
        all.into_iter().fold(None, |worst, one| {
            let worst = worst.unwrap_or(Worst { r_hat: f64::NAN, ess_bulk: f64::NAN, ess_tail: f64::NAN });
            Some(Worst {
                r_hat: worst.r_hat.max(one.r_hat),
                ess_bulk: worst.ess_bulk.min(one.ess_bulk),
                ess_tail: worst.ess_tail.min(one.ess_tail),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::{Rng, normal};
    use crate::linalg::Matrix;

    /// Four chains of two weights and one more number; `apart` shifts the last chain.
    fn draws(n_draws: usize, apart: f64) -> Draws {
        let mut rng = Rng::new(3, 0);
        let mut weights = Matrix::zeros(4 * n_draws, 2);
        for t in 0..4 * n_draws {
            let moved = if t >= 3 * n_draws { apart } else { 0.0 };
            let first = 1.0 / (1.0 + (normal(&mut rng) + moved).exp());
            weights.row_mut(t).copy_from_slice(&[first, 1.0 - first]);
        }
        let single = Matrix::from_fn(4 * n_draws, 1, |t, _| (t * t % 7) as f64);
        let variable = |name: &str, dimension: Option<&str>, coordinates: &[&str], values| Variable {
            name: name.into(),
            dimension: dimension.map(str::to_string),
            coordinates: coordinates.iter().map(|name| name.to_string()).collect(),
            values,
            prior: dimension.map(|_| (0.05, 0.95)),
        };
        let weights = variable("weights", Some("kernel"), &["linear", "gaussian(1)"], weights);
        Draws::new(4, vec![weights, variable("log_posterior", None, &[], single)]).unwrap()
    }

    #[test]
    fn summary_is_the_diagnosis_of_every_number() {
        let draws = draws(100, 0.5);
        let found = draws.summary();
        let names: Vec<_> =
            found.iter().map(|one| (one.variable.as_str(), one.index, one.coordinate.as_deref())).collect();
        let expected =
            [("weights", 0, Some("linear")), ("weights", 1, Some("gaussian(1)")), ("log_posterior", 0, None)];
        assert_eq!(names, expected);
        for one in &found {
            let chains = draws.chains(&one.variable, one.index).unwrap();
            assert_eq!(one.diagnosis, super::super::diagnose(&chains));
        }
        assert_eq!((found[0].prior, found[2].prior), (Some((0.05, 0.95)), None));
    }

    #[test]
    fn worst_is_over_the_weights_alone() {
        let draws = draws(100, 0.5);
        let found = draws.summary();
        let worst = draws.worst().unwrap();
        assert_eq!(worst.r_hat, found[0].diagnosis.r_hat.max(found[1].diagnosis.r_hat));
        assert_eq!(worst.ess_bulk, found[0].diagnosis.ess_bulk.min(found[1].diagnosis.ess_bulk));
        assert_eq!(worst.ess_tail, found[0].diagnosis.ess_tail.min(found[1].diagnosis.ess_tail));
        let bare = Draws::new(4, draws.variables()[1..].to_vec()).unwrap();
        assert_eq!((bare.worst(), bare.outweighs(0, 0)), (None, None));
    }

    #[test]
    fn verdict_warns_of_chains_that_disagree_or_are_too_short() {
        assert_eq!(draws(200, 0.0).verdict(), None);
        let apart = draws(200, 1.5);
        let r_hat = apart.worst().unwrap().r_hat;
        let expected = format!(
            "the 4 chains disagree on the kernel weights (largest R-hat {r_hat:.3}, 1.05 is the most that is fine): figures and \
             intervals are not to be trusted; raise warmup and draws, and leave the prior at gp"
        );
        assert_eq!(apart.verdict().unwrap(), expected);
        let short = "chains of 3 draws cannot tell whether they agree; raise draws to 4 at least, better to 100";
        assert_eq!(draws(3, 0.0).verdict().unwrap(), short);
        // Weights that were never sampled have nothing to disagree on.
        let values = Matrix::from_fn(400, 3, |_, _| 1.0 / 3.0);
        let fixed = Variable { values, ..apart.variables()[0].clone() };
        assert_eq!(Draws::new(4, vec![fixed]).unwrap().verdict(), None);
    }
}
