//! A drifting stream: six Gaussian clusters in eight dimensions, two for each of three classes, whose centres turn
//! slowly with the row number. A model that stops learning goes wrong on it.
//!
//! ```text
//! cargo run --release --example drift -- ROWS SEED | multikernel online -
//! ```
//!
//! Writes CSV with the header x1,...,x8,label to standard output. The same ROWS and SEED give the same bytes, and a
//! shorter stream is a prefix of a longer one.
use std::io::{self, BufWriter, ErrorKind, Write};

use multikernel::dist::{Rng, normal};

const N_FEATURES: usize = 8;
const N_CLUSTERS: usize = 6;
const CLASSES: [&str; 3] = ["a", "b", "c"];
/// Distance of the centres from the origin; clusters have standard deviation 1.
const RADIUS: f64 = 4.0;
/// Rows between two positions of the centres.
const HELD: u64 = 64;
/// Radians that a centre then turns in each of the four planes of neighbouring coordinates, at most 1/40 of a standard
/// deviation: a full turn in the first takes some 63,000 rows, and it is long before all are back where they started.
const STEPS: [f64; N_FEATURES / 2] = [0.0064, -0.0044, 0.0025, 0.0];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Option<Vec<u64>> = words.iter().map(|word| word.parse().ok()).collect();
    let Some([n_rows, seed]) = numbers.as_deref() else {
        eprintln!("usage: drift ROWS SEED, two whole numbers");
        std::process::exit(2);
    };
    match write_rows(&mut BufWriter::with_capacity(1 << 16, io::stdout().lock()), *n_rows, *seed) {
        // The reader of the stream may stop at any time.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("drift: cannot write: {error}");
            std::process::exit(2);
        }
        _ => {}
    }
}

fn write_rows(out: &mut impl Write, n_rows: u64, seed: u64) -> io::Result<()> {
    writeln!(out, "x1,x2,x3,x4,x5,x6,x7,x8,label")?;
    let mut centres = centres(seed);
    let mut rng = Rng::new(seed, 1);
    let mut line = Vec::with_capacity(128);
    for row in 0..n_rows {
        if row > 0 && row % HELD == 0 {
            centres.iter_mut().for_each(turn);
        }
        let cluster = rng.below(N_CLUSTERS);
        line.clear();
        for middle in centres[cluster] {
            push_number(&mut line, middle + normal(&mut rng));
            line.push(b',');
        }
        line.extend(CLASSES[cluster % CLASSES.len()].bytes());
        line.push(b'\n');
        out.write_all(&line)?;
    }
    out.flush()
}

/// The centres before the first row, in random directions.
fn centres(seed: u64) -> [[f64; N_FEATURES]; N_CLUSTERS] {
    let mut rng = Rng::new(seed, 0);
    [(); N_CLUSTERS].map(|()| {
        let direction = [(); N_FEATURES].map(|()| normal(&mut rng));
        let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
        direction.map(|x| RADIUS * x / length)
    })
}

/// Turns a point by one step.
fn turn(point: &mut [f64; N_FEATURES]) {
    for (pair, a) in point.as_chunks_mut::<2>().0.iter_mut().zip(STEPS) {
        // Series, exact to the last digit here: library functions differ between systems.
        let (sine, cosine) = (a * (1.0 - a * a / 6.0 * (1.0 - a * a / 20.0)), 1.0 - a * a / 2.0 * (1.0 - a * a / 12.0));
        *pair = [cosine * pair[0] - sine * pair[1], sine * pair[0] + cosine * pair[1]];
    }
}

/// Writes a number with four decimals, ten times as fast as general formatting.
fn push_number(line: &mut Vec<u8>, x: f64) {
    let scaled = (x * 1e4).round() as i64;
    if scaled < 0 {
        line.push(b'-');
    }
    let (mut digits, mut at, mut left) = ([b'0'; 24], 24, scaled.unsigned_abs());
    // At least four decimals and one digit before them.
    while left > 0 || at > 19 {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    let (whole, decimals) = digits[at..].split_at(20 - at);
    line.extend(whole);
    line.push(b'.');
    line.extend(decimals);
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    fn text(n_rows: u64, seed: u64) -> String {
        let mut out = vec![];
        write_rows(&mut out, n_rows, seed).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn rows(text: &str) -> Vec<(Vec<f64>, &str)> {
        text.lines()
            .skip(1)
            .map(|line| {
                let cells: Vec<&str> = line.split(',').collect();
                (cells[..N_FEATURES].iter().map(|cell| cell.parse().unwrap()).collect(), cells[N_FEATURES])
            })
            .collect()
    }

    #[test]
    fn numbers_are_written_as_the_library_writes_them() {
        let mut rng = Rng::new(0, 0);
        let some = [0.0, 1.0, -1.0, 0.99996, 9.99996, -0.12345, 12.5, 1234.5678, -99999.00004];
        for x in some.into_iter().chain((0..10_000).map(|_| 5.0 * normal(&mut rng))) {
            let mut line = vec![];
            push_number(&mut line, x);
            let rounded = (x * 1e4).round() / 1e4 + 0.0;
            assert_eq!(String::from_utf8(line).unwrap(), format!("{rounded:.4}"), "{x}");
        }
    }

    #[test]
    fn streams_are_the_same_for_a_seed_and_go_on() {
        let (short, long) = (text(100, 7), text(1000, 7));
        assert!(long.starts_with(&short) && short.lines().count() == 101);
        assert_ne!(text(100, 8), short);
        assert_eq!(short.lines().next(), Some("x1,x2,x3,x4,x5,x6,x7,x8,label"));
    }

    #[test]
    fn classes_are_equally_frequent_and_rows_lie_around_their_centres() {
        let text = text(12_000, 1);
        let rows = rows(&text);
        for class in CLASSES {
            let n = rows.iter().filter(|row| row.1 == class).count() as f64;
            assert!((n - 4000.0).abs() < 5.0 * (12_000.0f64 * 2.0 / 9.0).sqrt(), "{class}: {n}");
        }
        // Squared lengths have mean 16 + 8 and variance 2 * 8 + 4 * 16.
        let mean = rows.iter().map(|row| row.0.iter().map(|x| x * x).sum::<f64>()).sum::<f64>() / 12_000.0;
        assert!((mean - 24.0).abs() < 5.0 * (80.0f64 / 12_000.0).sqrt(), "{mean}");
    }

    #[test]
    fn centres_turn_and_keep_their_length() {
        let length = |point: [f64; N_FEATURES]| point.iter().map(|x| x * x).sum::<f64>().sqrt();
        for centre in centres(3) {
            assert!((length(centre) - RADIUS).abs() < 1e-12);
            let mut later = centre;
            (0..10_000).for_each(|_| turn(&mut later));
            assert!((length(later) - RADIUS).abs() < 1e-9);
            for (plane, step) in STEPS.into_iter().enumerate() {
                let angle = |point: [f64; N_FEATURES]| point[2 * plane + 1].atan2(point[2 * plane]);
                let off = (angle(later) - angle(centre) - 10_000.0 * step).rem_euclid(TAU);
                assert!(off.min(TAU - off) < 1e-9, "plane {plane}: {off}");
            }
        }
    }
}
