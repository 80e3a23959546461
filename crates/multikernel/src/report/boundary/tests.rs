//! Pictures of models whose boundary is known.

use super::*;
use crate::data::{circles, moons};
use crate::plan::Plan;

/// Rows of two named columns.
fn data(names: [&str; 2], rows: &[([f64; 2], &str)]) -> Dataset {
    let values = Matrix::from_fn(rows.len(), 2, |i, j| rows[i].0[j]);
    let samples = Samples::new(values, names.map(String::from).to_vec()).unwrap();
    let labels: Vec<&str> = rows.iter().map(|row| row.1).collect();
    Dataset::new("rows", samples, Labels::new(&labels).unwrap()).unwrap()
}

/// Three rows on each of two parallel lines: the widest gap is around x + 2 y = 1.
fn linear() -> (Dataset, Model) {
    let rows = [
        ([-2.0, 1.0], "p"),
        ([0.0, 0.0], "p"),
        ([2.0, -1.0], "p"),
        ([-1.6, 1.8], "q"),
        ([0.4, 0.8], "q"),
        ([2.4, -0.2], "q"),
    ];
    let data = data(["x", "y"], &rows);
    (data.clone(), model(Plan::new("svm").unwrap().set("c", "1000").unwrap().set("tol", "1e-9").unwrap(), &data))
}

fn model(plan: Plan, data: &Dataset) -> Model {
    let plan = plan.kernels("linear raw").unwrap();
    plan.recipe(crate::data::Recipe { scale: crate::data::Scale::None, ..Default::default() }).train(data).unwrap()
}

fn pool() -> Pool {
    Pool::new(1).unwrap()
}

#[test]
fn boundary_of_a_linear_machine_is_its_line() {
    let (data, model) = linear();
    let picture = Boundary::of(&model, &data, None, &pool()).unwrap();
    assert!(picture.lines.len() > STEPS / 2);
    let step = |axis: Axis| (axis.high - axis.low) / STEPS as f64;
    for spot in picture.lines.iter().flatten() {
        let x = picture.across.value(spot[0] / STEPS as f64);
        let y = picture.up.value(1.0 - spot[1] / STEPS as f64);
        // Scores are linear here, so the line is located to a small fraction of a cell.
        let off = (x + 2.0 * y - 1.0).abs() / (step(picture.across) + 2.0 * step(picture.up));
        assert!(off < 0.01, "{x} {y}: {off} cells");
    }
    // Above the line is q, below it p: to the right of the middle, at the top and at the bottom.
    assert_eq!(picture.ground[STEPS].0, 1);
    assert_eq!(picture.ground[STEPS * (STEPS + 1)].0, 0);
}

#[test]
fn boundaries_of_a_vote_are_as_straight_as_those_of_its_pairs() {
    // One row of each class: each pair is separated half way between the two, and all three lines meet in the origin.
    let places = [[0.0, 1.0], [-0.75f64.sqrt(), -0.5], [0.75f64.sqrt(), -0.5]];
    let data = data(["x", "y"], &[(places[0], "p"), (places[1], "q"), (places[2], "r")]);
    let model = model(Plan::new("svm").unwrap().set("c", "1000").unwrap().set("tol", "1e-9").unwrap(), &data);
    let picture = Boundary::of(&model, &data, None, &pool()).unwrap();
    let step = (picture.across.high - picture.across.low) / STEPS as f64;
    let mut reached = [0; 3];
    for spot in picture.lines.iter().flatten() {
        let (x, y) = (picture.across.value(spot[0] / STEPS as f64), picture.up.value(1.0 - spot[1] / STEPS as f64));
        let scores = places.map(|[a, b]| a * x + b * y);
        let least = (0..3).min_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap();
        let [a, b] = [(least + 1) % 3, (least + 2) % 3].map(|c| scores[c]);
        // Near the origin, where three classes meet, the accuracy is one cell.
        let allowed = if x.hypot(y) > 2.0 * step { 0.02 * step } else { 2.0 * step };
        assert!((a - b).abs() < allowed, "{x} {y}: {scores:?}");
        reached[least] += 1;
    }
    assert!(reached.iter().all(|&n| n > STEPS / 2), "{reached:?}");
}

#[test]
fn shades_deepen_with_the_lead_and_begin_pale_at_the_line() {
    let (data, model) = linear();
    let picture = Boundary::of(&model, &data, None, &pool()).unwrap();
    let mut seen = [false; LEVELS];
    for (node, &(label, level)) in picture.ground.iter().enumerate() {
        let x = picture.across.value((node % (STEPS + 1)) as f64 / STEPS as f64);
        let y = picture.up.value(1.0 - (node / (STEPS + 1)) as f64 / STEPS as f64);
        let f = x + 2.0 * y - 1.0;
        assert!(label == usize::from(f > 0.0) || f.abs() < 1e-6, "{x} {y}");
        seen[level] = true;
        assert!(f.abs() > 0.1 || level == 0, "{f}: {level}");
    }
    assert_eq!(seen, [true; LEVELS]);
}

#[test]
fn probabilities_shade_from_even_to_certain() {
    let row = [0.5, 0.5, 0.55, 0.45, 0.0, 1.0, 0.2, 0.8];
    let levels = by_probability(&Matrix::from_vec(4, 2, row.to_vec()).unwrap(), &[0, 0, 1, 1]);
    assert_eq!(levels, [0, 0, 4, 3]);
    let three = Matrix::from_vec(2, 3, vec![1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.19, 0.19, 0.62]).unwrap();
    assert_eq!(by_probability(&three, &[0, 2]), [0, 2]);
    assert_eq!(by_probability(&Matrix::from_vec(1, 1, vec![1.0]).unwrap(), &[0]), [4]);
}

#[test]
fn models_with_probabilities_are_shaded_by_them() {
    let data = moons(60, 0.2, 0).unwrap();
    let model = Plan::new("majority").unwrap().train(&data).unwrap();
    let picture = Boundary::of(&model, &data, None, &pool()).unwrap();
    assert!(picture.has_probabilities && picture.lines.is_empty());
    assert!(picture.ground.iter().all(|&node| node == (0, 0)));
    assert!(picture.svg().contains("deeper: more probable"));
}

#[test]
fn every_row_is_drawn_once_where_it_is() {
    let (data, model) = linear();
    let others = moons(31, 0.1, 2).unwrap();
    let named = Labels::from_parts(vec!["p".into(), "q".into()], others.labels.codes().to_vec()).unwrap();
    let others = Dataset { labels: named, ..others };
    let picture = Boundary::of(&model, &data, Some(&others), &pool()).unwrap();
    let svg = picture.svg();
    for (class, rows) in [("training", &picture.train), ("held-out", picture.held_out.as_ref().unwrap())] {
        let mut found = circles_of(&svg, class);
        let mut expected: Vec<(f64, f64)> = rows
            .points
            .iter()
            .map(|([x, y], _)| {
                let left = (x - picture.across.low) / (picture.across.high - picture.across.low);
                let top = (picture.up.high - y) / (picture.up.high - picture.up.low);
                (82.0 + 480.0 * left, 40.0 + 480.0 * top)
            })
            .collect();
        found.sort_by(|a, b| a.partial_cmp(b).unwrap());
        expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert_eq!(found.len(), expected.len(), "{class}");
        for (a, b) in found.iter().zip(&expected) {
            assert!((a.0 - b.0).abs() < 0.006 && (a.1 - b.1).abs() < 0.006, "{class}: {a:?} {b:?}");
        }
    }
    assert_eq!((picture.train.points.len(), picture.held_out.as_ref().unwrap().points.len()), (6, 31));
}

/// The centres of the circles in the groups of a class of marks.
fn circles_of(svg: &str, class: &str) -> Vec<(f64, f64)> {
    let begin = format!("<g class=\"{class}\"");
    let groups = svg.split(&begin).skip(1).map(|rest| rest.split("</g>").next().unwrap());
    let number = |text: &str, name: &str| -> f64 {
        text.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
    };
    groups.flat_map(|group| group.split("<circle ").skip(1)).map(|one| (number(one, "cx"), number(one, "cy"))).collect()
}

#[test]
fn accuracy_is_that_of_held_out_rows() {
    let (data, model) = linear();
    let others = self::data(["x", "y"], &[([0.0, 0.0], "p"), ([1.0, 1.0], "q"), ([9.0, 9.0], "p")]);
    let picture = Boundary::of(&model, &data, Some(&others), &pool()).unwrap();
    assert!(picture.svg().contains(">accuracy 0.667</text>") && picture.svg().contains("3 held-out rows"));
    let alone = Boundary::of(&model, &data, None, &pool()).unwrap().svg();
    assert!(!alone.contains("accuracy") && !alone.contains("held-out"));
}

#[test]
fn classes_and_columns_are_matched_by_name() {
    let (trained, model) = linear();
    // The columns swapped, and only the second class.
    let others = data(["y", "x"], &[([0.8, 0.4], "q"), ([-0.2, 2.4], "q")]);
    let picture = Boundary::of(&model, &trained, Some(&others), &pool()).unwrap();
    assert_eq!(picture.held_out.as_ref().unwrap().points, [([0.4, 0.8], 1), ([2.4, -0.2], 1)]);
    assert_eq!(picture.accuracy, Some(1.0));
    let unknown = data(["x", "y"], &[([0.0, 0.0], "r")]);
    let error = Boundary::of(&model, &trained, Some(&unknown), &pool()).unwrap_err().to_string();
    assert_eq!(error, "row 1: label 'r' is none of the 2 known classes (p, q)");
}

#[test]
fn rows_without_a_value_are_counted_and_not_drawn() {
    let (_, model) = linear();
    let rows = [([0.0, f64::NAN], "p"), ([1.0, 1.0], "q"), ([0.0, -1.0], "p")];
    let svg = Boundary::of(&model, &data(["x", "y"], &rows), None, &pool()).unwrap().svg();
    assert_eq!(circles_of(&svg, "training").len(), 2);
    assert!(svg.contains(">not drawn for want of a value: 1 row</text>") && svg.contains("3 training rows"));
    let none = Boundary::of(&model, &data(["x", "y"], &rows[..1]), None, &pool()).unwrap_err().to_string();
    assert_eq!(none, "no row has a value of both 'x' and 'y'; there is nothing to draw");
}

#[test]
fn names_are_escaped_and_the_text_is_well_formed() {
    let names = ["a<b>&\"c\"", "up & \u{1}down"];
    let rows = [([0.0, 0.0], "<p>"), ([1.0, 0.0], "q&\"r\""), ([0.0, 1.0], "s'</svg>")];
    let rows: Vec<_> = rows.into_iter().chain(rows.map(|([x, y], label)| ([x + 0.1, y], label))).collect();
    let data = Dataset { name: "<rows>".into(), ..data(names, &rows) };
    let model = Plan::new("average").unwrap().train(&data).unwrap();
    let svg = Boundary::of(&model, &data, Some(&data), &pool()).unwrap().svg();
    check_well_formed(&svg).unwrap();
    for text in [
        "average on &lt;rows&gt;<",
        ">a&lt;b&gt;&amp;&quot;c&quot;<",
        ">up &amp;  down<",
        ">&lt;p&gt;<",
        ">s'&lt;/svg&gt;<",
    ] {
        assert!(svg.contains(text), "{text}");
    }
    // The checker detects faults.
    for wrong in [
        "<a><b></a></b>",
        "<a>",
        "<a b=c/>",
        "<a>&nope;</a>",
        "<a b=\"<\"/>",
        "<a>\u{1}</a>",
        "<a/><b/>",
        "<a b=\"1\" b=\"2\"/>",
    ] {
        assert!(check_well_formed(wrong).is_err(), "{wrong}");
    }
}

/// The subset of XML's rules that these pictures use.
fn check_well_formed(text: &str) -> std::result::Result<(), String> {
    if text.chars().any(|c| c.is_control() && c != '\n') {
        return Err("a control character".into());
    }
    let (mut open, mut n_roots, mut rest) = (vec![], 0, text.trim_end());
    while !rest.is_empty() {
        let Some(tail) = rest.strip_prefix('<') else {
            let end = rest.find('<').unwrap_or(rest.len());
            if open.is_empty() {
                return Err(format!("text outside: {}", &rest[..end]));
            }
            check_text(&rest[..end])?;
            rest = &rest[end..];
            continue;
        };
        let (tag, after) = tail.split_once('>').ok_or("a tag without end")?;
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> closes another"));
            }
            continue;
        }
        n_roots += usize::from(open.is_empty());
        let (inner, is_closed) = tag.strip_suffix('/').map_or((tag, false), |inner| (inner, true));
        let (name, attributes) = inner.split_once(' ').unwrap_or((inner, ""));
        check_attributes(attributes)?;
        if !is_closed {
            open.push(name);
        }
    }
    if open.is_empty() && n_roots == 1 { Ok(()) } else { Err(format!("{n_roots} roots, open: {open:?}")) }
}

fn check_attributes(mut rest: &str) -> std::result::Result<(), String> {
    let mut seen = std::collections::BTreeSet::new();
    while !rest.trim_start().is_empty() {
        let (name, tail) = rest.trim_start().split_once("=\"").ok_or(format!("no value: {rest}"))?;
        let (value, after) = tail.split_once('"').ok_or(format!("no end: {rest}"))?;
        check_text(value)?;
        if !seen.insert(name) || value.contains('<') || !name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-') {
            return Err(format!("attribute {name}"));
        }
        rest = after;
    }
    Ok(())
}

fn check_text(text: &str) -> std::result::Result<(), String> {
    let known = ["amp;", "lt;", "gt;", "quot;"];
    match text.split('&').skip(1).find(|rest| !known.iter().any(|known| rest.starts_with(known))) {
        Some(rest) => Err(format!("&{rest}")),
        None => Ok(()),
    }
}

#[test]
fn pictures_are_small_and_the_same_for_any_number_of_threads() {
    let data = circles(100, 0.1, 0.5, 0).unwrap();
    let labels: Vec<String> = (0..100).map(|i| format!("c{}", (i + data.labels.codes()[i]) % 3)).collect();
    let noise = Dataset { labels: Labels::new(&labels).unwrap(), ..data.clone() };
    for (data, plan) in [
        (&data, Plan::new("average").unwrap().proba(true)),
        (&data, Plan::new("svm").unwrap()),
        // Three randomly assigned classes, memorised: as ragged a picture as there is.
        (&noise, Plan::new("svm").unwrap().kernels("gaussian(0.05)").unwrap().set("c", "1000").unwrap()),
    ] {
        let model = plan.train(data).unwrap();
        let draw = |threads: usize| Boundary::of(&model, data, Some(data), &Pool::new(threads).unwrap()).unwrap().svg();
        let svg = draw(1);
        assert_eq!(svg, draw(2));
        assert!(svg.len() < 150_000, "{}", svg.len());
        check_well_formed(&svg).unwrap();
    }
}

#[test]
fn ground_covers_every_cell_once() {
    let data = circles(100, 0.1, 0.5, 0).unwrap();
    let model = Plan::new("svm").unwrap().train(&data).unwrap();
    let svg = Boundary::of(&model, &data, None, &pool()).unwrap().svg();
    let ground = svg.split("class=\"ground\"").nth(1).unwrap().split("</g>").next().unwrap();
    let mut cells = vec![0; (STEPS + 1) * (STEPS + 1)];
    for run in ground.split(" d=\"M").skip(1).flat_map(|path| path.split('"').next().unwrap().split('M')) {
        let (x, rest) = run.split_once(' ').unwrap();
        let (y, n) = rest.split_once('h').unwrap();
        let [x, y, n] = [x, y, n].map(|text| text.parse::<usize>().unwrap());
        cells[y * (STEPS + 1) + x..][..n].iter_mut().for_each(|cell| *cell += 1);
    }
    assert!(cells.iter().all(|&n| n == 1));
}

#[test]
fn models_that_cannot_be_drawn_are_refused() {
    let data = crate::data::bundled("ionosphere").unwrap();
    let wide = Plan::new("majority").unwrap().train(&data).unwrap();
    assert_eq!(
        Boundary::of(&wide, &data, None, &pool()).unwrap_err().to_string(),
        "a picture needs a model of exactly two feature columns; this one has 34: x1, x2, x3, x4, x5, ...; train one on two columns"
    );
    let (rows, _) = linear();
    let one = Samples::new(rows.samples.features().select_cols(&[1]), vec!["y".into()]).unwrap();
    let one = Plan::new("majority").unwrap().train(&Dataset { samples: one, ..rows.clone() }).unwrap();
    assert_eq!(
        Boundary::check(&one).unwrap_err().to_string(),
        "a picture needs a model of exactly two feature columns; this one has 1: y; train one on two columns"
    );
    let gram = crate::data::Gram::square("G", Matrix::from_fn(6, 6, |i, j| f64::from(u8::from(i == j)))).unwrap();
    let both = Dataset { samples: rows.samples.clone().with_grams(vec![gram]).unwrap(), ..rows };
    let both = Plan::new("average").unwrap().kernels("linear, precomputed(G)").unwrap().train(&both).unwrap();
    assert_eq!(
        Boundary::check(&both).unwrap_err().to_string(),
        "a picture needs a model of exactly two feature columns; this one looks at the Gram matrix G as well, which says nothing of \
         places between rows; train one without"
    );
}

#[test]
fn places_where_a_kernel_overflows_are_told_to_be_of_the_grid() {
    let (near, _) = linear();
    let model = Plan::new("svm").unwrap().kernels("polynomial(3) raw").unwrap().train(&near).unwrap();
    let far = data(["x", "y"], &[([-1e150, 0.0], "p"), ([1e150, 1e150], "q")]);
    let error = Boundary::of(&model, &far, None, &pool()).unwrap_err().to_string();
    assert!(error.starts_with("the grid of the picture, row 1: its values are so far"), "{error}");
}
