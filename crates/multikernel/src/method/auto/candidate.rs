//! What `auto` tries: a set of kernels and a rule for their weights.

use super::{Auto, Effort};
use crate::data::{Labels, Target};
use crate::error::Result;
use crate::method::sample::sample;
use crate::method::svc::CS;
use crate::method::{Alignf, Average, Evidence};
use crate::run::{Input, KernelsOfView, Params, Task};
use crate::stack::Stack;

/// Rows from which on candidates are compared: with fewer the choice would be that of chance.
pub(super) const FEWEST_ROWS: usize = 20;

/// How the kernels of a candidate are weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Average,
    Evidence,
    Alignf,
}

impl Rule {
    pub(super) fn word(self) -> &'static str {
        match self {
            Rule::Average => "average",
            Rule::Evidence => "evidence",
            Rule::Alignf => "alignf",
        }
    }
}

/// One candidate.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Which alternative of the bank, counted from 0, and its kernels.
    pub(super) bank: usize,
    pub(super) kernels: Vec<usize>,
    pub(super) rule: Rule,
}

impl Candidate {
    /// The candidates of a task: uniform weights first, which are the simplest and the cheapest.
    pub(super) fn all(auto: &Auto, task: &Task<'_>) -> Result<Vec<Candidate>> {
        let banks = match task.alternatives {
            [] => vec![(0..task.stack()?.n_kernels()).collect()],
            banks => banks.to_vec(),
        };
        let rules: &[Rule] = match auto.effort {
            Effort::Quick => &[Rule::Average],
            Effort::Normal => &[Rule::Average, Rule::Evidence],
            Effort::Thorough => &[Rule::Average, Rule::Evidence, Rule::Alignf],
        };
        let mut all = vec![];
        for &rule in rules {
            let banks = banks.iter().enumerate();
            // A single kernel has one weight.
            let banks = banks.filter(|(_, kernels)| rule == Rule::Average || kernels.len() > 1);
            all.extend(banks.map(|(bank, kernels)| Candidate { bank, kernels: kernels.clone(), rule }));
        }
        if task.n_samples() < FEWEST_ROWS {
            all.truncate(1);
        }
        Ok(all)
    }

    /// The values of c it is tried with; other targets than classes have none, and few rows no choice.
    pub(super) fn cs(task: &Task<'_>) -> &'static [f64] {
        if *task.target == Target::Classes && task.n_samples() >= FEWEST_ROWS { CS } else { &[10.0] }
    }

    /// Its method at each of these values of c.
    pub(super) fn settings(&self, auto: &Auto, cs: &[f64]) -> Result<Vec<Params>> {
        let class_weights = || auto.class_weights.clone();
        let method = |&c: &f64| match self.rule {
            Rule::Average => Params::new(Box::new(Average { c, class_weights: class_weights(), ..Default::default() })),
            Rule::Evidence => {
                Params::new(Box::new(Evidence { c, class_weights: class_weights(), ..Default::default() }))
            }
            Rule::Alignf => Params::new(Box::new(Alignf { c, class_weights: class_weights(), ..Default::default() })),
        };
        cs.iter().map(method).collect()
    }
}

/// A task on some rows and kernels of another.
pub(super) struct Part {
    stack: Stack,
    labels: Labels,
    target: Target,
    groups: Option<Vec<usize>>,
    views: Vec<KernelsOfView>,
}

impl Part {
    /// The rows on which candidates are compared.
    pub(super) fn rows(auto: &Auto, task: &Task<'_>) -> Vec<usize> {
        sample(task.labels, auto.most_rows())
    }

    /// These rows and kernels of the task.
    pub(super) fn new(task: &Task<'_>, rows: &[usize], kernels: &[usize]) -> Result<Part> {
        let mut stack = task.stack()?.clone();
        if rows.len() < task.n_samples() {
            stack = stack.view(rows)?;
        }
        if kernels.len() < stack.n_kernels() {
            stack = stack.pick(kernels)?;
        }
        let place = |m: &usize| kernels.iter().position(|kernel| kernel == m);
        let of_view = |view: &KernelsOfView| KernelsOfView {
            name: view.name.clone(),
            kernels: view.kernels.iter().filter_map(place).collect(),
        };
        Ok(Part {
            stack,
            labels: task.labels.select(rows),
            target: task.target.select(rows),
            groups: task.groups.map(|groups| rows.iter().map(|&i| groups[i]).collect()),
            views: task.views.iter().map(of_view).collect(),
        })
    }

    /// As a task, with the seed and the threads of the whole.
    pub(super) fn task<'a>(&'a self, whole: &Task<'a>) -> Task<'a> {
        Task {
            input: Input::Stack(&self.stack),
            labels: &self.labels,
            target: &self.target,
            groups: self.groups.as_deref(),
            views: &self.views,
            alternatives: &[],
            seed: whole.seed,
            pool: whole.pool,
        }
    }
}
