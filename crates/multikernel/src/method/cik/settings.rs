//! What can be set of `cik` and `dpm`.

use crate::run::{Allowed, Param};

pub(super) const START: Param = Param {
    name: "start",
    default: "20",
    allowed: Allowed::Whole(1, 1000),
    help: "clusters of k-means to start from, which are merged at once where they fit one cluster; a start from one finds \
           fewer clusters and takes more sweeps",
};
pub(super) const SWEEPS: Param = Param {
    name: "sweeps",
    default: "20",
    allowed: Allowed::Whole(0, 1_000_000),
    help: "how often every row is given a cluster; 0 keeps those of k-means",
};
pub(super) const SAMPLER: Param = Param {
    name: "sampler",
    default: "auto",
    allowed: Allowed::OneOf(&["auto", "collapsed", "blocked", "fixed"]),
    help: "collapsed: row by row, on one thread; blocked: all rows at once given drawn means and covariances; fixed: clusters stay \
           those of the start; auto: collapsed up to 20,000 rows, else blocked",
};
pub(super) const MOVES: Param = Param {
    name: "moves",
    default: "40",
    allowed: Allowed::Whole(0, 10_000),
    help: "splits and merges of whole clusters that are tried after each sweep",
};
pub(super) const COVARIANCE: Param = Param {
    name: "covariance",
    default: "auto",
    allowed: Allowed::OneOf(&["auto", "full", "diagonal"]),
    help: "shape of clusters; auto: full up to 20 columns of which most have more than two values, and at least 5 rows for \
           each entry of the covariance, else diagonal",
};
pub(super) const ALPHA: Param = Param {
    name: "alpha",
    default: "1",
    allowed: Allowed::Number(1e-6, 1e3),
    help: "concentration of the Dirichlet process: more gives more clusters",
};
pub(super) const TAU: Param = Param {
    name: "tau",
    default: "0.1",
    allowed: Allowed::Number(1e-9, 1e9),
    help: "rows that the prior mean of a cluster is worth: more gives more clusters far from the middle",
};
pub(super) const NU: Param = Param {
    name: "nu",
    default: "0",
    allowed: Allowed::Number(0.0, 1e9),
    help: "rows that the prior covariance of a cluster is worth; 0: columns + 2 (full), 20 (diagonal)",
};
pub(super) const SPREAD: Param = Param {
    name: "spread",
    default: "1",
    allowed: Allowed::Number(1e-6, 1e6),
    help: "prior variance within clusters relative to that of all rows: less gives more and smaller clusters",
};
pub(super) const BETA: Param = Param {
    name: "beta",
    default: "1",
    allowed: Allowed::Number(0.0, 1e6),
    help: "how much the machine of a cluster has a say in who belongs to it; 0: nothing, as for dpm",
};
pub(super) const LIKELIHOOD: Param = Param {
    name: "likelihood",
    default: "normalised",
    allowed: Allowed::OneOf(&["normalised", "published"]),
    help: "what a machine says of a row: exp(-beta loss) over that of all classes, or exp(-beta loss) as published",
};
pub(super) const FREQUENCIES: Param = Param {
    name: "frequencies",
    default: "384",
    allowed: Allowed::Whole(1, 100_000),
    help: "random frequencies of each machine; it has a cosine and a sine of each as features",
};
pub(super) const LAMBDA: Param = Param {
    name: "lambda",
    default: "1e-4",
    allowed: Allowed::Number(0.0, 1e3),
    help: "penalty on the weights of machines, per row",
};
pub(super) const RATE: Param = Param {
    name: "rate",
    default: "0.01",
    allowed: Allowed::Number(1e-12, 1.0),
    help: "learning rate of the weights of machines",
};
pub(super) const KERNEL_RATE: Param = Param {
    name: "kernel_rate",
    default: "0.001",
    allowed: Allowed::Number(0.0, 1.0),
    help: "learning rate of the widths of kernels; 0 leaves them at 1/sqrt(columns)",
};
pub(super) const EPOCHS: Param = Param {
    name: "epochs",
    default: "10",
    allowed: Allowed::Whole(1, 1_000_000),
    help: "passes over the rows of each cluster after the last sweep; the second half is averaged",
};

/// The parameters of the clustering, which both methods have.
pub(super) const CLUSTERING: [Param; 9] = [START, SWEEPS, SAMPLER, MOVES, COVARIANCE, ALPHA, TAU, NU, SPREAD];
