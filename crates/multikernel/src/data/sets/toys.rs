//! Toy sets with two columns and two classes, generated from a seed: small enough to plot.

use std::f64::consts::{PI, SQRT_2};

use crate::data::table::{Dataset, Labels, Samples};
use crate::dist::{Rng, normal};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::simd::sin_cos;

/// More rows than anyone can look at.
const MAX_ROWS: usize = 1_000_000;

/// Separate from the streams of splits and methods; one for each set.
const STREAM: u64 = 1 << 54;

/// Minimum distance between the two classes of [`separable`] along the line through their centres.
const GAP: f64 = 0.5;

/// Two interleaving half circles, not linearly separable: columns `x` and `y`, classes `0` and `1`.
///
/// With `t` in equal steps from 0 to pi, class 0 (the first `n / 2` rows before shuffling) lies at `(cos t, sin t)`,
/// class 1 (the others) at `(1 - cos t, 1/2 - sin t)`. Gaussian noise with standard deviation `noise` is added to each
/// value. This is scikit-learn's `make_moons` except for the random numbers.
///
/// From 2 to a million rows; `noise` is 0 or more.
///
/// ```
/// use multikernel::data::moons;
/// let data = moons(100, 0.2, 0)?;
/// assert_eq!(data.samples.names(), ["x", "y"]);
/// assert_eq!(data.labels.counts(), [50, 50]);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn moons(n: usize, noise: f64, seed: u64) -> Result<Dataset> {
    let sizes = sizes(n)?;
    let [upper, lower] = sizes.map(|size| arc(size, PI, size - 1));
    let lower = lower.into_iter().map(|[x, y]| [1.0 - x, 0.5 - y]).collect();
    finished("moons", [upper, lower], noise, &mut Rng::new(seed, STREAM))
}

/// A circle inside another, not linearly separable: columns `x` and `y`, classes `0` (the outer one) and `1`.
///
/// Class 0 (the first `n / 2` rows before shuffling) lies in equal steps on the circle of radius 1 around the origin,
/// class 1 (the others) on that of radius `factor`. Gaussian noise with standard deviation `noise` is added to each
/// value. This is scikit-learn's `make_circles` except for the random numbers.
///
/// From 2 to a million rows; `noise` is 0 or more, `factor` from 0 to below 1.
///
/// ```
/// use multikernel::{Plan, data::circles};
/// let data = circles(100, 0.05, 0.5, 0)?;
/// let right = |kernels: &str| -> multikernel::Result<usize> {
///     let labels = Plan::new("svm")?.kernels(kernels)?.train(&data)?.predict(&data.samples)?.labels;
///     Ok(labels.iter().zip(data.labels.codes()).filter(|(a, b)| a == b).count())
/// };
/// assert!(right("gaussian(1)")? == 100 && right("linear raw")? < 80);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn circles(n: usize, noise: f64, factor: f64, seed: u64) -> Result<Dataset> {
    if !(0.0..1.0).contains(&factor) {
        return Err(Error::param("factor", format!("must be from 0 to below 1, got {factor}")));
    }
    let [outer, inner] = sizes(n)?.map(|size| arc(size, 2.0 * PI, size));
    let inner = inner.into_iter().map(|[x, y]| [factor * x, factor * y]).collect();
    finished("circles", [outer, inner], noise, &mut Rng::new(seed, STREAM + 1))
}

/// Two Gaussians with a gap between them: columns `x` and `y`, classes `0` and `1`, separated by a line through the
/// origin.
///
/// The centre of class 1 is one of the four corners `(+-1, +-1)`, chosen by the seed; class 0, the first `n / 2` rows
/// before shuffling, has the opposite corner. Around its centre a row lies at `A z`, where `z` is standard normal and
/// `A` a 2 x 2 matrix for its class with entries uniform from -1 to 1: so far as in scikit-learn's
/// `make_classification` with two informative features and one cluster per class. Then each class is shifted away from
/// the other, along the diagonal through both centres, just far enough that all of its rows are 1/4 or more beyond the
/// perpendicular line through the origin (not at all if they already are). So the line `x + y = 0` or `x - y = 0`
/// separates the classes, with a gap of 1/2 or more. Different seeds give different classes: hold out rows of one set
/// for testing.
///
/// From 2 to a million rows.
///
/// ```
/// use multikernel::data::separable;
/// let data = separable(100, 3)?;
/// assert_eq!((data.samples.n_samples(), data.labels.n_classes()), (100, 2));
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn separable(n: usize, seed: u64) -> Result<Dataset> {
    let (sizes, mut rng) = (sizes(n)?, Rng::new(seed, STREAM + 2));
    let corner = [sign(&mut rng), sign(&mut rng)];
    let classes = [(sizes[0], -1.0), (sizes[1], 1.0)];
    let classes = classes.map(|(size, side)| beyond(cloud(size, &mut rng), corner.map(|x| side * x)));
    finished("separable", classes, 0.0, &mut rng)
}

fn sign(rng: &mut Rng) -> f64 {
    if rng.uniform() < 0.5 { -1.0 } else { 1.0 }
}

/// Rows around the origin: standard normal, transformed by a random matrix.
fn cloud(n: usize, rng: &mut Rng) -> Vec<[f64; 2]> {
    let [a, b, c, d] = [(); 4].map(|()| 2.0 * rng.uniform() - 1.0);
    let row = |_| {
        let [u, v] = [(); 2].map(|()| normal(rng));
        [a * u + b * v, c * u + d * v]
    };
    (0..n).map(row).collect()
}

/// The rows around a corner of the square, shifted until all are half a gap or more from the diagonal.
fn beyond(rows: Vec<[f64; 2]>, corner: [f64; 2]) -> Vec<[f64; 2]> {
    let distance = |[x, y]: &[f64; 2]| (x * corner[0] + y * corner[1]) / SQRT_2;
    let nearest = rows.iter().map(distance).fold(f64::INFINITY, f64::min) + SQRT_2;
    let shift = 1.0 + (GAP / 2.0 - nearest).max(0.0) / SQRT_2;
    rows.into_iter().map(|[x, y]| [x + shift * corner[0], y + shift * corner[1]]).collect()
}

/// The number of rows in each class.
fn sizes(n: usize) -> Result<[usize; 2]> {
    if !(2..=MAX_ROWS).contains(&n) {
        return Err(Error::param("rows", format!("must be from 2 to {MAX_ROWS}, got {n}")));
    }
    Ok([n / 2, n - n / 2])
}

/// Points on the unit circle from angle 0, spaced so that `steps` steps cover the angle `span`.
fn arc(n: usize, span: f64, steps: usize) -> Vec<[f64; 2]> {
    let angles: Vec<f64> = (0..n).map(|i| span * i as f64 / steps.max(1) as f64).collect();
    let (mut sin, mut cos) = (vec![0.0; n], vec![0.0; n]);
    sin_cos(&angles, &mut sin, &mut cos);
    cos.into_iter().zip(sin).map(|(x, y)| [x, y]).collect()
}

/// The set of these rows of class 0 and class 1, with noise, shuffled so that a stream, or the first rows of a file,
/// contain both.
fn finished(name: &str, classes: [Vec<[f64; 2]>; 2], noise: f64, rng: &mut Rng) -> Result<Dataset> {
    if !(noise.is_finite() && noise >= 0.0) {
        return Err(Error::param("noise", format!("must be 0 or a positive number, got {noise}")));
    }
    let n_first = classes[0].len();
    let mut rows = classes.concat();
    for value in rows.as_flattened_mut() {
        *value += noise * normal(rng);
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    rng.shuffle(&mut order);
    let codes = order.iter().map(|&i| usize::from(i >= n_first)).collect();
    let features = Matrix::from_fn(rows.len(), 2, |i, j| rows[order[i]][j]);
    let samples = Samples::new(features, vec!["x".into(), "y".into()])?;
    let set = Dataset::new(name, samples, Labels::from_parts(vec!["0".into(), "1".into()], codes)?)?;
    Ok(Dataset { label_name: Some("label".into()), ..set })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of a class.
    fn class(data: &Dataset, code: usize) -> Vec<[f64; 2]> {
        let rows = data.samples.features().to_dense().unwrap();
        let of = |i: usize| (data.labels.codes()[i] == code).then(|| [rows.get(i, 0), rows.get(i, 1)]);
        (0..rows.n_rows()).filter_map(of).collect()
    }

    fn radius([x, y]: [f64; 2]) -> f64 {
        x.hypot(y)
    }

    fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
        values.clone().sum::<f64>() / values.count() as f64
    }

    /// The distance from each row to the next, ordered by angle around a centre.
    fn steps(mut rows: Vec<[f64; 2]>) -> Vec<f64> {
        rows.sort_by(|a, b| a[1].atan2(a[0]).total_cmp(&b[1].atan2(b[0])));
        rows.windows(2).map(|pair| radius([pair[1][0] - pair[0][0], pair[1][1] - pair[0][1]])).collect()
    }

    #[test]
    fn circles_without_noise_have_their_radii_and_equal_steps() {
        let data = circles(101, 0.0, 0.3, 4).unwrap();
        let (outer, inner) = (class(&data, 0), class(&data, 1));
        assert_eq!((outer.len(), inner.len()), (50, 51));
        for (rows, size) in [(outer, 1.0), (inner, 0.3)] {
            assert!(rows.iter().all(|&row| (radius(row) - size).abs() < 1e-15));
            let chord = 2.0 * size * (PI / rows.len() as f64).sin();
            // The step from the last point to the first is just as long, and not in the list.
            assert!(rows.contains(&[size, 0.0]));
            assert!(steps(rows).iter().all(|step| (step - chord).abs() < 1e-14));
        }
    }

    #[test]
    fn moons_without_noise_are_half_circles_around_their_centres() {
        let data = moons(41, 0.0, 4).unwrap();
        let (upper, lower) = (class(&data, 0), class(&data, 1));
        assert_eq!((upper.len(), lower.len()), (20, 21));
        assert!(upper.contains(&[1.0, 0.0]) && lower.contains(&[0.0, 0.5]));
        let lower: Vec<[f64; 2]> = lower.into_iter().map(|[x, y]| [1.0 - x, 0.5 - y]).collect();
        for rows in [upper, lower] {
            assert!(rows.iter().all(|&row| (radius(row) - 1.0).abs() < 1e-15 && row[1] > -1e-15));
            // The mean height of a half circle in equal steps from end to end is known.
            let gaps = (rows.len() - 1) as f64;
            let height = 1.0 / (PI / (2.0 * gaps)).tan() / rows.len() as f64;
            assert!(mean(rows.iter().map(|row| row[0])).abs() < 1e-15);
            assert!((mean(rows.iter().map(|row| row[1])) - height).abs() < 1e-14);
            assert!(steps(rows).iter().all(|step| (step - 2.0 * (PI / (2.0 * gaps)).sin()).abs() < 1e-14));
        }
    }

    #[test]
    fn noise_is_normal_of_its_standard_deviation() {
        let n = 40_000;
        let data = circles(n, 0.2, 0.5, 1).unwrap();
        for (code, size) in [(0, 1.0f64), (1, 0.5)] {
            // |p + e|^2 has mean r^2 + 2 s^2 and variance 4 r^2 s^2 + 4 s^4; five standard errors.
            let squares = mean(class(&data, code).iter().map(|&row| radius(row).powi(2)));
            let variance = 4.0 * size.powi(2) * 0.04 + 4.0 * 0.2f64.powi(4);
            let error = (squares - size.powi(2) - 0.08).abs();
            assert!(error < 5.0 * (variance / (n / 2) as f64).sqrt(), "class {code}: {error}");
        }
        let data = moons(n, 0.3, 1).unwrap();
        let squares = mean(class(&data, 0).iter().map(|&row| radius(row).powi(2)));
        assert!((squares - 1.18).abs() < 5.0 * (0.3924f64 / (n / 2) as f64).sqrt());
    }

    #[test]
    fn separable_is_told_apart_by_a_diagonal_with_a_gap() {
        let (mut touched, mut diagonals) = (0, [0, 0]);
        for seed in 0..40 {
            let data = separable(100, seed).unwrap();
            let project = |code: usize, side: f64| {
                let rows = class(&data, code);
                rows.iter()
                    .map(|row| (row[0] + side * row[1]) / SQRT_2)
                    .fold((9e9, -9e9), |(low, high), x: f64| (f64::min(low, x), f64::max(high, x)))
            };
            let apart = |side: f64| {
                let (a, b) = (project(0, side), project(1, side));
                (a.1 <= -0.25 + 1e-12 && b.0 >= 0.25 - 1e-12) || (b.1 <= -0.25 + 1e-12 && a.0 >= 0.25 - 1e-12)
            };
            let side = [1.0, -1.0].into_iter().position(apart).expect("a diagonal tells the classes apart");
            diagonals[side] += 1;
            let nearest = class(&data, 0)
                .iter()
                .chain(&class(&data, 1))
                .fold(9e9, |least, row| f64::min(least, ((row[0] + [1.0, -1.0][side] * row[1]) / SQRT_2).abs()));
            touched += usize::from((nearest - 0.25).abs() < 1e-12);
        }
        // Clouds are wide enough that most have to be shifted, exactly as far as the gap, and both diagonals occur.
        assert!(touched > 20 && touched < 40 && diagonals[0] > 8 && diagonals[1] > 8, "{touched} {diagonals:?}");
    }

    #[test]
    fn sets_keep_their_fingerprint() {
        // Result tables depend on these sets: change them only on purpose.
        for (data, expected) in [
            (moons(100, 0.2, 0), "ab8aedf537834740"),
            (circles(100, 0.1, 0.5, 0), "f441b88f3d65f090"),
            (separable(100, 0), "259e3189d01e74b6"),
        ] {
            let data = data.unwrap();
            assert_eq!(&data.fingerprint()[..16], expected, "{}", data.name);
        }
        assert_ne!(moons(100, 0.2, 0).unwrap().fingerprint(), moons(100, 0.2, 1).unwrap().fingerprint());
    }

    #[test]
    fn rows_come_in_random_order() {
        for data in [moons(200, 0.0, 0), circles(200, 0.0, 0.5, 0), separable(200, 0)] {
            let first = data.unwrap().labels.codes()[..100].iter().sum::<usize>();
            assert!((30..=70).contains(&first), "{first}");
        }
        let smallest = separable(2, 0).unwrap();
        assert_eq!(smallest.labels.counts(), [1, 1]);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let message = |made: Result<Dataset>| made.unwrap_err().to_string();
        assert_eq!(message(moons(1, 0.0, 0)), "parameter rows: must be from 2 to 1000000, got 1");
        assert_eq!(message(separable(1_000_001, 0)), "parameter rows: must be from 2 to 1000000, got 1000001");
        assert_eq!(message(moons(9, -0.1, 0)), "parameter noise: must be 0 or a positive number, got -0.1");
        assert_eq!(message(moons(9, f64::NAN, 0)), "parameter noise: must be 0 or a positive number, got NaN");
        assert_eq!(message(circles(9, 0.0, 1.0, 0)), "parameter factor: must be from 0 to below 1, got 1");
    }
}
