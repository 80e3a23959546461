//! A slow method of 1,000 random steps, to be killed and resumed: a kernel perceptron with random visits.
//! `crates/multikernel-cli/tests/kill.rs` does that to it twenty times, at random moments.
use std::time::Duration;

use multikernel::method::SvmModel;
use multikernel::plan::Registry;
use multikernel::run::{About, Allowed, Control, Method, Needs, Progress, State, Task};
use multikernel::{Matrix, Result, params, record};

params! {
    /// A kernel perceptron that takes its time.
    struct Slow {
        /// number of visits
        steps: usize = 1000, Allowed::Whole(1, 1_000_000);
        /// microseconds a visit rests
        pause: usize = 1000, Allowed::Whole(0, 1_000_000);
    }
}

record! {
    /// Perceptron coefficients and the position of the generator that picks rows.
    struct Visits { coef: Matrix, position: u64, done: usize }
}

impl Method for Slow {
    type State = Visits;

    fn about(&self) -> About {
        let summary = "kernel perceptron that takes its time, to test stopping and resuming";
        About { name: "slow", summary, needs: Needs::Stack, bank: "gaussian(median)" }
    }
}

impl State<Slow> for Visits {
    type Model = SvmModel;

    fn init(_: &Slow, task: &Task<'_>) -> Result<Visits> {
        Ok(Visits { coef: Matrix::zeros(task.n_samples(), task.labels.n_classes()), position: 0, done: 0 })
    }

    fn step(&mut self, method: &Slow, task: &Task<'_>, _: &Control) -> Result<Progress> {
        std::thread::sleep(Duration::from_micros(method.pause as u64));
        let mut rng = task.rng(0, self.position);
        let row = rng.below(task.n_samples());
        // A random rate makes every visit leave its own bits in the coefficients.
        let rate = 0.5 + rng.uniform();
        self.position = rng.position();
        let all: Vec<usize> = (0..task.n_samples()).collect();
        let kernel = task.stack()?.block(0, &[row], &all)?;
        for class in 0..task.labels.n_classes() {
            let sign = if task.labels.codes()[row] == class { 1.0 } else { -1.0 };
            let score: f64 = kernel.row(0).iter().zip(self.coef.column(class)).map(|(k, c)| k * c).sum();
            if sign * score < 1.0 {
                self.coef.set(row, class, self.coef.get(row, class) + sign * rate);
            }
        }
        self.done += 1;
        Ok(Progress::of(self.done, method.steps))
    }

    fn finish(self, _: &Slow, task: &Task<'_>) -> Result<SvmModel> {
        let n_kernels = task.stack()?.n_kernels();
        let weights = (0..n_kernels).map(|m| f64::from(u8::from(m == 0))).collect();
        Ok(SvmModel::one_vs_rest(weights, &self.coef, vec![0.0; task.labels.n_classes()]))
    }
}

fn main() -> std::process::ExitCode {
    multikernel_cli::main(Registry::standard().with(Slow::default()))
}
