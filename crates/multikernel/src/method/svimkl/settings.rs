//! Parameters of `svimkl` and `mklr`.

use super::distribution::Family;
use super::objective::Prior;
use crate::run::{Allowed, Param, Params};

/// From smooth to wiggly, so that the first of equals is the smoothest.
const LAMBDAS: &[f64] = &[1.0, 0.1, 0.01, 0.001, 0.0001];

const Q: Param = Param {
    name: "q",
    default: "gamma",
    allowed: Allowed::OneOf(&["gamma", "exponential", "lognormal"]),
    help: "the distribution that stands for what is known of a kernel weight; exponential is the published one, whose intervals always span a \
           factor of 146",
};
const LAMBDA: Param = Param {
    name: "lambda",
    default: "0.1",
    allowed: Allowed::PositiveOrAuto(LAMBDAS),
    help: "how much wiggly functions cost; auto chooses by the log-loss of held-out rows, which the bound cannot",
};
const DELTA: Param = Param {
    name: "delta",
    default: "1",
    allowed: Allowed::Number(1e-6, 1e6),
    help: "rate of the prior of a kernel weight; only lambda times delta matters to what is predicted",
};
const SHAPE: Param = Param {
    name: "shape",
    default: "1",
    allowed: Allowed::Number(0.01, 1e3),
    help: "shape of the gamma prior of a kernel weight; 1 is the published exponential distribution, under which a useless kernel stays at \
           1/delta; below 1, 0.1 say, it goes to shape/delta, so that kernels are selected; there may then be several optima",
};
const NODES: Param = Param {
    name: "nodes",
    default: "32",
    allowed: Allowed::Whole(1, 4096),
    help: "points at which the distributions of all kernel weights are looked at together; solver=ascent draws so many anew for each step \
           (published: 1)",
};
const INTERCEPT: Param = Param {
    name: "intercept",
    default: "yes",
    allowed: Allowed::OneOf(&["yes", "no"]),
    help: "a constant that costs nothing is added to each function; published is none, with which classes of unequal size suffer",
};
const SOLVER: Param = Param {
    name: "solver",
    default: "lbfgs",
    allowed: Allowed::OneOf(&["lbfgs", "ascent"]),
    help: "lbfgs, quasi-Newton steps on fixed nodes, or ascent, stochastic steps as published (with Adam's step sizes)",
};
const ITERATIONS: Param = Param {
    name: "iterations",
    default: "1000",
    allowed: Allowed::Whole(1, 10_000_000),
    help: "most steps; ascent goes through all of them",
};
const TOL: Param = Param {
    name: "tol",
    default: "1e-8",
    allowed: Allowed::Number(0.0, 1.0),
    help: "lbfgs: stop when a step raises the bound by less than this part of it",
};
const RATE: Param = Param {
    name: "rate",
    default: "0.01",
    allowed: Allowed::Number(1e-6, 1.0),
    help: "ascent: length of its steps, which shrinks over the second half of them",
};
const BATCH: Param = Param {
    name: "batch",
    default: "0",
    allowed: Allowed::Whole(0, 1_000_000_000),
    help: "ascent: rows looked at in a step, drawn without replacement; 0 for all",
};
const LANDMARKS: Param = Param {
    name: "landmarks",
    default: "0",
    allowed: Allowed::Whole(0, 20_000),
    help: "rows drawn at random that alone carry sample weights; 0 for all rows up to 4000 of them, else for 1000",
};
const INDEFINITE: Param = Param {
    name: "indefinite",
    default: "refuse",
    allowed: Allowed::OneOf(&["refuse", "clip"]),
    help: "what to do with a kernel that has negative eigenvalues: refuse it, or take them away",
};
const RIDGE: Param = Param {
    name: "ridge",
    default: "0.1",
    allowed: Allowed::Positive,
    help: "how much the square of a kernel weight costs",
};
const WEIGHTS: Param = Param {
    name: "weights",
    default: "learned",
    allowed: Allowed::OneOf(&["learned", "uniform"]),
    help: "kernel weights are learned, or all 1/P: the control",
};

pub(super) const SVIMKL: &[Param] =
    &[Q, LAMBDA, DELTA, SHAPE, NODES, INTERCEPT, SOLVER, ITERATIONS, TOL, RATE, BATCH, LANDMARKS, INDEFINITE];
pub(super) const MKLR: &[Param] = &[LAMBDA, RIDGE, WEIGHTS, INTERCEPT, ITERATIONS, TOL, LANDMARKS, INDEFINITE];

/// RowBatch up to which all of them carry sample weights by default, and how many do beyond.
const ALL_UP_TO: usize = 4000;
const BEYOND: usize = 1000;

/// What the parameters say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) family: Family,
    pub(super) prior: Prior,
    pub(super) lambda: f64,
    pub(super) nodes: usize,
    pub(super) intercept: bool,
    pub(super) ascent: bool,
    pub(super) iterations: usize,
    pub(super) tol: f64,
    pub(super) rate: f64,
    pub(super) batch: usize,
    pub(super) landmarks: usize,
    pub(super) clip: bool,
}

impl Settings {
    pub(super) fn of_svimkl(params: &Params) -> Settings {
        let family = match params.text("q") {
            "exponential" => Family::Exponential,
            "lognormal" => Family::LogNormal,
            _ => Family::Gamma,
        };
        Settings {
            family,
            prior: Prior::Gamma { shape: params.number("shape"), rate: params.number("delta") },
            nodes: params.whole("nodes"),
            ascent: params.text("solver") == "ascent",
            rate: params.number("rate"),
            batch: params.whole("batch"),
            ..Settings::common(params)
        }
    }

    pub(super) fn of_mklr(params: &Params) -> Settings {
        let learned = params.text("weights") == "learned";
        let prior = if learned { Prior::Ridge(params.number("ridge")) } else { Prior::Fixed };
        Settings { prior, ..Settings::common(params) }
    }

    fn common(params: &Params) -> Settings {
        Settings {
            family: Family::Point,
            prior: Prior::Fixed,
            lambda: params.number("lambda"),
            nodes: 1,
            intercept: params.text("intercept") == "yes",
            ascent: false,
            iterations: params.whole("iterations"),
            tol: params.number("tol"),
            rate: 0.0,
            batch: 0,
            landmarks: params.whole("landmarks"),
            clip: params.text("indefinite") == "clip",
        }
    }

    /// How many of so many rows carry sample weights.
    pub(super) fn points(&self, n_rows: usize) -> usize {
        match self.landmarks {
            0 if n_rows > ALL_UP_TO => BEYOND,
            0 => n_rows,
            landmarks => landmarks.min(n_rows),
        }
    }
}
