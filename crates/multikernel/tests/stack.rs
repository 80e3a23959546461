//! The stack's operations against their definitions, written out entry by entry.

use multikernel::dist::Rng;
use multikernel::kernel::Kernel;
use multikernel::stack::{Building, Stack, Symmetric};
use multikernel::{Error, Matrix, Pool};

const BANK: [&str; 7] = [
    "gaussian(0.7)",
    "gaussian(gamma=0.3) on [0, 2]",
    "laplacian(0.4)",
    "linear",
    "polynomial(2)",
    "polynomial(3) on [1:4] raw",
    "gaussian(2) centred",
];

fn random(n_rows: usize, n_cols: usize, stream: u64) -> Matrix {
    let mut rng = Rng::new(1, stream);
    Matrix::from_fn(n_rows, n_cols, |_, _| 4.0 * rng.uniform() - 2.0)
}

fn kernels() -> Vec<Kernel> {
    BANK.iter().map(|text| text.parse().unwrap()).collect()
}

fn train(points: &Matrix, pool: &Pool) -> Stack {
    Stack::train(&points.clone().into(), &kernels(), &Building::new(pool)).unwrap()
}

/// The kernels by their formulas, from the two points alone.
fn literal(m: usize, x: &[f64], y: &[f64]) -> f64 {
    let pick = |v: &[f64], columns: &[usize]| columns.iter().map(|&c| v[c]).collect::<Vec<f64>>();
    let d2 = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let d1 = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(a, b)| (a - b).abs()).sum::<f64>();
    let ip = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(a, b)| a * b).sum::<f64>();
    match m {
        0 => (-d2(x, y) / (2.0 * 0.7 * 0.7)).exp(),
        1 => (-0.3 * d2(&pick(x, &[0, 2]), &pick(y, &[0, 2]))).exp(),
        2 => (-0.4 * d1(x, y)).exp(),
        3 => ip(x, y) / (ip(x, x) * ip(y, y)).sqrt(),
        4 => ((1.0 + ip(x, y)) / ((1.0 + ip(x, x)) * (1.0 + ip(y, y))).sqrt()).powi(2),
        5 => (1.0 + ip(&pick(x, &[1, 2, 3]), &pick(y, &[1, 2, 3]))).powi(3),
        _ => (-d2(x, y) / 8.0).exp(),
    }
}

/// All P kernels between `new` and `points` by their formulas, the last centred with the training means.
fn literal_stack(new: &Matrix, points: &Matrix) -> Vec<Matrix> {
    let plain =
        |m: usize, a: &Matrix| Matrix::from_fn(a.n_rows(), points.n_rows(), |i, j| literal(m, a.row(i), points.row(j)));
    let mut all: Vec<Matrix> = (0..BANK.len()).map(|m| plain(m, new)).collect();
    let train = plain(6, points);
    let n = points.n_rows() as f64;
    let means: Vec<f64> = train.rows().map(|row| row.iter().sum::<f64>() / n).collect();
    let grand = means.iter().sum::<f64>() / n;
    let last = all[6].clone();
    all[6] = Matrix::from_fn(new.n_rows(), points.n_rows(), |i, j| {
        last.get(i, j) - last.row(i).iter().sum::<f64>() / n - means[j] + grand
    });
    all
}

fn assert_close(found: &Matrix, expected: &Matrix, what: &str) {
    assert_eq!((found.n_rows(), found.n_cols()), (expected.n_rows(), expected.n_cols()), "{what}: shape");
    for i in 0..found.n_rows() {
        for j in 0..found.n_cols() {
            let (a, b) = (found.get(i, j), expected.get(i, j));
            // A dozen roundings of numbers of this size.
            assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{what}: ({i}, {j}) is {a}, expected {b}");
        }
    }
}

#[test]
fn block_of_every_kernel_equals_its_formula() {
    let (points, new, pool) = (random(150, 5, 0), random(9, 5, 1), Pool::new(2).unwrap());
    let stack = train(&points, &pool);
    let cross =
        Stack::cross(&new.clone().into(), &points.clone().into(), &kernels(), stack.centring(), &Building::new(&pool))
            .unwrap();
    let (all, some) = ((0..150).collect::<Vec<_>>(), (0..9).collect::<Vec<_>>());
    for (m, text) in BANK.iter().enumerate() {
        assert_close(&stack.block(m, &all, &all).unwrap(), &literal_stack(&points, &points)[m], text);
        assert_close(&cross.block(m, &some, &all).unwrap(), &literal_stack(&new, &points)[m], text);
    }
}

#[test]
fn combine_project_apply_collect_equal_their_sums() {
    let (points, pool) = (random(23, 5, 2), Pool::new(2).unwrap());
    let whole = train(&points, &pool);
    let (all, rows, cols) = ((0..23).collect::<Vec<_>>(), vec![4, 1, 19, 7, 7, 0], vec![2, 22, 5, 11]);
    let dense: Vec<Matrix> = (0..BANK.len()).map(|m| whole.block(m, &all, &all).unwrap()).collect();
    for (stack, rows, cols) in [
        (whole.clone(), all.clone(), all.clone()),
        (whole.view(&rows).unwrap(), rows.clone(), rows.clone()),
        (whole.between(&rows, &cols).unwrap(), rows, cols),
    ] {
        let k = |m: usize, i: usize, j: usize| dense[m].get(rows[i], cols[j]);
        let (n, c, p) = (rows.len(), cols.len(), BANK.len());

        let weights = random(p, 3, 3);
        let combined = stack.combine(&weights, &pool).unwrap();
        for (w, combined) in combined.iter().enumerate() {
            let sum = Matrix::from_fn(n, c, |i, j| (0..p).map(|m| weights.get(m, w) * k(m, i, j)).sum());
            assert_close(combined, &sum, "combine");
        }

        let (u, v, full) = (random(n, 2, 4), random(c, 2, 5), random(n, c, 6));
        let projected = stack.project(&[Symmetric::Dense(&full), Symmetric::Factored(&u, &v)], &pool).unwrap();
        let product = Matrix::from_fn(n, c, |i, j| (0..2).map(|r| u.get(i, r) * v.get(j, r)).sum());
        let inner = |m: usize, with: &Matrix| {
            (0..n).flat_map(|i| (0..c).map(move |j| (i, j))).map(|(i, j)| k(m, i, j) * with.get(i, j)).sum()
        };
        assert_close(
            &projected,
            &Matrix::from_fn(p, 2, |m, w| inner(m, if w == 0 { &full } else { &product })),
            "project",
        );

        let vectors = random(c, 2, 7);
        for (m, applied) in stack.apply(&vectors, &pool).unwrap().iter().enumerate() {
            let sum = Matrix::from_fn(n, 2, |i, r| (0..c).map(|j| k(m, i, j) * vectors.get(j, r)).sum());
            assert_close(applied, &sum, "apply");
        }

        let g = random(c, p, 8);
        let collected = Matrix::from_vec(n, 1, stack.collect(&g, &pool).unwrap()).unwrap();
        let sum = Matrix::from_fn(n, 1, |i, _| {
            (0..p).flat_map(|m| (0..c).map(move |j| (m, j))).map(|(m, j)| k(m, i, j) * g.get(j, m)).sum()
        });
        assert_close(&collected, &sum, "collect");
    }
}

#[test]
fn every_operation_on_any_number_of_threads_has_the_same_bits() {
    let points = random(61, 5, 9);
    let run = |n_threads: usize| {
        let pool = Pool::new(n_threads).unwrap();
        let stack = train(&points, &pool);
        let weights = random(BANK.len(), 2, 10);
        let mut all = stack.combine(&weights, &pool).unwrap();
        all.push(stack.project(&[Symmetric::Dense(&all[0])], &pool).unwrap());
        all.extend(stack.apply(&random(61, 3, 11), &pool).unwrap());
        let collected = stack.collect(&random(61, BANK.len(), 12), &pool).unwrap();
        (all, collected)
    };
    let one = run(1);
    for n_threads in [2, 3, 4] {
        assert!(run(n_threads) == one, "{n_threads} threads");
    }
}

#[test]
fn centred_kernel_has_rows_that_sum_to_zero() {
    let (points, pool) = (random(31, 5, 13), Pool::new(1).unwrap());
    let all: Vec<usize> = (0..31).collect();
    let centred = train(&points, &pool).block(6, &all, &all).unwrap();
    for row in centred.rows() {
        assert!(row.iter().sum::<f64>().abs() < 1e-13);
    }
}

#[test]
fn zero_row_under_a_unit_diagonal_gives_a_zero_row_and_a_note() {
    let mut points = random(6, 3, 14);
    points.row_mut(2).fill(0.0);
    let pool = Pool::new(1).unwrap();
    let stack = Stack::train(&points.into(), &["linear".parse().unwrap()], &Building::new(&pool)).unwrap();
    let all: Vec<usize> = (0..6).collect();
    assert!(stack.block(0, &[2], &all).unwrap().data().iter().all(|&value| value == 0.0));
    assert_eq!(stack.notes(), ["1 of 6 rows are zero on the columns of linear: their kernel rows are zero"]);
}

#[test]
fn stack_over_its_memory_is_refused_before_it_is_made() {
    let (points, pool) = (random(100, 2, 15), Pool::new(1).unwrap());
    let building = Building { memory: Some(100_000), ..Building::new(&pool) };
    let kernels = kernels_of(2);
    let error = Stack::train(&points.into(), &kernels, &building).unwrap_err();
    assert!(matches!(error, Error::Memory { need: 160_000, limit: 100_000, .. }), "{error}");
    let huge = Matrix::zeros(3_000_000, 1);
    assert!(matches!(Stack::train(&huge.into(), &kernels, &Building::new(&pool)).unwrap_err(), Error::Memory { .. }));
}

fn kernels_of(n: usize) -> Vec<Kernel> {
    (0..n).map(|_| "gaussian(1)".parse().unwrap()).collect()
}

#[test]
fn wrong_shapes_are_refused_by_name() {
    let (points, pool) = (random(5, 5, 16), Pool::new(1).unwrap());
    let stack = train(&points, &pool);
    let message = |error: Error| error.to_string();
    assert_eq!(
        message(stack.combine(&Matrix::zeros(3, 1), &pool).unwrap_err()),
        "combine: weights has 3 rows (one per kernel), the stack needs 7"
    );
    assert_eq!(message(stack.view(&[0, 5]).unwrap_err()), "row 5 of a view is outside the stack's 0..5");
    assert!(stack.block(7, &[0], &[0]).is_err());
    assert!(stack.apply(&Matrix::zeros(4, 1), &pool).is_err());
}
