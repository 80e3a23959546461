//! The run: one candidate after the other on the inner folds, then the members that are kept.

use super::Auto;
use super::candidate::{Candidate, Part};
use super::compare::{Gain, Tried, Verdict};
use super::member::{As, Member, trained};
use super::model::AutoModel;
use crate::data::Target;
use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::run::{Control, Progress, State, Status, Task};

/// State of `auto`: what inner folds found of the candidates so far, and the members kept.
#[derive(Clone, Debug, Default)]
pub struct AutoState {
    tried: Vec<Tried>,
    kept: Vec<usize>,
    members: Vec<Member>,
    n_done: usize,
}

impl Codec for AutoState {
    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("n_tried", &self.tried.len());
        self.tried.iter().enumerate().for_each(|(k, tried)| record.put(&format!("tried.{k}"), tried));
        record.put("kept", &self.kept);
        self.members.iter().enumerate().for_each(|(k, member)| record.put(&format!("member.{k}"), member));
        record.put("n_done", &self.n_done);
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        let n_tried: usize = record.take("n_tried")?;
        let kept: Vec<usize> = record.take("kept")?;
        Ok(AutoState {
            tried: (0..n_tried).map(|k| record.take(&format!("tried.{k}"))).collect::<Result<_>>()?,
            members: (0..kept.len()).map(|k| record.take(&format!("member.{k}"))).collect::<Result<_>>()?,
            kept,
            n_done: record.take("n_done")?,
        })
    }
}

impl AutoState {
    /// What the member at this place is trained as.
    fn role<'a>(&self, place: usize, candidates: &'a [Candidate], auto: &'a Auto) -> As<'a> {
        let candidate = &candidates[self.kept[place]];
        As { candidate, c: self.tried.get(self.kept[place]).map_or(10.0, |tried| tried.c), auto }
    }

    fn decide(&mut self, verdict: &Verdict) {
        self.kept.clone_from(&verdict.kept);
        self.members = vec![Member::default(); self.kept.len()];
    }
}

impl State<Auto> for AutoState {
    type Model = AutoModel;

    fn init(auto: &Auto, task: &Task<'_>) -> Result<AutoState> {
        let candidates = Candidate::all(auto, task)?;
        if candidates.is_empty() {
            return Err(Error::input("there is no kernel to weigh"));
        }
        // Class weights that do not fit are refused now.
        let role = As { candidate: &candidates[0], c: 10.0, auto };
        Member::default().step(&role, task, &Control::default())?;
        Ok(AutoState::default())
    }

    fn check(&self, auto: &Auto, task: &Task<'_>) -> Result<()> {
        let candidates = Candidate::all(auto, task)?;
        let rows = Part::rows(auto, task).len();
        let shape = |tried: &Tried| [0, rows].contains(&tried.predicted.n_rows());
        let fits = self.tried.len() <= candidates.len()
            && self.kept.iter().all(|&k| k < candidates.len())
            && self.tried.iter().all(shape);
        if !fits {
            return Err(Error::input("the checkpoint's arrays do not fit the data; start anew"));
        }
        (0..self.members.len()).try_for_each(|k| self.members[k].check(&self.role(k, &candidates, auto), task))
    }

    fn step(&mut self, auto: &Auto, task: &Task<'_>, control: &Control) -> Result<Progress> {
        let candidates = Candidate::all(auto, task)?;
        let n = candidates.len();
        if let Some(candidate) = candidates.get(self.tried.len()) {
            self.tried.push(Tried::of(candidate, auto, task, control)?);
            let best = self.tried.iter().map(|tried| tried.loss).fold(f64::INFINITY, f64::min);
            return Ok(Progress::of(self.tried.len(), n + 1).with(Loss::of(task).name, best));
        }
        if self.members.is_empty() {
            self.decide(&Verdict::of(&candidates, &self.tried, auto, task)?);
            return Ok(Progress::of(n, n + self.members.len()));
        }
        let total = n + self.members.len();
        if self.n_done < self.members.len() {
            let role = self.role(self.n_done, &candidates, auto);
            let progress = self.members[self.n_done].step(&role, task, control)?;
            match progress.status {
                Status::Cancelled => return Ok(progress),
                Status::Finished => self.n_done += 1,
                Status::Running => {}
            }
        }
        Ok(Progress::of(n + self.n_done, total))
    }

    fn finish(mut self, auto: &Auto, task: &Task<'_>) -> Result<AutoModel> {
        let candidates = Candidate::all(auto, task)?;
        let verdict = Verdict::of(&candidates, &self.tried, auto, task)?;
        if self.members.is_empty() {
            self.decide(&verdict);
        }
        let mut models = vec![];
        let mut maps = vec![];
        for (k, member) in std::mem::take(&mut self.members).into_iter().enumerate() {
            maps.extend(self.tried.get(self.kept[k]).and_then(|tried| tried.calibration.clone()));
            models.push(member.finish(&self.role(k, &candidates, auto), task)?);
        }
        let told = told(&candidates, &self.tried, &verdict, auto, task)?;
        AutoModel::new(models, maps, told)
    }
}

/// How a loss is called.
struct Loss {
    name: &'static str,
}

impl Loss {
    fn of(task: &Task<'_>) -> Loss {
        Loss {
            name: match task.target {
                Target::Classes => "log-loss",
                Target::Numbers(_) => "squared error",
                Target::Times(_) => "minus log likelihood",
            },
        }
    }
}

/// What was done, in a few lines: name and value.
fn told(
    candidates: &[Candidate],
    tried: &[Tried],
    verdict: &Verdict,
    auto: &Auto,
    task: &Task<'_>,
) -> Result<Vec<(String, String)>> {
    let loss = Loss::of(task).name;
    let n_banks = task.alternatives.len();
    let name = |k: usize| {
        let Candidate { bank, kernels, rule } = &candidates[k];
        let bank = if n_banks > 1 { format!("bank {}, ", bank + 1) } else { String::new() };
        let n = kernels.len();
        let c = match (tried.get(k), task.target) {
            (Some(tried), Target::Classes) => format!(", c = {}", tried.c),
            _ => String::new(),
        };
        format!("{} ({bank}{n} kernel{}{c})", rule.word(), if n == 1 { "" } else { "s" })
    };
    let known = tried.iter().any(|tried| tried.loss.is_finite());
    let mut told = vec![];
    if known {
        let all: Vec<String> = (0..tried.len()).map(|k| format!("{} {:.4}", name(k), tried[k].loss)).collect();
        told.push(("candidates".into(), format!("held-out {loss} (inner, optimistic): {}", all.join("; "))));
    } else {
        told.push(("candidates".into(), "not compared: no inner folds were made".into()));
    }
    told.push((
        "kept".into(),
        match verdict.kept.as_slice() {
            [first, second] => format!(
                "the mean of the probabilities of {} and {}: {loss} {:.4} (inner, optimistic)",
                name(*first),
                name(*second),
                verdict.loss
            ),
            kept => kept.iter().map(|&k| name(k)).collect::<Vec<_>>().join(" and "),
        },
    ));
    told.extend(verdict.gain.map(|gain| ("learned weights".into(), words(gain, loss))));
    let (n, all) = (Part::rows(auto, task).len(), task.n_samples());
    if n < all {
        told.push((
            "chosen on".into(),
            format!("{n} of {all} rows, evenly from each class; weights were learned there too"),
        ));
    }
    let n = trained(task)?.len();
    if n < all {
        told.push(("trained on".into(), format!("{n} of {all} rows: the kernel between all of them is too large")));
    }
    Ok(told)
}

/// What learned weights gained over uniform ones.
fn words(Gain { mean, half_width }: Gain, loss: &str) -> String {
    let (low, high) = (mean - half_width, mean + half_width);
    let verdict = if low > 0.0 {
        "gained"
    } else if high < 0.0 {
        "lost"
    } else {
        "gained nothing that can be told from chance"
    };
    // As a change of the loss: lower is better.
    format!("{verdict}: {loss} {:+.4} [{:+.4}, {:+.4}] against uniform ones (inner, optimistic)", -mean, -high, -low)
}
