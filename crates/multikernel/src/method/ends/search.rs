//! The search for one positive number, by its logarithm, that maximises the evidence: a grid, then the golden section
//! of the larger side of the bracket around the best point. What was tried is the state, so a stored search goes on
//! where it was.

/// Where a new point goes in the larger side of a bracket.
const GOLDEN: f64 = 0.381_966_011_250_105_1;

/// A search.
pub(super) struct Search {
    pub(super) grid: &'static [f64],
    /// Points tried in total.
    pub(super) evaluations: usize,
    /// Brackets narrower than this are narrow enough.
    pub(super) width: f64,
}

impl Search {
    /// The next point to try; `None` at the end.
    pub(super) fn next(&self, tried: &[f64], evidence: &[f64]) -> Option<f64> {
        if let Some(&point) = self.grid.get(tried.len()) {
            return Some(point);
        }
        if tried.len() >= self.evaluations {
            return None;
        }
        let at = tried[best(evidence)];
        let below = tried.iter().copied().filter(|&x| x < at).fold(f64::NEG_INFINITY, f64::max);
        let above = tried.iter().copied().filter(|&x| x > at).fold(f64::INFINITY, f64::min);
        // At an end of the grid the bracket has one side.
        let sides = [at - below, above - at].map(|side| if side.is_finite() { side } else { 0.0 });
        if sides[0].max(sides[1]) < self.width {
            return None;
        }
        Some(if sides[0] > sides[1] { at - GOLDEN * sides[0] } else { at + GOLDEN * sides[1] })
    }

    /// Whether a stored search can have come so far.
    pub(super) fn fits(&self, tried: &[f64], evidence: &[f64]) -> bool {
        tried.len() == evidence.len() && tried.len() <= self.evaluations && tried.iter().all(|x| x.is_finite())
    }
}

/// The place of the first largest.
pub(super) fn best(evidence: &[f64]) -> usize {
    (0..evidence.len()).rev().max_by(|&a, &b| evidence[a].total_cmp(&evidence[b])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_ends_near_the_top_wherever_it_is() {
        let search = Search { grid: &[-6.0, -3.0, 0.0, 3.0, 6.0], evaluations: 20, width: 0.05 };
        for top in [-6.0, -4.4, -0.1, 2.2, 6.0] {
            let (mut tried, mut values) = (vec![], vec![]);
            while let Some(x) = search.next(&tried, &values) {
                tried.push(x);
                values.push(-(x - top) * (x - top));
            }
            assert!((tried[best(&values)] - top).abs() < 0.05, "{top}: {tried:?}");
            assert!(tried.len() <= 20 && search.fits(&tried, &values));
        }
    }
}
