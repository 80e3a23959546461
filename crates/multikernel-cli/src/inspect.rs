//! `inspect`.

use anyhow::Result;
use multikernel::plan::{Model, Registry};
use multikernel::report::{model_json, model_text};

use crate::args::Inspect;
use crate::print;

pub(crate) fn run(args: &Inspect, registry: &Registry) -> Result<()> {
    let model = Model::load_with(&args.model, registry)?;
    print(&if args.json { model_json(&model) + "\n" } else { model_text(&model) })
}
