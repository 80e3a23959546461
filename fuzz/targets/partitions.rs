//! Forged messages between a run and partitions of its rows, either way: an error, or a run that goes on.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use multikernel::data::Dataset;
use multikernel::file::{self, Kind, Record, forge::mutate};
use multikernel::plan::{Partitions, Session, answer};
use multikernel::run::Silent;
use multikernel::{Plan, Result};
use multikernel_fuzz::{plan, pool, sets};

/// Two halves of a set, which hear what they are asked and change one of their answers.
struct Halves<'a> {
    rows: [Dataset; 2],
    asked: Vec<[Vec<u8>; 2]>,
    forged: Option<(usize, &'a [u8])>,
}

impl Partitions for Halves<'_> {
    fn ask(&mut self, setup: &[u8], request: &[u8], take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let is_forged = self.forged.is_some_and(|(at, _)| at == self.asked.len());
        self.asked.push([setup.to_vec(), request.to_vec()]);
        for (number, rows) in self.rows.iter().enumerate() {
            let mut bytes = answer(setup, request, number, rows, pool())?;
            if let (true, 1, Some((_, mut choices))) = (is_forged, number, self.forged) {
                let mut record = parsed(&bytes);
                mutate(&mut choices, &mut record, "content");
                bytes = file::bytes(Kind::Partition, &record)?;
            }
            take(&bytes)?;
        }
        Ok(())
    }
}

fn parsed(bytes: &[u8]) -> Record {
    file::parse(Path::new("message"), bytes, Kind::Partition).expect("what was just written")
}

fn halves(data: &Dataset) -> Halves<'static> {
    let half = |first: usize| data.select(&(12 * first..12 * first + 12).collect::<Vec<_>>());
    Halves { rows: [half(0), half(1)], asked: vec![], forged: None }
}

struct Run {
    data: Dataset,
    plan: Plan,
    asked: Vec<[Vec<u8>; 2]>,
}

fn runs() -> Vec<Run> {
    let mut found = vec![];
    for (name, data) in sets().into_iter().filter(|(name, _)| ["two", "three", "numbers"].contains(name)) {
        for method in ["mklr", "svimkl"] {
            let set = |plan: Plan, name: &str, value: &str| plan.set(name, value).expect("a parameter");
            let plan = plan(method, name).kernels("gaussian(1), linear").expect("a bank");
            let plan = set(set(plan, "landmarks", "4"), "iterations", "3");
            let mut halves = halves(&data);
            plan.train_partitions("rows", &mut halves, &mut Session::new(pool(), &mut Silent)).expect("a model");
            found.push(Run { data: data.clone(), plan, asked: halves.asked });
        }
    }
    found
}

fuzz_target!(|bytes: &[u8]| {
    static RUNS: OnceLock<Vec<Run>> = OnceLock::new();
    let [pick, which, at, choices @ ..] = bytes else { return };
    let runs = RUNS.get_or_init(runs);
    let run = &runs[usize::from(*pick) % runs.len()];
    let (at, mut choices) = (usize::from(*at) % run.asked.len(), choices);
    let mut halves = halves(&run.data);
    if which & 1 == 0 {
        let mut message = run.asked[at].clone();
        let which = usize::from(which >> 1 & 1);
        if message[which].is_empty() {
            return;
        }
        let mut record = parsed(&message[which]);
        mutate(&mut choices, &mut record, "");
        let Ok(bytes) = file::bytes(Kind::Partition, &record) else { return };
        message[which] = bytes;
        let _ = answer(&message[0], &message[1], 0, &halves.rows[0], pool());
    } else {
        halves.forged = Some((at, choices));
        let _ = run.plan.train_partitions("rows", &mut halves, &mut Session::new(pool(), &mut Silent));
    }
});
