//! Shared by the tests that run programs.

use std::path::{Path, PathBuf};

/// The example `slow`, which cargo builds beside the tests.
pub(crate) fn slow() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let path = profile.join("examples").join(format!("slow{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "{} is missing; run `cargo build --release --examples` first", path.display());
    path
}
