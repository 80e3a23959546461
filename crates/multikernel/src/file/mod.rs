//! The one file format: a safetensors container whose JSON metadata says what it is, for models and checkpoints alike.
//!
//! Layout (`docs/format.md` has the field list): an 8-byte header length, a JSON header, raw little-endian arrays.
//! Our text sits under the metadata key `multikernel`: kind, format version, product version, checksum and the
//! record's values; the arrays are ordinary tensors, so any safetensors reader can open them. Loading checks the
//! magic key, the version and the checksum, and runs nothing.

mod container;
mod disk;
#[cfg(any(test, fuzzing))]
pub mod forge;
mod record;

pub use container::{FORMAT_VERSION, Kind, bytes, check_replaceable, parse, read, write};
pub use disk::{Claim, check_writable, claim, is_same, remove, write_atomic};
pub use record::{Cache, Codec, Field, Record};
pub(crate) use record::{codes, record};
