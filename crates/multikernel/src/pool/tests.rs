use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::threads::Threads;
use super::{MAX_THREADS, Pool, keep};

/// Fewer under Miri, where each step takes a thousand times as long.
fn fewer(n: usize, under_miri: usize) -> usize {
    if cfg!(miri) { n.min(under_miri) } else { n }
}

#[test]
fn pools_of_any_size_give_the_same_in_the_same_order() {
    for n_threads in [1, 2, 5] {
        let pool = Pool::new(n_threads).unwrap();
        assert_eq!(pool.n_threads(), n_threads);
        for n in [0, 1, 2, 63, fewer(1000, 64)] {
            assert_eq!(pool.map(n, |i| vec![i; 2]), (0..n).map(|i| vec![i; 2]).collect::<Vec<_>>());
            let mut values = vec![0.0; n];
            pool.chunks_mut(&mut values, 3, |i, chunk| chunk.fill(i as f64));
            assert!(values.iter().enumerate().all(|(k, &value)| value == (k / 3) as f64));
            // Items are moved, not borrowed.
            let items: Vec<Box<usize>> = (0..n).map(Box::new).collect();
            let sum = AtomicUsize::new(0);
            pool.each(items, |item| _ = sum.fetch_add(*item, Ordering::Relaxed));
            assert_eq!(sum.into_inner(), (0..n).sum::<usize>());
        }
    }
    assert!(Pool::new(0).unwrap().n_threads() >= 1 && Pool::new(MAX_THREADS + 1).is_err());
}

#[test]
fn shared_pools_have_the_same_threads_and_memory_of_their_own() {
    let pools: Vec<Pool> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..4).map(|_| scope.spawn(|| Pool::shared().unwrap())).collect();
        asked.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for pool in &pools {
        assert!(Arc::ptr_eq(&pool.threads, &pools[0].threads));
        assert_eq!(pool.map(100, |i| i), (0..100).collect::<Vec<_>>());
    }
    keep(pools[0].spare().wide(), vec![0.0; 8]);
    assert!(pools[0].spare().bytes() >= 64 && pools[1].spare().bytes() == 0);
    drop(pools);
    assert_eq!(Pool::shared().unwrap().map(100, |i| i).len(), 100, "the threads outlive the pools");
}

#[test]
fn every_item_is_worked_on_once_for_any_threads_and_grain() {
    for (n_threads, n, grain) in [(1, 5, 1), (2, 1, 1), (2, 1000, 1), (4, 1000, 7), (6, 3, 1), (3, 64, 64)] {
        let threads = Threads::new(n_threads).unwrap();
        // Many in a row: workers come late, stay awake or go to sleep in between.
        let n = fewer(n, 20);
        for round in 0..fewer(200, 4) {
            let counts: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
            threads.run(n, grain, &|i| {
                counts[i].fetch_add(1, Ordering::Relaxed);
            });
            assert!(counts.into_iter().all(|count| count.into_inner() == 1), "{n_threads} {n} {grain}");
            if round % fewer(50, 2) == 0 {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    }
}

#[test]
fn workers_work_beside_the_one_that_asks() {
    let threads = Threads::new(3).unwrap();
    for pause in [0, 1, 5] {
        std::thread::sleep(Duration::from_millis(pause));
        // Each of three items waits until the other two have started: with fewer than three threads that never happens.
        let (begun, met) = (AtomicUsize::new(0), AtomicUsize::new(0));
        threads.run(3, 1, &|_| {
            begun.fetch_add(1, Ordering::Relaxed);
            let begin = Instant::now();
            while begun.load(Ordering::Relaxed) < 3 && begin.elapsed() < Duration::from_secs(20) {
                std::thread::yield_now();
            }
            met.fetch_add(usize::from(begin.elapsed() < Duration::from_secs(20)), Ordering::Relaxed);
        });
        assert_eq!(met.into_inner(), 3, "after {pause} ms");
    }
}

#[test]
fn items_may_ask_for_work_themselves_from_any_thread() {
    let threads = Threads::new(3).unwrap();
    let sum = AtomicUsize::new(0);
    let ask = || {
        threads.run(6, 1, &|i| threads.run(10, 3, &|j| _ = sum.fetch_add(10 * i + j, Ordering::Relaxed)));
    };
    std::thread::scope(|scope| (0..3).for_each(|_| _ = scope.spawn(ask)));
    assert_eq!(sum.into_inner(), 3 * (0..60).sum::<usize>());
}

#[test]
fn a_panic_reaches_the_one_that_asked_and_leaves_the_pool_at_work() {
    let threads = Threads::new(2).unwrap();
    for bad in [0, 7, 99] {
        let result = catch_unwind(AssertUnwindSafe(|| {
            threads.run(100, 1, &|i| {
                std::thread::sleep(Duration::from_micros(20));
                assert!(i != bad, "item {i}");
            });
        }));
        let said = result.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(*said, format!("item {bad}"));
    }
    let met = AtomicBool::new(false);
    threads.run(1, 1, &|_| met.store(true, Ordering::Relaxed));
    assert!(met.into_inner());
}

/// What a panic may say: something whose drop panics in turn.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a drop that panics");
    }
}

/// What came of work that panics; a bomb is put aside without a drop.
fn said(work: impl FnOnce()) -> Option<&'static str> {
    let payload = catch_unwind(AssertUnwindSafe(work)).err()?;
    let found = if payload.is::<Bomb>() { "bomb" } else { "other" };
    std::mem::forget(payload);
    Some(found)
}

fn assert_at_work(threads: &Threads) {
    let sum = AtomicUsize::new(0);
    threads.run(100, 1, &|i| _ = sum.fetch_add(i, Ordering::Relaxed));
    assert_eq!(sum.into_inner(), 4950);
}

/// Every thread panics, so that what all but one of them said goes away.
fn explode(n: usize) -> impl Fn(usize) + Sync {
    let begun = AtomicUsize::new(0);
    move |_| {
        begun.fetch_add(1, Ordering::SeqCst);
        let start = Instant::now();
        while begun.load(Ordering::SeqCst) < n && start.elapsed() < Duration::from_secs(5) {
            std::thread::yield_now();
        }
        std::panic::panic_any(Bomb);
    }
}

#[test]
fn a_payload_whose_drop_panics_reaches_the_one_that_asked() {
    for n_threads in [1, 3] {
        let threads = Threads::new(n_threads).unwrap();
        let bad = |i| {
            if i == 7 {
                std::panic::panic_any(Bomb)
            }
        };
        assert_eq!(said(|| threads.run(20, 1, &bad)), Some("bomb"));
        assert_at_work(&threads);
    }
}

#[test]
fn payloads_of_several_threads_are_never_dropped() {
    let threads = Threads::new(3).unwrap();
    assert_eq!(said(|| threads.run(3, 1, &explode(3))), Some("bomb"));
    assert_at_work(&threads);
}

#[test]
fn payloads_of_items_in_order_are_never_dropped() {
    let threads = Threads::new(3).unwrap();
    assert_eq!(said(|| threads.run_in_order(3, 3, &explode(3))), Some("bomb"));
    assert_at_work(&threads);
}

#[test]
fn payloads_of_work_within_work_are_never_dropped() {
    let threads = Threads::new(3).unwrap();
    let inner = |_| threads.run(3, 1, &explode(2));
    assert_eq!(said(|| threads.run(3, 1, &inner)), Some("bomb"));
    assert_at_work(&threads);
}

#[test]
fn items_in_order_are_begun_so_by_at_most_as_many_threads() {
    let pool = Pool::new(4).unwrap();
    for most in [0, 1, 2, 9] {
        let (next, threads) = (AtomicUsize::new(0), Mutex::new(vec![]));
        let begun: Vec<AtomicUsize> = (0..fewer(500, 20)).map(|_| AtomicUsize::new(usize::MAX)).collect();
        pool.in_order((0..begun.len()).collect(), most, |i| {
            begun[i].store(next.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
            threads.lock().unwrap().push(std::thread::current().id());
        });
        let begun: Vec<usize> = begun.into_iter().map(AtomicUsize::into_inner).collect();
        let n_threads = threads.into_inner().unwrap().into_iter().collect::<HashSet<_>>().len();
        assert!(n_threads <= most.clamp(1, 4), "{n_threads} of {most}");
        let mut each = begun.clone();
        each.sort_unstable();
        assert!(each.into_iter().eq(0..begun.len()), "every item once");
        if most <= 1 {
            assert!(begun.iter().copied().eq(0..begun.len()));
        }
    }
}

/// A child of `fork` has the calling thread alone: everything is done by it.
#[test]
fn a_process_without_the_workers_does_the_work_itself() {
    let threads = Threads { process: std::process::id() + 1, ..Threads::new(3).unwrap() };
    let here = std::thread::current().id();
    let elsewhere = AtomicUsize::new(0);
    threads
        .run(100, 1, &|_| _ = elsewhere.fetch_add(usize::from(std::thread::current().id() != here), Ordering::Relaxed));
    assert_eq!(elsewhere.into_inner(), 0);
}
