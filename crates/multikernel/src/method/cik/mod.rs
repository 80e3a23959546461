//! `cik`: clusters of rows, each with a kernel machine of its own.

pub(crate) mod machine;
