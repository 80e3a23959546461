//! Pages at the limits of what they may be given.

use serde_json::{Value, json};

use super::html::MOST_BYTES;
use super::{ModelPage, evaluation_page, evaluation_picture};
use crate::data::{Dataset, Labels, Numbers, Samples, Times, View, bundled};
use crate::dist::Rng;
use crate::evaluate::{Protocol, evaluate};
use crate::linalg::Matrix;
use crate::plan::{Plan, Session};
use crate::pool::Pool;
use crate::report::{evaluation_json, model_json};
use crate::run::Silent;

/// Checks that hold for every page.
fn check(page: &str) {
    assert!(page.len() <= MOST_BYTES, "{} bytes", page.len());
    for tag in [
        "section", "table", "tbody", "tr", "td", "th", "svg", "details", "figure", "div", "p", "main", "text", "title",
        "g",
    ] {
        let opened = page.matches(&format!("<{tag} ")).count() + page.matches(&format!("<{tag}>")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    // Ours and the data.
    assert!(page.matches("<script").count() <= 2);
    let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let distinct: std::collections::HashSet<&&str> = ids.iter().collect();
    assert_eq!(ids.len(), distinct.len(), "{ids:?}");
    for svg in page.split("<svg ").skip(1).filter_map(|rest| rest.split("</svg>").next()) {
        let numbers = svg.split("d=\"").chain(svg.split("x=\"")).skip(1).filter_map(|rest| rest.split('"').next());
        numbers.for_each(|number| assert!(!number.contains("NaN") && !number.contains("inf"), "{number}"));
        assert!(svg.contains("role=\"img\"") && svg.contains("<title id=") && svg.contains("<desc id="));
    }
}

/// An evaluation of two methods with many kernels and classes, odd names and figures that are not known.
fn large(n_kernels: usize, n_classes: usize) -> Value {
    let name = |k: usize| format!("<script>alert({k})</script>{}", "n".repeat(180));
    let classes: Vec<String> = (0..n_classes).map(name).collect();
    let weight = |k: usize| 1.0 / (k + 1) as f64;
    let kernel = |k: usize| json!({"name": name(k), "weight": {"mean": weight(k), "std": 0.01}, "share": {"mean": weight(k), "std": null}, "selected": 0.5});
    let fold = json!({"split": 0, "weights": (0..n_kernels).map(weight).collect::<Vec<_>>()});
    let result = |method: &str, accuracy: Value| {
        json!({
            "method": method, "settings": {"c": "10"}, "n_kernels": n_kernels, "n_splits": 20,
            "accuracy": {"mean": accuracy, "std": null}, "auroc": null,
            "confusion": (0..n_classes).map(|i| (0..n_classes).map(|j| i + j).collect::<Vec<_>>()).collect::<Vec<_>>(),
            "views": [], "kernels": (0..n_kernels).map(kernel).collect::<Vec<_>>(), "folds": vec![fold.clone(); 20],
        })
    };
    json!({
        "dataset": "<img src=x onerror=alert(1)>", "n_samples": 10_000, "n_features": 5, "n_classes": n_classes, "classes": classes, "label": "y",
        "protocol": "20 splits", "n_splits": 20, "seed": 0, "stopped": null, "warnings": ["a <b>warning</b>"],
        "results": [result("average", json!(0.8)), result("evidence", json!(0.83)), result("broken", Value::Null)],
        "paired": [
            {"a": "average", "b": "evidence", "difference": -0.03, "interval": [-0.05, -0.01], "distinguishable": true},
            {"a": "average", "b": "broken", "difference": null, "interval": null, "distinguishable": false},
        ],
    })
}

#[test]
fn evaluation_with_thousands_of_kernels_and_odd_names_is_a_small_page() {
    for (n_kernels, n_classes) in [(3000, 50), (1, 2), (0, 2)] {
        let json = large(n_kernels, n_classes).to_string();
        let page = evaluation_page(&json, Some("multikernel evaluate '<script>'")).unwrap();
        check(&page);
        assert!(!page.contains("<script>alert") && !page.contains("<img") && !page.contains("<b>warning"));
        assert!(page.contains("Learned weights were worth it: evidence gains +3.0 points [+1.0, +5.0]"), "{n_kernels}");
        assert!(page.contains("not known"));
    }
}

#[test]
fn charts_stand_alone_and_unknown_ones_are_named() {
    let json = large(5, 3).to_string();
    let svg = evaluation_picture(&json, "verdict").unwrap();
    assert!(svg.starts_with("<svg xmlns=") && svg.contains("<style>") && svg.contains("width=\"720\""));
    let text = evaluation_picture(&json, "boundary").unwrap_err().to_string();
    assert!(
        text.contains("`boundary` is not among the charts of this page: verdict, weights, shares, confusion"),
        "{text}"
    );
}

#[test]
fn what_is_no_evaluation_is_refused() {
    for bad in ["", "{}", "[1]", "{\"results\": []}", "{\"results\": 3}"] {
        let text = evaluation_page(bad, None).unwrap_err().to_string();
        assert!(text.contains("give what `evaluate` printed as JSON"), "{bad}: {text}");
    }
    // Any JSON object with results is a page, whatever is missing from it.
    check(&evaluation_page("{\"results\": [1, {}]}", None).unwrap());
}

#[test]
fn every_mean_of_an_evaluation_is_in_its_page() {
    let (pool, data) = (Pool::new(2).unwrap(), bundled("glass6").unwrap());
    let plans = ["majority", "average", "evidence"].map(|name| {
        Plan::new(name).unwrap().kernels("gaussian(1..3)").unwrap_or_else(|_| Plan::new(name).unwrap()).proba(true)
    });
    let found = evaluate(&data, &plans, &Protocol::Folds(3), 0, &mut Session::new(&pool, &mut Silent)).unwrap();
    let json = evaluation_json(&found);
    let page = evaluation_page(&json, None).unwrap();
    check(&page);
    let value: Value = serde_json::from_str(&json).unwrap();
    for result in value["results"].as_array().unwrap() {
        for (name, figure) in result.as_object().unwrap().iter().filter(|(_, figure)| figure["mean"].is_f64()) {
            assert!(page.contains(&format!("data-v=\"{}\"", figure["mean"].as_f64().unwrap())), "{name}");
        }
    }
    for section in ["verdict", "methods", "weights", "shares", "confusion", "curves", "calibration", "settings"] {
        assert!(page.contains(&format!("<section id=\"{section}\"")), "{section}");
    }
    // The page carries the whole report along.
    let data = page.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next()).unwrap();
    assert_eq!(serde_json::from_str::<Value>(data).unwrap(), value);
}

#[test]
fn an_ablation_says_what_views_and_learned_weights_are_worth() {
    let result = |name: &str| json!({"method": name, "accuracy": {"mean": 1.0, "std": 0.0}, "kernels": []});
    let pair = |b: &str, difference: f64, interval: [f64; 2], distinguishable: bool| json!({"a": "m", "b": format!("m, {b}"), "difference": difference, "interval": interval, "distinguishable": distinguishable});
    let says = |equal: Value| {
        let names = ["m", "m, only a (without b)", "m, only b (without a)", "m, concatenated", "m, equal weights"];
        let paired = [
            pair("only a (without b)", 0.0, [0.0, 0.0], false),
            pair("only b (without a)", 0.2, [0.1, 0.3], true),
            pair("concatenated", 0.1, [-0.1, 0.3], false),
            equal,
        ];
        let found = json!({"dataset": "d", "target": "classes", "results": names.map(result), "paired": paired});
        let page = evaluation_page(&found.to_string(), None).unwrap();
        check(&page);
        assert!(!page.contains("-0.0000") && page.contains("equal in every split"));
        page
    };
    let page = says(pair("equal weights", 0.05, [0.02, 0.08], true));
    for text in [
        "With all views mean accuracy of the method <code>m</code> is 1.0000.",
        "The view that matters most is a: without it accuracy changes by -20.0 points [-30.0, -10.0].",
        "The view a alone does as well as all views in every split, and there is no room for the others to add to that.",
        "Learned weights were worth it: equal ones change that by -5.0 points [-8.0, -2.0].",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let page = says(pair("equal weights", 0.0, [0.0, 0.0], false));
    assert!(page.contains("Learned weights could gain nothing: equal ones do as well in every split"));
    let page = says(pair("equal weights", 0.05, [-0.02, 0.12], false));
    assert!(page.contains("Whether learned weights were worth it is not known"));
}

/// Rows of two views, some without the second.
fn rows(n: usize, n_classes: usize) -> Dataset {
    let mut rng = Rng::new(2, 0);
    let codes: Vec<usize> = (0..n).map(|i| i % n_classes).collect();
    let table = Matrix::from_fn(n, 4, |i, j| {
        let value = rng.uniform() + if j == 0 { codes[i] as f64 } else { 0.0 };
        if i % 5 == 4 && j >= 2 { f64::NAN } else { value }
    });
    let names = ["<i>", "a&b", "\"q\"", "d"].map(String::from).to_vec();
    let views = vec![View { name: "<u>one".into(), columns: 0..2 }, View { name: "two".into(), columns: 2..4 }];
    let samples = Samples::new(table, names).unwrap().with_views(views).unwrap();
    let texts: Vec<String> = codes.iter().map(|code| format!("<c{code}>")).collect();
    Dataset::new("rows", samples, Labels::new(&texts).unwrap()).unwrap()
}

#[test]
fn model_pages_have_the_sections_that_their_input_gives() {
    let (data, pool) = (rows(60, 3), Pool::new(2).unwrap());
    let model =
        Plan::new("evidence").unwrap().kernels("gaussian(1..2) each view").unwrap().proba(true).train(&data).unwrap();
    let page = |rows, known| ModelPage { model: &model, rows, known, command: None }.html(&pool).unwrap();
    let has = |page: &str, id: &str| page.contains(&format!("<section id=\"{id}\""));
    let (bare, seen, full) = (page(None, None), page(Some(&data.samples), None), page(None, Some(&data)));
    for page in [&bare, &seen, &full] {
        check(page);
        assert!(!page.contains("<u>one") && !page.contains("<i>") && !page.contains("<c0>"));
        assert!(["verdict", "weights", "shares", "settings"].iter().all(|id| has(page, id)));
    }
    let by_rows = ["rows", "alignment", "missing"];
    let by_labels = ["importance", "confusion", "curves", "calibration"];
    assert!(by_rows.iter().all(|id| has(&seen, id) && has(&full, id) && !has(&bare, id)));
    assert!(by_labels.iter().all(|id| has(&full, id) && !has(&seen, id)));
    // The same page on any number of threads.
    let one = ModelPage { model: &model, rows: None, known: Some(&data), command: None };
    assert_eq!(one.html(&Pool::new(1).unwrap()).unwrap(), full);
    assert!(model_json(&model).len() < 250_000);
}

#[test]
fn the_page_of_auto_shows_what_was_tried() {
    let data = rows(60, 2);
    let model = Plan::new("auto").unwrap().kernels("linear | gaussian(1..2)").unwrap().train(&data).unwrap();
    let page = ModelPage { model: &model, rows: None, known: None, command: None };
    let html = page.html(&Pool::new(1).unwrap()).unwrap();
    check(&html);
    assert!(html.contains("What was tried"));
    let compared = model.training().compared().unwrap();
    // Uniform weights for both banks, learned ones for that of two kernels.
    assert_eq!(compared.candidates.len(), 3);
    for (name, loss) in compared.candidates.iter().zip(&compared.losses) {
        assert!(html.contains(&format!("{name}</")) && html.contains(&format!("{loss:.4}")), "{name} {loss}");
    }
    assert!(page.picture("candidates", &Pool::new(1).unwrap()).unwrap().starts_with("<svg"));
}

#[test]
fn many_rows_many_classes_and_one_kernel_stay_small() {
    let pool = Pool::new(2).unwrap();
    let (few, many) = (rows(200, 50), rows(600, 50));
    for bank in ["gaussian(1) on [0:2]", "gaussian(1..2) each view"] {
        let model = Plan::new("average").unwrap().kernels(bank).unwrap().train(&few).unwrap();
        let labels =
            Labels::with_classes(&(0..600).map(|i| format!("<c{}>", i % 50)).collect::<Vec<_>>(), model.classes())
                .unwrap();
        let many = Dataset { labels, ..many.clone() };
        let page = ModelPage { model: &model, rows: None, known: Some(&many), command: None };
        check(&page.html(&pool).unwrap());
    }
}

#[test]
fn numbers_and_times_have_their_sections() {
    let (data, pool) = (rows(90, 3), Pool::new(2).unwrap());
    let of = |i: usize| data.labels.codes()[i] as f64 + 0.01 * i as f64;
    let names = vec!["<b>price".to_string(), "size".into()];
    let numbers = Numbers::new(names, Matrix::from_fn(90, 2, |i, t| 1e3 + of(i) * (t + 1) as f64)).unwrap();
    let times = Times::new((0..90).map(|i| 5.0 - of(i)).collect(), (0..90).map(|i| i % 4 > 0).collect()).unwrap();
    let sets = [
        (Dataset::of_numbers("n", data.samples.clone(), numbers).unwrap(), "residuals", "R2 is "),
        (Dataset::of_times("t", data.samples.clone(), times).unwrap(), "survival", "the concordance is "),
    ];
    for (set, section, words) in &sets {
        let plan = Plan::new("evidence").unwrap().kernels("gaussian(1..2) each view").unwrap();
        let model = plan.train(set).unwrap();
        let page = ModelPage { model: &model, rows: None, known: Some(set), command: None }.html(&pool).unwrap();
        check(&page);
        assert!(page.contains(words) && !page.contains("<b>price") && !page.contains("0 classes"));
        for id in ["verdict", "weights", "shares", "rows", "importance", section] {
            assert!(page.contains(&format!("<section id=\"{id}\"")), "{id}");
        }
        // What the model says about other rows needs their truth.
        let other = ModelPage { model: &model, rows: None, known: Some(&data), command: None };
        assert!(other.html(&pool).is_err());
        let seen = ModelPage { model: &model, rows: Some(&set.samples), known: None, command: None };
        assert!(!seen.html(&pool).unwrap().contains(&format!("<section id=\"{section}\"")));
    }
}

#[test]
fn clusters_and_chains_have_their_sections() {
    let (data, pool) = (bundled("ionosphere").unwrap(), Pool::new(2).unwrap());
    let model = Plan::new("dpm").unwrap().set("start", "3").unwrap().set("sweeps", "2").unwrap().train(&data).unwrap();
    let page = ModelPage { model: &model, rows: Some(&data.samples), known: None, command: None }.html(&pool).unwrap();
    check(&page);
    assert!(page.contains("<section id=\"clusters\""));
    let sonar = bundled("sonar").unwrap().select(&(0..40).map(|k| 5 * k).collect::<Vec<_>>());
    let plan = Plan::new("bm3kl").unwrap().kernels("gaussian(1..2), linear").unwrap();
    let model = plan
        .set("draws", "10")
        .unwrap()
        .set("warmup", "10")
        .unwrap()
        .set("chains", "2")
        .unwrap()
        .train(&sonar)
        .unwrap();
    let page = ModelPage { model: &model, rows: None, known: None, command: None }.html(&pool).unwrap();
    check(&page);
    assert!(page.contains("<section id=\"chains\"") && page.contains("before any data"));
}
