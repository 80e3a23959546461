//! What is learned, and which inputs are rejected.

use crate::data::{Dataset, Labels, Samples, bundled};
use crate::dist::{Rng, normal};
use crate::linalg::Matrix;
use crate::plan::Plan;

/// Two rings, which are not linearly separable.
fn rings(n: usize, seed: u64) -> Dataset {
    let mut rng = Rng::new(seed, 0);
    let points = Matrix::from_fn(n, 2, |_, _| normal(&mut rng));
    let inside = |i: usize| points.row(i).iter().map(|x| x * x).sum::<f64>() < 1.4;
    let labels: Vec<&str> = (0..n).map(|i| if inside(i) { "inner" } else { "outer" }).collect();
    Dataset::new("rings", Samples::unnamed(points.clone()).unwrap(), Labels::new(&labels).unwrap()).unwrap()
}

fn small(name: &str) -> Plan {
    let settings = [("frequencies", "60"), ("warmup", "20"), ("sweeps", "20"), ("thin", "4")];
    settings.iter().fold(Plan::new(name).unwrap(), |plan, (name, value)| plan.set(name, value).unwrap())
}

#[test]
fn it_learns_rings_and_is_sure_away_from_their_border() {
    let (train, test) = (rings(400, 1), rings(400, 2));
    let plan = small("bank");
    let model = plan.train(&train).unwrap();
    let labels = model.predict(&test.samples).unwrap().labels;
    let right = labels.iter().zip(test.labels.codes()).filter(|(a, b)| a == b).count();
    assert!(right > 380, "{right} of 400");
    assert!(
        model.training().facts().contains(&("draws".into(), "5 of 20 sweeps after 20".into())),
        "{:?}",
        model.training().facts()
    );
    let centre = Samples::unnamed(Matrix::from_vec(2, 2, vec![0.0, 0.0, 1.8, 1.2]).unwrap()).unwrap();
    let scores = model.predict(&centre).unwrap().scores;
    let confident = |i: usize| scores.row(i).iter().copied().fold(0.0, f64::max);
    assert!(confident(0) > 0.95 && confident(1) > 0.95, "{scores:?}");
    assert!((0..2).all(|i| (scores.row(i).iter().sum::<f64>() - 1.0).abs() < 1e-12));
}

#[test]
fn settings_and_data_that_do_not_fit_are_refused() {
    let message = small("bank").set("thin", "21").unwrap().train(&rings(50, 3)).unwrap_err().to_string();
    assert_eq!(message, "parameter thin: must be at most the 20 sweeps, got 21");
    let glass = bundled("glass6").unwrap();
    let message = small("bank").train(&glass).unwrap_err().to_string();
    assert_eq!(message, "parameter method: bank is for two classes, these data have 6; take cik");
}
