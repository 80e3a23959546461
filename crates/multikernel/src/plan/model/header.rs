//! The header of a model file, and the texts in it.
//!
//! | field | text |
//! |---|---|
//! | `resolved` | one kernel each, in the grammar of banks: `gaussian(2) on [0:5] raw` |
//! | `views` | `NAME=START:END`, the columns as they come, counted from 0, END one past the last |
//! | `scale`, `precision` | their words |
//!
//! In memory these are kernels, views and choices; nothing outside this file reads or writes the texts.

use std::collections::BTreeMap;
use std::ops::Deref;

use crate::data::{Scale, View};
use crate::error::{Error, Result};
use crate::file::{Field, Record, record};
use crate::kernel::{Families, Kernel};
use crate::stack::Precision;

record! {
    /// A model's description of itself.
    #[derive(Clone, Debug, PartialEq)]
    pub(in crate::plan) struct Header {
        pub(in crate::plan) method: String,
        pub(in crate::plan) params: BTreeMap<String, String>,
        /// The bank's text; none for methods that work on rows.
        pub(in crate::plan) bank as "kernels": Option<String>,
        /// The kernels of the bank, in the order of the weights.
        pub(in crate::plan) kernels as "resolved": HeaderKernels,
        pub(in crate::plan) scale: Scale,
        pub(in crate::plan) precision: Precision,
        /// The device beside the threads it was trained on.
        pub(in crate::plan) device: TrainedOn,
        pub(in crate::plan) seed: u64,
        pub(in crate::plan) classes: Vec<String>,
        pub(in crate::plan) features: Vec<String>,
        /// The views of the input columns.
        pub(in crate::plan) views: Vec<View>,
        pub(in crate::plan) label: Option<String>,
        pub(in crate::plan) index_base: Option<u64>,
        pub(in crate::plan) dataset: String,
        pub(in crate::plan) n_samples: usize,
        pub(in crate::plan) fingerprint: String,
        pub(in crate::plan) stop: String,
        pub(in crate::plan) finished: bool,
        pub(in crate::plan) steps: u64,
    }
}

/// The device beside the threads, if there was one. Files written without one do not have it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::plan) struct TrainedOn(pub(in crate::plan) Option<String>);

impl Field for TrainedOn {
    fn put(&self, name: &str, record: &mut Record) {
        self.0.iter().for_each(|device| record.put(name, device));
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        Ok(TrainedOn(if record.has(name) { Some(record.take(name)?) } else { None }))
    }
}

/// Kernels and their texts. A file has only the texts: it takes a registry to know their families.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::plan) struct HeaderKernels {
    texts: Vec<String>,
    kernels: Vec<Kernel>,
}

impl HeaderKernels {
    /// Parses the kernels from the texts of a file.
    pub(super) fn read(&mut self, families: &Families) -> Result<()> {
        self.kernels = self.texts.iter().map(|text| families.kernel(text)).collect::<Result<_>>()?;
        Ok(())
    }
}

impl From<&[Kernel]> for HeaderKernels {
    fn from(kernels: &[Kernel]) -> Self {
        HeaderKernels { texts: kernels.iter().map(Kernel::to_string).collect(), kernels: kernels.to_vec() }
    }
}

impl Deref for HeaderKernels {
    type Target = [Kernel];

    fn deref(&self) -> &[Kernel] {
        &self.kernels
    }
}

impl Field for HeaderKernels {
    fn put(&self, name: &str, record: &mut Record) {
        record.put(name, &self.texts);
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        Ok(HeaderKernels { texts: record.take(name)?, kernels: vec![] })
    }
}

impl Field for Vec<View> {
    fn put(&self, name: &str, record: &mut Record) {
        let text = |view: &View| format!("{}={}:{}", view.name, view.columns.start, view.columns.end);
        record.put(name, &self.iter().map(text).collect::<Vec<_>>());
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        let view = |text: &String| {
            // A name may hold `=`.
            let (name, columns) = text.rsplit_once('=')?;
            let (start, end) = columns.split_once(':')?;
            Some(View { name: name.into(), columns: start.parse().ok()?..end.parse().ok()? })
        };
        let wrong =
            |text: &String| Error::input(format!("its field `{name}` holds `{text}`, which is no NAME=START:END"));
        record.take::<Vec<String>>(name)?.iter().map(|text| view(text).ok_or_else(|| wrong(text))).collect()
    }
}

impl Field for Scale {
    fn put(&self, name: &str, record: &mut Record) {
        record.put(name, &self.word().to_string());
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        record.take::<String>(name)?.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_and_kernels_come_back_from_their_texts() {
        let views = vec![View { name: "a=b".into(), columns: 0..3 }, View { name: "c".into(), columns: 3..7 }];
        let kernels: Vec<Kernel> =
            ["linear on [0:3, 7] raw", "gaussian(2)", "precomputed(g)"].map(|t| t.parse().unwrap()).into();
        let mut record = Record::default();
        record.put("views", &views);
        record.put("kernels", &HeaderKernels::from(&kernels[..]));
        record.put("scale", &Scale::None);
        assert_eq!(record.take::<Vec<String>>("views").unwrap(), ["a=b=0:3", "c=3:7"]);
        assert_eq!(
            record.take::<Vec<String>>("kernels").unwrap(),
            ["linear on [0:3, 7] raw", "gaussian(2)", "precomputed(g)"]
        );
        assert_eq!(record.take::<Vec<View>>("views").unwrap(), views);
        let mut read: HeaderKernels = record.take("kernels").unwrap();
        read.read(&Families::standard()).unwrap();
        assert_eq!(*read, *kernels);
        assert_eq!(record.take::<Scale>("scale").unwrap(), Scale::None);
    }

    #[test]
    fn text_that_is_no_view_is_an_error() {
        for text in ["a", "a=", "a=1", "a=1:", "a=1:x", "a=-1:2"] {
            let mut record = Record::default();
            record.put("views", &vec![text.to_string()]);
            let message = record.take::<Vec<View>>("views").unwrap_err().to_string();
            assert_eq!(message, format!("its field `views` holds `{text}`, which is no NAME=START:END"));
        }
    }
}
