use super::*;

fn lines(text: &[u8]) -> Vec<(u64, String)> {
    // One byte per read, so that every line end falls on a buffer boundary.
    struct Slow<'a>(&'a [u8]);
    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.0.read(&mut out[..1])
        }
    }
    let collect = |mut lines: Lines<'_>| {
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap().map(str::to_string) {
            all.push((lines.number(), line));
        }
        all
    };
    let fast = collect(Source::open(text, "t").unwrap().lines(u64::MAX));
    let mut slow = Source::open(&b""[..], "t").unwrap().lines(u64::MAX);
    slow.reader = BufReader::with_capacity(1, Box::new(Slow(text)));
    assert_eq!(collect(slow), fast);
    fast
}

#[test]
fn lines_all_line_ends_numbered_alike() {
    for end in ["\n", "\r\n", "\r"] {
        let text = ["\u{feff}a", "", "b", "c"].join(end);
        let expected = [(1, "a"), (2, ""), (3, "b"), (4, "c")].map(|(k, line)| (k, line.to_string()));
        assert_eq!(lines(text.as_bytes()), expected, "{end:?}");
        assert_eq!(lines((text + end).as_bytes()), expected, "{end:?}");
    }
    assert_eq!(lines(b""), []);
}

#[test]
fn source_foreign_files_named() {
    let kind = |bytes: &[u8]| Source::open(bytes, "f").err().map(|error| error.to_string());
    assert_eq!(
        kind(b"PK\x03\x04rest").unwrap(),
        "f: this is a zip archive; data are read as LIBSVM, CSV or TSV text, plain or gzip, or as .xlsx, .npy or .npz: convert \
         it first"
    );
    for (bytes, what) in [
        (&b"\x93NUMPY\x01\0"[..], "a NumPy file"),
        (b"\xff\xfe1\0", "UTF-16 text"),
        (b"ab\0c", "a binary file"),
        (b"  <!DOCTYPE html>", "an HTML or XML page"),
        (b"@RELATION x", "an ARFF file"),
        (b"{\"a\": 1}", "a JSON file"),
        (b"[[1, 2]]", "a JSON file"),
    ] {
        assert!(kind(bytes).unwrap().contains(what), "{what}");
    }
    assert_eq!(kind(b"a,b\n1,2\n"), None);
}
