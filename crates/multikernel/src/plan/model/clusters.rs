//! The clusters of a model that is a clustering.

use super::predict::Model;
use crate::data::Samples;
use crate::error::Result;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::{Clusterer, Placed};

/// The clusters of a [`Model`] of a method that clusters, such as `cik`, `dpm` and `mkc`; from [`Model::clustering`].
///
/// ```
/// use multikernel::{Plan, data::bundled};
/// let data = bundled("ionosphere")?;
/// let model = Plan::new("dpm")?.set("start", "3")?.set("sweeps", "2")?.train(&data)?;
/// let clustering = model.clustering().expect("dpm clusters");
/// assert_eq!(clustering.clusters().len(), 351);
/// assert!(clustering.place(&data.samples)?.density.is_some());
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct ModelClusters<'a> {
    model: &'a Model,
    clustering: &'a dyn Clusterer,
}

impl Model {
    /// The model as a clustering; `None` for methods that find no clusters.
    pub fn clustering(&self) -> Option<ModelClusters<'_>> {
        let clustering = self.predictor.clustering()?;
        Some(ModelClusters { model: self, clustering })
    }
}

impl<'a> ModelClusters<'a> {
    /// The cluster of each training row.
    pub fn clusters(self) -> &'a [usize] {
        self.clustering.clusters()
    }

    /// The clusters of rows, assigned without using labels, and the density there. Columns are matched as by
    /// [`Model::predict`], and the machine's threads are used.
    pub fn place(self, samples: &Samples) -> Result<Placed> {
        self.place_in(samples, &Pool::shared()?)
    }

    /// [`ModelClusters::place`] with given threads.
    pub fn place_in(self, samples: &Samples, pool: &Pool) -> Result<Placed> {
        let (mut clusters, mut density, mut typical) = (vec![], vec![], vec![]);
        self.model.each_batch(samples, pool, &|| false, |input| {
            let placed = self.clustering.place(input, pool)?;
            clusters.extend(placed.clusters);
            density.extend(placed.density.into_iter().flatten());
            typical.extend(placed.typical.into_iter().flatten());
            Ok(())
        })?;
        let density = (density.len() == clusters.len()).then_some(density);
        let typical = (typical.len() == clusters.len()).then_some(typical);
        Ok(Placed { clusters, density, typical })
    }

    /// The log density below which a row is as improbable as fewer than this share of the training rows: rows below it
    /// are outliers. `None` for methods without a density, and for models stored without it.
    ///
    /// ```
    /// use multikernel::data::{ReadOptions, load};
    /// use multikernel::Plan;
    /// let rows = load("ionosphere", &ReadOptions::default())?.into_dataset()?;
    /// let model = Plan::new("dpm")?.set("sweeps", "2")?.train(&rows)?;
    /// let clustering = model.clustering().unwrap();
    /// let density = clustering.place(&rows.samples)?.density.unwrap();
    /// let threshold = clustering.threshold(0.05).unwrap();
    /// assert!(density.iter().filter(|&&value| value < threshold).count() < 36);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn threshold(self, quantile: f64) -> Option<f64> {
        self.clustering.threshold(quantile)
    }

    /// How much each column (columns, named as in [`ModelInput::scaled_names`](super::ModelInput::scaled_names))
    /// matters to the kernel of each cluster (rows), adding up to 1 for each cluster; `None` if clusters have no
    /// kernels of their own.
    pub fn relevance(self) -> Option<Matrix> {
        self.clustering.relevance()
    }
}
