//! Hands out the items of a job: our own threads or, for comparison (`benches/pool.rs`), rayon.

use std::sync::Arc;

use super::team::Team;

/// In either case a clone shares the same threads.
#[derive(Clone, Debug)]
pub(super) enum Engine {
    Team(Arc<Team>),
    #[cfg(feature = "rayon-bench")]
    Rayon(Arc<rayon::ThreadPool>, RayonPieces),
}

/// How many items rayon takes at a time.
#[cfg(feature = "rayon-bench")]
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RayonPieces {
    /// As many as our own threads take.
    Same,
    /// As many as it likes.
    Rayon,
}

impl Engine {
    pub(super) fn n_threads(&self) -> usize {
        match self {
            Engine::Team(team) => team.n_helpers() + 1,
            #[cfg(feature = "rayon-bench")]
            Engine::Rayon(pool, _) => pool.current_num_threads(),
        }
    }

    /// Calls `work` with 0, ..., n - 1, each once, on this thread and others, `grain` at a time; returns once all calls
    /// have returned. A panic in a call is propagated to the caller.
    pub(super) fn run(&self, n: usize, grain: usize, work: &(dyn Fn(usize) + Sync)) {
        match self {
            Engine::Team(team) => team.run(n, grain, work),
            #[cfg(feature = "rayon-bench")]
            Engine::Rayon(pool, pieces) => pool.install(|| {
                use rayon::prelude::*;
                let items = (0..n).into_par_iter();
                match pieces {
                    RayonPieces::Same => items.with_min_len(grain).with_max_len(grain).for_each(work),
                    RayonPieces::Rayon => items.for_each(work),
                }
            }),
        }
    }
}
