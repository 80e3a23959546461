//! `single` and `bestview`: the one kernel, or the one view, that does best in inner cross-validation.

use super::ends::EndState;
use super::machine::SvmModel;
use super::svc::{EndsInSvc, Svc, svc_params};
use super::svm::{FixedWeights, SvmState};
use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::kernel::DEFAULT_BANK;
use crate::run::inner::{self, Deal, HeldOut, Want};
use crate::run::{
    About, Control, Method, Needs, Param, Parameters, Params, Progress, Silent, State, Status, Task, Value,
};

svc_params! {
    /// C-SVC on the one kernel of the bank that classifies held-out rows best. This is what a careful user without MKL
    /// would do. Cost: five SVMs for each kernel, then one.
    pub struct Single {}
}

svc_params! {
    /// C-SVC on the uniform combination of the kernels of one view, the view that classifies held-out rows best. Shows
    /// whether more than one view is worth having. A Gram matrix is a view of its own. Cost: five SVMs for each view,
    /// then one.
    pub struct BestView {}
}

/// State of a choice: the held-out accuracy of the kernel sets tried so far, then the SVM on the best.
#[derive(Clone, Debug)]
pub struct Choosing {
    accuracies: Vec<f64>,
    svm: Option<SvmState>,
}

impl Codec for Choosing {
    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("accuracies", &self.accuracies);
        record.put("chosen", &self.svm.is_some());
        if let Some(svm) = &self.svm {
            record.put_record("svm", svm.encode());
        }
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        let chosen: bool = record.take("chosen")?;
        let svm = if chosen { Some(SvmState::decode(&record.take_record("svm"))?) } else { None };
        Ok(Choosing { accuracies: record.take("accuracies")?, svm })
    }
}

/// C-SVC on given kernel weights, trained for each candidate set. It has no parameters of its own.
#[derive(Clone)]
struct Fixed {
    weights: Vec<f64>,
    svc: Svc,
}

impl Parameters for Fixed {
    fn params() -> &'static [Param] {
        &[]
    }

    fn value(&self, _: &str) -> Option<Value> {
        None
    }

    fn assign(&mut self, _: &str, _: &Value) -> bool {
        false
    }
}

impl Method for Fixed {
    type State = EndState;

    fn about(&self) -> About {
        About { name: "svm", summary: "", needs: Needs::Pass, bank: DEFAULT_BANK }
    }
}

impl EndsInSvc for Fixed {
    fn svc(&self) -> Svc {
        self.svc.clone()
    }
}

impl FixedWeights for Fixed {
    fn weights(&self, _: &Task<'_>) -> Result<Vec<f64>> {
        Ok(self.weights.clone())
    }
}

/// A method that tries several sets of kernels and keeps the best.
pub trait Choice: EndsInSvc {
    /// The candidate sets.
    fn sets(&self, task: &Task<'_>) -> Result<Vec<Vec<usize>>>;
}

/// Equal weights on the given kernels, zero on the others.
fn weights(kernels: &[usize], n_kernels: usize) -> Vec<f64> {
    let mut weights = vec![0.0; n_kernels];
    kernels.iter().for_each(|&m| weights[m] = 1.0 / kernels.len() as f64);
    weights
}

impl Choosing {
    /// The best set (the first of equals) and its accuracy.
    fn best(&self) -> (usize, f64) {
        let all = || self.accuracies.iter().copied().enumerate();
        all().rev().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
    }
}

impl<M: Choice> State<M> for Choosing {
    type Model = SvmModel;

    fn init(method: &M, task: &Task<'_>) -> Result<Choosing> {
        method.sets(task)?;
        Ok(Choosing { accuracies: vec![], svm: None })
    }

    fn check(&self, method: &M, task: &Task<'_>) -> Result<()> {
        if self.accuracies.len() > method.sets(task)?.len() {
            return Err(Error::input("the checkpoint's arrays do not fit the data; start anew"));
        }
        self.svm.as_ref().map_or(Ok(()), |svm| svm.fits(task, &method.svc()))
    }

    fn step(&mut self, method: &M, task: &Task<'_>, control: &Control) -> Result<Progress> {
        let (sets, svc) = (method.sets(task)?, method.svc());
        let (n_kernels, total) = (task.stack()?.n_kernels(), sets.len() + 1);
        if let Some(svm) = &mut self.svm {
            let progress = svm.advance(task, &svc, control)?;
            let running = progress.status == Status::Running;
            return Ok(if running { Progress::of(sets.len(), total) } else { progress });
        }
        if let Some(set) = sets.get(self.accuracies.len()).filter(|_| sets.len() > 1) {
            let folds = inner::folds(task, Deal::Choose)?;
            let fixed = Params::new(Box::new(Fixed { weights: weights(set, n_kernels), svc }))?;
            let held_out = HeldOut { want: Want::Scores, task, folds: &folds, control };
            let scores = held_out.all(std::slice::from_ref(&fixed), &mut Silent)?;
            self.accuracies.push(inner::accuracy(&scores[0], task.labels.codes()));
            return Ok(Progress::of(self.accuracies.len(), total).with("accuracy", self.best().1));
        }
        let set = sets.get(self.best().0).ok_or_else(|| Error::input("there is no kernel to choose"))?;
        self.svm = Some(SvmState::new(weights(set, n_kernels), task, &svc)?);
        Ok(Progress::of(sets.len(), total))
    }

    fn finish(self, method: &M, task: &Task<'_>) -> Result<SvmModel> {
        let (sets, svc) = (method.sets(task)?, method.svc());
        let best = sets.get(self.best().0).map_or(&[][..], Vec::as_slice);
        let svm = match self.svm {
            Some(svm) => svm,
            None => SvmState::new(weights(best, task.stack()?.n_kernels()), task, &svc)?,
        };
        svm.model(task, &svc)
    }
}

impl Method for Single {
    type State = Choosing;

    fn about(&self) -> About {
        let summary = "SVM on the one kernel that does best in inner cross-validation";
        About { name: "single", summary, needs: Needs::Stack, bank: DEFAULT_BANK }
    }

    fn tunes_by_log_loss(&self) -> bool {
        true
    }
}

impl Choice for Single {
    fn sets(&self, task: &Task<'_>) -> Result<Vec<Vec<usize>>> {
        Ok((0..task.stack()?.n_kernels()).map(|m| vec![m]).collect())
    }
}

impl Method for BestView {
    type State = Choosing;

    fn about(&self) -> About {
        let summary = "SVM on the kernels of the one view that does best in inner cross-validation";
        About { name: "bestview", summary, needs: Needs::Stack, bank: DEFAULT_BANK }
    }

    fn tunes_by_log_loss(&self) -> bool {
        true
    }
}

impl Choice for BestView {
    fn sets(&self, task: &Task<'_>) -> Result<Vec<Vec<usize>>> {
        if task.views.is_empty() {
            return Err(Error::param(
                "method",
                "bestview chooses among views, and no kernel of the bank is on a single view; give data with views and kernels \
                 on them (`each view`), or use the method single",
            ));
        }
        Ok(task.views.iter().map(|view| view.kernels.clone()).collect())
    }
}
