//! The bound and its gradient.
//!
//! Given the outputs `G_d = K_d a` of all kernels, the bound costs no pass over the kernels: at node s the function is
//! `sum_d m_d e_ds G_d`, with m the mean weights and e nodes of mean 1. Outputs are linear along a line, so a line
//! search costs one `apply` for its direction and, at its end, one `collect` for the gradient of the sample weights.

use std::borrow::Cow;
use std::ops::Range;

use super::clip::Clip;
use super::distribution::WeightDistribution;
use super::layout::Layout;
use super::loss::{Joint, Loss};
use crate::error::Result;
use crate::file::record;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::simd::{Real, exp, ln};
use crate::stack::{AtRows, Stack, Swept};

/// Rows per thread task.
const ROWS: usize = 64;

/// The prior of the kernel weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Prior {
    /// A gamma distribution with this shape and rate; shape 1 is the published exponential distribution.
    Gamma { shape: f64, rate: f64 },
    /// A penalty of this factor times the squared weight.
    Ridge(f64),
    /// Weights are not learned.
    Fixed,
}

/// The objective to maximise.
#[derive(Debug)]
pub(super) struct Objective<'a> {
    pub(super) layout: Layout,
    pub(super) distribution: WeightDistribution,
    pub(super) prior: Prior,
    /// The ridge parameter.
    pub(super) lambda: f64,
    /// The targets of all rows.
    pub(super) loss: Loss,
    /// The rows that carry sample weights.
    pub(super) points: Vec<usize>,
    /// The level of each kernel (rows) at each node (columns).
    pub(super) places: Vec<usize>,
    pub(super) clip: Clip,
    pub(super) stack: &'a Stack,
    pub(super) pool: &'a Pool,
}

/// Kernel weights at the nodes, kernel by kernel, their derivatives in the shapes, and the intercepts, the same at all
/// nodes.
struct Nodes {
    weights: Vec<f64>,
    slopes: Vec<f64>,
    intercepts: Vec<f64>,
}

/// The bound at a point and the parts of its gradient.
#[derive(Clone, Debug)]
pub(super) struct Value {
    /// Minus the bound.
    pub(super) loss: f64,
    /// The gradient of the loss, without the contribution of `output_gradients` to the sample weights.
    pub(super) gradient: Vec<f64>,
    /// Minus the derivative of the loss in each output of a row, laid out like the outputs. `None` if the gradient is
    /// complete.
    pub(super) output_gradients: Option<Vec<f64>>,
    /// The mean curvature of the loss in the functions at each row.
    pub(super) curvature: Vec<f64>,
    /// `a' K_d a`, over all functions.
    pub(super) lengths: Vec<f64>,
    /// What the curvature at the rows adds up to, where the rows are elsewhere.
    pub(super) sums: Option<CurvatureSums>,
}

/// A set of rows and the factor they count with.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowBatch<'a> {
    /// The rows; `None` for all of them.
    pub(super) rows: Option<&'a [usize]>,
    /// The factor on each row: above 1 for a batch that stands for more rows.
    pub(super) factor: f64,
}

/// Some of the rows whose outputs are given.
struct Place<'a> {
    /// Rows whose outputs are given.
    n_rows: usize,
    /// Those that are meant.
    range: Range<usize>,
    /// Which row of all each is.
    row: &'a (dyn Fn(usize) -> usize + Sync),
    /// The loss, where it is no sum over rows.
    joint: Option<&'a Joint>,
}

/// The contributions of some rows.
#[derive(Clone, Debug)]
pub(super) struct RowSums {
    pub(super) loss: f64,
    pub(super) curvature: Vec<f64>,
    /// By kernel and node: outputs times residuals.
    pub(super) products: Vec<f64>,
    /// By function.
    pub(super) residuals: Vec<f64>,
}

record! {
    /// What the curvature w at the rows adds up to.
    #[derive(Clone, Debug, Default)]
    pub(super) struct CurvatureSums {
        /// `sum_i w_i`, each at least the minimum.
        pub(super) total: f64,
        /// `sum_i w_i (K_d a)_i^2` for each kernel, over all functions, each w at least the minimum.
        pub(super) squares: Vec<f64>,
        /// The same with w as it is.
        pub(super) plain: Vec<f64>,
    }
}

impl Objective<'_> {
    /// The mean weights at a point.
    pub(super) fn means(&self, x: &[f64]) -> Vec<f64> {
        match self.layout.weighted {
            true => x[self.layout.means()].iter().map(|&value| exp(value)).collect(),
            false => vec![1.0 / self.layout.n_kernels as f64; self.layout.n_kernels],
        }
    }

    fn nodes(&self, x: &[f64]) -> Nodes {
        let (levels, layout, means) = (self.distribution.levels(), self.layout, self.means(x));
        let (mut plain, mut bent) = (vec![0.0; levels], vec![0.0; levels]);
        let intercepts = if layout.intercept { x[layout.intercepts()].to_vec() } else { vec![0.0; layout.n_functions] };
        let mut nodes = Nodes { weights: vec![], slopes: vec![], intercepts };
        for (d, &mean) in means.iter().enumerate() {
            let shape = if self.layout.shaped { x[self.layout.shapes()][d] } else { 0.0 };
            if d == 0 || self.layout.shaped {
                self.distribution.nodes(shape, &mut plain, &mut bent);
            }
            let count = self.places.len() / means.len();
            let places = &self.places[d * count..(d + 1) * count];
            nodes.weights.extend(places.iter().map(|&level| mean * plain[level]));
            nodes.slopes.extend(places.iter().map(|&level| mean * bent[level]));
        }
        nodes
    }

    /// The kernels' outputs at some rows, function by function, row by row, kernel by kernel: `stack` is between the
    /// rows and the points.
    pub(super) fn outputs(&self, samples: &[f64], stack: &Stack) -> Result<Vec<f64>> {
        let Layout { n_points, n_functions, n_kernels, .. } = self.layout;
        let columns = Matrix::from_fn(n_points, n_functions, |i, c| samples[c * n_points + i]);
        let applied = stack.apply(&columns, self.pool)?;
        let n_rows = stack.n_rows();
        let mut outputs = vec![0.0; n_functions * n_rows * n_kernels];
        self.pool.chunks_mut(&mut outputs, ROWS * n_kernels, |k, outputs| {
            for (row, outputs) in (k * ROWS..).zip(outputs.chunks_exact_mut(n_kernels)) {
                outputs.iter_mut().zip(&applied).for_each(|(out, of)| *out = of.get(row % n_rows, row / n_rows));
            }
        });
        self.clip.project(&mut outputs, n_rows, n_kernels);
        Ok(outputs)
    }

    /// The functions at the mean weights, function by function, from the outputs at all rows.
    pub(super) fn mean_functions(&self, x: &[f64], outputs: &[f64]) -> Vec<f64> {
        let (layout, means, n_rows) = (self.layout, self.means(x), self.loss.n_rows());
        let intercept = |c: usize| if layout.intercept { x[layout.intercepts()][c] } else { 0.0 };
        let of = |(k, outputs): (usize, &[f64])| f64::dot(&means, outputs) + intercept(k / n_rows);
        outputs.chunks_exact(layout.n_kernels).enumerate().map(of).collect()
    }

    /// Adds the contribution of `output_gradients` at some rows to the gradient of the loss in the sample weights:
    /// `stack` is between the points and the rows.
    pub(super) fn add_output_gradients(
        &self,
        output_gradients: &[f64],
        stack: &Stack,
        gradient: &mut [f64],
    ) -> Result<()> {
        let Layout { n_points, n_functions, n_kernels, .. } = self.layout;
        let n_rows = stack.n_cols();
        let mut output_gradients = Cow::from(output_gradients);
        if !self.clip.kernels.is_empty() {
            self.clip.project(output_gradients.to_mut(), n_rows, n_kernels);
        }
        let mut vectors = Matrix::zeros(n_rows, n_kernels * n_functions);
        self.pool.chunks_mut(vectors.data_mut(), n_kernels * n_functions, |i, row| {
            for (d, of_kernel) in row.chunks_exact_mut(n_functions).enumerate() {
                let functions = of_kernel.iter_mut().enumerate();
                functions.for_each(|(c, value)| *value = output_gradients[(c * n_rows + i) * n_kernels + d]);
            }
        });
        let collected = stack.collect(&vectors, self.pool)?;
        for (i, row) in collected.rows().enumerate() {
            row.iter().enumerate().for_each(|(c, value)| gradient[c * n_points + i] -= value);
        }
        Ok(())
    }

    /// The outputs at the points, from those at all rows.
    pub(super) fn at_points<'a>(&self, outputs: &'a [f64]) -> Cow<'a, [f64]> {
        let (n_kernels, n_rows) = (self.layout.n_kernels, self.loss.n_rows());
        if self.points.iter().copied().eq(0..n_rows) {
            return outputs.into();
        }
        let row = |c: usize, i: usize| &outputs[(c * n_rows + i) * n_kernels..][..n_kernels];
        let functions = 0..self.layout.n_functions;
        functions.flat_map(|c| self.points.iter().flat_map(move |&i| row(c, i))).copied().collect::<Vec<f64>>().into()
    }

    /// The bound at a point, from the outputs at some rows and those at the points.
    pub(super) fn value(&self, x: &[f64], rows: RowBatch<'_>, outputs: &[f64], at_points: &[f64]) -> Value {
        let nodes = self.nodes(x);
        let Layout { n_functions, n_kernels, .. } = self.layout;
        let n_rows = rows.rows.map_or(self.loss.n_rows(), <[usize]>::len);
        let row = |i: usize| rows.rows.map_or(i, |rows| rows[i]);
        let joint = self.joint(&nodes, outputs);
        let parts = self.pool.map(n_rows.div_ceil(ROWS), |k| {
            let range = k * ROWS..((k + 1) * ROWS).min(n_rows);
            let (mut part, mut output_gradients) = (self.no_rows(), vec![0.0; n_functions * range.len() * n_kernels]);
            let place = Place { n_rows, range, row: &row, joint: joint.as_ref() };
            self.add_rows(&nodes, outputs, place, &mut output_gradients, &mut part);
            (part, output_gradients)
        });
        let mut output_gradients = vec![0.0; n_functions * n_rows * n_kernels];
        let of_functions = output_gradients.chunks_mut((n_rows * n_kernels).max(1)).enumerate();
        let items: Vec<_> = of_functions
            .flat_map(|(c, of_function)| {
                of_function
                    .chunks_mut(ROWS * n_kernels)
                    .zip(&parts)
                    .map(move |(block, (_, of_part))| (c, block, of_part))
            })
            .collect();
        self.pool.each(items, |(c, of_block, of_part)| {
            let of_part = &of_part[c * of_block.len()..];
            of_block.iter_mut().zip(of_part).for_each(|(to, of_part)| *to = rows.factor * of_part);
        });
        let mut all = self.no_rows();
        parts.into_iter().for_each(|(part, _)| all.add(part));
        all.loss += joint.map_or(0.0, |joint| joint.loss);
        Value { output_gradients: Some(output_gradients), ..self.sum(x, &nodes, rows.factor, all, at_points) }
    }

    /// Moves from the current outputs at all rows to a new point, a multiple of `direction` away, in one pass over the
    /// kernels: returns the change of the outputs along the direction, the outputs at the new point, and the bound with
    /// its full gradient. Only for a loss that is a sum over rows.
    pub(super) fn pass(
        &self,
        x: &[f64],
        outputs: &[f64],
        direction: &[f64],
        length: f64,
        stack: &Stack,
    ) -> Result<(Vec<f64>, Vec<f64>, Value)> {
        let nodes = self.nodes(x);
        let (all, swept) = self.swept(&nodes, outputs, direction, length, stack)?;
        let mut moved = outputs.to_vec();
        f64::add_scaled(length, &swept.outputs, &mut moved);
        let mut value = self.sum(x, &nodes, 1.0, all, &self.at_points(&moved));
        f64::add_scaled(-1.0, &swept.collected, &mut value.gradient[..swept.collected.len()]);
        Ok((swept.outputs, moved, value))
    }

    /// What the rows of a stack (between rows and points) contribute at a point, their outputs there, and what they
    /// add to minus the gradient of the sample weights. Only for a loss that is a sum over rows.
    pub(super) fn contributions(&self, x: &[f64], stack: &Stack) -> Result<(RowSums, Vec<f64>, Vec<f64>)> {
        let Layout { n_functions, n_kernels, .. } = self.layout;
        let zeros = vec![0.0; n_functions * self.loss.n_rows() * n_kernels];
        let (all, swept) = self.swept(&self.nodes(x), &zeros, &x[self.layout.samples()], 1.0, stack)?;
        Ok((all, swept.outputs, swept.collected))
    }

    /// The bound from what all rows contribute, with its full gradient.
    pub(super) fn of_contributions(&self, x: &[f64], all: RowSums, collected: &[f64], at_points: &[f64]) -> Value {
        let mut value = self.sum(x, &self.nodes(x), 1.0, all, at_points);
        f64::add_scaled(-1.0, collected, &mut value.gradient[..collected.len()]);
        value
    }

    /// One pass over the kernels of rows, a multiple of a direction away from their outputs.
    fn swept(
        &self,
        nodes: &Nodes,
        outputs: &[f64],
        direction: &[f64],
        length: f64,
        stack: &Stack,
    ) -> Result<(RowSums, Swept<()>)> {
        let Layout { n_points, n_functions, n_kernels, .. } = self.layout;
        let n_rows = self.loss.n_rows();
        let columns = Matrix::from_fn(n_points, n_functions, |i, c| direction[c * n_points + i]);
        let swept = stack.sweep(
            &columns,
            self.pool,
            || (self.no_rows(), vec![]),
            |AtRows { rows, outputs: along }, output_gradients, (part, here)| {
                here.clear();
                for c in 0..n_functions {
                    here.extend(&outputs[(c * n_rows + rows.start) * n_kernels..][..rows.len() * n_kernels]);
                }
                f64::add_scaled(length, along, here);
                let place = Place { n_rows: rows.len(), range: 0..rows.len(), row: &|i| rows.start + i, joint: None };
                self.add_rows(nodes, here, place, output_gradients, part);
            },
        )?;
        let mut all = self.no_rows();
        let Swept { outputs, collected, parts } = swept;
        parts.into_iter().for_each(|(part, _)| all.add(part));
        Ok((all, Swept { outputs, collected, parts: vec![] }))
    }

    /// The bound from the summed contributions of rows, with its gradient except for output_gradients.
    fn sum(&self, x: &[f64], nodes: &Nodes, factor: f64, all: RowSums, at_points: &[f64]) -> Value {
        let (layout, means) = (self.layout, self.means(x));
        let mut gradient = vec![0.0; layout.size()];
        let lengths = self.lengths(x, &means, at_points, &mut gradient);
        let mut loss = factor * all.loss;
        loss += self.lambda * means.iter().zip(&lengths).map(|(mean, length)| mean * length).sum::<f64>();
        for (gradient, residual) in gradient[layout.intercepts()].iter_mut().zip(&all.residuals) {
            *gradient = -factor * residual;
        }
        let n_nodes = self.places.len() / means.len();
        let inner = |values: &[f64], d: usize| {
            let range = d * n_nodes..(d + 1) * n_nodes;
            factor * f64::dot(&values[range.clone()], &all.products[range])
        };
        if layout.weighted {
            for (d, place) in layout.means().enumerate() {
                gradient[place] = self.lambda * means[d] * lengths[d] - inner(&nodes.weights, d);
            }
            for (d, place) in layout.shapes().enumerate() {
                gradient[place] = -inner(&nodes.slopes, d);
            }
            loss += self.prior(x, &means, &mut gradient);
        }
        Value { loss, gradient, output_gradients: None, curvature: all.curvature, lengths, sums: None }
    }

    /// The squared length of the functions in each kernel; adds its penalty to the gradient of the sample weights.
    pub(super) fn lengths(&self, x: &[f64], means: &[f64], at_points: &[f64], gradient: &mut [f64]) -> Vec<f64> {
        let mut lengths = vec![0.0; means.len()];
        for ((&sample, gradient), outputs) in
            x[self.layout.samples()].iter().zip(gradient).zip(at_points.chunks_exact(means.len()))
        {
            f64::add_scaled(sample, outputs, &mut lengths);
            *gradient = 2.0 * self.lambda * f64::dot(means, outputs);
        }
        lengths
    }

    /// The contribution of the prior and the entropy of the distributions to the loss; adds theirs to the gradient.
    fn prior(&self, x: &[f64], means: &[f64], gradient: &mut [f64]) -> f64 {
        let layout = self.layout;
        let mut loss = 0.0;
        for (d, (&mean, ln_mean)) in means.iter().zip(&x[layout.means()]).enumerate() {
            gradient[layout.means()][d] += self.prior_slope(mean);
            match self.prior {
                Prior::Fixed => {}
                Prior::Ridge(ridge) => loss += ridge * mean * mean,
                Prior::Gamma { shape: prior, rate } => {
                    let shape = if layout.shaped { x[layout.shapes()][d] } else { 0.0 };
                    let (entropy, entropy_slope) = self.distribution.entropy(shape);
                    let (mean_ln, mean_ln_slope) = self.distribution.mean_ln(shape);
                    let ln_density = prior * ln(rate) - crate::dist::ln_gamma_function(prior)
                        + (prior - 1.0) * (mean_ln + ln_mean)
                        - rate * mean;
                    loss -= entropy + ln_mean + ln_density;
                    if layout.shaped {
                        gradient[layout.shapes()][d] -= entropy_slope + (prior - 1.0) * mean_ln_slope;
                    }
                }
            }
        }
        loss
    }

    fn no_rows(&self) -> RowSums {
        RowSums {
            loss: 0.0,
            curvature: vec![],
            products: vec![0.0; self.places.len()],
            residuals: vec![0.0; self.layout.n_functions],
        }
    }

    /// The functions at a row, one after the other, at all nodes: `outputs` are those of `n_rows` rows.
    fn functions_at(&self, nodes: &Nodes, outputs: &[f64], n_rows: usize, i: usize, functions: &mut [f64]) {
        let n_kernels = self.layout.n_kernels;
        let n_nodes = self.places.len() / n_kernels;
        for (c, function) in functions.chunks_exact_mut(n_nodes).enumerate() {
            function.fill(nodes.intercepts[c]);
            let outputs = &outputs[(c * n_rows + i) * n_kernels..][..n_kernels];
            for (&output, weights) in outputs.iter().zip(nodes.weights.chunks_exact(n_nodes)) {
                f64::add_scaled(output, weights, function);
            }
        }
    }

    /// The loss of all rows, where it is no sum over them.
    fn joint(&self, nodes: &Nodes, outputs: &[f64]) -> Option<Joint> {
        if self.loss.is_by_row() {
            return None;
        }
        self.loss.joint(self.functions_of(nodes, outputs), self.n_nodes(), self.pool)
    }

    pub(super) fn n_nodes(&self) -> usize {
        self.places.len() / self.layout.n_kernels
    }

    /// The function at all rows, by row and node, where there is one, from the outputs at them.
    pub(super) fn node_functions(&self, x: &[f64], outputs: &[f64]) -> Vec<f64> {
        self.functions_of(&self.nodes(x), outputs)
    }

    fn functions_of(&self, nodes: &Nodes, outputs: &[f64]) -> Vec<f64> {
        let (n_rows, n_nodes) = (self.loss.n_rows(), self.n_nodes());
        let mut functions = vec![0.0; n_rows * n_nodes];
        self.pool.chunks_mut(&mut functions, n_nodes, |i, functions| {
            self.functions_at(nodes, outputs, n_rows, i, functions);
        });
        functions
    }

    /// Adds some rows whose outputs are given; `output_gradients` are laid out like the outputs, for the range alone.
    fn add_rows(
        &self,
        nodes: &Nodes,
        outputs: &[f64],
        Place { n_rows, range, row, joint }: Place<'_>,
        output_gradients: &mut [f64],
        part: &mut RowSums,
    ) {
        let Layout { n_functions, n_kernels, .. } = self.layout;
        let n_nodes = self.places.len() / n_kernels;
        let mut functions = vec![0.0; n_functions * n_nodes];
        let mut scratch = vec![0.0; 2 * n_nodes];
        let (first, count) = (range.start, range.len());
        for i in range {
            let (loss, curvature) = if let Some(joint) = joint {
                (0.0, joint.at_row(i, &mut functions))
            } else {
                self.functions_at(nodes, outputs, n_rows, i, &mut functions);
                self.loss.at_row(row(i), &mut functions, n_nodes, &mut scratch)
            };
            part.loss += loss;
            part.curvature.push(curvature);
            for (c, residuals) in functions.chunks_exact(n_nodes).enumerate() {
                part.residuals[c] += residuals.iter().sum::<f64>();
                let outputs = &outputs[(c * n_rows + i) * n_kernels..][..n_kernels];
                let output_gradients = &mut output_gradients[(c * count + i - first) * n_kernels..][..n_kernels];
                let each = nodes.weights.chunks_exact(n_nodes).zip(part.products.chunks_exact_mut(n_nodes));
                for ((&output, add_output_gradients), (weights, products)) in
                    outputs.iter().zip(output_gradients).zip(each)
                {
                    *add_output_gradients = f64::dot(weights, residuals);
                    f64::add_scaled(output, residuals, products);
                }
            }
        }
    }
}

impl RowSums {
    /// Adds the following rows.
    fn add(&mut self, next: RowSums) {
        self.loss += next.loss;
        self.curvature.extend(next.curvature);
        f64::add_scaled(1.0, &next.products, &mut self.products);
        f64::add_scaled(1.0, &next.residuals, &mut self.residuals);
    }
}
