//! Gram matrices you compute yourself, here of words: kernels on things that are not rows of numbers.
//! `cargo run --release --example grams`
use std::collections::BTreeMap;

use multikernel::data::{Dataset, Gram, Labels, Samples};
use multikernel::{Matrix, Plan, Result};

const ENGLISH: &str =
    "the house garden through although thought which weather spring summer bread water mountain light";
const GERMAN: &str = "das haus garten durch obwohl gedanke welche wetter herbst sommer brot wasser gebirge licht";
const NEW: [(&str, &str); 4] = [("thoughtful", "en"), ("wasserfall", "de"), ("gartenhaus", "de"), ("watering", "en")];

/// How often each substring of `length` letters occurs; the ends of a word count as letters.
fn runs(word: &str, length: usize) -> BTreeMap<Vec<char>, f64> {
    let letters: Vec<char> = format!("<{word}>").chars().collect();
    let mut counts = BTreeMap::new();
    letters.windows(length).for_each(|run| *counts.entry(run.to_vec()).or_default() += 1.0);
    counts
}

/// The spectrum kernel: the inner product of these counts, so positive semi-definite.
fn spectrum(a: &str, b: &str, length: usize) -> f64 {
    let b = runs(b, length);
    runs(a, length).iter().map(|(run, count)| count * b.get(run).unwrap_or(&0.0)).sum()
}

fn main() -> Result<()> {
    let words: Vec<&str> = ENGLISH.split(' ').chain(GERMAN.split(' ')).collect();
    let (n, n_english) = (words.len(), ENGLISH.split(' ').count());
    let labels: Vec<&str> = (0..n).map(|i| if i < n_english { "en" } else { "de" }).collect();

    // For training: each kernel among the training words, n x n.
    let square = |name, length| Gram::square(name, Matrix::from_fn(n, n, |i, j| spectrum(words[i], words[j], length)));
    let grams = vec![square("letters", 1)?, square("pairs", 2)?];
    let data = Dataset::new("words", Samples::of_grams(grams)?, Labels::new(&labels)?)?;
    let model = Plan::new("average")?.kernels("precomputed(letters), precomputed(pairs)")?.train(&data)?;
    for (kernel, share) in model.kernels().names().iter().zip(model.kernels().shares().unwrap_or_default()) {
        println!("{kernel}: {:.0} % of the decision", 100.0 * share);
    }

    // For prediction: each kernel between new words (rows) and training words, and k(x, x) of both.
    let cross = |name: &str, length| {
        let values = Matrix::from_fn(NEW.len(), n, |i, j| spectrum(NEW[i].0, words[j], length));
        let own = NEW.iter().map(|(word, _)| spectrum(word, word, length)).collect();
        let trained: Vec<f64> = words.iter().map(|word| spectrum(word, word, length)).collect();
        Gram::cross(name, values, Some(own), &trained)
    };
    let new = Samples::of_grams(vec![cross("letters", 1)?, cross("pairs", 2)?])?;
    for ((word, truth), class) in NEW.iter().zip(model.predict(&new)?.labels) {
        println!("{word}: {} (it is {truth})", model.classes()[class]);
    }
    Ok(())
}
