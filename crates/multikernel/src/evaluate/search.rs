//! Banks compared: one method with each of them, on the same splits.

use super::Evaluation;
use crate::error::{Error, Result};
use crate::plan::Plan;

/// The plan with each of these banks, called `bank 1`, `bank 2`, ...: to be evaluated on the same splits;
/// [`Evaluation::best`] then tells which is best, and from which it cannot be told.
///
/// ```
/// use multikernel::{Plan, data::bundled, evaluate::{cross_validate, with_banks}};
/// let banks = ["gaussian(median*2^-1..2^1)", "linear"].map(String::from);
/// let found = cross_validate(&bundled("sonar")?, &with_banks(&Plan::new("average")?, &banks)?, 5, 0)?;
/// assert_eq!(found.results[found.best().unwrap().place].method, "bank 1");
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn with_banks(plan: &Plan, banks: &[String]) -> Result<Vec<Plan>> {
    if banks.len() < 2 {
        return Err(Error::param("kernels", format!("{} given; a search compares two banks or more", banks.len())));
    }
    let titled = |(k, bank): (usize, &String)| Ok(plan.clone().kernels(bank)?.titled(&format!("bank {}", k + 1)));
    banks.iter().enumerate().map(titled).collect()
}

/// The best of an evaluation, by [`Evaluation::best`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Best {
    /// Its place among the results.
    pub place: usize,
    /// The places of those it cannot be told from.
    pub level: Vec<usize>,
}

impl Evaluation {
    /// The result with the highest mean score (accuracy, R2 or concordance), the first of equals, and those whose
    /// difference from it is not distinguishable. `None` where nothing was measured.
    pub fn best(&self) -> Option<Best> {
        let score = |place: &usize| self.results[*place].spread(|fold| Some(fold.score())).map(|spread| spread.mean);
        let measured = (0..self.results.len()).filter(|place| score(place).is_some_and(f64::is_finite));
        let place =
            measured.rev().max_by(|a, b| score(a).unwrap_or(f64::NAN).total_cmp(&score(b).unwrap_or(f64::NAN)))?;
        let name = |place: usize| self.results[place].method.as_str();
        let is_level = |&other: &usize| {
            let of = |a: usize, b: usize| self.paired.iter().find(|pair| pair.a == name(a) && pair.b == name(b));
            other != place && of(place, other).or(of(other, place)).is_none_or(|pair| !pair.distinguishable)
        };
        Some(Best { place, level: (0..self.results.len()).filter(is_level).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::bundled;
    use crate::evaluate::cross_validate;

    #[test]
    fn a_useless_bank_is_told_from_the_best_and_a_copy_is_not() {
        let banks = ["linear on [0]", "gaussian(median)", "gaussian(median), gaussian(median)"].map(String::from);
        let plans = with_banks(&Plan::new("average").unwrap(), &banks).unwrap();
        let found = cross_validate(&bundled("ionosphere").unwrap(), &plans, 5, 0).unwrap();
        assert_eq!(found.best(), Some(Best { place: 1, level: vec![2] }));
        let error = with_banks(&plans[0], &banks[..1]).unwrap_err().to_string();
        assert!(error.contains("two banks or more"), "{error}");
    }
}
