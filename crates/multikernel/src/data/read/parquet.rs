//! Parquet and Arrow tables, read by builds with the feature `arrow`.

use std::io::Read;

use super::options::ReadOptions;
use crate::data::table::Table;
use crate::error::Result;
#[cfg(not(feature = "arrow"))]
use crate::error::{Error, Place};

/// The error that says what is needed to read such a file.
#[cfg(not(feature = "arrow"))]
pub(super) fn read(_: impl Read, source: &str, _: &ReadOptions) -> Result<Table> {
    Err(Error::data(
        Place::file(source),
        "this is a Parquet or Arrow file, which only a build with the feature `arrow` reads; build it so, or save \
         the table as CSV",
    ))
}

/// Reads a table; one with columns of texts or dates is read as its CSV export is. Null is missing.
///
/// The whole file is held in memory while it is read.
#[cfg(feature = "arrow")]
pub(super) fn read(reader: impl Read, source: &str, options: &ReadOptions) -> Result<Table> {
    let bytes = super::binary::whole(reader, source, options.limit())?;
    // The external readers validate most of a file, but panic on some of it.
    let read = std::panic::AssertUnwindSafe(|| super::arrow::read(bytes, source, options));
    std::panic::catch_unwind(read).unwrap_or_else(|_| Err(super::arrow::unreadable(source)("it is damaged")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read_from;

    fn file(name: &str) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/arrow/");
        std::fs::read(format!("{folder}{name}")).unwrap()
    }

    fn table(name: &str, options: &ReadOptions) -> Result<Table> {
        read_from(&file(name)[..], name, options)
    }

    #[cfg(not(feature = "arrow"))]
    #[test]
    fn builds_without_the_feature_say_so() {
        for name in ["table.parquet", "gzip.parquet", "table.arrow", "table.feather"] {
            assert_eq!(
                table(name, &ReadOptions::default()).unwrap_err().to_string(),
                format!(
                    "{name}: this is a Parquet or Arrow file, which only a build with the feature `arrow` reads; build it \
                     so, or save the table as CSV"
                )
            );
        }
    }

    #[cfg(feature = "arrow")]
    mod arrow {
        use proptest::prelude::*;

        use super::*;
        use crate::data::{Expect, Kind};

        const NAMES: [&str; 7] = ["double", "single", "half", "byte", "long", "unsigned", "truth"];

        fn plain() -> ReadOptions {
            ReadOptions { label: Some("kind".into()), id: Some("name".into()), ..Default::default() }
        }

        #[test]
        fn tables_of_every_format_have_their_values() {
            let n = f64::NAN;
            let large = (1u64 << 53) as f64;
            let expected = [
                [0.5, 0.25, 1.5, -128.0, -large, 65535.0, 1.0],
                [n, -2.0, 2.5, 127.0, large, n, 0.0],
                [n, n, 3.5, n, 0.0, 7.0, n],
            ];
            for name in ["table.parquet", "gzip.parquet", "table.arrow", "table.feather"] {
                let table = table(name, &plain()).unwrap();
                let features = table.samples.features().to_dense().unwrap();
                for (found, expected) in features.data().iter().zip(expected.as_flattened()) {
                    assert!(found == expected || (found.is_nan() && expected.is_nan()), "{name}: {features:?}");
                }
                assert_eq!(features.n_rows(), 3);
                assert_eq!(table.samples.names(), NAMES);
                assert_eq!(table.samples.ids().unwrap(), ["s1", "s2", "s3"]);
                assert_eq!(table.labels.unwrap(), ["case", "control", "case"]);
                assert_eq!(table.label_name.as_deref(), Some("kind"));
                assert_eq!(table.notes, ["missing values: 6, in 5 of 7 columns"]);
            }
        }

        #[test]
        fn mixed_tables_are_those_of_their_csv() {
            let options = ReadOptions { ignore: vec!["tags".into()], ..Default::default() };
            let text = table("mixed.csv", &ReadOptions::default()).unwrap();
            for name in ["mixed.parquet", "mixed.arrow"] {
                let table = table(name, &options).unwrap();
                assert_eq!(format!("{:?}", table.samples), format!("{:?}", text.samples), "{name}");
                assert_eq!((&table.labels, &table.label_name), (&text.labels, &text.label_name));
            }
            let kinds: Vec<&str> = (0..8).map(|j| text.samples.kind(j).word()).collect();
            assert_eq!(kinds, ["number", "number", "category", "category", "yesno", "date", "date", "text"]);
            // A kind that is told for a column of numbers.
            let told = vec![("age".to_string(), Kind::Category.into())];
            let told = table("mixed.parquet", &ReadOptions { kinds: told, ..options }).unwrap();
            assert_eq!((told.samples.kind(0), told.samples.text(0, 0)), (Kind::Category, Some("61")));
        }

        #[test]
        fn columns_matched_to_those_of_a_model() {
            let names = ["long", "half"].map(str::to_string).to_vec();
            let options = ReadOptions::expecting(Expect::new(names, Some("kind".into()), None));
            for name in ["table.parquet", "table.arrow"] {
                let table = table(name, &options).unwrap();
                assert_eq!(table.samples.features().to_dense().unwrap().column(1), [1.5, 2.5, 3.5]);
                assert_eq!(table.labels.unwrap(), ["case", "control", "case"]);
            }
        }

        #[test]
        fn unusable_tables_refused() {
            let options =
                ReadOptions { label: Some("byte".into()), ignore: vec!["kind".into(), "name".into()], ..plain() };
            let message = table("table.parquet", &options).unwrap_err().to_string();
            assert!(message.ends_with("column 'name' of table.parquet is the id; leave it in"), "{message}");
            let message = table("mixed.parquet", &ReadOptions::default()).unwrap_err().to_string();
            let expected =
                "mixed.parquet: features are numbers, texts or dates, but these columns are not: 'tags' List(";
            assert!(message.starts_with(expected), "{message}");
            assert!(message.ends_with("; leave them out with `ReadOptions::ignore = [\"tags\"]`"), "{message}");
            let options = ReadOptions { label: Some("byte".into()), ignore: vec!["kind".into()], ..plain() };
            assert_eq!(
                table("table.feather", &options).unwrap_err().to_string(),
                "table.feather, row 3: the label is missing; remove the row or fill it in first"
            );
            let small = ReadOptions { memory: Some(4_000), ..plain() };
            assert!(table("table.parquet", &small).is_ok());
            let small = ReadOptions { memory: Some(3_000), ..plain() };
            assert!(
                table("table.parquet", &small).unwrap_err().to_string().contains("the file in memory needs 3.6 KiB")
            );
            for name in ["a.parquet", "a.arrow"] {
                let message = read_from(&b"a,b\n1,2\n"[..], name, &plain()).unwrap_err().to_string();
                assert!(message.starts_with(&format!("{name}: the file cannot be read (")), "{message}");
                assert!(message.ends_with("); write it again, or save the table as CSV"), "{message}");
            }
        }

        proptest! {
            #![proptest_config(ProptestConfig::with_cases(300))]

            #[test]
            fn damaged_files_never_panic(
                name in 0usize..4, cut in any::<prop::sample::Index>(),
                edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            ) {
                let options = ReadOptions { memory: Some(1 << 20), ..plain() };
                let mut bytes = file(["table.parquet", "gzip.parquet", "table.arrow", "table.feather"][name]);
                let _ = read_from(&bytes[..cut.index(bytes.len())], "f.parquet", &options);
                for (at, byte) in edits {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
                let _ = read_from(&bytes[..], "f.parquet", &options);
            }
        }
    }
}
