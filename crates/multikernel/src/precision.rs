//! The floating-point type of stored kernel values.

use crate::error::{Error, Result};
use crate::simd::Real;

/// The storage type of kernel values. Sums over them are `f64` either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Eight bytes a value.
    #[default]
    F64,
    /// Four bytes a value: half the memory and up to twice the speed, for an error of up to 2e-7 in every unit-diagonal
    /// kernel value. Squared distances and inner products are still `f64`; only the kernel values computed from them
    /// are not, nor is the combined kernel of methods with fixed weights: 30,000 rows take 3.6 GB.
    F32,
}

impl Precision {
    /// The word used by the command line and in files.
    pub fn word(self) -> &'static str {
        match self {
            Precision::F64 => "f64",
            Precision::F32 => "f32",
        }
    }

    pub(crate) fn bytes(self) -> usize {
        match self {
            Precision::F64 => f64::BYTES,
            Precision::F32 => f32::BYTES,
        }
    }
}

impl std::str::FromStr for Precision {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "f64" => Ok(Precision::F64),
            "f32" => Ok(Precision::F32),
            _ => Err(Error::param("precision", format!("must be f64 or f32, got `{text}`"))),
        }
    }
}
