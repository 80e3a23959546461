//! What must hold in every order of events. A check ends once all threads have, so each also says that helpers end with
//! their team.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use loom::cell::UnsafeCell;
use loom::sync::{Condvar, Mutex};

use crate::team::Team;

/// Switches of threads that are forced: almost all faults of protocols show with two.
const SWITCHES: usize = 2;

fn model(check: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(SWITCHES));
    builder.check(check);
}

/// Memory of the items of a job, touched without locks: that of an item by whoever works on it, later all of it by the
/// one that asked.
struct Counts(Vec<UnsafeCell<usize>>);

// SAFETY: loom fails a check in which two threads touch a cell unordered, before they do.
unsafe impl Sync for Counts {}

impl Counts {
    fn new(n: usize) -> Self {
        Counts((0..n).map(|_| UnsafeCell::new(0)).collect())
    }

    fn add(&self, i: usize) {
        // SAFETY: as above.
        self.0[i].with_mut(|count| unsafe { *count += 1 });
    }

    /// Every item was worked on once, and that can be seen here.
    fn are_one(&self) {
        // SAFETY: as above.
        self.0.iter().for_each(|count| assert_eq!(count.with(|count| unsafe { *count }), 1));
    }
}

fn run(team: &Team, n: usize, grain: usize) {
    let counts = Counts::new(n);
    team.run(n, grain, &|i| counts.add(i));
    counts.are_one();
}

#[test]
fn every_item_is_worked_on_once_before_run_returns() {
    for (n, grain) in [(1, 1), (3, 1), (5, 2)] {
        model(move || {
            let team = Team::new(1).unwrap();
            assert_eq!(team.n_helpers(), 1);
            run(&team, n, grain);
        });
    }
}

#[test]
fn several_helpers_share_the_items_of_a_job() {
    model(|| run(&Team::new(2).unwrap(), 3, 1));
}

#[test]
fn one_job_after_the_other_finds_helpers_awake_or_asleep() {
    model(|| {
        let team = Team::new(1).unwrap();
        run(&team, 2, 1);
        run(&team, 2, 1);
    });
}

/// Items that wait until all of them are begun: one that no helper comes for waits for ever.
fn meet(team: &Team, n: usize) {
    let (begun, all) = (Mutex::new(0), Condvar::new());
    team.run(n, 1, &|_| {
        let mut begun = begun.lock().unwrap();
        *begun += 1;
        all.notify_all();
        while *begun < n {
            begun = all.wait(begun).unwrap();
        }
    });
}

#[test]
fn no_wake_up_is_lost() {
    model(|| {
        let team = Team::new(1).unwrap();
        meet(&team, 2);
        meet(&team, 2);
    });
}

#[test]
fn as_many_helpers_wake_up_as_there_is_work_for() {
    model(|| meet(&Team::new(2).unwrap(), 3));
}

#[test]
fn a_panic_reaches_the_one_that_asked_and_leaves_the_team_at_work() {
    for bad in [0, 1] {
        model(move || {
            let team = Team::new(1).unwrap();
            let item = |i: usize| {
                if i == bad {
                    resume_unwind(Box::new(i));
                }
            };
            let result = catch_unwind(AssertUnwindSafe(|| team.run(2, 1, &item)));
            assert_eq!(*result.unwrap_err().downcast::<usize>().unwrap(), bad);
            run(&team, 2, 1);
        });
    }
}

#[test]
fn items_may_ask_for_work_themselves() {
    model(|| {
        let team = Team::new(1).unwrap();
        let counts = Counts::new(4);
        team.run(2, 1, &|i| team.run(2, 1, &|j| counts.add(2 * i + j)));
        counts.are_one();
    });
}

#[test]
fn an_item_that_asks_for_work_may_hold_a_lock_that_others_wait_for() {
    model(|| {
        let (team, sum) = (Team::new(1).unwrap(), Mutex::new(0));
        team.run(2, 1, &|_| {
            let mut sum = sum.lock().unwrap();
            run(&team, 2, 1);
            *sum += 1;
        });
        assert_eq!(sum.into_inner().unwrap(), 2);
    });
}

#[test]
fn two_threads_may_ask_at_the_same_time() {
    model(|| {
        let team = loom::sync::Arc::new(Team::new(1).unwrap());
        let other = {
            let team = team.clone();
            loom::thread::spawn(move || run(&team, 2, 1))
        };
        run(&team, 2, 1);
        other.join().unwrap();
    });
}

#[test]
fn helpers_end_with_a_team_that_had_no_work() {
    model(|| drop(Team::new(2).unwrap()));
}
