//! A kernel of your own, here on words, beside one on features. `cargo run --release --example own_kernel`
use std::collections::BTreeMap;

use multikernel::data::{Dataset, Gram, Labels, Samples};
use multikernel::{Matrix, Plan, Result};

const ENGLISH: &str =
    "the house garden through although thought which weather spring summer bread water mountain light";
const GERMAN: &str = "das haus garten durch obwohl gedanke welche wetter herbst sommer brot wasser gebirge licht";
const NEW: [(&str, &str); 4] = [("thoughtful", "en"), ("wasserfall", "de"), ("gartenhaus", "de"), ("watering", "en")];

/// How often each run of two letters occurs; the ends of a word count as letters.
fn pairs(word: &str) -> BTreeMap<[char; 2], f64> {
    let letters: Vec<char> = format!("<{word}>").chars().collect();
    let mut counts = BTreeMap::new();
    letters.windows(2).for_each(|pair| *counts.entry([pair[0], pair[1]]).or_default() += 1.0);
    counts
}

/// The spectrum kernel: the inner product of these counts, so positive semi-definite.
fn spectrum(a: &str, b: &str) -> f64 {
    let b = pairs(b);
    pairs(a).iter().map(|(pair, count)| count * b.get(pair).unwrap_or(&0.0)).sum()
}

/// Words as rows of one feature, their length, with their Gram matrix beside it.
fn samples(words: &[&str], gram: Gram) -> Result<Samples> {
    let lengths = words.iter().map(|word| word.len() as f64).collect();
    Samples::new(Matrix::from_vec(words.len(), 1, lengths)?, vec!["length".into()])?.with_grams(vec![gram])
}

fn main() -> Result<()> {
    let words: Vec<&str> = ENGLISH.split(' ').chain(GERMAN.split(' ')).collect();
    let (n, n_english) = (words.len(), ENGLISH.split(' ').count());
    let labels: Vec<&str> = (0..n).map(|i| if i < n_english { "en" } else { "de" }).collect();
    let gram = Gram::square("letters", Matrix::from_fn(n, n, |i, j| spectrum(words[i], words[j])))?;
    let data = Dataset::new("words", samples(&words, gram.clone())?, Labels::new(&labels)?)?;
    let model = Plan::new("average")?.kernels("precomputed(letters), gaussian(median) on [length]")?.train(&data)?;

    let new = NEW.map(|(word, _)| word);
    let values = Matrix::from_fn(new.len(), n, |i, j| spectrum(new[i], words[j]));
    let own = new.iter().map(|word| spectrum(word, word)).collect();
    let cross = Gram::cross("letters", values, Some(own), gram.diagonal())?;
    let predicted = model.predict(&samples(&new, cross)?)?.labels;
    for ((word, truth), class) in NEW.iter().zip(predicted) {
        println!("{word}: {} (it is {truth})", model.classes()[class]);
    }
    Ok(())
}
