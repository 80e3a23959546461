//! `inspect`.

use anyhow::Result;
use multikernel::plan::{Model, Registry};
use multikernel::report::{model_json, model_text};

use crate::args::Inspect;
use crate::{print, print_text};

pub(crate) fn run(args: &Inspect, registry: &Registry) -> Result<()> {
    let model = Model::load_with(&args.model, registry)?;
    if args.json { print(&(model_json(&model) + "\n")) } else { print_text(&model_text(&model)) }
}
