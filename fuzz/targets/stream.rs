//! Any bytes as a stream of rows, with options taken from the first byte: rows and errors, never a panic, and the same
//! whether the bytes come at once or one by one.
#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use multikernel::Error;
use multikernel::data::{Batch, Expect, Format, OnError, ReadOptions, RowStream};

struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = out.len().min(1);
        self.0.read(&mut out[..n])
    }
}

/// Values as bits, texts as they are (codes count from the batch), labels, lines and errors of the whole stream, or the error that ends it.
fn drain(reader: impl Read, options: &ReadOptions) -> Result<(Vec<String>, Vec<String>, Vec<u64>, Vec<String>), String> {
    let (mut values, mut labels, mut lines, mut errors) = (vec![], vec![], vec![], vec![]);
    let text = |error: Error| error.to_string();
    let mut stream = RowStream::open(reader, "f", options).map_err(text)?;
    let mut skip = |error: Error| errors.push(error.to_string());
    let mut batch: Option<Batch> = stream.gather(2, OnError::Skip(&mut skip)).map_err(text)?;
    while let Some(rows) = batch {
        let n = rows.lines.len();
        assert!(n > 0 && rows.labels.len() == n && rows.samples.n_samples() == n);
        let dense = rows.samples.features().to_dense().map_err(text)?.into_owned();
        let cell = |i: usize, j: usize| match rows.samples.text(i, j) {
            Some(text) => text.to_string(),
            None => format!("{:x}", dense.get(i, j).to_bits()),
        };
        values.extend((0..n).flat_map(|i| (0..dense.n_cols()).map(move |j| (i, j))).map(|(i, j)| cell(i, j)));
        labels.extend(rows.labels);
        lines.extend(rows.lines);
        batch = stream.next(3, OnError::Skip(&mut skip)).map_err(text)?;
    }
    Ok((values, labels, lines, errors))
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&how, text)) = bytes.split_first() else { return };
    let mut options = ReadOptions::default();
    options.memory = Some(1 << 22);
    options.format = [None, Some(Format::Tsv), Some(Format::Libsvm), Some(Format::Csv)][usize::from(how & 3)];
    options.header = [None, Some(true), Some(false), None][usize::from(how >> 2 & 3)];
    options.label = (how & 16 != 0).then(|| "0".to_string());
    options.ignore = if how & 32 != 0 { vec!["1".to_string()] } else { vec![] };
    options.expect = (how & 64 != 0).then(|| Expect::new(vec!["a".into(), "b".into()], Some("y".into()), None));
    assert_eq!(drain(text, &options), drain(Trickle(text), &options));
});
