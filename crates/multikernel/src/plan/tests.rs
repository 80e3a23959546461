//! Inner cross-validation: what `auto` chooses, and what remains when it is stopped.

use crate::data::{Dataset, Labels, Samples, Target, bundled};
use crate::dist::Rng;
use crate::linalg::Matrix;
use crate::plan::{Plan, Session};
use crate::pool::Pool;
use crate::run::inner::*;
use crate::run::{Control, Input, Observer, Params, Progress, Rows, Silent, Task};

#[test]
fn held_out_from_setting_to_setting_decides_as_each_begun_anew() {
    let data = bundled("ionosphere").unwrap().select(&(0..351).step_by(3).collect::<Vec<_>>());
    let pool = Pool::new(2).unwrap();
    for (method, tight) in [("average", "tol"), ("simplemkl", "gap"), ("level", "gap"), ("lpmkl", "gap")] {
        let plan = Plan::new(method).unwrap().set("c", "auto").unwrap().set(tight, "1e-5").unwrap();
        let prepared = plan.prepare(&data, &mut Session::new(&pool, &mut Silent)).unwrap();
        let input = Input::Stack(prepared.stack().unwrap());
        let task = Task {
            input,
            labels: &data.labels,
            target: &Target::Classes,
            groups: None,
            views: &[],
            alternatives: &[],
            seed: 1,
            pool: &pool,
        };
        let (candidates, folds) = (plan.params().candidates(), folds(&task, Deal::Tune).unwrap());
        let scores = |settings: &[Params]| {
            let (want, control) = (Want::Scores, Control::default());
            let held_out = HeldOut { want, task: &task, folds: &folds, control: &control };
            held_out.all(settings, &mut Silent).unwrap()
        };
        let together = scores(&candidates);
        assert_eq!(together.len(), 6);
        for (params, together) in candidates.iter().zip(&together) {
            let alone = &scores(std::slice::from_ref(params))[0];
            let off = |(a, b): (&f64, &f64)| (a - b).abs() / (1.0 + b.abs());
            let worst = together.data().iter().zip(alone.data()).map(off).fold(0.0, f64::max);
            assert!(worst < 2e-2, "{method}, c = {}: decisions differ by {worst}", params.to_texts()["c"]);
        }
    }
}

#[test]
fn parameters_that_papers_tune_are_chosen_by_the_lowest_held_out_log_loss() {
    let data = bundled("ionosphere").unwrap().select(&(0..351).step_by(6).collect::<Vec<_>>());
    let pool = Pool::new(2).unwrap();
    let few = [("chains", "1"), ("warmup", "5"), ("draws", "10"), ("prior", "paper")];
    let published = [("variant", "gibbs"), ("loops", "2"), ("epochs", "1")];
    type Sets<'a> = &'a [(&'a str, &'a str)];
    let cases: [(&str, &str, usize, Sets<'_>); 10] = [
        ("cik", "lambda", 5, &[("frequencies", "20"), ("sweeps", "2"), ("epochs", "2")]),
        ("ufomkl", "c", 4, &[]),
        ("ufomkl", "alpha", 4, &[]),
        ("bm3kl", "beta", 3, &few),
        ("mklda", "r", 5, &[]),
        ("mklda", "rho", 3, &[]),
        ("mklda", "kappa0", 3, &published),
        ("mklda", "theta0", 3, &published),
        ("mklda", "mu0", 3, &published),
        ("mklda", "sigma0", 3, &published),
    ];
    for (method, param, n, sets) in cases {
        let mut plan = Plan::new(method).unwrap().set(param, "auto").unwrap();
        for (name, value) in sets {
            plan = plan.set(name, value).unwrap();
        }
        let mut silent = Silent;
        let mut session = Session::new(&pool, &mut silent);
        let prepared = plan.prepare(&data, &mut session).unwrap();
        let rows = Rows::new(prepared.points.features(), None);
        let input = prepared.stack().map_or(Input::Rows(&rows), Input::Stack);
        let (labels, target, seed) = (&data.labels, &Target::Classes, 0);
        let task = Task { input, labels, target, groups: None, views: &[], alternatives: &[], seed, pool: &pool };
        let candidates = plan.params().candidates();
        let tuned = tune(&candidates, &task, &Control::default(), &mut Silent).unwrap().unwrap();
        assert_eq!((tuned.figure, tuned.figures.len()), ("log-loss", n), "{method} {param}");
        // The figures by hand: each setting alone on the same folds.
        let folds = folds(&task, Deal::Tune).unwrap();
        let control = Control::default();
        for (params, &figure) in candidates.iter().zip(&tuned.figures) {
            let held_out = HeldOut { want: Want::Probabilities, task: &task, folds: &folds, control: &control };
            let found = &held_out.all(std::slice::from_ref(params), &mut Silent).unwrap()[0];
            let codes = data.labels.codes();
            let is_own = found.rows().all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let by_hand = if is_own { log_loss(found, codes) } else { calibrated_log_loss(found, codes) };
            assert!((figure - by_hand).abs() < 1e-9, "{method} {param}: {figure} {by_hand}");
        }
        let least = tuned.figures.iter().copied().fold(f64::INFINITY, f64::min);
        let first = tuned.figures.iter().position(|&figure| figure == least);
        assert_eq!(first, Some(tuned.best), "{method} {param}");
        let model = plan.fit(&prepared, &mut session).unwrap();
        assert_eq!(model.training().params()[param], candidates[tuned.best].to_texts()[param], "{method} {param}");
    }
}

/// Rows on two columns, their class by the sign of a function.
fn by_sign(n: usize, function: impl Fn(f64, f64) -> f64) -> Dataset {
    let mut rng = Rng::new(21, 0);
    let points = Matrix::from_fn(n, 2, |_, _| 2.0 * rng.uniform() - 1.0);
    let class = |row: &[f64]| if function(row[0], row[1]) > 0.0 { "above" } else { "below" };
    let texts: Vec<&str> = points.rows().map(class).collect();
    Dataset::new("signs", Samples::unnamed(points).unwrap(), Labels::new(&texts).unwrap()).unwrap()
}

#[test]
fn landmarks_grow_until_the_held_out_loss_falls_by_little() {
    let plan = Plan::new("mklr").unwrap().kernels("gaussian(0.3)").unwrap();
    let plan = plan.set("iterations", "40").unwrap().set("landmarks", "auto").unwrap();
    let fit = |plan: &Plan, data: &Dataset| {
        let model = plan.train(data).unwrap();
        let line =
            model.training().facts().into_iter().find(|(name, _)| name == "chosen").map(|(_, line)| line).unwrap();
        let figures: Vec<f64> =
            line.split("; ").skip(1).filter_map(|one| one.rsplit(' ').next()?.parse().ok()).collect();
        (model.training().params()["landmarks"].clone(), figures, line)
    };
    // The 64 fields of a chessboard are more than 125 landmarks can tell well; a line is not.
    let (chosen, figures, line) = fit(&plan, &by_sign(1000, |x, y| (12.0 * x).sin() * (12.0 * y).sin()));
    let gains: Vec<f64> = figures.windows(2).map(|pair| pair[0] - pair[1]).collect();
    let mut sum = 0.0;
    let worth: Vec<bool> = gains
        .iter()
        .map(|gain| {
            let is_worth = *gain > 0.1 * sum;
            sum += gain;
            is_worth
        })
        .collect();
    let n_worth = worth.iter().take_while(|&&is_worth| is_worth).count();
    assert!(n_worth >= 1 && worth.len() <= n_worth + 1, "{line}");
    assert_eq!(chosen, (125 << n_worth).to_string(), "{line}");
    let (simple, few, line) = fit(&plan, &by_sign(1000, |x, y| x + y));
    assert!(few.len() < 6 && simple.parse::<usize>().unwrap() <= chosen.parse().unwrap(), "{line}");
    // Others are chosen with the landmarks that were.
    let (again, _, line) = fit(&plan.set("lambda", "auto").unwrap(), &by_sign(400, |x, y| x + y));
    assert!(line.contains("lambda = ") && line.starts_with(&format!("landmarks = {again}; ")), "{line}");
}

#[test]
fn penalty_is_chosen_on_some_landmarks_and_rows_from_smooth_to_wiggly() {
    // Classes that a line tells apart but for every fifth row or so: the smooth win.
    let data = by_sign(1200, |x, y| x + y + 1.3 * (1e5 * x).sin());
    let pool = Pool::new(1).unwrap();
    let plan = Plan::new("mklr").unwrap().kernels("gaussian(0.3)").unwrap();
    let plan = plan.set("landmarks", "600").unwrap().set("lambda", "auto").unwrap();
    let prepared = plan.prepare(&data, &mut Session::new(&pool, &mut Silent)).unwrap();
    let input = Input::Stack(prepared.stack().unwrap());
    let (labels, target) = (&data.labels, &Target::Classes);
    let task = Task { input, labels, target, groups: None, views: &[], alternatives: &[], seed: 0, pool: &pool };
    let fewer = plan.clone().set("landmarks", "500").unwrap().params().candidates();
    let control = Control::default();
    let tuned = descend(&fewer, &task, usize::MAX, &control, &mut Silent).unwrap().unwrap();
    // The first that is worse is the last that is tried.
    let falls = tuned.figures.windows(2).take_while(|pair| pair[1] < pair[0]).count();
    assert!(falls < 5 && tuned.figures.len() == falls + 2 && tuned.best == falls, "{:?}", tuned.figures);
    // Each begun anew comes to the same.
    let fold = folds(&task, Deal::Tune).unwrap().swap_remove(0);
    let codes: Vec<usize> = fold.test.iter().map(|&i| data.labels.codes()[i]).collect();
    assert_eq!((fold.test.len(), tuned.n_scored), (240, 240));
    for (params, figure) in fewer.iter().zip(&tuned.figures) {
        let held_out =
            HeldOut { want: Want::Probabilities, task: &task, folds: std::slice::from_ref(&fold), control: &control };
        let found = &held_out.all(std::slice::from_ref(params), &mut Silent).unwrap()[0];
        let rows = Matrix::from_fn(fold.test.len(), 2, |i, c| found.get(fold.test[i], c));
        assert!((log_loss(&rows, &codes) - figure).abs() < 1e-4, "{figure}");
    }
    let some = descend(&fewer, &task, 100, &control, &mut Silent).unwrap().unwrap();
    assert_eq!(some.n_scored, 100);
    let model = plan.train(&data).unwrap();
    let params = model.training().params();
    assert_eq!(
        (&params["landmarks"], &params["lambda"]),
        (&"600".to_string(), &fewer[tuned.best].to_texts()["lambda"])
    );
    let rehearsed = plan.params().rehearsal(1200).unwrap().to_texts();
    assert_eq!((rehearsed["landmarks"].as_str(), rehearsed["tol"].as_str()), ("500", "1e-6"));
    // All folds where rows are few.
    assert!(plan.params().rehearsal(1000).is_none());
}

/// Cancels once this many models of inner folds are done.
struct CancelAfter(u64, crate::run::Canceller);

impl Observer for CancelAfter {
    fn progress(&mut self, progress: &Progress) {
        if progress.done >= self.0 && progress.total > 1 {
            self.1.cancel();
        }
    }
}

#[test]
fn tune_that_is_stopped_compares_what_was_scored_on_the_same_rows() {
    let (data, pool) = (bundled("sonar").unwrap(), Pool::new(1).unwrap());
    let plan = Plan::new("average").unwrap().set("c", "auto").unwrap();
    let prepared = plan.prepare(&data, &mut Session::new(&pool, &mut Silent)).unwrap();
    let input = Input::Stack(prepared.stack().unwrap());
    let task = Task {
        input,
        labels: &data.labels,
        target: &Target::Classes,
        groups: None,
        views: &[],
        alternatives: &[],
        seed: 1,
        pool: &pool,
    };
    let candidates = plan.params().candidates();
    let tuned = |n_done| {
        let control = Control::default();
        let mut observer = CancelAfter(n_done, control.canceller());
        tune(&candidates, &task, &control, &mut observer).unwrap()
    };
    let all = tuned(u64::MAX).unwrap();
    assert_eq!((all.figures.len(), all.n_scored), (6, 208));
    // One thread goes through all values of c on the first fold, then on the second.
    let first = tuned(7).unwrap();
    let test = &folds(&task, Deal::Tune).unwrap()[0].test;
    assert_eq!((first.figures.len(), first.n_scored), (6, test.len()));
    let few = tuned(2).unwrap();
    assert_eq!(few.figures, first.figures[..2]);
    assert!(few.best < 2 && few.n_scored == test.len());
    let none = {
        let control = Control::default();
        control.canceller().cancel();
        tune(&candidates, &task, &control, &mut Silent).unwrap()
    };
    assert!(none.is_none());
}

#[test]
fn choice_that_is_cancelled_is_told_and_a_time_limit_leaves_half_for_the_model() {
    let (data, pool) = (bundled("sonar").unwrap(), Pool::new(1).unwrap());
    let plan = Plan::new("average").unwrap().set("c", "auto").unwrap();
    let control = Control::default();
    let mut observer = CancelAfter(7, control.canceller());
    let mut session = Session::new(&pool, &mut observer);
    session.control = control;
    let message = plan.train_in(&data, &mut session).err().unwrap().to_string();
    assert!(message.starts_with("cancelled while parameters were chosen on inner folds"), "{message}");
    assert!(message.contains("so far: c = ") && message.contains(" of 208 rows, as time ran out,"), "{message}");
    let control = Control::default().with_max_seconds(100.0).unwrap();
    let left = control.part(0.5).seconds_left().unwrap();
    assert!((49.0..=50.0).contains(&left), "{left}");
    assert_eq!(Control::default().part(0.5).seconds_left(), None);
}
