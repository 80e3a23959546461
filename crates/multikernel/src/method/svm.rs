//! `svm`: C-SVC on one kernel, and the state machine that every method with fixed kernel weights shares.

use super::machine::SvmModel;
use super::problems::Problems;
use crate::error::{Error, Result};
use crate::file::Cache;
use crate::file::record;
use crate::linalg::Matrix;
use crate::run::{About, Allowed, Control, Method, Needs, Param, Params, Progress, Task};
use crate::solve::smo;

/// C-SVC on one kernel of the bank. Cost: between N^2 and N^3, like every SVM; one-vs-one over C classes solves
/// C (C - 1) / 2 problems on two classes each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Svm;

pub(super) const C: Param = Param {
    name: "c",
    default: "10",
    allowed: Allowed::PositiveOrAuto(&[0.1, 1.0, 10.0, 100.0, 1000.0]),
    help: "trade-off: large follows the training rows, small is smooth; auto chooses among 0.1, 1, 10, 100, 1000",
};
pub(super) const TOL: Param = Param {
    name: "tol",
    default: "0.001",
    allowed: Allowed::Positive,
    help: "stop when the optimality conditions hold to this",
};
pub(super) const MULTICLASS: Param = Param {
    name: "multiclass",
    default: "ovo",
    allowed: Allowed::OneOf(&["ovo", "ovr"]),
    help: "one-vs-one (a vote of class pairs) or one-vs-rest (the largest score)",
};
pub(super) const CLASS_WEIGHTS: Param = Param {
    name: "class_weights",
    default: "none",
    allowed: Allowed::Text("none, balanced, or CLASS=WEIGHT,..."),
    help: "multiply c per class: none, balanced (n / (n_classes * count)), or CLASS=WEIGHT,...",
};
const KERNEL: Param = Param {
    name: "kernel",
    default: "only",
    allowed: Allowed::Text("the number of a kernel of the bank, counted from 0, or `only`"),
    help: "which kernel of the bank, counted from 0; `only` takes the one kernel of a bank of one",
};

/// Parameters of every method that ends in a C-SVC.
pub(super) const COMMON_PARAMS: &[Param] = &[C, TOL, MULTICLASS, CLASS_WEIGHTS];

/// Iterations of one problem in one step: about a second at ten thousand rows, and then the state can be stored.
const SLICE: u64 = 50_000;

/// Problems solved side by side in one step. A constant: the cut into steps must not depend on the number of threads.
const SIDE_BY_SIDE: usize = 16;

const OPEN: u64 = 0;
const SOLVED: u64 = 1;
const GIVEN_UP: u64 = 2;

impl Method for Svm {
    type State = SvmState;
    type Model = SvmModel;

    fn about(&self) -> About {
        About {
            name: "svm",
            summary: "SVM on one kernel",
            needs: Needs::Pass,
            params: &[C, TOL, MULTICLASS, CLASS_WEIGHTS, KERNEL],
            bank: "gaussian(median)",
        }
    }

    fn init(&self, task: &Task<'_>, params: &Params) -> Result<SvmState> {
        let n_kernels = task.stack()?.n_kernels();
        let kernel = match params.text("kernel") {
            "only" if n_kernels == 1 => Some(0),
            number => number.parse().ok().filter(|&kernel: &usize| kernel < n_kernels),
        };
        let kernel = kernel.ok_or_else(|| {
            let found = params.text("kernel");
            let help = "svm takes one kernel: give its number from 0, a bank of one kernel, or use the method average";
            Error::param("kernel", format!("is `{found}`, the number of kernels in the bank is {n_kernels}; {help}"))
        })?;
        SvmState::new((0..n_kernels).map(|m| f64::from(u8::from(m == kernel))).collect(), task, params)
    }

    fn again(&self, task: &Task<'_>, params: &Params, earlier: &SvmState) -> Result<SvmState> {
        earlier.again(task, params)
    }

    fn check(&self, task: &Task<'_>, params: &Params, state: &SvmState) -> Result<()> {
        state.check(task, params)
    }

    fn step(&self, task: &Task<'_>, params: &Params, state: &mut SvmState, control: &Control) -> Result<Progress> {
        state.step(task, params, control)
    }

    fn finish(&self, task: &Task<'_>, params: &Params, state: SvmState) -> Result<SvmModel> {
        state.finish(task, params)
    }
}

record! {
    /// How far the two-class problems are: the dual variables of each, one after the other.
    #[derive(Clone, Debug)]
    pub struct SvmState {
        weights: Vec<f64>,
        alpha: Vec<f64>,
        bias: Vec<f64>,
        gap: Vec<f64>,
        n_iter: Vec<u64>,
        status: Vec<u64>,
        gram: Cache<Matrix>,
    }
}

impl SvmState {
    pub(super) fn new(weights: Vec<f64>, task: &Task<'_>, params: &Params) -> Result<SvmState> {
        let problems = Problems::new(task, params)?;
        let n = problems.len();
        Ok(SvmState {
            weights,
            alpha: vec![0.0; problems.size()],
            bias: vec![0.0; n],
            gap: vec![f64::INFINITY; n],
            n_iter: vec![0; n],
            status: (0..n).map(|p| if problems.is_trainable(p) { OPEN } else { GIVEN_UP }).collect(),
            gram: Cache::default(),
        })
    }

    /// The same kernel, and the dual variables reached, under other parameters.
    pub(super) fn again(&self, task: &Task<'_>, params: &Params) -> Result<SvmState> {
        let mut again = SvmState::new(self.weights.clone(), task, params)?;
        // Another scheme for several classes has other problems.
        if again.alpha.len() == self.alpha.len() {
            again.alpha.clone_from(&self.alpha);
        }
        again.gram = self.gram.clone();
        Ok(again)
    }

    /// Moves the first open problems on by one slice each, side by side.
    pub(super) fn step(&mut self, task: &Task<'_>, params: &Params, control: &Control) -> Result<Progress> {
        let problems = Problems::new(task, params)?;
        let gram = self.gram.get_or_make(|| {
            let weights = Matrix::from_vec(self.weights.len(), 1, self.weights.clone())?;
            Ok(task.stack()?.combine(&weights, task.pool)?.remove(0))
        })?;
        let open: Vec<usize> = (0..problems.len()).filter(|&p| self.status[p] == OPEN).take(SIDE_BY_SIDE).collect();
        let options = smo::Options { tolerance: params.number("tol"), max_iter: SLICE, ..Default::default() };
        let Some(solved) = problems.solve(&open, gram, &self.alpha, &options, task, control)? else {
            return Ok(Progress::cancelled());
        };
        for (&p, solution) in open.iter().zip(solved) {
            let range = problems.range(p);
            // LIBSVM's limit: more iterations than this never helped.
            let limit = 10_000_000u64.max(100 * range.len() as u64);
            self.alpha[range].copy_from_slice(&solution.alpha);
            (self.bias[p], self.gap[p]) = (solution.bias, solution.gap);
            self.n_iter[p] += solution.n_iter;
            // A solver that stopped short of its slice found no step it could still make in f64.
            self.status[p] = if solution.converged {
                SOLVED
            } else if solution.n_iter < SLICE || self.n_iter[p] >= limit {
                GIVEN_UP
            } else {
                OPEN
            };
        }
        let closed = self.status.iter().filter(|&&status| status != OPEN).count();
        Ok(Progress::of(closed, problems.len()).with("gap", self.worst_gap()))
    }

    /// Whether a step was made.
    pub(super) fn is_begun(&self) -> bool {
        self.n_iter.iter().any(|&n| n > 0) || self.status.iter().all(|&status| status != OPEN)
    }

    fn worst_gap(&self) -> f64 {
        self.gap.iter().copied().filter(|gap| gap.is_finite()).fold(0.0, f64::max)
    }

    pub(super) fn finish(self, task: &Task<'_>, params: &Params) -> Result<SvmModel> {
        let problems = Problems::new(task, params)?;
        let warning = self.warning(&problems, params);
        let trained = (0..problems.len()).filter(|&p| self.status[p] == SOLVED || self.n_iter[p] > 0).collect();
        Ok(problems.machine(self.weights, &self.alpha, self.bias).with_trained(trained).with_warning(warning))
    }

    fn warning(&self, problems: &Problems, params: &Params) -> Option<String> {
        let trainable = (0..problems.len()).filter(|&p| problems.is_trainable(p)).count();
        let count = |holds: &dyn Fn(usize) -> bool| {
            (0..problems.len()).filter(|&p| problems.is_trainable(p) && holds(p)).count()
        };
        let begun = |p: usize| self.n_iter[p] > 0 || self.status[p] != OPEN;
        let (open, untouched) = (count(&|p| begun(p) && self.status[p] != SOLVED), count(&|p| !begun(p)));
        let gap = self.worst_gap();
        let open = (open > 0).then(|| {
            format!(
                "{open} of {trainable} two-class problems did not converge: the optimality conditions hold to {gap:.1e}, \
                 asked was {}; give it more time, a smaller c or a larger tol",
                params.number("tol")
            )
        });
        let untouched = (untouched > 0)
            .then(|| format!("{untouched} of {trainable} two-class problems were not reached and take no part"));
        let parts: Vec<String> = open.into_iter().chain(untouched).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Whether the arrays of a stored state have the lengths of the task's problems.
    pub(super) fn check(&self, task: &Task<'_>, params: &Params) -> Result<()> {
        let problems = Problems::new(task, params)?;
        let n = problems.len();
        let fits = self.alpha.len() == problems.size()
            && [self.bias.len(), self.gap.len(), self.n_iter.len(), self.status.len()] == [n; 4]
            && self.status.iter().all(|&status| status <= GIVEN_UP)
            && self.weights.len() == task.stack()?.n_kernels();
        if fits { Ok(()) } else { Err(Error::input("the checkpoint's arrays do not fit the data; start anew")) }
    }
}
