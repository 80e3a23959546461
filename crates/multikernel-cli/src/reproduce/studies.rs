//! Accuracy by a parameter: figures 3 to 8 of Xia and Hoi (2013), and figure 4 of Du et al. (2016), whose values are not
//! printed.

use super::mkboost::{self, BANK};
use super::show::STUDY;
use super::table::{Entry, Reproducible, Split, TablePart};

pub(super) const TRIALS: Reproducible = Reproducible {
    name: "mkboost-trials",
    summary: "Xia and Hoi 2013, figures 3 and 4: accuracy and seconds of MKBoost by the number of trials",
    sets: mkboost::TABLE.sets,
    parts: trials_parts,
    layout: STUDY,
};

pub(super) const SAMPLING: Reproducible = Reproducible {
    name: "mkboost-sampling",
    summary: "Xia and Hoi 2013, figures 5 and 6: accuracy and seconds of MKBoost by the share of rows drawn for a trial",
    sets: mkboost::TABLE.sets,
    parts: sampling_parts,
    layout: STUDY,
};

pub(super) const DECAY: Reproducible = Reproducible {
    name: "mkboost-decay",
    summary: "Xia and Hoi 2013, figures 7 and 8: accuracy and seconds of stochastic MKBoost by its decay factor",
    sets: mkboost::TABLE.sets,
    parts: decay_parts,
    layout: STUDY,
};

pub(super) const SWEEPS: Reproducible = Reproducible {
    name: "bm3kl-sweeps",
    summary: "Du et al. 2016, figure 4: accuracy of the single draw after some sweeps, published and collapsed sampler",
    sets: &["sonar", "ionosphere", "wisconsin", "crabs"],
    parts: sweeps_parts,
    layout: STUDY,
};

type Settings = &'static [(&'static str, &'static str)];

const BOOSTS: [&str; 4] = ["mkboost-d1", "mkboost-d2", "mkboost-s1", "mkboost-s2"];

/// 20 to 200 in the paper, 100 where nothing is said.
const N_TRIALS: [Settings; 6] = [
    &[("trials", "20")],
    &[("trials", "50")],
    &[("trials", "80")],
    &[("trials", "100")],
    &[("trials", "150")],
    &[("trials", "200")],
];

/// .05 to .5 in the paper, .2 where nothing is said.
const RATIOS: [Settings; 6] = [
    &[("ratio", "0.05")],
    &[("ratio", "0.1")],
    &[("ratio", "0.2")],
    &[("ratio", "0.3")],
    &[("ratio", "0.4")],
    &[("ratio", "0.5")],
];

/// Powers of two up to 1, where every kernel is always drawn; 2^-5 where nothing is said.
const DECAYS: [Settings; 6] = [
    &[("decay", "0.0009765625")],
    &[("decay", "0.0078125")],
    &[("decay", "0.03125")],
    &[("decay", "0.125")],
    &[("decay", "0.5")],
    &[("decay", "1")],
];

fn part(entries: Vec<Entry>) -> Vec<TablePart> {
    vec![TablePart::halves("17 kernels", |_, _| BANK.into(), entries)]
}

/// Every method with every setting.
fn crossed(methods: &[&'static str], settings: &[Settings]) -> Vec<Entry> {
    methods.iter().flat_map(|method| settings.iter().map(|settings| Entry::new(method, settings))).collect()
}

fn trials_parts(_: &str) -> Vec<TablePart> {
    part(crossed(&BOOSTS, &N_TRIALS))
}

fn sampling_parts(_: &str) -> Vec<TablePart> {
    part(crossed(&BOOSTS, &RATIOS))
}

/// The deterministic variants are what a decay of 1 comes to.
fn decay_parts(_: &str) -> Vec<TablePart> {
    let mut entries = vec![Entry::new("mkboost-d1", &[]), Entry::new("mkboost-d2", &[])];
    entries.extend(crossed(&BOOSTS[2..], &DECAYS));
    part(entries)
}

/// One chain whose last sweep alone is kept, so that a prefix of the same chain is seen at every point; the step of the
/// published sampler as in table 2.
macro_rules! sweeps {
    ($($warmup:literal),*) => {
        (
            [$(&[("sampler", "collapsed"), ("chains", "1"), ("draws", "1"), ("warmup", $warmup)] as Settings),*],
            [$(&[("prior", "paper"), ("sampler", "paper"), ("gamma0", "100"), ("epsilon", "0.01"), ("chains", "1"),
                 ("draws", "1"), ("warmup", $warmup)] as Settings),*],
            [$(&[("prior", "paper"), ("sampler", "paper"), ("gamma0", "100"), ("epsilon", "0.1"), ("chains", "1"),
                 ("draws", "1"), ("warmup", $warmup)] as Settings),*],
        )
    };
}

fn sweeps_parts(set: &str) -> Vec<TablePart> {
    let (collapsed, published, published_sonar) = sweeps!("1", "2", "5", "10", "20", "50", "100", "200");
    let mut entries = crossed(&["bm3kl"], if set == "sonar" { &published_sonar } else { &published });
    entries.extend(crossed(&["bm3kl"], &collapsed));
    let kernels: fn(usize, u64) -> String = |_, _| "gaussian(2^-6..2^6), polynomial(1..3)".into();
    vec![TablePart {
        bank: "16 kernels",
        kernels: Some(kernels),
        split: Split::Folds(10),
        n_seeds: 1,
        proba: false,
        entries,
    }]
}
