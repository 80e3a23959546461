//! Whether a model predicts one class for all its training rows.

use std::time::Duration;

use crate::data::Target;
use crate::error::{Error, Result};
use crate::method::sample::sample;
use crate::run::{Control, Input, Predict, Rows, Task, first_largest};

/// Rows looked at first: where these have different labels, there is no more to do.
const FIRST: usize = 200;
/// Time allowed after a run was stopped.
const GRACE: Duration = Duration::from_millis(300);

/// The class a model predicts for every training row, although there are rows of others; `None` if labels differ, and if
/// memory or time does not suffice. Cost: scores of 200 rows, and of all rows where those have one label.
pub(super) fn one_class(task: &Task<'_>, model: &dyn Predict, control: &Control) -> Result<Option<usize>> {
    let present = task.labels.counts().iter().filter(|&&count| count > 0).count();
    if *task.target != Target::Classes || present < 2 || model.is_constant() {
        return Ok(None);
    }
    let few = sample(task.labels, FIRST);
    let found = only_label(&few, task, model, control);
    let found = match found {
        Ok(Some(_)) if few.len() < task.n_samples() => {
            only_label(&(0..task.n_samples()).collect::<Vec<_>>(), task, model, control)
        }
        found => found,
    };
    match found {
        Err(Error::Memory { .. } | Error::Stopped(_)) => Ok(None),
        found => found,
    }
}

/// The label of all these rows; `None` if there are several.
fn only_label(rows: &[usize], task: &Task<'_>, model: &dyn Predict, control: &Control) -> Result<Option<usize>> {
    let mut label = None;
    // In parts, so that a stop is answered and no large matrix is made.
    for part in rows.chunks(1000) {
        let scores = match task.input {
            Input::Stack(stack) => {
                let cross = stack.stopped_by(control.after(GRACE)).between(part, model.points())?;
                let cross = model.kernels().map_or(Ok(cross.clone()), |kernels| cross.pick(&kernels))?;
                model.scores(Input::Stack(&cross), task.pool)?
            }
            Input::Rows(all) => {
                let features = all.features().select_rows(part);
                model.scores(Input::Rows(&Rows::new(&features, None)), task.pool)?
            }
        };
        for row in scores.rows() {
            let found = first_largest(row);
            if label.is_some_and(|label| label != found) {
                return Ok(None);
            }
            label = Some(found);
        }
    }
    Ok(label)
}

#[cfg(test)]
mod tests {
    use crate::Plan;
    use crate::data::{Dataset, bundled};

    fn rows() -> Dataset {
        let data = bundled("ionosphere").unwrap();
        data.select(&(0..data.samples.n_samples()).step_by(2).collect::<Vec<_>>())
    }

    #[test]
    fn model_of_one_class_warns_also_once_it_is_loaded() {
        let model = Plan::new("svm").unwrap().set("c", "1e-6").unwrap().train(&rows()).unwrap();
        let predicted = model.predict(&rows().samples).unwrap();
        assert!(predicted.labels.iter().all(|&label| label == predicted.labels[0]), "the test needs such a model");
        let [warning] = &model.training().warnings()[..] else { panic!("{:?}", model.training().warnings()) };
        assert!(warning.starts_with("it predicts the class `good` for all 176 training rows"), "{warning}");
        let again = crate::Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert_eq!(again.training().warnings(), model.training().warnings());
    }

    #[test]
    fn model_of_two_classes_and_the_one_that_means_it_do_not_warn() {
        for method in ["svm", "majority"] {
            assert_eq!(Plan::new(method).unwrap().train(&rows()).unwrap().training().warnings(), Vec::<String>::new());
        }
    }
}
