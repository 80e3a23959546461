use super::*;
use crate::data::{Decimal, Expect, read_from};

/// The notes joined into one text.
fn texts(notes: &[Message]) -> String {
    notes.iter().map(Message::to_string).collect::<Vec<_>>().join("; ")
}

fn read(text: &str, options: &ReadOptions) -> Result<Table> {
    read_from(text.as_bytes(), "f.csv", options)
}

fn table(text: &str, options: &ReadOptions) -> Table {
    read(text, options).unwrap()
}

fn message(text: &str, options: &ReadOptions) -> String {
    read(text, options).unwrap_err().to_string()
}

fn values(table: &Table) -> Vec<f64> {
    table.samples.features().to_dense().unwrap().data().to_vec()
}

fn plain() -> ReadOptions {
    ReadOptions::default()
}

/// Rows generated from their number, counted from 1.
fn rows(header: &str, n: usize, row: impl Fn(usize) -> String) -> String {
    header.to_string() + &(1..=n).map(|i| row(i) + "\n").collect::<String>()
}

fn expecting(names: &[&str], classes: &[&str]) -> ReadOptions {
    let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
    ReadOptions::expecting(Expect::new(texts(names), None, None).with_classes(texts(classes)))
}

#[test]
fn one_column_too_many_is_the_label_only_if_it_holds_nothing_but_classes() {
    let options = expecting(&["a", "b"], &["p", "q"]);
    for (text, labels) in [("1,2,p\n3,4,q\n", "p q"), ("p,1,2\np,3,4\n", "p p"), ("1,2,p\n3,4,\n5,6,q\n", "")] {
        let table = table(text, &options);
        assert_eq!(
            (&values(&table)[..2], table.labels.unwrap_or_default().join(" ")),
            (&[1.0, 2.0][..], labels.into())
        );
    }
    let label = table("1,2,p\n3,4,q\n", &options);
    assert_eq!(label.label_column.as_deref(), Some("column 3 (the last)"));
    assert_eq!(label.notes[1], "label: column 3 (the last), which holds only classes of the model");
    let found = "f.csv: found 3 columns, the model expects 2 features (or 3 with a label)";
    let advice = "say what the others are with `ReadOptions::label`, `ReadOptions::id` or `ReadOptions::ignore` and their positions, counted from 0";
    for (text, why) in [
        // Row numbers, patients, measurements.
        ("1,5,6\n2,7,8\n", ", and neither the first nor the last column holds only classes of the model"),
        ("907,5,6\n33,7,8\n", ", and neither the first nor the last column holds only classes of the model"),
        ("0.5,5,p\n0.7,7,x\n", ", and neither the first nor the last column holds only classes of the model"),
    ] {
        assert_eq!(message(text, &options), format!("{found}{why}; {advice}"), "{text:?}");
    }
    // Ids that cannot be features.
    let ids = ReadOptions { header: Some(false), ..options.clone() };
    let table = table("s1,1,2\ns2,3,4\n", &ids);
    assert_eq!((values(&table), table.samples.ids().unwrap().join(" ")), (vec![1.0, 2.0, 3.0, 4.0], "s1 s2".into()));
    assert_eq!(message("1,2,3,p\n", &options), format!("{found}; {advice}").replace("3 columns", "4 columns"));
}

#[test]
fn rows_left_out_are_counted_in_row_numbers_and_not_in_missing_values() {
    let drop = ReadOptions { missing_labels: MissingLabels::Drop, ..plain() };
    let found = table("a,b,label\n1,2,p\n3,NA,NA\n,,q\n5,,q\n7,8,p\n", &drop);
    let numbers = |samples: &Samples| (0..samples.n_samples()).map(|i| samples.row_number(i)).collect::<Vec<_>>();
    assert_eq!(numbers(&found.samples), [1, 4, 5]);
    assert_eq!(numbers(&found.samples.select_rows(&[2, 1])), [5, 4]);
    assert_eq!(*found.notes.last().unwrap(), "missing values: 1, in 1 of 2 columns");
}

#[test]
fn none_is_a_class_among_words_and_missing_among_numbers() {
    let drop = ReadOptions { missing_labels: MissingLabels::Drop, ..plain() };
    let words = "a,label\n1,Mild\n2,None\n3,NA\n4,None\n5,Mild\n";
    let found = table(words, &drop);
    assert_eq!(found.labels.unwrap(), ["Mild", "None", "None", "Mild"]);
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.to_string().starts_with("the label 'None' is taken as a class of its own; "))
    );
    assert_eq!(table("a,label\n1,0\n2,none\n3,1\n", &drop).labels.unwrap(), ["0", "1"]);
    let refused = "f.csv:4:2: the label is missing ('NA'); fill it in, or leave such rows out with `ReadOptions::missing_labels = Drop`";
    assert_eq!(message(words, &plain()), refused);
    // In prediction the classes of the model decide.
    let of = |classes: &[&str]| texts(&table(words, &expecting(&["a"], classes)).notes);
    assert!(of(&["Mild", "None"]).contains("1 of 5 labels are missing"), "{}", of(&["Mild", "None"]));
    assert!(of(&["Mild", "Bad"]).contains("3 of 5 labels are missing"), "{}", of(&["Mild", "Bad"]));
    // Among the words of a feature it is one more word.
    let found = table("a,b,label\n1,x,p\n2,None,q\n3,y,p\n", &plain()).samples;
    assert_eq!([0, 1, 2].map(|i| found.text(i, 1).unwrap()), ["x", "None", "y"]);
}

#[test]
fn rows_without_any_value_are_predicted_with_a_warning() {
    let found = table("a,b\n1,2\n,NA\n3,4\n,\n", &expecting(&["a", "b"], &["p", "q"]));
    assert_eq!(found.samples.n_samples(), 4);
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.to_string().starts_with("warning: 2 rows without any value, the first in f.csv:3:"))
    );
    assert_eq!(
        found.into_dataset().unwrap_err().to_string(),
        "f.csv: row 2 has no value at all; remove it, or fill values in"
    );
}

#[test]
fn pairs_of_words_are_read_as_1_and_0() {
    let text = "a,b,c,d,label\nTrue,yes,T,1,yes\nFALSE,No,f,2,no\n,yes,T,3,no\n";
    let found = table(text, &plain());
    assert_eq!(values(&found)[..8], [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 2.0]);
    assert!(values(&found)[8].is_nan());
    assert_eq!(found.labels.unwrap(), ["yes", "no", "no"]);
    assert_eq!(
        found.notes,
        [
            "read as 1/0: True/False in a",
            "read as 1/0: yes/no in b",
            "read as 1/0: T/F in c",
            "missing values: 1, in 1 of 4 columns"
        ]
    );
    assert_eq!(values(&table("d,a\n1,true\n2,false\n", &expecting(&["a", "d"], &["p"]))), [1.0, 1.0, 0.0, 2.0]);
    for column in ["yes\nmaybe\nno\nno", "True\nno\nTrue", "True\n1\nFalse"] {
        let rows: String = column.lines().map(|cell| format!("{cell},1,p\n")).collect();
        // No such pair, so categories.
        assert_eq!(table(&format!("a,b,label\n{rows}"), &plain()).samples.kind(0), Kind::Category, "{column}");
    }
}

#[test]
fn tables_that_look_turned_are_refused_with_the_advice_to_turn_them() {
    let header: String = (1..=80).map(|i| format!(",patient{i}")).collect();
    let line = |name: &str, cell: &dyn Fn(usize) -> String| {
        name.to_string() + &(1..=80).map(|i| format!(",{}", cell(i))).collect::<String>() + "\n"
    };
    let genes: String = (1..=5).map(|g| line(&format!("g{g}"), &|i| format!("{i}.{g}"))).collect();
    let text = format!("gene{header}\n{genes}{}", line("diagnosis", &|i| ["M", "B"][i % 2].into()));
    let refused = message(&text, &plain());
    let start = "f.csv:7:2: 79 columns have cells that are not numbers; nearly all are in line 7: if samples are in \
                 columns, say `ReadOptions::transpose`; else correct them\n";
    assert!(refused.starts_with(start), "{refused}");
    assert!(refused.len() < 500, "{refused}");
    // New rows for a model whose features are in the first column.
    let new = message(&text, &expecting(&["g1", "g2", "g3", "g4", "g5"], &["M", "B"]));
    assert!(new.ends_with(
        "; the model's features stand in the first column: if samples are in columns, add `ReadOptions::transpose`"
    ));
}

#[test]
fn words_are_categories_and_columns_of_one_word_are_left_out() {
    let text = "a,b,c,\"x,y\",label\n1,u,v,w,p\n2,u,v,w,q\n3,z,v,k,p\n";
    let ignore = ReadOptions { ignore: vec!["x,y".into()], ..plain() };
    let found = table(text, &ignore);
    assert_eq!((found.samples.names().join(" "), found.samples.kind(1)), ("a b".into(), Kind::Category));
    assert_eq!([0, 1, 2].map(|i| found.samples.text(i, 1).unwrap()), ["u", "u", "z"]);
    let notes = texts(&found.notes);
    assert!(notes.contains("column 'c' left out as constant: it is 'v' in every row"), "{notes}");
    assert!(notes.contains("taken as categories (how many): b (2)"), "{notes}");
}

#[test]
fn a_first_line_read_as_names_is_told_where_they_do_not_fit() {
    let hint = "(the first line was read as names; if the file has none, add `ReadOptions::header = false`)";
    assert!(message("x,1,p\ny,2,q\n", &expecting(&["a", "b"], &["p", "q"])).ends_with(hint));
    assert!(message("s,NA,NA,1\nt,2,2,1\n", &plain()).ends_with(hint));
    let told = ReadOptions { header: Some(true), ..plain() };
    assert!(message("s,NA,NA,1\nt,2,2,1\n", &told).ends_with("rename one"));
}

#[test]
fn near_names_are_asked_for() {
    let text = "Survived,alcohol,c\n1,2,p\n3,4,q\n";
    for (wanted, near) in [("surived", "Survived"), ("survived", "Survived"), ("alcool", "alcohol")] {
        let options = ReadOptions { label: Some(wanted.into()), ..plain() };
        let asked = format!("f.csv has no column '{wanted}' (did you mean '{near}'?); give a name");
        assert!(message(text, &options).contains(&asked), "{}", message(text, &options));
    }
}

#[test]
fn labels_of_rows_to_predict_are_kept_where_some_are_missing() {
    let found = table("a,label\n1,p\n2,NA\n3,q\n", &expecting(&["a"], &["p", "q"]));
    assert_eq!((found.labels, found.some_labels.unwrap()), (None, vec!["p".into(), "".into(), "q".into()]));
}

#[test]
fn classes_that_are_numbers_leave_no_doubt_or_are_refused() {
    let options = expecting(&["a", "b"], &["0", "1"]);
    assert_eq!(table("2.5,7,1\n3.5,8,0.0\n", &options).labels.unwrap(), ["1", "0.0"]);
    for (text, why) in [
        ("1,5,0\n0,7,1\n", "both column 0 and column 2 (from 0) hold only classes of the model"),
        // An id before features of which the last is 0 or 1.
        ("907,5,0\n33,7,1\n", "column 0 may be ids as well as column 2 (from 0) may be the label"),
    ] {
        assert!(message(text, &options).contains(why), "{}", message(text, &options));
    }
    for option in ["label=-1", "id=0", "ignore=0"] {
        let (option, wanted) = option.split_once('=').unwrap();
        let mut told = options.clone();
        match option {
            "label" => told.label = Some(wanted.into()),
            "id" => told.id = Some(wanted.into()),
            _ => told.ignore = vec![wanted.into()],
        }
        let table = table("907,5,0\n33,7,1\n", &told);
        let expected = if option == "label" { [907.0, 5.0, 33.0, 7.0] } else { [5.0, 0.0, 7.0, 1.0] };
        assert_eq!(values(&table), expected, "{option}");
    }
}

#[test]
fn label_that_is_guessed_is_told() {
    let notes = |text: &str| texts(&table(text, &plain()).notes);
    assert_eq!(
        notes("class,age,survived\nyes,30,1\nno,20,0\n"),
        "label: the column 'class', by its name; the last column is 'survived': name it with `ReadOptions::label = \"survived\"` if that is \
         meant"
    );
    assert_eq!(notes("age,class\n30,yes\n20,no\n"), "");
    assert_eq!(
        notes("age,kind\n30,yes\n20,no\n"),
        "label: the last column, 'kind'; name another with `ReadOptions::label`"
    );
    let bare = table("30,yes\n20,no\n", &plain());
    assert_eq!(bare.label_column.as_deref(), Some("column 2 (the last)"));
    assert_eq!(
        bare.notes,
        [
            "label: column 2 (the last); the file has no names: give another by its position, `ReadOptions::label = \"0\"` to 1"
        ]
    );
    assert_eq!(bare.into_dataset().unwrap().label_column.as_deref(), Some("column 2 (the last)"));
}

#[test]
fn ids_known_by_name_if_their_values_differ() {
    for name in ["patient_id", "PassengerId", "PatientID", "ID", "Sample", "row-id", "uuid", "subject"] {
        let text = format!("a,{name},label\n1,7,p\n2,9,q\n");
        let found = table(&text, &plain());
        assert_eq!(
            (found.samples.ids().unwrap().join(" "), found.samples.id_name()),
            ("7 9".into(), Some(name)),
            "{name}"
        );
        assert_eq!(
            (found.samples.names(), found.notes),
            (&["a".to_string()][..], vec![format!("ids: column '{name}'").into()])
        );
        // Repeated values belong to a feature.
        let found = table(&text.replace('9', "7"), &plain());
        assert_eq!((found.samples.ids(), found.samples.n_features()), (None, 2));
        let warning = format!(
            "warning: column '{name}' looks like an id column, but its values repeat or are missing, so it is used as a feature"
        );
        assert!(found.notes[0].to_string().starts_with(&warning), "{:?}", found.notes);
        let name = Some(name.to_string());
        let remedies = [&Remedy::Groups(name.clone()), &Remedy::Ignore(name.clone().into_iter().collect())];
        assert_eq!(found.notes[0].remedies().collect::<Vec<_>>(), remedies);
        // Ids are not mandatory.
        let none = table(&text, &ReadOptions { id: Some("none".into()), ..plain() });
        assert_eq!((none.samples.ids(), none.samples.n_features(), none.notes.len()), (None, 2, 0));
    }
    for name in ["paid", "COVID", "acid", "grid", "hybrid"] {
        assert_eq!(table(&format!("a,{name},label\n1,7,p\n2,9,q\n"), &plain()).samples.n_features(), 2, "{name}");
    }
    let two = table("patient_id,sample_id,a,label\n1,8,5,p\n2,9,6,q\n", &plain());
    assert_eq!((two.samples.id_name(), two.samples.names()), (Some("sample_id"), &["a".to_string()][..]));
    assert_eq!(two.notes[1], "column 'patient_id' left out: it holds ids as well");
}

#[test]
fn what_is_to_be_predicted_is_no_id() {
    let rows = rows("case,nr,event\n", 30, |i| format!("0.{i},{},{}", i + 1, i % 2));
    for (target, event) in [("nr", Some("event")), ("nr", None), ("case", None)] {
        let event = event.map(String::from);
        let found = table(&rows, &ReadOptions { target: vec![target.into()], event, ..plain() });
        assert!(found.samples.names().iter().any(|name| name == target), "{target}: {:?}", texts(&found.notes));
    }
    let told = ReadOptions { kinds: vec![("nr".into(), Kind::Number.into())], ..plain() };
    assert!(table(&rows, &told).samples.names().contains(&"nr".to_string()));
}

#[test]
fn ids_known_by_their_values() {
    let found = |text: &str, options: &ReadOptions| {
        let table = table(text, options);
        (table.samples.ids().map(|ids| ids[1].clone()), table.samples.names().join(" "), texts(&table.notes))
    };
    let counted = rows("a,nr,label\n", 20, |i| format!("0.{i},{:03},{}", i + 6, i % 2));
    let (ids, names, notes) = found(&counted, &plain());
    assert_eq!((ids.as_deref(), names.as_str()), (Some("008"), "a"));
    assert_eq!(notes, "ids: column 'nr', which counts the rows; if it is a feature, say `ReadOptions::id = \"none\"`");
    assert_eq!(found(&counted, &ReadOptions { id: Some("none".into()), ..plain() }).1, "a nr");
    // Too few rows to decide, and the only feature.
    assert_eq!(found(&rows("a,nr,label\n", 19, |i| format!("0.{i},{i},{}", i % 2)), &plain()).1, "a nr");
    assert_eq!(found(&rows("nr,label\n", 30, |i| format!("{i},{}", i % 2)), &plain()).1, "nr");
    // Distinct whole numbers are noted, others are not.
    let (ids, names, notes) = found(&rows("a,b,label\n", 30, |i| format!("{},{}.5,{}", i * i, i, i % 2)), &plain());
    assert_eq!((ids, names.as_str()), (None, "a b"));
    assert_eq!(
        notes,
        "warning: column 'a' looks like an id: whole numbers that all differ; leave it out with `ReadOptions::ignore = [\"a\"]`, or name it \
         with `ReadOptions::id = \"a\"`"
    );
    // Nor is what is to be predicted.
    let predicted = ReadOptions { target: vec!["a".into()], ..plain() };
    assert_eq!(found(&rows("a,b\n", 30, |i| format!("{},{}.5", i * i, i)), &predicted).2, "");
    assert_eq!(
        found(&rows("a;b;label\n", 30, |i| format!("{i},5;{};{}", i / 2, i % 2)), &plain()).2,
        "decimal commas in a"
    );
    assert_eq!(found(&rows("a,b,label\n", 30, |i| format!("{},{},{}", i / 2, 30 - i / 3, i % 2)), &plain()).2, "");
    // A first column of texts.
    let (ids, names, notes) = found(&rows("name,a,label\n", 3, |i| format!("n{i},{i},{}", i % 2)), &plain());
    assert_eq!((ids.as_deref(), names.as_str()), (Some("n2"), "a"));
    assert_eq!(notes, "ids: column 'name', the first, whose texts all differ");
    // A later one is a category while there are few rows, and no feature once there are many.
    let few = found(&rows("a,name,label\n", 3, |i| format!("{i},n{i},{}", i % 2)), &plain());
    assert!(few.1 == "a name" && few.2.contains("taken as categories (how many): name (3)"), "{few:?}");
    let many = found(&rows("a,name,label\n", 40, |i| format!("{}.5,n{i},{}", i % 7, i % 2)), &plain());
    assert!(many.1 == "a" && many.2.contains("column 'name' left out as id: all its texts differ"), "{many:?}");
}

#[test]
fn labels_that_are_numbers_to_predict_are_told_or_refused() {
    let label = |n: usize, label: fn(usize) -> String| {
        let text = rows("a,y\n", n, |i| format!("0.{},{}", i % 7, label(i)));
        read(&text, &plain()).map(|table| texts(&table.notes)).map_err(|error| error.to_string())
    };
    let reads = "reads as a number to predict: say so with `ReadOptions::target = [\"y\"]`; if each number is a class of its \
                 own, put them into a few bins; else name the column of classes with `ReadOptions::label`";
    assert_eq!(
        label(770, |i| format!("{}.5", i % 77)).unwrap(),
        format!("warning: the label column 'y' has 77 different numbers in 770 rows and {reads}")
    );
    assert_eq!(
        label(60, |i| format!("{i}.25")).unwrap_err(),
        format!("f.csv: the label column 'y' has 60 different numbers in 60 rows and {reads}")
    );
    // Digits, codes of 26 letters, words, and many rows of each.
    for few in [
        (|i| (i % 10).to_string()) as fn(usize) -> String,
        |i| (i % 26).to_string(),
        |i| (i % 26 + 1).to_string(),
        |i| format!("c{}", i % 60),
    ] {
        assert_eq!(label(300, few).unwrap(), "");
    }
    assert_eq!(label(3000, |i| format!("{}.5", i % 30)).unwrap(), "");
}

#[test]
fn all_problems_of_a_file_are_told_at_once() {
    let text = "id,name,sex,age,fare,class\n1,Ann,f,30,7,p\n2,\"Bob, B\",m,?,x,q\n3,Cyd,f,20,9,\n4,Dan,m,1,2,\n";
    assert_eq!(
        message(text, &plain()),
        "f.csv:3:5: 'x' in column 'fare' is not a number; correct it, or leave the column out with `ReadOptions::ignore = [\"fare\"]`\
         \n  also f.csv:4:6: the label is missing (and in 1 more row); fill it in, or leave such rows out with \
         `ReadOptions::missing_labels = Drop`"
    );
    let words = |n: usize| {
        let (names, cells): (Vec<String>, Vec<String>) = (0..n).map(|k| (format!("w {k}"), "red".to_string())).unzip();
        // Words among numbers, which are no categories.
        let numbers = vec!["7"; n].join(",");
        format!("{},b,label\n{},1,p\n{numbers},2,q\n", names.join(","), cells.join(","))
    };
    let many = message(&words(30), &plain());
    assert!(
        many.contains("`ReadOptions::ignore = [\"w 0\", \"w 1\", ") && many.contains("\"w 19\", .. 10 more]`\n"),
        "{many}"
    );
    assert!(many.ends_with("\n  and 10 more columns"), "{many}");
    // A name with a comma in it is left out by its position.
    let comma = message("\"a,b\",c,label\nred,1,p\n7,2,q\n", &plain());
    assert!(comma.contains("with `ReadOptions::ignore = [\"0\"]`"), "{comma}");
}

#[test]
fn rows_without_labels_or_values_are_dropped_where_that_is_asked_for() {
    let drop = ReadOptions { missing_labels: MissingLabels::Drop, ..plain() };
    let text = "id,a,b,label\n1,1,2,p\n2,3,4,\n3,,NA,q\n4,5,6,q\n";
    let found = table(text, &drop);
    assert_eq!((values(&found), found.labels.unwrap().join(" ")), (vec![1.0, 2.0, 5.0, 6.0], "p q".into()));
    assert_eq!(found.samples.ids().unwrap(), ["1", "4"]);
    assert!(found.notes.contains(&"rows without a label or without any value left out: 2 of 4".into()));
    assert_eq!(
        message(text, &plain()),
        "f.csv:3:4: the label is missing; fill it in, or leave such rows out with `ReadOptions::missing_labels = Drop`\
         \n  also f.csv:4: the row has no value at all; remove it, fill values in, or leave such rows out with \
         `ReadOptions::missing_labels = Drop`"
    );
    assert!(message("a,label\n1,\n2,\n", &drop).contains("the label is missing (and in 1 more row)"));
}

#[test]
fn marks_and_errors_of_spreadsheets_are_missing_among_numbers() {
    for mark in ["#N/A", "#NA", "#VALUE!", "#DIV/0!", "#NULL!", "-", ".", "..", "--", "*"] {
        let table = table(&format!("a,b,label\n1,{mark},p\n2,3,q\n"), &plain());
        assert_eq!((table.samples.n_missing(), values(&table)[3]), (1, 3.0), "{mark}");
    }
    let noted = table("a,b,label\n1,-,p\n2,3,q\n", &plain()).notes;
    assert_eq!(noted, ["marks such as - read as missing values in b", "missing values: 1, in 1 of 2 columns"]);
    assert!(message("a,b,label\n1,-,p\n2,+,q\n", &plain()).starts_with("f.csv:3:2: '+' in column 'b' is not a number"));
}

#[test]
fn other_ways_of_writing_numbers_are_read_where_a_column_agrees() {
    let b = |cells: [&str; 3]| {
        let text = rows("a;b;label\n", 3, |i| format!("{i};{};p", cells[i - 1]));
        let table = read(&text, &plain()).map_err(|error| error.to_string())?;
        Ok::<_, String>((values(&table).chunks(2).map(|row| row[1]).collect::<Vec<_>>(), texts(&table.notes)))
    };
    for (cells, expected, note) in [
        (["1,5", "2", "0,25"], [1.5, 2.0, 0.25], "decimal commas in b"),
        (["1.234,5", "1.234", "7"], [1234.5, 1234.0, 7.0], "decimal commas in b; thousands separators in b"),
        (["1.000,5", "2.000", "3"], [1000.5, 2000.0, 3.0], "decimal commas in b; thousands separators in b"),
        (
            ["1 234,5", "2", "-"],
            [1234.5, 2.0, f64::NAN],
            "decimal commas in b; marks such as - read as missing values in b",
        ),
        (["1,234.5", "1,234", "2.5"], [1234.5, 1234.0, 2.5], "thousands separators in b"),
        (["1,234,567", "1,234", "2"], [1_234_567.0, 1234.0, 2.0], "thousands separators in b"),
        (["12%", "7.5 %", "0%"], [12.0, 7.5, 0.0], "percent signs (12% is read as 12) in b"),
        (["12,5%", "7%", "0%"], [12.5, 7.0, 0.0], "decimal commas in b; percent signs (12% is read as 12) in b"),
    ] {
        let (found, notes) = b(cells).unwrap();
        let same = found.iter().zip(expected).all(|(a, b)| *a == b || (a.is_nan() && b.is_nan()));
        assert!(same, "{cells:?}: {found:?}");
        assert!(notes.contains(note), "{notes}");
    }
    for (cells, line, why) in [
        (["1,234", "2,345", "7"], 2, "has a comma that may mark decimals or thousands, and no other cell says which"),
        (["1,5", "2.5", "3"], 2, "is not written as the other numbers of its column or file are"),
        (["12%", "13", "14"], 2, "is not written as the other numbers of its column or file are"),
        (["1,5", "oops", "3"], 3, "is not a number, like 1 more cell of it"),
    ] {
        let message = b(cells).unwrap_err();
        assert!(message.starts_with(&format!("f.csv:{line}:2: ")) && message.contains(why), "{message}");
    }
    // The rest of the file, or an option, says what a comma means.
    let text = "a;b;label\n1,234;OTHER;p\n2;3;q\n";
    assert_eq!(values(&table(&text.replace("OTHER", "0,5"), &plain()))[0], 1.234);
    assert_eq!(values(&table(&text.replace("OTHER", "0.5"), &plain()))[0], 1234.0);
    for (decimal, value) in [(Decimal::Comma, 1.234), (Decimal::Point, 1234.0)] {
        let told = ReadOptions { decimal: Some(decimal), ..plain() };
        assert_eq!(values(&table(&text.replace("OTHER", "7"), &told))[0], value);
    }
    // If decimals use commas, points separate thousands in other columns, too.
    assert_eq!(values(&table(&text.replace("OTHER", "1.500").replace("1,234", "1,2"), &plain()))[1], 1500.0);
}

#[test]
fn bars_and_tabs_separate() {
    let bars = table("a|\"b|c\"|label\n1|2,5|p\n2|3|q\n", &plain());
    assert_eq!((bars.samples.names().join(" "), values(&bars)), ("a b|c".into(), vec![1.0, 2.5, 2.0, 3.0]));
    let tabs = table("a\tb\tlabel\n1\t2\tp\n2\t3\tq\n", &plain());
    assert_eq!(tabs.samples.names(), ["a", "b"]);
}

#[test]
fn tables_with_samples_in_columns_are_turned() {
    let turned = ReadOptions { transpose: true, ..plain() };
    let text = "gene,s1,s2,s3\ng1,1,2,3\n\"g,2\",\"4,5\",NA,6\nclass,p,q,p\n";
    let found = table(text, &turned);
    assert_eq!((found.samples.names().join(" "), found.labels.unwrap().join(" ")), ("g1 g,2".into(), "p q p".into()));
    assert_eq!(found.samples.ids().unwrap(), ["s1", "s2", "s3"]);
    assert_eq!(found.samples.features().to_dense().unwrap().row(2), [3.0, 6.0]);
    assert_eq!(found.samples.id_name(), None);
    // If no row has a label name, the last is the label.
    let last = table("gene,s1,s2\ng1,1,2\ndiagnosis,M,B\n", &turned);
    assert_eq!(last.labels.unwrap(), ["M", "B"]);
    assert_eq!(
        last.notes,
        ["ids: the first line", "label: the last line, 'diagnosis'; name another with `ReadOptions::label`"]
    );
    assert_eq!(
        message("gene,s1,s2\ng1,1,2\ng2,3,oops\nclass,p,q\n", &turned),
        "f.csv:3: 'oops' in column 'g2' is not a number; correct it, or leave the column out with `ReadOptions::ignore = [\"g2\"]`"
    );
    assert!(message("gene\ng1\n", &turned).contains("first line of sample ids"));
    // A numeric target in a table of texts and sample names.
    let guess = rows("gene,s1,s2,s3,s4\n", 30, |i| format!("g{i},{i},2,3,{i}.5"));
    assert!(message(&guess, &plain()).ends_with("(if samples are in columns, add `ReadOptions::transpose`)"));
}

#[test]
fn rows_without_values_are_named_by_their_line_behind_blank_lines_and_breaks_in_quotes() {
    let text = "a,b,label\n1,2,p\n\n\n3,4,q\n\"5\n\",6,p\n7,8,q\n,,p\n,,q\n";
    assert!(message(text, &plain()).starts_with("f.csv:9: the row has no value at all (and in 1 more row)"));
}
