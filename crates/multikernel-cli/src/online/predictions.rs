//! The file of predictions, written as rows arrive.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use multikernel::Error;

use crate::predict::quoted;

const HEADER: &str = "row,label,predicted\n";

/// A growing table of rows, labels and predictions.
pub(super) struct Predictions {
    path: PathBuf,
    file: BufWriter<File>,
    is_file: bool,
}

impl Predictions {
    /// An empty table, replacing any earlier file.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|error| Error::io("write", path, error))?;
        let mut predictions = Predictions::on(path, file)?;
        predictions.write(HEADER)?;
        predictions.flush()?;
        Ok(predictions)
    }

    /// The table truncated to its first `n_rows` rows, all that a checkpoint knows of. A pipe cannot be truncated.
    pub(super) fn resume(path: &Path, n_rows: u64) -> Result<Self> {
        let failed = |error| Error::io("write", path, error);
        if !path.exists() {
            let message = "does not exist, but the run that is resumed has written it: give the same file as before, or leave \
                           --resume out to begin anew";
            return Err(Error::file(path, message.to_string()).into());
        }
        let special = !path.is_file();
        let file = OpenOptions::new().read(!special).write(true).open(path).map_err(failed)?;
        let mut predictions = Predictions::on(path, file)?;
        if predictions.is_file {
            let file = predictions.file.get_mut();
            let Some(end) = end_of_row(BufReader::new(&*file), n_rows).map_err(failed)? else {
                let message = format!(
                    "is not the file of predictions the checkpoint belongs to, which has {n_rows} rows after its header; \
                     give that one, or leave --resume out to begin anew"
                );
                return Err(Error::file(path, message).into());
            };
            file.set_len(end).and_then(|()| file.seek(SeekFrom::End(0))).map_err(failed)?;
        }
        Ok(predictions)
    }

    fn on(path: &Path, file: File) -> Result<Self> {
        let is_file = file.metadata().map_err(|error| Error::io("write", path, error))?.is_file();
        Ok(Predictions { path: path.to_path_buf(), file: BufWriter::new(file), is_file })
    }

    /// Adds a row, counted from 1; there is no prediction while no class is known.
    pub(super) fn add(&mut self, row: u64, label: &str, predicted: Option<&str>) -> Result<()> {
        self.write(&format!("{row},{},{}\n", quoted(label), quoted(predicted.unwrap_or(""))))
    }

    /// Makes all rows added so far visible to readers.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.file.flush().map_err(|error| Error::io("write", &self.path, error).into())
    }

    /// Makes them survive a power cut, like the checkpoint that relies on them.
    pub(super) fn sync(&mut self) -> Result<()> {
        self.flush()?;
        if self.is_file {
            self.file.get_ref().sync_data().map_err(|error| Error::io("write", &self.path, error))?;
        }
        Ok(())
    }

    fn write(&mut self, text: &str) -> Result<()> {
        self.file.write_all(text.as_bytes()).map_err(|error| Error::io("write", &self.path, error).into())
    }
}

/// The number of bytes up to the end of row `n_rows`, if there are that many rows after our header; a line break inside
/// quotes does not end a row.
fn end_of_row(mut reader: impl BufRead, n_rows: u64) -> io::Result<Option<u64>> {
    let mut header = vec![];
    reader.by_ref().take(HEADER.len() as u64).read_to_end(&mut header)?;
    let (mut bytes, mut left, mut inside) = (HEADER.len() as u64, n_rows, false);
    if header != HEADER.as_bytes() {
        return Ok(None);
    }
    loop {
        if left == 0 {
            return Ok(Some(bytes));
        }
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Ok(None);
        }
        for (i, &byte) in chunk.iter().enumerate() {
            inside ^= byte == b'"';
            left -= u64::from(byte == b'\n' && !inside);
            if left == 0 {
                return Ok(Some(bytes + i as u64 + 1));
            }
        }
        let n = chunk.len();
        bytes += n as u64;
        reader.consume(n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_cut_back_and_written_on_is_the_whole_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.csv");
        let rows = [("a", None), ("b,c", Some("a")), ("d", Some("l\nm")), ("e", Some("q\"q"))];
        let write = |predictions: &mut Predictions, from: usize| {
            for (i, (label, predicted)) in rows.iter().enumerate().skip(from) {
                predictions.add(i as u64 + 1, label, *predicted).unwrap();
            }
            predictions.sync().unwrap();
        };
        write(&mut Predictions::create(&path).unwrap(), 0);
        let whole = std::fs::read_to_string(&path).unwrap();
        assert_eq!(whole, "row,label,predicted\n1,a,\n2,\"b,c\",a\n3,d,\"l\nm\"\n4,e,\"q\"\"q\"\n");
        for n in 0..=rows.len() {
            // Half a row after the end, as left by a run that was killed.
            std::fs::write(&path, format!("{whole}5,f")).unwrap();
            write(&mut Predictions::resume(&path, n as u64).unwrap(), n);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), whole, "{n}");
        }
        for other in [whole.clone(), "a,b\n1,2\n".repeat(9), String::new(), "\u{e9}".repeat(30)] {
            std::fs::write(&path, &other).unwrap();
            let message = Predictions::resume(&path, 5).err().unwrap().to_string();
            assert!(message.ends_with(
                "p.csv: is not the file of predictions the checkpoint belongs to, which has 5 rows after its header; give \
                 that one, or leave --resume out to begin anew"
            ));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), other, "a refused file stays as it was");
        }
    }
}
