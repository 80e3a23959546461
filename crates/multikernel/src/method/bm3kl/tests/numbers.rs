//! Numbers: they can be simulated, so everything can be checked against what they were drawn from.

use super::*;
use crate::data::{Numbers, Scale};
use crate::dist::half_gig;

const TUBE: Noise = Noise::Tube(0.5);

fn of(noise: Noise, sampler: WeightSampler) -> Settings {
    Settings { noise: Some(noise), n_factors: 1, tau: 1.0, ..settings(FunctionPrior::Gp, sampler) }
}

/// A variate of the noise.
fn variate(noise: Noise, rng: &mut Rng) -> f64 {
    let Noise::Tube(tube) = noise else { return normal(rng) };
    let sign = if rng.uniform() < 0.5 { 1.0 } else { -1.0 };
    if rng.uniform() * (2.0 * tube + 1.0) < 2.0 * tube {
        tube * (2.0 * rng.uniform() - 1.0)
    } else {
        sign * (tube + gamma(rng, 1.0, 0.5))
    }
}

#[test]
fn noise_has_its_variance_and_integrates_to_one() {
    for noise in [Noise::Tube(0.0), TUBE, Noise::Tube(2.0), Noise::Normal] {
        let (step, mut mass, mut square) = (1e-4, 0.0, 0.0);
        for k in 0..400_000 {
            let u = step * (f64::from(k) - 200_000.0 + 0.5);
            let weight = step * noise.ln_density(u).exp();
            mass += weight;
            square += weight * u * u;
        }
        let whole = match noise {
            Noise::Tube(tube) => 2.0 * tube + 1.0,
            Noise::Normal => std::f64::consts::TAU.sqrt(),
        };
        assert!((mass / whole - 1.0).abs() < 1e-7, "{noise:?}: {mass} {whole}");
        assert!(
            (square / mass / noise.variance() - 1.0).abs() < 1e-6,
            "{noise:?}: {} {}",
            square / mass,
            noise.variance()
        );
        let mut rng = Rng::new(1, 0);
        let draws: Vec<f64> = (0..40_000).map(|_| variate(noise, &mut rng).powi(2)).collect();
        let (mean, error) = mean_and_error(draws.into_iter(), 40);
        assert!((mean - noise.variance()).abs() < 4.0 * error, "{noise:?}: {mean} {error}");
    }
}

#[test]
fn two_scales_integrate_out_to_the_loss_of_the_tube() {
    // The integral over both scales of all that a row contributes is exp(-2 max(|u| - tube, 0)) / rho. Substituted by
    // lambda = exp(x); a grid in both.
    for (noise, tube) in [(TUBE, 0.5), (Noise::Tube(0.0), 0.0), (Noise::Tube(1.5), 1.5)] {
        let world = World::small(6, 1, of(noise, WeightSampler::Collapsed));
        let mut latent = world.begin(&mut Rng::new(1, 0));
        for (f, log_noise) in [(0.1, 0.0), (1.3, 0.7), (-2.0, -0.4), (0.4, -1.0)] {
            let (y, step, mut sum) = ([0.3; 6], 0.05, 0.0);
            for (a, b) in (-700..120).flat_map(|a| (-700..120).map(move |b| (a, b))) {
                let (above, below) = ((step * f64::from(a)).exp(), (step * f64::from(b)).exp());
                latent.lambda.set(0, 0, above);
                latent.lambda.set(1, 0, below);
                let one = Matrix::from_vec(2, 1, vec![above, below]).unwrap();
                // Only the first row: the others are as they were.
                let seen = noise.observed(&latent, &y[..1], log_noise, 0);
                let gap: f64 = seen.t[0] - f;
                let density = -0.5 * (gap * gap / seen.lambda[0] + seen.lambda[0].ln()) + noise.log_scales(&one);
                sum += step * step * above * below * density.exp() / std::f64::consts::TAU;
            }
            let u: f64 = (y[0] - f) * (-0.5 * log_noise).exp();
            let expected = (-2.0 * (u.abs() - tube).max(0.0) - 0.5 * log_noise).exp();
            assert!((sum / expected - 1.0).abs() < 1e-6, "{tube} {f} {log_noise}: {sum} {expected}");
        }
    }
}

/// Bounded or light-tailed functions of a state.
fn statistics(world: &World, latent: &Latent, functions: &Matrix) -> Vec<f64> {
    let (w, f, y) = (latent.weights(), functions, &world.margin);
    let (nu, noise) = (latent.log_nu[0], latent.log_nu[1]);
    let log = |value: f64| (1.0 + value * value).ln();
    let error = (y.get(0, 0) - f.get(0, 0)) * (-0.5 * noise).exp();
    let mut values = vec![
        w[0],
        w[1],
        w[0] * w[0],
        w[0] * w[1],
        f.get(0, 0).tanh(),
        log(f.get(0, 0)),
        log(f.get(0, 0) - f.get(0, 1)),
        w[0] * log(f.get(0, 2)),
        y.get(0, 0).tanh(),
        log(y.get(0, 0)),
        (y.get(0, 0) * f.get(0, 0)).tanh(),
        log(y.get(0, 1) - y.get(0, 2)),
        error.tanh(),
        error * error,
        nu,
        nu * nu,
        noise,
        noise * noise,
        nu * noise,
        nu * w[0],
        noise * w[1],
    ];
    if latent.lambda.n_rows() > 0 {
        let (above, below) = (latent.lambda.get(0, 0), latent.lambda.get(1, 0));
        values.extend([above.ln(), below.ln(), (above - below).tanh(), (above + below).ln() * noise]);
    }
    values
}

/// As for margins: everything from the prior, then ten sweeps in turns with new numbers given functions, scales and
/// noise.
fn geweke(mut world: World, n_starts: usize) -> (f64, Vec<f64>) {
    let mut rng = Rng::new(61, 0);
    let noise = world.settings.noise.unwrap();
    let mut changes: Vec<Vec<f64>> = vec![];
    for start in 0..n_starts {
        let (all, mut latent) = from_prior(&world, &mut rng);
        latent.step = DualAverage::of(0.5);
        let rho = (0.5 * latent.log_nu[1]).exp();
        let errors = Matrix::from_fn(all.functions.n_rows(), all.functions.n_cols(), |_, _| variate(noise, &mut rng));
        let number = |c: usize, i: usize| all.functions.get(c, i) + rho * errors.get(c, i);
        world.margin = Matrix::from_fn(errors.n_rows(), errors.n_cols(), number);
        if let Noise::Tube(tube) = noise {
            latent.lambda = Matrix::from_fn(2 * errors.n_rows(), errors.n_cols(), |k, i| {
                let zeta = if k % 2 == 0 { errors.get(k / 2, i) } else { -errors.get(k / 2, i) } - tube;
                half_gig(&mut rng, 1.0, zeta * zeta)
            });
        }
        let before = statistics(&world, &latent, &all.functions);
        let mut rngs = [Rng::new(62, start as u64)];
        let mut after = vec![];
        for sweep_number in 1..=10 {
            let phase = SweepPhase { sweep: sweep_number, warm: true, keep: false };
            let mut latents = [latent];
            let draw = sweep(&world.problem(), &mut latents, &mut rngs, phase).unwrap().remove(0);
            [latent] = latents;
            for c in 0..draw.functions.n_rows() {
                let seen = noise.observed(&latent, world.margin.row(c), latent.log_nu[1], c);
                for i in 0..draw.functions.n_cols() {
                    // t = y + shift is normal around the function.
                    let y = draw.functions.get(c, i) - seen.shift[i] + seen.lambda[i].sqrt() * normal(&mut rng);
                    world.margin.set(c, i, y);
                }
            }
            after = statistics(&world, &latent, &draw.functions);
        }
        changes.push(after.iter().zip(before).map(|(after, before)| after - before).collect());
    }
    let z = |k: usize| {
        let (mean, error) = mean_and_error(changes.iter().map(|change| change[k]), n_starts);
        mean / error
    };
    let z: Vec<f64> = (0..changes[0].len()).map(z).collect();
    (z.iter().fold(0.0, |most: f64, z| most.max(z.abs())), z)
}

#[test]
fn geweke_finds_nothing_in_moves_of_numbers() {
    for (noise, sampler) in [
        (TUBE, WeightSampler::Collapsed),
        (TUBE, WeightSampler::Split),
        (TUBE, WeightSampler::Slice),
        (Noise::Normal, WeightSampler::Collapsed),
    ] {
        let (most, z) = geweke(World::small(6, 2, of(noise, sampler)), 2_000);
        assert!(most < 4.0, "{noise:?} {sampler:?}: {z:?}");
    }
}

#[test]
fn geweke_finds_nothing_in_numbers_of_repeated_rows() {
    for noise in [TUBE, Noise::Normal] {
        let (most, z) = geweke(World::repeated(6, 1, of(noise, WeightSampler::Collapsed)), 2_000);
        assert!(most < 4.0, "{noise:?}: {z:?}");
    }
}

/// One column, and a number for each row.
fn line(rows: &[f64], numbers: &[f64]) -> Dataset {
    let samples = Samples::unnamed(Matrix::from_vec(rows.len(), 1, rows.to_vec()).unwrap()).unwrap();
    Dataset::of_numbers("line", samples, Numbers::one("y", numbers.to_vec()).unwrap()).unwrap()
}

fn plan(likelihood: &str, settings: &[(&str, &str)]) -> Plan {
    let plan = Plan::new("bm3kl").unwrap().set("likelihood", likelihood).unwrap();
    settings.iter().try_fold(plan, |plan, (name, value)| plan.set(name, value)).unwrap()
}

/// Mean and variance of a new number given two, whose mean is 0 and whose standard deviation is 1, by quadrature over two
/// function values and both variances.
fn by_quadrature(noise: Noise, tau: f64) -> (f64, f64) {
    let (rows, y, k) = ([0.0, 1.0, -0.5], [1.0, -1.0], |a: f64, b: f64| (-0.5 * (a - b) * (a - b)).exp());
    let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
    for (log_nu, log_noise) in (-12..=12).flat_map(|a| (-12..=12).map(move |b| (f64::from(a), f64::from(b)))) {
        let (nu, rho) = (log_nu.exp(), (0.5 * log_noise).exp());
        let v = |a: usize, b: usize| nu * (k(rows[a], rows[b]) + if a == b { JITTER } else { 0.0 }) + tau;
        let (l00, l10, l20) = (v(0, 0).sqrt(), v(1, 0) / v(0, 0).sqrt(), v(2, 0) / v(0, 0).sqrt());
        let l11 = (v(1, 1) - l10 * l10).sqrt();
        let l21 = (v(2, 1) - l20 * l10) / l11;
        let rest = v(2, 2) - l20 * l20 - l21 * l21;
        // Steps no wider than the noise at either row, around where the first function value meets its number.
        let grid = |scale: f64, middle: f64| {
            let step = (0.1 * rho / scale).min(0.1);
            let (low, high) = ((middle - 12.0 * rho / scale).max(-7.0), (middle + 12.0 * rho / scale).min(7.0));
            let n = ((high - low) / step).max(0.0).ceil() as i32;
            (0..n).map(move |i| (low + step * (f64::from(i) + 0.5), step))
        };
        for (a, wide) in grid(l00, y[0] / l00) {
            for (b, high) in grid(l11, (y[1] - l10 * a) / l11) {
                let errors = [(y[0] - l00 * a) / rho, (y[1] - l10 * a - l11 * b) / rho];
                let likelihood = errors.map(|u| noise.ln_density(u)).iter().sum::<f64>() - log_noise;
                let prior = -0.5 * (a * a + b * b) - (log_nu * log_nu + log_noise * log_noise) / 18.0;
                let weight = wide * high * (likelihood + prior).exp();
                let mean = l20 * a + l21 * b;
                mass += weight;
                first += weight * mean;
                second += weight * (mean * mean + rest + rho * rho * noise.variance());
            }
        }
    }
    (first / mass, second / mass - (first / mass).powi(2))
}

#[test]
fn predicted_numbers_and_variances_are_integrals() {
    for (likelihood, noise) in [("margin", TUBE), ("normal", Noise::Normal)] {
        let (mean, variance) = by_quadrature(noise, 0.5);
        let (mut means, mut spreads) = (vec![], vec![]);
        // Numbers in other units: they are standardised, with the divisor N.
        let (train, test) = (line(&[0.0, 1.0], &[17.0, 7.0]), line(&[-0.5], &[0.0]));
        for seed in 0..24 {
            let plan = plan(likelihood, &[("tau", "0.5"), ("draws", "500"), ("warmup", "100")]);
            let model = alone(plan.kernels("gaussian(1)").unwrap().scale(Scale::None).seed(seed), &train);
            let numbers = model.numbers().unwrap();
            means.push((numbers.predict(&test.samples).unwrap().get(0, 0) - 12.0) / 5.0);
            // A mixture with very wide components: its logarithm has an error that a mean of 24 shows.
            spreads.push(numbers.deviations(&test.samples).unwrap().unwrap().get(0, 0) / 5.0);
        }
        let (found, error) = mean_and_error(means.into_iter(), 24);
        assert!(error < 0.03, "{likelihood}: {error}");
        assert!((found - mean).abs() < 4.0 * error, "{likelihood}: {found} ± {error}, expected {mean}");
        let (found, error) = mean_and_error(spreads.into_iter().map(|spread| spread * spread), 24);
        assert!(error < 0.5 * variance, "{likelihood}: {error} {variance}");
        assert!((found - variance).abs() < 4.0 * error, "{likelihood}: {found} ± {error}, expected {variance}");
    }
}

/// The share of new rows inside their 90 % intervals over sets of 40 rows drawn from the model, and its standard error:
/// rows of a set are not independent.
fn covered(likelihood: &str, noise: Noise, n_sets: u64) -> (f64, f64) {
    let (n, n_new) = (40, 20);
    let share = |set: u64| {
        let mut rng = Rng::new(81, set);
        let rows: Vec<[f64; 2]> = (0..n + n_new).map(|_| [normal(&mut rng), normal(&mut rng)]).collect();
        let signs = Matrix::zeros(1, rows.len());
        let world = World::new(&rows, &KERNELS, signs, of(noise, WeightSampler::Collapsed));
        let (all, latent) = from_prior(&world, &mut rng);
        let rho = (0.5 * latent.log_nu[1]).exp();
        let numbers: Vec<f64> = all.functions.data().iter().map(|f| f + rho * variate(noise, &mut rng)).collect();
        let part = |which: std::ops::Range<usize>| {
            let table = Matrix::from_fn(which.len(), 2, |i, j| rows[which.start + i][j]);
            let numbers = Numbers::one("y", numbers[which].to_vec()).unwrap();
            Dataset::of_numbers("drawn", Samples::unnamed(table).unwrap(), numbers).unwrap()
        };
        let plan = plan(likelihood, &[("tau", "1"), ("chains", "2")]).kernels(&KERNELS.join(", ")).unwrap();
        let model = alone(plan.scale(Scale::None).seed(set), &part(0..n));
        let [low, high] = model.numbers().unwrap().intervals(&part(n..n + n_new).samples, 0.9).unwrap();
        let inside = |k: &usize| low.data()[*k] <= numbers[n + k] && numbers[n + k] <= high.data()[*k];
        (0..n_new).filter(inside).count() as f64 / n_new as f64
    };
    mean_and_error((0..n_sets).map(share), n_sets as usize)
}

#[test]
fn intervals_of_new_numbers_hold_what_they_promise() {
    for (likelihood, noise) in [("margin", TUBE), ("normal", Noise::Normal)] {
        let (share, error) = covered(likelihood, noise, 60);
        assert!((share - 0.9).abs() < 0.03 && error < 0.015, "{likelihood}: {share} ± {error}");
    }
}

#[test]
fn wild_numbers_do_less_harm_in_a_tube_than_under_normal_noise() {
    let mut rng = Rng::new(91, 0);
    let rows: Vec<f64> = (0..80).map(|i| 0.05 * f64::from(i)).collect();
    let truth = |x: f64| 3.0 * (1.5 * x).sin();
    let numbers: Vec<f64> = rows
        .iter()
        .enumerate()
        .map(|(i, &x)| truth(x) + 0.1 * normal(&mut rng) + if i % 20 == 7 { 25.0 } else { 0.0 })
        .collect();
    let error = |likelihood: &str| {
        let plan = plan(likelihood, &[("chains", "2")]).kernels("gaussian(0.3), gaussian(1), linear").unwrap();
        let model = alone(plan, &line(&rows, &numbers));
        let found = model.numbers().unwrap().predict(&line(&rows, &numbers).samples).unwrap();
        rows.iter().zip(found.data()).map(|(&x, found)| (truth(x) - found).powi(2)).sum::<f64>().sqrt()
    };
    let (tube, normal) = (error("margin"), error("normal"));
    assert!(tube < 0.5 * normal, "{tube} {normal}");
}

#[test]
fn numbers_refuse_what_does_not_fit() {
    let refused = |settings: &[(&str, &str)], data: &Dataset| {
        let plan = Plan::new("bm3kl").unwrap().kernels("gaussian(1)").unwrap();
        let plan = settings.iter().try_fold(plan, |plan, (name, value)| plan.set(name, value));
        plan.and_then(|plan| plan.train(data)).map(|_| ()).unwrap_err().to_string()
    };
    let numbers = line(&[0.0, 1.0, 2.0, 4.0], &[1.0, 3.0, 2.0, 7.0]);
    let text = refused(&[("likelihood", "logit")], &numbers);
    assert!(text.starts_with("parameter likelihood: `logit` is a likelihood of two classes, and numbers"), "{text}");
    let text = refused(&[("prior", "paper")], &numbers);
    assert!(text.starts_with("parameter prior: `paper` is for classes; numbers take prior=gp"), "{text}");
    let text = refused(&[("likelihood", "normal")], &far_apart(2, 6, 0));
    assert!(text.starts_with("parameter likelihood: `normal` is a likelihood of numbers"), "{text}");
}
