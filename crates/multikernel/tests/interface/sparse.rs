//! Sparse rows against the table they stand for: read, scaled, trained on, saved and predicted with.

use multikernel::data::Scale;
use multikernel::data::{self, Dataset, Features, ReadOptions, Samples, Scaler, Sparse, Table};
use multikernel::dist::Rng;
use multikernel::kernel::{Kernel, KernelBank, Layout};
use multikernel::plan::Session;
use multikernel::run::{Rows, Silent};
use multikernel::stack::{Stack, StackOptions};
use multikernel::{Error, Matrix, Model, Plan, Pool};

/// Rows of which about one value in ten is not 0, and two classes that differ in the first columns.
fn table(n_rows: usize, n_cols: usize) -> (Matrix, Vec<usize>) {
    let mut rng = Rng::new(7, 0);
    let classes: Vec<usize> = (0..n_rows).map(|i| i % 2).collect();
    let features = Matrix::from_fn(n_rows, n_cols, |i, j| {
        let value = 4.0 * rng.uniform() - 2.0;
        let is_stored = rng.uniform() < 0.1 || j == n_cols - 1;
        if is_stored { value + if j < 20 { 3.0 * classes[i] as f64 } else { 0.0 } } else { 0.0 }
    });
    (features, classes)
}

fn libsvm(features: &Matrix, classes: &[usize]) -> String {
    let mut text = String::new();
    for (row, class) in features.rows().zip(classes) {
        text += &format!("c{class}");
        for (j, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            text += &format!(" {}:{value}", j + 1);
        }
        text += "\n";
    }
    text
}

fn csv(features: &Matrix, classes: &[usize]) -> String {
    let mut text: String = (1..=features.n_cols()).map(|j| format!("x{j},")).collect();
    text += "label\n";
    for (row, class) in features.rows().zip(classes) {
        text.extend(row.iter().map(|value| format!("{value},")));
        text += &format!("c{class}\n");
    }
    text
}

fn read(text: &str, name: &str) -> Table {
    data::read_from(text.as_bytes(), name, &ReadOptions::default()).unwrap()
}

/// The same rows from LIBSVM text, kept sparse, and from CSV, kept dense.
fn both(n_rows: usize, n_cols: usize) -> (Dataset, Dataset) {
    let (features, classes) = table(n_rows, n_cols);
    let sparse = read(&libsvm(&features, &classes), "t.svm").into_dataset().unwrap();
    let dense = read(&csv(&features, &classes), "t.csv").into_dataset().unwrap();
    assert!(matches!(sparse.samples.features(), Features::Sparse(_)));
    assert!(matches!(dense.samples.features(), Features::Dense(_)));
    (sparse, dense)
}

fn bits(features: &Features) -> Vec<u64> {
    features.to_dense().unwrap().data().iter().map(|value| value.to_bits()).collect()
}

fn assert_close(found: &Matrix, expected: &Matrix, what: &str) {
    assert_eq!((found.n_rows(), found.n_cols()), (expected.n_rows(), expected.n_cols()), "{what}: shape");
    let size = expected.data().iter().fold(0.0f64, |size, value| size.max(value.abs()));
    for (a, b) in found.data().iter().zip(expected.data()) {
        assert!((a - b).abs() <= 1e-12 * size, "{what}: {a}, expected {b}");
    }
}

#[test]
fn libsvm_text_kept_sparse_is_the_table_of_csv_text() {
    let (sparse, dense) = both(60, 120);
    assert_eq!(bits(sparse.samples.features()), bits(dense.samples.features()));
    assert_eq!(sparse.samples.names(), dense.samples.names());
    assert_eq!(sparse.fingerprint(), dense.fingerprint());
    let (found, expected) = (sparse.samples.features(), dense.samples.features());
    let (found, expected) = (Scaler::fit(found).unwrap(), Scaler::fit(expected).unwrap());
    for j in 0..120 {
        // All values are below 5: a few roundings of the sums of 60.
        assert!((found.mean()[j] - expected.mean()[j]).abs() <= 4.0 * 5.0 * f64::EPSILON, "mean {j}");
        assert!((found.scale()[j] / expected.scale()[j] - 1.0).abs() <= 60.0 * f64::EPSILON, "scale {j}");
    }
    let scaled = expected.apply(sparse.samples.features()).unwrap();
    assert!(matches!(scaled, Features::Sparse(_)));
    assert_eq!(bits(&scaled), bits(&expected.apply(dense.samples.features()).unwrap()));
}

#[test]
fn model_of_sparse_rows_predicts_what_that_of_the_table_does() {
    let (sparse, dense) = both(60, 120);
    for (scale, bank) in [
        (Scale::Standard, "gaussian(median*2^-1..2^2), polynomial(1..2)"),
        (Scale::None, "laplacian(0.1), linear centred, gaussian(median) on [0:30], linear each on [3, 9, 119]"),
    ] {
        // Solved to rounding, so that two paths to the optimum cannot be told apart.
        let plan = Plan::new("average").unwrap().kernels(bank).unwrap().scale(scale).set("tol", "1e-13").unwrap();
        let models = [plan.train(&sparse).unwrap(), plan.train(&dense).unwrap()];
        let scores = models.each_ref().map(|model| model.predict(&sparse.samples).unwrap().scores);
        assert_close(&scores[0], &scores[1], bank);
        for (model, scores) in models.iter().zip(&scores) {
            assert_eq!(&model.predict(&dense.samples).unwrap().scores, scores, "{bank}: the way rows come shows");
        }
    }
}

#[test]
fn model_of_sparse_rows_comes_back_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let (sparse, dense) = both(60, 120);
    // One kernel has no shares to store, and the lowest version that holds the rest is written.
    let banks = ["gaussian(5), linear centred", "linear centred"];
    for (data, bank, version, is_sparse) in [
        (&sparse, banks[0], 3, true),
        (&dense, banks[0], 3, false),
        (&sparse, banks[1], 2, true),
        (&dense, banks[1], 1, false),
    ] {
        let path = folder.path().join("model");
        let model = Plan::new("average").unwrap().kernels(bank).unwrap().train(data).unwrap();
        model.save(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(20_000)]).into_owned();
        assert!(head.contains(&format!("\\\"format_version\\\":{version},")), "{head}");
        assert_eq!(head.contains("points.background"), is_sparse);
        let loaded = Model::load(&path).unwrap();
        for samples in [&sparse.samples, &dense.samples] {
            assert_eq!(loaded.predict(samples).unwrap(), model.predict(samples).unwrap());
        }
        loaded.save(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "a loaded model saves other bytes");
    }
}

#[test]
fn rows_alone_and_columns_in_any_order_get_the_scores_they_get_together() {
    let (sparse, _) = both(60, 120);
    let model = Plan::new("average").unwrap().train(&sparse).unwrap();
    let scores = model.predict(&sparse.samples).unwrap().scores;
    let order: Vec<usize> = (0..120).rev().collect();
    let names = order.iter().map(|&j| sparse.samples.names()[j].clone()).collect();
    let turned = Samples::new(sparse.samples.features().select_cols(&order), names).unwrap();
    assert_eq!(model.predict(&turned).unwrap().scores, scores);
    // A row of its own file, and one that is full and therefore kept dense.
    let expecting = ReadOptions::expecting(model.input().expect());
    let (features, classes) = table(60, 120);
    let one = libsvm(&features.select_rows(&[7]), &classes[7..8]);
    let one = data::read_from(one.as_bytes(), "t.svm", &expecting).unwrap();
    assert_eq!(model.predict(&one.samples).unwrap().scores.row(0), scores.row(7));
    let full = libsvm(&Matrix::from_fn(1, 120, |_, _| 0.5), &[0]);
    let together = libsvm(&features, &classes) + &full;
    let [full, together] =
        [full, together].map(|text| data::read_from(text.as_bytes(), "t.svm", &expecting).unwrap().samples);
    assert!(matches!(full.features(), Features::Dense(_)) && matches!(together.features(), Features::Sparse(_)));
    assert_eq!(model.predict(&full).unwrap().scores.row(0), model.predict(&together).unwrap().scores.row(60));
}

#[test]
fn stack_and_bank_of_sparse_points_are_those_of_the_table() {
    let (sparse, dense) = both(40, 120);
    let pool = Pool::new(2).unwrap();
    let texts =
        ["gaussian(9)", "laplacian(0.05)", "linear", "polynomial(2) on [0:70]", "linear raw", "gaussian(9) centred"];
    let kernels: Vec<Kernel> = texts.iter().map(|text| text.parse().unwrap()).collect();
    // A background that is not 0 on all columns.
    let scaler = Scaler::fit(dense.samples.features()).unwrap();
    let all: Vec<usize> = (0..40).collect();
    for scaler in [Scaler::identity(120), scaler] {
        let [sparse, dense] = [&sparse, &dense].map(|data| scaler.apply(data.samples.features()).unwrap());
        let options = StackOptions::new(&pool);
        let [found, expected] = [&sparse, &dense].map(|points| Stack::train(points, &kernels, &options).unwrap());
        for (m, text) in texts.iter().enumerate() {
            let block = |stack: &Stack| stack.block(m, &all, &all).unwrap();
            assert_close(&block(&found), &block(&expected), text);
            for (new, points) in [(&sparse, &sparse), (&sparse, &dense), (&dense, &sparse)] {
                let cross = Stack::cross(new, points, &kernels, expected.centring(), &options).unwrap();
                assert_close(&block(&cross), &block(&expected), text);
            }
        }
        let bank: KernelBank = "gaussian(median*2^-1..2^1), gaussian(median) each on [0:40]".parse().unwrap();
        let widths = |rows: &Features| -> Vec<f64> {
            let kernels = bank.resolve(&Layout::default(), rows).unwrap();
            kernels.iter().filter_map(|kernel| kernel.parameter()).collect()
        };
        for (a, b) in widths(&sparse).iter().zip(widths(&dense)) {
            assert!((a - b).abs() <= 1e-13 * b, "{a}, expected {b}");
        }
    }
}

/// The rows with everything stored that is not the background.
fn over(background: &[f64], rows: &Matrix) -> Features {
    let (mut ends, mut columns, mut values) = (vec![], vec![], vec![]);
    for row in rows.rows() {
        for (j, value) in row.iter().enumerate().filter(|&(j, value)| *value != background[j]) {
            columns.push(j as u32);
            values.push(*value);
        }
        ends.push(columns.len());
    }
    Sparse::from_parts(ends, columns, values, background.to_vec()).unwrap().into()
}

/// Every base quantity between all rows against its definition, summed from the rows themselves.
fn assert_kernels(points: &Features, what: &str) {
    let (rows, pool) = (points.to_dense().unwrap(), Pool::new(2).unwrap());
    let texts = ["linear raw", "linear", "polynomial(1)", "gaussian(gamma=0.01)", "laplacian(0.01)"];
    let kernels = texts.map(|text| text.parse::<Kernel>().unwrap());
    let stack = Stack::train(points, &kernels, &StackOptions::new(&pool)).unwrap();
    let one =
        Stack::cross(&points.select_rows(&[4]), points, &kernels, &[const { None }; 5], &StackOptions::new(&pool));
    let (all, one) = ((0..rows.n_rows()).collect::<Vec<_>>(), one.unwrap());
    let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    for (m, kernel) in kernels.iter().enumerate() {
        let found = stack.block(m, &all, &all).unwrap();
        assert_eq!(one.block(m, &[0], &all).unwrap().row(0), found.row(4), "{what}, {kernel}: alone");
        for (i, j) in all.iter().flat_map(|&i| all.iter().map(move |&j| (i, j))) {
            let (x, y) = (rows.row(i), rows.row(j));
            let (found, expected, across) = (found.get(i, j), kernel.between(x, y), found.get(j, i));
            let size = if m == 0 { length(x) * length(y) } else { 1.0 };
            // A hundred roundings of sums that are at most 64 times what is left of them.
            assert!((found - expected).abs() <= 1e-12 * size, "{what}, {kernel}, ({i}, {j}): {found}, not {expected}");
            assert_eq!(found.to_bits(), across.to_bits(), "{what}, {kernel}, ({i}, {j})");
            if i == j && kernel.has_unit_diagonal() {
                assert_eq!(found, if m == 1 && length(x) == 0.0 { 0.0 } else { 1.0 }, "{what}, {kernel}, {i}");
            }
        }
    }
}

#[test]
fn points_far_from_a_large_background_keep_their_digits() {
    for usual in [0.0, 0.1, -1e3, 1e6, 1e9] {
        let mut rng = Rng::new(8, 0);
        let background = vec![usual; 100];
        let mut rows = Matrix::from_fn(41, 100, |_, _| {
            let is_kept = rng.uniform() < 0.12;
            if is_kept { usual + 2.0 * rng.uniform() - 1.0 } else { usual }
        });
        // A column without a common value, a zero row, a small one, a copy and one that is nearly a copy.
        (0..41).for_each(|i| rows.set(i, 5, rng.uniform()));
        rows.row_mut(3).fill(0.0);
        (0..100).for_each(|j| rows.set(4, j, 1e-3 * rng.uniform()));
        let copy = rows.row(7).to_vec();
        rows.row_mut(8).copy_from_slice(&copy);
        rows.row_mut(9).copy_from_slice(&copy);
        rows.set(9, 11, copy[11] + 1e-7);
        assert_kernels(&over(&background, &rows), &format!("sparse around {usual}"));
        assert_kernels(&rows.into(), &format!("dense around {usual}"));
    }
}

#[test]
fn column_that_all_rows_store_costs_no_digits_however_far_its_background() {
    // As standardising a column of dates makes it: all near 0, and 0 would be far away.
    for far in [-4e2, -1e8] {
        let mut rng = Rng::new(9, 0);
        let background: Vec<f64> = (0..100).map(|j| if j == 0 { far } else { -0.1 }).collect();
        let rows = Matrix::from_fn(30, 100, |i, j| {
            let is_stored = (j == 0 && i != 17) || rng.uniform() < 0.05;
            if is_stored { 3.0 * rng.uniform() - 1.5 } else { background[j] }
        });
        assert_kernels(&over(&background, &rows), &format!("background {far}"));
    }
}

#[test]
fn dense_table_is_made_only_for_a_method_that_asks_for_it() {
    let n = 1_000;
    let wide = Sparse::from_parts((1..=n).collect(), (0..n as u32).collect(), vec![1.0; n], vec![0.0; 2_000]).unwrap();
    let wide = Features::from(wide);
    let rows = Rows::new(&wide, Some(15_999_999));
    assert!(matches!(rows.dense(), Err(Error::Memory { need: 16_000_000, limit: 15_999_999, .. })));
    let rows = Rows::new(&wide, Some(16_000_000));
    assert_eq!(rows.dense().unwrap(), &*wide.to_dense().unwrap());
    assert!(std::ptr::eq(rows.dense().unwrap(), rows.dense().unwrap()), "made twice");
    // `majority` works on rows and looks at none.
    let text: String = (0..n).map(|i| format!("{} {}:1\n", i % 2, 1 + i * 7)).collect();
    let data = read(&text, "t.svm").into_dataset().unwrap();
    let (pool, mut silent) = (Pool::new(1).unwrap(), Silent);
    let mut session = Session::new(&pool, &mut silent);
    session.memory = Some(1);
    let model = Plan::new("majority").unwrap().train_in(&data, &mut session).unwrap();
    assert_eq!(model.predict(&data.samples).unwrap().labels, vec![0; n]);
}
