use proptest::prelude::*;

use super::*;
use crate::data::table::words::columns;
use crate::data::{Expect, Format, read_from};

/// The notes joined into one text.
fn texts(notes: &[Message]) -> String {
    notes.iter().map(Message::to_string).collect::<Vec<_>>().join("; ")
}

fn csv() -> ReadOptions {
    ReadOptions { format: Some(Format::Csv), ..Default::default() }
}

fn table(text: &str, options: &ReadOptions) -> Table {
    read_from(text.as_bytes(), "f", options).unwrap()
}

fn message(text: &str, options: &ReadOptions) -> String {
    read_from(text.as_bytes(), "f", options).unwrap_err().to_string()
}

fn expecting(names: &[&str], label: Option<&str>) -> ReadOptions {
    let names = names.iter().map(|name| name.to_string()).collect();
    let classes = ["p", "q", "u"].map(str::to_string).to_vec();
    let expect = Expect::new(names, label.map(str::to_string), None).with_classes(classes);
    ReadOptions { expect: Some(expect), ..csv() }
}

#[test]
fn malformed_text_refused_with_place() {
    let plain = csv();
    let bare = ReadOptions { header: Some(false), ..csv() };
    for (options, text, expected) in [
        (&plain, "", "f: the file is empty; give at least one row"),
        (&plain, "\n  \n\r\n", "f: the file is empty; give at least one row"),
        (&plain, "a,b,label\n", "f: the file holds a header but no rows; give at least one row"),
        (&plain, "label\nx\n", "f: no column is left for features; a label and at least one feature are needed"),
        (&plain, "1\n2\n", "f: no column is left for features; a label and at least one feature are needed"),
        (&plain, "a,b,y\n1,2,p\n1,2\n", "f:3: found 2 columns, the first line has 3; give every row the same"),
        (&plain, "a,b,y\n1,2,p\n1,2,p,\n", "f:3: found 4 columns, the first line has 3; give every row the same"),
        (
            &plain,
            "a,b,y\ns1,1,2,p\n",
            "f:2: found 4 columns, the header has 3; give row names a column of their own, with a blank or `id` in the header",
        ),
        (
            &plain,
            "a,b,a\n1,2,p\n",
            "f:1:3: columns 1 and 3 are both called 'a'; rename one (the first line was read as names; if the file has none, add `ReadOptions::header = false`)",
        ),
        (
            &plain,
            "x2,,y\n1,2,p\n",
            "f:1:2: columns 1 and 2 are both called 'x2'; rename one (the first line was read as names; if the file has none, add `ReadOptions::header = false`)",
        ),
        (
            &plain,
            "a,b,y\n1,2,p\n,NA,q\n",
            "f:3: the row has no value at all; remove it, fill values in, or leave such rows out with `ReadOptions::missing_labels = Drop`",
        ),
        (
            &plain,
            "a,b,y\n1,2,p\n,,\n",
            "f:3: the row has no value at all; remove it, fill values in, or leave such rows out with `ReadOptions::missing_labels = Drop`",
        ),
        (
            &plain,
            "a,b,y\n1,inf,p\n",
            "f:2:2: 'inf' in column 'b' is not a finite number; correct it, or leave the column out with `ReadOptions::ignore = [\"b\"]`",
        ),
        (
            &plain,
            "a,b,y\n1,1e309,p\n",
            "f:2:2: '1e309' in column 'b' is too large (numbers go up to 1.8e308); correct it, or leave the column out with `ReadOptions::ignore = [\"b\"]`",
        ),
        (
            &plain,
            "a,b,y\n1,red,p\n2,3,p\n",
            "f:2:2: 'red' in column 'b' is not a number; correct it, or leave the column out with `ReadOptions::ignore = [\"b\"]`",
        ),
        (
            &plain,
            "a,b,y\n1,0x1F,p\n2,3,p\n",
            "f:2:2: '0x1F' in column 'b' is not a number; correct it, or leave the column out with `ReadOptions::ignore = [\"b\"]`",
        ),
        (&bare, "a,b,y\n1,2,p\n", "f:1:1: 'a' in column 'x1' is not a number; is the first line a header?"),
        (
            &plain,
            "a,b,y\n1,2,\n",
            "f:2:3: the label is missing; fill it in, or leave such rows out with `ReadOptions::missing_labels = Drop`",
        ),
        (
            &plain,
            "a,b,y\n1,\"2,p\n3,4,q\n",
            "f:2:2: the quote that opens this cell is never closed; close it, or double a quote inside a cell",
        ),
        (
            &plain,
            "a,b,y\n1,2,p\n3,\"4\"x,q\n",
            "f:3:2: 'x' follows a closing quote; double a quote that is part of the cell",
        ),
        // Line numbers after quoted line breaks, blank lines and CRLF.
        (
            &plain,
            "\r\na,b,y\r\n1,2,\"p\r\n\r\nq\"\r\n\r\n3,bad,p\r\n",
            "f:7:2: 'bad' in column 'b' is not a number; correct it, or leave the column out with `ReadOptions::ignore = [\"b\"]`",
        ),
        // A cell after a quoted line break is on the later line.
        (&plain, "y,a\n\"p\nq\",bad\nq,2\n", "f:3:2: 'bad' in column 'a' is not a number; correct it"),
        (&plain, "\"a\nb\",c,y\n1,2,p\n1,2\n", "f:4: found 2 columns, the first line has 3; give every row the same"),
    ] {
        assert_eq!(message(text, options), expected, "{text:?}");
    }
}

#[test]
fn marks_for_missing_values_are_nan_and_counted() {
    let marks = ["", "\" \"", "NA", "na", "N/A", "NaN", "-nan", "NULL", "None", "?", "<NA>"];
    for mark in marks {
        let table = table(&format!("a,b,c,y\n1,{mark},2,p\n{mark},{mark},0,q\n"), &csv());
        let features = table.samples.features().to_dense().unwrap();
        let found: Vec<bool> = features.data().iter().map(|value| value.is_nan()).collect();
        assert_eq!(found, [false, true, false, true, true, false], "{mark:?}");
        assert_eq!(table.notes, ["missing values: 3, in 2 of 3 columns"]);
        assert_eq!(table.samples.n_missing(), 3);
    }
    // Missing values in rows to predict are missing too, and so is a label marked as missing.
    let new = table("b,a,y\n,1,NA\n2,?,p\n", &expecting(&["a", "b"], Some("y")));
    assert_eq!((new.samples.n_missing(), new.labels), (2, None));
    let notes = ["1 of 2 labels are missing: rows read as unlabelled", "missing values: 2, in 2 of 2 columns"];
    assert_eq!(new.notes, notes);
    assert_eq!(
        message("a,y\n1,p\n2,NA\n", &csv()),
        "f:3:2: the label is missing ('NA'); fill it in, or leave such rows out with `ReadOptions::missing_labels = Drop`"
    );
}

#[test]
fn label_options_that_fit_no_column_refused() {
    let with = |label: &str| ReadOptions { label: Some(label.into()), ..csv() };
    let text = "a,b,c\n1,2,p\n";
    for label in ["d", "3", "4", "-4", "99999999999999999999", "-9223372036854775808"] {
        assert_eq!(
            message(text, &with(label)),
            format!(
                "parameter label: f has no column '{label}'; give a name (a, b, c) or a position, 0 to 2 or -1 to -3"
            )
        );
    }
    assert_eq!(
        message("1,2,3\n", &with("4")),
        "parameter label: f has no column '4'; give a position, 0 to 2 or -1 to -3"
    );
    let both = ReadOptions { unlabelled: true, ..with("a") };
    assert_eq!(
        message(text, &both),
        "parameter label: cannot be given for rows without labels; leave one of the two out"
    );
}

#[test]
fn ignored_columns_are_left_out_by_name_or_position() {
    let read = |text: &str, ignore: &[&str]| {
        let ignore = ignore.iter().map(|column| column.to_string()).collect();
        read_from(text.as_bytes(), "f", &ReadOptions { ignore, ..csv() })
    };
    let text = "id,a,b,label\nrow 1,2,3,p\nrow 2,5,6,q\n";
    for ignore in [&["id", "b"][..], &["0", "-2"], &["id", "2"]] {
        let table = read(text, ignore).unwrap();
        assert_eq!(
            (table.samples.names().join(" "), table.samples.features().to_dense().unwrap().data()),
            ("a".into(), &[2.0, 5.0][..])
        );
    }
    assert_eq!(
        read(text, &["name"]).unwrap_err().to_string(),
        "parameter ignore: f has no column 'name'; give a name (id, a, b, label) or a position, 0 to 3 or -1 to -4"
    );
    let message = read(text, &["label"]).unwrap_err().to_string();
    assert_eq!(message, "parameter ignore: column 'label' of f is the label; leave it in");
    assert!(read(text, &["id", "a", "b"]).unwrap_err().to_string().contains("no column is left for features"));
}

#[test]
fn ids_found_by_option_name_or_blank_header() {
    let read = |text: &str, id: Option<&str>| {
        let table = table(text, &ReadOptions { id: id.map(str::to_string), ..csv() });
        let ids = table.samples.ids().map_or("-".to_string(), |ids| ids.join(" "));
        (ids, table.samples.names().join(" "), table.label_name.unwrap_or_default(), texts(&table.notes))
    };
    for (text, id, expected) in [
        ("a,Sample_ID,y\n1,s1,p\n2,s2,q\n", None, ["s1 s2", "a", "y", "ids: column 'Sample_ID'"]),
        ("barcode,a,y\n7,1,p\n", None, ["7", "a", "y", "ids: column 'barcode'"]),
        ("id,sample,y\n1,2,p\n", None, ["1", "sample", "y", "ids: column 'id'"]),
        // R's row names, the pandas index.
        (",a,y\ns1,1,p\n", None, ["s1", "a", "y", "ids: the first column, which has no name"]),
        ("\"\",a,y\n0,1,p\n1,5,q\n", None, ["0 1", "a", "y", "ids: the first column, which has no name"]),
        (
            ",a,id,y\n0,1,s1,p\n1,5,s2,q\n",
            None,
            [
                "s1 s2",
                "a",
                "y",
                "ids: column 'id'; the first column has no name and is left out: row names are not used as features",
            ],
        ),
        // Columns that really have such names: no duplicates.
        (",x1,y\ns1,1,p\n", None, ["s1", "x1", "y", "ids: the first column, which has no name"]),
        ("a,patient,y\n1,s1,p\n", Some("patient"), ["s1", "a", "y", ""]),
        ("id,a,y\n1,s1,p\n", Some("1"), ["s1", "id", "y", ""]),
        ("a,y,patient\n1,p,s1\n", Some("-1"), ["s1", "a", "y", ""]),
        (
            "s1,1,p\ns2,2,q\n",
            Some("0"),
            [
                "s1 s2",
                "x1",
                "",
                "label: column 3 (the last); the file has no names: give another by its position, `ReadOptions::label = \"0\"` to 2",
            ],
        ),
        (
            "1,p,s1\n2,q,s2\n",
            Some("-1"),
            [
                "s1 s2",
                "x1",
                "",
                "label: column 2; the file has no names: give another by its position, `ReadOptions::label = \"0\"` to 2",
            ],
        ),
        // The last column that is not an id is the label.
        (
            "a,kind,id\n1,p,s1\n",
            None,
            [
                "s1",
                "a",
                "kind",
                "label: the last column, 'kind'; name another with `ReadOptions::label`; ids: column 'id'",
            ],
        ),
        // Only a first column without a name holds row names.
        ("a,,y\n1,2,p\n", None, ["-", "a x2", "y", ""]),
        // Next to a label, y is a coordinate.
        ("x,y,label\n1,2,p\n", None, ["-", "x y", "label", ""]),
        ("x,y,Class\n1,2,p\n", None, ["-", "x y", "Class", ""]),
    ] {
        assert_eq!(read(text, id), expected.map(str::to_string).into(), "{text:?}");
    }
    // Options take precedence over a column's name.
    let with = |label: Option<&str>, ignore: &[&str]| {
        let ignore = ignore.iter().map(|column| column.to_string()).collect();
        table("id,a,b\n1,2,3\n", &ReadOptions { label: label.map(str::to_string), ignore, ..csv() })
    };
    assert_eq!(
        (with(Some("id"), &[]).samples.ids(), with(Some("id"), &[]).labels.unwrap().join("")),
        (None, "1".into())
    );
    assert_eq!(with(None, &["id"]).samples.ids(), None);
    let row_names = table(",a,b\ns1,1,2\n", &ReadOptions { label: Some("0".into()), ..csv() });
    assert_eq!((row_names.labels.unwrap().join(""), row_names.label_name), ("s1".to_string(), None));
}

#[test]
fn ids_that_name_no_row_or_two_refused() {
    let with = |id: &str, label: &str, ignore: &[&str]| ReadOptions {
        id: Some(id.into()),
        label: Some(label.into()),
        ignore: ignore.iter().map(|column| column.to_string()).collect(),
        ..csv()
    };
    for (options, text, expected) in [
        (
            csv(),
            "a,id,y\n1,s1,p\n\n2,s2,p\n3,s1,q\n",
            "f:2:2: 's1' in column 'id' is not a number, like 2 more cells of it; correct it, or leave the column out with \
             `ReadOptions::ignore = [\"id\"]` (it looks like an id column, but its values repeat or are missing: `ReadOptions::groups = \"id\"` keeps rows of one id together)",
        ),
        (
            with("id", "y", &[]),
            "a,id,y\n1,s1,p\n\n2,s2,p\n3,s1,q\n",
            "f:5:2: the id 's1' stands in line 2 already; give every row its own, leave the column out with \
             `ReadOptions::ignore = [\"1\"]`, or keep such rows together with `ReadOptions::groups = \"1\"`",
        ),
        (
            csv(),
            ",a,y\n,1,p\n",
            "f:2:1: the id is missing; fill it in, or leave the column out with `ReadOptions::ignore = [\"0\"]`",
        ),
        (
            with("patient", "y", &[]),
            ",a,y\ns,1,p\n",
            "parameter id: f has no column 'patient'; give a name (a, y) or a position, 0 to 2 or -1 to -3",
        ),
        (with("y", "y", &[]), "a,b,y\n1,2,p\n", "parameter id: column 'y' of f is the label; choose another"),
        (with("a", "y", &["a"]), "a,b,y\n1,2,p\n", "parameter ignore: column 'a' of f is the id; leave it in"),
        (with("0", "2", &[]), "1,p\n", "parameter label: f has no column '2'; give a position, 0 to 1 or -1 to -2"),
    ] {
        assert_eq!(message(text, &options), expected, "{text:?}");
    }
    let libsvm = ReadOptions { id: Some("0".into()), ..Default::default() };
    assert_eq!(
        read_from("1 1:2\n".as_bytes(), "f.svm", &libsvm).unwrap_err().to_string(),
        "parameter id: LIBSVM text has no column of ids; leave it out, or give delimited text"
    );
    assert_eq!(
        crate::data::load("glass", &libsvm).unwrap_err().to_string(),
        "parameter id: the bundled set glass has no ids; leave it out"
    );
}

#[test]
fn ids_of_rows_to_predict_found_the_same_way() {
    let read = |text: &str, names: &[&str], id: Option<&str>, ignore: &[&str]| {
        let ignore = ignore.iter().map(|column| column.to_string()).collect();
        let table = table(text, &ReadOptions { id: id.map(str::to_string), ignore, ..expecting(names, Some("y")) });
        let ids = table.samples.ids().map_or("-".to_string(), |ids| ids.join(" "));
        (ids, table.samples.features().to_dense().unwrap().data().to_vec(), texts(&table.notes))
    };
    for (text, names, id, ids, notes) in [
        ("b,id,a\n2,s1,1\n", ["a", "b"], None, "s1", "ids: column 'id'"),
        (",b,a,y\ns1,2,1,p\n", ["a", "b"], None, "s1", "ids: the first column, which has no name"),
        ("b,a,who\n2,1,s1\n", ["a", "b"], Some("who"), "s1", ""),
        // A feature of the model is not an id.
        ("b,id\n2,1\n", ["id", "b"], None, "-", ""),
        // Without names, with or without a label.
        (
            "s1,1,2,p\n",
            ["a", "b"],
            Some("0"),
            "s1",
            "columns matched by position: the file has no names; label: column 4 (the last), which holds only classes of \
             the model",
        ),
        (
            "id,p,q\ns1,1,2\n",
            ["x1", "x2"],
            None,
            "s1",
            "ids: column 'id'; columns matched by position: the model's features have no names",
        ),
        (",x2,x1\ns1,2,1\n", ["x1", "x2"], None, "s1", "ids: the first column, which has no name"),
    ] {
        assert_eq!(read(text, &names, id, &[]), (ids.into(), vec![1.0, 2.0], notes.into()), "{text:?}");
    }
    let (ids, _, notes) = read("b,id,a\n2,s1,1\n3,s1,1\n", &["a", "b"], None, &["id", "no such"]);
    assert_eq!((ids.as_str(), notes.as_str()), ("-", "ignored columns that the model was not trained on: id"));
    assert_eq!(
        message("b,a\n2,1\n", &ReadOptions { id: Some("a".into()), ..expecting(&["a", "b"], None) }),
        "parameter id: column 'a' of f is a feature of the model; choose another"
    );
    assert_eq!(
        message("id,p\ns1,1\n", &expecting(&["x1", "x2"], None)),
        "f: found 1 column besides ids, groups and those left out, the model expects 2 features (or 3 with a label); give a \
         table with all of them (the first line was read as names; if the file has none, add `ReadOptions::header = false`)"
    );
}

#[test]
fn groups_are_a_column_of_texts_that_is_no_feature() {
    let with = |groups: &str| ReadOptions { groups: Some(groups.into()), ..csv() };
    for (text, groups, expected) in [
        ("a,batch,y\n1,b2,p\n2,b1,q\n3,b2,q\n", "batch", ("b2 b1 b2", "a", Some("batch"), Some("y"))),
        ("a,batch,y\n1,5,p\n2,5.0,q\n", "1", ("5 5.0", "a", Some("batch"), Some("y"))),
        // Rows that share an id and belong together: then it is not an id.
        ("id,a,y\ns1,1,p\ns1,2,p\n", "id", ("s1 s1", "a", Some("id"), Some("y"))),
        // The last column is the label unless it holds the groups.
        ("a,kind,batch\n1,p,u\n", "batch", ("u", "a", Some("batch"), Some("kind"))),
        ("u,1,p\nv,2,q\n", "0", ("u v", "x1", None, None)),
    ] {
        let table = table(text, &with(groups));
        let found = (table.groups.unwrap().join(" "), table.samples.names().join(" "));
        assert_eq!((found.0.as_str(), found.1.as_str()), (expected.0, expected.1), "{text:?}");
        assert_eq!((table.group_name.as_deref(), table.label_name.as_deref()), (expected.2, expected.3), "{text:?}");
        assert_eq!(table.samples.ids(), None);
    }
    let text = "a,batch,y\n1,u,p\n2,,q\n";
    let both = |groups: &str, id: &str| ReadOptions { id: Some(id.into()), ..with(groups) };
    for (options, expected) in [
        (with("batch"), "f:3:2: the group is missing; fill it in, or remove the row"),
        (
            with("btch"),
            "parameter groups: f has no column 'btch' (did you mean 'batch'?); give a name (a, batch, y) or a position, 0 to 2 or -1 to -3",
        ),
        (both("a", "a"), "parameter groups: column 'a' of f is the id; choose another"),
        (
            ReadOptions { label: Some("a".into()), ..with("0") },
            "parameter groups: column 'a' of f is the label; choose another",
        ),
        (
            ReadOptions { ignore: vec!["batch".into()], ..with("batch") },
            "parameter ignore: column 'batch' of f is the group; leave it in",
        ),
        (
            ReadOptions { groups: Some("a".into()), ..expecting(&["a"], None) },
            "parameter groups: column 'a' of f is a feature of the model; choose another",
        ),
    ] {
        assert_eq!(message(text, &options), expected);
    }
    let new = ReadOptions { groups: Some("batch".into()), ..expecting(&["b", "a"], None) };
    let read = table("a,batch,b\n1,u,2\n", &new);
    assert_eq!((read.groups.unwrap().join(""), read.notes.len()), ("u".to_string(), 0));
    let unnamed = ReadOptions { groups: Some("-1".into()), ..expecting(&["b", "a"], None) };
    assert_eq!(table("1,2,p,u\n", &unnamed).groups.unwrap(), ["u"]);
    assert_eq!(
        read_from("1 1:2\n".as_bytes(), "f.svm", &ReadOptions { format: None, ..with("0") }).unwrap_err().to_string(),
        "parameter groups: LIBSVM text has no column of groups; leave it out, or give delimited text"
    );
    assert_eq!(
        crate::data::load("glass", &with("0")).unwrap_err().to_string(),
        "parameter groups: the bundled set glass has no groups; leave it out"
    );
}

#[test]
fn first_row_that_does_not_fit_names_the_guess() {
    let message = message("diagnosis,a,b\nM,1,2\n3,1,2\n", &csv());
    assert!(
        message.ends_with("(the last column, 'b', was taken as the label: name another with `ReadOptions::label`)"),
        "{message}"
    );
}

#[test]
fn label_column_found_by_name_position_or_default() {
    let read = |text: &str, label: Option<&str>| {
        let table = table(text, &ReadOptions { label: label.map(str::to_string), ..csv() });
        (table.labels.unwrap().join(" "), table.samples.names().join(" "))
    };
    let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
    assert_eq!(read("a,Class,b\n1,p,2\n", None), pair("p", "a b"));
    assert_eq!(read("y,b,label\n1,2,3\n", None), pair("3", "y b"));
    assert_eq!(read("a,b,c\n1,2,p\n", None), pair("p", "a b"));
    assert_eq!(read("a,b,c\np,2,3\n", Some("a")), pair("p", "b c"));
    assert_eq!(read("a,b,c\n1,p,3\n", Some("1")), pair("p", "a c"));
    assert_eq!(read("a,b,c\np,2,3\n", Some("-3")), pair("p", "b c"));
    // A column named 1 takes precedence over the second column.
    assert_eq!(read("a,b,1\n1,2,p\n", Some("1")), pair("p", "a b"));
    assert_eq!(read("p,2,3\nq,5,6\n", Some("0")), pair("p q", "x1 x2"));
    let unlabelled = table("1,2\n3,4\n", &ReadOptions { unlabelled: true, ..csv() });
    assert_eq!((unlabelled.labels, unlabelled.samples.n_features()), (None, 2));
}

#[test]
fn header_told_from_the_first_line() {
    let rows = |text: &str| table(text, &csv()).samples.n_samples();
    assert_eq!(rows("1,2,p\n3,4,q\n"), 2);
    assert_eq!(rows("a,b,c\n3,4,q\n"), 1);
    // Numbers as names are a header only if the label's name says so.
    assert_eq!(rows("0,1,label\n3,4,q\n"), 1);
    assert_eq!(rows("0,1,y\n3,4,n\n"), 2);
    let mixed = table("a,2,c\n3,4,q\n", &csv());
    assert_eq!(
        mixed.notes,
        [
            "label: the last column, 'c'; name another with `ReadOptions::label`",
            "line 1 read as a header, though some of its cells are numbers; if it is a row, say `ReadOptions::header = false`"
        ]
    );
    let told = table("1,2,3\n4,5,6\n", &ReadOptions { header: Some(true), ..csv() });
    assert_eq!((told.samples.names(), told.label_name.as_deref()), (&["1".into(), "2".into()][..], Some("3")));
    // A missing-value mark is not a name.
    assert_eq!(rows("1,?,p\n"), 1);
    // A blank before numbers that count columns is not a missing value, but one before other numbers is.
    let counted = table(",0,1,2\n0,5,6,p\n1,7,8,q\n", &csv());
    assert_eq!((counted.samples.names().join(" "), counted.labels.unwrap().join(" ")), ("0 1".into(), "p q".into()));
    assert_eq!(counted.samples.ids().unwrap(), ["0", "1"]);
    for text in [",1,1,p\n", ",0.5,1,p\n", ",-1,1,p\n", ",,1,p\n", "NA,0,1,2\n"] {
        assert!(table(text, &csv()).samples.n_missing() > 0, "{text:?}");
    }
}

#[test]
fn cells_quoted_trimmed_and_blank_names_filled() {
    let table = table("\u{feff}\"a,1\", \"b\"\"q\" ,,y\n 1 ,\"2\", 3.5 ,\" p \"\"x\"\" \"\n", &csv());
    assert_eq!(table.samples.names(), ["a,1", "b\"q", "x3"]);
    assert_eq!(table.samples.features().to_dense().unwrap().data(), [1.0, 2.0, 3.5]);
    assert_eq!(table.labels.unwrap(), ["p \"x\""]);
    assert_eq!(table.label_name.as_deref(), Some("y"));
}

#[test]
fn semicolons_and_tabs_separate() {
    let table = table("a;\"b,c\";y\n1;2;p,q\n", &csv());
    assert_eq!(table.samples.names(), ["a", "b,c"]);
    assert_eq!(table.labels.unwrap(), ["p,q"]);
    let tabs = read_from("a\tb c\ty\n1\t2\t\"p\tq\"\n".as_bytes(), "f.TSV.gz", &Default::default()).unwrap();
    assert_eq!((tabs.samples.names()[1].as_str(), tabs.labels.unwrap()[0].as_str()), ("b c", "p\tq"));
}

#[test]
fn expected_names_matched_in_any_order() {
    let options = expecting(&["a", "b"], Some("kind"));
    let read = table("extra,b,kind,a\nr1,2,p,1\nr2,4,q,3\n", &options);
    assert_eq!(read.samples.names(), ["a", "b"]);
    assert_eq!(read.samples.features().to_dense().unwrap().data(), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!((read.labels.unwrap().join(" "), read.label_name.as_deref()), ("p q".to_string(), Some("kind")));
    assert_eq!(read.notes, ["ids: column 'extra'"]);
    let again = table("extra,b,kind,a\nr1,2,p,1\nr1,4,q,3\n", &options);
    assert_eq!(again.notes, ["ignored columns that the model was not trained on: extra"]);
    // Without the label column, with another label column, and with labels left blank.
    assert_eq!(table("b,a\n2,1\n", &options).labels, None);
    assert_eq!(table("b,a,label\n2,1,p\n", &options).labels, None);
    let told = ReadOptions { label: Some("label".into()), ..options.clone() };
    assert_eq!(table("b,a,label\n2,1,p\n", &told).labels.unwrap(), ["p"]);
    let blank = table("a,b,kind\n1,2,\n3,4,\n", &options);
    assert_eq!((blank.labels, blank.notes.len()), (None, 1));
    let some = table("a,b,kind\n1,2,p\n3,4,\n", &options);
    assert_eq!(
        (some.labels, some.notes[0].to_string().as_str()),
        (None, "1 of 2 labels are missing: rows read as unlabelled")
    );
    let feature = ReadOptions { label: Some("a".into()), ..options.clone() };
    assert_eq!(
        message("b,a,c\n2,1,p\n", &feature),
        "parameter label: column 'a' of f is a feature of the model; choose another"
    );
    // A name that is both label and feature is the feature.
    let both = table("kind,a\n2,1\n", &expecting(&["a", "kind"], Some("kind")));
    assert_eq!((both.labels, both.samples.features().to_dense().unwrap().data()), (None, &[1.0, 2.0][..]));
    // A model whose label had no name accepts a known one, but never a feature.
    assert_eq!(table("y,a,class\n2,1,p\n", &expecting(&["a", "y"], None)).labels.unwrap(), ["p"]);
}

#[test]
fn expected_names_missing_are_listed() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    assert_eq!(
        message("a,q\n1,2\n", &expecting(&names, None)),
        "f: 7 of the 8 expected features are missing: b, c, d, e, f and 2 more; give a table with all of them (the first line was read as names; if the file has none, add `ReadOptions::header = false`)"
    );
    // Right number of columns but none of the names a person gave.
    assert_eq!(
        message("p,q\n1,2\n", &expecting(&["a", "b"], None)),
        "f: 2 of the 2 expected features are missing: a, b; give a table with all of them (the first line was read as names; if the file has none, add `ReadOptions::header = false`)"
    );
}

#[test]
fn expected_positions_used_without_names() {
    let options = expecting(&["a", "b"], None);
    assert_eq!(table("1,2\n3,4\n", &options).samples.features().to_dense().unwrap().data(), [1.0, 2.0, 3.0, 4.0]);
    let labelled = table("1,2,p\n3,4,q\n", &options);
    assert_eq!(
        (labelled.samples.features().to_dense().unwrap().data(), labelled.labels.unwrap().len()),
        (&[1.0, 2.0, 3.0, 4.0][..], 2)
    );
    let first = ReadOptions { label: Some("0".into()), ..options.clone() };
    assert_eq!(table("p,1,2\n", &first).samples.features().to_dense().unwrap().data(), [1.0, 2.0]);
    for text in ["1\n2\n", "1,2,3,4\n"] {
        let n = text.lines().next().unwrap().split(',').count();
        assert_eq!(
            message(text, &options),
            format!(
                "f: found {}, the model expects 2 features (or 3 with a label); {}",
                columns(n),
                if n > 2 {
                    "say what the others are with `ReadOptions::label`, `ReadOptions::id` or `ReadOptions::ignore` and their positions, counted from 0"
                } else {
                    "give a table with all of them"
                }
            )
        );
    }
    let unlabelled = ReadOptions { unlabelled: true, ..options.clone() };
    assert!(message("1,2,3\n", &unlabelled).starts_with("f: found 3 columns"));
    assert!(message("1,2\n", &first).starts_with("f: found 2 columns"));
}

#[test]
fn expected_numbered_names_match_other_headers_by_position() {
    for names in [["x1", "x2"], ["x0", "x1"]] {
        let read = table("p,q,class\n1,2,u\n", &expecting(&names, None));
        assert_eq!(
            (read.samples.features().to_dense().unwrap().data(), read.labels.unwrap()[0].as_str()),
            (&[1.0, 2.0][..], "u")
        );
        assert_eq!(read.notes, ["columns matched by position: the model's features have no names"]);
        assert_eq!(table("p,q\n1,2\n", &expecting(&names, None)).labels, None);
        assert_eq!(table("kind,p,q\nu,1,2\n", &expecting(&names, Some("kind"))).labels.unwrap(), ["u"]);
        assert!(message("p\n1\n", &expecting(&names, None)).starts_with("f: found 1 column,"));
    }
    // One name that does fit rules guessing out.
    assert!(message("x1,q\n1,2\n", &expecting(&["x1", "x2"], None)).contains("missing: x2"));
    // Numbers as names are a header if all of them are in the first line.
    assert_eq!(
        table("1,0\n5,6\n", &expecting(&["0", "1"], None)).samples.features().to_dense().unwrap().data(),
        [6.0, 5.0]
    );
}

#[test]
fn table_above_the_memory_limit_refused() {
    let options = ReadOptions { memory: Some(1000), ..csv() };
    let text = "1,2,3\n".repeat(60);
    assert!(message(&text, &options).starts_with("f: a table of 21 rows and 2 columns needs"));
}

/// Cells that need every kind of quoting.
fn cell() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "\"", ",", ";", "\n", " ", "é", "1", "#"]), 0..6)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn split_agrees_with_an_independent_reader(
        rows in prop::collection::vec(prop::collection::vec(cell(), 2..4), 1..6),
        always in any::<bool>(),
    ) {
        let style = if always { csv::QuoteStyle::Always } else { csv::QuoteStyle::Necessary };
        let mut writer = csv::WriterBuilder::new().flexible(true).quote_style(style).from_writer(Vec::new());
        for row in &rows {
            writer.write_record(row).unwrap();
        }
        let text = writer.into_inner().unwrap();
        let source = super::super::text::Source::open(&text[..], "f").unwrap();
        let mut records = Records { lines: source.lines(u64::MAX), delimiter: ',' };
        let mut cells = Cells::default();
        let mut line = 1;
        for row in &rows {
            prop_assert!(records.next(&mut cells).unwrap());
            let found: Vec<&str> = cells.cells().collect();
            prop_assert_eq!(&found, &row.iter().map(|cell| cell.trim()).collect::<Vec<_>>());
            prop_assert_eq!(cells.line(), line);
            line += 1 + row.iter().map(|cell| cell.matches('\n').count() as u64).sum::<u64>();
        }
        prop_assert!(!records.next(&mut cells).unwrap());
    }
}
