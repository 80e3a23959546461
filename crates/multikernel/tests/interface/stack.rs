//! The stack's operations against their definitions, written out entry by entry.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use multikernel::data::{Features, Gram, Presence, View};
use multikernel::dist::Rng;
use multikernel::kernel::{Kernel, KernelBank};
use multikernel::stack::{Points, Precision, Stack, StackOptions, Storage, Symmetric};
use multikernel::{Error, Matrix, Matrix32, Pool};

const BANK: [&str; 7] = [
    "gaussian(0.7)",
    "gaussian(gamma=0.3) on [0, 2]",
    "laplacian(0.4)",
    "linear",
    "polynomial(2)",
    "polynomial(3) on [1:4] raw",
    "gaussian(2) centred",
];

/// Everything a stack can hold: the kernels above, Gaussians that come from one another, and enough radial kernels on
/// the same columns, twice, to be one function.
fn everything() -> Vec<Kernel> {
    let texts = "gaussian(2^-4..2^4) on [0:3], gaussian(gamma=2^-2..2^3) on [1, 2], gaussian(gamma=2^-5..2^4; 40), \
                 laplacian(0.01) on [3], laplacian(0.1) on [3]";
    let bank: KernelBank = texts.parse().unwrap();
    let mut kernels = bank.resolve(&Default::default(), &Matrix::zeros(2, 5).into()).unwrap();
    kernels.extend((1..=35).map(|k| format!("laplacian({})", 0.03 * f64::from(k)).parse::<Kernel>().unwrap()));
    kernels.extend(self::kernels());
    kernels
}

fn random(n_rows: usize, n_cols: usize, stream: u64) -> Matrix {
    let mut rng = Rng::new(1, stream);
    Matrix::from_fn(n_rows, n_cols, |_, _| 4.0 * rng.uniform() - 2.0)
}

fn kernels() -> Vec<Kernel> {
    BANK.iter().map(|text| text.parse().unwrap()).collect()
}

fn train(points: &Matrix, pool: &Pool) -> Stack {
    Stack::train(points, &kernels(), &StackOptions::new(pool)).unwrap()
}

/// Columns share what is read: each has the bits it has alone, whatever the others ask for.
#[test]
fn several_columns_have_the_bits_of_one_at_a_time() {
    let pool = Pool::new(2).unwrap();
    let each: KernelBank = "gaussian(2^-4..2^4) each, polynomial(1..3) each".parse().unwrap();
    let each = each.resolve(&Default::default(), &Matrix::zeros(2, 5).into()).unwrap();
    for (all, n, precision, storage) in [
        (everything(), 30, Precision::F64, Storage::Packed),
        (each.clone(), 30, Precision::F64, Storage::Packed),
        (each.clone(), 90, Precision::F32, Storage::Packed),
        (each, 30, Precision::F64, Storage::Tiled),
    ] {
        let options = StackOptions { precision, storage, ..StackOptions::new(&pool) };
        let stack = Stack::train(&random(n, 5, 2), &all, &options).unwrap();
        let full = random(all.len(), 6, 3);
        // The last column lacks kernels that the others have; without it all ask for the same.
        let weights = |m: usize, c: usize| if c == 5 && m.is_multiple_of(3) { 0.0 } else { full.get(m, c) };
        for n_columns in [2, 5, 6] {
            let weights = Matrix::from_fn(all.len(), n_columns, weights);
            let together = stack.combine(&weights, &pool).unwrap();
            let matrices: Vec<Matrix> = (0..n_columns as u64).map(|c| random(n, n, 10 + c)).collect();
            let forms: Vec<Symmetric<'_>> = matrices.iter().map(Symmetric::Dense).collect();
            let projected = stack.project(&forms, &pool).unwrap();
            for c in 0..n_columns {
                let alone = stack.combine(&weights.select_cols(&[c]), &pool).unwrap();
                assert_eq!(together[c], alone[0], "combine, column {c} of {n_columns}");
                let alone = stack.project(&forms[c..=c], &pool).unwrap();
                assert_eq!(projected.column(c), alone.column(0), "project, column {c} of {n_columns}");
            }
        }
    }
}

/// In every precision, stored or not, of a square and of what new points have in common with others, of a view and of some kernels.
#[test]
fn combined_kernel_in_f32_is_the_one_in_f64_rounded() {
    let pool = Pool::new(2).unwrap();
    let (points, new) = (random(90, 5, 2), random(37, 5, 4));
    for (precision, storage) in
        [(Precision::F64, Storage::Packed), (Precision::F32, Storage::Packed), (Precision::F32, Storage::Tiled)]
    {
        let options = StackOptions { precision, storage, ..StackOptions::new(&pool) };
        let square = Stack::train(&points, &everything(), &options).unwrap();
        let cross = Stack::cross(&new, &points, &everything(), square.centring(), &options).unwrap();
        let (some, few): (Vec<usize>, Vec<usize>) = ((3..80).step_by(2).collect(), vec![4, 0, 9]);
        let views = [square.clone(), cross, square.view(&some).unwrap(), square.pick(&few).unwrap()];
        for (which, stack) in views.iter().enumerate() {
            let weights = random(stack.n_kernels(), 1, 3);
            let wide = stack.combine(&weights, &pool).unwrap().remove(0);
            let narrow = stack.combine_f32(weights.data(), &pool).unwrap();
            assert!(narrow == Matrix32::of(&wide), "{precision:?} {storage:?} {which}");
        }
    }
    let error = train(&points, &pool).combine_f32(&[1.0], &pool).unwrap_err().to_string();
    assert!(error.starts_with("combine_f32: weights"), "{error}");
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
    let cross = Stack::cross(&new, &points, &kernels(), stack.centring(), &StackOptions::new(&pool)).unwrap();
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

        // Of a symmetric matrix the half above the diagonal is not looked at.
        let whole = Matrix::from_fn(n, c, |i, j| if n == c { full.get(i, j) + full.get(j, i) } else { 0.0 });
        let half = Matrix::from_fn(n, c, |i, j| if j > i { f64::NAN } else { whole.get(i, j) });
        let projected = stack.project(&[Symmetric::Lower(&half)], &pool);
        if n == c {
            assert_close(&projected.unwrap(), &Matrix::from_fn(p, 1, |m, _| inner(m, &whole)), "project on a half");
        } else {
            assert!(projected.unwrap_err().to_string().contains("square"));
        }

        let vectors = random(c, 2, 7);
        for (m, applied) in stack.apply(&vectors, &pool).unwrap().iter().enumerate() {
            let sum = Matrix::from_fn(n, 2, |i, r| (0..c).map(|j| k(m, i, j) * vectors.get(j, r)).sum());
            assert_close(applied, &sum, "apply");
        }

        let g = random(c, p, 8);
        let sum = Matrix::from_fn(n, 1, |i, _| {
            (0..p).flat_map(|m| (0..c).map(move |j| (m, j))).map(|(m, j)| k(m, i, j) * g.get(j, m)).sum()
        });
        assert_close(&stack.collect(&g, &pool).unwrap(), &sum, "collect");

        // Three vectors for each kernel.
        let g = random(c, 3 * p, 81);
        let sum = Matrix::from_fn(n, 3, |i, r| {
            (0..p).flat_map(|m| (0..c).map(move |j| (m, j))).map(|(m, j)| k(m, i, j) * g.get(j, 3 * m + r)).sum()
        });
        assert_close(&stack.collect(&g, &pool).unwrap(), &sum, "collect of three");
        assert!(stack.collect(&random(c, 3 * p + 1, 81), &pool).is_err());
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
    let stack = Stack::train(&points, &["linear".parse().unwrap()], &StackOptions::new(&pool)).unwrap();
    let all: Vec<usize> = (0..6).collect();
    assert!(stack.block(0, &[2], &all).unwrap().data().iter().all(|&value| value == 0.0));
    assert_eq!(stack.notes(), ["1 of 6 rows are zero on the columns of linear: their kernel rows are zero"]);
}

/// The whole stack, a view, a resample and different points.
fn views_of(stack: &Stack) -> [Stack; 5] {
    let n = stack.n_rows();
    let (view, resample): (Vec<usize>, Vec<usize>) =
        ((0..n).rev().step_by(2).collect(), (0..n).map(|i| i * i % 7).collect());
    [
        stack.clone(),
        stack.view(&view).unwrap(),
        stack.view(&resample).unwrap().view(&view).unwrap(),
        stack.between(&view, &resample).unwrap(),
        stack.between(&resample, &(0..n).collect::<Vec<_>>()).unwrap(),
    ]
}

/// Every operation on some views.
fn results(views: &[Stack], pool: &Pool) -> Vec<Matrix> {
    let mut all = vec![];
    for stack in views {
        let (n, c, p) = (stack.n_rows(), stack.n_cols(), stack.n_kernels());
        all.extend(stack.combine(&random(p, 3, 30), pool).unwrap());
        let (u, v, full) = (random(n, 2, 31), random(c, 2, 32), random(n, c, 33));
        all.push(stack.project(&[Symmetric::Dense(&full), Symmetric::Factored(&u, &v)], pool).unwrap());
        all.extend(stack.apply(&random(c, 2, 34), pool).unwrap());
        all.push(stack.collect(&random(c, 2 * p, 35), pool).unwrap());
        all.extend((0..p).map(|m| stack.block(m, &[0, n - 1, 3], &[c - 1, 2]).unwrap()));
        all.push(stack.unfold(pool).unwrap());
    }
    all
}

#[test]
fn unfold_is_every_kernel_in_the_order_picked_one_below_the_other() {
    let (points, pool) = (random(70, 5, 22), Pool::new(2).unwrap());
    // Some kernels twice; the first 32 and more of them are one function of the distance.
    let picked: Vec<usize> = (0..everything().len()).rev().step_by(3).chain([1, 0, 1]).collect();
    let (rows, cols) = (vec![69, 4, 4, 17, 33, 8], vec![2, 68, 5, 11, 4]);
    for storage in [Storage::Packed, Storage::Tiled] {
        let stack =
            Stack::train(&points, &everything(), &StackOptions { storage, ..StackOptions::new(&pool) }).unwrap();
        let stack = stack.pick(&picked).unwrap();
        for view in [stack.clone(), stack.view(&rows).unwrap(), stack.between(&rows, &cols).unwrap()] {
            let (n, c) = (view.n_rows(), view.n_cols());
            let (all_rows, all_cols): (Vec<usize>, Vec<usize>) = ((0..n).collect(), (0..c).collect());
            let unfolded = view.unfold(&pool).unwrap();
            assert_eq!((unfolded.n_rows(), unfolded.n_cols()), (picked.len() * n, c));
            for m in 0..picked.len() {
                let block = view.block(m, &all_rows, &all_cols).unwrap();
                assert!(block.data() == &unfolded.data()[m * n * c..(m + 1) * n * c], "kernel {m}, {storage:?}");
            }
        }
    }
}

#[test]
fn every_operation_has_the_same_bits_stored_or_computed_on_any_number_of_threads() {
    // More than one tile wide, and no whole number of blocks.
    let points = random(277, 5, 20);
    for precision in [Precision::F64, Precision::F32] {
        let run = |n_threads: usize, storage: Storage| {
            let pool = Pool::new(n_threads).unwrap();
            let options = StackOptions { storage, precision, ..StackOptions::new(&pool) };
            let stack = Stack::train(&points, &everything(), &options).unwrap();
            assert_eq!(stack.bytes() > 0, storage == Storage::Packed);
            results(&views_of(&stack), &pool)
        };
        let one = run(1, Storage::Packed);
        for (n_threads, storage) in [(1, Storage::Tiled), (2, Storage::Packed), (3, Storage::Tiled)] {
            assert!(run(n_threads, storage) == one, "{n_threads} threads, {storage:?}, {precision:?}");
        }
    }
}

#[test]
fn compact_views_have_the_bits_of_views_and_no_more_values() {
    let points = random(277, 5, 20);
    for (precision, storage) in
        [(Precision::F64, Storage::Packed), (Precision::F32, Storage::Packed), (Precision::F64, Storage::Tiled)]
    {
        let pool = Pool::new(2).unwrap();
        let options = StackOptions { storage, precision, ..StackOptions::new(&pool) };
        let stack = Stack::train(&points, &everything(), &options).unwrap();
        let views = views_of(&stack);
        let compact: Vec<Stack> = views.iter().map(|view| view.compact(&pool).unwrap()).collect();
        assert!(results(&compact, &pool) == results(&views, &pool), "{precision:?}, {storage:?}");
        let again = [
            compact[1].view(&[5, 70, 5, 9]).unwrap(),
            compact[1].view(&[5, 70, 5, 9]).unwrap().compact(&pool).unwrap(),
        ];
        assert_eq!(results(&again[..1], &pool), results(&again[1..], &pool));
        let packed = storage == Storage::Packed;
        assert_eq!(compact[1].bytes() < stack.bytes() / 3, packed);
        assert_eq!(compact[1].centring(), stack.centring());
        // As much as the stack and one result take: a view stays one.
        let memory = Some(stack.bytes() + 8 * 277 * 277);
        let limited = Stack::train(&points, &everything(), &StackOptions { memory, ..options }).unwrap();
        let view = limited.view(&(0..270).collect::<Vec<_>>()).unwrap();
        assert_eq!(view.compact(&pool).unwrap().bytes(), limited.bytes());
    }
}

#[test]
fn views_have_the_values_of_the_whole() {
    let (points, pool) = (random(70, 5, 21), Pool::new(2).unwrap());
    let kernels = everything();
    let (rows, cols) = (vec![69, 4, 4, 17, 33, 8], vec![2, 68, 5, 11, 4]);
    for storage in [Storage::Packed, Storage::Tiled] {
        let stack = Stack::train(&points, &kernels, &StackOptions { storage, ..StackOptions::new(&pool) }).unwrap();
        let weights = random(kernels.len(), 1, 22);
        let whole = stack.combine(&weights, &pool).unwrap().remove(0);
        let between = stack.between(&rows, &cols).unwrap().combine(&weights, &pool).unwrap().remove(0);
        let view = stack.view(&rows).unwrap().combine(&weights, &pool).unwrap().remove(0);
        for (a, &i) in rows.iter().enumerate() {
            for (b, &j) in cols.iter().enumerate() {
                assert_eq!(between.get(a, b).to_bits(), whole.get(i, j).to_bits());
            }
            for (b, &j) in rows.iter().enumerate() {
                assert_eq!(view.get(a, b).to_bits(), whole.get(i, j).to_bits());
            }
        }
    }
}

#[test]
fn rows_of_a_cross_stack_are_those_of_the_square_one() {
    let (points, pool) = (Features::from(random(60, 5, 23)), Pool::new(2).unwrap());
    let kernels: Vec<Kernel> = everything().into_iter().filter(|kernel| !kernel.is_centred()).collect();
    let options = StackOptions { storage: Storage::Tiled, ..StackOptions::new(&pool) };
    let weights = random(kernels.len(), 2, 24);
    let square = Stack::train(&points, &kernels, &options).unwrap().combine(&weights, &pool).unwrap();
    let none = vec![None; kernels.len()];
    for rows in [vec![5], (0..60).rev().collect::<Vec<_>>()] {
        let cross = Stack::cross(&points.select_rows(&rows), &points, &kernels, &none, &options).unwrap();
        for (square, cross) in square.iter().zip(cross.combine(&weights, &pool).unwrap()) {
            assert!(cross == square.select_rows(&rows));
        }
    }
}

#[test]
fn gaussians_by_squaring_are_exact_to_their_last_digits() {
    let (points, pool) = (random(40, 5, 25), Pool::new(1).unwrap());
    let all: Vec<usize> = (0..40).collect();
    for bank in ["gaussian(2^-6..2^7)", "gaussian(gamma=2^-12..2^12)", "gaussian(median*2^-3..2^3)"] {
        let features = Features::from(points.clone());
        let kernels = bank.parse::<KernelBank>().unwrap().resolve(&Default::default(), &features).unwrap();
        let stack = Stack::train(&features, &kernels, &StackOptions::new(&pool)).unwrap();
        for (m, kernel) in kernels.iter().enumerate() {
            let found = stack.block(m, &all, &all).unwrap();
            let rate = kernel.rate().unwrap();
            for i in 0..40 {
                for j in 0..40 {
                    let d2: f64 = points.row(i).iter().zip(points.row(j)).map(|(a, b)| (a - b).powi(2)).sum();
                    let expected = (-rate * d2).exp();
                    let error = (found.get(i, j) - expected).abs();
                    // Sixteen times a unit in the last place; and of the exponent five roundings on either side.
                    let relative = 16.0 * 2.3e-16 + 10.0 * 1.2e-16 * rate * d2;
                    assert!(error <= relative * expected + 1e-305 && error < 1e-13, "{kernel} {d2}: {error}");
                }
            }
        }
    }
}

#[test]
fn many_radial_kernels_are_their_sum_to_1e_11() {
    let (points, pool) = (random(90, 5, 26), Pool::new(2).unwrap());
    let bank: KernelBank = "gaussian(gamma=2^-15..2^15; 300)".parse().unwrap();
    let features = Features::from(points.clone());
    let kernels = bank.resolve(&Default::default(), &features).unwrap();
    let stack = Stack::train(&features, &kernels, &StackOptions::new(&pool)).unwrap();
    // One value per entry, not 300.
    assert!(stack.bytes() < 90 * 96 / 2 * 8 + 1000, "{}", stack.bytes());
    let d2 = |i: usize, j: usize| points.row(i).iter().zip(points.row(j)).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let k = |m: usize, i: usize, j: usize| (-kernels[m].rate().unwrap() * d2(i, j)).exp();
    let weights = Matrix::from_fn(300, 1, |m, _| 1.0 / (1 + m) as f64);
    let total: f64 = weights.data().iter().sum();
    let combined = stack.combine(&weights, &pool).unwrap().remove(0);
    let matrix = Matrix::from_fn(90, 90, |i, j| f64::from(u8::from((i * j) % 3 == 0)) - 0.4);
    let size: f64 = matrix.data().iter().map(|value| value.abs()).sum();
    let projected = stack.project(&[Symmetric::Dense(&matrix)], &pool).unwrap();
    for i in 0..90 {
        for j in 0..90 {
            let sum: f64 = (0..300).map(|m| weights.get(m, 0) * k(m, i, j)).sum();
            assert!((combined.get(i, j) - sum).abs() < 1e-11 * total, "({i}, {j})");
        }
        assert_eq!(combined.get(i, i), total);
    }
    for m in 0..300 {
        let sum: f64 =
            (0..90).flat_map(|i| (0..90).map(move |j| (i, j))).map(|(i, j)| k(m, i, j) * matrix.get(i, j)).sum();
        assert!((projected.get(m, 0) - sum).abs() < 1e-11 * size, "kernel {m}");
    }
}

#[test]
fn single_precision_is_right_to_its_last_digits() {
    let (points, pool) = (random(50, 5, 27), Pool::new(1).unwrap());
    let all: Vec<usize> = (0..50).collect();
    let stack = |precision| {
        Stack::train(&points, &everything(), &StackOptions { precision, ..StackOptions::new(&pool) }).unwrap()
    };
    let (wide, narrow) = (stack(Precision::F64), stack(Precision::F32));
    assert_eq!(2 * narrow.bytes(), wide.bytes());
    for (m, kernel) in everything().iter().enumerate() {
        let (wide, narrow) = (wide.block(m, &all, &all).unwrap(), narrow.block(m, &all, &all).unwrap());
        let differs = wide.data().iter().zip(narrow.data()).any(|(a, b)| a != b);
        assert!(differs, "{kernel}: nothing was rounded");
        for (a, b) in wide.data().iter().zip(narrow.data()) {
            // Three roundings to 24 bits in the exponent x, where x e^-x is below 0.37, and 1.1 units in the last
            // place.
            assert!((a - b).abs() <= 3.0 * 6e-8 * 0.37 + 1.1 * 1.2e-7 * a.abs(), "{kernel}: {a} {b}");
        }
    }
}

#[test]
fn many_radial_kernels_of_extreme_rates_are_right_in_single_precision() {
    let pool = Pool::new(1).unwrap();
    let all: Vec<usize> = (0..12).collect();
    for exponent in [-60, 0, 60] {
        // Distances that are 0 or infinite in `f32`, among rates that are not extreme.
        let size = 10f64.powi(exponent);
        let points = Matrix::from_fn(12, 2, |i, j| size * ((i * 7 + j * 3) % 11) as f64);
        let gammas =
            (0..40).map(|k| 0.1 + f64::from(k)).chain((0..40).map(|k| 10f64.powi(-2 * exponent) / f64::from(3 + k)));
        let kernels: Vec<Kernel> = gammas.map(|gamma| format!("gaussian(gamma={gamma:e})").parse().unwrap()).collect();
        let options = StackOptions { precision: Precision::F32, ..StackOptions::new(&pool) };
        let stack = Stack::train(&points, &kernels, &options).unwrap();
        for (m, kernel) in kernels.iter().enumerate() {
            let weights = Matrix::from_fn(80, 1, |k, _| f64::from(u8::from(k == m)));
            let (block, combined) = (stack.block(m, &all, &all).unwrap(), stack.combine(&weights, &pool).unwrap());
            for (i, j) in all.iter().flat_map(|&i| all.iter().map(move |&j| (i, j))) {
                let expected = kernel.between(points.row(i), points.row(j));
                for found in [block.get(i, j), combined[0].get(i, j)] {
                    assert!((found - expected).abs() <= 2e-7, "{kernel} at {size:e}: {found}, expected {expected}");
                }
            }
        }
    }
}

#[test]
fn stack_over_its_memory_is_computed_or_refused() {
    let (points, pool) = (Features::from(random(100, 2, 15)), Pool::new(1).unwrap());
    let kernels = kernels_of(2);
    let limited = |memory, storage| StackOptions { memory: Some(memory), storage, ..StackOptions::new(&pool) };
    let error = Stack::train(&points, &kernels, &limited(80_000, Storage::Packed)).unwrap_err();
    // 12 blocks of 8 rows and one of 4: (12 * 13 / 2 * 64 + 4 * 100) entries of two kernels of 8 bytes.
    assert!(matches!(error, Error::Memory { need: 86_272, limit: 80_000, .. }), "{error}");
    // Room for the stack, but not for a combined kernel beside it.
    let stack = Stack::train(&points, &kernels, &limited(100_000, Storage::Fit)).unwrap();
    assert_eq!(stack.bytes(), 0);
    assert!(stack.describe().contains("would cross the 97.7 KiB allowed"), "{}", stack.describe());
    assert!(stack.combine(&Matrix::zeros(2, 1), &pool).is_ok());
    let error = stack.combine(&Matrix::zeros(2, 2), &pool).unwrap_err();
    assert!(matches!(error, Error::Memory { need: 160_000, limit: 100_000, .. }), "{error}");
    let huge = Matrix::zeros(3_000_000, 1);
    let packed = StackOptions { storage: Storage::Packed, ..StackOptions::new(&pool) };
    assert!(matches!(Stack::train(&huge, &kernels, &packed).unwrap_err(), Error::Memory { .. }));
    // Nothing is known of a limit, but the system has not that much.
    let stack = Stack::train(&huge, &kernels, &StackOptions::new(&pool)).unwrap();
    assert_eq!(stack.bytes(), 0);
    assert!(matches!(stack.combine(&Matrix::zeros(2, 1), &pool).unwrap_err(), Error::Memory { .. }));
}

#[test]
fn stopped_operation_is_an_error_and_no_result() {
    let pool = Pool::new(2).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let stop: Arc<dyn Fn() -> bool + Send + Sync> = Arc::new(move || counter.fetch_add(1, Ordering::Relaxed) >= 5);
    for storage in [Storage::Packed, Storage::Tiled] {
        let options = StackOptions { stop: Some(stop.clone()), storage, ..StackOptions::new(&pool) };
        let stack = Stack::train(&random(300, 3, 28), &kernels_of(3), &options).unwrap();
        asked.store(0, Ordering::Relaxed);
        let is_stopped = |error: Error| matches!(error, Error::Stopped(_));
        assert!(
            is_stopped(stack.combine(&Matrix::zeros(3, 1), &pool).map(drop).unwrap_err()) || storage == Storage::Tiled
        );
        assert!(is_stopped(stack.combine(&random(3, 1, 29), &pool).map(drop).unwrap_err()));
        assert!(is_stopped(stack.project(&[], &pool).map(drop).unwrap_err()));
        assert!(is_stopped(stack.apply(&Matrix::zeros(300, 1), &pool).map(drop).unwrap_err()));
        assert!(is_stopped(stack.collect(&Matrix::zeros(300, 3), &pool).map(drop).unwrap_err()));
        assert!(stack.unstoppable().combine(&random(3, 1, 29), &pool).is_ok());
    }
}

fn kernels_of(n: usize) -> Vec<Kernel> {
    (0..n).map(|_| "gaussian(1)".parse().unwrap()).collect()
}

#[test]
fn rows_without_columns_are_all_equal() {
    let pool = Pool::new(2).unwrap();
    let kernels = ["gaussian(1)", "laplacian(1)", "linear", "polynomial(2)", "linear raw"].map(|k| k.parse().unwrap());
    let all: Vec<usize> = (0..9).collect();
    for storage in [Storage::Packed, Storage::Tiled] {
        let options = StackOptions { storage, ..StackOptions::new(&pool) };
        let stack = Stack::train(&Matrix::zeros(9, 0), &kernels, &options).unwrap();
        for (m, expected) in [1.0, 1.0, 0.0, 1.0, 0.0].into_iter().enumerate() {
            assert!(stack.block(m, &all, &all).unwrap().data().iter().all(|&value| value == expected), "{m}");
        }
    }
}

#[test]
fn stacks_of_any_size_from_nothing_on_have_all_operations() {
    let pool = Pool::new(5).unwrap();
    let everything = everything();
    for (n, kernels) in [(0, &everything[..]), (1, &everything), (9, &everything), (9, &[]), (257, &everything[..3])] {
        let options = StackOptions::new(&pool);
        let points = random(n, 5, 40);
        let stack = Stack::train(&points, kernels, &options).unwrap();
        let cross = |m| Stack::cross(&random(m, 5, 41), &points, kernels, stack.centring(), &options).unwrap();
        let first: Vec<usize> = (0..n.min(1)).collect();
        for stack in [
            stack.clone(),
            stack.view(&[]).unwrap(),
            stack.between(&first, &[]).unwrap(),
            stack.between(&[], &first).unwrap(),
            cross(0),
            cross(3),
        ] {
            let (n, c, p) = (stack.n_rows(), stack.n_cols(), stack.n_kernels());
            assert_eq!(stack.combine(&Matrix::zeros(p, 1), &pool).unwrap(), [Matrix::zeros(n, c)]);
            let projected = stack.project(&[Symmetric::Dense(&Matrix::zeros(n, c))], &pool).unwrap();
            assert_eq!(projected, Matrix::zeros(p, 1));
            assert_eq!(stack.apply(&Matrix::zeros(c, 2), &pool).unwrap(), vec![Matrix::zeros(n, 2); p]);
            // Without kernels there are no vectors to count.
            assert_eq!(stack.collect(&Matrix::zeros(c, p), &pool).unwrap(), Matrix::zeros(n, p.min(1)));
            assert_eq!(stack.collect(&Matrix::zeros(c, 2 * p), &pool).unwrap(), Matrix::zeros(n, 2 * p.min(1)));
        }
    }
}

#[test]
fn view_of_a_cross_stack_is_held_to_both_its_sides() {
    let pool = Pool::new(1).unwrap();
    for (n, c) in [(50, 10), (10, 50)] {
        let (new, points) = (random(n, 2, 42), random(c, 2, 43));
        let cross = Stack::cross(&new, &points, &kernels_of(1), &[None], &StackOptions::new(&pool)).unwrap();
        assert!(cross.view(&[40]).is_err());
        let view = cross.view(&[7, 3]).unwrap().combine(&Matrix::from_fn(1, 1, |_, _| 1.0), &pool).unwrap();
        assert_eq!(view[0], cross.block(0, &[7, 3], &[7, 3]).unwrap());
    }
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

// ---- points that lack views, Gram matrices that were given, some of the kernels

/// Three views on five columns, and which of them each row has: all, or all but one or two.
fn views_and_presence(n: usize) -> (Vec<View>, Presence) {
    let view = |(name, columns): (&str, std::ops::Range<usize>)| View { name: name.into(), columns };
    let views: Vec<View> = [("a", 0..2), ("b", 2..3), ("c", 3..5)].map(view).to_vec();
    let flags: Vec<u64> = (0..n).flat_map(|i| [u64::from(i % 4 != 1), u64::from(i % 3 != 2), 1]).collect();
    (views, Presence::from_parts(3, &flags).unwrap())
}

const ON_VIEWS: [&str; 6] = [
    "gaussian(1) on [0:2]",
    "gaussian(2) on [0:2]",
    "linear on [2]",
    "polynomial(2) on [3:5]",
    "gaussian(1) centred on [0:2]",
    "gaussian(1)",
];

/// K~ = S A K A S by its definition, the centred kernel with means over the points that have its view.
fn gated(points: &Matrix, kernels: &[Kernel], (views, presence): &(Vec<View>, Presence)) -> Vec<Matrix> {
    let n = points.n_rows();
    let has = |m: usize, i: usize| {
        let looks_at = kernels[m].columns().indices(5);
        (0..3).all(|v| presence.has(i, v) || !looks_at.iter().any(|column| views[v].columns.contains(column)))
    };
    let scale = |i: usize| {
        let count = (0..kernels.len()).filter(|&m| has(m, i)).count();
        (count as f64 / kernels.len() as f64).powf(-0.5)
    };
    let one = |m: usize| {
        let plain = Matrix::from_fn(n, n, |i, j| kernels[m].between(points.row(i), points.row(j)));
        let known: Vec<usize> = (0..n).filter(|&i| has(m, i)).collect();
        let mean = |i: usize| known.iter().map(|&j| plain.get(i, j)).sum::<f64>() / known.len() as f64;
        let means: Vec<f64> = (0..n).map(mean).collect();
        let grand = known.iter().map(|&i| means[i]).sum::<f64>() / known.len() as f64;
        Matrix::from_fn(n, n, |i, j| {
            let centred = if kernels[m].is_centred() { grand - means[i] - means[j] } else { 0.0 };
            if has(m, i) && has(m, j) { scale(i) * scale(j) * (plain.get(i, j) + centred) } else { 0.0 }
        })
    };
    (0..kernels.len()).map(one).collect()
}

#[test]
fn kernels_of_points_that_lack_views_are_s_a_k_a_s() {
    let (points, pool, n) = (random(37, 5, 60), Pool::new(2).unwrap(), 37);
    let kernels: Vec<Kernel> = ON_VIEWS.map(|text| text.parse().unwrap()).to_vec();
    let known = views_and_presence(n);
    let incomplete = Points::from(&points).with_presence(&known.1, &known.0, &kernels).unwrap();
    let expected = gated(&points, &kernels, &known);
    let all: Vec<usize> = (0..n).collect();
    for (precision, tolerance) in [(Precision::F64, 1e-14), (Precision::F32, 1e-6)] {
        for storage in [Storage::Packed, Storage::Tiled] {
            let options = StackOptions { storage, precision, ..StackOptions::new(&pool) };
            let stack = Stack::train(&incomplete, &kernels, &options).unwrap();
            for (m, expected) in expected.iter().enumerate() {
                let found = stack.block(m, &all, &all).unwrap();
                for (found, expected) in found.data().iter().zip(expected.data()) {
                    assert!((found - expected).abs() < tolerance, "{m}: {found} {expected}");
                }
            }
            // New points are gated the same way: the training points once more, as new ones.
            let cross = Stack::cross(&incomplete, &incomplete, &kernels, stack.centring(), &options).unwrap();
            for m in 0..kernels.len() {
                let (a, b) = (stack.block(m, &all, &all).unwrap(), cross.block(m, &all, &all).unwrap());
                assert!(a.data().iter().zip(b.data()).all(|(a, b)| (a - b).abs() < 1e-15), "{m}");
            }
        }
    }
    // Unit diagonals average to one, whatever is missing.
    let plain: Vec<Kernel> = kernels.iter().filter(|kernel| kernel.has_unit_diagonal()).cloned().collect();
    let incomplete = Points::from(&points).with_presence(&known.1, &known.0, &plain).unwrap();
    let stack = Stack::train(&incomplete, &plain, &StackOptions::new(&pool)).unwrap();
    let weights = Matrix::from_fn(plain.len(), 1, |_, _| 1.0 / plain.len() as f64);
    let sum = stack.combine(&weights, &pool).unwrap().remove(0);
    // The one column of view b may be zero in no row of this data.
    assert!((0..n).all(|i| (sum.get(i, i) - 1.0).abs() < 1e-14));
}

#[test]
fn many_radial_kernels_of_points_that_lack_views_are_not_one_function() {
    let (points, pool, n) = (random(20, 5, 61), Pool::new(1).unwrap(), 20);
    let bank: KernelBank = "gaussian(gamma=2^-5..2^5; 40) on [0:2], linear on [3:5]".parse().unwrap();
    let kernels = bank.resolve(&Default::default(), &points.clone().into()).unwrap();
    let known = views_and_presence(n);
    let incomplete = Points::from(&points).with_presence(&known.1, &known.0, &kernels).unwrap();
    let stack = Stack::train(&incomplete, &kernels, &StackOptions::new(&pool)).unwrap();
    let weights = Matrix::from_fn(kernels.len(), 1, |m, _| 1.0 / (m + 1) as f64);
    let sum = stack.combine(&weights, &pool).unwrap().remove(0);
    let expected = gated(&points, &kernels, &known);
    for i in 0..n {
        for j in 0..n {
            let direct: f64 = expected.iter().enumerate().map(|(m, k)| k.get(i, j) / (m + 1) as f64).sum();
            assert!((sum.get(i, j) - direct).abs() < 1e-13, "{i} {j}");
        }
    }
}

#[test]
fn precomputed_kernels_are_the_gram_matrix_at_the_points() {
    let (points, pool) = (random(30, 5, 62), Pool::new(2).unwrap());
    let own: Kernel = "polynomial(2) raw".parse().unwrap();
    let values = Matrix::from_fn(30, 30, |i, j| own.between(points.row(i), points.row(j)));
    let gram = Gram::square("g", values.clone()).unwrap();
    let kernels: Vec<Kernel> =
        ["precomputed(g) raw", "precomputed(g)", "polynomial(2) raw", "precomputed(g) raw centred"]
            .map(|text| text.parse().unwrap())
            .to_vec();
    // Training points are some rows of the matrix, new ones others.
    let (train, test): (Vec<usize>, Vec<usize>) = ((0..30).step_by(2).collect(), (1..30).step_by(2).collect());
    let of =
        |rows: &[usize]| Points::from(&points.select_rows(rows)).with_grams(std::slice::from_ref(&gram), rows).unwrap();
    let options = StackOptions::new(&pool);
    let stack = Stack::train(of(&train), &kernels, &options).unwrap();
    let cross = Stack::cross(of(&test), of(&train), &kernels, stack.centring(), &options).unwrap();
    let all: Vec<usize> = (0..15).collect();
    for (rows, stack) in [(&train, &stack), (&test, &cross)] {
        let raw = stack.block(0, &all, &all).unwrap();
        let unit = stack.block(1, &all, &all).unwrap();
        let computed = stack.block(2, &all, &all).unwrap();
        let centred = stack.block(3, &all, &all).unwrap();
        let mean = |i: usize| train.iter().map(|&k| values.get(i, k)).sum::<f64>() / 15.0;
        let grand = train.iter().map(|&k| mean(k)).sum::<f64>() / 15.0;
        for (a, &i) in rows.iter().enumerate() {
            for (b, &j) in train.iter().enumerate() {
                assert_eq!(raw.get(a, b), values.get(i, j));
                assert!((computed.get(a, b) - values.get(i, j)).abs() < 1e-12);
                let expected = values.get(i, j) / (values.get(i, i) * values.get(j, j)).sqrt();
                assert!((unit.get(a, b) - expected).abs() < 1e-14);
                let expected = values.get(i, j) - mean(i) - mean(j) + grand;
                assert!((centred.get(a, b) - expected).abs() < 1e-11);
            }
        }
    }
    // What a file of new rows brings: a rectangle with or without its own diagonal.
    let rectangle = Matrix::from_fn(15, 30, |a, j| values.get(test[a], j));
    let diagonal: Vec<f64> = test.iter().map(|&i| values.get(i, i)).collect();
    let new = |diagonal: Option<Vec<f64>>| {
        let gram = Gram::cross("g", rectangle.clone(), diagonal, gram.diagonal()).unwrap();
        Points::from(&points.select_rows(&test)).with_grams(&[gram], &all).unwrap()
    };
    let again = Stack::cross(new(Some(diagonal)), of(&train), &kernels, stack.centring(), &options).unwrap();
    assert_eq!(again.block(1, &all, &all).unwrap(), cross.block(1, &all, &all).unwrap());
    let error = Stack::cross(new(None), of(&train), &kernels[1..2], &[None], &options).unwrap_err();
    assert!(error.to_string().contains("comes without the diagonal"), "{error}");
    assert!(Stack::cross(new(None), of(&train), &kernels[..1], &[None], &options).is_ok());
    let error = Stack::train(&points, &kernels[..1], &options).unwrap_err().to_string();
    assert_eq!(
        error,
        "precomputed(g) raw needs a Gram matrix that is not there (none was given); give it with `Samples::with_grams`"
    );
}

#[test]
fn picked_kernels_are_those_of_the_stack() {
    let (points, pool) = (random(23, 5, 63), Pool::new(2).unwrap());
    let kernels = everything();
    let matrix = Matrix::from_fn(23, 23, |i, j| ((i * j) % 5) as f64 - 1.0);
    let vectors = random(23, 2, 64);
    for storage in [Storage::Packed, Storage::Tiled] {
        let stack = Stack::train(&points, &kernels, &StackOptions { storage, ..StackOptions::new(&pool) }).unwrap();
        let chosen: Vec<usize> = (0..kernels.len()).rev().step_by(3).collect();
        let some = stack.pick(&chosen).unwrap();
        assert_eq!(some.n_kernels(), chosen.len());
        let weights = Matrix::from_fn(chosen.len(), 2, |m, c| (m + 2 * c) as f64 + 0.5);
        let mut all = Matrix::zeros(kernels.len(), 2);
        let mut apart = Matrix::zeros(23, kernels.len());
        let some_apart = random(23, chosen.len(), 65);
        for (k, &m) in chosen.iter().enumerate() {
            all.row_mut(m).copy_from_slice(weights.row(k));
            (0..23).for_each(|i| apart.set(i, m, some_apart.get(i, k)));
        }
        assert_eq!(some.combine(&weights, &pool).unwrap(), stack.combine(&all, &pool).unwrap());
        assert_eq!(some.collect(&some_apart, &pool).unwrap(), stack.collect(&apart, &pool).unwrap());
        let (found, whole) =
            (some.project(&[Symmetric::Dense(&matrix)], &pool), stack.project(&[Symmetric::Dense(&matrix)], &pool));
        assert_eq!(found.unwrap(), whole.unwrap().select_rows(&chosen));
        let (found, whole) = (some.apply(&vectors, &pool).unwrap(), stack.apply(&vectors, &pool).unwrap());
        assert!(found.iter().zip(&chosen).all(|(found, &m)| *found == whole[m]));
        assert_eq!(some.block(1, &[0, 2], &[1]).unwrap(), stack.block(chosen[1], &[0, 2], &[1]).unwrap());
        // A pick of a pick, on a view.
        let again = some.view(&[3, 1]).unwrap().pick(&[2]).unwrap();
        assert_eq!(again.block(0, &[0], &[1]).unwrap(), stack.block(chosen[2], &[3], &[1]).unwrap());
        assert!(some.pick(&[chosen.len()]).is_err());
    }
}

/// Coefficients of which most are zero, in the last column none.
fn coefficients(n: usize, n_columns: usize, stream: u64) -> Matrix {
    let mut rng = Rng::new(9, stream);
    Matrix::from_fn(n, n_columns, |_, c| {
        let value = 2.0 * rng.uniform() - 1.0;
        if c + 1 == n_columns || rng.below(4) == 0 { value } else { 0.0 }
    })
}

/// `sum_j c_jc sum_m W_mc k_m(i, j)` through the combined matrices.
fn decisions(stack: &Stack, weights: &Matrix, coefficients: &Matrix, pool: &Pool) -> Matrix {
    let sums = stack.combine(weights, pool).unwrap();
    let entry = |i: usize, c: usize| -> f64 {
        let row = sums[c.min(sums.len() - 1)].row(i);
        row.iter().zip(coefficients.rows()).map(|(value, coefficient)| value * coefficient[c]).sum()
    };
    Matrix::from_fn(stack.n_rows(), coefficients.n_cols(), entry)
}

#[test]
fn decide_is_the_product_with_the_combined_kernel_of_each_column() {
    let (pool, one) = (Pool::new(2).unwrap(), Pool::new(1).unwrap());
    let (points, new, kernels) = (random(300, 5, 1), random(21, 5, 2), everything());
    for precision in [Precision::F64, Precision::F32] {
        let options = StackOptions { precision, storage: Storage::Tiled, ..StackOptions::new(&pool) };
        let train = Stack::train(&points, &kernels, &options).unwrap();
        let cross = Stack::cross(&new, &points, &kernels, train.centring(), &options).unwrap();
        for (stack, n_weights) in [(&train, 1), (&train, 3), (&cross, 1), (&cross, 3)] {
            let weights = Matrix::from_fn(kernels.len(), n_weights, |m, c| {
                if c == 1 && m % 3 == 0 { 0.0 } else { 0.01 * (m + c) as f64 }
            });
            let coefficients = coefficients(300, 3, 4);
            let mixture = stack.mixture(&weights, &pool).unwrap();
            let found = stack.decide(&mixture, &coefficients, &pool).unwrap();
            assert_eq!(found, stack.decide(&mixture, &coefficients, &one).unwrap());
            let expected = decisions(stack, &weights, &coefficients, &pool);
            let size: f64 = weights.data().iter().sum::<f64>() * 300.0 * 64.0;
            for (found, expected) in found.data().iter().zip(expected.data()) {
                assert!((found - expected).abs() < 1e-14 * size, "{found} {expected}");
            }
            // A row has the bits it has alone.
            let all: Vec<usize> = (0..stack.n_cols()).collect();
            let alone = stack.between(&[17], &all).unwrap().decide(&mixture, &coefficients, &pool).unwrap();
            assert_eq!(alone.row(0), found.row(17));
        }
    }
}

#[test]
fn mixture_of_one_stack_serves_others_of_the_same_kernels_and_no_others() {
    let pool = Pool::new(1).unwrap();
    let (points, kernels) = (random(40, 5, 1), everything());
    let stack = Stack::train(&points, &kernels, &StackOptions::new(&pool)).unwrap();
    let weights = Matrix::from_fn(kernels.len(), 1, |m, _| 1.0 / (1 + m) as f64);
    let mixture = stack.mixture(&weights, &pool).unwrap();
    let view = stack.view(&[3, 30, 7]).unwrap();
    assert_eq!(view.mix(&mixture, &pool).unwrap(), view.combine(&weights, &pool).unwrap());
    let fewer = Stack::train(&points, &kernels[..3], &StackOptions::new(&pool)).unwrap();
    let error = fewer.mix(&mixture, &pool).unwrap_err().to_string();
    assert_eq!(error, "a mixture can be used with stacks of the kernels it was made for, and no others");
}

#[test]
fn inner_products_added_up_are_those_of_one_projection() {
    let pool = Pool::new(2).unwrap();
    let (points, kernels) = (random(150, 5, 1), everything());
    let stack =
        Stack::train(&points, &kernels, &StackOptions { storage: Storage::Tiled, ..StackOptions::new(&pool) }).unwrap();
    let c = coefficients(150, 2, 7).column(0);
    let (first, second): (Vec<usize>, Vec<usize>) = ((0..90).collect(), (90..150).collect());
    let pick = |rows: &[usize], by: f64| rows.iter().map(|&i| by * c[i]).collect::<Vec<f64>>();
    // (a + b)'K(a + b) = a'K a + 2 b'K a + b'K b.
    let mut inner = stack.inner();
    stack.view(&first).unwrap().add_inner(&pick(&first, 1.0), &pick(&first, 1.0), &mut inner, &pool).unwrap();
    stack
        .between(&second, &first)
        .unwrap()
        .add_inner(&pick(&second, 2.0), &pick(&first, 1.0), &mut inner, &pool)
        .unwrap();
    stack.view(&second).unwrap().add_inner(&pick(&second, 1.0), &pick(&second, 1.0), &mut inner, &pool).unwrap();
    let column = Matrix::from_vec(150, 1, c.clone()).unwrap();
    let expected = stack.project(&[Symmetric::Factored(&column, &column)], &pool).unwrap();
    let found = stack.inner_products(&[&inner, &stack.inner()], &pool).unwrap();
    let size: f64 = c.iter().map(|c| c.abs()).sum::<f64>().powi(2);
    for (m, kernel) in kernels.iter().enumerate() {
        let scale = if kernel.to_string().contains("raw") { 1e4 } else { 1.0 };
        let (found, none, expected) = (found.get(m, 0), found.get(m, 1), expected.get(m, 0));
        assert!((found - expected).abs() < 1e-11 * size * scale && none == 0.0, "{kernel}: {found} {expected}");
    }
    // Stored and read back they are the same, and those of other kernels are refused.
    let mut record = multikernel::file::Record::default();
    record.put("inner", &inner);
    let again: multikernel::stack::Inner = record.take("inner").unwrap();
    assert_eq!(stack.inner_products(&[&again], &pool).unwrap().column(0), found.column(0));
    let fewer = Stack::train(&points, &kernels[..60], &StackOptions::new(&pool)).unwrap();
    assert!(fewer.check_inner(&again).is_err());
}

#[test]
fn stack_of_other_points_has_the_values_of_a_stack_of_theirs() {
    let pool = Pool::new(1).unwrap();
    let kernels: Vec<Kernel> = everything().into_iter().filter(|kernel| !kernel.is_centred()).collect();
    let (points, new) = (random(30, 5, 1), random(8, 5, 2));
    let options = StackOptions { storage: Storage::Tiled, sparse: false, ..StackOptions::new(&pool) };
    let empty = Stack::train(&Matrix::zeros(0, 5), &kernels, &options).unwrap();
    let none = vec![None; kernels.len()];
    let weights = Matrix::from_fn(kernels.len(), 2, |m, c| (m + c) as f64);
    let expected = Stack::cross(&new, &points, &kernels, &none, &options).unwrap();
    let found = empty.of_points(&new, Some(&Points::from(&points))).unwrap();
    assert_eq!(found.combine(&weights, &pool).unwrap(), expected.combine(&weights, &pool).unwrap());
    let among = empty.of_points(&points, None).unwrap();
    let train = Stack::train(&points, &kernels, &options).unwrap();
    assert_eq!(among.combine(&weights, &pool).unwrap(), train.combine(&weights, &pool).unwrap());
    let centred = Stack::train(&points, &self::kernels(), &options).unwrap();
    let error = centred.of_points(&new, None).unwrap_err().to_string();
    assert!(error.starts_with("gaussian(2) centred depends on all training rows"), "{error}");
}
