//! Data sets by name: bundled sets, computed toy sets, and [`load`], which takes a bundled name or a path.

mod bundled;
mod load;
mod toys;

pub use bundled::{BundledSet, bundled, bundled_sets};
pub use load::load;
pub use toys::{circles, moons, separable};
