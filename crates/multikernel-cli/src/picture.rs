//! `picture`.

use std::path::Path;

use anyhow::{Result, bail};
use multikernel::data::{Dataset, load};
use multikernel::plan::{Model, Registry};
use multikernel::report::Boundary;
use multikernel::run::Observer;
use multikernel::{Pool, file};

use crate::args::Picture;
use crate::bar::Bar;
use crate::{data, memory};

pub(crate) fn run(args: &Picture, registry: &Registry) -> Result<()> {
    check_paths(args)?;
    let mut bar = Bar::new(args.quiet);
    let model = Model::load_with(&args.model, registry)?;
    Boundary::check(&model)?;
    let train = rows(&args.data, args, &model, &mut bar)?;
    let test = args.test.as_deref().map(|test| rows(test, args, &model, &mut bar)).transpose()?;
    let picture = Boundary::of(&model, &train, test.as_ref(), &Pool::new(args.threads)?)?;
    Ok(file::write_atomic(&args.out, picture.svg().as_bytes())?)
}

fn check_paths(args: &Picture) -> Result<()> {
    if args.data == "-" && args.test.as_deref() == Some("-") {
        bail!("DATA and --test are both standard input; give a file for one of them");
    }
    let model = args.model.display().to_string();
    let read = [&model, &args.data].into_iter().chain(&args.test);
    read.into_iter().try_for_each(|source| data::check_other_file("--out", &args.out, source))?;
    check_out("--out", &args.out)
}

/// Refuses a file that cannot hold a picture, before hours of work.
pub(crate) fn check_out(flag: &str, path: &Path) -> Result<()> {
    if path.extension().is_none_or(|ending| ending != "svg") {
        bail!(
            "{flag} {}: a picture is written as .svg, which browsers show and drawing programs turn into .png; give a name that \
             ends so",
            path.display()
        );
    }
    Ok(file::check_writable(path)?)
}

/// Labelled rows with the model's columns.
fn rows(source: &str, args: &Picture, model: &Model, observer: &mut dyn Observer) -> Result<Dataset> {
    let mut options = data::options_of(&args.columns, Some(model.input().expect()))?;
    options.memory = memory::limit(None)?;
    let table = load(source, &options)?;
    data::tell(&table, observer);
    if table.labels.is_none() {
        bail!(
            "{}: the rows have no labels, so they have no colours; give a file with a label in each row",
            table.source
        );
    }
    Ok(table.into_test_set(model.classes())?)
}
