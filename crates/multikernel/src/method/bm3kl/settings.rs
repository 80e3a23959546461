//! Parameters of the sampler.

use crate::error::{Error, Result};
use crate::run::{Allowed, Param, Params};

const PRIOR: Param = Param {
    name: "prior",
    default: "gp",
    allowed: Allowed::OneOf(&["gp", "paper"]),
    help: "of the functions: gp, a Gaussian process with the combined kernel, or paper, shrinkage on each sample weight as \
           published, whose chains seldom agree",
};
const SAMPLER: Param = Param {
    name: "sampler",
    default: "collapsed",
    allowed: Allowed::OneOf(&["collapsed", "slice", "paper"]),
    help: "of the kernel weights: collapsed, Hamiltonian with the functions integrated out; slice, elliptical slice, to check it; \
           paper, the published step that is never refused (prior=paper only)",
};
const WEIGHTS: Param = Param {
    name: "weights",
    default: "learned",
    allowed: Allowed::OneOf(&["learned", "uniform"]),
    help: "kernel weights are learned, or all the same: the control",
};
const CHAINS: Param = Param {
    name: "chains",
    default: "4",
    allowed: Allowed::Whole(1, 64),
    help: "independent chains; from two on their agreement is checked",
};
const WARMUP: Param = Param {
    name: "warmup",
    default: "75",
    allowed: Allowed::Whole(1, 1_000_000),
    help: "sweeps of each chain that are thrown away, in which step sizes are found",
};
const DRAWS: Param = Param {
    name: "draws",
    default: "125",
    allowed: Allowed::Whole(1, 1_000_000),
    help: "sweeps of each chain that are kept; raise it where R-hat is above 1.01; predictions use up to 100 of all",
};
const LEAPFROG: Param = Param {
    name: "leapfrog",
    default: "0",
    allowed: Allowed::Whole(0, 1000),
    help: "gradients per update of the kernel weights; 0 for 6, and up to 8 with many kernels",
};
const GAMMA0: Param = Param {
    name: "gamma0",
    default: "1",
    allowed: Allowed::Number(0.0, 1e9),
    help: "how hard the loss holds decisions to the margin from both sides, and with it how narrow intervals are; 0 is the hinge \
           alone (published: 100 or 500)",
};
const TAU: Param =
    Param { name: "tau", default: "100", allowed: Allowed::Number(1e-9, 1e9), help: "prior variance of the bias" };
const ETA: Param = Param {
    name: "eta",
    default: "1",
    allowed: Allowed::Number(0.001, 1e6),
    help: "of the Dirichlet prior of the kernel weights; below 1 for few kernels, above for even weights",
};
const BETA: Param = Param {
    name: "beta",
    default: "0.1",
    allowed: Allowed::Number(1e-6, 1e6),
    help: "prior=paper: shape of the shrinkage of sample weights",
};
const KAPPA: Param = Param {
    name: "kappa",
    default: "1e-10",
    allowed: Allowed::Number(1e-100, 1e6),
    help: "prior=paper: rate of the shrinkage",
};
const EPSILON: Param =
    Param { name: "epsilon", default: "0.1", allowed: Allowed::Number(1e-9, 1.0), help: "sampler=paper: step size" };
const DECAY: Param = Param {
    name: "decay",
    default: "no",
    allowed: Allowed::OneOf(&["no", "yes"]),
    help: "sampler=paper: whether the step size is divided by the number of the sweep",
};

/// All of them, for the name card.
pub(super) const PARAMS: &[Param] =
    &[PRIOR, SAMPLER, WEIGHTS, CHAINS, WARMUP, DRAWS, LEAPFROG, GAMMA0, TAU, ETA, BETA, KAPPA, EPSILON, DECAY];

/// What the functions are before any data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prior {
    /// `f = g + b`, `g ~ N(0, nu (H + j I))`.
    Gp,
    /// `f = H a + b`, `a_i ~ N(0, nu_i)`.
    Paper,
}

/// How kernel weights move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sampler {
    Collapsed,
    Slice,
    Paper,
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) prior: Prior,
    pub(super) sampler: Sampler,
    /// Whether kernel weights are learned.
    pub(super) learned: bool,
    pub(super) chains: usize,
    pub(super) warmup: usize,
    pub(super) draws: usize,
    pub(super) leapfrog: usize,
    pub(super) gamma0: f64,
    pub(super) tau: f64,
    pub(super) eta: f64,
    pub(super) beta: f64,
    pub(super) kappa: f64,
    pub(super) epsilon: f64,
    pub(super) decay: bool,
}

impl Settings {
    pub(super) fn new(params: &Params) -> Result<Settings> {
        let settings = Settings {
            prior: if params.text("prior") == "gp" { Prior::Gp } else { Prior::Paper },
            sampler: match params.text("sampler") {
                "collapsed" => Sampler::Collapsed,
                "slice" => Sampler::Slice,
                _ => Sampler::Paper,
            },
            learned: params.text("weights") == "learned",
            chains: params.whole("chains"),
            warmup: params.whole("warmup"),
            draws: params.whole("draws"),
            leapfrog: params.whole("leapfrog"),
            gamma0: params.number("gamma0"),
            tau: params.number("tau"),
            eta: params.number("eta"),
            beta: params.number("beta"),
            kappa: params.number("kappa"),
            epsilon: params.number("epsilon"),
            decay: params.text("decay") == "yes",
        };
        if settings.sampler == Sampler::Paper && settings.prior == Prior::Gp {
            return Err(Error::param(
                "sampler",
                "`paper` moves weights given sample weights, which prior=gp does not have; set prior=paper too, or take sampler=collapsed",
            ));
        }
        if settings.sampler == Sampler::Slice && settings.eta != 1.0 {
            let eta = settings.eta;
            return Err(Error::param("sampler", format!("`slice` needs eta=1, got eta={eta}; take sampler=collapsed")));
        }
        Ok(settings)
    }

    /// Gradients per update of the kernel weights.
    pub(super) fn n_leaps(&self, n_kernels: usize) -> usize {
        match (self.leapfrog, self.learned) {
            (0, true) => 6 + (n_kernels / 300).min(2),
            // Variances alone are easy.
            (0, false) => 2,
            (n, _) => n,
        }
    }

    /// `1 + 2 gamma0`, the first argument of the distribution of the scales lambda.
    pub(super) fn rate(&self) -> f64 {
        1.0 + 2.0 * self.gamma0
    }
}
