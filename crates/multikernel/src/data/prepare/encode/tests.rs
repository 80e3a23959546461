//! What is learned from parts of the rows, wherever they are cut, is what is learned from all of them at once.

use super::*;
use crate::data::read::{Column, samples_of_columns};
use crate::dist::Rng;
use crate::file::Codec;

const LEVELS: [&str; 6] = ["b", "a", "c", "rare", "écru", "A"];
const WORDS: [&str; 9] = ["dog", "Dog", "bites", "man", "naïve", "a", "the", "x_1", "42"];
const KINDS: [&str; 9] =
    ["number", "yesno", "category", "category", "ordered(low<mid<high)", "date(ymd)", "text", "text", "sequence"];

type Cells = Vec<Vec<Option<String>>>;

/// Cells of each kind, column by column. A level is rare, and values are missing, in some tables in all rows.
fn cells(rng: &mut Rng, n: usize) -> Cells {
    let mut below = |n: usize| rng.below(n);
    let mut column = |kind: &str, most_missing: usize| -> Vec<Option<String>> {
        let missing = below(most_missing);
        let mut cell = |i: usize| {
            let value = match kind {
                "number" => ["-0", "0", "1.5", "-2", "1e300"][below(5)].to_string(),
                "yesno" => ["yes", "no"][below(2)].to_string(),
                "category" if i == 0 => "rare".into(),
                "category" => LEVELS[below(3)].to_string(),
                "date(ymd)" => format!("2021-02-{:02}", 1 + below(28)),
                "text" => (0..below(5)).map(|_| WORDS[below(9)]).collect::<Vec<_>>().join(" "),
                "sequence" => (0..below(7)).map(|_| b"ACGTUNacgu"[below(10)] as char).collect(),
                _ => ["low", "mid", "high"][below(3)].to_string(),
            };
            (below(6) >= missing).then_some(value)
        };
        (0..n).map(&mut cell).collect()
    };
    // Of seven tables one has a column without any value.
    KINDS.iter().map(|kind| column(kind, 7)).collect()
}

fn samples(cells: &Cells, rows: Range<usize>) -> Samples {
    let columns = cells.iter().zip(KINDS).enumerate().map(|(j, (cells, kind))| {
        (format!("c{j}"), Column::Known(kind.parse().unwrap(), cells[rows.clone()].to_vec()))
    });
    samples_of_columns(columns.collect()).unwrap().0
}

fn encoded(text: &str, columns: &[usize]) -> Encoded {
    Encoded { encoding: text.parse().unwrap(), columns: columns.to_vec() }
}

/// Cuts in ascending order; a part may be empty.
fn cuts(rng: &mut Rng, n: usize) -> Vec<usize> {
    let mut ends: Vec<usize> = (0..rng.below(5)).map(|_| rng.below(n + 1)).collect();
    ends.push(n);
    ends.sort_unstable();
    ends
}

/// What parts say, sent as records and added in their order.
fn seen(parts: &[Samples], wanted: &Wanted) -> Seen {
    let mut all = Seen::of(&parts[0], wanted);
    for part in &parts[1..] {
        let next = Seen::decode(&Seen::of(part, wanted).encode()).unwrap();
        assert!(next.is_sound(part, wanted, part.n_samples()));
        all.add(&next);
    }
    all
}

/// The rows, their parts, and what kernels ask for in all.
fn case(seed: u64, encodings: &[Encoded]) -> (Samples, Vec<Samples>, Wanted) {
    let mut rng = Rng::new(seed, 0);
    let n = 1 + rng.below(40);
    let cells = cells(&mut rng, n);
    let (mut start, mut parts) = (0, vec![]);
    for end in cuts(&mut rng, n) {
        parts.push(samples(&cells, start..end));
        start = end;
    }
    // Letters as partitions give them: the union of those of the parts.
    let mut letters = vec![Letters::default(); KINDS.len()];
    for part in &parts {
        for (all, next) in letters.iter_mut().zip(Letters::of(part)) {
            all.0.iter_mut().zip(next.0).for_each(|(all, next)| *all |= next);
        }
    }
    let wanted = Wanted { encoded: encodings.to_vec(), letters };
    assert_eq!(Wanted::decode(&wanted.encode()).unwrap(), wanted);
    (samples(&cells, 0..n), parts, wanted)
}

#[test]
fn encoder_of_parts_is_that_of_all_rows() {
    let encodings = [
        encoded("overlap", &[2, 3]),
        encoded("overlap", &[0, 1, 4]),
        encoded("words(1, 1)", &[6]),
        encoded("words(1, 2)", &[6, 7]),
        encoded("chars(2, 3)", &[7]),
        encoded("spectrum(2)", &[8]),
        encoded("spectrum(2) revcomp", &[8]),
        encoded("mismatch(2, 1)", &[8]),
        encoded("mismatch(2, 1) revcomp", &[8]),
        encoded("mismatch(2, 1)", &[2, 8]),
        encoded("gapped(3, 2)", &[8]),
        encoded("degree(3; shift=1)", &[8]),
        encoded("period(week)", &[5]),
    ];
    let (mut sparse, mut partial) = (0, 0);
    for seed in 0..300 {
        let chosen: Vec<Encoded> = encodings.iter().filter(|_| seed % 3 > 0).cloned().collect();
        let (all, parts, wanted) = case(seed, &chosen);
        let kept = [0, 1, 2, 3];
        for is_dense in [false, true] {
            let whole = Encoder::fit(&all, &wanted.encoded, &kept, is_dense).unwrap();
            let found = Encoder::of_seen(seen(&parts, &wanted), &wanted, &parts[0], &kept, is_dense).unwrap();
            assert_eq!(found, whole, "seed {seed}");
            sparse += usize::from(whole.is_sparse);
        }
        // Some levels are in one part only.
        let levels = |samples: &Samples| Seen::of(samples, &Wanted::of(samples, &[])).levels[2].texts.len();
        partial += usize::from(parts.iter().any(|part| levels(part) < levels(&all)));
    }
    assert!((20..580).contains(&sparse) && partial > 100, "{sparse} {partial}");
}

/// The storage of rows is chosen by how many values are not zero, which parts count without the whole vocabulary.
#[test]
fn values_that_are_not_zero_are_counted_as_they_are_stored() {
    for text in ["words(1, 2)", "chars(2, 3)", "spectrum(2)", "mismatch(2, 1) revcomp", "degree(3; shift=1)"] {
        for columns in [&[8][..], &[6, 8]] {
            for seed in 0..20 {
                let (all, _, wanted) = case(seed, &[encoded(text, columns)]);
                let seen = Seen::of(&all, &wanted);
                let counted = seen.blocks[0].n_stored;
                let encoder = Encoder::of_seen(seen, &wanted, &all, &[], true).unwrap();
                let source = Source { features: all.features(), codings: all.codings() };
                let stored: usize = encoder.blocks[0].apply(&source).iter().map(Vec::len).sum();
                assert_eq!(counted, stored, "{text} on {columns:?}, seed {seed}");
            }
        }
    }
}

/// Ranges and levels are the same; a mean is a sum of up to 40 terms in another order.
#[test]
fn ranges_of_parts_are_those_of_all_rows() {
    for seed in 0..100 {
        let (all, parts, wanted) = case(seed, &[encoded("clinical", &[0, 1, 2, 3, 4, 5])]);
        let whole = Encoder::fit(&all, &wanted.encoded, &[], true).unwrap().encode();
        let found = Encoder::of_seen(seen(&parts, &wanted), &wanted, &all, &[], true).unwrap().encode();
        for k in 0..6 {
            let name = format!("block.0.range.{k}");
            let (Ok(found), Ok(whole)) = (found.take::<Vec<f64>>(&name), whole.take::<Vec<f64>>(&name)) else {
                let name = format!("block.0.levels.{k}");
                assert_eq!(found.take_record(&name), whole.take_record(&name), "seed {seed}");
                continue;
            };
            assert_eq!(found[..2], whole[..2], "seed {seed}");
            let largest = whole[0].abs().max((whole[0] + whole[1]).abs());
            assert!((found[2] - whole[2]).abs() <= 80.0 * f64::EPSILON * largest, "{found:?} {whole:?}");
        }
    }
}

#[test]
fn answers_that_rows_cannot_give_are_refused() {
    let (all, _, wanted) =
        case(1, &[encoded("overlap", &[2]), encoded("words(1, 1)", &[6]), encoded("clinical", &[0])]);
    let (good, n) = (Seen::of(&all, &wanted), all.n_samples());
    assert!(good.is_sound(&all, &wanted, n) && !good.is_sound(&all, &wanted, n + 1));
    let refused = |change: &dyn Fn(&mut Seen)| {
        let mut seen = good.clone();
        change(&mut seen);
        assert!(!seen.is_sound(&all, &wanted, n), "{seen:?}");
    };
    refused(&|seen| seen.levels[2].texts.reverse());
    refused(&|seen| seen.levels[2].numbers = vec![1.0]);
    refused(&|seen| seen.levels[0].texts = vec!["a".into()]);
    refused(&|seen| drop(seen.levels.pop()));
    refused(&|seen| seen.blocks[1].terms.counts[0] = n + 1);
    refused(&|seen| seen.blocks[1].terms.counts[0] = 0);
    refused(&|seen| seen.blocks[1].terms.counts.truncate(1));
    refused(&|seen| seen.blocks[1].terms.n_texts = usize::MAX);
    refused(&|seen| seen.blocks[1].n_stored = usize::MAX);
    refused(&|seen| seen.blocks[2].columns[0].mean = f64::NAN);
    refused(&|seen| seen.blocks[2].columns[0].count = n + 1);
    refused(&|seen| drop(seen.blocks[0].columns.pop()));
    refused(&|seen| drop(seen.blocks.pop()));
}
