//! The thread pool of `multikernel` under a model checker.
//!
//! `pool/team.rs` is compiled here a second time, on the threads, locks and atomics of [loom](https://docs.rs/loom),
//! which runs each check again and again: once for every order in which threads may take turns (with at most two
//! switches forced upon them) and every value that a load may see. Two threads that touch the same memory unordered, or
//! all of them asleep, fail the check.

#[cfg(test)]
mod checks;
#[cfg(test)]
mod sync;
#[cfg(test)]
#[path = "../../multikernel/src/pool/team.rs"]
mod team;
