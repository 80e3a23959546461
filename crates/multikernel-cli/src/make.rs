//! `datasets make`.

use anyhow::{Result, bail};
use multikernel::data::{Dataset, circles, moons, separable};
use multikernel::file;

use crate::args::MakeDataset;
use crate::print;
use crate::write::{Ids, table};

pub(crate) fn run(args: &MakeDataset) -> Result<()> {
    if let Some(out) = &args.out {
        file::check_writable(out)?;
    }
    let text = table(&drawn(args)?, Ids::No)?;
    match &args.out {
        Some(path) => Ok(file::write_atomic(path, text.as_bytes())?),
        None => print(&text),
    }
}

fn drawn(args: &MakeDataset) -> Result<Dataset> {
    let (noise, factor) = (args.noise.unwrap_or(0.1), args.factor.unwrap_or(0.5));
    match (args.set.as_str(), args.noise, args.factor) {
        ("circles", _, _) => Ok(circles(args.rows, noise, factor, args.seed)?),
        (set, _, Some(_)) => bail!("--factor is for circles; {set} has none, leave it out"),
        ("moons", _, _) => Ok(moons(args.rows, noise, args.seed)?),
        (set, Some(_), _) => bail!("--noise is for moons and circles; {set} has none, leave it out"),
        _ => Ok(separable(args.rows, args.seed)?),
    }
}
