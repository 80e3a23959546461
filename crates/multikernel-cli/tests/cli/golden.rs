//! Golden runs: each file under `testdata/golden` is a session at the terminal.
//!
//! `TRYCMD=overwrite cargo test --release --test cli golden::` writes the outputs anew; `[..]` stands for what changes from
//! run to run, such as seconds, and has to be put back by hand. Read the difference before you commit it.

#[test]
fn golden_runs_print_what_the_files_say() {
    trycmd::TestCases::new()
        .case(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/*.trycmd"))
        .env("COLUMNS", "100");
}
