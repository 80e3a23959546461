//! FASTA: sequences under header lines `>id description`, read as a table of ids and sequences.

use super::delimited::{Cells, Rows, read_rows};
use super::options::ReadOptions;
use super::text::Lines;
use crate::data::table::words::quoted;
use crate::data::table::{Kind, Table};
use crate::error::{Error, Place, Result};

/// The column of sequences.
const SEQUENCE: &str = "sequence";

/// Whether a text is FASTA, by a line of it.
pub(super) fn looks_like(line: &str) -> bool {
    line.starts_with('>') && !line.contains([',', ';', '\t'])
}

/// Reads a table with the ids of the sequences and one column, `sequence`.
pub(super) fn read(lines: Lines<'_>, options: &ReadOptions) -> Result<Table> {
    let name = lines.name;
    let mut options = ReadOptions { header: Some(true), ..options.clone() };
    if options.transpose {
        return Err(Error::param("transpose", format!("{name} is FASTA, whose rows are samples; leave it out")));
    }
    if options.id.is_none() {
        options.id = Some("id".into());
    }
    // Only a file of labels or another view can have labels.
    options.unlabelled |= options.label.is_none() && options.part.is_none();
    if options.expect.is_none() && options.kinds.iter().all(|(column, _)| column != SEQUENCE) {
        options.kinds.push((SEQUENCE.into(), Kind::Sequence.into()));
    }
    read_rows(name, Records { lines, header: None, is_begun: false }, &options)
}

/// The sequences, one at a time.
struct Records<'a> {
    lines: Lines<'a>,
    /// The id of the next sequence and the line of its header.
    header: Option<(String, u64)>,
    is_begun: bool,
}

impl Rows for Records<'_> {
    fn next(&mut self, cells: &mut Cells) -> Result<bool> {
        cells.clear();
        if !std::mem::replace(&mut self.is_begun, true) {
            self.read_sequence(None)?;
            let line = self.header.as_ref().map_or(1, |(_, line)| *line);
            cells.push("id", line);
            cells.push(SEQUENCE, line);
            return Ok(self.header.is_some());
        }
        let Some((id, line)) = self.header.take() else { return Ok(false) };
        let sequence = self.read_sequence(Some((&id, line)))?;
        cells.push(&id, line);
        cells.push(&sequence, line);
        Ok(true)
    }
}

impl Records<'_> {
    /// The letters up to the next header, which belong to the header before them.
    fn read_sequence(&mut self, of: Option<(&str, u64)>) -> Result<String> {
        let (file, mut sequence) = (self.lines.name, String::new());
        loop {
            let number = self.lines.number() + 1;
            let Some(line) = self.lines.next()? else { break };
            let line = line.trim();
            if let Some(header) = line.strip_prefix('>') {
                let Some(id) = header.split_whitespace().next() else {
                    let message = "the header line has no id; write `>id`, one for each sequence";
                    return Err(Error::data(Place::line(file, number), message));
                };
                self.header = Some((id.to_string(), number));
                break;
            }
            // Lines that begin with a semicolon are comments in old files.
            if line.is_empty() || line.starts_with(';') {
                continue;
            }
            if of.is_none() {
                let message = format!("{} before the first header line; begin with `>id`", quoted(&start_of(line)));
                return Err(Error::data(Place::line(file, number), message));
            }
            if let Some((at, c)) = line.char_indices().find(|(_, c)| !(c.is_ascii_alphabetic() || "*-.".contains(*c))) {
                let message = format!("{} is no letter of a sequence; correct or remove it", quoted(&c.to_string()));
                return Err(Error::data(Place::column(file, number, at as u64 + 1), message));
            }
            sequence.push_str(line);
            self.lines.check_row(sequence.len(), of.map_or(number, |(_, line)| line))?;
        }
        match of {
            Some((id, line)) if sequence.is_empty() => {
                let message = format!("{} has no letters; give its sequence, or remove it", quoted(id));
                Err(Error::data(Place::line(file, line), message))
            }
            _ => Ok(sequence),
        }
    }
}

/// The first letters of a line.
fn start_of(line: &str) -> String {
    line.chars().take(20).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{ViewSource, read_from, read_views};

    fn table(text: &str) -> Result<Table> {
        read_from(text.as_bytes(), "s.fasta", &ReadOptions::default())
    }

    #[test]
    fn sequences_have_the_ids_of_their_headers() {
        let table = table(">a first of them\r\nACGT\r\nTTGA\r\n\r\n;old remark\n>b\nacgn\n").unwrap();
        assert_eq!(table.samples.ids().unwrap(), ["a", "b"]);
        assert_eq!(table.samples.names(), [SEQUENCE]);
        assert_eq!(table.samples.kind(0), Kind::Sequence);
        assert_eq!((table.samples.text(0, 0), table.samples.text(1, 0)), (Some("ACGTTTGA"), Some("acgn")));
        assert!(table.labels.is_none());
        // Recognised by its first line too.
        let plain = read_from(&b">a\nACGT\n>b\nAC\n"[..], "standard input", &ReadOptions::default()).unwrap();
        assert_eq!(plain.samples.ids().unwrap(), ["a", "b"]);
    }

    #[test]
    fn faults_named_with_their_line() {
        for (text, expected) in [
            ("", "s.fasta: the file is empty; give at least one row"),
            ("ACGT\n", "s.fasta:1: 'ACGT' before the first header line; begin with `>id`"),
            (">a\nAC\n>\nAC\n", "s.fasta:3: the header line has no id; write `>id`, one for each sequence"),
            (">a\n>b\nAC\n", "s.fasta:1: 'a' has no letters; give its sequence, or remove it"),
            (">a\nAC\n>b\nAC4T\n", "s.fasta:4:3: '4' is no letter of a sequence; correct or remove it"),
            (">a\nAC\n>a\nAC\n", "s.fasta:3:1: the id 'a' stands in line 1 already; give every row its own"),
        ] {
            let message = table(text).unwrap_err().to_string();
            assert!(message.starts_with(expected), "{text:?}: {message}");
        }
    }

    #[test]
    fn a_view_of_sequences_is_joined_by_id() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(path("s.fa"), ">b\nACGTA\n>a\nTTTTA\n").unwrap();
        std::fs::write(path("t.csv"), "id,age,y\na,1,p\nb,2,q\n").unwrap();
        let views =
            [("t", "t.csv"), ("seq", "s.fa")].map(|(name, file)| ViewSource { name: name.into(), source: path(file) });
        let table = read_views(&views, None, &ReadOptions::default()).unwrap();
        assert_eq!(table.samples.names(), ["t:age", "seq:sequence"]);
        assert_eq!(table.samples.kind(1), Kind::Sequence);
        assert_eq!((table.samples.text(0, 1), table.samples.text(1, 1)), (Some("TTTTA"), Some("ACGTA")));
        assert_eq!(table.labels.unwrap(), ["p", "q"]);
    }
}
