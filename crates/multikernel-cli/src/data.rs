//! From arguments to data, plans and sessions.

use std::path::Path;

use anyhow::{Context, Result, bail};
use multikernel::data::{Dataset, Expect, Format, ReadOptions, Table, load};
use multikernel::file;
use multikernel::method::{Plan, Registry};
use multikernel::run::{Control, Observer};

use crate::args::{Limits, Planning, Reading};
use crate::say;

/// Reads rows; remarks of the reader go to the observer.
pub(crate) fn read(
    source: &str,
    reading: &Reading,
    expect: Option<Expect>,
    observer: &mut dyn Observer,
) -> Result<Table> {
    let mut options = ReadOptions::default();
    options.format = reading.format.as_deref().map(|format| match format {
        "libsvm" => Format::Libsvm,
        "tsv" => Format::Tsv,
        _ => Format::Csv,
    });
    options.header = reading.header.as_deref().map(|header| header == "yes");
    options.label = reading.label.clone();
    options.expect = expect;
    options.ignore = reading.ignore.clone();
    options.memory = memory(reading.memory.as_deref())?;
    let table = load(source, &options)?;
    for note in &table.notes {
        observer.note(&format!("{}: {note}", table.name));
    }
    Ok(table)
}

/// Refuses to write a result over the file it is made from.
pub(crate) fn check_other_file(flag: &str, path: &Path, source: &str) -> Result<()> {
    if Path::new(source).is_file() && file::is_same(path, Path::new(source)) {
        bail!("{flag} {} would overwrite what is read from it; give another file", path.display());
    }
    Ok(())
}

/// Reads labelled rows.
pub(crate) fn read_labelled(source: &str, reading: &Reading, observer: &mut dyn Observer) -> Result<Dataset> {
    Ok(read(source, reading, None, observer)?.into_dataset()?)
}

/// One plan per method. `--set key=value` goes to every method that has the key, `--set method.key=value` to one.
pub(crate) fn plans(methods: &[String], planning: &Planning, registry: &Registry) -> Result<Vec<Plan>> {
    let mut plans = vec![];
    for method in methods {
        let plan = Plan::from_registry(registry, method.trim())?.seed(planning.seed).scale(planning.scale.parse()?);
        let plan = plan.precision(planning.precision.parse()?);
        plans.push(match &planning.kernels {
            // A bank is an error only if no method works on kernels.
            Some(bank) if plan.uses_kernels() || methods.len() == 1 => plan.kernels(bank)?,
            _ => plan,
        });
    }
    if let (Some(bank), false) = (&planning.kernels, plans.iter().any(Plan::uses_kernels)) {
        plans[0].clone().kernels(bank)?;
    }
    for set in &planning.set {
        plans = apply(plans, set)?;
    }
    Ok(plans)
}

fn apply(plans: Vec<Plan>, set: &str) -> Result<Vec<Plan>> {
    let Some((key, value)) = set.split_once('=') else {
        bail!("--set {set}: must be KEY=VALUE, such as --set c=50");
    };
    let (method, key) = match key.trim().split_once('.') {
        Some((method, key)) => (Some(method), key),
        None => (None, key.trim()),
    };
    if let Some(method) = method.filter(|method| plans.iter().all(|plan| plan.name() != *method)) {
        bail!("--set {set}: the method {method} takes no part; name one given by --method");
    }
    let chosen = |plan: &Plan| method.is_none_or(|method| plan.name() == method);
    if !plans.iter().any(|plan| chosen(plan) && plan.params().has(key)) {
        // The method with the most parameters explains best what it knows.
        let wordy = plans.iter().filter(|plan| chosen(plan)).max_by_key(|plan| plan.params().to_texts().len());
        if let Some(plan) = wordy {
            plan.clone().set(key, value.trim()).with_context(|| format!("--set {set} (method {})", plan.name()))?;
        }
    }
    let set_one = |plan: Plan| -> Result<Plan> {
        if chosen(&plan) && plan.params().has(key) {
            let name = plan.name();
            plan.set(key, value.trim()).with_context(|| format!("--set {set} (method {name})"))
        } else {
            Ok(plan)
        }
    };
    plans.into_iter().map(set_one).collect()
}

/// The stop control of a job, with Ctrl-C connected: once to end with what was learned, twice to quit at once.
pub(crate) fn control(limits: &Limits) -> Result<Control> {
    let mut control = Control::default();
    if let Some(seconds) = limits.max_seconds {
        control = control.with_max_seconds(seconds)?;
    }
    let canceller = control.canceller();
    ctrlc::set_handler(move || {
        if canceller.is_cancelled() {
            std::process::exit(130);
        }
        canceller.cancel();
        say("\nstopping with what was learned so far; press Ctrl-C again to quit at once");
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(control)
}

/// The bytes data, and then kernels, may take: `--memory`, or most of what is free where the system tells.
pub(crate) fn memory(given: Option<&str>) -> Result<Option<u64>> {
    match given {
        Some(text) => match parse_size(text) {
            Some(bytes) => Ok(Some(bytes)),
            None => bail!("--memory {text}: must be a size such as 8GiB, 500MiB or 2GB"),
        },
        None => Ok(free_bytes().map(|free| free / 10 * 8)),
    }
}

fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let unit = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1u64,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    };
    let number: f64 = text[..digits].parse().ok()?;
    let bytes = number * unit as f64;
    (bytes >= 1.0 && bytes < u64::MAX as f64).then_some(bytes as u64)
}

fn free_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        let cases =
            [("8GiB", Some(8 << 30)), ("1.5 GiB", Some(3 << 29)), ("2GB", Some(2_000_000_000)), ("512", Some(512))];
        for (text, bytes) in cases.into_iter().chain([("GiB", None), ("-1GiB", None), ("5 apples", None), ("0", None)])
        {
            assert_eq!(parse_size(text), bytes, "{text}");
        }
    }
}
