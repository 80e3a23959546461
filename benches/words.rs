//! Words of 20,000 short texts on one thread: megabytes per second of learning a vocabulary, and of applying it.
//!
//! `cargo bench -p multikernel --bench words`

use std::time::Instant;

use multikernel::data::{Column, Kind, Preprocessor, Recipe, samples_of_columns};
use multikernel::dist::Rng;
use multikernel::kernel::KernelBank;

fn main() -> multikernel::Result<()> {
    let mut rng = Rng::new(1, 0);
    // Words as frequent as in a language: the k-th is drawn about 1/k of the time.
    let mut word = || format!("word{}", (rng.uniform() * 10.0).exp() as usize);
    let texts: Vec<Option<String>> =
        (0..20_000).map(|_| Some((0..20).map(|_| word()).collect::<Vec<_>>().join(" "))).collect();
    let megabytes = texts.iter().flatten().map(String::len).sum::<usize>() as f64 / 1e6;
    let (samples, _) = samples_of_columns(vec![("t".into(), Column::Known(Kind::Text.into(), texts))])?;
    let bank: KernelBank = "linear on words(t)".parse()?;
    let encoded = bank.encoded(&samples)?;
    for _ in 0..3 {
        let start = Instant::now();
        let fitted = Preprocessor::fit_samples(&Recipe::default(), &samples, &encoded, false)?;
        let learned = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let rows = fitted.apply_samples(&samples)?;
        let applied = start.elapsed().as_secs_f64();
        println!(
            "{megabytes:.1} MB, {} words: learned at {:.0} MB/s, applied at {:.0} MB/s",
            rows.n_cols(),
            megabytes / learned,
            megabytes / applied
        );
    }
    Ok(())
}
