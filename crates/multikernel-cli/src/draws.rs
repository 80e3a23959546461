//! `draws`.

use anyhow::Result;
use multikernel::draws::DrawsFormat;
use multikernel::file;
use multikernel::plan::{Model, Registry};

use crate::args::Draws;
use crate::data;

pub(crate) fn run(args: &Draws, registry: &Registry) -> Result<()> {
    data::check_other_file("--out", &args.out, &args.model.display().to_string())?;
    DrawsFormat::of(&args.out)?;
    file::check_writable(&args.out)?;
    Ok(Model::load_with(&args.model, registry)?.save_draws(&args.out)?)
}
