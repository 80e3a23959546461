//! Any bytes as the pages and the footer of a Parquet file, whose length is made right: an error or a table. The first
//! byte gives the options, the next two the length of the footer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multikernel::data::read_from;
use multikernel_fuzz::{refusing, options};

fuzz_target!(|bytes: &[u8]| {
    let [how, low, high, content @ ..] = bytes else { return };
    let mut options = options();
    options.label = (how & 1 != 0).then(|| "-1".to_string());
    options.unlabelled = how & 3 == 2;
    let length = usize::from(u16::from_le_bytes([*low, *high])).min(content.len());
    let (footer, pages) = content.split_at(length);
    let file = [b"PAR1", pages, footer, &(length as u32).to_le_bytes(), b"PAR1"].concat();
    refusing(|| drop(read_from(file.as_slice(), "f.parquet", &options)));
});
