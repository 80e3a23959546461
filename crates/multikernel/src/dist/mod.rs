//! Our own random variates. All randomness is (seed, stream, position) of one counter-based generator.
//!
//! A variate draws as many words of its generator as it needs, which may vary, and caches none: the position alone is
//! the state of a stream. Logarithms and exponentials are our own, so the bits are the same on every machine.

mod beta;
#[cfg(test)]
mod check;
mod gamma;
mod gamma_distribution;
mod gamma_function;
mod half_gig;
mod inverse_gaussian;
mod logistic_normal;
mod normal;
mod normal_above;
mod normal_distribution;
mod normal_quantile;
mod polya_gamma;
mod rng;

pub use beta::beta_quantile;
pub(crate) use beta::fraction;
pub use gamma::{gamma, ln_gamma};
pub(crate) use gamma_distribution::{chi_square_above, ln_gamma_quantile};
pub(crate) use gamma_function::{digamma, ln_gamma_function, ln_gamma_rise, trigamma};
pub use half_gig::half_gig;
pub use inverse_gaussian::{inverse_gaussian, ln_reciprocal_inverse_gaussian};
pub(crate) use logistic_normal::logistic_normal_mean;
pub use normal::normal;
pub(crate) use normal::normals;
pub(crate) use normal_above::normal_above;
pub(crate) use normal_distribution::exponential_of_normal;
pub use normal_distribution::{inverse_mills, ln_normal_cdf, normal_cdf};
pub(crate) use normal_quantile::{normal_quantile, normal_quantile_of_ln};
pub(crate) use polya_gamma::ln_polya_gamma_density;
pub use polya_gamma::polya_gamma;
pub use rng::Rng;
