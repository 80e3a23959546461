//! Where the data sets of the tables come from.

use std::path::{Path, PathBuf};

use multikernel::data::{Dataset, ReadOptions, ViewSource, bundled, bundled_sets, read, read_views};
use multikernel::{Error, Result};

use super::cik::{PLANTED_SET as PLANTED, planted};
use super::{coverage, svimkl};

/// Data sets that are a folder with a file for each view.
const OF_VIEWS: &[&str] = &["mfeat"];

/// Data sets drawn from a seed, besides the planted clusters.
const DRAWN: &[&str] = &["moons", "circles", "separable", "noise"];

/// The training and test rows of a set drawn from the seed.
pub(super) fn drawn(set: &str, seed: u64) -> Result<(Dataset, Dataset)> {
    if set == PLANTED {
        return planted(seed);
    }
    coverage::drawn(set, seed)?.map_or_else(|| svimkl::drawn(set, seed), |truth| Ok(truth.into_sets()))
}

/// A data set, with its test rows if they are fixed.
pub(super) struct Source {
    pub(super) data: Dataset,
    pub(super) test: Option<Dataset>,
}

/// A bundled set, or one in the folder `dir`: `SET.csv.gz`, or the pair `SET.train.csv.gz` and `SET.test.csv.gz` if the
/// split is fixed, or the folder `SET` for a set of views. If it is not found, `Err` with a text that says what to
/// provide.
pub(super) fn find(set: &str, is_fixed: bool, dir: Option<&Path>) -> Result<std::result::Result<Source, String>> {
    if set == PLANTED || DRAWN.contains(&set) || coverage::TABLE.sets.contains(&set) {
        return Ok(Ok(Source { data: drawn(set, 0)?.0, test: None }));
    }
    if !is_fixed && bundled_sets().iter().any(|known| known.name == set) {
        return Ok(Ok(Source { data: bundled(set)?, test: None }));
    }
    let names = match (is_fixed, OF_VIEWS.contains(&set)) {
        (true, _) => vec![format!("{set}.train.csv.gz"), format!("{set}.test.csv.gz")],
        (false, true) => vec![set.to_string()],
        (false, false) => vec![format!("{set}.csv.gz")],
    };
    let paths: Option<Vec<PathBuf>> = dir.map(|dir| names.iter().map(|name| dir.join(name)).collect());
    let Some(paths) = paths.filter(|paths| paths.iter().all(|path| path.exists())) else {
        let folder = if OF_VIEWS.contains(&set) { "the folder " } else { "" };
        return Ok(Err(format!("{set} (give --data-dir with {folder}{})", names.join(" and "))));
    };
    let data = if paths[0].is_dir() { views(&paths[0])? } else { rows(&paths[0])? };
    let test = paths.get(1).map(|path| rows(path)).transpose()?;
    Ok(Ok(Source { data: Dataset { name: set.into(), ..data }, test }))
}

fn rows(path: &Path) -> Result<Dataset> {
    read(path, &ReadOptions::default())?.into_dataset()
}

/// The files `VIEW.csv.gz` of a folder, sorted by name.
fn views(folder: &Path) -> Result<Dataset> {
    let files = std::fs::read_dir(folder).and_then(|files| files.collect::<std::io::Result<Vec<_>>>());
    let files = files.map_err(|error| Error::input(format!("{}: cannot be listed: {error}", folder.display())))?;
    let view = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".csv.gz")?.to_string();
        Some(ViewSource { name, source: path.display().to_string() })
    };
    let mut views: Vec<ViewSource> = files.into_iter().filter_map(|file| view(file.path())).collect();
    views.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    read_views(&views, None, &ReadOptions::default())?.into_dataset()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(set: &str, is_fixed: bool, dir: Option<&Path>) -> String {
        find(set, is_fixed, dir).unwrap().err().unwrap()
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(missing("segment", false, None), "segment (give --data-dir with segment.csv.gz)");
        assert_eq!(missing("mfeat", false, Some(folder.path())), "mfeat (give --data-dir with the folder mfeat)");
        std::fs::write(folder.path().join("a.train.csv.gz"), "x,label\n1,p\n2,q\n").unwrap();
        let pair = "a (give --data-dir with a.train.csv.gz and a.test.csv.gz)";
        assert_eq!(missing("a", true, Some(folder.path())), pair);
    }

    #[test]
    fn fixed_pairs_folders_and_single_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("a.train.csv.gz", "x,label\n1,p\n2,q\n");
        write("a.test.csv.gz", "x,label\n3,q\n4,p\n5,p\n");
        let found = |set: &str, is_fixed| find(set, is_fixed, Some(folder.path())).unwrap().ok().unwrap();
        let pair = found("a", true);
        assert_eq!((pair.data.name.as_str(), pair.data.samples.n_samples()), ("a", 2));
        assert_eq!(pair.test.unwrap().labels.codes(), [1, 0, 0]);
        let single = found("a.train", false);
        assert!(single.test.is_none() && single.data.name == "a.train");
        std::fs::create_dir(folder.path().join("mfeat")).unwrap();
        write("mfeat/zer.csv.gz", "z,label\n1,p\n2,q\n");
        write("mfeat/fac.csv.gz", "f,label\n7,p\n8,q\n");
        write("mfeat/README.md", "no view");
        let names: Vec<String> =
            found("mfeat", false).data.samples.views().iter().map(|view| view.name.clone()).collect();
        assert_eq!(names, ["fac", "zer"]);
        assert_eq!(found("sonar", false).data.samples.n_samples(), 208);
    }
}
