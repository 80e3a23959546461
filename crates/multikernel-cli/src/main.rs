//! The `multikernel` command.
fn main() {}
