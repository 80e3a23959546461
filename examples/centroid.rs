//! A custom method with the whole command line: the nearest class mean in the space of the average kernel.
//! `cargo run --release --example centroid -- evaluate ionosphere --method centroid,average` compares it;
//! `cargo test --release --example centroid` runs the conformance suite on it.
#[cfg(test)]
use multikernel::data::{Dataset, Labels, Samples, Scale};
use multikernel::method::SvmModel;
#[cfg(test)]
use multikernel::plan::Plan;
use multikernel::plan::Registry;
use multikernel::run::{About, Allowed, Control, Method, Needs, Progress, State, Task};
use multikernel::{Matrix, Result, params, record};

params! {
    /// The nearest class mean.
    struct Centroid {
        /// how far class means are drawn towards the mean of all rows: 0 is not at all, 0.9 nearly all the way
        shrink: f64 = 0.0, Allowed::Number(0.0, 0.9);
    }
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
    fn step(&mut self, method: &Centroid, task: &Task<'_>, _: &Control) -> Result<Progress> {
        let (class, n, codes) = (self.done, task.n_samples() as f64, task.labels.codes());
        let size = codes.iter().filter(|&&code| code == class).count() as f64;
        if size > 0.0 {
            let own = |i: usize| if codes[i] == class { (1.0 - method.shrink) / size } else { 0.0 };
            (0..codes.len()).for_each(|i| self.coef.set(i, class, own(i) + method.shrink / n));
            let gram = task.stack()?.combine(&weights(task)?, task.pool)?.remove(0);
            let mean = self.coef.column(class);
            let score = |i: usize| gram.row(i).iter().zip(&mean).map(|(k, c)| k * c).sum::<f64>();
            self.bias[class] = -0.5 * (0..mean.len()).map(|i| mean[i] * score(i)).sum::<f64>();
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

#[test]
fn linear_kernel_gives_the_nearest_class_mean() -> Result<()> {
    let rows = Matrix::from_vec(5, 2, vec![0.0, 0.0, 2.0, 1.0, 1.0, 2.0, 6.0, 5.0, 8.0, 9.0])?;
    let labels = Labels::new(&["a", "a", "a", "b", "b"])?;
    let data = Dataset::new("clouds", Samples::unnamed(rows)?, labels)?;
    let plan = Plan::of(Centroid { shrink: 0.5 })?.kernels("linear raw")?.scale(Scale::None);
    let new = Matrix::from_fn(40, 2, |i, j| (7 * i % (11 + j)) as f64);
    let predicted = plan.train(&data)?.predict(&Samples::unnamed(new.clone())?)?;
    // Halfway from the class means (1, 1) and (7, 7) to the mean of all rows, (3.4, 3.4).
    let apart = |x: &[f64], mean: f64| (x[0] - mean).powi(2) + (x[1] - mean).powi(2);
    let nearest: Vec<usize> = new.rows().map(|x| usize::from(apart(x, 5.2) < apart(x, 2.2))).collect();
    assert_eq!(predicted.labels, nearest);
    Ok(())
}
