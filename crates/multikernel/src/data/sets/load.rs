//! Loading by bundled name or path.

use std::path::Path;

use super::bundled::{bundled, bundled_sets};
use crate::data::read::{ReadOptions, read, with_views_of};
use crate::data::table::words::list;
use crate::data::table::{Dataset, Samples, Table, by_name};
use crate::error::{Error, Message, Place, Result};

/// Loads a bundled set by name, or else a file as in [`read`].
///
/// A bundled name takes precedence over a file of that name in the current folder; `./sonar` is the file.
///
/// ```
/// let table = multikernel::data::load("sonar", &Default::default())?;
/// assert_eq!(table.samples.n_features(), 60);
/// let error = multikernel::data::load("snoar", &Default::default()).unwrap_err().to_string();
/// assert!(error.starts_with("snoar: no such file, and no bundled set of that name"));
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn load(source: &str, options: &ReadOptions) -> Result<Table> {
    if let Some(set) = bundled_sets().iter().find(|set| set.name == source) {
        return bundled_table(bundled(set.name)?, set.label, options);
    }
    match read(Path::new(source), options) {
        Err(Error::Io { reason: error, .. }) if error.kind() == std::io::ErrorKind::NotFound => {
            let names: Vec<&str> = bundled_sets().iter().map(|set| set.name).collect();
            Err(Error::data(
                Place::file(source),
                format!("no such file, and no bundled set of that name; bundled are {}", list(&names, usize::MAX)),
            ))
        }
        result => result,
    }
}

/// A bundled set with the options applied, as if it were a file with a header.
fn bundled_table(set: Dataset, label: &str, options: &ReadOptions) -> Result<Table> {
    if options.transpose {
        return Err(Error::param(
            "transpose",
            format!("the rows of the bundled set {} are samples; leave it out", set.name),
        ));
    }
    // One of several joined files need not have the columns named in the options.
    let whole = options.part.is_none();
    if whole && options.label.as_deref().is_some_and(|wanted| wanted != label) {
        return Err(Error::param("label", format!("the bundled set {} has the one label '{label}'", set.name)));
    }
    for (option, given, what) in [("id", options.id_column(), "ids"), ("groups", options.groups.as_ref(), "groups")] {
        if whole && given.is_some() {
            return Err(Error::param(option, format!("the bundled set {} has no {what}; leave it out", set.name)));
        }
    }
    let (classes, codes) = (set.labels.classes(), set.labels.codes());
    let labels = (!options.has_no_label()).then(|| codes.iter().map(|&code| classes[code].clone()).collect());
    let (mut samples, mut notes) = (set.samples, Vec::new());
    if let Some(expected) = &options.expect {
        let found = by_name(&set.name, samples.names(), &[], expected)?;
        notes.extend(found.note.map(Message::from));
        if found.columns.iter().copied().ne(0..samples.n_features()) {
            samples = Samples::new(samples.features().select_cols(&found.columns), expected.names.clone())?;
        }
    }
    let samples = with_views_of(samples, options)?;
    let told = options.told().filter(|told| *told == ("label", label)).map(|(option, wanted)| (option, wanted.into()));
    let told = told.collect();
    let label_name = (!options.has_no_label()).then(|| label.to_string());
    Ok(Table {
        name: set.name.clone(),
        source: set.name,
        samples,
        labels,
        some_labels: None,
        targets: None,
        label_name,
        label_column: None,
        groups: None,
        group_name: None,
        told,
        index_base: None,
        columns: vec![],
        notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Expect;

    #[test]
    fn load_takes_bundled_names_then_paths() {
        let whole = load("glass", &ReadOptions::default()).unwrap();
        assert_eq!(whole.clone().into_dataset().unwrap(), bundled("glass").unwrap());
        let mut names = whole.samples.names().to_vec();
        names.reverse();
        let turned = load("glass", &ReadOptions::expecting(Expect::new(names.clone(), None, None))).unwrap();
        assert_eq!(turned.samples.names(), names);
        let column = |table: &Table, j: usize| table.samples.features().to_dense().unwrap().column(j);
        assert_eq!(column(&turned, 0), column(&whole, 8));
        let unknown = ReadOptions::expecting(Expect::new(vec!["q".into()], None, None));
        assert!(load("glass", &unknown).unwrap_err().to_string().starts_with("glass: 1 of the 1 expected features"));
        let label = ReadOptions { label: Some("x1".into()), ..Default::default() };
        assert_eq!(
            load("glass", &label).unwrap_err().to_string(),
            "parameter label: the bundled set glass has the one label 'label'"
        );
        assert_eq!(
            load("no-such", &ReadOptions::default()).unwrap_err().to_string(),
            "no-such: no such file, and no bundled set of that name; bundled are glass, glass6, ionosphere, \
             nutrimouse, sonar, vehicle, wdbc, wisconsin"
        );
        let file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
        std::fs::write(file.path(), "a,y\n1,p\n").unwrap();
        assert_eq!(load(&file.path().display().to_string(), &ReadOptions::default()).unwrap().labels.unwrap(), ["p"]);
    }
}
