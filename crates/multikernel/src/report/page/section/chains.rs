//! Whether the chains of a sampler agree: R-hat, effective sizes and rank plots.

use super::super::canvas::{Anchor, Canvas, WIDTH};
use super::super::html::{Cell, Figure, Section, Table};
use crate::draws::{Draws, Summary, Worst};
use crate::report::count;
use crate::report::numbers::{figure, short};

/// Numbers with a rank plot, and bins of it.
const MOST_PLOTS: usize = 6;
const BINS: usize = 20;

/// The diagnostics of all numbers, and rank plots of the kernels whose chains agree least.
pub(in crate::report::page) fn section(draws: &Draws) -> Option<Section> {
    let (mut found, worst) = (draws.summary(), worst(draws)?);
    let r_hat = |one: &Summary| if one.diagnosis.r_hat.is_nan() { 0.0 } else { one.diagnosis.r_hat };
    found.sort_by(|a, b| r_hat(b).total_cmp(&r_hat(a)));
    let judged = if worst.r_hat <= 1.01 {
        "The chains agree"
    } else if worst.r_hat <= 1.05 {
        "The chains nearly agree; more draws would settle it"
    } else {
        "The chains disagree: believe none of the figures, and raise warmup and draws"
    };
    let says = format!(
        "{judged}: over all weights the largest R-hat is {:.3} (1 is agreement) and the least effective number of draws {:.0}, from {} of \
         {}. Rank plots are of the numbers that agree least. Each chain should be level but for chance (single bars vary by about {:.0} %): \
         bars that lean or hump show a chain that draws other values than the rest.",
        worst.r_hat,
        worst.ess_bulk,
        count(draws.n_chains(), "chain"),
        count(draws.n_draws(), "draw"),
        // Poisson counts in each bin.
        100.0 * (BINS as f64 / draws.n_draws().max(1) as f64).sqrt(),
    );
    let mut table = Table::new(
        "Diagnostics of what was drawn, the least agreeing first",
        &["number", "mean", "sd", "from", "to", "R-hat", "ESS bulk", "ESS tail"],
    );
    for one in &found {
        let d = &one.diagnosis;
        let mut row = vec![Cell::Text(name(one))];
        row.extend([d.mean, d.sd, d.interval.0, d.interval.1, d.r_hat, d.ess_bulk, d.ess_tail].map(Cell::Number));
        table.row(row);
    }
    let svg = ranks(draws, &found);
    Some(Section { id: "chains", title: "Chains".into(), says, figures: vec![Figure { svg, table }] })
}

/// The weights, or what else was drawn, whose chains agree least.
pub(in crate::report::page) fn worst(draws: &Draws) -> Option<Worst> {
    let found = draws.summary();
    Worst::of(found.iter().filter(|one| one.variable == "weights").map(|one| &one.diagnosis))
        .or_else(|| Worst::of(found.iter().map(|one| &one.diagnosis)))
}

fn name(one: &Summary) -> String {
    one.coordinate.as_ref().map_or(one.variable.clone(), |at| format!("{}[{}]", one.variable, short(at)))
}

/// A row of histograms of ranks for each number, one for each chain.
fn ranks(draws: &Draws, found: &[Summary]) -> String {
    let shown: Vec<&Summary> = found.iter().filter(|one| one.diagnosis.r_hat.is_finite()).take(MOST_PLOTS).collect();
    let n_chains = draws.n_chains().min(8);
    let (left, high, gap) = (200.0, 40.0, 14.0);
    let wide = (WIDTH - left - 12.0) / n_chains.max(1) as f64 - gap;
    let bottom = 26.0 + (high + gap) * shown.len() as f64;
    let mut canvas = Canvas::new(bottom + 6.0);
    for chain in 0..n_chains {
        canvas.text([left + (wide + gap) * chain as f64, 14.0], Anchor::Start, &format!("chain {chain}"), 12);
    }
    for (k, one) in shown.iter().enumerate() {
        let base = 26.0 + (high + gap) * k as f64 + high;
        canvas.text([left - 10.0, base - 0.5 * high + 4.5], Anchor::End, &name(one), 24);
        let Ok(chains) = draws.chains(&one.variable, one.index) else { continue };
        for (chain, counts) in histograms(&chains).iter().enumerate().take(n_chains) {
            let expected = chains[chain].len() as f64 / BINS as f64;
            let x = left + (wide + gap) * chain as f64;
            for (bin, &n) in counts.iter().enumerate() {
                let tall = (0.5 * high * n as f64 / expected.max(1e-9)).min(high);
                let at = x + wide * bin as f64 / BINS as f64;
                canvas.cell("bar", [at, base - tall, wide / BINS as f64, tall], 0.7, "");
            }
            canvas.line("zero", [x, base - 0.5 * high], [x + wide, base - 0.5 * high]);
            canvas.line("axis", [x, base], [x + wide, base]);
        }
    }
    let worst = shown.first().map_or(String::new(), |one| {
        format!("; the largest R-hat is {} for {}", figure(one.diagnosis.r_hat), name(one))
    });
    canvas.finish(
        "ranks",
        "Rank plots of the chains",
        &format!("Histograms of the ranks of each chain's draws among those of all chains, for {} numbers; flat at the dashed line is agreement{worst}", shown.len()),
    )
}

/// For each chain, how many of its draws have ranks in each part of all ranks; ties share by order.
fn histograms(chains: &[Vec<f64>]) -> Vec<[usize; BINS]> {
    let mut all: Vec<(f64, usize)> =
        chains.iter().enumerate().flat_map(|(chain, draws)| draws.iter().map(move |&draw| (draw, chain))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut counts = vec![[0; BINS]; chains.len()];
    for (rank, (_, chain)) in all.iter().enumerate() {
        counts[*chain][rank * BINS / all.len()] += 1;
    }
    counts
}
