//! What `-h` shows of commands with many options: those most people need, a line each. `--help` shows them all.

use clap::Command;

/// Commands whose `-h` would not fit on a screen.
const LONG: [&str; 10] =
    ["train", "predict", "evaluate", "search", "online", "cluster", "picture", "columns", "report", "importance"];

/// The arguments that `-h` shows, whichever command they belong to; all others are left to `--help`.
const SHOWN: [(&str, &str); 27] = [
    ("ablate", "What each view is worth"),
    ("at", "Probabilities to survive these times"),
    ("budget", "Most support points to keep"),
    ("by", "What is permuted at a time"),
    ("checkpoint", "File to store the run in, to go on after a stop"),
    ("clusters", "Add the cluster of each row"),
    ("data", "File with rows, `-`, or a bundled set"),
    ("folds", "Cross-validation with K folds"),
    ("groups", "Column of groups that stay together"),
    ("ignore", "Columns to leave out"),
    ("interval", "Bounds that hold a number so often"),
    ("input", "Model, or JSON of an evaluation"),
    ("json", "Print JSON"),
    ("kernels", "Kernel bank; see `multikernel kernels`"),
    ("label", "Label column, by name or position"),
    ("labels", "File with the labels of views"),
    ("method", "See `multikernel methods`"),
    ("model", "Model file"),
    ("out", "File to write to"),
    ("proba", "Class probabilities too"),
    ("repeats", "R random splits instead of folds"),
    ("resume", "Go on from the checkpoint"),
    ("set", "Set a parameter of the method"),
    ("stream", "File with labelled rows, or `-`"),
    ("target", "Column of numbers to predict"),
    ("test", "File with rows to test on"),
    ("views", "A view: a file, or columns of DATA"),
];

/// Reduces `-h` of long commands to the shown arguments; their full help moves to `--help`.
pub(crate) fn shorten(command: Command) -> Command {
    LONG.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |command| {
            let after = format!("`multikernel {name} --help` shows all options, with examples.");
            command.after_help(after).mut_args(|arg| match SHOWN.iter().find(|(id, _)| arg.get_id() == *id) {
                Some((_, line)) => {
                    let long = arg.get_long_help().or(arg.get_help()).cloned().unwrap_or_default();
                    arg.help(*line).long_help(long)
                }
                None => arg.hide_short_help(true),
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use multikernel::plan::Registry;

    use crate::args::command;

    fn help(command: &clap::Command, long: bool) -> String {
        let mut command = command.clone();
        if long { command.render_long_help() } else { command.render_help() }.to_string()
    }

    #[test]
    fn short_help_fits_on_a_screen_and_long_help_shows_every_option() {
        let mut command = command(&Registry::standard());
        command.build();
        let mut seen = 0;
        for command in command.get_subcommands().flat_map(|one| one.get_subcommands().chain([one])) {
            let (short, long) = (help(command, false), help(command, true));
            for line in short.lines().chain(long.lines()) {
                assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
            }
            assert!(short.lines().count() <= 30, "-h of {} is long:\n{short}", command.get_name());
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let Some(name) = arg.get_long() else { continue };
                assert!(long.contains(&format!("--{name}")), "{} lacks --{name}", command.get_name());
                seen += 1;
            }
        }
        assert!(seen > 100, "{seen}");
    }
}
