//! `report`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use multikernel::plan::{Model, Registry};
use multikernel::report::{ModelPage, evaluation_page, evaluation_picture};
use multikernel::{Pool, file};

use crate::args::Report;
use crate::bar::Bar;
use crate::{data, picture};

/// More than the JSON of any evaluation has.
const MAX_JSON: u64 = 1 << 28;

pub(crate) fn run(args: &Report, registry: &Registry) -> Result<()> {
    let mut bar = Bar::new(args.quiet);
    let input = args.input.display().to_string();
    let mut sources = data::sources(args.data.as_deref(), &args.reading);
    sources.push(input.clone());
    sources.iter().try_for_each(|source| data::check_other_file("--out", &args.out, source))?;
    match &args.picture {
        Some(_) => picture::check_out("--out", &args.out)?,
        None => check_out("--out", &args.out)?,
    }
    let page = if let Some(json) = evaluation(&args.input)? {
        if args.data.is_some() || !args.reading.views.is_empty() {
            bail!("{input} is an evaluation, whose page needs no rows; give rows with a model, or none");
        }
        let made = match &args.picture {
            Some(kind) => evaluation_picture(&json, kind),
            None => evaluation_page(&json, Some(&command())),
        };
        made.with_context(|| input.clone())?
    } else {
        let model = Model::load_with(&args.input, registry)?;
        of_model(args, &model, &mut bar)?
    };
    Ok(file::write_atomic(&args.out, page.as_bytes())?)
}

/// The text of an evaluation, if the file begins like one. A device without end and a file with holes are told by what was read.
fn evaluation(path: &Path) -> Result<Option<String>> {
    let failed = || format!("cannot read {}", path.display());
    let mut reader = BufReader::new(File::open(path).with_context(failed)?);
    let head = reader.fill_buf().with_context(failed)?;
    if head.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Ok(None);
    }
    let mut content = vec![];
    reader.take(MAX_JSON + 1).read_to_end(&mut content).with_context(failed)?;
    if content.len() as u64 > MAX_JSON {
        bail!("{}: is larger than any evaluation; give what `multikernel evaluate --json` prints", path.display());
    }
    Ok(Some(String::from_utf8(content).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())))
}

fn of_model(args: &Report, model: &Model, bar: &mut Bar) -> Result<String> {
    let has_rows = args.data.is_some() || !args.reading.views.is_empty() || !args.reading.grams.is_empty();
    let read = has_rows.then(|| data::read_known(args.data.as_deref(), &args.reading, model, bar)).transpose()?;
    let command = command();
    let (rows, known) = read.as_ref().map_or((None, None), |(rows, known)| (Some(rows), known.as_ref()));
    let page = ModelPage { model, rows, known, command: Some(&command) };
    let pool = Pool::new(args.threads)?;
    Ok(match &args.picture {
        Some(kind) => page.picture(kind, &pool)?,
        None => page.html(&pool)?,
    })
}

/// Refuses a file that is no page, before hours of work.
pub(crate) fn check_out(flag: &str, path: &Path) -> Result<()> {
    if path.extension().is_none_or(|ending| ending != "html") {
        bail!("{flag} {}: a page is written as .html; give a name that ends so", path.display());
    }
    Ok(file::check_writable(path)?)
}

/// What was typed, ready to be pasted into a shell.
pub(crate) fn command() -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,/:+@%".contains(c);
    let quoted = |word: String| {
        if !word.is_empty() && word.chars().all(is_plain) { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
    };
    let words = std::env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    std::iter::once("multikernel".to_string()).chain(words).collect::<Vec<_>>().join(" ")
}
