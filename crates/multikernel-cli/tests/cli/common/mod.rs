//! Shared by the tests that run programs.

use std::path::{Path, PathBuf};

/// An example, which cargo builds beside the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let path = profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "{} is missing; run `cargo build --release --examples` first", path.display());
    path
}
