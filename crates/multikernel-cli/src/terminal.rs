//! Texts of others on a terminal.

use std::borrow::Cow;

/// A text whose control characters are made visible, line ends and tabs excepted: names and labels of a file must not
/// move the cursor, change colours or set the title of a terminal.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    let is_hostile = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_reordering(c);
    if !text.contains(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hostile(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// Marks that make a line read in another order than it is written.
fn is_reordering(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{061c}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_all_others_kept() {
        assert_eq!(escaped("a\tb\nc \u{e9} \u{65e5}"), "a\tb\nc \u{e9} \u{65e5}");
        assert!(matches!(escaped("plain\n"), Cow::Borrowed(_)));
        assert_eq!(escaped("\x1b[2J\x07\r\u{9b}1m\u{202e}x"), "\\u{1b}[2J\\u{7}\\u{d}\\u{9b}1m\\u{202e}x");
    }
}
