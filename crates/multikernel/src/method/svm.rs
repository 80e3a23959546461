//! `svm`: C-SVC on one kernel, and the state machine shared by all methods with fixed kernel weights.

use super::ends::{EndState, TARGETS};
use super::machine::SvmModel;
use super::problems::Problems;
use super::svc::{EndsInSvc, Svc, svc_params};
use crate::data::TargetKind;
use crate::error::{Error, Remedy, Result, message};
use crate::file::{Cache, codes, record};
use crate::linalg::{Matrix, Matrix32};
use crate::precision::Precision;
use crate::run::{About, Allowed, Control, Method, Needs, Progress, Setting, Task, Value};
use crate::solve::smo;

/// One kernel of a bank, numbered from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelChoice {
    /// The only kernel of a bank of one.
    #[default]
    Only,
    /// The kernel with this number.
    Number(usize),
}

impl Setting for KernelChoice {
    fn to_value(&self) -> Value {
        Value::Text(match self {
            KernelChoice::Only => "only".into(),
            KernelChoice::Number(number) => number.to_string(),
        })
    }

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Text(text) if text == "only" => Some(KernelChoice::Only),
            Value::Text(text) => text.parse().ok().map(KernelChoice::Number),
            _ => None,
        }
    }
}

svc_params! {
    /// C-SVC on one kernel of the bank. Cost: between N^2 and N^3, like every SVM; one-vs-one over C classes solves C
    /// (C - 1) / 2 two-class problems.
    pub struct Svm {
        /// which kernel of the bank, counted from 0; `only` takes the one kernel of a bank of one
        kernel: KernelChoice = KernelChoice::Only,
            Allowed::Text("the number of a kernel of the bank, counted from 0, or `only`");
    }
}

/// Iterations per problem in one step: about a second at ten thousand rows, after which the state can be stored.
const SLICE: u64 = 50_000;

/// Problems solved in parallel in one step. A constant: the division into steps must not depend on the number of
/// threads.
const SIDE_BY_SIDE: usize = 16;

codes! {
    /// Status of a two-class problem.
    enum Status {
        Open = 0,
        Solved = 1,
        GivenUp = 2,
    }
}

/// A machine whose kernel weights are known from the start.
pub trait FixedWeights: EndsInSvc {
    /// The weights.
    fn weights(&self, task: &Task<'_>) -> Result<Vec<f64>>;
}

impl Method for Svm {
    type State = EndState;

    fn about(&self) -> About {
        About { name: "svm", summary: "SVM on one kernel", needs: Needs::Pass, bank: "gaussian(median)" }
    }

    fn targets(&self) -> &'static [TargetKind] {
        TARGETS
    }

    fn tunes_by_log_loss(&self) -> bool {
        true
    }
}

impl FixedWeights for Svm {
    fn weights(&self, task: &Task<'_>) -> Result<Vec<f64>> {
        let n_kernels = task.stack()?.n_kernels();
        let kernel = match self.kernel {
            KernelChoice::Only => (n_kernels == 1).then_some(0),
            KernelChoice::Number(number) => (number < n_kernels).then_some(number),
        };
        let kernel = kernel.ok_or_else(|| {
            let found = self.kernel.to_value();
            let help = "svm takes one kernel: give its number from 0, a bank of one kernel, or use the method average";
            Error::param("kernel", format!("is `{found}`, the number of kernels in the bank is {n_kernels}; {help}"))
        })?;
        Ok((0..n_kernels).map(|m| f64::from(u8::from(m == kernel))).collect())
    }
}

record! {
    /// Progress of the two-class problems, with the dual variables of each, one after the other.
    #[derive(Clone, Debug)]
    pub struct SvmState {
        weights: Vec<f64>,
        alpha: Vec<f64>,
        bias: Vec<f64>,
        gap: Vec<f64>,
        n_iter: Vec<u64>,
        status: Vec<Status>,
        gram: Cache<Combined>,
    }
}

/// The combined kernel, in the precision of the stack.
#[derive(Clone, Debug)]
enum Combined {
    F64(Matrix),
    F32(Matrix32),
}

impl Combined {
    fn new(weights: &[f64], task: &Task<'_>) -> Result<Combined> {
        let stack = task.stack()?;
        if stack.precision() == Precision::F32 {
            return stack.combine_f32(weights, task.pool).map(Combined::F32);
        }
        let column = Matrix::from_vec(weights.len(), 1, weights.to_vec())?;
        match stack.combine(&column, task.pool) {
            Err(Error::Memory { what, need, limit, .. }) if need / 2 <= limit => {
                let help = message!["use ", Remedy::Precision, ", fewer rows, or raise ", Remedy::Memory];
                Err(Error::Memory { what, need, limit, help })
            }
            sums => Ok(Combined::F64(sums?.remove(0))),
        }
    }

    fn gram(&self) -> smo::Gram<'_> {
        match self {
            Combined::F64(sum) => sum.into(),
            Combined::F32(sum) => sum.into(),
        }
    }
}

impl SvmState {
    pub(super) fn new(weights: Vec<f64>, task: &Task<'_>, svc: &Svc) -> Result<SvmState> {
        let problems = Problems::new(task, svc)?;
        let n = problems.len();
        Ok(SvmState {
            weights,
            alpha: vec![0.0; problems.size()],
            bias: vec![0.0; n],
            gap: vec![f64::INFINITY; n],
            n_iter: vec![0; n],
            status: (0..n).map(|p| if problems.is_trainable(p) { Status::Open } else { Status::GivenUp }).collect(),
            gram: Cache::default(),
        })
    }

    /// The same kernel, starting from the current dual variables, with other parameters. Where none of them is at its
    /// bound and the bounds only grow, the problem stays solved.
    pub(super) fn with(&self, task: &Task<'_>, earlier: &Svc, svc: &Svc) -> Result<SvmState> {
        let mut again = SvmState::new(self.weights.clone(), task, svc)?;
        again.gram = self.gram.clone();
        // Another multiclass scheme has other problems.
        if again.alpha.len() != self.alpha.len() {
            return Ok(again);
        }
        again.alpha.clone_from(&self.alpha);
        let (before, now) = (Problems::new(task, earlier)?, Problems::new(task, svc)?);
        let same = earlier.tol <= svc.tol && earlier.multiclass == svc.multiclass;
        for p in (0..now.len()).filter(|&p| same && self.status[p] == Status::Solved) {
            let (old, new) = (before.bounds(p), now.bounds(p));
            let free = self.alpha[now.range(p)].iter().zip(&old).all(|(alpha, bound)| alpha < bound);
            if free && old.iter().zip(&new).all(|(old, new)| old <= new) {
                (again.bias[p], again.gap[p], again.n_iter[p]) = (self.bias[p], self.gap[p], self.n_iter[p]);
                again.status[p] = Status::Solved;
            }
        }
        Ok(again)
    }

    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Whether no problem is open.
    pub(super) fn is_finished(&self) -> bool {
        self.status.iter().all(|&status| status != Status::Open)
    }

    /// Advances the first open problems by one slice each, in parallel.
    pub(super) fn advance(&mut self, task: &Task<'_>, svc: &Svc, control: &Control) -> Result<Progress> {
        let problems = Problems::new(task, svc)?;
        let gram = self.gram.get_or_make(|| Combined::new(&self.weights, task))?.gram();
        let open: Vec<usize> =
            (0..problems.len()).filter(|&p| self.status[p] == Status::Open).take(SIDE_BY_SIDE).collect();
        let options = smo::Options { tolerance: svc.tol, max_iter: SLICE, ..Default::default() };
        let Some(solved) = problems.solve(&open, gram, &self.alpha, &options, task, control)? else {
            return Ok(Progress::cancelled());
        };
        for (&p, solution) in open.iter().zip(solved) {
            let range = problems.range(p);
            // LIBSVM's limit: more iterations than this never helped.
            let limit = 10_000_000u64.max(100 * range.len() as u64);
            self.alpha[range].copy_from_slice(&solution.alpha);
            (self.bias[p], self.gap[p]) = (solution.bias, solution.gap);
            self.n_iter[p] = self.n_iter[p].saturating_add(solution.n_iter);
            // A solver that stopped short of its slice found no further step representable in f64.
            self.status[p] = if solution.converged {
                Status::Solved
            } else if solution.n_iter < SLICE || self.n_iter[p] >= limit {
                Status::GivenUp
            } else {
                Status::Open
            };
        }
        let closed = self.status.iter().filter(|&&status| status != Status::Open).count();
        Ok(Progress::of(closed, problems.len()).with("gap", self.worst_gap()))
    }

    /// Whether any step was made.
    pub(super) fn is_begun(&self) -> bool {
        self.n_iter.iter().any(|&n| n > 0) || self.status.iter().all(|&status| status != Status::Open)
    }

    fn worst_gap(&self) -> f64 {
        self.gap.iter().copied().filter(|gap| gap.is_finite()).fold(0.0, f64::max)
    }

    pub(super) fn model(self, task: &Task<'_>, svc: &Svc) -> Result<SvmModel> {
        let problems = Problems::new(task, svc)?;
        let warning = self.warning(&problems, svc);
        let trained = (0..problems.len()).filter(|&p| self.status[p] == Status::Solved || self.n_iter[p] > 0).collect();
        Ok(problems.machine(self.weights, &self.alpha, self.bias).with_trained(trained).with_warning(warning))
    }

    fn warning(&self, problems: &Problems, svc: &Svc) -> Option<String> {
        let trainable = (0..problems.len()).filter(|&p| problems.is_trainable(p)).count();
        let count = |holds: &dyn Fn(usize) -> bool| {
            (0..problems.len()).filter(|&p| problems.is_trainable(p) && holds(p)).count()
        };
        let begun = |p: usize| self.n_iter[p] > 0 || self.status[p] != Status::Open;
        let (open, untouched) = (count(&|p| begun(p) && self.status[p] != Status::Solved), count(&|p| !begun(p)));
        let gap = self.worst_gap();
        let open = (open > 0).then(|| {
            format!(
                "{open} of {trainable} two-class problems did not converge: the optimality conditions hold to {gap:.1e}, \
                 asked was {}; give it more time, a smaller c or a larger tol",
                svc.tol
            )
        });
        let untouched = (untouched > 0)
            .then(|| format!("{untouched} of {trainable} two-class problems were not reached and take no part"));
        let parts: Vec<String> = open.into_iter().chain(untouched).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Checks that the arrays of a stored state have the lengths of the task's problems.
    pub(super) fn fits(&self, task: &Task<'_>, svc: &Svc) -> Result<()> {
        let problems = Problems::new(task, svc)?;
        let n = problems.len();
        let fits = self.alpha.len() == problems.size()
            && [self.bias.len(), self.gap.len(), self.n_iter.len(), self.status.len()] == [n; 4]
            && self.weights.len() == task.stack()?.n_kernels();
        if fits { Ok(()) } else { Err(Error::input("the checkpoint's arrays do not fit the data; start anew")) }
    }
}
