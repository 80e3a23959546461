//! Named sets of features (pathways, gene families) from GMT files.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::text::Source;
use crate::data::table::words::quoted;
use crate::error::{Error, Place, Result, gib};

/// Limit on the memory of all sets together: a small packed file may hold any number of members. Pathway collections have a few
/// million.
const MAX_BYTES: usize = 1 << 29;

/// What a member takes beside its letters.
const MEMBER_BYTES: usize = 64;

/// The supported input, for the message about files of another kind.
const ALLOWED: &str = "feature sets are read as GMT text, plain or gzip";

/// A named set of features.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FeatureSet {
    /// Its name, unique in the file.
    pub name: String,
    /// Names of features, without repeats, in file order; features absent from the data are not an error here.
    pub members: Vec<String>,
}

/// The sets of a GMT file, for giving each its own kernel.
///
/// GMT is text with one set per line: its name, a description, and its members, separated by tabs. Descriptions are
/// discarded, blank lines and blank members are skipped, and a member listed twice in a set is kept once.
///
/// ```
/// use multikernel::data::FeatureSets;
/// let sets = FeatureSets::parse("glycolysis\tmade up\tHK1\tPFKM\nstress\t\tHSPA1A\tHK1\n", "pathways.gmt")?;
/// assert_eq!(sets.sets.len(), 2);
/// assert_eq!(sets.sets[1].name, "stress");
/// assert_eq!(sets.sets[1].members, ["HSPA1A", "HK1"]);
///
/// let error = FeatureSets::parse("glycolysis HK1 PFKM\n", "pathways.gmt").unwrap_err().to_string();
/// assert!(error.starts_with("pathways.gmt:1: set 'glycolysis HK1 PFKM' has no members"), "{error}");
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FeatureSets {
    /// Their origin, as errors name it.
    pub name: String,
    /// The sets, in file order; at least one.
    pub sets: Vec<FeatureSet>,
    /// Notes for the user: members dropped because they were listed twice.
    pub notes: Vec<String>,
}

impl FeatureSets {
    /// Reads a GMT file, plain or gzip. Every error names file and line.
    pub fn read(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io("read", path, error))?;
        FeatureSets::read_from(file, &path.display().to_string())
    }

    /// Parses GMT text; `name` is used in messages.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        FeatureSets::read_from(text.as_bytes(), name)
    }

    fn read_from(reader: impl Read, name: &str) -> Result<Self> {
        let mut lines = Source::open_as(reader, name, ALLOWED)?.lines(MAX_BYTES as u64);
        let (mut sets, mut seen) = (Vec::new(), HashMap::new());
        let (mut n_bytes, mut repeats) = (0, Vec::new());
        while let Some(line) = lines.next()? {
            if line.trim().is_empty() {
                continue;
            }
            // Before the members are made.
            n_bytes += line.len() + MEMBER_BYTES * line.split('\t').filter(|field| !field.is_empty()).count();
            if n_bytes > MAX_BYTES {
                let message = format!("the sets up to here take more than {}; split the file", gib(MAX_BYTES as u64));
                return Err(Error::data(lines.here(), message));
            }
            let (set, repeated) = parse_line(line).map_err(|message| Error::data(lines.here(), message))?;
            if let Some(first) = seen.insert(set.name.clone(), lines.number()) {
                let message = format!("set {} stands on line {first} already; rename one", quoted(&set.name));
                return Err(Error::data(lines.here(), message));
            }
            repeats.extend(repeated.map(|member| (sets.len(), member)));
            sets.push(set);
        }
        if sets.is_empty() {
            return Err(Error::data(Place::file(name), "the file holds no sets; give at least one"));
        }
        let notes = note(&sets, &repeats).into_iter().collect();
        Ok(FeatureSets { name: name.to_string(), sets, notes })
    }
}

/// The set on a line, and the first of its members listed twice.
fn parse_line(line: &str) -> std::result::Result<(FeatureSet, Option<String>), String> {
    const FORM: &str = "a line is name, description and members, with tabs between";
    let mut fields = line.split('\t').map(str::trim);
    let name = fields.next().unwrap_or_default();
    if name.is_empty() {
        return Err(format!("the set has no name; {FORM}"));
    }
    let (mut members, mut seen, mut repeated) = (Vec::new(), HashSet::new(), None);
    for member in fields.skip(1).filter(|member| !member.is_empty()) {
        if seen.insert(member) {
            members.push(member.to_string());
        } else if repeated.is_none() {
            repeated = Some(member.to_string());
        }
    }
    if members.is_empty() {
        return Err(format!("set {} has no members; {FORM}", quoted(name)));
    }
    Ok((FeatureSet { name: name.to_string(), members }, repeated))
}

/// One note for all sets that list a member twice.
fn note(sets: &[FeatureSet], repeats: &[(usize, String)]) -> Option<String> {
    let (set, member) = repeats.first()?;
    let more = match repeats.len() {
        1 => String::new(),
        2 => ", and members of 1 more set".to_string(),
        n => format!(", and members of {} more sets", n - 1),
    };
    Some(format!("named twice, kept once: {} in set {}{more}", quoted(member), quoted(&sets[*set].name)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn message(bytes: &[u8]) -> String {
        FeatureSets::read_from(bytes, "f.gmt").unwrap_err().to_string()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn sets(text: &str) -> Vec<(String, Vec<String>)> {
        let sets = FeatureSets::parse(text, "f.gmt").unwrap().sets;
        sets.into_iter().map(|set| (set.name, set.members)).collect()
    }

    #[test]
    fn every_line_end_blank_lines_and_blank_members() {
        let expected = [("a b", vec!["G1", "G 2"]), ("c", vec!["G1"])]
            .map(|(name, members)| (name.to_string(), members.into_iter().map(str::to_string).collect::<Vec<_>>()));
        for end in ["\n", "\r\n", "\r"] {
            let text = ["\u{feff}a b\tnote\tG1\t\t G 2 \t", "", "c\t\tG1"].join(end);
            assert_eq!(sets(&text), expected, "{end:?}");
            assert_eq!(sets(&(text + end)), expected, "{end:?}");
        }
    }

    #[test]
    fn members_named_twice_kept_once_with_a_note() {
        let read = |text: &str| FeatureSets::parse(text, "f.gmt").unwrap();
        let one = read("a\t\tG\tH\tG\tG\nb\t\tG\n");
        assert_eq!(one.sets[0].members, ["G", "H"]);
        assert_eq!(one.notes, ["named twice, kept once: 'G' in set 'a'"]);
        let three = read("a\t\tG\tG\nb\t\tH\tH\nc\t\tH\tH\n");
        assert_eq!(three.notes, ["named twice, kept once: 'G' in set 'a', and members of 2 more sets"]);
        assert!(read("a\t\tG\nb\t\tG\n").notes.is_empty());
    }

    #[test]
    fn malformed_files_refused_with_line() {
        let form = "a line is name, description and members, with tabs between";
        let kind = "feature sets are read as GMT text, plain or gzip: convert it first";
        for (bytes, expected) in [
            (&b""[..], "f.gmt: the file holds no sets; give at least one".to_string()),
            (b"\n \t\n", "f.gmt: the file holds no sets; give at least one".to_string()),
            (b"a\tx\tG\n\n\tx\tG\n", format!("f.gmt:3: the set has no name; {form}")),
            (b"a\tx\tG\nb\tx\n", format!("f.gmt:2: set 'b' has no members; {form}")),
            (b"a\tx\t\t \n", format!("f.gmt:1: set 'a' has no members; {form}")),
            (b"a,x,G\n", format!("f.gmt:1: set 'a,x,G' has no members; {form}")),
            (b"a\tx\tG\nb\tx\tG\na\ty\tH\n", "f.gmt:3: set 'a' stands on line 1 already; rename one".to_string()),
            (b"a\tx\t\xe9\n", "f.gmt:1: byte 5 (0xE9) is not UTF-8 text; save the file as UTF-8 (`iconv -f cp1252 -t utf-8 FILE > NEW`)".to_string()),
            (b"PK\x03\x04", format!("f.gmt: this is a zip archive; {kind}")),
            (b"{\"a\": 1}", format!("f.gmt: this is a JSON file; {kind}")),
        ] {
            assert_eq!(message(bytes), expected);
        }
    }

    #[test]
    fn little_that_unpacks_to_much_is_refused() {
        let line = message(&gzip(&[b"a\t\t".to_vec(), vec![b'x'; 1 << 26]].concat()));
        assert!(line.starts_with("f.gmt:1: the line is longer than 64.0 MiB"), "{line}");
        let members = "g\th\t".repeat(1 << 14);
        let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        (0..400).for_each(|i| packed.write_all(format!("s{i}\t\t{members}\n").as_bytes()).unwrap());
        let packed = packed.finish().unwrap();
        let sets = message(&packed);
        assert!(packed.len() < 1 << 20, "{} bytes", packed.len());
        assert!(sets.starts_with("f.gmt:249: the sets up to here take more than 512.0 MiB; split the file"), "{sets}");
    }

    #[test]
    fn files_are_read_plain_or_packed() {
        let folder = tempfile::tempdir().unwrap();
        let text = b"a\t\tG\nb\t\tH\n";
        for (name, bytes) in [("s.gmt", text.to_vec()), ("s.gmt.gz", gzip(text))] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let read = FeatureSets::read(&path).unwrap();
            assert_eq!(read.name, path.display().to_string());
            assert_eq!(read.sets, FeatureSets::parse("a\t\tG\nb\t\tH\n", "f").unwrap().sets);
        }
        let missing = FeatureSets::read(&folder.path().join("no.gmt")).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read ") && missing.contains("no.gmt"), "{missing}");
        let cut = message(&gzip(text)[..20]);
        assert!(cut.starts_with("f.gmt: the gzip data are damaged or cut short"), "{cut}");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic_and_sets_are_whole(
            bytes in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..200),
                prop::collection::vec(prop::sample::select(b"ab\t\t\t \n\r\xe9".to_vec()), 0..80),
            ],
        ) {
            for input in [bytes.clone(), gzip(&bytes), [b"\x1f\x8b".to_vec(), bytes].concat()] {
                let Ok(read) = FeatureSets::read_from(&input[..], "f") else { continue };
                prop_assert!(!read.sets.is_empty());
                for set in &read.sets {
                    let different: HashSet<&String> = set.members.iter().collect();
                    prop_assert!(!set.name.is_empty() && !set.members.is_empty());
                    prop_assert_eq!(different.len(), set.members.len());
                }
            }
        }

        #[test]
        fn what_is_written_is_read(
            sets in prop::collection::btree_map("[a-z]{1,3}", prop::collection::btree_set("[A-Z]{1,3}", 1..5), 1..6),
        ) {
            let mut text = String::new();
            for (name, members) in &sets {
                text += &format!("{name}\tnote\t{}\n", members.iter().cloned().collect::<Vec<_>>().join("\t"));
            }
            let expected: Vec<_> = sets.into_iter().map(|(name, set)| (name, set.into_iter().collect())).collect();
            prop_assert_eq!(self::sets(&text), expected);
        }
    }
}
