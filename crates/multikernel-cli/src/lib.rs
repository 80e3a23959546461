//! The `multikernel` command line: it reads arguments, builds a plan, calls the library and prints the result. The
//! mathematics is in the crate [`multikernel`].
//!
//! It is a library with one function, so that a program with methods of its own gets the whole command line, help texts
//! and files included:
//!
//! ```no_run
//! use multikernel::plan::Registry;
//!
//! fn main() -> std::process::ExitCode {
//!     multikernel_cli::main(Registry::standard())
//! }
//! ```
//!
//! `examples/centroid.rs` adds a method to it with `Registry::with`.

mod args;
mod bar;
mod cluster;
mod columns;
mod data;
mod draws;
mod evaluate;
mod flags;
mod forecast;
mod help;
mod importance;
mod inspect;
mod list;
mod make;
mod memory;
mod online;
mod picture;
mod predict;
mod report;
mod reproduce;
mod stop;
mod terminal;
mod train;
mod write;

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::FromArgMatches;
use multikernel::plan::Registry;

use args::{Cli, Command, Datasets, DatasetsCommand};

/// Runs the command line with the methods of a registry. Exit status: 0, or 2 after an error.
pub fn main(registry: Registry) -> ExitCode {
    stop::survive_size_limits();
    let matches = args::command(&registry).try_get_matches().unwrap_or_else(|error| refuse(&error));
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| refuse(&error));
    let found = run(cli, &registry);
    stop::release();
    match found {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {}", flags::with_causes(&error)));
            ExitCode::from(2)
        }
    }
}

/// Ends the program with help or with what is wrong with its arguments. A file may be called like an option, and by `*` its name is
/// an argument: it must not act on the terminal either.
fn refuse(error: &clap::Error) -> ! {
    let text = error.render().to_string();
    if let Cow::Owned(shown) = terminal::escaped(text.trim_end()) {
        say(&shown);
        std::process::exit(error.exit_code());
    }
    error.exit()
}

fn run(cli: Cli, registry: &Registry) -> Result<()> {
    match cli.command {
        Command::Train(args) => train::run(&args, registry),
        Command::Predict(args) => predict::run(&args, registry),
        Command::Evaluate(args) => evaluate::run(&args, registry),
        Command::Search(args) => evaluate::search(args, registry),
        Command::Online(args) => online::run(&args, registry),
        Command::Cluster(args) => cluster::run(&args, registry),
        Command::Columns(args) => columns::run(&args),
        Command::Inspect(args) => inspect::run(&args, registry),
        Command::Report(args) => report::run(&args, registry),
        Command::Importance(args) => importance::run(&args, registry),
        Command::Draws(args) => draws::run(&args, registry),
        Command::Picture(args) => picture::run(&args, registry),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Datasets(Datasets { command: DatasetsCommand::List(args) }) => list::datasets(&args),
        Command::Datasets(Datasets { command: DatasetsCommand::Make(args) }) => make::run(&args),
        Command::Datasets(Datasets { command: DatasetsCommand::Write(args) }) => write::run(&args),
        Command::Methods(args) => list::methods(&args, registry),
        Command::Kernels => {
            // The text is Markdown; its fences are noise in a terminal.
            let lines = multikernel::kernel::GRAMMAR.lines().filter(|line| !line.starts_with("```"));
            print(&lines.flat_map(|line| [line, "\n"]).collect::<String>())
        }
        Command::Completions(args) => {
            let mut text = vec![];
            clap_complete::generate(args.shell, &mut args::command(registry), "multikernel", &mut text);
            print(&String::from_utf8_lossy(&text))
        }
    }
}

/// Writes a result to standard output: programs get it as it is, and a terminal without what it would act on.
fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let text = if out.is_terminal() { terminal::escaped(text) } else { Cow::Borrowed(text) };
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to standard output")
}

/// Writes a text for people to standard output; names and labels in it cannot act on the terminal.
fn print_text(text: &str) -> Result<()> {
    print(&terminal::escaped(text))
}

/// Writes a line to standard error; if it is closed or full, that must not cost the result.
fn say(text: &str) {
    writeln!(std::io::stderr(), "{}", terminal::escaped(text)).ok();
}

/// A reader that closed the pipe (`| head`) has what it wanted.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
