//! The library's advice, as flags ready to paste.

use multikernel::{Error, Message, Remedy};

/// Parameters of the library that are flags with the same name.
const FLAGS: [&str; 11] =
    ["label", "target", "time", "event", "id", "groups", "ignore", "kinds", "header", "decimal", "transpose"];

/// A longer list of columns is not useful.
const LONGEST_LIST: usize = 300;

/// A library message, worded for the command line.
pub(crate) fn text(message: &Message) -> String {
    message.render(flag)
}

/// A library error, worded for the command line.
pub(crate) fn of(error: &Error) -> String {
    match error {
        Error::Param { name, message } if FLAGS.contains(&name.as_str()) => format!("--{name}: {}", text(message)),
        error => text(&error.message()),
    }
}

/// An error and all its causes.
pub(crate) fn with_causes(error: &anyhow::Error) -> String {
    let cause = |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref().map_or_else(|| cause.to_string(), of);
    error.chain().map(cause).collect::<Vec<_>>().join(": ")
}

/// The flag for the library's advice, or the advice itself if there is none.
fn flag(remedy: &Remedy) -> String {
    let column = |flag: &str, name: &Option<String>| match name {
        Some(name) => format!("{flag} {}", shell_word(name)),
        None => flag.to_string(),
    };
    match remedy {
        Remedy::Label(name) => column("--label", name),
        Remedy::Target(name) => column("--target", name),
        Remedy::Id(name) => column("--id", name),
        Remedy::Groups(name) => column("--groups", name),
        Remedy::Ignore(names) if names.is_empty() => "--ignore".into(),
        Remedy::Ignore(names) => format!("--ignore {}", columns(names)),
        Remedy::Kinds(None) => "--kinds COLUMN=KIND".into(),
        Remedy::Kinds(Some((name, kind))) => {
            let name = if name.contains([',', '=']) { format!("\"{name}\"") } else { name.clone() };
            format!("--kinds {}", shell_word(&format!("{name}={kind}")))
        }
        Remedy::Header(is_there) => format!("--header {}", if *is_there { "yes" } else { "no" }),
        Remedy::Transpose => "--transpose".into(),
        Remedy::DecimalComma => "--decimal comma".into(),
        Remedy::DecimalPoint => "--decimal point".into(),
        Remedy::DropUnlabelled => "--missing-labels drop".into(),
        Remedy::LabelsFile => "--labels".into(),
        Remedy::Gram(name) => format!("--gram {name}=FILE"),
        Remedy::GramDiagonal(name) => format!("--gram {name}=FILE,DIAGONAL"),
        Remedy::Memory => "--memory".into(),
        Remedy::Precision => "--precision f32".into(),
        Remedy::Set(name, value) => format!("--set {name}={value}"),
        Remedy::Probabilities => "--proba".into(),
        Remedy::Scores => "--scores".into(),
        Remedy::Resume => "--resume".into(),
        other => other.to_string(),
    }
}

/// Columns in the form `--ignore` takes in a shell; those beyond the longest list are counted.
fn columns(names: &[String]) -> String {
    let (mut list, mut rest) = (String::new(), 0);
    for name in names {
        let word = if name.contains(',') { format!("\"{name}\"") } else { name.clone() };
        if list.len() + word.len() > LONGEST_LIST {
            rest += 1;
            continue;
        }
        list += if list.is_empty() { "" } else { "," };
        list += &word;
    }
    let more = if rest > 0 { format!(" (and {rest} more)") } else { String::new() };
    shell_word(&list) + &more
}

/// A shell word: quoted if necessary.
fn shell_word(word: &str) -> String {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ',' | ':' | '/' | '+' | '@' | '%' | '=');
    match () {
        () if !word.is_empty() && word.chars().all(is_plain) => word.to_string(),
        () if !word.contains(['"', '$', '`', '\\', '!']) => format!("\"{word}\""),
        () => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use multikernel::plan::Registry;

    use super::*;

    #[test]
    fn every_remedy_is_a_flag_of_a_command() {
        let commands = crate::args::command(&Registry::standard());
        let known: Vec<&str> = commands
            .get_subcommands()
            .flat_map(|command| command.get_arguments())
            .filter_map(|arg| arg.get_long())
            .collect();
        for remedy in Remedy::examples() {
            let words = flag(&remedy);
            let name = words.strip_prefix("--").and_then(|rest| rest.split(' ').next());
            assert!(name.is_some_and(|name| known.contains(&name)), "{remedy:?}: {words}");
        }
    }

    #[test]
    fn columns_to_leave_out_are_ready_to_paste() {
        let ignore = |names: &[&str]| flag(&Remedy::Ignore(names.iter().map(|name| name.to_string()).collect()));
        assert_eq!(ignore(&["a", "3"]), "--ignore a,3");
        assert_eq!(ignore(&["zip code", "b"]), "--ignore \"zip code,b\"");
        assert_eq!(ignore(&["a,b"]), "--ignore '\"a,b\"'");
        let many: Vec<String> = (0..100).map(|k| format!("column{k:03}")).collect();
        let many = flag(&Remedy::Ignore(many));
        assert!(many.ends_with("column029 (and 70 more)"), "{many}");
        assert_eq!(flag(&Remedy::Id(Some("it's $1".into()))), "--id 'it'\\''s $1'");
    }

    #[test]
    fn errors_are_told_by_flags_with_their_causes() {
        let error = anyhow::Error::from(Error::param("label", "no such column")).context("the data");
        assert_eq!(with_causes(&error), "the data: --label: no such column");
        let error = anyhow::Error::from(Error::param("c", "must be above 0"));
        assert_eq!(with_causes(&error), "parameter c: must be above 0");
    }
}
