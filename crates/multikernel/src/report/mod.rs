//! Output for people and programs: tables and bars for a terminal, pictures, pages, and JSON.

mod bars;
mod boundary;
mod clusters;
mod draws;
mod figures;
mod json;
mod numbers;
mod page;
mod stream;
mod table;
mod text;

pub use bars::bars;
pub use boundary::Boundary;
pub use clusters::Clustering;
pub use figures::Figures;
pub use json::{datasets_json, evaluation_json, importance_json, methods_json, model_json};
pub use page::{ModelPage, Watch, evaluation_page, evaluation_picture};
pub use stream::{StreamEnd, StreamLine, StreamScore};
pub use table::TextTable;
pub use text::{evaluation_text, evaluation_text_with, label_words, model_text};

/// The text on one line: names come from data files, and a newline or an escape sequence in one would break the layout.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Width in columns, taken as the number of characters.
fn width(text: &str) -> usize {
    text.chars().count()
}

/// Default terminal width in columns.
const WIDTH: usize = 80;

/// The text in lines of at most `limit` characters, broken at spaces, or inside a word that is longer than a line;
/// lines after the first start with `indent` spaces.
fn wrap(text: &str, limit: usize, indent: usize) -> Vec<String> {
    let limit = limit.max(1);
    let indent = if limit > 2 * indent { indent } else { 0 };
    let (mut lines, mut line) = (vec![], String::new());
    let (mut room, mut is_fresh) = (limit, true);
    for word in text.split(' ') {
        let mut rest: Vec<char> = word.chars().collect();
        while rest.len() + usize::from(!is_fresh) > room {
            if is_fresh {
                line.extend(rest.drain(..room));
            }
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            (room, is_fresh) = (limit - indent, true);
        }
        room -= rest.len() + usize::from(!is_fresh);
        line.extend((!is_fresh).then_some(' ').into_iter().chain(rest));
        is_fresh = false;
    }
    lines.push(line);
    lines
}

/// [`wrap`] for lists: text between two commas stays on one line if possible.
fn wrap_list(text: &str, limit: usize, indent: usize) -> Vec<String> {
    const NO_BREAK_SPACE: &str = "\u{a0}";
    let fits = |part: &str| width(part) + indent < limit;
    let kept = |part: &str| if fits(part) { part.replace(' ', NO_BREAK_SPACE) } else { part.to_string() };
    let text = text.split(", ").map(kept).collect::<Vec<_>>().join(", ");
    wrap(&text, limit, indent).iter().map(|line| line.replace(NO_BREAK_SPACE, " ")).collect()
}

/// A sentence of a report, wrapped to fit the terminal.
fn paragraph(text: &str) -> String {
    wrap(&one_line(text), WIDTH, 2).iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A list in words, cut after `most` items: `a, b and 3 more`.
fn some_of(names: &[String], most: usize) -> String {
    match names.len().saturating_sub(most) {
        0 => names.join(", "),
        n => format!("{} and {n} more", names[..most].join(", ")),
    }
}

/// A number with its noun: `1 kernel`, `10 kernels`.
pub fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_text_fits_and_keeps_every_character() {
        let text = "a longword of several, with  two spaces and a, b";
        for limit in 1..60 {
            for indent in [0, 2] {
                let lines = wrap(text, limit, indent);
                assert!(lines.iter().all(|line| width(line) <= limit), "{limit} {lines:?}");
                let joined: String = lines.concat().chars().filter(|c| *c != ' ').collect();
                assert_eq!(joined, text.replace(' ', ""), "{limit}");
            }
        }
        assert_eq!(wrap(text, 100, 2), [text]);
        assert_eq!(wrap("one two three", 8, 2), ["one two", "  three"]);
        assert_eq!(wrap("abcdefghij", 4, 0), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("", 4, 0), [""]);
    }

    #[test]
    fn wrapped_lists_are_broken_after_commas_where_they_can() {
        assert_eq!(wrap_list("c = 5, tol = 1", 10, 0), ["c = 5,", "tol = 1"]);
        assert_eq!(wrap("c = 5, tol = 1", 10, 0), ["c = 5, tol", "= 1"]);
        assert_eq!(wrap_list("an item of many words, b", 12, 0), ["an item of", "many words,", "b"]);
    }
}
