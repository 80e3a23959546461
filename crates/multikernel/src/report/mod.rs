//! What people and programs read: tables and bars for a terminal, pictures, JSON for the rest.

mod bars;
mod boundary;
mod clusters;
mod draws;
mod json;
mod stream;
mod table;
mod text;

pub use bars::bars;
pub use boundary::Boundary;
pub use clusters::Clustering;
pub use json::{datasets_json, evaluation_json, methods_json, model_json};
pub use stream::{StreamEnd, StreamLine};
pub use table::Table;
pub use text::{evaluation_text, model_text};

/// The text on one line: names come from data files, and a newline or an escape sequence in one would break the layout.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Width in columns, taken as the number of characters.
fn width(text: &str) -> usize {
    text.chars().count()
}

/// A number with its noun: `1 kernel`, `10 kernels`.
pub fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}
