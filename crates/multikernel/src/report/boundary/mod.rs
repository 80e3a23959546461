//! A picture of a classifier on two columns: its predictions over the plane, and the rows.

mod axis;
mod contour;
mod draw;
#[cfg(test)]
mod tests;

pub(super) use self::axis::Axis;
use self::contour::{Grid, PlanePoint};
pub(super) use self::draw::{escaped, short};
use crate::data::{Dataset, Labels, Samples};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::plan::Model;
use crate::pool::Pool;

/// Grid steps per side: three pixels each.
const STEPS: usize = 160;

/// Number of shades per class.
const LEVELS: usize = 5;

/// The decision boundary of a model on two feature columns, with the rows around it: a picture for papers and pages, as
/// SVG.
///
/// The background has the colour of the class predicted there, deeper where it is more probable (five shades, from as
/// probable as all others to certain) or, for models without probabilities, where its lead over the next class is
/// larger. A line is drawn where the class changes. Training rows are discs, held-out rows are rings, each in the
/// colour of its own class; the accuracy on held-out rows is in the lower right corner. Rows that lack one of the two
/// values cannot be drawn and are only counted, though their predictions count towards the accuracy.
///
/// Cost: 25,921 predictions. The same bytes for any number of threads; some 10 to 100 kB, plus 40 bytes for each row.
///
/// ```
/// use multikernel::{Plan, Pool, data::moons, report::Boundary};
/// let (data, held_out) = (moons(100, 0.2, 0)?, moons(50, 0.2, 1)?);
/// let model = Plan::new("svm")?.train(&data)?;
/// let svg = Boundary::of(&model, &data, Some(&held_out), &Pool::new(2)?)?.svg();
/// assert!(svg.starts_with("<svg ") && svg.matches("<circle ").count() >= 150);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Debug)]
pub struct Boundary {
    title: String,
    classes: Vec<String>,
    columns: [String; 2],
    across: Axis,
    up: Axis,
    /// The class and shade level of each grid node, row by row from the top.
    ground: Vec<(usize, usize)>,
    has_probabilities: bool,
    lines: Vec<[PlanePoint; 2]>,
    train: PlottedRows,
    held_out: Option<PlottedRows>,
    accuracy: Option<f64>,
}

/// Rows to draw.
#[derive(Debug)]
struct PlottedRows {
    /// Both values and the class of each row that can be drawn.
    points: Vec<([f64; 2], usize)>,
    n_rows: usize,
}

impl Boundary {
    /// Whether a model can be drawn: it must use exactly two feature columns and no Gram matrix. Check this before
    /// reading rows for it.
    pub fn check(model: &Model) -> Result<()> {
        let (names, grams) = (model.input().features(), model.input().gram_diagonals());
        let wanted = "a picture needs a model of exactly two feature columns";
        if names.len() != 2 {
            let has = match names.len() {
                0 => "none".to_string(),
                n @ ..=5 => format!("{n}: {}", names.join(", ")),
                n => format!("{n}: {}, ...", names[..5].join(", ")),
            };
            return Err(Error::input(format!("{wanted}; this one has {has}; train one on two columns")));
        }
        if let Some((name, _)) = grams.first() {
            return Err(Error::input(format!(
                "{wanted}; this one looks at the Gram matrix {name} as well, which says nothing of places between rows; train one \
                 without"
            )));
        }
        Ok(())
    }

    /// The picture of a model with its training rows, and optionally held-out rows to show how it does on them. Columns
    /// are matched as by [`Model::predict`]; a label that is not a class of the model is an error.
    pub fn of(model: &Model, train: &Dataset, held_out: Option<&Dataset>, pool: &Pool) -> Result<Boundary> {
        Boundary::check(model)?;
        let rows = PlottedRows::of(model, train)?;
        let others = held_out.map(|held_out| PlottedRows::of(model, held_out)).transpose()?;
        let columns = [model.input().features()[0].clone(), model.input().features()[1].clone()];
        let all = || rows.points.iter().chain(others.iter().flat_map(|rows| &rows.points));
        if all().next().is_none() {
            let [a, b] = &columns;
            return Err(Error::input(format!("no row has a value of both '{a}' and '{b}'; there is nothing to draw")));
        }
        let across = Axis::around(&columns[0], all().map(|(point, _)| point[0]))?;
        let up = Axis::around(&columns[1], all().map(|(point, _)| point[1]))?;
        let nodes = nodes(model, across, up)?;
        // The nodes are not the user's rows: say so if one of them is rejected.
        let of_grid = |error: Error| Error::input(format!("the grid of the picture, {error}"));
        let labels = model.predict_in(&nodes, pool).map_err(of_grid)?.labels;
        let margins = model.margins(&nodes, pool).map_err(of_grid)?;
        let has_probabilities = model.has_probabilities();
        let probabilities =
            has_probabilities.then(|| model.probabilities_in(&nodes, pool)).transpose().map_err(of_grid)?;
        let levels = match &probabilities {
            Some(probabilities) => by_probability(probabilities, &labels),
            None => by_lead(&margins, &labels),
        };
        let lines = Grid { side: STEPS + 1, margins: &margins, labels: &labels }.borders();
        Ok(Boundary {
            title: format!("{} on {}", model.training().method(), model.training().dataset()),
            classes: model.classes().to_vec(),
            columns,
            across,
            up,
            ground: labels.into_iter().zip(levels).collect(),
            has_probabilities,
            lines,
            accuracy: held_out.map(|held_out| accuracy(model, held_out, pool)).transpose()?,
            train: rows,
            held_out: others,
        })
    }

    /// The picture as the text of a self-contained SVG file.
    pub fn svg(&self) -> String {
        draw::svg(self)
    }
}

impl PlottedRows {
    fn of(model: &Model, data: &Dataset) -> Result<PlottedRows> {
        let (values, codes) = (model.input().ordered(&data.samples)?, codes(model, data)?);
        let (mut points, mut row) = (vec![], [0.0; 2]);
        for (i, code) in codes.into_iter().enumerate() {
            values.features().row_into(i, &mut row);
            if row.iter().all(|value| !value.is_nan()) {
                points.push((row, code));
            }
        }
        Ok(PlottedRows { points, n_rows: data.samples.n_samples() })
    }
}

/// The class of each row, as an index into the model's classes.
fn codes(model: &Model, data: &Dataset) -> Result<Vec<usize>> {
    let names = data.labels.classes();
    let labels: Vec<&String> = data.labels.codes().iter().map(|&code| &names[code]).collect();
    Ok(Labels::with_classes(&labels, model.classes())?.codes().to_vec())
}

/// Share of rows predicted correctly.
fn accuracy(model: &Model, data: &Dataset, pool: &Pool) -> Result<f64> {
    let (truth, found) = (codes(model, data)?, model.predict_in(&data.samples, pool)?.labels);
    let right = truth.iter().zip(&found).filter(|(a, b)| a == b).count();
    Ok(right as f64 / truth.len() as f64)
}

/// The nodes of the grid as rows, from the top, where the second column is largest.
fn nodes(model: &Model, across: Axis, up: Axis) -> Result<Samples> {
    let place = |step: usize| step as f64 / STEPS as f64;
    let side = STEPS + 1;
    let value = |i: usize, column: usize| match column {
        0 => across.value(place(i % side)),
        _ => up.value(place(STEPS - i / side)),
    };
    Samples::new(Matrix::from_fn(side * side, 2, value), model.input().features().to_vec())
}

/// The shade for a value from 0 to 1.
fn level(share: f64) -> usize {
    // NaN becomes 0.
    ((share * LEVELS as f64) as usize).min(LEVELS - 1)
}

/// Shades by how far the class's probability exceeds that of equally likely classes.
fn by_probability(probabilities: &Matrix, labels: &[usize]) -> Vec<usize> {
    let even = 1.0 / probabilities.n_cols() as f64;
    let share = |(row, &label): (&[f64], &usize)| if even < 1.0 { (row[label] - even) / (1.0 - even) } else { 1.0 };
    probabilities.rows().zip(labels).map(|node| level(share(node))).collect()
}

/// Shades by how far the class leads the next one, relative to the 90 % quantile of the nodes' leads: the largest may
/// be far out, where there are no rows.
fn by_lead(margins: &Matrix, labels: &[usize]) -> Vec<usize> {
    let lead = |(row, &label): (&[f64], &usize)| {
        let next = (0..row.len()).filter(|&c| c != label).map(|c| row[c]).fold(f64::NEG_INFINITY, f64::max);
        row[label] - next
    };
    let leads: Vec<f64> = margins.rows().zip(labels).map(lead).collect();
    let mut sorted = leads.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let most = sorted[sorted.len() * 9 / 10];
    // A class without rivals has an infinite lead.
    let share = |lead: f64| if most.is_finite() { lead / most } else { 1.0 };
    leads.into_iter().map(|lead| level(share(lead))).collect()
}
