//! `svm`: C-SVC on one kernel, and the state machine that every method with fixed kernel weights shares.

use super::machine::{Machine, pairs};
use crate::data::Labels;
use crate::error::{Error, Result};
use crate::file::Cache;
use crate::linalg::Matrix;
use crate::record;
use crate::run::{About, Allowed, Control, Method, Needs, Param, Params, Progress, Task};
use crate::solve::smo;

/// C-SVC on one kernel of the bank. Cost: between N^2 and N^3, like every SVM; one-vs-one over C classes solves
/// C (C - 1) / 2 problems on two classes each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Svm;

const C: Param = Param {
    name: "c",
    default: "10",
    allowed: Allowed::PositiveOrAuto(&[0.1, 1.0, 10.0, 100.0, 1000.0]),
    help: "trade-off: large follows the training rows, small is smooth; auto chooses among 0.1, 1, 10, 100, 1000",
};
const TOL: Param = Param {
    name: "tol",
    default: "0.001",
    allowed: Allowed::Positive,
    help: "stop when the optimality conditions hold to this",
};
const MULTICLASS: Param = Param {
    name: "multiclass",
    default: "ovo",
    allowed: Allowed::OneOf(&["ovo", "ovr"]),
    help: "one-vs-one (a vote of class pairs) or one-vs-rest (the largest score)",
};
const CLASS_WEIGHTS: Param = Param {
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
    type Model = Machine;

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

    fn check(&self, task: &Task<'_>, params: &Params, state: &SvmState) -> Result<()> {
        state.check(task, params)
    }

    fn step(&self, task: &Task<'_>, params: &Params, state: &mut SvmState, control: &Control) -> Result<Progress> {
        state.step(task, params, control)
    }

    fn finish(&self, task: &Task<'_>, params: &Params, state: SvmState) -> Result<Machine> {
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

/// One two-class problem: its rows of the training data and which of them are positive.
struct Problem {
    rows: Vec<usize>,
    positive: Vec<bool>,
}

impl Problem {
    /// Whether both sides have rows; a class may be absent from a fold.
    fn is_trainable(&self) -> bool {
        self.positive.contains(&true) && self.positive.contains(&false)
    }
}

fn is_one_vs_one(labels: &Labels, params: &Params) -> bool {
    params.text("multiclass") == "ovo" || labels.n_classes() == 2
}

fn problems(labels: &Labels, params: &Params) -> Vec<Problem> {
    let codes = labels.codes();
    if !is_one_vs_one(labels, params) {
        let positive = |class: usize| codes.iter().map(|&code| code == class).collect();
        return (0..labels.n_classes())
            .map(|class| Problem { rows: (0..codes.len()).collect(), positive: positive(class) })
            .collect();
    }
    let mut members = vec![vec![]; labels.n_classes()];
    for (i, &code) in codes.iter().enumerate() {
        members[code].push(i);
    }
    let problem = |(first, second): (usize, usize)| {
        let mut rows = [members[first].as_slice(), &members[second]].concat();
        rows.sort_unstable();
        Problem { positive: rows.iter().map(|&i| codes[i] == first).collect(), rows }
    };
    pairs(labels.n_classes()).map(problem).collect()
}

/// The factor on `c` of each class.
fn class_weights(labels: &Labels, text: &str) -> Result<Vec<f64>> {
    let n_classes = labels.n_classes();
    match text {
        "none" => Ok(vec![1.0; n_classes]),
        "balanced" => {
            let share = labels.n_samples() as f64 / n_classes as f64;
            Ok(labels.counts().into_iter().map(|count| share / count.max(1) as f64).collect())
        }
        _ => given_weights(labels, text).map_err(|fault| {
            let classes = labels.classes().join(", ");
            let help = format!("use none, balanced, or CLASS=WEIGHT,... with classes {classes}");
            Error::param("class_weights", format!("{fault}; {help}"))
        }),
    }
}

/// The weights of `CLASS=WEIGHT,...`, 1 for classes that are not named; an error is what was found.
fn given_weights(labels: &Labels, text: &str) -> std::result::Result<Vec<f64>, String> {
    let mut weights = vec![None; labels.n_classes()];
    for part in text.split(',').map(str::trim) {
        let (class, weight) = part.rsplit_once('=').ok_or_else(|| format!("`{part}` is not CLASS=WEIGHT"))?;
        let (class, weight) = (class.trim(), weight.trim());
        let code = labels.classes().iter().position(|known| known == class);
        let code = code.ok_or_else(|| format!("class `{class}` is unknown"))?;
        let value = weight.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
        let value = value.ok_or_else(|| format!("weight `{weight}` of class `{class}` is not a number above 0"))?;
        if weights[code].replace(value).is_some() {
            return Err(format!("class `{class}` is given twice"));
        }
    }
    Ok(weights.into_iter().map(|weight| weight.unwrap_or(1.0)).collect())
}

/// The bound of each row's dual variable: c times the weight of its class.
fn upper(labels: &Labels, params: &Params) -> Result<Vec<f64>> {
    let weights = class_weights(labels, params.text("class_weights"))?;
    let bounds: Vec<f64> = weights.iter().map(|weight| params.number("c") * weight).collect();
    match bounds.iter().position(|bound| !bound.is_normal()) {
        Some(class) => {
            let (name, bound) = (&labels.classes()[class], bounds[class]);
            Err(Error::param(
                "c",
                format!("c times the weight of class `{name}` is {bound}; bring c and class_weights nearer to 1"),
            ))
        }
        None => Ok(labels.codes().iter().map(|&code| bounds[code]).collect()),
    }
}

impl SvmState {
    pub(super) fn new(weights: Vec<f64>, task: &Task<'_>, params: &Params) -> Result<SvmState> {
        upper(task.labels, params)?;
        let problems = problems(task.labels, params);
        let (n, size) = (problems.len(), problems.iter().map(|problem| problem.rows.len()).sum());
        Ok(SvmState {
            weights,
            alpha: vec![0.0; size],
            bias: vec![0.0; n],
            gap: vec![f64::INFINITY; n],
            n_iter: vec![0; n],
            status: problems.iter().map(|problem| if problem.is_trainable() { OPEN } else { GIVEN_UP }).collect(),
            gram: Cache::default(),
        })
    }

    /// Moves the first open problems on by one slice each, side by side.
    pub(super) fn step(&mut self, task: &Task<'_>, params: &Params, control: &Control) -> Result<Progress> {
        let problems = problems(task.labels, params);
        let upper = upper(task.labels, params)?;
        let gram = self.gram.get_or_make(|| {
            let weights = Matrix::from_vec(self.weights.len(), 1, self.weights.clone())?;
            Ok(task.stack()?.combine(&weights, task.pool)?.remove(0))
        })?;
        let starts: Vec<usize> = starts(&problems);
        let open: Vec<usize> = (0..problems.len()).filter(|&p| self.status[p] == OPEN).take(SIDE_BY_SIDE).collect();
        let solved = task.pool.map(open.len(), |k| {
            let (p, problem) = (open[k], &problems[open[k]]);
            let upper: Vec<f64> = problem.rows.iter().map(|&i| upper[i]).collect();
            let options = smo::Options { tolerance: params.number("tol"), max_iter: SLICE, ..Default::default() };
            let start = &self.alpha[starts[p]..starts[p] + problem.rows.len()];
            let dual = smo::Problem { gram, rows: &problem.rows, positive: &problem.positive, upper: &upper };
            smo::solve(&dual, &options, Some(start), &|| control.stop().is_some())
        });
        let Some(solved) = solved.into_iter().collect::<Result<Option<Vec<smo::Solution>>>>()? else {
            return Ok(Progress::cancelled());
        };
        for (&p, solution) in open.iter().zip(solved) {
            self.alpha[starts[p]..starts[p] + solution.alpha.len()].copy_from_slice(&solution.alpha);
            (self.bias[p], self.gap[p]) = (solution.bias, solution.gap);
            self.n_iter[p] += solution.n_iter;
            // LIBSVM's limit: more iterations than this never helped.
            let limit = 10_000_000u64.max(100 * problems[p].rows.len() as u64);
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

    fn worst_gap(&self) -> f64 {
        self.gap.iter().copied().filter(|gap| gap.is_finite()).fold(0.0, f64::max)
    }

    pub(super) fn finish(self, task: &Task<'_>, params: &Params) -> Result<Machine> {
        let problems = problems(task.labels, params);
        let mut coef = Matrix::try_zeros(task.n_samples(), problems.len()).ok_or_else(|| {
            let (n, p) = (task.n_samples(), problems.len());
            Error::input(format!(
                "no memory for the coefficients of {p} two-class problems on {n} rows; use multiclass=ovr"
            ))
        })?;
        for (p, (problem, start)) in problems.iter().zip(starts(&problems)).enumerate() {
            for (k, &i) in problem.rows.iter().enumerate() {
                let alpha = self.alpha[start + k];
                coef.set(i, p, if problem.positive[k] { alpha } else { -alpha });
            }
        }
        let warning = self.warning(&problems, params);
        let trained = (0..problems.len()).filter(|&p| self.status[p] == SOLVED || self.n_iter[p] > 0).collect();
        let machine = if is_one_vs_one(task.labels, params) {
            Machine::one_vs_one(self.weights, &coef, self.bias, task.labels.n_classes())
        } else {
            Machine::one_vs_rest(self.weights, &coef, self.bias)
        };
        Ok(machine.with_trained(trained).with_warning(warning))
    }

    fn warning(&self, problems: &[Problem], params: &Params) -> Option<String> {
        let trainable = problems.iter().filter(|problem| problem.is_trainable()).count();
        let count = |holds: &dyn Fn(usize) -> bool| {
            (0..problems.len()).filter(|&p| problems[p].is_trainable() && holds(p)).count()
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
        let problems = problems(task.labels, params);
        let (n, size) = (problems.len(), problems.iter().map(|problem| problem.rows.len()).sum::<usize>());
        let fits = self.alpha.len() == size
            && [self.bias.len(), self.gap.len(), self.n_iter.len(), self.status.len()] == [n; 4]
            && self.status.iter().all(|&status| status <= GIVEN_UP)
            && self.weights.len() == task.stack()?.n_kernels();
        if fits { Ok(()) } else { Err(Error::input("the checkpoint's arrays do not fit the data; start anew")) }
    }
}

/// Where the dual variables of each problem begin.
fn starts(problems: &[Problem]) -> Vec<usize> {
    let mut next = 0;
    let start = |problem: &Problem| {
        next += problem.rows.len();
        next - problem.rows.len()
    };
    problems.iter().map(start).collect()
}
