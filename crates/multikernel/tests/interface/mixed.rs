//! Tables of several kinds, from the file to the prediction: what is learned comes from training rows alone.

use multikernel::data::{
    Column, Dataset, Kind, Labels, Preprocessor, ReadOptions, Recipe, Samples, View, read_from, samples_of_columns,
};
use multikernel::dist::Rng;
use multikernel::evaluate::ablations;
use multikernel::kernel::KernelBank;
use multikernel::{Model, Plan};

/// A table of all kinds, whose classes follow from each of them.
fn table(n: usize, seed: u64) -> String {
    let mut rng = Rng::new(seed, 0);
    let mut text = String::from("age,sex,smoker,stage,day,note,dna,y\n");
    for i in 0..n {
        let is_first = i % 2 == 0;
        let mut pick = |words: [&str; 2]| {
            let likely = rng.uniform() < 0.8;
            words[usize::from(is_first != likely)].to_string()
        };
        let note = pick(["the patient feels very well today", "severe pain in the left arm again"]);
        let dna = pick(["ACGTACGTTTGACA", "GGGCCCATATATCG"]);
        let (sex, smoker) = (pick(["f", "m"]), pick(["no", "yes"]));
        let stage = ["low", "medium", "high"][(rng.uniform() * 3.0) as usize];
        let age = 40.0 + 10.0 * rng.uniform() + if is_first { 0.0 } else { 5.0 };
        let day = 1 + (rng.uniform() * 28.0) as usize;
        let label = if is_first { "a" } else { "b" };
        text += &format!("{age:.1},{sex},{smoker},{stage},2021-03-{day:02},{note} {i},{dna},{label}\n");
    }
    text
}

fn options() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.kinds = vec![("stage".into(), Kind::Ordered.into()), ("note".into(), Kind::Text.into())];
    options
}

fn read(text: &str) -> Dataset {
    read_from(text.as_bytes(), "t.csv", &options()).unwrap().into_dataset().unwrap()
}

#[test]
fn every_kind_is_found_and_a_model_of_all_of_them_comes_back_from_its_file() {
    let data = read(&table(80, 1));
    let kinds: Vec<Kind> = (0..7).map(|j| data.samples.kind(j)).collect();
    assert_eq!(
        kinds,
        [Kind::Number, Kind::Category, Kind::YesNo, Kind::Ordered, Kind::Date, Kind::Text, Kind::Sequence]
    );
    let bank = "gaussian(median) on numbers, overlap, clinical, linear on words(note), linear on chars(note; 3..4), \
                spectrum(3) on [dna] revcomp, mismatch(3, 1), gapped(4, 2), degree(3; shift=1), \
                linear on period(day; week), gaussian(1) each on [age, sex]";
    for plan in [Plan::new("average").unwrap(), Plan::new("average").unwrap().kernels(bank).unwrap()] {
        let model = plan.train(&data).unwrap();
        let bytes = model.to_bytes().unwrap();
        let loaded = Model::from_bytes(&bytes).unwrap();
        assert_eq!(loaded.to_bytes().unwrap(), bytes);
        let new =
            read_from(table(30, 2).as_bytes(), "n.csv", &ReadOptions::expecting(loaded.input().expect())).unwrap();
        let found = loaded.predict(&new.samples).unwrap();
        assert_eq!(found, model.predict(&new.samples).unwrap());
        let right =
            found.labels.iter().zip(new.labels.unwrap()).filter(|(code, label)| loaded.classes()[**code] == *label);
        assert!(right.count() >= 24);
    }
}

#[test]
fn kernels_on_words_and_sequences_belong_to_the_view_of_their_column() {
    let data = read(&table(60, 3));
    let views = [("clin", 0..5), ("text", 5..6), ("seq", 6..7)];
    let views = views.map(|(name, columns)| View { name: name.into(), columns }).to_vec();
    let data = Dataset { samples: data.samples.clone().with_views(views).unwrap(), ..data };
    let bank =
        "gaussian(1) on clin, linear on clin, linear on words(note), linear on chars(note; 2), spectrum(2) on [dna]";
    let plan = Plan::new("average").unwrap().kernels(bank).unwrap();
    let model = plan.train(&data).unwrap();
    let by_view = model.kernels().by_view().iter().map(|view| format!("{} {:?}", view.name, view.kernels));
    assert_eq!(by_view.collect::<Vec<_>>(), ["clin [0, 1]", "text [2, 3]", "seq [4]"]);
    let parts = ablations(&plan, &data.samples).unwrap();
    for (part, n_kernels) in
        [("without clin", 3), ("without text", 3), ("without seq", 4), ("only text", 2), ("only seq", 1)]
    {
        let plan = parts.iter().find(|plan| plan.title().contains(part)).unwrap();
        assert_eq!(plan.train(&data).unwrap().kernels().names().len(), n_kernels, "{part}");
    }
}

#[test]
fn names_of_kernels_say_what_they_take() {
    let data = read(&table(40, 1));
    let bank = "overlap, spectrum(3..4) on [dna], linear on words(note; 1..2), gaussian(2) on numbers, linear on [sex]";
    let model = Plan::new("average").unwrap().kernels(bank).unwrap().train(&data).unwrap();
    assert_eq!(
        model.kernels().names(),
        [
            "overlap",
            "spectrum(3) on [dna]",
            "spectrum(4) on [dna]",
            "linear on words(note; 1..2)",
            "gaussian(2) on numbers",
            "linear on [sex]"
        ]
    );
    assert_eq!(model.kernels().bank(), Some(bank));
}

#[test]
fn banks_of_encodings_print_as_they_are_written() {
    for text in [
        "overlap each on [a, \"b c\"]",
        "mismatch(5, 1) on dna revcomp",
        "degree(6; shift=2) on sequences centred",
        "gaussian(median) on words(\"my (note)\"; 1..2)",
        "linear on chars(t; 3..5) raw",
        "clinical on clin",
        "spectrum(3..6)",
    ] {
        assert_eq!(text.parse::<KernelBank>().unwrap().to_string(), text);
    }
    for (text, part) in [
        ("spectrum", "expected `(`"),
        ("mismatch(5)", "letters and mismatches"),
        ("mismatch(3, 9)", "mismatches must lie"),
        ("degree(4) revcomp", "positions have no reverse"),
        ("overlap on words(a)", "takes features of its own"),
        ("linear on words()", "the name of a column"),
        ("linear on period(a)", "year, week or day"),
        ("linear revcomp", "revcomp"),
        ("overlapp", "did you mean overlap?"),
    ] {
        let message = text.parse::<KernelBank>().unwrap_err().to_string();
        assert!(message.contains(part), "{text}: {message}");
    }
}

/// The kernel values of a bank between the rows of a table, unscaled.
fn features(samples: &Samples, bank: &str) -> Vec<Vec<f64>> {
    let bank: KernelBank = bank.parse().unwrap();
    let fitted = Preprocessor::fit_samples(&Recipe::default(), samples, &bank.encoded(samples).unwrap(), true).unwrap();
    let rows = fitted.apply_samples(samples).unwrap().to_dense().unwrap().into_owned();
    let block = fitted.layout().unwrap().blocks[0].1.clone();
    (0..rows.n_rows()).map(|i| rows.row(i)[block.clone()].to_vec()).collect()
}

#[test]
fn overlap_and_clinical_are_means_over_columns() {
    let data = read(&table(30, 3));
    let samples = &data.samples;
    let of = features(samples, "overlap on [sex, note, dna]".replace(", note, dna", ", smoker, stage").as_str());
    let clinical = features(samples, "clinical on [age, sex, stage]");
    let rows = samples.features().to_dense().unwrap().into_owned();
    let ages: Vec<f64> = rows.column(0);
    let range = ages.iter().copied().fold(f64::MIN, f64::max) - ages.iter().copied().fold(f64::MAX, f64::min);
    for i in 0..30 {
        for j in 0..30 {
            let same = |column: usize| if rows.get(i, column) == rows.get(j, column) { 1.0 } else { 0.0 };
            let product: f64 = of[i].iter().zip(&of[j]).map(|(a, b)| a * b).sum();
            assert!((product - (same(1) + same(2) + same(3)) / 3.0).abs() < 1e-12);
            let near = |column: usize, range: f64| 1.0 - (rows.get(i, column) - rows.get(j, column)).abs() / range;
            let distance: f64 = clinical[i].iter().zip(&clinical[j]).map(|(a, b)| (a - b).abs()).sum();
            assert!((1.0 - distance - (near(0, range) + same(1) + near(3, 2.0)) / 3.0).abs() < 1e-12);
        }
    }
}

#[test]
fn words_are_weighted_as_documented() {
    let texts = ["red red blue", "blue sky", "green grass", "blue"].map(|text| Some(text.to_string())).to_vec();
    let (samples, _) = samples_of_columns(vec![("t".into(), Column::Known(Kind::Text.into(), texts))]).unwrap();
    let found = features(&samples, "linear on words(t)");
    // In alphabetical order: blue (3 texts of 4), grass, green, red, sky.
    let idf = |count: f64| (5.0f64 / (1.0 + count)).ln() + 1.0;
    let (blue, red) = (idf(3.0), (1.0 + 2.0f64.ln()) * idf(1.0));
    let length = (blue * blue + red * red).sqrt();
    let expected = [blue / length, 0.0, 0.0, red / length, 0.0];
    assert!(found[0].iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{:?}", found[0]);
    assert_eq!(found[3], [1.0, 0.0, 0.0, 0.0, 0.0]);
}

/// A level, a word and a run of letters that only test rows have.
#[test]
fn what_only_test_rows_have_changes_nothing_in_training_and_is_told() {
    let text = table(60, 4);
    let odd = "45.0,x,no,low,2021-03-04,unheard of phrases everywhere,TTTTTTTTTTTTTT,a\n";
    let both = read(&(text.clone() + odd));
    let training: Vec<usize> = (0..60).collect();
    let part = both.select(&training);
    let alone = read(&text);
    let plan = Plan::new("average").unwrap();
    let (a, b) = (plan.train(&part).unwrap(), plan.train(&alone).unwrap());
    // The dictionary of the larger table has more texts, but nothing of them is learned.
    assert_eq!(a.input().scaled_names(), b.input().scaled_names());
    assert_eq!(a.predict(&both.samples).unwrap(), b.predict(&both.samples).unwrap());
    assert!(a.input().scaled_names().iter().all(|name| !name.contains("unheard") && name != "sex=x"));
    let told = a.input().unseen(&both.select(&[60]).samples).unwrap();
    assert!(told[0].starts_with("column 'sex': 1 row has a level that no training row has, 'x'"), "{told:?}");
    assert!(told.iter().any(|line| line.starts_with("words(note")), "{told:?}");
    assert!(a.input().unseen(&part.samples).unwrap().is_empty());
}

#[test]
fn permuted_labels_give_chance() {
    let data = read(&table(120, 5));
    let mut rng = Rng::new(9, 0);
    let mut codes = data.labels.codes().to_vec();
    for i in (1..codes.len()).rev() {
        codes.swap(i, (rng.uniform() * (i + 1) as f64) as usize);
    }
    let labels = Labels::from_parts(data.labels.classes().to_vec(), codes).unwrap();
    let permuted = Dataset::new("permuted", data.samples.clone(), labels).unwrap();
    let split = |data: &Dataset| {
        let (train, test): (Vec<usize>, Vec<usize>) = (0..120).partition(|i| i % 3 != 0);
        let model = Plan::new("average").unwrap().train(&data.select(&train)).unwrap();
        let test = data.select(&test);
        let found = model.predict(&test.samples).unwrap();
        found.labels.iter().zip(test.labels.codes()).filter(|(a, b)| a == b).count()
    };
    let (true_labels, chance) = (split(&data), split(&permuted));
    // Of 40 rows; two standard deviations of a fair coin are 6.
    assert!(true_labels >= 34 && (14..=26).contains(&chance), "{true_labels} {chance}");
}

#[test]
fn columns_in_memory_are_those_of_a_file() {
    let data = read(&table(30, 6));
    let text = |j: usize| (0..30).map(|i| data.samples.text(i, j).map(str::to_string)).collect::<Vec<_>>();
    let columns = vec![
        ("age".to_string(), Column::Number(data.samples.features().to_dense().unwrap().column(0))),
        ("sex".to_string(), Column::Text(text(1))),
        ("dna".to_string(), Column::Text(text(6))),
    ];
    let (samples, notes) = samples_of_columns(columns).unwrap();
    assert_eq!([samples.kind(0), samples.kind(1), samples.kind(2)], [Kind::Number, Kind::Category, Kind::Sequence]);
    assert_eq!(notes, ["column 'sex' taken as category", "column 'dna' taken as sequence"]);
    assert_eq!(samples.text(5, 1), data.samples.text(5, 1));
}
