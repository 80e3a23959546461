//! Which samples have which views.

use super::samples::View;
use crate::error::{Error, Result};
use crate::features::Features;

/// Which views each sample has: a view is absent if all its values are missing.
///
/// Kernels on a view say nothing about a sample that lacks it, so code that combines them has to know. Single missing
/// values in a view that is present do not affect presence: they are filled in with the means of the training rows.
///
/// ```
/// use multikernel::{Matrix, data::{Presence, View}};
/// let missing = f64::NAN;
/// let rows = Matrix::from_vec(2, 3, vec![1.0, missing, missing, 2.0, missing, 3.0])?.into();
/// let views = [View { name: "rna".into(), columns: 0..1 }, View { name: "meth".into(), columns: 1..3 }];
/// let presence = Presence::of(&rows, &views).expect("the first row lacks a view");
/// assert!(presence.has(0, 0) && !presence.has(0, 1) && presence.is_complete(1));
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    n_views: usize,
    /// Row by row, one flag per view.
    flags: Vec<bool>,
}

impl Presence {
    /// Which of the views each row has; `None` if all rows have all of them, as sparse rows always do.
    ///
    /// Without views, all columns count as one view. Views must lie inside the table, as those of
    /// [`Samples`](crate::data::Samples) do; columns outside the views do not count. Cost: one read per row and view,
    /// and one per missing value.
    pub fn of(features: &Features, views: &[View]) -> Option<Presence> {
        let Features::Dense(table) = features else { return None };
        let all = [View { name: String::new(), columns: 0..table.n_cols() }];
        let views = if views.is_empty() { &all[..] } else { views };
        let has = |row: &[f64], view: &View| row[view.columns.clone()].iter().any(|value| !value.is_nan());
        if table.rows().all(|row| views.iter().all(|view| has(row, view))) {
            return None;
        }
        let flags = table.rows().flat_map(|row| views.iter().map(move |view| has(row, view))).collect();
        Some(Presence { n_views: views.len(), flags })
    }

    /// From stored numbers as returned by [`Presence::flags`]: row by row, one per view, 1 if the row has it, else 0.
    pub fn from_parts(n_views: usize, flags: &[u64]) -> Result<Presence> {
        if n_views == 0 || !flags.len().is_multiple_of(n_views) {
            return Err(Error::input(format!(
                "presence: {} flags for {n_views} views; give at least one view and one flag per row and view",
                flags.len()
            )));
        }
        if let Some(k) = flags.iter().position(|&flag| flag > 1) {
            return Err(Error::input(format!(
                "presence: the flag of row {}, view {} is {}; it must be 0 or 1",
                k / n_views + 1,
                k % n_views + 1,
                flags[k]
            )));
        }
        Ok(Presence { n_views, flags: flags.iter().map(|&flag| flag == 1).collect() })
    }

    /// Row by row, one number per view, 1 if the row has it, else 0; the input of [`Presence::from_parts`].
    pub fn flags(&self) -> Vec<u64> {
        self.flags.iter().map(|&flag| u64::from(flag)).collect()
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.flags.len() / self.n_views
    }

    /// Number of views: at least one.
    pub fn n_views(&self) -> usize {
        self.n_views
    }

    /// Whether a row has a view; panics if out of range, as slices do.
    pub fn has(&self, row: usize, view: usize) -> bool {
        self.row(row)[view]
    }

    /// Whether a row has all views.
    pub fn is_complete(&self, row: usize) -> bool {
        self.row(row).iter().all(|&flag| flag)
    }

    /// How many rows have a view.
    pub fn count(&self, view: usize) -> usize {
        self.flags.chunks_exact(self.n_views).filter(|row| row[view]).count()
    }

    /// The first row without any view: nothing is known about it, so it can be neither learned from nor predicted.
    pub fn first_without_any(&self) -> Option<usize> {
        self.flags.chunks_exact(self.n_views).position(|row| row.iter().all(|&flag| !flag))
    }

    /// The given rows, in the given order; panics on a row out of range, as slices do.
    pub fn select(&self, rows: &[usize]) -> Presence {
        Presence { n_views: self.n_views, flags: rows.iter().flat_map(|&row| self.row(row)).copied().collect() }
    }

    fn row(&self, row: usize) -> &[bool] {
        &self.flags[row * self.n_views..(row + 1) * self.n_views]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::features::tests::sparse;
    use crate::linalg::Matrix;

    fn view(name: &str, columns: std::ops::Range<usize>) -> View {
        View { name: name.into(), columns }
    }

    #[test]
    fn complete_rows_have_no_presence() {
        let rows = Matrix::from_fn(3, 4, |i, j| if (i + j) % 2 == 0 { f64::NAN } else { 1.0 });
        // Every view of every row has a value although half of the values are missing.
        assert_eq!(Presence::of(&rows.clone().into(), &[view("a", 0..2), view("b", 2..4)]), None);
        assert_eq!(Presence::of(&rows.clone().into(), &[]), None);
        assert!(Presence::of(&rows.into(), &[view("a", 0..1), view("b", 1..4)]).is_some());
        assert_eq!(Presence::of(&Matrix::zeros(0, 2).into(), &[]), None);
        assert_eq!(Presence::of(&sparse(&Matrix::zeros(2, 2), &[0.0; 2]), &[view("a", 0..2)]), None);
    }

    #[test]
    fn columns_outside_the_views_do_not_count() {
        let rows = Matrix::from_vec(2, 3, vec![f64::NAN, 1.0, 2.0, 3.0, f64::NAN, f64::NAN]).unwrap().into();
        let presence = Presence::of(&rows, &[view("a", 1..3)]).unwrap();
        assert_eq!((presence.has(0, 0), presence.has(1, 0), presence.first_without_any()), (true, false, Some(1)));
        // Without views a row counts as long as it has any value.
        assert_eq!(Presence::of(&rows, &[]), None);
    }

    #[test]
    fn a_row_without_any_value_is_found_without_views() {
        let rows = Matrix::from_vec(3, 2, vec![1.0, f64::NAN, f64::NAN, f64::NAN, 1.0, 1.0]).unwrap().into();
        let presence = Presence::of(&rows, &[]).unwrap();
        assert_eq!((presence.n_rows(), presence.n_views(), presence.count(0)), (3, 1, 2));
        assert_eq!(presence.first_without_any(), Some(1));
        assert_eq!(presence.select(&[0, 2]).first_without_any(), None);
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let message = |n_views, flags: &[u64]| Presence::from_parts(n_views, flags).unwrap_err().to_string();
        let shape = "give at least one view and one flag per row and view";
        assert_eq!(message(2, &[1, 0, 1]), format!("presence: 3 flags for 2 views; {shape}"));
        assert_eq!(message(0, &[]), format!("presence: 0 flags for 0 views; {shape}"));
        assert_eq!(message(2, &[1, 0, 1, 2]), "presence: the flag of row 2, view 2 is 2; it must be 0 or 1");
        assert_eq!(Presence::from_parts(2, &[]).unwrap().n_rows(), 0);
    }

    proptest! {
        #[test]
        fn presence_is_what_a_look_at_every_value_finds(
            cells in prop::collection::vec(prop::bool::weighted(0.4), 0..60),
            cuts in prop::collection::btree_set(1usize..6, 0..4),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 0..9),
        ) {
            let n = cells.len() / 6;
            let table = Matrix::from_fn(n, 6, |i, j| if cells[i * 6 + j] { (i + j) as f64 } else { f64::NAN });
            let ends: Vec<usize> = cuts.into_iter().chain([6]).collect();
            let starts = [0].into_iter().chain(ends.iter().copied());
            let views: Vec<View> = starts.zip(&ends).map(|(start, &end)| view(&format!("v{end}"), start..end)).collect();
            let naive = |i: usize, v: usize| {
                let mut values = 0;
                for j in views[v].columns.clone() {
                    values += usize::from(!table.get(i, j).is_nan());
                }
                values > 0
            };
            let expected: Vec<Vec<bool>> =
                (0..n).map(|i| (0..views.len()).map(|v| naive(i, v)).collect()).collect();
            let Some(presence) = Presence::of(&table.clone().into(), &views) else {
                prop_assert!(expected.iter().flatten().all(|&has| has));
                return Ok(());
            };
            prop_assert!(!expected.iter().flatten().all(|&has| has));
            prop_assert_eq!((presence.n_rows(), presence.n_views()), (n, views.len()));
            for (i, row) in expected.iter().enumerate() {
                prop_assert_eq!(&(0..views.len()).map(|v| presence.has(i, v)).collect::<Vec<_>>(), row);
                prop_assert_eq!(presence.is_complete(i), !row.contains(&false));
            }
            for v in 0..views.len() {
                prop_assert_eq!(presence.count(v), expected.iter().filter(|row| row[v]).count());
            }
            prop_assert_eq!(presence.first_without_any(), expected.iter().position(|row| !row.contains(&true)));
            prop_assert_eq!(&Presence::from_parts(views.len(), &presence.flags()).unwrap(), &presence);
            let picked: Vec<usize> = picks.iter().map(|pick| pick.index(n)).collect();
            let rows = presence.select(&picked);
            prop_assert_eq!(rows.n_rows(), picked.len());
            for (k, &i) in picked.iter().enumerate() {
                prop_assert!((0..views.len()).all(|v| rows.has(k, v) == expected[i][v]));
            }
        }
    }
}
