//! The features of single texts: words, characters, sequences of letters.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::encoding::Encoding;

/// Room for one text at a time.
#[derive(Default)]
pub(super) struct Room {
    lower: String,
    joined: String,
    words: Vec<(usize, usize)>,
    starts: Vec<usize>,
    /// The positions of its terms in a vocabulary.
    pub(super) places: Vec<u32>,
}

/// Features of a text with their values, in order of their names.
pub(super) type Terms = Vec<(String, f64)>;

/// Calls `f` with each word of a text in lower case: two or more letters, digits or underscores in a row.
pub(super) fn each_word(text: &str, lower: &mut String, mut f: impl FnMut(&str)) {
    lower.clear();
    if text.is_ascii() {
        lower.push_str(text);
        lower.make_ascii_lowercase();
        let bytes = lower.as_bytes();
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let mut start = None;
        for (at, &byte) in bytes.iter().enumerate() {
            match (is_word(byte), start) {
                (true, None) => start = Some(at),
                (false, Some(from)) => {
                    if at - from > 1 {
                        f(&lower[from..at]);
                    }
                    start = None;
                }
                _ => {}
            }
        }
        if let Some(from) = start.filter(|from| bytes.len() - from > 1) {
            f(&lower[from..]);
        }
        return;
    }
    lower.push_str(&text.to_lowercase());
    let words = lower.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| word.chars().nth(1).is_some()).for_each(f);
}

/// Calls `f` with each term of a text: the features of `words` and `chars`, as often as they occur.
pub(super) fn each_term(text: &str, encoding: Encoding, room: &mut Room, mut f: impl FnMut(&str)) {
    let Room { lower, joined, words, starts, .. } = room;
    match encoding {
        Encoding::Words { low: 1, high: 1 } => each_word(text, lower, f),
        Encoding::Words { low, high } => {
            words.clear();
            joined.clear();
            each_word(text, lower, |word| {
                if !joined.is_empty() {
                    joined.push(' ');
                }
                words.push((joined.len(), joined.len() + word.len()));
                joined.push_str(word);
            });
            for n in low..=high {
                words.windows(n).for_each(|run| f(&joined[run[0].0..run[n - 1].1]));
            }
        }
        Encoding::Chars { low, high } => {
            each_word(text, lower, |word| {
                // The ends of a word are part of it.
                joined.clear();
                joined.push(' ');
                joined.push_str(word);
                joined.push(' ');
                starts.clear();
                starts.extend(joined.char_indices().map(|(at, _)| at).chain([joined.len()]));
                for n in low..=high {
                    starts.windows(n + 1).for_each(|run| f(&joined[run[0]..run[n]]));
                }
            });
        }
        _ => {}
    }
}

/// A sequence as features see it: upper case; where strands are paired, RNA's U is T.
pub(super) fn spelled(text: &str, encoding: Encoding) -> String {
    let text = text.to_ascii_uppercase();
    match encoding {
        Encoding::Spectrum { revcomp: true, .. }
        | Encoding::Mismatch { revcomp: true, .. }
        | Encoding::Gapped { revcomp: true, .. } => text.replace('U', "T"),
        _ => text,
    }
}

/// The features of a sequence. `alphabet` are the letters that mismatches may turn into.
pub(super) fn sequence_terms(text: &str, encoding: Encoding, alphabet: &[u8]) -> Terms {
    let text = spelled(text, encoding);
    let letters = text.as_bytes();
    let mut terms: FxHashMap<Vec<u8>, f64> = FxHashMap::default();
    match encoding {
        Encoding::Spectrum { k, revcomp } => {
            for window in letters.windows(k) {
                *terms.entry(canonical(window, revcomp)).or_default() += 1.0;
            }
        }
        Encoding::Mismatch { k, m, revcomp } => {
            let mut counts: FxHashMap<&[u8], f64> = FxHashMap::default();
            letters.windows(k).for_each(|window| *counts.entry(window).or_default() += 1.0);
            for (window, count) in counts {
                let mut near = window.to_vec();
                neighbours(&mut near, 0, m, alphabet, &mut |feature| {
                    *terms.entry(canonical(feature, revcomp)).or_default() += count;
                });
            }
        }
        Encoding::Gapped { length, k, revcomp } => {
            let places = choices(length, k);
            for window in letters.windows(length) {
                for chosen in &places {
                    let gapped: Vec<u8> = (0..length).map(|i| if chosen[i] { window[i] } else { b'.' }).collect();
                    *terms.entry(canonical(&gapped, revcomp)).or_default() += 1.0;
                }
            }
        }
        Encoding::Degree { degree, shift } => {
            let factor = shift_factor(letters.len(), shift);
            for k in 1..=degree {
                let weight = (2.0 * (degree - k + 1) as f64 / (degree * (degree + 1)) as f64).sqrt();
                for (position, window) in letters.windows(k).enumerate() {
                    for (back, share) in factor[position].iter().enumerate() {
                        let mut key = format!("{}:", position - back).into_bytes();
                        key.extend_from_slice(window);
                        *terms.entry(key).or_default() += weight * share;
                    }
                }
            }
        }
        _ => {}
    }
    let named = |(key, value): (Vec<u8>, f64)| (String::from_utf8_lossy(&key).into_owned(), value);
    terms.into_iter().map(named).collect::<BTreeMap<_, _>>().into_iter().collect()
}

/// A feature, or its reverse complement if that comes first.
fn canonical(feature: &[u8], revcomp: bool) -> Vec<u8> {
    if !revcomp {
        return feature.to_vec();
    }
    let turned: Vec<u8> = feature.iter().rev().map(|&letter| complement(letter)).collect();
    turned.min(feature.to_vec())
}

/// The base opposite to a base. Letters without one stay.
fn complement(letter: u8) -> u8 {
    const PAIRS: [(u8, u8); 6] = [(b'A', b'T'), (b'C', b'G'), (b'R', b'Y'), (b'K', b'M'), (b'B', b'V'), (b'D', b'H')];
    let other = |&(a, b): &(u8, u8)| match letter {
        letter if letter == a => Some(b),
        letter if letter == b => Some(a),
        _ => None,
    };
    PAIRS.iter().find_map(other).unwrap_or(letter)
}

/// Calls `f` with every sequence of letters of the alphabet that differs from `word` in at most `left` places from `at`.
fn neighbours(word: &mut Vec<u8>, at: usize, left: usize, alphabet: &[u8], f: &mut impl FnMut(&[u8])) {
    if at == word.len() {
        return f(word);
    }
    let own = word[at];
    if alphabet.contains(&own) {
        neighbours(word, at + 1, left, alphabet, f);
    }
    if left > 0 {
        for &letter in alphabet.iter().filter(|&&letter| letter != own) {
            word[at] = letter;
            neighbours(word, at + 1, left - 1, alphabet, f);
        }
        word[at] = own;
    }
}

/// All choices of `k` of `n` places, as flags.
fn choices(n: usize, k: usize) -> Vec<Vec<bool>> {
    let all = (0u32..1 << n).filter(|mask| mask.count_ones() as usize == k);
    all.map(|mask| (0..n).map(|i| mask >> i & 1 == 1).collect()).collect()
}

/// The Cholesky factor of the weights between positions, which are 1 for the same position and 1 / (2 (s + 1)) for
/// positions s <= shift apart: for each position the entries at it, one before it, ... The first rows do not depend on
/// the length, so sequences of any length agree.
fn shift_factor(length: usize, shift: usize) -> Vec<Vec<f64>> {
    let weight = |apart: usize| match apart {
        0 => 1.0,
        apart if apart <= shift => 0.5 / (apart + 1) as f64,
        _ => 0.0,
    };
    let mut factor: Vec<Vec<f64>> = Vec::with_capacity(length);
    for i in 0..length {
        let first = i.saturating_sub(shift);
        let mut row = vec![0.0; i - first + 1];
        for j in first..=i {
            let common = |p: &usize| row[i - p] * factor[j][j - p];
            if j < i {
                let known: f64 = (first.max(j.saturating_sub(shift))..j).map(|p| common(&p)).sum();
                row[i - j] = (weight(i - j) - known) / factor[j][0];
            } else {
                let known: f64 = row[1..].iter().map(|value| value * value).sum();
                // Positive for every shift: the weights are diagonally convex.
                row[0] = (1.0 - known).max(f64::MIN_POSITIVE).sqrt();
            }
        }
        factor.push(row);
    }
    factor
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;

    fn product(a: &Terms, b: &Terms) -> f64 {
        let of: BTreeMap<&str, f64> = b.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        a.iter().map(|(key, value)| value * of.get(key.as_str()).copied().unwrap_or(0.0)).sum()
    }

    fn random(rng: &mut Rng, alphabet: &[u8], most: usize) -> String {
        let length = (rng.uniform() * most as f64) as usize;
        (0..length).map(|_| alphabet[(rng.uniform() * alphabet.len() as f64) as usize] as char).collect()
    }

    fn windows(text: &str, k: usize) -> Vec<Vec<u8>> {
        text.as_bytes().windows(k).map(<[u8]>::to_vec).collect()
    }

    fn turned(word: &[u8]) -> Vec<u8> {
        let base = |letter: &u8| match letter {
            b'A' => b'T',
            b'T' => b'A',
            b'C' => b'G',
            b'G' => b'C',
            other => *other,
        };
        word.iter().rev().map(base).collect()
    }

    fn differ(a: &[u8], b: &[u8]) -> usize {
        a.iter().zip(b).filter(|(a, b)| a != b).count()
    }

    /// All words over an alphabet.
    fn all_words(alphabet: &[u8], k: usize) -> Vec<Vec<u8>> {
        (0..k).fold(vec![vec![]], |words, _| {
            let longer =
                |word: &Vec<u8>| alphabet.iter().map(|&letter| [&word[..], &[letter]].concat()).collect::<Vec<_>>();
            words.iter().flat_map(longer).collect()
        })
    }

    /// Alphabets of random size, sequences of random length, all pairs.
    fn pairs(rng: &mut Rng) -> (Vec<u8>, String, String) {
        let n = 2 + (rng.uniform() * 3.0) as usize;
        let alphabet = b"ACGT"[..n].to_vec();
        (alphabet.clone(), random(rng, &alphabet, 25), random(rng, &alphabet, 25))
    }

    fn check(encoding: Encoding, alphabet: &[u8], (a, b): (&str, &str), expected: f64) {
        let found = product(&sequence_terms(a, encoding, alphabet), &sequence_terms(b, encoding, alphabet));
        assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{encoding} {a} {b}: {found} {expected}");
    }

    #[test]
    fn spectrum_counts_common_words() {
        let mut rng = Rng::new(1, 0);
        for round in 0..200 {
            let (alphabet, a, b) = pairs(&mut rng);
            let k = 1 + round % 6;
            let same = |revcomp: bool| {
                let one = |u: &Vec<u8>, v: &Vec<u8>| if u == v || revcomp && *v == turned(u) { 1.0 } else { 0.0 };
                let (a, b) = (windows(&a, k), windows(&b, k));
                a.iter().flat_map(|u| b.iter().map(move |v| one(u, v))).sum::<f64>()
            };
            check(Encoding::Spectrum { k, revcomp: false }, &alphabet, (&a, &b), same(false));
            check(Encoding::Spectrum { k, revcomp: true }, &alphabet, (&a, &b), same(true));
        }
    }

    #[test]
    fn mismatch_sums_over_all_words_within_reach_of_both() {
        let mut rng = Rng::new(2, 0);
        for round in 0..60 {
            let (alphabet, a, b) = pairs(&mut rng);
            let (k, m) = (1 + round % 4, round % 3);
            if m > k {
                continue;
            }
            let features = all_words(&alphabet, k);
            let near =
                |text: &str, word: &Vec<u8>| windows(text, k).iter().filter(|u| differ(u, word) <= m).count() as f64;
            let expected: f64 = features.iter().map(|word| near(&a, word) * near(&b, word)).sum();
            check(Encoding::Mismatch { k, m, revcomp: false }, &alphabet, (&a, &b), expected);
            // With reverse complements a feature is a word and the one that pairs with it.
            let both = |text: &str, word: &Vec<u8>| {
                let other = turned(word);
                near(text, word) + if other == *word { 0.0 } else { near(text, &other) }
            };
            let whole = all_words(b"ACGT", k);
            let once = whole.iter().filter(|word| **word <= turned(word));
            let expected: f64 = once.map(|word| both(&a, word) * both(&b, word)).sum();
            check(Encoding::Mismatch { k, m, revcomp: true }, b"ACGT", (&a, &b), expected);
        }
    }

    #[test]
    fn gapped_counts_pairs_of_windows_by_the_places_they_agree_in() {
        let mut rng = Rng::new(3, 0);
        let choose = |n: usize, k: usize| (0..k).fold(1.0, |value, i| value * (n - i) as f64 / (i + 1) as f64);
        for round in 0..100 {
            let (alphabet, a, b) = pairs(&mut rng);
            let length = 1 + round % 6;
            let k = 1 + round % length;
            let pair = |u: &Vec<u8>, v: &Vec<u8>| {
                let same = length - differ(u, v);
                if same < k { 0.0 } else { choose(same, k) }
            };
            let (of_a, of_b) = (windows(&a, length), windows(&b, length));
            let expected: f64 = of_a.iter().flat_map(|u| of_b.iter().map(move |v| pair(u, v))).sum();
            check(Encoding::Gapped { length, k, revcomp: false }, &alphabet, (&a, &b), expected);
        }
        // A sequence and its reverse complement have the same features.
        let text = "ACCGTTGAC";
        let other = String::from_utf8(turned(text.as_bytes())).unwrap();
        let encoding = Encoding::Gapped { length: 5, k: 3, revcomp: true };
        assert_eq!(sequence_terms(text, encoding, b"ACGT"), sequence_terms(&other, encoding, b"ACGT"));
    }

    #[test]
    fn degree_sums_matches_by_length_and_distance() {
        let mut rng = Rng::new(4, 0);
        for round in 0..120 {
            let (alphabet, a, b) = pairs(&mut rng);
            let (degree, shift) = (1 + round % 6, round % 5);
            let mut expected = 0.0;
            for k in 1..=degree {
                let beta = 2.0 * (degree - k + 1) as f64 / (degree * (degree + 1)) as f64;
                for (i, u) in windows(&a, k).iter().enumerate() {
                    for (j, v) in windows(&b, k).iter().enumerate() {
                        let apart = i.abs_diff(j);
                        let weight = if apart == 0 { 1.0 } else { 0.5 / (apart + 1) as f64 };
                        expected += if u == v && apart <= shift { beta * weight } else { 0.0 };
                    }
                }
            }
            check(Encoding::Degree { degree, shift }, &alphabet, (&a, &b), expected);
        }
    }

    #[test]
    fn words_and_characters_of_texts() {
        let terms = |text: &str, encoding: Encoding| {
            let mut found = vec![];
            each_term(text, encoding, &mut Room::default(), |term| found.push(term.to_string()));
            found.join("|")
        };
        assert_eq!(terms("A dog, a Dog's bone!", Encoding::Words { low: 1, high: 1 }), "dog|dog|bone");
        assert_eq!(terms("The big dog", Encoding::Words { low: 1, high: 2 }), "the|big|dog|the big|big dog");
        assert_eq!(terms("Écoles élèves", Encoding::Words { low: 1, high: 1 }), "écoles|élèves");
        assert_eq!(terms("ab", Encoding::Chars { low: 2, high: 3 }), " a|ab|b | ab|ab ");
        assert_eq!(terms("", Encoding::Words { low: 1, high: 2 }), "");
    }
}
