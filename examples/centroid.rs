//! A method of your own with the whole command line: the nearest class mean in the space of the average kernel.
//! `cargo run --release --example centroid -- evaluate ionosphere --method centroid,average` compares it;
//! `cargo test --release --example centroid` runs the conformance suite on it.
use multikernel::method::SvmModel;
use multikernel::plan::Registry;
use multikernel::run::{About, Control, Method, Needs, Progress, State, Task};
use multikernel::{Matrix, Result, params, record};

params! {
    /// The nearest class mean. Parameters would be fields here; it has none.
    struct Centroid {}
}

record! {
    /// Coefficients (n_train x n_classes) and biases of the classes done so far.
    struct Means { coef: Matrix, bias: Vec<f64>, done: usize }
}

fn weights(task: &Task<'_>) -> Result<Matrix> {
    let n_kernels = task.stack()?.n_kernels();
    Ok(Matrix::from_fn(n_kernels, 1, |_, _| 1.0 / n_kernels as f64))
}

impl Method for Centroid {
    type State = Means;

    fn about(&self) -> About {
        let summary = "nearest class mean in the space of the average kernel";
        About { name: "centroid", summary, needs: Needs::Stack, bank: "gaussian(median)" }
    }
}

impl State<Centroid> for Means {
    type Model = SvmModel;

    fn init(_: &Centroid, task: &Task<'_>) -> Result<Means> {
        let n_classes = task.labels.n_classes();
        Ok(Means { coef: Matrix::zeros(task.n_samples(), n_classes), bias: vec![f64::MIN; n_classes], done: 0 })
    }

    /// One class: f_c(x) = <phi(x), mean_c> - |mean_c|^2 / 2.
    fn step(&mut self, _: &Centroid, task: &Task<'_>, _: &Control) -> Result<Progress> {
        let class = self.done;
        let rows: Vec<usize> = (0..task.n_samples()).filter(|&i| task.labels.codes()[i] == class).collect();
        if !rows.is_empty() {
            rows.iter().for_each(|&i| self.coef.set(i, class, 1.0 / rows.len() as f64));
            let gram = task.stack()?.view(&rows)?.combine(&weights(task)?, task.pool)?.remove(0);
            self.bias[class] = -0.5 * gram.data().iter().sum::<f64>() / (rows.len() * rows.len()) as f64;
        }
        self.done += 1;
        Ok(Progress::of(self.done, self.bias.len()))
    }

    fn finish(self, _: &Centroid, task: &Task<'_>) -> Result<SvmModel> {
        Ok(SvmModel::one_vs_rest(weights(task)?.into_data(), &self.coef, self.bias))
    }
}

fn main() -> std::process::ExitCode {
    multikernel_cli::main(Registry::standard().with(Centroid::default()))
}

#[test]
fn centroid_passes_the_conformance_suite() {
    multikernel::testing::check_method(Centroid::default()).unwrap();
}
