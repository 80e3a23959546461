//! "Did you mean": the nearest known word to a mistyped one.

/// Longer words are not compared: the distance table grows with the square of the length.
const LONGEST: usize = 64;

/// The candidate at the smallest edit distance from `word`, the first of equals; `None` if all are further away than a
/// third of the word (but at least one edit). Case is ignored.
pub(crate) fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().collect();
    if word.len() > LONGEST {
        return None;
    }
    let allowed = (word.len() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let limit = best.map_or(allowed, |(d, _)| d.saturating_sub(1));
        let letters: Vec<char> = candidate.to_lowercase().chars().take(LONGEST + 1).collect();
        if letters.len().abs_diff(word.len()) > limit || best.is_some_and(|(d, _)| d == 0) {
            continue;
        }
        let d = distance(&word, &letters);
        // As many edits as letters is no resemblance.
        if d <= limit && d < word.len().max(letters.len()) {
            best = Some((d, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(a: &str, b: &str) -> usize {
        distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
    }

    #[test]
    fn distance_of_known_pairs_is_the_number_of_edits() {
        for (a, b, d) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 1), ("rna", "rna", 0)] {
            assert_eq!(edits(a, b), d, "{a} {b}");
            assert_eq!(edits(b, a), d, "{b} {a}");
        }
    }

    #[test]
    fn closest_of_a_typing_error_is_the_word_meant() {
        let words = ["gaussian", "laplacian", "linear"];
        assert_eq!(closest("gausian", words), Some("gaussian"));
        assert_eq!(closest("Linear", words), Some("linear"));
        assert_eq!(closest("lpalacian", words), Some("laplacian"));
    }

    #[test]
    fn closest_without_resemblance_is_none() {
        assert_eq!(closest("xyz", ["gaussian", "linear"]), None);
        assert_eq!(closest("a", ["b"]), None);
        assert_eq!(closest("foo", ["on"]), None);
        assert_eq!(closest(&"a".repeat(1000), ["a"]), None);
        assert_eq!(closest("a", []), None);
    }
}
