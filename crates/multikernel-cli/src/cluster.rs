//! `cluster`.

use anyhow::{Result, bail};
use multikernel::data::{Samples, Target};
use multikernel::evaluate::ClusterIndices;
use multikernel::file;
use multikernel::plan::{Registry, Session};
use multikernel::report::Clustering;
use multikernel::run::Observer;

use crate::args::Cluster;
use crate::bar::Bar;
use crate::predict::{guard_formulas, id_name, number, quoted};
use crate::{data, memory, print, print_text, stop};

pub(crate) fn run(args: &Cluster, registry: &Registry) -> Result<()> {
    let mut bar = Bar::new(args.limits.quiet);
    let plan = data::plans_of(std::slice::from_ref(&args.method), &args.choices, registry)?.remove(0);
    let method = registry.get(&args.method)?;
    if !method.finds_clusters() {
        let able: Vec<&str> =
            registry.iter().filter(|method| method.finds_clusters()).map(|method| method.about().name).collect();
        bail!("--method {}: finds no clusters; {} do", args.method, able.join(", "));
    }
    check_paths(args)?;
    guard_formulas(args.guard_formulas);
    let (rows, has_labels) = data::read_for(&plan, args.data.as_deref(), &args.reading, &mut bar)?;
    let pool = args.limits.pool()?;
    let mut session = Session::new(&pool, &mut bar);
    session.control = data::control(&args.limits)?;
    session.memory = memory::limit(args.reading.memory.as_deref())?;
    let model = plan.train_in(&rows, &mut session)?;
    bar.clear();
    let Some(clustering) = model.clustering() else { bail!("the model of {} has no clusters", args.method) };
    let clusters = clustering.clusters();
    for warning in model.training().warnings() {
        bar.note(&format!("warning: {warning}"));
    }
    if let Some(path) = &args.model {
        model.save(path)?;
    }
    if let Some(path) = &args.out {
        // Training rows keep their cluster, which the density alone might assign differently.
        let density = clustering.place_in(&rows.samples, &pool)?.density;
        file::write_atomic(path, table(&rows.samples, clusters, density.as_deref()).as_bytes())?;
    }
    // Where numbers or times are predicted, labels are strata.
    let labels = (has_labels && matches!(rows.target, Target::Classes)).then_some(&rows.labels);
    let points = model.input().scaled(&rows.samples)?;
    let reference = labels.map(|labels| labels.codes());
    let indices = ClusterIndices::of(&points, clusters, reference, args.choices.seed, &pool)?;
    let found = Clustering { model: &model, labels, points: &points, indices: &indices };
    if args.json { print(&(found.json() + "\n")) } else { print_text(&found.text()) }
}

/// Checks before a long job that its results can be written and overwrite nothing else, and claims their files.
fn check_paths(args: &Cluster) -> Result<()> {
    let sources = data::sources(args.data.as_deref(), &args.reading);
    for (flag, path) in [("--out", &args.out), ("--model", &args.model)] {
        let Some(path) = path else { continue };
        sources.iter().try_for_each(|source| data::check_other_file(flag, path, source))?;
        if flag == "--model" { file::check_replaceable(path)? } else { file::check_writable(path)? }
    }
    match (&args.out, &args.model) {
        (Some(out), Some(model)) if file::is_same(out, model) => {
            bail!("--out and --model are both {}; give two different files", out.display())
        }
        (out, model) => stop::claim(out.iter().chain(model).map(|path| path.as_path())),
    }
}

fn table(rows: &Samples, clusters: &[usize], density: Option<&[f64]>) -> String {
    let ids = rows.ids();
    let first = ids.map_or("row".to_string(), |_| id_name(rows, &["cluster", "ln_density"]));
    let mut text = format!("{first},cluster");
    text += if density.is_some() { ",ln_density\n" } else { "\n" };
    for (i, cluster) in clusters.iter().enumerate() {
        text += &ids.map_or((i + 1).to_string(), |ids| quoted(&ids[i]));
        text += &format!(",{cluster}");
        text += &density.map_or(String::new(), |density| format!(",{}", number(density[i])));
        text.push('\n');
    }
    text
}
