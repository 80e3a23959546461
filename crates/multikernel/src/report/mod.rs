//! What people read: aligned tables and bars for a terminal.

mod bars;
mod table;

pub use bars::{Ink, bars, bars_with};
pub use table::Table;

/// The text on one line: names come from data files, and a newline or an escape sequence in one would break the layout.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Width in columns, taken as the number of characters.
fn width(text: &str) -> usize {
    text.chars().count()
}
