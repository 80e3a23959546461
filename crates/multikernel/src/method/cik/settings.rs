//! Parameters of `cik` and `dpm`.

use crate::run::choice;

choice! {
    /// How clusters are sampled.
    pub enum ClusterSampler {
        /// Row by row up to 20,000 rows, else all rows at once.
        Auto = "auto",
        /// Row by row, with means and covariances integrated out.
        Collapsed = "collapsed",
        /// All rows at once, given drawn means and covariances.
        Blocked = "blocked",
        /// Not at all: clusters stay as initialised.
        Fixed = "fixed",
    }
}

choice! {
    /// The shape of clusters.
    pub enum Covariance {
        /// Full if there are few columns and many rows, else diagonal.
        Auto = "auto",
        /// Any covariance.
        Full = "full",
        /// Columns vary independently within a cluster.
        Diagonal = "diagonal",
    }
}

choice! {
    /// The likelihood of a row under a cluster's machine.
    pub enum MachineLikelihood {
        /// `exp(-beta loss)`, normalised over all classes.
        Normalised = "normalised",
        /// `exp(-beta loss)` alone.
        Published = "published",
    }
}

choice! {
    /// How the steps of machines are sized.
    pub enum Optimiser {
        /// Adam: a size of its own for every parameter.
        Adam = "adam",
        /// Plain stochastic gradient descent, as published: one learning rate.
        Sgd = "sgd",
    }
}

/// The start of the clustering, and its prior.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clustering {
    pub(super) start: usize,
    pub(super) alpha: f64,
    pub(super) tau: f64,
    pub(super) nu: f64,
    pub(super) spread: f64,
}

/// [`params!`](crate::params) with the parameters of the clustering between two groups of others.
macro_rules! clustering_params {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($before:tt)* } { $($after:tt)* }) => {
        $crate::run::params! {
            $(#[$meta])*
            $vis struct $name {
                $($before)*
                /// clusters of k-means to start from, which are merged at once where they fit one cluster; a start from
                /// one finds fewer clusters and takes more sweeps
                start: usize = 20, $crate::run::Allowed::Whole(1, 1000);
                /// how often every row is given a cluster; 0 keeps those of k-means
                sweeps: usize = 20, $crate::run::Allowed::Whole(0, 1_000_000);
                /// collapsed: row by row, on one thread; blocked: all rows at once given drawn means and covariances;
                /// fixed: clusters stay those of the start; auto: collapsed up to 20,000 rows, else blocked
                sampler: $crate::method::ClusterSampler = $crate::method::ClusterSampler::Auto,
                    $crate::run::Allowed::OneOf($crate::method::ClusterSampler::WORDS);
                /// splits and merges of whole clusters that are tried after each sweep
                moves: usize = 40, $crate::run::Allowed::Whole(0, 10_000);
                /// shape of clusters; auto: full up to 20 columns of which most have more than two values, and at least
                /// 5 rows for each entry of the covariance, else diagonal
                covariance: $crate::method::Covariance = $crate::method::Covariance::Auto,
                    $crate::run::Allowed::OneOf($crate::method::Covariance::WORDS);
                /// concentration of the Dirichlet process: more gives more clusters
                alpha: f64 = 1.0, $crate::run::Allowed::Number(1e-6, 1e3);
                /// rows that the prior mean of a cluster is worth: more gives more clusters far from the middle
                tau: f64 = 0.1, $crate::run::Allowed::Number(1e-9, 1e9);
                /// rows that the prior covariance of a cluster is worth; 0: columns + 2 (full), 20 (diagonal)
                nu: f64 = 0.0, $crate::run::Allowed::Number(0.0, 1e9);
                /// prior variance within clusters relative to that of all rows: less gives more and smaller clusters
                spread: f64 = 1.0, $crate::run::Allowed::Number(1e-6, 1e6);
                $($after)*
            }
        }

        impl $name {
            fn clustering(&self) -> $crate::method::cik::settings::Clustering {
                let $name { start, alpha, tau, nu, spread, .. } = *self;
                $crate::method::cik::settings::Clustering { start, alpha, tau, nu, spread }
            }
        }
    };
}
pub(super) use clustering_params;
