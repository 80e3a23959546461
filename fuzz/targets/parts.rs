//! Forged parts of an evaluation, as other machines send them: an error, or a table.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use multikernel::evaluate::{Protocol, SplitEvaluation};
use multikernel::file::{self, Kind, Record, forge::mutate};
use multikernel::plan::Session;
use multikernel::run::Silent;
use multikernel::{Plan, report};
use multikernel_fuzz::{plan, pool, sets};

struct Whole {
    data: multikernel::data::Dataset,
    plans: Vec<Plan>,
    records: Vec<Record>,
}

const PROTOCOL: Protocol = Protocol::Folds(2);

fn wholes() -> Vec<Whole> {
    let of = |(name, data)| {
        let method = if name == "times" { "evidence" } else { "average" };
        let plans = vec![plan(method, name), plan("evidence", name)];
        let cut = SplitEvaluation::new(&data, &plans, &PROTOCOL, 0).expect("an evaluation");
        let mut silent = Silent;
        let mut session = Session::new(pool(), &mut silent);
        let mut part = |(plan, split)| {
            let bytes = cut.run(plan, split, &mut session).expect("a part");
            file::parse(Path::new("part"), &bytes, Kind::Part).expect("what was just written")
        };
        let records = cut.parts().into_iter().map(&mut part).collect();
        Whole { data, plans, records }
    };
    sets().into_iter().filter(|(name, _)| ["two", "three", "numbers", "times"].contains(name)).map(of).collect()
}

fn cut(whole: &Whole) -> SplitEvaluation<'_> {
    SplitEvaluation::new(&whole.data, &whole.plans, &PROTOCOL, 0).expect("an evaluation")
}

fuzz_target!(|bytes: &[u8]| {
    static WHOLES: OnceLock<Vec<Whole>> = OnceLock::new();
    static CUTS: OnceLock<Vec<SplitEvaluation<'static>>> = OnceLock::new();
    let [pick, which, choices @ ..] = bytes else { return };
    let wholes = WHOLES.get_or_init(wholes);
    let cuts = CUTS.get_or_init(|| wholes.iter().map(cut).collect());
    let (whole, cut) = (&wholes[usize::from(*pick) % wholes.len()], &cuts[usize::from(*pick) % wholes.len()]);
    let mut records = whole.records.clone();
    let (which, mut choices) = (usize::from(*which) % records.len(), choices);
    mutate(&mut choices, &mut records[which], "");
    let parts: Result<Vec<Vec<u8>>, _> = records.iter().map(|record| file::bytes(Kind::Part, record)).collect();
    let Ok(parts) = parts else { return };
    if let Ok(found) = cut.join(&parts) {
        let _ = (report::evaluation_text(&found), report::evaluation_json(&found));
    }
});
