//! `datasets write`, and the tables written by it and by `datasets make`.

use std::path::Path;

use anyhow::{Context, Result, bail};
use multikernel::data::{Dataset, bundled, bundled_sets};
use multikernel::file;

use crate::args::WriteDataset;
use crate::predict::{number, quoted};
use crate::{print, say};

pub(crate) fn run(args: &WriteDataset) -> Result<()> {
    let data = bundled(&args.set)?;
    if !data.samples.views().is_empty() {
        return write_views(&data, args);
    }
    let text = table(&data, Ids::Yes)?;
    match &args.out {
        Some(path) => {
            file::check_writable(path)?;
            Ok(file::write_atomic(path, text.as_bytes())?)
        }
        None => print(&text),
    }
}

/// A folder with a file for each view and one for the labels.
fn write_views(data: &Dataset, args: &WriteDataset) -> Result<()> {
    let views: Vec<&str> = data.samples.views().iter().map(|view| view.name.as_str()).collect();
    let Some(folder) = &args.out else {
        bail!(
            "{} has the views {}, each a file of its own; name a folder for them with --out",
            args.set,
            views.join(", ")
        )
    };
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut options = vec![];
    for (name, text) in files(data)? {
        let path = folder.join(&name);
        file::check_writable(&path)?;
        file::write_atomic(&path, text.as_bytes())?;
        options.push(option(&name, &path));
    }
    if !args.quiet {
        say(&format!("read them with {}", options.join(" ")));
    }
    Ok(())
}

/// The option that reads a file of a set of views.
fn option(name: &str, path: &Path) -> String {
    match name.trim_end_matches(".csv") {
        "labels" => format!("--labels {}", path.display()),
        view => format!("--view {view}={}", path.display()),
    }
}

/// The files of a set of views: names and texts.
fn files(data: &Dataset) -> Result<Vec<(String, String)>> {
    let values = data.samples.features().to_dense()?;
    let mut files = vec![];
    for view in data.samples.views() {
        // Columns of views are named `view:name`, and get their prefix again when the views are joined.
        let prefix = format!("{}:", view.name);
        let names = data.samples.names()[view.columns.clone()].iter();
        let names: Vec<String> = names.map(|name| quoted(name.strip_prefix(&prefix).unwrap_or(name))).collect();
        let mut text = format!("id,{}\n", names.join(","));
        for (i, row) in values.rows().enumerate() {
            text += &(i + 1).to_string();
            row[view.columns.clone()].iter().for_each(|&value| text += &format!(",{}", number(value)));
            text.push('\n');
        }
        files.push((format!("{}.csv", view.name), text));
    }
    let said = bundled_sets().iter().find(|set| set.name == data.name).map_or("label", |set| set.label);
    let mut text = format!("id,{said}\n");
    for (i, &code) in data.labels.codes().iter().enumerate() {
        text += &format!("{},{}\n", i + 1, quoted(&data.labels.classes()[code]));
    }
    files.push(("labels.csv".into(), text));
    Ok(files)
}

/// Whether rows are numbered from 1 in a column `id`.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Ids {
    Yes,
    No,
}

/// A data set as one table. The label comes before the features: of several columns named like a label the first is
/// used, and `y` is such a name.
pub(crate) fn table(data: &Dataset, ids: Ids) -> Result<String> {
    let (classes, values) = (data.labels.classes(), data.samples.features().to_dense()?);
    let names: Vec<String> = data.samples.names().iter().map(|name| quoted(name)).collect();
    let id = if ids == Ids::Yes { "id," } else { "" };
    let mut text = format!("{id}label,{}\n", names.join(","));
    for (i, (row, &code)) in values.rows().zip(data.labels.codes()).enumerate() {
        if ids == Ids::Yes {
            text += &format!("{},", i + 1);
        }
        text += &quoted(&classes[code]);
        row.iter().for_each(|&value| text += &format!(",{}", number(value)));
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use multikernel::data::{ReadOptions, ViewSource, circles, moons, read_from, read_views, separable};

    use super::*;

    #[test]
    fn tables_read_back_as_the_set() {
        let toys = [moons(50, 0.2, 1), circles(51, 0.0, 0.5, 2), separable(50, 3)].map(|set| (set.unwrap(), Ids::No));
        let plain = bundled_sets().iter().filter(|set| set.views.is_empty());
        let plain: Vec<_> = plain.map(|set| (bundled(set.name).unwrap(), Ids::Yes)).collect();
        assert_eq!(plain.len(), 7);
        for (set, ids) in toys.into_iter().chain(plain) {
            let read = read_from(table(&set, ids).unwrap().as_bytes(), "set.csv", &ReadOptions::default()).unwrap();
            assert!(
                read.notes.iter().all(|note| note.to_string().starts_with("ids:")),
                "{}: {:?}",
                set.name,
                read.notes
            );
            assert_eq!(read.samples.ids().is_some(), ids == Ids::Yes);
            let read = read.into_dataset().unwrap();
            assert_eq!((read.fingerprint(), &read.label_name), (set.fingerprint(), &set.label_name));
        }
    }

    #[test]
    fn views_read_back_as_the_set() {
        let set = bundled("nutrimouse").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for (name, text) in files(&set).unwrap() {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let views =
            ["gene", "lipid"].map(|name| ViewSource { name: name.into(), source: path(&format!("{name}.csv")) });
        let read = read_views(&views, Some(&path("labels.csv")), &ReadOptions::default()).unwrap();
        let read = read.into_dataset().unwrap();
        assert_eq!((read.fingerprint(), read.label_name.as_deref()), (set.fingerprint(), Some("diet")));
    }
}
