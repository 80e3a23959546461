use super::hinge::rival;
use super::*;
use crate::file::Codec;
use crate::simd::at_every_level;
use crate::simd::check::{bits, uniform};

const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

/// Rows of normal variates with random labels.
fn problem(n: usize, d: usize, n_classes: usize, seed: u64) -> (Matrix, Vec<usize>) {
    let mut rng = Rng::new(seed, 1);
    let rows = Matrix::from_fn(n, d, |_, _| normal(&mut rng));
    (rows, (0..n).map(|_| rng.below(n_classes)).collect())
}

/// A machine with weights of either sign and sigma near its initial values.
fn some_machine(d: usize, n_frequencies: usize, n_classes: usize, seed: u64) -> Machine {
    let mut rng = Rng::new(seed, 2);
    let mut machine = Machine::new(d, n_frequencies, n_classes, &mut rng).unwrap();
    machine.learned.sigma.iter_mut().for_each(|sigma| *sigma *= 0.5 + rng.uniform());
    for (i, m) in (0..2 * n_frequencies).flat_map(|i| (0..n_classes).map(move |m| (i, m))) {
        let at = machine.place(i, m);
        machine.learned.weights[at] = normal(&mut rng);
    }
    machine
}

impl Machine {
    /// The index of the factor of feature i (cosines first) for class m among the weights.
    fn place(&self, i: usize, m: usize) -> usize {
        let (half, i) = (i / self.n_frequencies, i % self.n_frequencies);
        (i / STRIP * self.n_classes + m) * FACTORS + half * STRIP + i % STRIP
    }

    /// W: classes x features, from a buffer laid out like the weights.
    fn dense(&self, weights: &[f64]) -> Matrix {
        Matrix::from_fn(self.n_classes, 2 * self.n_frequencies, |m, i| weights[self.place(i, m)])
    }

    fn all_bits(&self) -> Vec<Vec<u64>> {
        let l = &self.learned;
        let of_sigma = [&l.sigma, &l.sigma_means, &l.sigma_squares, &l.average_sigma];
        let of_weights = [&l.weights, &l.weight_means, &l.weight_squares, &l.average_weights];
        of_sigma.into_iter().chain(of_weights).map(|buffer| bits(buffer)).collect()
    }
}

/// Trains with its own workspace.
fn train(machine: &mut Machine, (rows, codes): (&Matrix, &[usize]), members: &[usize], n_steps: usize, rates: &Rates) {
    let lesson = Lesson { rows, answers: Answers::Codes(codes), members, n_steps };
    machine.train(&lesson, rates, &mut Work::default(), NEVER).unwrap();
}

/// The same machine, straight from its definition.
struct Plain {
    omega_noise: Matrix,
    sigma: [Vec<f64>; 3],
    weights: [Matrix; 3],
    n_steps: i32,
}

impl Plain {
    fn new(machine: &Machine) -> Plain {
        let (d, l) = (machine.n_features, &machine.learned);
        let noise = |i: usize, j: usize| machine.noise[(i / STRIP * d + j) * STRIP + i % STRIP];
        Plain {
            omega_noise: Matrix::from_fn(machine.n_frequencies, d, noise),
            sigma: [&l.sigma, &l.sigma_means, &l.sigma_squares].map(|buffer| buffer.to_vec()),
            weights: [&l.weights, &l.weight_means, &l.weight_squares].map(|buffer| machine.dense(buffer)),
            n_steps: l.n_steps as i32,
        }
    }

    fn features(&self, x: &[f64]) -> Vec<f64> {
        let scale = 1.0 / (self.omega_noise.n_rows() as f64).sqrt();
        let phase = |noise: &[f64]| (0..x.len()).map(|j| self.sigma[0][j] * noise[j] * x[j]).sum::<f64>();
        let phases: Vec<f64> = self.omega_noise.rows().map(phase).collect();
        phases.iter().map(|p| scale * p.cos()).chain(phases.iter().map(|p| scale * p.sin())).collect()
    }

    fn scores(&self, x: &[f64]) -> Vec<f64> {
        let features = self.features(x);
        self.weights[0].rows().map(|w| w.iter().zip(&features).map(|(w, f)| w * f).sum()).collect()
    }

    /// The loss of a row and its rival class.
    fn loss(&self, x: &[f64], y: usize) -> (f64, usize) {
        let scores = self.scores(x);
        let others = (0..scores.len()).filter(|&m| m != y);
        let rival = others.reduce(|best, m| if scores[m] > scores[best] { m } else { best });
        rival.map_or((0.0, y), |rival| ((1.0 + scores[rival] - scores[y]).max(0.0), rival))
    }

    fn objective(&self, rows: &Matrix, codes: &[usize], batch: &[usize], lambda: f64) -> f64 {
        let square: f64 = self.weights[0].data().iter().map(|w| w * w).sum();
        let losses: f64 = batch.iter().map(|&n| self.loss(rows.row(n), codes[n]).0).sum();
        0.5 * lambda * square + losses / batch.len() as f64
    }

    fn step(&mut self, rows: &Matrix, codes: &[usize], batch: &[usize], rates: &Rates) {
        let n = self.omega_noise.n_rows();
        let (mut by_weights, mut by_sigma) = (self.weights[0].clone(), vec![0.0; self.sigma[0].len()]);
        by_weights.data_mut().iter_mut().for_each(|w| *w *= rates.lambda);
        for &row in batch {
            let (x, y) = (rows.row(row), codes[row]);
            let (loss, rival) = self.loss(x, y);
            if loss <= 0.0 {
                continue;
            }
            let features = self.features(x);
            for (i, feature) in features.iter().enumerate() {
                let share = feature / batch.len() as f64;
                by_weights.set(rival, i, by_weights.get(rival, i) + share);
                by_weights.set(y, i, by_weights.get(y, i) - share);
            }
            let a = |i: usize| self.weights[0].get(rival, i) - self.weights[0].get(y, i);
            for i in 0..n {
                let slope = (a(n + i) * features[i] - a(i) * features[n + i]) / batch.len() as f64;
                (0..x.len()).for_each(|j| by_sigma[j] += slope * self.omega_noise.get(i, j) * x[j]);
            }
        }
        self.n_steps += 1;
        if rates.plain {
            let descend = |w: &mut f64, g: f64, rate: f64| *w -= rate * g;
            self.weights[0]
                .data_mut()
                .iter_mut()
                .zip(by_weights.data())
                .for_each(|(w, g)| descend(w, *g, rates.weights));
            self.sigma[0].iter_mut().zip(by_sigma).for_each(|(w, g)| descend(w, g, rates.sigma));
            return;
        }
        let [w, m, v] = &mut self.weights;
        adam(rates.weights, self.n_steps, by_weights.data(), [w.data_mut(), m.data_mut(), v.data_mut()]);
        let [w, m, v] = &mut self.sigma;
        adam(rates.sigma, self.n_steps, &by_sigma, [w, m, v]);
    }
}

fn adam(rate: f64, n_steps: i32, gradient: &[f64], [w, m, v]: [&mut [f64]; 3]) {
    for (i, g) in gradient.iter().enumerate() {
        m[i] = 0.9 * m[i] + 0.1 * g;
        v[i] = 0.999 * v[i] + 0.001 * g * g;
        let (mean, square) = (m[i] / (1.0 - 0.9f64.powi(n_steps)), v[i] / (1.0 - 0.999f64.powi(n_steps)));
        w[i] -= rate * mean / (square.sqrt() + 1e-8);
    }
}

fn assert_near(found: &[f64], expected: &[f64], within: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let most = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    for (i, (x, y)) in found.iter().zip(expected).enumerate() {
        assert!((x - y).abs() <= within * most, "{what} {i}: {x} for {y}, the largest is {most}");
    }
}

fn assert_same(machine: &Machine, plain: &Plain, within: f64) {
    let l = &machine.learned;
    for (k, what) in ["value", "mean", "square"].into_iter().enumerate() {
        let (weights, sigma) =
            ([&l.weights, &l.weight_means, &l.weight_squares][k], [&l.sigma, &l.sigma_means, &l.sigma_squares][k]);
        assert_near(machine.dense(weights).data(), plain.weights[k].data(), within, &format!("{what} of W"));
        assert_near(sigma, &plain.sigma[k], within, &format!("{what} of sigma"));
    }
    let n_kept = machine.n_classes * 2 * machine.n_frequencies;
    let n_zero = l.weights.iter().filter(|w| **w == 0.0).count();
    assert!(n_zero >= l.weights.len() - n_kept, "weights beyond the last frequency were learned");
}

/// Columns, frequencies, classes and rows of a batch: full and partial strips, groups, tiles and pairs of classes.
const SHAPES: [(usize, usize, usize, usize); 7] =
    [(4, 48, 2, 64), (1, 7, 2, 5), (3, 24, 3, 8), (8, 100, 10, 33), (13, 30, 5, 17), (20, 25, 1, 9), (68, 49, 4, 70)];

#[test]
fn training_steps_are_those_of_the_definition() {
    for (seed, (d, n_frequencies, n_classes, batch)) in SHAPES.into_iter().enumerate() {
        check_steps(seed, (d, n_frequencies, n_classes, batch), Rates { batch, ..Rates::default() });
        let plain = Rates { batch, plain: true, lambda: 0.03, weights: 0.5, sigma: 0.02 };
        check_steps(seed, (d, n_frequencies, n_classes, batch), plain);
    }
}

fn check_steps(seed: usize, (d, n_frequencies, n_classes, batch): (usize, usize, usize, usize), rates: Rates) {
    let (rows, codes) = problem(100, d, n_classes, seed as u64);
    let mut machine = some_machine(d, n_frequencies, n_classes, seed as u64);
    let mut plain = Plain::new(&machine);
    let members: Vec<usize> = (0..90).map(|i| (7 * i) % 100).collect();
    let mut next = members.iter().copied().cycle();
    for steps in 1..=4 {
        train(&mut machine, (&rows, &codes), &members, 1, &rates);
        plain.step(&rows, &codes, &members[..batch], &rates);
        assert_same(&machine, &plain, 1e-12 * f64::from(steps));
    }
    // Batch by batch, wrapping around the end.
    train(&mut machine, (&rows, &codes), &members, 3, &rates);
    for _ in 0..3 {
        let batch: Vec<usize> = next.by_ref().take(batch).collect();
        plain.step(&rows, &codes, &batch, &rates);
    }
    assert_same(&machine, &plain, 1e-11);
}

#[test]
fn gradients_are_the_slopes_of_the_objective() {
    let ((rows, codes), mut machine) = (problem(40, 5, 4, 3), some_machine(5, 30, 4, 3));
    let batch: Vec<usize> = (0..40).collect();
    let rates = Rates { lambda: 0.01, ..Rates::default() };
    let mut plain = Plain::new(&machine);
    // No row is so near a kink that a small move crosses it.
    for &n in &batch {
        let mut scores = plain.scores(rows.row(n));
        let y = scores.swap_remove(codes[n]);
        scores.sort_by(f64::total_cmp);
        assert!((1.0 + scores[2] - y).abs() > 1e-3 && scores[2] - scores[1] > 1e-3, "{n}: {scores:?}");
    }
    train(&mut machine, (&rows, &codes), &batch, 1, &rates);
    // The first mean is a tenth of the gradient.
    let gradient = |means: &[f64]| means.iter().map(|mean| mean / 0.1).collect::<Vec<f64>>();
    let mut slope = |change: &dyn Fn(&mut Plain, f64)| {
        let mut at = |by: f64| {
            change(&mut plain, by);
            let value = plain.objective(&rows, &codes, &batch, rates.lambda);
            change(&mut plain, -by);
            value
        };
        (at(1e-5) - at(-1e-5)) / 2e-5
    };
    let by_sigma: Vec<f64> = (0..5).map(|j| slope(&|plain, by| plain.sigma[0][j] += by)).collect();
    assert_near(&gradient(&machine.learned.sigma_means), &by_sigma, 1e-6, "sigma");
    let by_weights: Vec<f64> = (0..4 * 60).map(|i| slope(&|plain, by| plain.weights[0].data_mut()[i] += by)).collect();
    assert_near(&gradient(machine.dense(&machine.learned.weight_means).data()), &by_weights, 1e-6, "W");
}

#[test]
fn scores_are_those_of_the_definition_and_the_same_bits_in_any_block() {
    for (seed, (d, n_frequencies, n_classes, _)) in SHAPES.into_iter().enumerate() {
        let (rows, _) = problem(75, d, n_classes, seed as u64);
        let machine = some_machine(d, n_frequencies, n_classes, seed as u64);
        let plain = Plain::new(&machine);
        let mut all = vec![0.0; 75 * n_classes];
        machine.scores(&rows, &(0..75).collect::<Vec<_>>(), &mut all).unwrap();
        let expected: Vec<f64> = rows.rows().flat_map(|row| plain.scores(row)).collect();
        assert_near(&all, &expected, 1e-12, "scores");
        for block in [1, 7, 8, 33, 64] {
            let mut found = vec![0.0; 75 * n_classes];
            for first in (0..75).step_by(block) {
                let which: Vec<usize> = (first..(first + block).min(75)).collect();
                let out = &mut found[first * n_classes..][..which.len() * n_classes];
                machine.scores(&rows, &which, out).unwrap();
            }
            assert_eq!(bits(&found), bits(&all), "{block}");
        }
        let mut picked = vec![0.0; 3 * n_classes];
        machine.scores(&rows, &[70, 2, 70], &mut picked).unwrap();
        let parts = [70, 2, 70].map(|row| &all[row * n_classes..(row + 1) * n_classes]);
        assert_eq!(picked, parts.concat());
    }
}

#[test]
fn training_and_scores_have_the_same_bits_at_every_level() {
    for (seed, (d, n_frequencies, n_classes, batch)) in SHAPES.into_iter().enumerate() {
        let (rows, codes) = problem(90, d, n_classes, seed as u64);
        let members: Vec<usize> = (0..90).collect();
        at_every_level(|| {
            let mut machine = some_machine(d, n_frequencies, n_classes, seed as u64);
            machine.begin_average();
            let rates = Rates { batch, ..Rates::default() };
            train(&mut machine, (&rows, &codes), &members, 5, &rates);
            let mut scores = vec![0.0; 90 * n_classes];
            machine.scores(&rows, &(0..90).collect::<Vec<_>>(), &mut scores).unwrap();
            (machine.all_bits(), bits(&scores))
        });
    }
}

/// Root mean square difference between the kernel with `n_frequencies`, in whole strips, and the Gaussian one.
fn kernel_error(n_frequencies: usize, seed: u64) -> f64 {
    let mut rng = Rng::new(seed, 4);
    let mut machine = Machine::new(3, n_frequencies, 1, &mut rng).unwrap();
    machine.learned.sigma.copy_from_slice(&[0.3, -0.8, 1.2]);
    let rows = Matrix::from_fn(24, 3, |_, _| normal(&mut rng));
    let (mut points, mut features) = (vec![0.0; 3 * 24], vec![0.0; 3 * FEATURES]);
    (0..24).for_each(|n| machine.put_point(rows.row(n), &mut points[n..], 24));
    let mut kernel = Matrix::zeros(24, 24);
    for s in 0..machine.n_strips() {
        machine.features(s, Lines::new(&points, 24), &mut features);
        let lines = features.as_chunks::<STRIP>().0;
        let of = |n: usize| [0, GROUP].map(|half| lines[n / GROUP * 2 * GROUP + half + n % GROUP]).concat();
        for (a, b) in (0..24).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let product: f64 = of(a).iter().zip(of(b)).map(|(x, y)| x * y).sum();
            kernel.set(a, b, kernel.get(a, b) + machine.scale().powi(2) * product);
        }
    }
    let mut square = 0.0;
    for (a, b) in (0..24).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let part = |j: usize| (machine.learned.sigma[j] * (rows.get(a, j) - rows.get(b, j))).powi(2);
        square += (kernel.get(a, b) - (-0.5 * (0..3).map(part).sum::<f64>()).exp()).powi(2);
    }
    (square / 276.0).sqrt()
}

#[test]
fn kernel_of_the_features_tends_to_the_gaussian_as_the_root_of_the_frequencies() {
    let mean = |n_frequencies: usize| (0..10).map(|seed| kernel_error(n_frequencies, seed)).sum::<f64>() / 10.0;
    let errors = [72, 288, 1152, 4608].map(mean);
    for pair in errors.windows(2) {
        assert!((1.5..2.7).contains(&(pair[0] / pair[1])), "{errors:?}");
    }
    // The variance of cos(omega'(x - y)) is at most 1/2 where the kernel is near 0, and less elsewhere.
    assert!(errors[3] < (0.5f64 / 4608.0).sqrt(), "{errors:?}");
}

/// Points inside a ring and on it.
fn ring(n: usize, seed: u64) -> (Matrix, Vec<usize>) {
    let mut rng = Rng::new(seed, 5);
    let codes: Vec<usize> = (0..n).map(|_| rng.below(2)).collect();
    let mut rows = Matrix::zeros(n, 2);
    for (n, code) in codes.iter().enumerate() {
        let radius = if *code == 0 { rng.uniform() } else { 1.3 + rng.uniform() };
        let (x, y) = (normal(&mut rng), normal(&mut rng));
        let length = (x * x + y * y).sqrt();
        rows.row_mut(n).copy_from_slice(&[radius * x / length, radius * y / length]);
    }
    (rows, codes)
}

fn accuracy(machine: &Machine, rows: &Matrix, codes: &[usize]) -> f64 {
    let m = machine.n_classes;
    let mut scores = vec![0.0; codes.len() * m];
    machine.scores(rows, &(0..codes.len()).collect::<Vec<_>>(), &mut scores).unwrap();
    let best = |scores: &[f64]| (0..m).reduce(|best, m| if scores[m] > scores[best] { m } else { best });
    let right = scores.chunks_exact(m).zip(codes).filter(|(scores, code)| best(scores) == Some(**code));
    right.count() as f64 / codes.len() as f64
}

/// Epochs over shuffled members, the second half of them averaged.
fn trained(rows: &Matrix, codes: &[usize], n_classes: usize, n_passes: usize, members: &[usize]) -> Machine {
    let mut rng = Rng::new(1, 6);
    let mut machine = Machine::new(rows.n_cols(), 384, n_classes, &mut rng).unwrap();
    let (mut members, rates) = (members.to_vec(), Rates::default());
    for pass in 0..n_passes {
        if pass == n_passes / 2 {
            machine.begin_average();
        }
        rng.shuffle(&mut members);
        train(&mut machine, (rows, codes), &members, members.len().div_ceil(64), &rates);
    }
    machine.take_average();
    machine
}

#[test]
fn a_machine_learns_a_ring() {
    let (rows, codes) = ring(1000, 1);
    let members: Vec<usize> = (0..1000).collect();
    let (others, labels) = ring(1000, 2);
    // A class without rows changes nothing.
    for n_classes in [2, 3] {
        let machine = trained(&rows, &codes, n_classes, 20, &members);
        let accuracy = accuracy(&machine, &others, &labels);
        assert!(accuracy > 0.97, "{accuracy}");
    }
}

#[test]
fn sigma_learns_which_columns_matter() {
    let (ring, codes) = ring(1000, 3);
    let mut rng = Rng::new(3, 7);
    let rows = Matrix::from_fn(1000, 6, |i, j| if j < 2 { ring.get(i, j) } else { normal(&mut rng) });
    let members: Vec<usize> = (0..1000).collect();
    let relevance = trained(&rows, &codes, 2, 40, &members).relevance();
    let (least, most) = (relevance[0].min(relevance[1]), relevance[2..].iter().copied().fold(0.0, f64::max));
    assert!(least > 1.5 * most, "{relevance:?}");
}

#[test]
fn few_members_or_one_class_are_learned_too() {
    let (rows, codes) = problem(30, 3, 3, 8);
    let rates = Rates::default();
    let all_of_one: Vec<usize> = (0..30).filter(|&n| codes[n] == 1).collect();
    for members in [&[4][..], &[4, 9, 20], &all_of_one] {
        let mut machine = Machine::new(3, 40, 3, &mut Rng::new(8, 0)).unwrap();
        let mut plain = Plain::new(&machine);
        train(&mut machine, (&rows, &codes), members, 100, &rates);
        (0..100).for_each(|_| plain.step(&rows, &codes, members, &rates));
        assert_same(&machine, &plain, 1e-9);
        let labels: Vec<usize> = members.iter().map(|&n| codes[n]).collect();
        assert_eq!(accuracy(&machine, &rows.select_rows(members), &labels), 1.0);
    }
    let mut machine = Machine::new(3, 40, 3, &mut Rng::new(8, 0)).unwrap();
    let before = machine.all_bits();
    train(&mut machine, (&rows, &codes), &[], 10, &rates);
    assert_eq!(machine.all_bits(), before);
}

#[test]
fn a_machine_that_was_stopped_has_whole_steps() {
    let (rows, codes) = problem(30, 3, 3, 9);
    let members: Vec<usize> = (0..30).collect();
    let (mut machine, mut other) = (some_machine(3, 40, 3, 9), some_machine(3, 40, 3, 9));
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 2;
    let lesson = Lesson { rows: &rows, answers: Answers::Codes(&codes), members: &members, n_steps: 10 };
    let error = machine.train(&lesson, &Rates::default(), &mut Work::default(), &stop).unwrap_err();
    assert_eq!(error.to_string(), "stopped while a kernel machine was trained");
    train(&mut other, (&rows, &codes), &members, 2, &Rates::default());
    assert_eq!((machine.all_bits(), machine.learned.n_steps), (other.all_bits(), 2));
}

#[test]
fn what_another_machine_left_in_the_room_for_steps_changes_nothing() {
    let mut work = Work::default();
    for (seed, (d, n_frequencies, n_classes, batch)) in SHAPES.into_iter().rev().chain(SHAPES).enumerate() {
        let (mut rows, codes) = problem(90, d, n_classes, seed as u64);
        let members: Vec<usize> = (0..90).collect();
        let rates = Rates { batch, ..Rates::default() };
        let mut machine = some_machine(d, n_frequencies, n_classes, seed as u64);
        let mut alone = machine.clone();
        let lesson = Lesson { rows: &rows, answers: Answers::Codes(&codes), members: &members, n_steps: 3 };
        machine.train(&lesson, &rates, &mut work, NEVER).unwrap();
        train(&mut alone, (&rows, &codes), &members, 3, &rates);
        assert_eq!(machine.all_bits(), alone.all_bits());
        // Leaves NaNs behind in the workspace.
        rows.data_mut().fill(f64::NAN);
        let lesson = Lesson { rows: &rows, answers: Answers::Codes(&codes), members: &members, n_steps: 1 };
        machine.train(&lesson, &rates, &mut work, NEVER).unwrap();
    }
}

#[test]
fn bytes_are_those_of_the_arrays() {
    for (d, n_frequencies, n_classes, _) in SHAPES {
        let mut machine = some_machine(d, n_frequencies, n_classes, 1);
        machine.begin_average();
        let numbers = machine.noise.len() + machine.all_bits().concat().len();
        assert_eq!(Machine::bytes(d, n_frequencies, n_classes), 8 * numbers as u64);
    }
}

#[test]
fn averages_are_means_of_the_iterates() {
    let (rows, codes) = problem(50, 3, 2, 10);
    let members: Vec<usize> = (0..50).collect();
    let mut machine = some_machine(3, 30, 2, 10);
    train(&mut machine, (&rows, &codes), &members, 3, &Rates::default());
    machine.begin_average();
    let (mut sigma, mut weights) = (vec![0.0; 3], vec![0.0; machine.learned.weights.len()]);
    for _ in 0..5 {
        train(&mut machine, (&rows, &codes), &members, 1, &Rates::default());
        sigma.iter_mut().zip(machine.learned.sigma.iter()).for_each(|(sum, sigma)| *sum += sigma / 5.0);
        weights.iter_mut().zip(machine.learned.weights.iter()).for_each(|(sum, weight)| *sum += weight / 5.0);
    }
    machine.take_average();
    assert_near(&machine.learned.sigma, &sigma, 1e-14, "sigma");
    assert_near(&machine.learned.weights, &weights, 1e-14, "W");
    // Averaging started and taken without a step in between: nothing was averaged, nothing changes.
    let before = machine.all_bits();
    machine.begin_average();
    machine.take_average();
    machine.take_average();
    assert_eq!(machine.all_bits(), before);
}

#[test]
fn a_machine_that_was_stored_goes_on_with_the_same_bits() {
    let (rows, codes) = problem(50, 3, 3, 11);
    let members: Vec<usize> = (0..50).collect();
    let rates = Rates { batch: 16, ..Rates::default() };
    let mut machine = some_machine(3, 30, 3, 11);
    train(&mut machine, (&rows, &codes), &members, 4, &rates);
    machine.begin_average();
    train(&mut machine, (&rows, &codes), &members, 3, &rates);
    let mut again = Machine::decode(&machine.encode()).unwrap();
    again.check(3, 3).unwrap();
    for machine in [&mut machine, &mut again] {
        train(machine, (&rows, &codes), &members, 5, &rates);
        machine.take_average();
    }
    assert_eq!(machine.all_bits(), again.all_bits());
    assert_eq!(machine.learned.n_steps, 12);
}

#[test]
fn a_machine_whose_arrays_do_not_fit_is_refused() {
    let machine = some_machine(3, 30, 3, 12);
    machine.check(3, 3).unwrap();
    type Change = fn(&mut Machine);
    let changes: [Change; 9] = [
        |m| m.n_features = 4,
        |m| m.n_classes = 2,
        |m| m.n_frequencies = 49,
        |m| m.n_frequencies = usize::MAX,
        |m| m.noise.set_len(10),
        |m| m.learned.sigma.set_len(2),
        |m| m.learned.weight_squares.set_len(1),
        |m| m.learned.n_averaged = 1,
        |m| m.learned.average_sigma.set_len(3),
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let mut other = machine.clone();
        change(&mut other);
        let error = other.check(3, 3).expect_err(&i.to_string());
        assert_eq!(error.to_string(), "the arrays of a kernel machine do not fit together");
    }
    assert!(machine.check(4, 3).is_err() && machine.check(3, 2).is_err());
    let error = Machine::new(usize::MAX / 2, 384, 2, &mut Rng::new(0, 0)).unwrap_err().to_string();
    assert!(error.starts_with("no memory for a kernel machine"), "{error}");
}

#[test]
fn losses_and_softmin_are_those_of_the_definition() {
    let mut rng = Rng::new(13, 0);
    for n_classes in [1, 2, 3, 10] {
        for _ in 0..50 {
            let scores: Vec<f64> = uniform(&mut rng, n_classes).iter().map(|f| 3.0 * f).collect();
            let best =
                |y: usize| (0..n_classes).filter(|&m| m != y).map(|m| scores[m]).fold(f64::NEG_INFINITY, f64::max);
            let expected: Vec<f64> = (0..n_classes).map(|y| (1.0 + best(y) - scores[y]).max(0.0)).collect();
            let mut found = vec![7.0; n_classes];
            losses(&scores, &mut found);
            assert_eq!(found, expected);
            let sum: f64 = expected.iter().map(|loss| (-1.5 * loss).exp()).sum();
            let probabilities: Vec<f64> = expected.iter().map(|loss| (-1.5 * loss).exp() / sum).collect();
            softmin(&scores, 1.5, &mut found);
            assert_near(&found, &probabilities, 1e-14, "softmin");
            for y in 0..n_classes {
                let ln = ln_softmin(&scores, y, 1.5, &mut found);
                assert!((ln - probabilities[y].ln()).abs() < 1e-13, "{ln}");
                let rival = rival(&scores, y);
                assert_eq!(rival.is_some(), expected[y] > 0.0);
                assert!(rival.is_none_or(|rival| rival != y && scores[rival] == best(y)));
            }
        }
    }
    // Far apart: no probability is lost, and none is above 1.
    let mut found = [0.0; 3];
    assert_eq!(ln_softmin(&[2000.0, 0.0, -1000.0], 2, 1.0, &mut found), -3001.0);
    softmin(&[2000.0, 0.0, -1000.0], 1.0, &mut found);
    assert_eq!(found, [1.0, 0.0, 0.0]);
    assert_eq!(ln_softmin(&[5.0], 0, 1.0, &mut found[..1]), 0.0);
    assert_eq!(rival(&[0.0, 0.0, 0.0], 0), Some(1));
}

/// Numbers for rows: one or several of each.
fn some_numbers(n: usize, n_numbers: usize, seed: u64) -> Matrix {
    let mut rng = Rng::new(seed, 8);
    Matrix::from_fn(n, n_numbers, |_, _| normal(&mut rng))
}

/// `lambda/2 |W|^2` and the mean over a batch of half the squared errors.
fn objective_of_numbers(plain: &Plain, rows: &Matrix, numbers: &Matrix, batch: &[usize], lambda: f64) -> f64 {
    let square: f64 = plain.weights[0].data().iter().map(|w| w * w).sum();
    let of_row = |&n: &usize| -> f64 {
        plain.scores(rows.row(n)).iter().zip(numbers.row(n)).map(|(f, y)| 0.5 * (f - y) * (f - y)).sum()
    };
    0.5 * lambda * square + batch.iter().map(of_row).sum::<f64>() / batch.len() as f64
}

#[test]
fn steps_of_numbers_go_down_the_slope_of_the_squared_error() {
    for (seed, (d, n_frequencies, n_numbers)) in [(3, 30, 1), (5, 24, 2), (1, 7, 3)].into_iter().enumerate() {
        let (rows, _) = problem(20, d, 2, seed as u64);
        let numbers = some_numbers(20, n_numbers, seed as u64);
        let members: Vec<usize> = (3..16).collect();
        let machine = some_machine(d, n_frequencies, n_numbers, seed as u64);
        let rates = Rates { lambda: 0.3, weights: 1.0, sigma: 1.0, batch: 13, plain: true };
        let mut stepped = machine.clone();
        let lesson = Lesson { rows: &rows, answers: Answers::Numbers(&numbers), members: &members, n_steps: 1 };
        stepped.train(&lesson, &rates, &mut Work::default(), NEVER).unwrap();
        let at = |change: &dyn Fn(&mut Plain, f64)| {
            let of = |by: f64| {
                let mut plain = Plain::new(&machine);
                change(&mut plain, by);
                objective_of_numbers(&plain, &rows, &numbers, &members, rates.lambda)
            };
            (of(1e-5) - of(-1e-5)) / 2e-5
        };
        let by_sigma: Vec<f64> = (0..d).map(|j| at(&|plain, by| plain.sigma[0][j] += by)).collect();
        let found: Vec<f64> =
            machine.learned.sigma.iter().zip(stepped.learned.sigma.iter()).map(|(old, new)| old - new).collect();
        assert_near(&found, &by_sigma, 1e-6, "sigma");
        let all = 2 * n_frequencies * n_numbers;
        let by_weights: Vec<f64> = (0..all).map(|i| at(&|plain, by| plain.weights[0].data_mut()[i] += by)).collect();
        let (old, new) = (machine.dense(&machine.learned.weights), machine.dense(&stepped.learned.weights));
        let found: Vec<f64> = old.data().iter().zip(new.data()).map(|(old, new)| old - new).collect();
        assert_near(&found, &by_weights, 1e-6, "W");
    }
}

#[test]
fn machines_of_numbers_have_the_same_bits_at_every_level_and_in_any_work() {
    let (rows, codes) = problem(90, 5, 3, 4);
    let numbers = some_numbers(90, 2, 4);
    let members: Vec<usize> = (0..90).collect();
    let rates = Rates { batch: 16, ..Rates::default() };
    let lesson = Lesson { rows: &rows, answers: Answers::Numbers(&numbers), members: &members, n_steps: 6 };
    let trained = |work: &mut Work| {
        let mut machine = some_machine(5, 30, 2, 4);
        machine.train(&lesson, &rates, work, NEVER).unwrap();
        machine.all_bits()
    };
    at_every_level(|| trained(&mut Work::default()));
    // A machine of classes was there before.
    let mut work = Work::default();
    let of_classes = Lesson { rows: &rows, answers: Answers::Codes(&codes), members: &members, n_steps: 6 };
    some_machine(5, 40, 3, 5).train(&of_classes, &rates, &mut work, NEVER).unwrap();
    assert_eq!(trained(&mut work), trained(&mut Work::default()));
    let mut classes = [some_machine(5, 40, 3, 5), some_machine(5, 40, 3, 5)];
    classes[0].train(&of_classes, &rates, &mut work, NEVER).unwrap();
    classes[1].train(&of_classes, &rates, &mut Work::default(), NEVER).unwrap();
    assert_eq!(classes[0].all_bits(), classes[1].all_bits());
}
