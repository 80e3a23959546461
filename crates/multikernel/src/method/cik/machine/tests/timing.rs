//! Time of training and scoring compared with the limits of the hardware. One thread:
//!
//! ```text
//! cargo test --release -p multikernel --lib cik::machine::tests::timing -- --ignored --nocapture --test-threads 1
//! ```

use super::*;
use crate::simd::sin_cos;

#[path = "../../../../../../../benches/limits.rs"]
mod limits;

use limits::{best_of, chains};

/// Seconds per operation, and per sine with its cosine.
struct Limits {
    operation: f64,
    phase: f64,
}

impl Limits {
    fn measure() -> Limits {
        let operation = best_of(0.2, 100, || (), |()| chains(200_000)) / chains(200_000).1;
        let values: Vec<f64> = uniform(&mut Rng::new(0, 0), 1920).iter().map(|x| 5.0 * x).collect();
        let (mut sin, mut cos) = (vec![0.0; 1920], vec![0.0; 1920]);
        let seconds = best_of(0.2, 2000, || (), |()| (0..10).for_each(|_| sin_cos(&values, &mut sin, &mut cos)));
        Limits { operation, phase: seconds / 19_200.0 }
    }

    fn tell(&self, what: &str, shape: (usize, usize), n_phases: usize, operations: usize, seconds: f64) {
        let (d, m) = shape;
        let bound = n_phases as f64 * (operations as f64 * self.operation + self.phase);
        let (percent, us) = (100.0 * bound / seconds, 1e6 * seconds);
        println!("{what:<8} d {d:>3} M {m:>2} {us:>8.1} us of a bound of {:>7.1}: {percent:>3.0} %", 1e6 * bound);
    }
}

/// Columns and classes.
const SHAPES: [(usize, usize); 10] =
    [(4, 2), (8, 2), (16, 2), (68, 2), (112, 2), (4, 10), (8, 10), (16, 10), (68, 10), (112, 10)];

#[test]
#[ignore = "prints times, of which no test can say whether they are right"]
fn training_and_scores_beside_their_bounds() {
    let limits = Limits::measure();
    println!("bound: {:.1} Gflop/s, a sine and a cosine in {:.2} ns", 1e-9 / limits.operation, 1e9 * limits.phase);
    for shape in SHAPES {
        let (d, m) = shape;
        let (rows, codes) = problem(320, d, m, 1);
        let members: Vec<usize> = (0..320).collect();
        let mut machine = Machine::new(d, 384, m, &mut Rng::new(1, 0)).unwrap();
        // Labels are meaningless and lambda is large: nearly all rows miss the margin throughout.
        let rates = Rates { lambda: 1.0, ..Rates::default() };
        let mut work = Work::default();
        let lesson = Lesson { rows: &rows, codes: &codes, members: &members, n_steps: 5 };
        let mut step = || machine.train(&lesson, &rates, &mut work, NEVER).unwrap();
        let seconds = best_of(0.5, 2000, || (), |()| step()) / 5.0;
        // Phases and their slopes, 2 d each; scores, 4 M; gradients of two classes per row, 4.
        limits.tell("training", shape, 64 * 384, 4 * d + 4 * m + 4, seconds);
        let mut out = vec![0.0; 320 * m];
        let seconds =
            best_of(0.3, 2000, || (), |()| machine.scores(&rows, &(0..320).collect::<Vec<_>>(), &mut out).unwrap());
        limits.tell("scores", shape, 320 * 384, 2 * d + 4 * m, seconds);
        let n_misses = out.chunks_exact(m).zip(&codes).filter(|(scores, y)| rival(scores, **y).is_some()).count();
        assert!(n_misses > 310, "only {n_misses} of 320 rows miss the margin, the bound of training counts all");
    }
}
