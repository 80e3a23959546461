//! The `multikernel` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    multikernel_cli::main(multikernel::plan::Registry::standard())
}
