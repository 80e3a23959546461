//! Inner products with all kernels, accumulated over many calls.

use super::layout::Group;
use super::ops::{Sums, Symmetric, sums};
use super::profile::Moments;
use super::view::{Stack, check};
use crate::error::{Error, Result};
use crate::file::{Field, Record};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::precision::Precision;

/// Inner products with all kernels of a stack, accumulated over many calls: `<K_m, u v'>` for pairs of points that
/// arrive one after the other. Create with [`Stack::inner`], add with [`Stack::add_inner`], read with
/// [`Stack::inner_products`].
///
/// It holds one number per kernel, or about 40 KB for all radial kernels on the same columns if there are 32 or more.
#[derive(Clone, Debug)]
pub struct Inner(Sums);

/// Stored as numbers; [`Stack::check_inner`] checks that they fit.
impl Field for Inner {
    fn put(&self, name: &str, record: &mut Record) {
        record.put(&format!("{name}.slots"), &self.0.slots);
        for (g, moments) in self.0.moments.iter().enumerate() {
            let numbers = moments.as_ref().map_or_else(Vec::new, Moments::to_numbers);
            record.put(&format!("{name}.moments.{g}"), &numbers);
        }
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        let slots = record.take(&format!("{name}.slots"))?;
        let mut moments = vec![];
        while record.has(&format!("{name}.moments.{}", moments.len())) {
            let numbers: Vec<f64> = record.take(&format!("{name}.moments.{}", moments.len()))?;
            moments.push(Moments::from_numbers(&numbers));
        }
        Ok(Inner(Sums { slots, moments }))
    }
}

impl Stack {
    /// An empty accumulator of inner products.
    pub fn inner(&self) -> Inner {
        Inner(Sums::new(&self.core.layout))
    }

    /// Adds `<K_m, u v'>` for all kernels; u has one number per row point and v one per column point.
    pub fn add_inner(&self, u: &[f64], v: &[f64], inner: &mut Inner, pool: &Pool) -> Result<()> {
        self.check_inner(inner)?;
        let column = |values: &[f64]| Matrix::from_vec(values.len(), 1, values.to_vec());
        let (u, v) = (column(u)?, column(v)?);
        check("add_inner: u", "rows", u.n_rows(), self.n_rows())?;
        check("add_inner: v", "rows", v.n_rows(), self.n_cols())?;
        let added = in_precision!(self, sums(self, &[Symmetric::Factored(&u, &v)], pool))?;
        let before = std::mem::replace(&mut inner.0, Sums::new(&self.core.layout));
        inner.0 = before.merge(&added[0]);
        Ok(())
    }

    /// One number per kernel of the stack (rows) for each accumulator (columns).
    pub fn inner_products(&self, inner: &[&Inner], pool: &Pool) -> Result<Matrix> {
        inner.iter().try_for_each(|inner| self.check_inner(inner))?;
        let layout = &self.core.layout;
        let slot = |m: usize, c: usize| inner[c].0.slots[layout.slot_of[m]];
        let mut products = Matrix::from_fn(layout.kernels.len(), inner.len(), slot);
        for (g, group) in layout.groups.iter().enumerate() {
            let Some(radial) = &group.radial else { continue };
            let sets: Vec<&Moments> = inner.iter().filter_map(|inner| inner.0.moments[g].as_ref()).collect();
            let found = Moments::several(&sets, &radial.grid, &radial.rates, pool);
            for (&m, found) in radial.kernels.iter().zip(found) {
                products.row_mut(m).copy_from_slice(&found);
            }
        }
        Ok(if self.kernels.is_all() { products } else { products.select_rows(&self.kernels.indices()) })
    }

    /// Checks that sums read from a file belong to these kernels.
    pub fn check_inner(&self, inner: &Inner) -> Result<()> {
        let layout = &self.core.layout;
        let fits = |(group, moments): (&Group, &Option<Moments>)| match (&group.radial, moments) {
            (Some(radial), Some(moments)) => moments.fits(&radial.grid),
            (None, None) => true,
            _ => false,
        };
        let (sums, groups) = (&inner.0, &layout.groups);
        let lengths = sums.slots.len() == layout.slots.len() && sums.moments.len() == groups.len();
        if lengths && groups.iter().zip(&sums.moments).all(fits) {
            Ok(())
        } else {
            Err(Error::input("inner products can be used with stacks of the kernels they were made for, and no others"))
        }
    }
}
