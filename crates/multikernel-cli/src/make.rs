//! `datasets make`.

use anyhow::{Result, bail};
use multikernel::data::{Dataset, circles, moons, separable};
use multikernel::file;

use crate::args::MakeDataset;
use crate::predict::number;
use crate::print;

pub(crate) fn run(args: &MakeDataset) -> Result<()> {
    if let Some(out) = &args.out {
        file::check_writable(out)?;
    }
    let text = table(&drawn(args)?)?;
    match &args.out {
        Some(path) => Ok(file::write_atomic(path, text.as_bytes())?),
        None => print(&text),
    }
}

fn drawn(args: &MakeDataset) -> Result<Dataset> {
    let (noise, factor) = (args.noise.unwrap_or(0.1), args.factor.unwrap_or(0.5));
    match (args.set.as_str(), args.noise, args.factor) {
        ("circles", _, _) => Ok(circles(args.rows, noise, factor, args.seed)?),
        (set, _, Some(_)) => bail!("--factor is for circles; {set} has none, leave it out"),
        ("moons", _, _) => Ok(moons(args.rows, noise, args.seed)?),
        (set, Some(_), _) => bail!("--noise is for moons and circles; {set} has none, leave it out"),
        _ => Ok(separable(args.rows, args.seed)?),
    }
}

/// The label stands first: of several columns that are called like a label the first is taken, and `y` is such a name.
fn table(data: &Dataset) -> Result<String> {
    let (classes, values) = (data.labels.classes(), data.samples.features().to_dense()?);
    let mut text = format!("label,{}\n", data.samples.names().join(","));
    for (row, &code) in values.rows().zip(data.labels.codes()) {
        text += &classes[code];
        row.iter().for_each(|&value| text += &format!(",{}", number(value)));
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use multikernel::data::{ReadOptions, read_from};

    use super::*;

    #[test]
    fn tables_read_back_as_the_set() {
        for set in [moons(50, 0.2, 1), circles(51, 0.0, 0.5, 2), separable(50, 3)] {
            let set = set.unwrap();
            let read = read_from(table(&set).unwrap().as_bytes(), "set.csv", &ReadOptions::default()).unwrap();
            assert_eq!(read.notes, [""; 0]);
            let read = read.into_dataset().unwrap();
            assert_eq!((read.fingerprint(), &read.label_name), (set.fingerprint(), &set.label_name));
        }
    }
}
