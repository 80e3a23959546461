//! Reading tables: the source, the format and the result.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::classes::check_classes;
use super::delimited::Cells;
use super::format::{by_ending, csv_delimiter, of_file, short_name, sniff};
use super::options::{Format, ReadOptions, with_views_of};
use super::text::{Source, peek};
use super::{delimited, fasta, libsvm, npy, npz, parquet, xlsx};
use crate::data::table::Table;
use crate::error::{Error, Place, Result};

/// Reads a table from a file, gzip or plain; `-` is standard input.
///
/// The format is the one given; else NumPy, Parquet and Arrow files are recognised by their first bytes, workbooks by
/// `.xlsx` or `.xlsm`, and text by its file extension (`.csv`; `.tsv`, `.tab`; `.svm`, `.libsvm`, `.svmlight`, `.scale`,
/// `.t`, `.tr`, `.val`; `.fasta`, `.fa`, `.fna`, `.faa`; each also with `.gz`) or its first lines. `FILE.xlsx#Sheet` is
/// a sheet of a workbook other than its first. Cells of delimited text that are empty, `NA`, `N/A`, `NaN`, `null`, `none`, `?`,
/// `<NA>` or a spreadsheet error such as `#N/A` are missing values, NaN in the table, and so are `-`, `.` or `*` among
/// numbers; all others must be finite numbers. Decimal commas, thousands separators and percent signs are accepted if a
/// whole column has them. An error names all columns that are not numeric, with file and line of the first such cell.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Table> {
    if path.as_os_str() == "-" {
        return read_from(std::io::stdin().lock(), "standard input", options);
    }
    let name = path.display().to_string();
    read_from(open(&name)?, &name, options)
}

/// Opens a file, or the workbook of a sheet given as `FILE.xlsx#Sheet`.
fn open(path: &str) -> Result<File> {
    let (workbook, _) = xlsx::split_sheet(path);
    let file = File::open(path);
    let file = if workbook == path { file } else { file.or_else(|_| File::open(workbook)) };
    file.map_err(|error| Error::io("read", path, error))
}

/// Reads a table from any reader; `name` is used in messages, and its extension may determine the format as in
/// [`read`].
pub fn read_from(reader: impl Read, name: &str, options: &ReadOptions) -> Result<Table> {
    if options.unlabelled && options.label.is_some() {
        return Err(Error::param("label", "cannot be given for rows without labels; leave one of the two out"));
    }
    if options.expect.as_ref().is_some_and(|expect| expect.names.is_empty()) {
        return Err(Error::input("the model to read rows for has no features; give at least one name"));
    }
    let (magic, reader) = peek(reader, 8).map_err(|error| Error::io("read", name, error))?;
    let format = options.format.or_else(|| of_file(&magic, name));
    let turns = |format| matches!(format, Format::Csv | Format::Tsv | Format::Xlsx | Format::Fasta);
    if options.transpose && format.is_some_and(|format| !turns(format)) {
        let message = format!("{name} is no CSV or TSV text and no workbook, which alone can be turned; turn it first");
        return Err(Error::param("transpose", message));
    }
    let table = match format {
        Some(Format::Npy) => npy::read(reader, name, options),
        Some(Format::Npz) => npz::read(reader, name, options),
        Some(Format::Parquet | Format::Arrow) => parquet::read(reader, name, options),
        Some(Format::Xlsx) => xlsx::read(reader, name, options),
        text => read_text(Source::open(reader, name)?, text, options),
    }?;
    let samples = with_views_of(table.samples, options)?;
    let mut table = Table { name: short_name(name), samples, ..table };
    if options.drops_untargeted() {
        table.drop_untargeted(options.targets())?;
    }
    if options.part.is_none() {
        check_classes(&mut table, options)?;
    }
    Ok(table)
}

fn read_text(source: Source<'_>, format: Option<Format>, options: &ReadOptions) -> Result<Table> {
    match format.map_or_else(|| sniff(&source), Ok)? {
        Format::Libsvm if options.transpose => {
            let message = format!("{} is LIBSVM text, whose rows are samples; leave it out", source.name);
            Err(Error::param("transpose", message))
        }
        Format::Libsvm => libsvm::read(source.lines(options.limit()), options),
        Format::Fasta => fasta::read(source.lines(options.limit()), options),
        Format::Tsv => delimited::read(source.lines(options.limit()), '\t', options),
        _ => {
            let delimiter = csv_delimiter(&source.head);
            delimited::read(source.lines(options.limit()), delimiter, options)
        }
    }
}

/// The rows of delimited text in a file, cell by cell; `-` is standard input.
pub(in crate::data) fn read_cells(source: &str, options: &ReadOptions) -> Result<Vec<Cells>> {
    if source == "-" {
        return cells_from(std::io::stdin().lock(), "standard input", options);
    }
    cells_from(open(source)?, source, options)
}

fn cells_from(reader: impl Read, name: &str, options: &ReadOptions) -> Result<Vec<Cells>> {
    if by_ending(name) == Some(Format::Xlsx) {
        return xlsx::read_cells(reader, name, options.limit());
    }
    let source = Source::open_as(reader, name, "labels are read as CSV or TSV text, plain or gzip")?;
    let given = options.format.filter(|format| *format != Format::Libsvm);
    let delimiter = match by_ending(name).or(given).map_or_else(|| sniff(&source), Ok)? {
        Format::Tsv => '\t',
        Format::Libsvm => {
            let message = "this is LIBSVM text, which has no ids; give labels as CSV or TSV text";
            return Err(Error::data(Place::file(name), message));
        }
        _ => csv_delimiter(&source.head),
    };
    delimited::read_cells(source.lines(options.limit()), delimiter, options.limit())
}
