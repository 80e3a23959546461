//! `single` and `bestview`: the one kernel, or the one view, that does best in inner cross-validation.

use super::machine::SvmModel;
use super::svm::{self, SvmState};
use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::kernel::DEFAULT_BANK;
use crate::run::inner::{self, Deal, HeldOut, Want};
use crate::run::{About, Control, Method, Needs, Params, Progress, Silent, Status, Task};

/// C-SVC on the one kernel of the bank that classifies held-out rows best. What a careful user without MKL would do.
/// Cost: five SVMs for each kernel, then one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Single;

/// C-SVC on the uniform combination of the kernels of one view, the view that classifies held-out rows best. Whether more
/// than one view is worth having. A Gram matrix is a view of its own. Cost: five SVMs for each view, then one.
#[derive(Clone, Copy, Debug, Default)]
pub struct BestView;

/// A state of a choice: the held-out accuracy of the sets of kernels tried so far, then the SVM on the best.
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

/// C-SVC on given kernel weights: what is tried for each set.
struct Fixed(Vec<f64>);

impl Method for Fixed {
    type State = SvmState;
    type Model = SvmModel;

    fn about(&self) -> About {
        About { name: "svm", summary: "", needs: Needs::Pass, params: svm::COMMON_PARAMS, bank: DEFAULT_BANK }
    }

    fn init(&self, task: &Task<'_>, params: &Params) -> Result<SvmState> {
        SvmState::new(self.0.clone(), task, params)
    }

    fn step(&self, task: &Task<'_>, params: &Params, state: &mut SvmState, control: &Control) -> Result<Progress> {
        state.step(task, params, control)
    }

    fn finish(&self, task: &Task<'_>, params: &Params, state: SvmState) -> Result<SvmModel> {
        state.finish(task, params)
    }
}

/// Equal weights on some of the kernels.
fn weights(kernels: &[usize], n_kernels: usize) -> Vec<f64> {
    let mut weights = vec![0.0; n_kernels];
    kernels.iter().for_each(|&m| weights[m] = 1.0 / kernels.len() as f64);
    weights
}

impl Choosing {
    fn step(&mut self, sets: &[Vec<usize>], task: &Task<'_>, params: &Params, control: &Control) -> Result<Progress> {
        let (n_kernels, total) = (task.stack()?.n_kernels(), sets.len() + 1);
        if let Some(svm) = &mut self.svm {
            let progress = svm.step(task, params, control)?;
            let running = progress.status == Status::Running;
            return Ok(if running { Progress::of(sets.len(), total) } else { progress });
        }
        if let Some(set) = sets.get(self.accuracies.len()).filter(|_| sets.len() > 1) {
            let folds = inner::folds(task, Deal::Choose)?;
            let (fixed, params) = (Fixed(weights(set, n_kernels)), std::slice::from_ref(params));
            let held_out = HeldOut { want: Want::Scores, method: &fixed, task, folds: &folds, control };
            let scores = held_out.all(params, &mut Silent)?;
            self.accuracies.push(inner::accuracy(&scores[0], task.labels.codes()));
            return Ok(Progress::of(self.accuracies.len(), total).with("accuracy", self.best().1));
        }
        let set = sets.get(self.best().0).ok_or_else(|| Error::input("there is no kernel to choose"))?;
        self.svm = Some(SvmState::new(weights(set, n_kernels), task, params)?);
        Ok(Progress::of(sets.len(), total))
    }

    /// The first of the best, and its accuracy.
    fn best(&self) -> (usize, f64) {
        let all = || self.accuracies.iter().copied().enumerate();
        all().rev().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
    }

    fn finish(self, sets: &[Vec<usize>], task: &Task<'_>, params: &Params) -> Result<SvmModel> {
        let best = sets.get(self.best().0).map_or(&[][..], Vec::as_slice);
        let svm = match self.svm {
            Some(svm) => svm,
            None => SvmState::new(weights(best, task.stack()?.n_kernels()), task, params)?,
        };
        svm.finish(task, params)
    }

    fn check(&self, sets: &[Vec<usize>], task: &Task<'_>, params: &Params) -> Result<()> {
        if self.accuracies.len() > sets.len() {
            return Err(Error::input("the checkpoint's arrays do not fit the data; start anew"));
        }
        self.svm.as_ref().map_or(Ok(()), |svm| svm.check(task, params))
    }
}

fn single(task: &Task<'_>) -> Result<Vec<Vec<usize>>> {
    Ok((0..task.stack()?.n_kernels()).map(|m| vec![m]).collect())
}

fn views(task: &Task<'_>) -> Result<Vec<Vec<usize>>> {
    if task.views.is_empty() {
        return Err(Error::param(
            "method",
            "bestview chooses among views, and no kernel of the bank is on a single view; give data with views and kernels \
             on them (`each view`), or use the method single",
        ));
    }
    Ok(task.views.iter().map(|view| view.kernels.clone()).collect())
}

macro_rules! choosing {
    ($method:ident, $name:literal, $summary:literal, $sets:ident) => {
        impl Method for $method {
            type State = Choosing;
            type Model = SvmModel;

            fn about(&self) -> About {
                let (needs, params, bank) = (Needs::Stack, svm::COMMON_PARAMS, DEFAULT_BANK);
                About { name: $name, summary: $summary, needs, params, bank }
            }

            fn init(&self, task: &Task<'_>, _: &Params) -> Result<Choosing> {
                $sets(task)?;
                Ok(Choosing { accuracies: vec![], svm: None })
            }

            fn check(&self, task: &Task<'_>, params: &Params, state: &Choosing) -> Result<()> {
                state.check(&$sets(task)?, task, params)
            }

            fn step(
                &self,
                task: &Task<'_>,
                params: &Params,
                state: &mut Choosing,
                control: &Control,
            ) -> Result<Progress> {
                state.step(&$sets(task)?, task, params, control)
            }

            fn finish(&self, task: &Task<'_>, params: &Params, state: Choosing) -> Result<SvmModel> {
                state.finish(&$sets(task)?, task, params)
            }
        }
    };
}

choosing!(Single, "single", "SVM on the one kernel that does best in inner cross-validation", single);
choosing!(BestView, "bestview", "SVM on the kernels of the one view that does best in inner cross-validation", views);
