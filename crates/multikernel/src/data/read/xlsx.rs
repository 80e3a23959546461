//! Excel workbooks (`.xlsx`), read by builds with the feature `xlsx`.
//!
//! A sheet becomes rows of cells as its CSV export has them, so that kinds, missing values and messages are the same.

use std::io::Read;

#[cfg(feature = "xlsx")]
use super::delimited::{Cells, Rows, read_rows};
use super::options::ReadOptions;
use crate::data::table::Table;
use crate::error::Result;
#[cfg(not(feature = "xlsx"))]
use crate::error::{Error, Place};

/// A path, and the sheet after `#` where it is that of a workbook.
pub(super) fn split_sheet(path: &str) -> (&str, Option<&str>) {
    match path.rsplit_once('#') {
        Some((file, sheet)) if is_workbook(file) => (file, Some(sheet)),
        _ => (path, None),
    }
}

/// Whether a file is a workbook, by its extension.
fn is_workbook(file: &str) -> bool {
    let ending = file.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    matches!(ending.as_deref(), Some("xlsx" | "xlsm"))
}

/// The error that says what is needed to read such a file.
#[cfg(not(feature = "xlsx"))]
pub(super) fn read(_: impl Read, source: &str, _: &ReadOptions) -> Result<Table> {
    Err(without_feature(source))
}

/// The rows of a sheet, cell by cell.
#[cfg(not(feature = "xlsx"))]
pub(super) fn read_cells(_: impl Read, source: &str, _: u64) -> Result<Vec<super::delimited::Cells>> {
    Err(without_feature(source))
}

#[cfg(not(feature = "xlsx"))]
fn without_feature(source: &str) -> Error {
    let message = "this is an Excel workbook, which only a build with the feature `xlsx` reads; build it so, or save the \
                   sheet as CSV";
    Error::data(Place::file(source), message)
}

/// Reads the first sheet, or the one named after `#`.
#[cfg(feature = "xlsx")]
pub(super) fn read(reader: impl Read, source: &str, options: &ReadOptions) -> Result<Table> {
    let sheet = sheet(reader, source, options.limit())?;
    // Numbers have a decimal point, whatever the texts beside them look like.
    let decimal = options.decimal.or(Some(super::numbers::Decimal::Point));
    let options = ReadOptions { decimal, ..options.clone() };
    let mut table = read_rows(&sheet.name, SheetRows(sheet.rows.into_iter()), &options)?;
    table.notes.extend(sheet.note.map(crate::error::Message::from));
    Ok(Table { source: sheet.name, ..table })
}

/// The rows of a sheet, cell by cell.
#[cfg(feature = "xlsx")]
pub(super) fn read_cells(reader: impl Read, source: &str, limit: u64) -> Result<Vec<Cells>> {
    let sheet = sheet(reader, source, limit)?;
    super::delimited::cells_of(&sheet.name, &mut SheetRows(sheet.rows.into_iter()), limit, false)
}

#[cfg(feature = "xlsx")]
fn sheet(reader: impl Read, source: &str, limit: u64) -> Result<workbook::Sheet> {
    let bytes = super::binary::whole(reader, source, limit)?;
    // The crate checks most of a file; where it does not, a panic must not end the program.
    let read = std::panic::AssertUnwindSafe(|| workbook::read(bytes, source, limit));
    std::panic::catch_unwind(read).unwrap_or_else(|_| Err(workbook::unreadable(source, &"it is damaged")))
}

/// The rows of a sheet.
#[cfg(feature = "xlsx")]
struct SheetRows(std::vec::IntoIter<Cells>);

#[cfg(feature = "xlsx")]
impl Rows for SheetRows {
    fn next(&mut self, cells: &mut Cells) -> Result<bool> {
        match self.0.next() {
            Some(row) => *cells = row,
            None => return Ok(false),
        }
        Ok(true)
    }
}

#[cfg(feature = "xlsx")]
mod workbook {
    use std::fmt::Display;
    use std::io::{self, Cursor, Read};

    use calamine::{Cell, DataRef, ExcelDateTime, Reader, SheetType, Xlsx, open_workbook_from_rs};

    use super::split_sheet;
    use crate::data::read::delimited::Cells;
    use crate::data::read::memory::out_of_memory;
    use crate::data::table::words::{list, quoted};
    use crate::error::{Error, Place, Result};

    /// A sheet of a workbook.
    pub(super) struct Sheet {
        /// The file and the sheet, as messages name them.
        pub(super) name: String,
        /// The rows that are not blank, all of the same width; the line of a cell is its row in the sheet.
        pub(super) rows: Vec<Cells>,
        pub(super) note: Option<String>,
    }

    type Book = Xlsx<Cursor<Vec<u8>>>;

    /// Converts an error of the crates that read workbooks.
    pub(super) fn unreadable(source: &str, error: &dyn Display) -> Error {
        let message =
            format!("the workbook cannot be read ({error}); save it again as .xlsx, or save the sheet as CSV");
        Error::data(Place::file(source), message)
    }

    pub(super) fn read(bytes: Vec<u8>, source: &str, limit: u64) -> Result<Sheet> {
        let (file, wanted) = split_sheet(source);
        if !bytes.starts_with(b"PK") {
            let message = "this is no Excel workbook (.xlsx): it is no zip archive; save it as .xlsx, or give text its own \
                           extension, such as .csv";
            return Err(Error::data(Place::file(file), message));
        }
        check_size(&bytes, file, limit)?;
        let mut book: Book = open_workbook_from_rs(Cursor::new(bytes)).map_err(|error| unreadable(file, &error))?;
        let sheet = pick(&book, file, wanted)?;
        let name = format!("{file}#{sheet}");
        let cells = cells(&mut book, &sheet, &name, limit)?;
        let (Some(first), Some(last)) = (cells.iter().map(|cell| cell.1).min(), cells.iter().map(|cell| cell.1).max())
        else {
            let others = sheets(&book).into_iter().filter(|other| *other != sheet).collect::<Vec<_>>();
            let other = others.first().map_or(String::new(), |other| format!(", or name another: {file}#{other}"));
            let message = format!("the sheet is empty; give at least one row{other}");
            return Err(Error::data(Place::file(name), message));
        };
        let note = (first > 0).then(|| {
            format!(
                "sheet {}: the table begins in column {}, where columns are counted from",
                quoted(&sheet),
                letters(first)
            )
        });
        let rows = rows(cells, first as usize, (last - first) as usize + 1, &name, limit)?;
        Ok(Sheet { name, rows, note })
    }

    /// Refuses a workbook that unpacks to more than `limit` bytes, which the crate would hold in memory unchecked.
    fn check_size(bytes: &[u8], file: &str, limit: u64) -> Result<()> {
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| unreadable(file, &error))?;
        let mut need = 0;
        for k in 0..archive.len() {
            let entry = archive.by_index(k).map_err(|error| unreadable(file, &error))?;
            // The sizes that an archive states may be wrong: its bytes are counted.
            let n = io::copy(&mut entry.take((limit - need).saturating_add(1)), &mut io::sink());
            need += n.map_err(|error| unreadable(file, &error))?;
            if need > limit {
                let what = format!("{file}: the workbook in memory");
                return Err(Error::Memory { what, need, limit, help: "allow more memory, or save fewer rows".into() });
            }
        }
        Ok(())
    }

    /// The names of the sheets of cells.
    fn sheets(book: &Book) -> Vec<String> {
        let sheets = book.sheets_metadata().iter().filter(|sheet| sheet.typ == SheetType::WorkSheet);
        sheets.map(|sheet| sheet.name.clone()).collect()
    }

    /// The first sheet, or the one wanted.
    fn pick(book: &Book, file: &str, wanted: Option<&str>) -> Result<String> {
        let sheets = sheets(book);
        let found = match wanted {
            None => sheets.first(),
            Some(wanted) => sheets.iter().find(|sheet| *sheet == wanted),
        };
        found.cloned().ok_or_else(|| {
            let shown: Vec<String> = sheets.iter().map(|sheet| quoted(sheet)).collect();
            let message = match wanted {
                Some(wanted) => format!("the workbook has no sheet {}; it has {}", quoted(wanted), list(&shown, 8)),
                None => "the workbook has no sheet of cells; give one with rows".into(),
            };
            Error::data(Place::file(file), message)
        })
    }

    /// Row, column and text of each cell that is not empty, in the order of the sheet.
    fn cells(book: &mut Book, sheet: &str, name: &str, limit: u64) -> Result<Vec<(u32, u32, String)>> {
        let broken = |error: &dyn Display| unreadable(name, error);
        let mut reader = book.worksheet_cells_reader(sheet).map_err(|error| broken(&error))?;
        let (mut cells, mut need) = (vec![], 0);
        while let Some(cell) = reader.next_cell().map_err(|error| broken(&error))? {
            let Some(text) = text(&cell) else { continue };
            let (row, column) = cell.get_position();
            need += (size_of::<(u32, u32, String)>() + text.len()) as u64;
            if need > limit {
                return Err(out_of_memory(name, row as usize + 1, column as usize + 1, need, limit));
            }
            cells.push((row, column, text));
        }
        cells.sort_by_key(|&(row, column, _)| (row, column));
        Ok(cells)
    }

    /// A cell as a CSV export has it; `None` if it is empty.
    fn text(cell: &Cell<DataRef<'_>>) -> Option<String> {
        let text = match cell.get_value() {
            DataRef::Empty => return None,
            DataRef::Int(value) => value.to_string(),
            DataRef::Float(value) => value.to_string(),
            DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
            DataRef::SharedString(text) => text.to_string(),
            DataRef::Bool(value) => if *value { "TRUE" } else { "FALSE" }.into(),
            DataRef::DateTime(date) => date_text(date),
            DataRef::Error(error) => error.to_string(),
        };
        (!text.trim().is_empty()).then_some(text)
    }

    /// A date, a time, or both; the length of a time as days.
    fn date_text(date: &ExcelDateTime) -> String {
        if date.is_duration() {
            return date.as_f64().to_string();
        }
        let (year, month, day, hour, minute, second, milli) = date.to_ymd_hms_milli();
        let clock = match milli {
            0 => format!("{hour:02}:{minute:02}:{second:02}"),
            _ => format!("{hour:02}:{minute:02}:{second:02}.{milli:03}"),
        };
        let value = date.as_f64();
        match () {
            () if (0.0..1.0).contains(&value) => clock,
            () if value.fract() == 0.0 => format!("{year:04}-{month:02}-{day:02}"),
            () => format!("{year:04}-{month:02}-{day:02} {clock}"),
        }
    }

    /// The rows of a table of so many columns.
    fn rows(cells: Vec<(u32, u32, String)>, first: usize, width: usize, name: &str, limit: u64) -> Result<Vec<Cells>> {
        let (mut rows, mut need) = (Vec::<Cells>::new(), 0);
        for found in cells.chunk_by(|a, b| a.0 == b.0) {
            let (mut row, line) = (Cells::default(), u64::from(found[0].0) + 1);
            for (_, column, text) in found {
                let at = *column as usize - first;
                // Of a cell given twice, the first counts.
                (row.len()..at).for_each(|_| row.push("", line));
                if row.len() == at {
                    row.push(text, line);
                }
            }
            (row.len()..width).for_each(|_| row.push("", line));
            need += row.size();
            if need > limit {
                return Err(out_of_memory(name, rows.len() + 1, width, need, limit));
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// A column as spreadsheets name it: A, B, ..., Z, AA, ...
    fn letters(column: u32) -> String {
        let (mut n, mut letters) = (column + 1, vec![]);
        while n > 0 {
            letters.push(char::from(b'A' + ((n - 1) % 26) as u8));
            n = (n - 1) / 26;
        }
        letters.iter().rev().collect()
    }

    #[test]
    fn columns_named_as_spreadsheets_do() {
        assert_eq!([0, 25, 26, 701, 702].map(letters), ["A", "Z", "AA", "ZZ", "AAA"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read;
    #[cfg(feature = "xlsx")]
    use crate::data::{Kind, read_from};

    fn path(name: &str) -> String {
        format!("{}/../../testdata/xlsx/{name}", env!("CARGO_MANIFEST_DIR"))
    }

    fn table(name: &str, options: &ReadOptions) -> Result<Table> {
        read(path(name).as_ref(), options)
    }

    #[cfg(not(feature = "xlsx"))]
    #[test]
    fn builds_without_the_feature_say_so() {
        let message = table("patients.xlsx", &ReadOptions::default()).unwrap_err().to_string();
        let expected = "patients.xlsx: this is an Excel workbook, which only a build with the feature `xlsx` reads; build it \
                        so, or save the sheet as CSV";
        assert!(message.ends_with(expected), "{message}");
    }

    #[cfg(feature = "xlsx")]
    #[test]
    fn cells_are_those_of_the_csv_export() {
        let csv = "age,sex,seen,at,well,outcome\n\
                   61,f,2021-03-01,2021-03-01 12:00:00,TRUE,ill\n\
                   48.5,m,2021-03-04,2021-03-04 06:00:00,FALSE,well\n\
                   ,f,2021-03-02,2021-03-02 18:00:00,TRUE,ill\n\
                   #N/A,d & <e>,2021-03-09,2021-03-09,,well\n";
        let text = read_from(csv.as_bytes(), "patients.csv", &ReadOptions::default()).unwrap();
        for name in ["patients.xlsx", "patients.xlsx#Patients", "empty.xlsx#Rows"] {
            let book = table(name, &ReadOptions::default()).unwrap();
            assert_eq!(book.samples.names(), text.samples.names());
            assert_eq!(book.labels, text.labels);
            assert_eq!(format!("{:?}", book.samples), format!("{:?}", text.samples), "{name}");
            assert_eq!(book.columns, text.columns);
        }
        assert_eq!(table("patients.xlsx", &ReadOptions::default()).unwrap().name, "patients");
        assert_eq!((2..4).map(|j| text.samples.kind(j)).collect::<Vec<_>>(), [Kind::Date, Kind::Date]);
    }

    #[cfg(feature = "xlsx")]
    #[test]
    fn a_table_may_begin_anywhere_and_have_blank_rows() {
        let book = table("patients.xlsx#Lower right", &ReadOptions::default()).unwrap();
        assert_eq!((book.samples.n_samples(), book.samples.names()[0].as_str()), (5, "age"));
        assert!(book.source.ends_with("patients.xlsx#Lower right"), "{}", book.source);
        let note = "sheet 'Lower right': the table begins in column B, where columns are counted from";
        assert!(book.notes.iter().any(|found| *found == note), "{:?}", book.notes);
    }

    #[cfg(feature = "xlsx")]
    #[test]
    fn faults_named_with_sheet_and_row() {
        for (name, expected) in [
            (
                "patients.xlsx#Peaple",
                "patients.xlsx: the workbook has no sheet 'Peaple'; it has 'Patients', 'Lower right'",
            ),
            ("empty.xlsx", "#Nothing: the sheet is empty; give at least one row, or name another: "),
            ("broken_number.xlsx", "#Data:4:2: 'oops' in column 'b' is not a number"),
            ("broken_date.xlsx", "#Data:11:1: 'soon' in column 'seen' is no date"),
            ("header_alone.xlsx", "#Data: the file holds a header but no rows; give at least one row"),
        ] {
            let message = table(name, &ReadOptions::default()).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let message = read_from(&b"a,b\n1,2\n"[..], "t.xlsx", &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.starts_with("t.xlsx: this is no Excel workbook (.xlsx): it is no zip archive;"), "{message}");
        let bytes = std::fs::read(path("patients.xlsx")).unwrap();
        let small = ReadOptions { memory: Some(3_000), ..Default::default() };
        let message = read_from(&bytes[..], "t.xlsx", &small).unwrap_err().to_string();
        assert!(message.starts_with("t.xlsx: the workbook in memory needs "), "{message}");
    }

    #[cfg(feature = "xlsx")]
    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]

        #[test]
        fn damaged_workbooks_never_panic(
            cut in proptest::prelude::any::<proptest::sample::Index>(),
            edits in proptest::collection::vec(proptest::prelude::any::<(proptest::sample::Index, u8)>(), 1..4),
        ) {
            let options = ReadOptions { memory: Some(1 << 20), ..Default::default() };
            let mut bytes = std::fs::read(path("patients.xlsx")).unwrap();
            let _ = read_from(&bytes[..cut.index(bytes.len())], "f.xlsx", &options);
            for (at, byte) in edits {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let _ = read_from(&bytes[..], "f.xlsx", &options);
        }
    }
}
