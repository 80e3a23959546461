//! Kernels on columns in their own units: the same as those of rows that were never scaled.

use crate::Plan;
use crate::data::{Dataset, Features, Labels, Samples, Scale, View};
use crate::dist::Rng;
use crate::features::Sparse;
use crate::linalg::Matrix;
use crate::plan::{Model, Online, OnlineOptions, Session};
use crate::pool::Pool;
use crate::run::Silent;

/// Columns of very different units, in two views.
fn rows(n: usize, seed: u64) -> Matrix {
    let mut rng = Rng::new(seed, 0);
    Matrix::from_fn(n, 4, |_, j| [3.0, -100.0, 0.0, 7.0][j] + [1.0, 40.0, 0.01, 5.0][j] * (rng.uniform() - 0.5))
}

fn data(features: impl Into<Features>) -> Dataset {
    let features: Features = features.into();
    let n = features.n_rows();
    let first = features.select_cols(&[0]).to_dense().unwrap().into_owned();
    let texts: Vec<&str> = (0..n).map(|i| if first.get(i, 0) > 3.0 { "above" } else { "below" }).collect();
    let view = |name: &str, columns| View { name: name.into(), columns };
    let names = (0..features.n_cols()).map(|j| format!("x{j}")).collect();
    let middle = features.n_cols() / 2;
    let views = vec![view("a", 0..middle), view("b", middle..features.n_cols())];
    let samples = Samples::new(features, names).unwrap().with_views(views).unwrap();
    Dataset::new("units", samples, Labels::new(&texts).unwrap()).unwrap()
}

const BANK: &str =
    "gaussian(median*2^-1..2^1), polynomial(1..3) on a, linear each view, gaussian(median) each, linear raw";

fn unscaled(bank: &str) -> String {
    bank.split(", ").map(|term| format!("{term} unscaled")).collect::<Vec<_>>().join(", ")
}

/// The kernels of both ways between all rows of a data set.
fn stacks(data: &Dataset) -> [Vec<Matrix>; 2] {
    let pool = Pool::new(2).unwrap();
    [(BANK.to_string(), Scale::None), (unscaled(BANK), Scale::Standard)].map(|(bank, scale)| {
        let plan = Plan::new("average").unwrap().kernels(&bank).unwrap().scale(scale);
        let prepared = plan.prepare(data, &mut Session::new(&pool, &mut Silent)).unwrap();
        let stack = prepared.stack().unwrap();
        let each = Matrix::from_fn(stack.n_kernels(), stack.n_kernels(), |m, k| f64::from(u8::from(m == k)));
        stack.combine(&each, &pool).unwrap()
    })
}

fn assert_close(a: &Matrix, b: &Matrix) {
    let size = a.data().iter().fold(1.0f64, |most, value| most.max(value.abs()));
    let worst = a.data().iter().zip(b.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-11 * size, "{worst} of {size}");
}

#[test]
fn unscaled_kernels_of_scaled_rows_are_the_kernels_of_rows_as_they_are() {
    let [plain, own] = stacks(&data(rows(60, 1)));
    assert_eq!(plain.len(), 13);
    plain.iter().zip(&own).for_each(|(plain, own)| assert_close(plain, own));
}

#[test]
fn sparse_rows_have_the_same_unscaled_kernels() {
    // 80 columns, few of whose values are not 0: a background is taken out.
    let mut rng = Rng::new(2, 0);
    let (mut ends, mut columns, mut values) = (vec![], vec![], vec![]);
    for _ in 0..50 {
        for j in 0..80u32 {
            let draw = rng.uniform();
            if draw < 0.05 {
                columns.push(j);
                values.push(f64::from(j + 1) * (1.0 + 20.0 * draw));
            }
        }
        ends.push(columns.len());
    }
    let sparse = Sparse::from_parts(ends, columns, values, vec![0.0; 80]).unwrap();
    let dense = Features::from(sparse.clone()).to_dense().unwrap().into_owned();
    let mut data = data(dense);
    let texts: Vec<&str> = (0..50).map(|i| ["a", "b"][i % 2]).collect();
    data.labels = Labels::new(&texts).unwrap();
    for features in [data.samples.features().clone(), sparse.into()] {
        let samples = Samples::new(features, data.samples.names().to_vec()).unwrap();
        data.samples = samples.with_views(data.samples.views().to_vec()).unwrap();
        let [plain, own] = stacks(&data);
        plain.iter().zip(&own).for_each(|(plain, own)| assert_close(plain, own));
    }
}

#[test]
fn models_of_unscaled_kernels_predict_new_rows_alike_and_come_back_from_files() {
    let (train, new) = (data(rows(80, 3)), data(rows(40, 4)));
    let model = |bank: &str, scale| {
        let plan = Plan::new("evidence").unwrap().kernels(bank).unwrap().scale(scale);
        plan.train(&train).unwrap()
    };
    let (plain, own) = (model(BANK, Scale::None), model(&unscaled(BANK), Scale::Standard));
    let [a, b] = [&plain, &own].map(|model| model.predict(&new.samples).unwrap());
    assert_eq!(a.labels, b.labels);
    let worst = a.scores.data().iter().zip(b.scores.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-3, "{worst}");
    assert!(own.kernels().names().iter().all(|name| name.contains(" unscaled")), "{:?}", own.kernels().names());
    let folder = tempfile::tempdir().unwrap();
    own.save(folder.path().join("m")).unwrap();
    let loaded = Model::load(folder.path().join("m")).unwrap();
    assert_eq!(loaded.predict(&new.samples).unwrap().scores, b.scores);
}

#[test]
fn streams_refuse_unscaled_kernels_and_parameters_left_to_folds() {
    let plan = Plan::new("ufomkl").unwrap().kernels("gaussian(1) unscaled").unwrap();
    let table = Samples::unnamed(rows(30, 5)).unwrap();
    let first = Dataset::new("first", table, data(rows(30, 5)).labels).unwrap();
    let pool = Pool::new(1).unwrap();
    let error = Online::begin(&plan, &first, &OnlineOptions::default(), &pool).err().unwrap().to_string();
    assert!(error.contains("leave out `centred`, `unscaled`"), "{error}");
    let plan = Plan::new("ufomkl").unwrap().set("c", "auto").unwrap();
    let error = Online::begin(&plan, &first, &OnlineOptions::default(), &pool).err().unwrap().to_string();
    assert!(error.contains("parameter c: auto needs inner folds"), "{error}");
}

#[test]
fn auto_has_unscaled_kernels_where_columns_are_scaled_and_rows_are_many() {
    let bank = |plan: &Plan, data: &Dataset| plan.bank(&data.samples).unwrap().unwrap().to_string();
    let auto = Plan::new("auto").unwrap();
    let (many, few) = (data(rows(50, 6)), data(rows(49, 6)));
    let last = "gaussian(median*2^-3..2^3) each view unscaled, polynomial(1..3) each view unscaled";
    assert!(bank(&auto, &many).ends_with(&format!(" | {last}")), "{}", bank(&auto, &many));
    assert!(!bank(&auto, &few).contains("unscaled"));
    assert!(!bank(&auto.clone().scale(Scale::None), &many).contains("unscaled"));
    assert!(!bank(&Plan::new("average").unwrap(), &many).contains("unscaled"));
}
