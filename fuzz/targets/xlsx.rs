//! Any text as the parts of a workbook, packed with right checksums: an error or a table. Parts end at a byte that no text
//! has: sheet, shared texts, styles, workbook; those that are not given are plain.
#![no_main]

use std::io::{Cursor, Write};

use libfuzzer_sys::fuzz_target;
use multikernel::data::read_from;
use multikernel_fuzz::{refusing, options};

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>"#;
const TYPES: &str = r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>"#;
const RELS: &str = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;
const BOOK_RELS: &str = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" Target="sharedStrings.xml"/><Relationship Id="rId3" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>"#;
const BOOK: &str = r#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>"#;
const TEXTS: &str = r#"<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>a</t></si><si><t>label</t></si></sst>"#;
const STYLES: &str = r#"<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>"#;

fuzz_target!(|bytes: &[u8]| {
    let Some((&how, content)) = bytes.split_first() else { return };
    let mut options = options();
    options.unlabelled = how & 1 != 0;
    options.transpose = how & 2 != 0;
    let mut parts = content.split(|&byte| byte == 0xff);
    let mut part = |plain: &str| match parts.next() {
        Some(text) if !text.is_empty() => text.to_vec(),
        _ => format!("{HEAD}{plain}").into_bytes(),
    };
    let files = [
        ("xl/worksheets/sheet1.xml", part("<worksheet/>")),
        ("xl/sharedStrings.xml", part(TEXTS)),
        ("xl/styles.xml", part(STYLES)),
        ("xl/workbook.xml", part(BOOK)),
        ("[Content_Types].xml", format!("{HEAD}{TYPES}").into_bytes()),
        ("_rels/.rels", format!("{HEAD}{RELS}").into_bytes()),
        ("xl/_rels/workbook.xml.rels", format!("{HEAD}{BOOK_RELS}").into_bytes()),
    ];
    let mut book = zip::ZipWriter::new(Cursor::new(vec![]));
    let plain = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, text) in files {
        book.start_file(name, plain).expect("a part");
        book.write_all(&text).expect("memory takes what is written");
    }
    let book = book.finish().expect("a workbook").into_inner();
    refusing(|| drop(read_from(book.as_slice(), "f.xlsx", &options)));
});
