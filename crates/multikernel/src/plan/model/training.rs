//! How a model was trained.

use std::collections::BTreeMap;

use super::header::Header;
use super::kept::Learned;
use super::kernels::ModelKernels;
use crate::file::Record;
use crate::plan::errors::StreamErrors;
use crate::plan::online::stored_errors;
use crate::plan::views::Missing;
use crate::run::{Compared, Explain};

/// How a [`Model`](super::Model) was trained, from [`Model::training`](super::Model::training): by which method, on
/// which data, and how the run went.
///
/// ```
/// use multikernel::{Plan, data::bundled};
/// let data = bundled("sonar")?;
/// let model = Plan::new("svm")?.set("c", "10")?.train(&data)?;
/// let training = model.training();
/// assert_eq!((training.method(), training.params()["c"].as_str()), ("svm", "10"));
/// assert_eq!((training.dataset(), training.n_samples()), ("sonar", 208));
/// assert!(training.is_finished() && training.warnings().is_empty());
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Training<'a> {
    pub(super) header: &'a Header,
    pub(super) learned: &'a Learned,
    pub(super) kernels: ModelKernels<'a>,
    pub(super) explain: &'a dyn Explain,
}

impl<'a> Training<'a> {
    /// The method's name.
    pub fn method(self) -> &'a str {
        &self.header.method
    }

    /// The parameters, as text.
    pub fn params(self) -> &'a BTreeMap<String, String> {
        &self.header.params
    }

    /// The seed of the run.
    pub fn seed(self) -> u64 {
        self.header.seed
    }

    /// The name of the training data.
    pub fn dataset(self) -> &'a str {
        &self.header.dataset
    }

    /// Number of training rows.
    pub fn n_samples(self) -> usize {
        self.header.n_samples
    }

    /// The fingerprint of the training data, as [`Dataset::fingerprint`](crate::data::Dataset::fingerprint) computes
    /// it.
    pub fn fingerprint(self) -> &'a str {
        &self.header.fingerprint
    }

    /// Whether the run finished.
    pub fn is_finished(self) -> bool {
        self.header.finished
    }

    /// How the run ended, as text.
    pub fn stop(self) -> &'a str {
        &self.header.stop
    }

    /// Steps of the run, including those before a resume; rows learned from a stream.
    pub fn steps(self) -> u64 {
        self.header.steps
    }

    /// Whether the model was learned from a stream, and can learn more: see
    /// [`Online::from_model`](crate::plan::Online::from_model).
    pub fn is_online(self) -> bool {
        self.learned.stream.is_some()
    }

    /// Which parameters that were `auto` were chosen, and from which values.
    pub fn chosen(self) -> Option<&'a str> {
        self.learned.tuned.as_deref()
    }

    /// What the method chose, for methods that choose, as names and values: also among [`Training::facts`].
    pub(crate) fn choices(self) -> Vec<(String, String)> {
        let told = self.explain.told();
        told.iter().filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.into(), value.into())).collect()
    }

    /// Lines on what the method chose, for methods that choose: also among [`Training::facts`].
    pub fn told(self) -> Vec<String> {
        self.explain.told()
    }

    /// What the method compared on inner folds, for methods that choose among candidates.
    pub fn compared(self) -> Option<&'a Compared> {
        self.explain.compared()
    }

    /// Warnings for the user, such as a solver that did not converge.
    pub fn warnings(self) -> Vec<String> {
        let mut warnings = self.explain.warnings();
        if let Some(class) = self.learned.one_class.and_then(|class| self.header.classes.get(class)) {
            let n = self.header.n_samples;
            warnings.push(format!(
                "it predicts the class `{class}` for all {n} training rows, as a model that knows nothing would; a larger c, \
                 other kernels or class weights may help"
            ));
        }
        warnings
    }

    /// The method's facts about the model: name and value.
    pub fn facts(self) -> Vec<(String, String)> {
        let mut facts = self.explain.facts();
        facts.extend(self.header.device.0.iter().map(|device| ("device".to_string(), device.clone())));
        facts.extend(self.learned.tuned.iter().map(|tuned| ("chosen".to_string(), tuned.clone())));
        facts.extend(self.kernels_of_classes());
        if let Some(stream) = &self.learned.stream {
            facts.push(("learned online".into(), told_of_stream(stream)));
        }
        let kept = self.kernels.kept;
        if kept.missing != Missing::Skip {
            facts.push(("missing views".into(), kept.missing.word().into()));
        }
        facts.extend(kept.preprocessor.notes().into_iter().map(|note| ("preprocessing".to_string(), note)));
        if self.learned.calibration.is_some() {
            facts.push(("probabilities".into(), "learned on inner folds".into()));
        }
        facts
    }

    /// The kernels with the largest weights for each class, where classes differ.
    fn kernels_of_classes(self) -> Vec<(String, String)> {
        let Some(weights) = self.kernels.class_weights() else { return vec![] };
        let names = self.kernels.names();
        let of_class = |(m, class): (usize, &String)| {
            let column = weights.column(m);
            let mut order: Vec<usize> = (0..column.len()).collect();
            order.sort_by(|&a, &b| column[b].total_cmp(&column[a]));
            let top = order.iter().take(3).map(|&f| format!("{} {:.4}", names[f], column[f])).collect::<Vec<_>>();
            (format!("kernels of {class}"), top.join(", "))
        };
        self.header.classes.iter().enumerate().map(of_class).collect()
    }
}

/// A summary of a stream.
fn told_of_stream(stream: &Record) -> String {
    let rows: u64 = stream.take("n_rows").unwrap_or(0);
    let right: u64 = stream.take("n_correct").unwrap_or(0);
    let errors = stored_errors(stream).unwrap_or_default();
    let every: u64 = stream.take("update_every").unwrap_or(0);
    let budget = match stream.take::<Option<u64>>("budget") {
        Ok(Some(budget)) => format!("at most {budget} points"),
        _ => "any number of points".into(),
    };
    let told = match errors.iter().map(StreamErrors::r2).collect::<Option<Vec<_>>>() {
        _ if errors.is_empty() => format!("{right} of them predicted right before they were learned"),
        Some(r2) => {
            let r2: Vec<String> = r2.iter().map(|r2| format!("{r2:.4}")).collect();
            format!("predicted with R2 {} before they were learned", r2.join(", "))
        }
        None => "all of the same number".into(),
    };
    format!("{rows} rows, {told}; {budget}, weights anew every {every} rows")
}
