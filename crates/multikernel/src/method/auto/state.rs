//! The run: one candidate after the other on the inner folds, then the members that are kept.

use super::Auto;
use super::candidate::{Candidate, FEWEST_ROWS, Part, Rule};
use super::compare::{Gain, Tried, Verdict};
use super::landmarks;
use super::member::{As, Member, MemberModel, has_landmarks, is_beyond, trained};
use super::model::AutoModel;
use crate::data::Target;
use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::run::{Compared, Control, Progress, State, Status, Task};

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

    /// Takes what is kept; of rows that are too many for the machine the best alone.
    fn decide(&mut self, verdict: &Verdict, task: &Task<'_>) -> Result<()> {
        self.kept.clone_from(&verdict.kept);
        if is_beyond(task)? {
            self.kept.truncate(1);
        }
        self.members = vec![Member::default(); self.kept.len()];
        Ok(())
    }
}

impl State<Auto> for AutoState {
    type Model = AutoModel;

    fn init(auto: &Auto, task: &Task<'_>) -> Result<AutoState> {
        let candidates = Candidate::all(auto, task)?;
        if candidates.is_empty() {
            return Err(Error::input("there is no kernel to weigh"));
        }
        // Class weights that do not fit are refused now; landmarks have none.
        if !has_landmarks(auto, &candidates[0], task)? {
            let role = As { candidate: &candidates[0], c: 10.0, auto };
            Member::default().step(&role, task, &Control::default())?;
        }
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
            self.decide(&Verdict::of(&candidates, &self.tried, auto, task)?, task)?;
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
        let mut verdict = Verdict::of(&candidates, &self.tried, auto, task)?;
        if self.members.is_empty() {
            self.decide(&verdict, task)?;
        }
        let mut models = vec![];
        let mut maps = vec![];
        let lambda = self.members.first().and_then(Member::lambda);
        for (k, member) in std::mem::take(&mut self.members).into_iter().enumerate() {
            let model = member.finish(&self.role(k, &candidates, auto), task)?;
            // Logistic regression has probabilities of its own.
            if matches!(model, MemberModel::End(_)) {
                maps.extend(self.tried.get(self.kept[k]).and_then(|tried| tried.calibration.clone()));
            }
            models.push(model);
        }
        verdict.kept = self.kept;
        let compared = compared(&candidates, &self.tried, &verdict.kept, task)?;
        let best = verdict.kept.first().map_or(&candidates[0], |&k| &candidates[k]);
        let told = told(&compared, &verdict, &trained_on(best, lambda, auto, task)?, auto, task);
        AutoModel::new(models, maps, told, compared)
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

/// The candidates as they are called, with what inner folds found of them.
fn compared(candidates: &[Candidate], tried: &[Tried], kept: &[usize], task: &Task<'_>) -> Result<Compared> {
    let (n_banks, all) = (task.alternatives.len(), task.stack()?.kernels());
    let name = |(k, Candidate { bank, kernels, rule }): (usize, &Candidate)| {
        let unscaled = if kernels.iter().all(|&m| all[m].is_unscaled()) { " unscaled" } else { "" };
        let bank = if n_banks > 1 { format!("bank {}{unscaled}, ", bank + 1) } else { String::new() };
        let n = kernels.len();
        let c = match (tried.get(k), task.target) {
            (Some(tried), Target::Classes) => format!(", c = {}", tried.c),
            _ => String::new(),
        };
        format!("{} ({bank}{n} kernel{}{c})", rule.word(), if n == 1 { "" } else { "s" })
    };
    Ok(Compared {
        metric: Loss::of(task).name.into(),
        candidates: candidates.iter().enumerate().map(name).collect(),
        losses: (0..candidates.len()).map(|k| tried.get(k).map_or(f64::INFINITY, |tried| tried.loss)).collect(),
        kept: kept.to_vec(),
    })
}

/// What was done, in a few lines: name and value.
fn told(compared: &Compared, verdict: &Verdict, trained: &str, auto: &Auto, task: &Task<'_>) -> Vec<(String, String)> {
    let mut told = vec![("candidates".into(), candidates_are(compared, task))];
    let names = &compared.candidates;
    let kept: Vec<&str> = verdict.kept.iter().map(|&k| names[k].as_str()).collect();
    let kept = match kept.as_slice() {
        [first, second] => format!("the mean of the probabilities of {first} and {second}"),
        kept => kept.join(" and "),
    };
    let score = if verdict.loss.is_finite() {
        let (metric, loss) = (&compared.metric, verdict.loss);
        format!(
            ": {metric} {loss:.4} (optimistic, as the lowest was chosen; evaluate gives an honest score), trained again on"
        )
    } else {
        ", trained on".into()
    };
    told.push(("kept".into(), format!("{kept}{score} {trained}")));
    told.extend(verdict.gain.map(|gain| ("learned weights".into(), words(gain, compared))));
    let (n, all) = (Part::rows(auto, task).len(), task.n_samples());
    if n < all {
        let evenly = if *task.target == Target::Classes { ", evenly from each class" } else { "" };
        told.push(("chosen on".into(), format!("{n} of {all} rows{evenly}")));
    }
    told
}

/// The candidates with their losses, the best first.
fn candidates_are(Compared { metric, candidates, losses, .. }: &Compared, task: &Task<'_>) -> String {
    if task.n_samples() < FEWEST_ROWS {
        return format!("not compared: fewer than {FEWEST_ROWS} rows");
    }
    let mut order: Vec<usize> = (0..losses.len()).filter(|&k| losses[k].is_finite()).collect();
    if order.is_empty() {
        return "not compared: no inner folds were made".into();
    }
    order.sort_by(|&a, &b| losses[a].total_cmp(&losses[b]));
    let measured: Vec<String> = order.iter().map(|&k| format!("{} {:.4}", candidates[k], losses[k])).collect();
    let has_learned = candidates.iter().any(|name| name.starts_with(Rule::Evidence.word()));
    let rules = if has_learned { ". average has equal weights, the others learned ones" } else { "" };
    let banks = match task.alternatives.len() {
        0 | 1 => "",
        _ => "; banks are the alternatives of the kernels, A | B, in their order",
    };
    format!(
        "{} compared on rows that inner folds left out of training; {metric}, lower is better, best first: {}{rules}{banks}",
        order.len(),
        measured.join("; ")
    )
}

/// What the model that was kept is trained on: all rows, unless the kernel between them is too large.
fn trained_on(best: &Candidate, lambda: Option<f64>, auto: &Auto, task: &Task<'_>) -> Result<String> {
    let all = task.n_samples();
    let part = |n: usize| if n < all { format!("{n} of {all} rows") } else { format!("all {all} rows") };
    let why = "the kernel between all of them is too large";
    if has_landmarks(auto, best, task)? {
        let lambda = lambda.map_or(String::new(), |lambda| format!(", lambda = {lambda}"));
        let (n, landmarks) = (landmarks::rows(auto, best, task)?.len(), landmarks::n_landmarks(auto, task));
        return Ok(format!("{} with {landmarks} landmarks (mklr{lambda}): {why}", part(n)));
    }
    let n = trained(task)?.len();
    Ok(if n < all { format!("{}: {why}", part(n)) } else { part(n) })
}

/// What learned weights gained over uniform ones.
fn words(Gain { mean, half_width, uniform, learned }: Gain, Compared { metric, candidates, .. }: &Compared) -> String {
    let (low, high) = (mean - half_width, mean + half_width);
    let verdict = if low > 0.0 {
        "better than equal ones"
    } else if high < 0.0 {
        "worse than equal ones"
    } else {
        "not clearly different from equal ones"
    };
    // As a change of the loss: lower is better.
    format!(
        "{verdict}: from {} to {}, {metric} {:+.4}, 95 % interval [{:+.4}, {:+.4}]",
        candidates[uniform], candidates[learned], -mean, -high, -low
    )
}
