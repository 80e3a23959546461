//! A method that samples, from training to the table of its draws.

use multikernel::data::bundled;
use multikernel::dist::gamma;
use multikernel::draws::{Draws, Variable};
use multikernel::plan::{Model, Plan, Registry};
use multikernel::report::{model_json, model_text};
use multikernel::run::{About, Control, Explain, Input, Method, Needs, Predict, Progress, State, Task};
use multikernel::{Matrix, Pool, Result, params, record};

const N_CHAINS: usize = 2;
const N_DRAWS: usize = 30;

params! {
    /// Draws kernel weights from their prior, and calls every row the first class.
    struct Lottery {}
}

record! {
    struct Lots { weights: Matrix, done: usize }
}

record! {
    struct Drawn { weights: Matrix, n_classes: usize }
}

impl Method for Lottery {
    type State = Lots;

    fn about(&self) -> About {
        let bank = "gaussian(1), polynomial(1..2)";
        About { name: "lottery", summary: "weights from their prior", needs: Needs::Pass, bank }
    }
}

impl State<Lottery> for Lots {
    type Model = Drawn;

    fn init(_: &Lottery, task: &Task<'_>) -> Result<Lots> {
        Ok(Lots { weights: Matrix::zeros(N_CHAINS * N_DRAWS, task.stack()?.n_kernels()), done: 0 })
    }

    fn step(&mut self, _: &Lottery, task: &Task<'_>, _: &Control) -> Result<Progress> {
        let mut rng = task.rng(self.done as u64, 0);
        let row = self.weights.row_mut(self.done);
        row.iter_mut().for_each(|weight| *weight = gamma(&mut rng, 1.0, 1.0));
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|weight| *weight /= sum);
        self.done += 1;
        Ok(Progress::of(self.done, N_CHAINS * N_DRAWS))
    }

    fn finish(self, _: &Lottery, task: &Task<'_>) -> Result<Drawn> {
        Ok(Drawn { weights: self.weights, n_classes: task.labels.n_classes() })
    }
}

impl Predict for Drawn {
    fn scores(&self, input: Input<'_>, _: &Pool) -> Result<Matrix> {
        Ok(Matrix::from_fn(input.n_samples(), self.n_classes, |_, c| -(c as f64)))
    }
}

impl Explain for Drawn {
    fn draws(&self) -> Option<Draws> {
        let variable = |name: &str, dimension: &str, coordinates: Vec<String>, values: Matrix| Variable {
            name: name.into(),
            dimension: Some(dimension.into()),
            coordinates,
            values,
            prior: Some((0.0253, 0.7764)),
        };
        let nu = Matrix::from_fn(self.weights.n_rows(), 1, |i, _| self.weights.get(i, 0).ln());
        let weights = variable("weights", "kernel", vec![], self.weights.clone());
        Draws::new(N_CHAINS, vec![weights, variable("log_nu", "class", vec!["1".into()], nu)]).ok()
    }

    fn warnings(&self) -> Vec<String> {
        self.draws().and_then(|draws| draws.verdict()).into_iter().collect()
    }
}

fn registry() -> Registry {
    Registry::standard().with(Lottery {})
}

fn model() -> Model {
    Plan::from_registry(&registry(), "lottery").unwrap().train(&bundled("sonar").unwrap()).unwrap()
}

#[test]
fn draws_have_the_names_of_kernels_and_classes_after_a_file_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.multikernel");
    let model = model();
    model.save(&path).unwrap();
    let draws = Model::load_with(&path, &registry()).unwrap().draws().unwrap();
    assert_eq!(Some(&draws), model.draws().as_ref());
    assert_eq!(draws.variables()[0].coordinates, ["gaussian(1)", "polynomial(1)", "polynomial(2)"]);
    // A method knows its classes by number.
    assert_eq!(draws.variables()[1].coordinates, [model.classes()[1].clone()]);
}

#[test]
fn inspect_shows_drawn_weights_once() {
    let model = model();
    let text = model_text(&model);
    assert!(text.contains("\nKernel weights, posterior from 2 chains of 30 draws; prior ["), "{text}");
    assert_eq!(text.matches("Kernel weights").count(), 1);
    assert!(text.contains(&format!("\nlog_nu[{}] ", model.classes()[1])), "{text}");
    let json: serde_json::Value = serde_json::from_str(&model_json(&model)).unwrap();
    let names: Vec<&str> =
        (0..3).map(|m| json["draws"]["variables"][0]["numbers"][m]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["gaussian(1)", "polynomial(1)", "polynomial(2)"]);
    let plain = Plan::new("average").unwrap().kernels("linear, gaussian(1)").unwrap();
    let plain = plain.train(&bundled("sonar").unwrap()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&model_json(&plain)).unwrap();
    assert!(json["draws"].is_null() && model_text(&plain).contains("\nKernel weights\nlinear "));
}

#[test]
fn draws_are_written_as_a_table_and_other_models_say_that_they_have_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("draws.csv");
    let model = model();
    model.save_draws(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let head = format!(
        "chain,draw,weights[gaussian(1)],weights[polynomial(1)],weights[polynomial(2)],log_nu[{}]",
        model.classes()[1]
    );
    assert_eq!(text.lines().next().unwrap(), head);
    assert_eq!(text.lines().count(), 1 + N_CHAINS * N_DRAWS);
    let draws = model.draws().unwrap();
    for (row, line) in text.lines().skip(1).enumerate() {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        assert_eq!((cells[0], cells[1]), ((row / N_DRAWS) as f64, (row % N_DRAWS) as f64));
        assert_eq!(&cells[2..5], draws.variables()[0].values.row(row));
    }
    let error = model.save_draws(&folder.path().join("draws.nc")).unwrap_err().to_string();
    assert!(
        error.ends_with("draws.nc: draws are written as .csv or .arrow, by the ending of the name; give one of these"),
        "{error}"
    );
    let majority = Plan::new("majority").unwrap().train(&bundled("sonar").unwrap()).unwrap();
    assert_eq!(
        majority.save_draws(&path).unwrap_err().to_string(),
        "the model has no draws: majority keeps none; train with bm3kl, which does"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}
