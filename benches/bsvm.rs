//! Whether chains of `bsvm` agree at its defaults: R-hat and effective draws of width and amplitude over four seeds, on
//! all rows of sonar and ionosphere.
//!
//! ```text
//! cargo bench -p multikernel --bench bsvm -- [--warmup 50] [--sweeps 100]
//! ```

use std::error::Error;
use std::time::Instant;

use multikernel::Plan;
use multikernel::data::bundled;
use multikernel::draws::diagnose;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut settings = vec![];
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--warmup" | "--sweeps" => {
                settings.push((word[2..].to_string(), words.next().ok_or("a number is missing")?))
            }
            "--bench" => {}
            _ => return Err(format!("unknown word {word}").into()),
        }
    }
    for set in ["sonar", "ionosphere"] {
        agreement(set, &settings)?;
    }
    Ok(())
}

fn agreement(set: &str, settings: &[(String, String)]) -> Outcome<()> {
    let data = bundled(set)?;
    let mut chains: [Vec<Vec<f64>>; 2] = [vec![], vec![]];
    let start = Instant::now();
    for seed in 0..4 {
        // Neighbours too: thinned draws would hide how slowly a chain moves.
        let plan = Plan::new("bsvm")?.seed(seed).set("thin", "1")?;
        let plan = settings.iter().try_fold(plan, |plan, (name, value)| plan.set(name, value))?;
        let draws = plan.train(&data)?.draws().ok_or("no draws")?;
        for (chains, name) in chains.iter_mut().zip(["width", "amplitude"]) {
            chains.push(draws.chains(name, 0)?.concat().iter().map(|value| value.ln()).collect());
        }
    }
    println!("{set}: four chains in {:.1} s", start.elapsed().as_secs_f64());
    for (chains, name) in chains.iter().zip(["width", "amplitude"]) {
        let found = diagnose(chains);
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let halves = |chain: &Vec<f64>| {
            let (first, second) = chain.split_at(chain.len() / 2);
            format!("{:.2} {:.2}", mean(first), mean(second))
        };
        let halves: Vec<String> = chains.iter().map(halves).collect();
        let (r_hat, ess, n) = (found.r_hat, found.ess_bulk, chains.concat().len());
        println!(
            "  ln {name}: R-hat {r_hat:.3}, {ess:.0} effective of {n} draws, means of halves {}",
            halves.join(", ")
        );
    }
    Ok(())
}
