use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use proptest::prelude::*;

use super::*;
use crate::data::{Expect, Features, MissingLabels, View, group_columns, load};
use crate::dist::Rng;

/// Files that are removed when dropped.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        files.iter().for_each(|(name, text)| folder.write(name, text.as_bytes()));
        folder
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// Reads views given as `name=file`.
    fn read(&self, views: &[&str], labels: Option<&str>, options: &ReadOptions) -> Result<Table> {
        let view = |text: &&str| {
            let (name, file) = text.split_once('=').unwrap();
            ViewSource { name: name.into(), source: self.path(file) }
        };
        let views: Vec<ViewSource> = views.iter().map(view).collect();
        read_views(&views, labels.map(|file| self.path(file)).as_deref(), options)
    }

    /// A message without the folder's name.
    fn bare(&self, text: &str) -> String {
        text.replace(&self.path(""), "")
    }

    fn message(&self, views: &[&str], labels: Option<&str>, options: &ReadOptions) -> String {
        self.bare(&self.read(views, labels, options).unwrap_err().to_string())
    }

    fn notes(&self, table: &Table) -> Vec<String> {
        table.notes.iter().map(|note| self.bare(&note.to_string())).collect()
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| text.to_string()).collect()
}

/// Options from words `option=value`.
fn options(words: &[&str]) -> ReadOptions {
    let mut options = ReadOptions::default();
    for word in words {
        let (option, value) = word.split_once('=').unwrap();
        match option {
            "id" => options.id = Some(value.into()),
            "label" => options.label = Some(value.into()),
            "groups" => options.groups = Some(value.into()),
            "ignore" => options.ignore.push(value.into()),
            "target" => options.target.push(value.into()),
            "event" => options.event = Some(value.into()),
            "missing" => options.missing_labels = if value == "drop" { MissingLabels::Drop } else { panic!("{value}") },
            "header" => options.header = Some(value == "yes"),
            "memory" => options.memory = value.parse().ok(),
            _ => panic!("{option}"),
        }
    }
    options
}

fn rows(table: &Table) -> Vec<Vec<Option<f64>>> {
    let matrix = table.samples.features().to_dense().unwrap();
    matrix.rows().map(|row| row.iter().map(|&value| (!value.is_nan()).then_some(value)).collect()).collect()
}

/// A random study: the columns of each view and the cells of each sample that has it.
struct Study {
    columns: Vec<usize>,
    cells: Vec<BTreeMap<String, Vec<Option<f64>>>>,
    labels: BTreeMap<String, String>,
}

impl Study {
    fn draw(rng: &mut Rng) -> Study {
        let columns: Vec<usize> = (0..1 + rng.below(3)).map(|_| 1 + rng.below(3)).collect();
        let mut study = Study { cells: vec![BTreeMap::new(); columns.len()], columns, labels: BTreeMap::new() };
        for s in 0..1 + rng.below(9) {
            let id = format!("s{s}");
            for (cells, &n) in study.cells.iter_mut().zip(&study.columns) {
                if rng.below(3) > 0 {
                    let cell = |_| (rng.below(4) > 0).then(|| rng.below(100) as f64 / 4.0);
                    cells.insert(id.clone(), (0..n).map(cell).collect());
                }
            }
            let has_value = |cells: &BTreeMap<String, Vec<Option<f64>>>| {
                cells.get(&id).is_some_and(|cells| cells.iter().any(Option::is_some))
            };
            if study.cells.iter().any(has_value) {
                study.labels.insert(id, ["p", "q"][rng.below(2)].to_string());
            } else {
                study.cells.iter_mut().for_each(|cells| drop(cells.remove(&id)));
            }
        }
        study
    }

    /// The text of a view, its rows and columns in the given order.
    fn text(&self, v: usize, ids: &[String], columns: &[usize], labelled: bool) -> String {
        let mut text = "id".to_string();
        text.extend(columns.iter().map(|j| format!(",c{j}")));
        text += if labelled { ",label\n" } else { "\n" };
        for id in ids {
            text += id;
            for &j in columns {
                text += ",";
                text += &self.cells[v][id][j].map_or("NA".to_string(), |value| value.to_string());
            }
            text += &if labelled { format!(",{}\n", self.labels[id]) } else { "\n".to_string() };
        }
        text
    }

    /// The cells of a sample in all views, looked up one by one.
    fn row(&self, id: &str) -> Vec<Option<f64>> {
        let cell = |v: usize, j: usize| self.cells[v].get(id).and_then(|cells| cells[j]);
        (0..self.columns.len())
            .flat_map(|v| (0..self.columns[v]).map(move |j| (v, j)))
            .map(|(v, j)| cell(v, j))
            .collect()
    }
}

fn shuffled<T: Clone>(rng: &mut Rng, items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    rng.shuffle(&mut items);
    items
}

#[test]
fn joined_tables_hold_the_cells_of_their_files_whatever_the_order() {
    let mut rng = Rng::new(3, 0);
    let mut joined = 0;
    for _ in 0..80 {
        let study = Study::draw(&mut rng);
        if study.labels.is_empty() || study.cells.iter().any(BTreeMap::is_empty) {
            continue;
        }
        joined += 1;
        let folder = Folder::new(&[]);
        let names: Vec<String> = (0..study.columns.len()).map(|v| format!("v{v}=v{v}.csv")).collect();
        let views: Vec<&str> = names.iter().map(String::as_str).collect();
        let write = |rng: &mut Rng, labelled: bool| -> Vec<String> {
            let mut order: Vec<String> = Vec::new();
            for v in 0..study.columns.len() {
                let ids = shuffled(rng, study.cells[v].keys().cloned());
                let columns: Vec<usize> = (0..study.columns[v]).collect();
                folder.write(&format!("v{v}.csv"), study.text(v, &ids, &columns, labelled).as_bytes());
                order.extend(ids);
            }
            let mut seen = HashSet::new();
            order.into_iter().filter(|id| seen.insert(id.clone())).collect()
        };
        let check = |table: &Table, order: &[String]| {
            assert_eq!(table.samples.ids().unwrap(), order);
            assert_eq!(rows(table), order.iter().map(|id| study.row(id)).collect::<Vec<_>>());
            let labels: Vec<String> = order.iter().map(|id| study.labels[id].clone()).collect();
            assert_eq!(table.labels.as_ref().unwrap(), &labels);
            let mut start = 0;
            for (view, (v, &n)) in table.samples.views().iter().zip(study.columns.iter().enumerate()) {
                assert_eq!((view.name.as_str(), view.columns.clone()), (format!("v{v}").as_str(), start..start + n));
                for j in 0..n {
                    assert_eq!(table.samples.names()[start + j], format!("v{v}:c{j}"));
                }
                start += n;
            }
            assert_eq!(table.samples.n_features(), start);
        };
        // With labels in the views: in the order of first appearance.
        for _ in 0..2 {
            let order = write(&mut rng, true);
            check(&folder.read(&views, None, &ReadOptions::default()).unwrap(), &order);
        }
        // With a labels file: in its order, whatever that of the views.
        let order = shuffled(&mut rng, study.labels.keys().cloned());
        let text: String = order.iter().map(|id| format!("{id},{}\n", study.labels[id])).collect();
        folder.write("labels.csv", format!("id,grade\n{text}").as_bytes());
        let mut before = None;
        for _ in 0..2 {
            write(&mut rng, false);
            let table = folder.read(&views, Some("labels.csv"), &ReadOptions::default()).unwrap();
            check(&table, &order);
            assert_eq!(table.label_name.as_deref(), Some("grade"));
            assert_eq!(before.get_or_insert(table.clone()), &table);
        }
        // The first half of the labels leaves the other samples out.
        let half = order.len().div_ceil(2);
        let text: String = order[..half].iter().map(|id| format!("{id},{}\n", study.labels[id])).collect();
        folder.write("half.csv", text.as_bytes());
        let known = |view: &BTreeMap<String, Vec<Option<f64>>>| order[..half].iter().any(|id| view.contains_key(id));
        match folder.read(&views, Some("half.csv"), &ReadOptions::default()) {
            Ok(table) => check(&table, &order[..half]),
            // A view with none of them is refused.
            Err(error) => {
                assert!(error.to_string().contains("none of its samples is wanted"), "{error}");
                assert!(!study.cells.iter().all(known));
            }
        }
    }
    assert!(joined > 40);
}

#[test]
fn rows_to_predict_are_those_of_training_whatever_the_order_of_columns_and_views() {
    let mut rng = Rng::new(4, 0);
    for _ in 0..40 {
        let study = Study::draw(&mut rng);
        if study.labels.is_empty() || study.cells.iter().any(BTreeMap::is_empty) {
            continue;
        }
        let folder = Folder::new(&[]);
        let mut names = Vec::new();
        for v in 0..study.columns.len() {
            let ids: Vec<String> = study.cells[v].keys().cloned().collect();
            let columns: Vec<usize> = (0..study.columns[v]).collect();
            folder.write(&format!("v{v}.csv"), study.text(v, &ids, &columns, true).as_bytes());
            let columns = shuffled(&mut rng, columns);
            let more = study.text(v, &ids, &columns, false).replacen("\n", ",extra\n", 1);
            let lines: Vec<String> = more.lines().map(|line| line.to_string()).collect();
            let more: String = lines
                .iter()
                .enumerate()
                .map(|(k, line)| if k == 0 { format!("{line}\n") } else { format!("{line},7\n") })
                .collect();
            folder.write(&format!("new{v}.csv"), more.as_bytes());
            names.push((format!("v{v}=v{v}.csv"), format!("v{v}=new{v}.csv")));
        }
        let trained: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
        let table = folder.read(&trained, None, &ReadOptions::default()).unwrap();
        let expecting = ReadOptions::expecting(table.clone().into_dataset().unwrap().expect());
        let new: Vec<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
        let again = folder.read(&new, None, &expecting).unwrap();
        assert_eq!(again.samples, table.samples);
        assert_eq!(again.labels, None);
        // Another order of views gives another order of samples, and changes nothing else.
        let new = shuffled(&mut rng, new);
        let turned = folder.read(&new, None, &expecting).unwrap();
        let place = |id: &String| turned.samples.ids().unwrap().iter().position(|other| other == id).unwrap();
        let order: Vec<usize> = table.samples.ids().unwrap().iter().map(place).collect();
        assert_eq!(turned.samples.select_rows(&order), table.samples);
    }
}

#[test]
fn files_without_ids_joined_row_by_row() {
    let folder = Folder::new(&[
        ("a.csv", "x,y2\n1,2\n3,4\n"),
        ("b.tsv", "z\tclass\n5\tp\n\tq\n"),
        ("labels.txt", "diet\nlin\nfish\n"),
        ("bare.txt", "lin\nfish\n"),
        ("wide.csv", "age,diet,batch\n50,lin,u\n60,fish,v\n"),
    ]);
    let table = folder.read(&["a=a.csv", "b=b.tsv"], None, &ReadOptions::default()).unwrap();
    assert_eq!(table.samples.names(), ["a:x", "a:y2", "b:z"]);
    assert_eq!(rows(&table), [[Some(1.0), Some(2.0), Some(5.0)], [Some(3.0), Some(4.0), None]]);
    assert_eq!((table.labels.as_deref(), table.samples.ids()), (Some(&texts(&["p", "q"])[..]), None));
    assert_eq!((table.name.as_str(), folder.bare(&table.source).as_str()), ("a+b", "a.csv, b.tsv"));
    let notes = ["a: 2 of 2 samples", "b: missing values: 1, in 1 of 1 column", "b: 1 of 2 samples"];
    assert_eq!(table.notes[..3], notes);
    assert_eq!(table.notes[3], "no file has sample ids: joined row by row");
    // A labels file: one column with or without a header, or one of several.
    for (labels, more, name) in [
        ("labels.txt", &[][..], Some("diet")),
        ("bare.txt", &[], None),
        ("wide.csv", &["label=diet", "groups=batch"], Some("diet")),
        ("wide.csv", &["label=1", "groups=-1"], Some("diet")),
    ] {
        let more = &[more, &["ignore=class"]].concat();
        let table = folder.read(&["a=a.csv", "b=b.tsv"], Some(labels), &options(more)).unwrap();
        assert_eq!((table.labels.unwrap(), table.label_name.as_deref()), (texts(&["lin", "fish"]), name), "{labels}");
        assert_eq!(table.samples.names(), ["a:x", "a:y2", "b:z"]);
        let groups = (labels == "wide.csv").then(|| texts(&["u", "v"]));
        assert_eq!((table.groups, table.group_name), (groups.clone(), groups.map(|_| "batch".to_string())));
    }
    let more = options(&["label=diet", "groups=batch", "ignore=class"]);
    let table = folder.read(&["a=a.csv", "b=b.tsv"], Some("wide.csv"), &more).unwrap();
    assert!(folder.notes(&table).contains(&"wide.csv: columns ignored: 'age'".to_string()));
}

#[test]
fn bundled_views_joined_from_their_files_are_the_bundled_set() {
    let source = |view: &str| format!("{}/data/nutrimouse/{view}.csv.gz", env!("CARGO_MANIFEST_DIR"));
    let views = ["gene", "lipid"].map(|view| ViewSource { name: view.into(), source: source(view) });
    let joined = read_views(&views, None, &ReadOptions::default()).unwrap().into_dataset().unwrap();
    let bundled = crate::data::bundled("nutrimouse").unwrap();
    assert_eq!((joined.samples.clone(), joined.fingerprint()), (bundled.samples.clone(), bundled.fingerprint()));
}

#[test]
fn sparse_views_of_all_samples_stay_sparse() {
    let line = |label: &str, shift: usize| {
        (0..5).fold(label.to_string(), |line, k| line + &format!(" {}:{}", 1 + 20 * k + shift, k + shift + 1))
    };
    let text =
        |rows: &[(&str, usize)]| rows.iter().map(|(label, shift)| line(label, *shift) + "\n").collect::<String>();
    let folder = Folder::new(&[
        ("a.svm", &text(&[("p", 0), ("q", 3), ("p", 19)])),
        ("b.svm", &text(&[("p", 7), ("q", 0), ("p", 19)])),
        ("c.csv", "x\n1\n2\n3\n"),
    ]);
    let alone = |name: &str| load(&folder.path(name), &ReadOptions::default()).unwrap();
    let (a, b) = (alone("a.svm"), alone("b.svm"));
    let table = folder.read(&["a=a.svm", "b=b.svm"], None, &ReadOptions::default()).unwrap();
    assert!(matches!(table.samples.features(), Features::Sparse(_)));
    let dense = table.samples.features().to_dense().unwrap().into_owned();
    let width = a.samples.n_features();
    for i in 0..3 {
        assert_eq!(dense.row(i)[..width], *a.samples.features().to_dense().unwrap().row(i));
        assert_eq!(dense.row(i)[width..], *b.samples.features().to_dense().unwrap().row(i));
    }
    assert_eq!((table.labels.unwrap().join(" "), table.samples.names()[width].as_str()), ("p q p".into(), "b:x1"));
    let mixed = folder.read(&["a=a.svm", "c=c.csv"], None, &ReadOptions::default()).unwrap();
    assert!(matches!(mixed.samples.features(), Features::Dense(_)));
    assert_eq!(mixed.samples.features().to_dense().unwrap().column(width), [1.0, 2.0, 3.0]);
}

#[test]
fn ids_labels_and_groups_found_in_every_usual_way() {
    let folder = Folder::new(&[
        // Row names as R writes them, an index and a known name.
        ("r.csv", "\"\",\"a\"\n\"s2\",1\n\"s1\",2\n"),
        ("pandas.csv", ",a,sample,grade\n0,3,s1,low\n1,4,s3,high\n"),
        ("who.csv", "a,who,batch\n5,s3,u\n6,s1,v\n7,s2,u\n"),
        ("clinical.csv", "who,age,grade\ns1,50,low\ns2,60,high\ns3,70,high\n"),
        ("plain.csv", "s3,high\ns1,low\n"),
        ("class.csv", "id,a,class\ns1,1,low\ns2,2,high\ns3,3,high\n"),
    ]);
    let summary = |table: &Table| {
        let labels = table.labels.as_ref().map_or("-".into(), |labels| labels.join(" "));
        (table.samples.ids().unwrap().join(" "), table.samples.names().join(" "), labels)
    };
    let expect = |parts: [&str; 3]| (parts[0].to_string(), parts[1].to_string(), parts[2].to_string());
    // The label by name in one file; the sample that file lacks is not labelled.
    let table = folder.read(
        &["p=pandas.csv", "w=who.csv"],
        Some("clinical.csv"),
        &options(&["id=who", "label=grade", "groups=batch"]),
    );
    let table = table.unwrap();
    assert_eq!(summary(&table), expect(["s1 s2 s3", "p:a w:a", "low high high"]));
    assert_eq!(
        (table.groups.as_ref().unwrap().join(" "), table.group_name.as_deref()),
        ("v u u".into(), Some("batch"))
    );
    assert_eq!(rows(&table), [[Some(3.0), Some(6.0)], [None, Some(7.0)], [Some(4.0), Some(5.0)]]);
    assert_eq!(
        folder.notes(&table),
        [
            "p: ids: column 'sample'",
            "p: the first column has no name and is left out: row names are not used as features",
            "p: column 'grade' left out: the labels come from another file",
            "p: 2 of 3 samples",
            "w: 3 of 3 samples",
            "clinical.csv: columns ignored: 'age'",
        ]
    );
    // Labels without a header, for some of the samples only.
    let table = folder.read(&["r=r.csv", "p=pandas.csv"], Some("plain.csv"), &options(&["ignore=grade"])).unwrap();
    assert_eq!(summary(&table), expect(["s3 s1", "r:a p:a", "high low"]));
    let notes = folder.notes(&table);
    assert_eq!(notes[0], "r: ids: the first column, which has no name");
    assert_eq!(notes.last().unwrap(), "samples left out, as plain.csv does not name them: 1, first 's2'");
    // A column named like a label is left out when labels have their own file: it would leak the classes.
    let table =
        folder.read(&["c=class.csv"], Some("clinical.csv"), &options(&["label=grade", "ignore=class"])).unwrap();
    assert_eq!(table.samples.names(), ["c:a"]);
    folder.write("numbered.csv", b"id,a,class\ns1,1,0\n");
    folder.write("l.csv", b"s1,p\n");
    let table = folder.read(&["n=numbered.csv"], Some("l.csv"), &ReadOptions::default()).unwrap();
    assert_eq!(table.samples.names(), ["n:a"]);
    assert_eq!(table.notes[1], "n: column 'class' left out: the labels come from another file");
    // Labels in two views that agree, by --label in one and by its name in the other.
    let table = folder.read(&["c=class.csv", "p=pandas.csv"], None, &options(&["label=grade"])).unwrap();
    assert_eq!(summary(&table), expect(["s1 s2 s3", "c:a p:a", "low high high"]));
    assert_eq!(table.label_name.as_deref(), Some("class"));
    // The labels of one file left out, so that those of another count.
    folder.write("wrong.csv", b"id,b,class\ns1,1,high\ns2,1,high\ns3,1,low\n");
    let table =
        folder.read(&["w=wrong.csv", "p=pandas.csv"], Some("plain.csv"), &options(&["ignore=class", "ignore=grade"]));
    assert_eq!(summary(&table.unwrap()), expect(["s3 s1", "w:b p:a", "high low"]));
    let message = folder.message(&["w=wrong.csv", "p=pandas.csv"], None, &options(&["label=grade", "ignore=class"]));
    assert!(message.starts_with("pandas.csv: no label for sample 's2', which other views have"), "{message}");
    // Two studies that share no sample.
    let table = folder.read(
        &["r=r.csv", "q=pandas.csv"],
        None,
        &ReadOptions { unlabelled: true, ..options(&["ignore=grade", "ignore=sample"]) },
    );
    assert_eq!(
        *table.unwrap().notes.last().unwrap(),
        "no sample is in two views: check that all files write ids alike"
    );
}

#[test]
fn header_of_labels_told_by_the_samples() {
    let folder =
        Folder::new(&[("u.csv", "a,who\n1,s1\n2,s2\n"), ("v.csv", "id,a\ns1,1\ns2,2\n"), ("w.csv", "a\n1\n2\n")]);
    let labels = |view: &str, text: &str, words: &[&str]| {
        folder.write("l.csv", text.as_bytes());
        let table = folder.read(&[view], Some("l.csv"), &options(words)).unwrap();
        let notes = folder.notes(&table).iter().filter(|note| note.starts_with("l.csv")).cloned().collect::<Vec<_>>();
        (table.labels.unwrap().join(" "), table.label_name.unwrap_or_default(), notes.join(" "))
    };
    let expect = |parts: [&str; 3]| (parts[0].to_string(), parts[1].to_string(), parts[2].to_string());
    for (view, text, words, expected) in [
        ("v=v.csv", "s1,p\ns2,q\n", &[][..], ["p q", "", ""]),
        ("v=v.csv", "id,kind\ns1,p\ns2,q\n", &[], ["p q", "kind", ""]),
        ("v=v.csv", "kind,id\np,s1\nq,s2\n", &[], ["p q", "kind", ""]),
        (
            "v=v.csv",
            "patient,kind\ns1,p\ns2,q\n",
            &[],
            ["p q", "kind", "l.csv: line 1 read as a header: 'patient' is no sample of a view"],
        ),
        ("v=v.csv", "patient,kind\ns1,p\ns2,q\n", &["id=patient"], ["p q", "kind", ""]),
        ("v=v.csv", "\"\",\"kind\"\n\"s1\",\"p\"\n\"s2\",\"q\"\n", &[], ["p q", "kind", ""]),
        ("u=u.csv", "p,s1\nq,s2\n", &["id=1"], ["p q", "", ""]),
        ("w=w.csv", "p\nq\n", &[], ["p q", "", ""]),
        ("w=w.csv", "kind\np\nq\n", &[], ["p q", "kind", ""]),
        ("w=w.csv", "class\np\nq\n", &[], ["p q", "class", ""]),
        ("w=w.csv", "y\nn\n", &[], ["y n", "", ""]),
        ("w=w.csv", "kind,age\np,1\nq,2\n", &["label=kind"], ["p q", "kind", "l.csv: columns ignored: 'age'"]),
    ] {
        assert_eq!(labels(view, text, words), expect(expected), "{text:?}");
    }
    folder.write("l.csv", b"class\nq\n");
    folder.write("n.csv", b"1\n2\n");
    assert_eq!(
        folder.read(&["n=n.csv"], Some("l.csv"), &options(&["header=no"])).unwrap().labels.unwrap(),
        ["class", "q"]
    );
}

/// The valid files of a study, to be broken one at a time.
fn study() -> Folder {
    Folder::new(&[
        ("rna.csv", "id,a,b\ns1,1,2\ns2,3,4\ns3,5,6\n"),
        ("meth.csv", "id,a\ns3,7\ns2,8\n"),
        ("labels.csv", "id,grade,site\ns1,low,u\ns2,high,u\ns3,low,v\n"),
        ("plain.csv", "a,b\n1,2\n3,4\n5,6\n"),
        ("classed.csv", "id,c,class\ns1,1,low\ns2,2,high\ns3,3,low\n"),
        ("grouped.csv", "id,c,batch\ns1,1,u\ns2,2,u\ns3,3,v\n"),
    ])
}

#[test]
fn malformed_studies_refused_with_what_to_do() {
    let no_ids = |with: &str, without: &str| {
        format!(
            "{without}: no column of sample ids is known, but {with} has one; name it with `ReadOptions::id`, or give all files \
             without ids and with the same rows in the same order"
        )
    };
    let by_row = |other: &str, n: usize| {
        format!(
            "{other}: {n} rows, but plain.csv has 3; files without sample ids are joined row by row: give all the same \
             rows in the same order, or name a column of ids with `ReadOptions::id`"
        )
    };
    let name = "cannot name a view; use letters, digits, '_', '-' and '.', not digits alone";
    let both = &["rna=rna.csv", "meth=meth.csv"][..];
    let with = &["rna=rna.csv", "other=x.csv"][..];
    let grade = &["label=grade"][..];
    // Contents of x.csv, views, labels, options, message.
    type Case<'a> = (&'a str, &'a [&'a str], Option<&'a str>, &'a [&'a str], String);
    let cases: &[Case<'_>] = &[
        // Names of views.
        ("", &[], None, &[], "parameter view: no view is given; give at least one, as NAME=FILE".into()),
        ("", &["a b=rna.csv"], None, &[], format!("parameter view: 'a b' {name}")),
        ("", &["a:b=rna.csv"], None, &[], format!("parameter view: 'a:b' {name}")),
        ("", &["12=rna.csv"], None, &[], format!("parameter view: '12' {name}")),
        ("", &["=rna.csv"], None, &[], format!("parameter view: '' {name}")),
        ("", &["rna=rna.csv", "rna=meth.csv"], None, &[], "parameter view: two views are called 'rna'; rename one".into()),
        // Files.
        (
            "",
            &["rna=no.csv"],
            None,
            &[],
            "no.csv: no such file, and no bundled set of that name; bundled are glass, glass6, ionosphere, nutrimouse, \
             sonar, vehicle, wdbc, wisconsin"
                .into(),
        ),
        ("", with, None, &[], "x.csv: the file is empty; give at least one row".into()),
        ("", both, Some("x.csv"), grade, "x.csv: the file is empty; give at least one row".into()),
        ("1 2:3\n", both, Some("rna.svm"), &[], "cannot read rna.svm: No such file or directory (os error 2)".into()),
        // Ids.
        (
            "id,c\ns1,1\ns2,2\ns1,3\n",
            with,
            None,
            &[],
            "x.csv:4:1: the id 's1' stands in line 2 already; give every row its own, leave the column out with \
             `ReadOptions::ignore = [\"0\"]`, or keep such rows together with `ReadOptions::groups = \"0\"`"
                .into(),
        ),
        (
            "c,id\n1,s1\n2,\n",
            with,
            None,
            &[],
            "x.csv:3:2: the id is missing; fill it in, or leave the column out with `ReadOptions::ignore = [\"1\"]`".into(),
        ),
        ("c\n1\n2\n3\n", with, None, &[], no_ids("rna.csv", "x.csv")),
        ("id,c\ns1,1\n", &["a=plain.csv", "b=x.csv"], None, &[], no_ids("x.csv", "plain.csv")),
        ("low\nhigh\nlow\n", both, Some("x.csv"), &[], no_ids("rna.csv", "x.csv")),
        ("", &["a=plain.csv"], Some("labels.csv"), grade, no_ids("labels.csv", "plain.csv")),
        ("a\n1\n2\n", &["p=plain.csv", "x=x.csv"], None, &[], by_row("x.csv", 2)),
        ("p\nq\n", &["p=plain.csv"], Some("x.csv"), &[], by_row("x.csv", 2)),
        ("p\nq\np\nq\nq\n", &["p=plain.csv"], Some("x.csv"), &[], by_row("x.csv", 5)),
        (
            "c,who\n1,s1\n2,3\n3,4\n",
            with,
            None,
            &[],
            "x.csv:2:2: 's1' in column 'who' is not a number; correct it, or leave the column out with `ReadOptions::ignore = [\"who\"]` \
             (name it with `ReadOptions::id` if it holds sample ids, with `ReadOptions::label` if it is the label)"
                .into(),
        ),
        (
            "c,who\n1,s1\n2,3\n3,4\n",
            with,
            Some("labels.csv"),
            grade,
            "x.csv:2:2: 's1' in column 'who' is not a number; correct it, or leave the column out with `ReadOptions::ignore = [\"who\"]` \
             (name it with `ReadOptions::id` if it holds sample ids)"
                .into(),
        ),
        (
            "c,who\n1,s1\n2,3\n3,4\n",
            with,
            None,
            &["id=patinet"],
            "x.csv:2:2: 's1' in column 'who' is not a number; correct it, or leave the column out with `ReadOptions::ignore = [\"who\"]` \
             (it has no column 'patinet', which `ReadOptions::id` asks for)"
                .into(),
        ),
        (
            "",
            both,
            None,
            &["id=who"],
            "parameter id: no column 'who' in rna.csv, meth.csv; give the name of one".into(),
        ),
        // Labels.
        (
            "",
            both,
            None,
            &["label=grade"],
            "parameter label: no column 'grade' in rna.csv, meth.csv; give the name of one".into(),
        ),
        // Positions are for files without names, except for ids.
        (
            "",
            both,
            None,
            &["label=-1"],
            "parameter label: no column '-1' in rna.csv, meth.csv; give the name of one".into(),
        ),
        (
            "",
            both,
            None,
            &["ignore=bb"],
            "parameter ignore: no column 'bb' in rna.csv, meth.csv; did you mean b?".into(),
        ),
        (
            "",
            both,
            Some("labels.csv"),
            &["label=grade", "groups=batch"],
            "parameter groups: no column 'batch' in rna.csv, meth.csv, labels.csv; give the name of one".into(),
        ),
        (
            "",
            both,
            Some("labels.csv"),
            &["label=colour"],
            "parameter label: labels.csv has no column 'colour'; give a name (id, grade, site) or a position, 0 to 2 or \
             -1 to -3"
                .into(),
        ),
        (
            "",
            both,
            Some("labels.csv"),
            &[],
            "labels.csv: one of the columns 'grade', 'site' must be the label; name it with `ReadOptions::label`".into(),
        ),
        (
            "id,batch\ns1,u\n",
            both,
            Some("x.csv"),
            &["groups=batch"],
            "x.csv: no column is left for the labels; give one beside ids and groups".into(),
        ),
        (
            "",
            both,
            Some("labels.csv"),
            &["label=grade", "id=grade"],
            "parameter id: column 'grade' of labels.csv is the label; choose another".into(),
        ),
        (
            "",
            both,
            Some("labels.csv"),
            &["label=grade", "groups=grade"],
            "parameter groups: column 'grade' of labels.csv is the label; choose another".into(),
        ),
        ("id,kind\n", both, Some("x.csv"), &[], "x.csv: the file holds a header but no rows; give at least one row".into()),
        (
            "id,kind\ns1,p\ns2,\n",
            both,
            Some("x.csv"),
            &[],
            "x.csv:3:2: the label is missing; fill it in, or leave such rows out with `ReadOptions::missing_labels = Drop`".into(),
        ),
        (
            "id,kind\ns1,p\n,q\n",
            both,
            Some("x.csv"),
            &[],
            "x.csv:3:1: the id is missing; remove the row or fill it in first".into(),
        ),
        (
            "id,kind\ns1,p\ns2,q\ns1,q\n",
            both,
            Some("x.csv"),
            &[],
            "x.csv:4:1: the id 's1' stands in line 2 already; keep one of the rows".into(),
        ),
        (
            "id,kind\ns1,p,1\n",
            both,
            Some("x.csv"),
            &[],
            "x.csv:2: found 3 columns, the first line has 2; give every row the same".into(),
        ),
        (
            "id,kind\ns1,p\ns17,q\ns2,q\ns4,p\n",
            both,
            Some("x.csv"),
            &[],
            "x.csv:3: no view has sample 's17' and 1 more; remove the rows, or add them to a view".into(),
        ),
        (
            "id,kind\nS-1,p\nS-2,q\n",
            both,
            Some("x.csv"),
            &[],
            "x.csv:2: no sample is in a view: the first is 'S-1' here and 's1' in rna.csv; check the columns of ids \
             (`ReadOptions::id`)"
                .into(),
        ),
        (
            "id,c,class\ns1,1,low\ns3,5,high\n",
            &["k=classed.csv", "x=x.csv"],
            None,
            &[],
            "x.csv: sample 's3' has the label 'high', but 'low' in classed.csv; correct one of them".into(),
        ),
        (
            "c,class\n1,p\n2,q\n3,p\n",
            &["p=plain.csv", "q=x.csv", "r=y.csv"],
            None,
            &[],
            "y.csv: row 2 has the label 'p', but 'q' in x.csv; correct one of them".into(),
        ),
        (
            "id,c\ns4,1\ns5,2\ns1,3\n",
            &["k=classed.csv", "x=x.csv"],
            None,
            &[],
            "classed.csv: no label for sample 's4' and 1 more, which other views have; add the rows here, or give all \
             labels in a file of their own (`read_with_labels`)"
                .into(),
        ),
        (
            "id,c,class\ns1,1,\n",
            &["x=x.csv"],
            None,
            &[],
            "x.csv:2:3: the label is missing; fill it in, or leave such rows out with `ReadOptions::missing_labels = Drop`".into(),
        ),
        // Groups.
        (
            "id,c,batch\ns3,1,w\n",
            &["g=grouped.csv", "x=x.csv"],
            Some("labels.csv"),
            &["label=grade", "groups=batch"],
            "x.csv: sample 's3' has the group 'w', but 'v' in grouped.csv; correct one of them".into(),
        ),
        (
            "id,c,batch\ns2,1,u\n",
            &["rna=rna.csv", "x=x.csv"],
            Some("labels.csv"),
            &["label=grade", "groups=batch"],
            "x.csv: no group for sample 's1' and 1 more, which other views have; add the rows here, or give the column \
             in all files"
                .into(),
        ),
        (
            "id,c,batch\ns1,1,\n",
            &["x=x.csv"],
            None,
            &["groups=batch"],
            "x.csv:2:3: the group is missing; fill it in, or remove the row".into(),
        ),
        (
            "id,kind,site\ns1,p,\n",
            both,
            Some("x.csv"),
            &["groups=site"],
            "x.csv:2:3: the group is missing; remove the row or fill it in first".into(),
        ),
        // Values.
        (
            "id,c\ns1,inf\n",
            with,
            None,
            &[],
            "x.csv:2:2: 'inf' in column 'c' is not a finite number; correct it \
             (name it with `ReadOptions::id` if it holds sample ids, with `ReadOptions::label` if it is the label)"
                .into(),
        ),
        (
            "id,c\ns4,\ns1,1\n",
            with,
            None,
            &[],
            "rna.csv, x.csv: sample 's4' has no value in any view; remove it, or leave such samples out with \
             `ReadOptions::missing_labels = Drop`"
                .into(),
        ),
        (
            "a\n1\n\"\"\n3\n",
            &["x=x.csv"],
            None,
            &["header=yes"],
            "x.csv: row 2 has no value in any view; remove it, or leave such samples out with `ReadOptions::missing_labels = Drop`".into(),
        ),
        (
            "",
            both,
            None,
            &["memory=350"],
            "rna.csv, meth.csv: a table of 3 rows and 3 columns needs 360 bytes but 350 bytes may be used; allow more \
             memory, or use fewer rows or columns"
                .into(),
        ),
    ];
    for (text, views, labels, words, expected) in cases {
        let folder = study();
        folder.write("x.csv", text.as_bytes());
        folder.write("y.csv", b"c,class\n1,p\n2,p\n3,p\n");
        assert_eq!(&folder.message(views, *labels, &options(words)), expected, "{text:?} {views:?} {words:?}");
    }
    assert!(cases.len() > 40);
    let unlabelled = ReadOptions { unlabelled: true, ..Default::default() };
    assert_eq!(
        study().message(both, Some("labels.csv"), &unlabelled),
        "parameter labels: cannot be given for rows without labels; leave one of the two out"
    );
}

#[test]
fn samples_without_labels_or_values_are_left_out_where_that_is_asked_for() {
    let folder = study();
    folder.write("x.csv", b"id,kind\ns1,p\ns2,NA\ns3,q\n");
    let drop = ReadOptions { missing_labels: MissingLabels::Drop, ..Default::default() };
    let both = &["rna=rna.csv", "meth=meth.csv"];
    let table = folder.read(both, Some("x.csv"), &drop).unwrap();
    assert_eq!(
        (table.labels.unwrap().join(" "), table.samples.ids().unwrap().join(" ")),
        ("p q".into(), "s1 s3".into())
    );
    assert!(table.notes.contains(&"samples without a label left out: 1 of 3".into()), "{:?}", table.notes);
    assert!(folder.message(both, Some("x.csv"), &ReadOptions::default()).contains("x.csv:3:2: the label is missing"));
    folder.write("y.csv", b"id,c,class\ns1,1,p\ns2,,q\ns3,5,?\ns4,6,q\n");
    let table = folder.read(&["y=y.csv"], None, &drop).unwrap();
    assert_eq!(
        (table.labels.unwrap().join(" "), table.samples.ids().unwrap().join(" ")),
        ("p q".into(), "s1 s4".into())
    );
}

#[test]
fn samples_in_columns_are_turned_where_that_is_asked_for_and_told_where_it_is_not() {
    let folder = Folder::new(&[
        ("rna.csv", "gene,s1,s2,s3\nBRCA1,1,2,3\nTP53,4,5,6\nKRAS,7,8,9\n"),
        ("r.tsv", "s1\ts2\ts3\nBRCA1\t1\t2\t3\nTP53\t4\t5\t6\nKRAS\t7\t8\t9\n"),
        ("labels.csv", "id,kind\ns3,p\ns1,q\ns2,p\n"),
    ]);
    let turned = ReadOptions { transpose: true, ..Default::default() };
    for file in ["rna.csv", "r.tsv"] {
        let table = read_with_labels(&folder.path(file), &folder.path("labels.csv"), &turned).unwrap();
        assert_eq!(table.samples.names(), ["BRCA1", "TP53", "KRAS"]);
        assert_eq!(table.samples.features().to_dense().unwrap().data(), [3.0, 6.0, 9.0, 1.0, 4.0, 7.0, 2.0, 5.0, 8.0]);
        assert_eq!(table.labels.unwrap(), ["p", "q", "p"]);
    }
    assert_eq!(
        folder.message(&["rna=rna.csv"], Some("labels.csv"), &ReadOptions::default()),
        "rna.csv: 3 of its 3 columns are called like samples of labels.csv: if samples are in columns, add `ReadOptions::transpose`"
    );
}

#[test]
fn new_rows_that_do_not_fit_the_model_refused() {
    let folder = study();
    let table = folder.read(&["rna=rna.csv", "meth=meth.csv"], Some("labels.csv"), &options(&["label=grade"]));
    let expect = table.unwrap().into_dataset().unwrap().expect();
    assert_eq!(expect.label_name.as_deref(), Some("grade"));
    let new = |text: &str, views: &[&str]| {
        folder.write("x.csv", text.as_bytes());
        folder.message(views, None, &ReadOptions::expecting(expect.clone()))
    };
    for (text, views, expected) in [
        (
            "id,a\ns1,1\n",
            &["rna=x.csv"][..],
            "x.csv: 1 of the 2 expected features are missing: b; give a table with all of them",
        ),
        (
            "id,rna:a,rna:b\ns1,1,2\n",
            &["rna=x.csv"],
            "x.csv: 2 of the 2 expected features are missing: a, b; give a table with all of them (the first line was read as names; if the file has none, add `ReadOptions::header = false`)",
        ),
        (
            "1\n",
            &["rna=x.csv"],
            "x.csv: found 1 column, the model expects 2 features (or 3 with a label); give a table with all of them",
        ),
        ("", &["rma=rna.csv"], "parameter view: the model has no view 'rma'; did you mean rna? (its views: rna, meth)"),
        ("", &["protein=rna.csv"], "parameter view: the model has no view 'protein' (its views: rna, meth)"),
        ("id,a,b\ns1,,NA\n", &["rna=x.csv"], "x.csv: sample 's1' has no value in any view; remove it"),
    ] {
        assert_eq!(new(text, views), expected, "{text:?}");
    }
    let without = Expect::new(expect.names.clone(), None, None);
    assert_eq!(
        folder.message(&["rna=rna.csv"], None, &ReadOptions::expecting(without.clone())),
        "parameter view: the model was trained without views; give one file of rows"
    );
    // Views that omit a column, exceed the columns or share one.
    let view = |name: &str, columns: Range<usize>| View { name: name.into(), columns };
    for views in [[0..1, 2..3], [0..2, 2..4], [0..2, 1..3], [1..2, 2..3], [0..1, 1..2]] {
        let [a, b] = views;
        let overlapping = without.clone().with_views(vec![view("rna", a), view("meth", b)]);
        assert_eq!(
            folder.message(&["rna=rna.csv"], None, &ReadOptions::expecting(overlapping)),
            "parameter view: the views of the model do not divide its columns among them; give one file of rows"
        );
    }
}

#[test]
fn new_rows_matched_by_name_with_views_missing() {
    let folder = study();
    let table = folder.read(&["rna=rna.csv", "meth=meth.csv"], Some("labels.csv"), &options(&["label=grade"]));
    let set = table.unwrap().into_dataset().unwrap();
    let expecting = ReadOptions::expecting(set.expect());
    folder.write("new.csv", b"b,more,id,a,grade\n2,9,t1,1,low\n,9,t2,3,high\n");
    let table = folder.read(&["rna=new.csv"], None, &expecting).unwrap();
    assert_eq!((table.samples.names(), table.samples.views()), (set.samples.names(), set.samples.views()));
    let first = rows(&table);
    assert_eq!(first, [[Some(1.0), Some(2.0), None], [Some(3.0), None, None]]);
    assert_eq!(table.samples.ids().unwrap(), ["t1", "t2"]);
    assert_eq!((table.labels.unwrap().join(" "), table.label_name.as_deref()), ("low high".into(), Some("grade")));
    assert_eq!(
        table.notes,
        [
            "rna: ids: column 'id'",
            "rna: ignored columns that the model was not trained on: more",
            "rna: missing values: 1, in 1 of 2 columns",
            "rna: 2 of 2 samples",
            "meth: not given, missing for all samples",
        ]
    );
    // A model may list its views in a different order from that of their columns.
    let turned = set.expect().with_views(set.samples.views().iter().rev().cloned().collect());
    let table = folder.read(&["rna=new.csv"], None, &ReadOptions::expecting(turned.clone())).unwrap();
    assert_eq!((rows(&table), table.samples.views()), (first, &turned.views[..]));
    // Labels for only some samples do not count as labels; those of a file are for the samples it lists.
    folder.write("other.csv", b"id,a\nt3,1\nt1,2\n");
    let table = folder.read(&["meth=other.csv", "rna=new.csv"], None, &expecting).unwrap();
    assert_eq!((table.samples.ids().unwrap().join(" "), table.labels), ("t1 t2 t3".to_string(), None));
    assert_eq!(*table.notes.last().unwrap(), "1 of 3 samples have no label: rows read as unlabelled");
    folder.write("l.csv", b"t3,high\nt1,low\n");
    let table = folder.read(&["meth=other.csv", "rna=new.csv"], Some("l.csv"), &expecting).unwrap();
    assert_eq!(rows(&table), [[None, None, Some(1.0)], [Some(1.0), Some(2.0), Some(2.0)]]);
    assert_eq!(table.into_test_set(set.labels.classes()).unwrap().labels.codes(), [0, 1]);
}

#[test]
fn new_rows_of_models_with_numbered_columns_and_of_one_file() {
    let folder = Folder::new(&[
        ("zero.svm", "p 0:1 2:3\nq 1:2\n"),
        ("one.svm", "p 1:1 3:3\nq 2:2\n"),
        ("new0.svm", "0:5 1:6\n2:7\n"),
        ("new1.svm", "1:5 2:6\n3:7\n"),
        ("bare.csv", "5,6,0\n0,0,7\n"),
        ("one.csv", "g1,p1,g2,y\n1,2,3,u\n4,5,6,v\n"),
        ("g.csv", "g2,g1\n3,1\n"),
        ("p.csv", "p1\n2\n"),
    ]);
    let table = folder.read(&["z=zero.svm", "o=one.svm"], None, &ReadOptions::default()).unwrap();
    assert_eq!(table.samples.names(), ["z:x0", "z:x1", "z:x2", "o:x1", "o:x2", "o:x3"]);
    let expecting = ReadOptions::expecting(table.into_dataset().unwrap().expect());
    let row = |a: f64, b: f64, c: f64| [Some(a), Some(b), Some(c)];
    let expected =
        [[row(5.0, 6.0, 0.0), row(5.0, 6.0, 0.0)].concat(), [row(0.0, 0.0, 7.0), row(0.0, 0.0, 7.0)].concat()];
    for views in [["z=new0.svm", "o=new1.svm"], ["z=bare.csv", "o=bare.csv"]] {
        assert_eq!(rows(&folder.read(&views, None, &expecting).unwrap()), expected);
    }
    // A model of column groups in one file, whose names have no view prefix.
    let table = load(&folder.path("one.csv"), &ReadOptions::default()).unwrap();
    let views = [("g", "g*"), ("p", "p1")].map(|(view, columns)| (view.to_string(), columns.to_string()));
    let set = group_columns(table, &views).unwrap().into_dataset().unwrap();
    let expecting = ReadOptions::expecting(set.expect());
    let table = folder.read(&["p=p.csv", "g=g.csv"], None, &expecting).unwrap();
    assert_eq!((table.samples.names().join(" "), rows(&table)), ("g1 g2 p1".into(), vec![row(1.0, 3.0, 2.0).to_vec()]));
    let again = load(&folder.path("one.csv"), &expecting).unwrap();
    assert_eq!(again.samples, set.samples);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn arbitrary_files_never_panic(
        files in prop::collection::vec(
            prop::collection::vec(prop::sample::select(b"idabs012,,\n\n\"\t:. N".to_vec()), 0..60), 3),
        kind in 0usize..4, expecting: bool,
    ) {
        let folder = Folder::new(&[]);
        for (k, bytes) in files.iter().enumerate() {
            folder.write(&format!("{k}.csv"), &[[&b"id,a\n"[..], b",b\n", b"", b"s,label\n"][(kind + k) % 4], bytes].concat());
        }
        let mut options = options([&[][..], &["id=0"], &["label=b", "groups=a"], &["id=s", "ignore=1"]][kind]);
        let view = |name: &str, columns: Range<usize>| View { name: name.into(), columns };
        options.expect = expecting.then(|| {
            Expect::new(texts(&["u:a", "v:b"]), None, None).with_views(vec![view("u", 0..1), view("v", 1..2)])
        });
        for labels in [None, Some("2.csv")] {
            if let Ok(table) = folder.read(&["u=0.csv", "v=1.csv"], labels, &options) {
                let texts = [table.labels.as_deref(), table.groups.as_deref(), table.samples.ids()];
                prop_assert!(texts.into_iter().flatten().all(|texts| texts.len() == table.samples.n_samples()));
                prop_assert_eq!(table.samples.views().len(), 2);
            }
        }
    }
}

const STUDY: [(&str, &str); 4] = [
    ("a.csv", "id,x,y\ns1,1,2\ns2,3,4\ns3,5,6\ns4,7,8\n"),
    ("b.csv", "id,z,days,dose\ns4,9,40,.4\ns2,8,20,.2\ns1,7,10,.1\n"),
    ("outcome.csv", "patient,age,days,died,dose\ns3,50,30,no,0.3\ns1,60,10,yes,.1\ns2,70,20,1,0.2\n"),
    ("bad.csv", "id,days,died\ns1,10,2\ns2,x,1\ns3,,0\n"),
];

#[test]
fn a_labels_file_may_hold_numbers_or_times_to_predict() {
    let folder = Folder::new(&STUDY);
    let views = ["a=a.csv", "b=b.csv"];
    let asked = options(&["target=dose"]);
    let set = folder.read(&views, Some("outcome.csv"), &asked).unwrap().into_numbers(&asked.target).unwrap();
    assert_eq!(set.samples.ids().unwrap(), ["s3", "s1", "s2"]);
    assert_eq!(set.target.numbers().unwrap().values().data(), [0.3, 0.1, 0.2]);
    // A column of a view that is called like a target would leak it.
    assert_eq!(set.samples.names(), ["a:x", "a:y", "b:z", "b:days"]);
    assert_eq!(set.label_name.as_deref(), Some("dose"));

    let asked = options(&["target=days", "event=died"]);
    let table = folder.read(&views, Some("outcome.csv"), &asked).unwrap();
    assert!(folder.notes(&table).contains(&"outcome.csv: columns ignored: 'age', 'dose'".to_string()));
    let set = table.into_times("days", "died").unwrap();
    let times = set.target.times().unwrap();
    assert_eq!((times.time(), times.event()), (&[30.0, 10.0, 20.0][..], &[false, true, true][..]));

    // Samples that are there already find theirs by id.
    let samples = set.samples.select_rows(&[2, 0]);
    let known = labelled(samples, &folder.path("outcome.csv"), &asked).unwrap();
    assert_eq!(known.samples.ids().unwrap(), ["s3", "s2"]);
    assert_eq!(known.target.times().unwrap().time(), [30.0, 20.0]);
}

#[test]
fn targets_may_be_columns_of_a_view() {
    let folder = Folder::new(&STUDY);
    let views = ["a=a.csv", "b=b.csv"];
    for wanted in ["days", "b:days"] {
        let asked = options(&[&format!("target={wanted}"), "missing=drop"]);
        let table = folder.read(&views, None, &asked).unwrap();
        assert!(folder.notes(&table).contains(&"rows without a target left out: 1 of 4".to_string()));
        let set = table.into_numbers(&asked.target).unwrap();
        assert_eq!(set.samples.ids().unwrap(), ["s1", "s2", "s4"]);
        assert_eq!(set.target.numbers().unwrap().values().data(), [10.0, 20.0, 40.0]);
        assert_eq!(set.samples.names(), ["a:x", "a:y", "b:z", "b:dose"]);
        let views: Vec<(&str, Range<usize>)> =
            set.samples.views().iter().map(|view| (view.name.as_str(), view.columns.clone())).collect();
        assert_eq!(views, [("a", 0..2), ("b", 2..4)]);
    }
    let asked = options(&["target=days"]);
    let message = folder.read(&views, None, &asked).unwrap().into_numbers(&asked.target).unwrap_err().to_string();
    assert!(message.contains("sample 's3': the target days is missing"), "{message}");
    let twice = ["a=a.csv", "b=b.csv", "o=outcome.csv"];
    let message = folder.message(&twice, None, &options(&["target=days", "id=id"]));
    assert_eq!(message, "parameter target: 'days' is in several views; name one of 'b:days', 'o:days'");
}

#[test]
fn a_target_that_cannot_be_read_is_named_by_line_and_column() {
    let folder = Folder::new(&STUDY);
    let timed = |more: &[&str]| options(&[&["target=days", "event=died"], more].concat());
    let message = folder.message(&["a=a.csv"], Some("bad.csv"), &timed(&[]));
    assert!(message.starts_with("bad.csv:4:2: the label is missing"), "{message}");
    let message = folder.message(&["a=a.csv"], Some("bad.csv"), &timed(&["missing=drop"]));
    assert!(message.starts_with("bad.csv:2:3: the event is 2; write 1 for an event"), "{message}");
    let message = folder.message(&["a=a.csv"], Some("bad.csv"), &options(&["target=days", "missing=drop"]));
    assert!(message.starts_with("bad.csv:3:2: what is to be predicted is 'x', not a number"), "{message}");
    folder.write("holed.csv", b"id,days,died\ns1,10,1\ns2,20,\ns3,,0\n");
    let set = folder.read(&["a=a.csv"], Some("holed.csv"), &timed(&["missing=drop"])).unwrap();
    assert_eq!(set.into_times("days", "died").unwrap().samples.ids().unwrap(), ["s1"]);
}

#[test]
fn labels_that_are_no_classes_are_those_of_their_file() {
    let rows = |name: &str| (0..40).fold(format!("id,{name}\n"), |text, i| text + &format!("s{i},{}.5\n", i * 7));
    let folder = Folder::new(&[("a.csv", &rows("a")), ("labels.csv", &rows("b"))]);
    let message = folder.message(&["a=a.csv"], Some("labels.csv"), &ReadOptions::default());
    assert!(message.starts_with("labels.csv: the label column 'b' has 40 different numbers"), "{message}");
}
