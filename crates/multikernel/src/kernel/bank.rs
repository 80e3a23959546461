//! A bank of kernels: the text users write, resolved to kernels on given columns and rows.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::iter::once;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use super::columns::Columns;
use super::concrete::Kernel;
use super::family::Families;
use super::grammar::parse;
use super::median::{median_distance, median_given};
use super::term::{Each, MAX_KERNELS, Pick, Selector, Term, check_repeats, too_many};
use super::text::{At, Fault, Name, Parsed, quoted_name};
use crate::closest::closest;
use crate::data::{Encoded, EncodedLayout, Encoding, FeatureSets, Gram, Kind, Samples, Scaler, View};
use crate::error::{Error, Result};
use crate::features::Features;

/// Names listed in a message before the rest are only counted.
const LISTED: usize = 8;

/// The default bank for methods that combine kernels: seven widths around the median distance and three degrees.
pub const DEFAULT_BANK: &str = "gaussian(median*2^-3..2^3), polynomial(1..3)";

/// The default bank of `auto`, which chooses among its alternatives: [`DEFAULT_BANK`]; fixed widths, for columns scaled to
/// a standard deviation of 1; [`DEFAULT_BANK`] with kernels on single columns; and [`DEFAULT_BANK`] on columns in their own
/// units.
pub const AUTO_BANK: &str = "gaussian(median*2^-3..2^3), polynomial(1..3) | gaussian(2^-6..2^7), polynomial(1..3) | \
    gaussian(median*2^-3..2^3), polynomial(1..3), gaussian(median*2^-2..2^2) each | \
    gaussian(median*2^-3..2^3) unscaled, polynomial(1..3) unscaled";

/// [`AUTO_BANK`] for tables with fewer than five times as many rows as columns: one width on each of them.
pub const AUTO_BANK_OF_ONE_WIDTH: &str = "gaussian(median*2^-3..2^3), polynomial(1..3) | gaussian(2^-6..2^7), polynomial(1..3) | \
    gaussian(median*2^-3..2^3), polynomial(1..3), gaussian(median) each | \
    gaussian(median*2^-3..2^3) unscaled, polynomial(1..3) unscaled";

/// [`AUTO_BANK`] for tables with too many columns, or without the time for them.
pub const AUTO_BANK_WITHOUT_COLUMNS: &str = "gaussian(median*2^-3..2^3), polynomial(1..3) | gaussian(2^-6..2^7), polynomial(1..3) | \
    gaussian(median*2^-3..2^3) unscaled, polynomial(1..3) unscaled";

/// [`AUTO_BANK`] for data with views: [`DEFAULT_BANK_OF_VIEWS`], and the same on columns in their own units.
pub const AUTO_BANK_OF_VIEWS: &str = "gaussian(median*2^-3..2^3) each view, polynomial(1..3) each view | \
    gaussian(median*2^-3..2^3) each view unscaled, polynomial(1..3) each view unscaled";

/// [`DEFAULT_BANK`] for data with views: the same kernels on each of them.
pub const DEFAULT_BANK_OF_VIEWS: &str = "gaussian(median*2^-3..2^3) each view, polynomial(1..3) each view";

/// [`DEFAULT_BANK`] for methods that use kernels without classes: centred, so that no kernel is nearly constant.
pub const CENTRED_BANK: &str = "gaussian(median*2^-3..2^3) centred, polynomial(1..3) centred";

/// [`CENTRED_BANK`] for data with views: the same kernels on each of them.
pub const CENTRED_BANK_OF_VIEWS: &str =
    "gaussian(median*2^-3..2^3) each view centred, polynomial(1..3) each view centred";

/// The names selectors refer to: those of the columns (empty if the data has none) and of the views, which are ranges
/// of columns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout<'a> {
    /// Column names, one per column or none at all.
    pub names: &'a [String],
    /// Views with the columns they hold.
    pub views: &'a [View],
    /// The median of each matrix of distances between the training rows, by name: see
    /// [`KernelBank::medians`](KernelBank::medians).
    pub medians: &'a [(String, f64)],
    /// What columns were scaled by, for `unscaled` kernels; none for tables that are not all numbers.
    pub units: Option<&'a Scaler>,
    /// Where the columns of a table that is not all numbers went.
    pub encoded: Option<EncodedLayout<'a>>,
}

/// A bank of kernels as text: see the [grammar](crate::kernel).
///
/// Prints in canonical form (suffixes as `each`, `on`, `unscaled`, `raw`, `centred`; single spaces) with numbers as the user
/// spelled them; that text parses back to an equal bank. Equality compares the canonical text, so `0.1` and `0.10`
/// differ.
///
/// ```
/// use multikernel::kernel::KernelBank;
/// let bank: KernelBank = "polynomial( 1..3 ),gaussian(0.10)   raw on rna".parse()?;
/// assert_eq!(bank.to_string(), "polynomial(1..3), gaussian(0.10) on rna raw");
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelBank {
    /// As the user wrote it; messages point into this text.
    text: String,
    terms: Vec<Term>,
    /// The terms that begin an alternative after the first.
    starts: Vec<usize>,
}

impl KernelBank {
    /// The terms, in the order written.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// How many banks with a bar between them it is made of: `A | B` has two. The method `auto` chooses among them, all
    /// other methods use all kernels.
    pub fn n_alternatives(&self) -> usize {
        self.starts.len() + 1
    }

    /// The kernels of the bank on data with this layout, where `features` are the scaled training rows (n x d).
    ///
    /// In the order of the terms; within a term, for each column in the order selected (with `each`), for each value in
    /// the order written. A selection of all columns is [`Columns::all`]. The rows are used only for `median`: the
    /// median Euclidean distance on the term's columns (with `each`: on the single column) over all pairs of up to 1000
    /// rows, or of 1000 evenly spaced rows if there are more, excluding zero distances; 1 if no distance is positive.
    /// It costs up to 500,000 distances per set of columns (a third of a millisecond for a single column), once for
    /// each set; a distance between sparse rows costs as much as the two store.
    ///
    /// # Errors
    /// [`Error::Bank`] at the character of an unknown view, name or position, of a column selected twice, or of a term
    /// that takes the bank above [`MAX_KERNELS`]; [`Error::Input`] if the layout does not fit the features.
    pub fn resolve(&self, layout: &Layout<'_>, features: &Features) -> Result<Vec<Kernel>> {
        Ok(self.resolve_named(layout, features)?.kernels)
    }

    /// [`KernelBank::resolve`] plus the names of the feature sets of `each set(FILE)`, whose files are read here.
    pub fn resolve_named(&self, layout: &Layout<'_>, features: &Features) -> Result<Resolved> {
        if self.terms.iter().any(|term| term.gram().is_none()) {
            check_layout(layout, features.n_cols())?;
        }
        self.kernels(layout, features).map_err(|fault| fault.within(&self.text))
    }

    /// The features that the kernels need besides the columns of these samples, without repeats, for
    /// [`Preprocessor::fit_samples`](crate::data::Preprocessor::fit_samples).
    ///
    /// # Errors
    /// [`Error::Bank`] at the character of an unknown column or one of another kind.
    pub fn encoded(&self, samples: &Samples) -> Result<Vec<Encoded>> {
        let kinds: Vec<Kind> = (0..samples.n_features()).map(|j| samples.kind(j)).collect();
        let (names, views) = (samples.names(), samples.views());
        let layout = EncodedLayout { names, kinds: &kinds, views, spans: &[], blocks: &[] };
        let mut found: Vec<Encoded> = vec![];
        for term in self.terms.iter().filter(|term| !term.encodings.is_empty()) {
            for (_, encoded) in encoded_sets(&layout, term).map_err(|fault| fault.within(&self.text))? {
                if !found.contains(&encoded) {
                    found.push(encoded);
                }
            }
        }
        Ok(found)
    }

    /// The names of the Gram matrices the bank needs, without repeats.
    pub fn grams(&self) -> Vec<&str> {
        let mut names: Vec<&str> = vec![];
        for name in self.terms.iter().filter_map(Term::gram) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The median of each given matrix that a term needs it of, over the pairs of up to 1000 of these rows, evenly
    /// spaced if there are more, excluding zeros; 1 if no distance is positive.
    pub fn medians(&self, grams: &[Gram], rows: &[usize]) -> Vec<(String, f64)> {
        let needed = self.terms.iter().filter(|term| term.needs_median()).filter_map(Term::gram);
        let found = needed.filter_map(|name| grams.iter().find(|gram| gram.name() == name));
        found.map(|gram| (gram.name().to_string(), median_given(gram.values(), rows))).collect()
    }

    /// The rows in their own units, if a term is on these.
    fn unscaled(&self, layout: &Layout<'_>, features: &Features) -> Parsed<Option<Features>> {
        let Some(term) = self.terms.iter().find(|term| term.unscaled) else { return Ok(None) };
        let Some(units) = layout.units else {
            let message = "`unscaled` is for tables of numbers, and this one has columns of other kinds; leave it out";
            return Err(Fault::new(term.at, message));
        };
        units.undo(features).map(Some).map_err(|error| Fault::new(term.at, error.to_string()))
    }

    fn kernels(&self, layout: &Layout<'_>, features: &Features) -> Parsed<Resolved> {
        let lookup = Lookup::new(layout, features.n_cols());
        let mut total = 0usize;
        let mut places = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let sets = lookup.column_sets(term)?;
            total = total.saturating_add(term.n_kernels().saturating_mul(sets.len()));
            if total > MAX_KERNELS {
                return Err(Fault::new(term.at, too_many()));
            }
            places.push(sets);
        }
        let unscaled = self.unscaled(layout, features)?;
        let (mut medians, mut known) = (HashMap::new(), HashSet::new());
        let mut resolved =
            Resolved { kernels: Vec::with_capacity(total), notes: lookup.notes.take(), ..Resolved::default() };
        let mut alternative = vec![];
        let mut n_before = 0;
        for (t, (term, sets)) in self.terms.iter().zip(places).enumerate() {
            if self.starts.contains(&t) {
                resolved.alternatives.push(std::mem::take(&mut alternative));
                n_before = resolved.kernels.len();
            }
            for ColumnSet { name, columns } in sets {
                // Without the matrix, the stack says what is missing.
                let given = |name: &str| layout.medians.iter().find(|(of, _)| of == name).map_or(1.0, |&(_, at)| at);
                let median = if let Some(name) = term.gram() {
                    given(name)
                } else if term.needs_median() {
                    let rows = unscaled.as_ref().filter(|_| term.unscaled).unwrap_or(features);
                    let median = medians.entry((columns.clone(), term.unscaled));
                    *median.or_insert_with(|| median_distance(rows, &columns))
                } else {
                    1.0
                };
                for kernel in term.kernels(median)? {
                    let kernel = kernel.placed(columns.clone());
                    // A kernel of an earlier alternative is computed once.
                    let known = resolved.kernels[..n_before].iter().position(|known| *known == kernel);
                    let known = known.filter(|m| !alternative.contains(m));
                    alternative.push(known.unwrap_or(resolved.kernels.len()));
                    if known.is_none() {
                        resolved.kernels.push(kernel);
                    }
                }
                if let Some(name) = name.filter(|name| known.insert(name.clone())) {
                    resolved.sets.push((name, columns));
                }
            }
        }
        resolved.alternatives.push(alternative);
        Ok(resolved)
    }
}

/// The kernels of a bank on given rows, and its feature sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolved {
    /// The kernels, in the order of the terms.
    pub kernels: Vec<Kernel>,
    /// The name and columns of each feature set used by a kernel.
    pub sets: Vec<(String, Columns)>,
    /// The kernels of each alternative: a single list of all without bars.
    pub alternatives: Vec<Vec<usize>>,
    /// Notes for the user: how many feature sets, and how many of their members, the data has.
    pub notes: Vec<String>,
}

/// A set of columns that a term is copied to, with the name of its feature set.
struct ColumnSet {
    name: Option<String>,
    columns: Columns,
}

fn check_layout(layout: &Layout<'_>, n_features: usize) -> Result<()> {
    let Layout { names, views, .. } = layout;
    if n_features == 0 {
        return Err(Error::input("the rows have no columns, kernels need at least one"));
    }
    if !names.is_empty() && names.len() != n_features {
        return Err(Error::input(format!(
            "{} column names for {n_features} columns; give one each or none",
            names.len()
        )));
    }
    for View { name, columns } in views.iter() {
        if columns.end > n_features {
            return Err(Error::input(format!(
                "view {name} ends at column {} but the rows have {n_features} columns",
                columns.end
            )));
        }
    }
    Ok(())
}

/// Finds the columns of selectors.
struct Lookup<'a> {
    layout: &'a Layout<'a>,
    n_features: usize,
    /// First position of a name, and how many columns have it.
    by_name: HashMap<&'a str, (usize, usize)>,
    notes: RefCell<Vec<String>>,
}

impl<'a> Lookup<'a> {
    fn new(layout: &'a Layout<'a>, n_features: usize) -> Self {
        let mut by_name = HashMap::with_capacity(layout.names.len());
        for (i, name) in layout.names.iter().enumerate() {
            by_name.entry(name.as_str()).or_insert((i, 0)).1 += 1;
        }
        Lookup { layout, n_features, by_name, notes: RefCell::default() }
    }

    /// The column sets a term is copied to: one, or one per column, view or feature set.
    fn column_sets(&self, term: &Term) -> Parsed<Vec<ColumnSet>> {
        if term.gram().is_some() {
            return Ok(vec![ColumnSet { name: None, columns: Columns::all() }]);
        }
        let n = self.n_features;
        let plain = |columns: Columns| ColumnSet { name: None, columns: columns.within(n) };
        if !term.encodings.is_empty() {
            return self.block_sets(term);
        }
        if let Some(layout) = self.layout.encoded.as_ref().filter(|_| !matches!(term.each(), Some(Each::View))) {
            return self.span_sets(layout, term);
        }
        let ranges = self.ranges(term.selector())?;
        Ok(match term.each() {
            None => vec![plain(Columns::from_ranges(ranges))],
            Some(Each::Column) => ranges.into_iter().flatten().map(|c| plain(Columns::from_positions([c]))).collect(),
            Some(Each::View) if term.selector().is_some() => {
                return Err(Fault::new(term.at, "`each view` already says where; leave `on` out"));
            }
            Some(Each::View) if self.layout.views.is_empty() => {
                return Err(Fault::new(term.at, "`each view` needs data with views; the data has none"));
            }
            Some(Each::View) => {
                let views = self.layout.views.iter().filter(|view| !view.columns.is_empty());
                views.map(|view| plain(Columns::from_ranges([view.columns.clone()]))).collect()
            }
            Some(Each::Set(file)) => self.feature_sets(term.at, file, &ranges)?,
        })
    }

    /// The features of each encoding of a term, under the name of its kernel.
    fn block_sets(&self, term: &Term) -> Parsed<Vec<ColumnSet>> {
        let Some(layout) = &self.layout.encoded else {
            return Err(Fault::new(term.at, "the rows were prepared without the features of this kernel"));
        };
        let mut sets = vec![];
        for (name, encoded) in encoded_sets(layout, term)? {
            let block = layout.blocks.iter().find(|(known, _)| *known == encoded);
            let Some((_, range)) = block.filter(|(_, range)| !range.is_empty()) else {
                let message = "no training row has a feature for this kernel: its texts are empty; leave it out";
                return Err(Fault::new(term.at, message));
            };
            // A kernel that is named by its features goes by that name alone.
            let name = if term.head.is_some() { format!("={name}") } else { name };
            sets.push(ColumnSet { name: Some(name), columns: Columns::from_ranges([range.clone()]) });
        }
        Ok(sets)
    }

    /// The columns of a term in a table that is not all numbers, where a category is several features.
    fn span_sets(&self, layout: &EncodedLayout<'_>, term: &Term) -> Parsed<Vec<ColumnSet>> {
        let columns = raw_columns(layout, term.selector(), |kind| !matches!(kind, Kind::Text | Kind::Sequence))?;
        let spans = || columns.iter().map(|&j| (j, layout.spans[j].clone())).filter(|(_, span)| !span.is_empty());
        if spans().next().is_none() {
            let hint = columns.first().map_or(String::new(), |&j| match layout.kinds[j] {
                Kind::Text => format!("; for its words write on words({})", Name(&layout.names[j])),
                Kind::Sequence => format!("; for its letters write spectrum(3) on [{}]", Name(&layout.names[j])),
                _ => String::new(),
            });
            return Err(Fault::new(term.at, format!("its columns hold no numbers and no categories{hint}")));
        }
        let shown = |names: &[&str]| format!("[{}]", names.join(", "));
        Ok(match term.each() {
            None => {
                let set = Columns::from_ranges(spans().map(|(_, span)| span)).within(self.n_features);
                let name = term.selector().map_or("numbers and categories".into(), |selector| selector.to_string());
                let name = Some(name);
                vec![ColumnSet { name: name.filter(|_| !set.is_all()), columns: set }]
            }
            Some(Each::Set(file)) => {
                let ranges: Vec<Range<usize>> = spans().map(|(_, span)| span).collect();
                self.feature_sets(term.at, file, &ranges)?
            }
            Some(Each::Column | Each::View) => spans()
                .map(|(j, span)| {
                    let name = shown(&[&Name(&layout.names[j]).to_string()]);
                    ColumnSet { name: Some(name), columns: Columns::from_ranges([span]).within(self.n_features) }
                })
                .collect(),
        })
    }

    /// The columns of each feature set within these ranges; sets without any are dropped.
    fn feature_sets(&self, at: At, file: &str, ranges: &[Range<usize>]) -> Parsed<Vec<ColumnSet>> {
        let sets = FeatureSets::read(Path::new(file)).map_err(|error| Fault::new(at, error.to_string()))?;
        if self.layout.names.is_empty() {
            return Err(Fault::new(at, "feature sets name columns, and the data has no column names"));
        }
        let mut places = HashMap::new();
        for column in ranges.iter().cloned().flatten() {
            let name = self.layout.names[column].as_str();
            places.insert(name, column);
            // Columns of joined files are named view:column.
            let view = self.layout.views.iter().find(|view| view.columns.contains(&column));
            if let Some(bare) = view.and_then(|view| name.strip_prefix(view.name.as_str())?.strip_prefix(':')) {
                places.insert(bare, column);
            }
        }
        let mut found = vec![];
        for set in &sets.sets {
            let columns: Vec<usize> =
                set.members.iter().filter_map(|name| places.get(name.as_str()).copied()).collect();
            if !columns.is_empty() {
                let columns = Columns::from_positions(columns).within(self.n_features);
                found.push(ColumnSet { name: Some(set.name.clone()), columns });
            }
        }
        let members = sets.sets.iter().flat_map(|set| &set.members);
        let (n_members, n_known) =
            (members.clone().count(), members.filter(|name| places.contains_key(name.as_str())).count());
        self.notes.borrow_mut().push(format!(
            "{file}: {} of {} feature sets have columns of the data, with {n_known} of {n_members} members",
            found.len(),
            sets.sets.len()
        ));
        if found.is_empty() {
            let n = sets.sets.len();
            let some: Vec<&str> = sets.sets.iter().flat_map(|set| &set.members).take(3).map(String::as_str).collect();
            let message = format!(
                "none of the {n} feature sets of {file} has a column of the data; its members are called {}, ... and the \
                 columns {}, ...",
                some.join(", "),
                ranges
                    .iter()
                    .cloned()
                    .flatten()
                    .take(3)
                    .map(|c| self.layout.names[c].as_str())
                    .collect::<Vec<_>>()
                    .join(", ")
            );
            return Err(Fault::new(at, message));
        }
        Ok(found)
    }

    /// The ranges in the order written, without overlap.
    fn ranges(&self, selector: Option<&Selector>) -> Parsed<Vec<Range<usize>>> {
        let items = match selector {
            None => return Ok(once(0..self.n_features).collect()),
            Some(Selector::View(at, name)) => return Ok(once(self.view(*at, name)?).collect()),
            Some(Selector::Items(items)) => items,
        };
        let mut picked = Vec::with_capacity(items.len());
        for item in items {
            picked.push(match &item.pick {
                Pick::Name(name) => (item.at, self.column(item.at, name)?),
                Pick::Range(range) => (item.at, self.positions(item.at, range)?),
            });
        }
        check_repeats(&picked)?;
        Ok(picked.into_iter().map(|(_, range)| range).collect())
    }

    fn positions(&self, at: At, range: &Range<usize>) -> Parsed<Range<usize>> {
        if range.end <= self.n_features {
            return Ok(range.clone());
        }
        let last = self.n_features - 1;
        let missing = range.start.max(self.n_features);
        Err(Fault::new(at, format!("column {missing} does not exist; the data has columns 0 to {last}")))
    }

    fn column(&self, at: At, name: &str) -> Parsed<Range<usize>> {
        match self.by_name.get(name) {
            Some(&(first, 1)) => Ok(first..first + 1),
            Some(&(_, copies)) => {
                let message = format!("{copies} columns are called {}; select by position", Name(name));
                Err(Fault::new(at, message))
            }
            None if self.layout.names.is_empty() => {
                let message =
                    format!("unknown column {}; the data has no column names, select by position", Name(name));
                Err(Fault::new(at, message))
            }
            None => {
                let view = self.layout.views.iter().any(|view| view.name == *name);
                let hint = view.then(|| format!("on {}", Name(name)));
                let names = self.layout.names.iter().map(String::as_str);
                Err(Fault::new(at, unknown("column", name, hint, names)))
            }
        }
    }

    fn view(&self, at: At, name: &str) -> Parsed<Range<usize>> {
        let views = self.layout.views.iter();
        match views.clone().find(|view| view.name == *name) {
            Some(View { columns, .. }) if columns.is_empty() => {
                Err(Fault::new(at, format!("view {} has no columns; choose another", Name(name))))
            }
            Some(View { columns, .. }) => Ok(columns.clone()),
            None => {
                let hint = self.by_name.contains_key(name).then(|| format!("on [{}]", Name(name)));
                Err(Fault::new(at, unknown("view", name, hint, views.map(|view| view.name.as_str()))))
            }
        }
    }
}

/// The encodings of a term with the names of their kernels: one for each encoding, with `each` also for each column.
fn encoded_sets(layout: &EncodedLayout<'_>, term: &Term) -> Parsed<Vec<(String, Encoded)>> {
    let takes = |encoding: Encoding, kind: Kind| match encoding {
        Encoding::Overlap => kind == Kind::Category,
        Encoding::Clinical => !matches!(kind, Kind::Text | Kind::Sequence),
        Encoding::Period(_) => kind == Kind::Date,
        Encoding::Words { .. } | Encoding::Chars { .. } => kind == Kind::Text,
        _ => kind == Kind::Sequence,
    };
    let mut sets = vec![];
    for &encoding in &term.encodings {
        let columns = raw_columns(layout, term.selector(), |kind| takes(encoding, kind))?;
        for &j in &columns {
            let kind = layout.kinds[j];
            let fits = match encoding {
                Encoding::Overlap | Encoding::Clinical => !matches!(kind, Kind::Text | Kind::Sequence),
                Encoding::Period(_) => kind == Kind::Date,
                _ => kind.is_text() && kind != Kind::Ordered,
            };
            if !fits {
                let name = Name(&layout.names[j]);
                let what = if encoding.takes_texts() { "texts or sequences" } else { "numbers or categories" };
                let message = format!("column {name} holds a {kind}, and this kernel takes {what}");
                return Err(Fault::new(term.at, message));
            }
        }
        let groups: Vec<Vec<usize>> = match term.each() {
            None => vec![columns],
            Some(Each::Column) => columns.into_iter().map(|j| vec![j]).collect(),
            Some(_) => return Err(Fault::new(term.at, "this kernel takes `each` column, not views or sets")),
        };
        for columns in groups {
            let names: Vec<String> = columns.iter().map(|&j| quoted_name(&layout.names[j])).collect();
            let name = match (term.selector(), term.each(), names.as_slice()) {
                (_, _, [only]) if encoding.is_selector() => encoding.on(only),
                (_, _, names) if encoding.is_selector() => encoding.on(&names.join(", ")),
                (None, None, _) => encoding.to_string(),
                (Some(selector), None, _) => encoding.on(&selector.to_string()),
                (_, _, names) => encoding.on(&format!("[{}]", names.join(", "))),
            };
            sets.push((name, Encoded { encoding, columns }));
        }
    }
    Ok(sets)
}

/// The columns of a table that a selector means, ascending; without one, all of the kinds that `takes` allows.
fn raw_columns(
    layout: &EncodedLayout<'_>,
    selector: Option<&Selector>,
    takes: impl Fn(Kind) -> bool,
) -> Parsed<Vec<usize>> {
    let n = layout.names.len();
    let mut columns: Vec<usize> = match selector {
        None => (0..n).filter(|&j| takes(layout.kinds[j])).collect(),
        Some(Selector::View(at, name)) => named_columns(layout, *at, name)?,
        Some(Selector::Items(items)) => {
            let mut columns = vec![];
            for item in items {
                match &item.pick {
                    Pick::Name(name) => columns.push(raw_column(layout, item.at, name)?),
                    Pick::Range(range) if range.end <= n => columns.extend(range.clone()),
                    Pick::Range(range) => {
                        let missing = range.start.max(n);
                        let message = format!("column {missing} does not exist; the data has columns 0 to {}", n - 1);
                        return Err(Fault::new(item.at, message));
                    }
                }
            }
            columns
        }
    };
    if columns.is_empty() {
        return Err(Fault::new(
            0usize,
            "the data has no column of the kind that this kernel takes; name columns after `on`",
        ));
    }
    columns.sort_unstable();
    columns.dedup();
    Ok(columns)
}

/// The columns of a view, or of all columns of a kind: numbers, categories, texts, sequences.
fn named_columns(layout: &EncodedLayout<'_>, at: At, name: &str) -> Parsed<Vec<usize>> {
    if let Some(view) = layout.views.iter().find(|view| view.name == name) {
        return Ok(view.columns.clone().collect());
    }
    let kinds = ["numbers", "categories", "texts", "sequences"];
    if !kinds.contains(&name) {
        let column = layout.names.iter().any(|column| column == name).then(|| format!("on [{}]", Name(name)));
        let views: Vec<&str> = layout.views.iter().map(|view| view.name.as_str()).collect();
        let all: Vec<&str> = kinds.into_iter().chain(views).collect();
        return Err(Fault::new(at, unknown("view or kind", name, column, all.into_iter())));
    }
    let found: Vec<usize> = (0..layout.names.len()).filter(|&j| layout.kinds[j].plural() == name).collect();
    match found.is_empty() {
        true => Err(Fault::new(at, format!("the data has no {name}"))),
        false => Ok(found),
    }
}

fn raw_column(layout: &EncodedLayout<'_>, at: At, name: &str) -> Parsed<usize> {
    layout
        .names
        .iter()
        .position(|known| known == name)
        .ok_or_else(|| Fault::new(at, unknown("column", name, None, layout.names.iter().map(String::as_str))))
}

/// "unknown view x; did you mean y? (the data has 3 views: ...)".
fn unknown<'a>(
    what: &str,
    name: &str,
    hint: Option<String>,
    known: impl ExactSizeIterator<Item = &'a str> + Clone,
) -> String {
    let n = known.len();
    let hint = hint.or_else(|| closest(name, known.clone()).map(|near| Name(near).to_string()));
    let hint = hint.map_or(String::new(), |hint| format!("; did you mean {hint}?"));
    let listed: Vec<String> = known.take(LISTED).map(|name| Name(name).to_string()).collect();
    let more = if n > LISTED { ", ..." } else { "" };
    let all = match n {
        0 => format!("the data has no {what}s"),
        1 => format!("the data has one {what}: {}", listed.join(", ")),
        _ => format!("the data has {n} {what}s: {}{more}", listed.join(", ")),
    };
    format!("unknown {what} {}{hint} ({all})", Name(name))
}

impl PartialEq for KernelBank {
    fn eq(&self, other: &KernelBank) -> bool {
        self.terms == other.terms && self.starts == other.starts
    }
}

impl Families {
    /// Parses a bank that uses these families.
    pub fn bank(&self, text: &str) -> Result<KernelBank> {
        let (terms, starts) = parse(text, self).map_err(|fault| fault.within(text))?;
        Ok(KernelBank { text: text.to_string(), terms, starts })
    }
}

impl FromStr for KernelBank {
    type Err = Error;

    /// [`Families::bank`] with the families of this crate.
    fn from_str(text: &str) -> Result<Self> {
        Families::standard().bank(text)
    }
}

impl fmt::Display for KernelBank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.terms.iter().enumerate() {
            let mark = match i {
                0 => "",
                _ if self.starts.contains(&i) => " | ",
                _ => ", ",
            };
            write!(f, "{mark}{term}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::kernel::{Base, family::gaussian_gamma};
    use crate::linalg::Matrix;

    fn view(name: &str, columns: Range<usize>) -> View {
        View { name: name.into(), columns }
    }

    fn bank(text: &str) -> KernelBank {
        text.parse().unwrap()
    }

    fn rows(n: usize, d: usize) -> Features {
        let mut rng = Rng::new(11, 0);
        Matrix::from_fn(n, d, |_, _| rng.uniform()).into()
    }

    fn resolve(text: &str, d: usize) -> Vec<Kernel> {
        bank(text).resolve(&Layout::default(), &rows(20, d)).unwrap()
    }

    fn printed(kernels: &[Kernel]) -> Vec<String> {
        kernels.iter().map(Kernel::to_string).collect()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    fn parameters(kernels: &[Kernel]) -> Vec<f64> {
        kernels.iter().filter_map(|kernel| kernel.parameter()).collect()
    }

    /// Character and message of the error for a bank that parses but does not fit the data.
    fn misfit(text: &str, layout: &Layout<'_>, features: &Features) -> (usize, String) {
        match bank(text).resolve(layout, features) {
            Err(Error::Bank { text: kept, at, message }) => {
                assert_eq!(kept, text);
                (at, message)
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn sets_by_the_hundred_thousand_are_resolved_in_linear_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.gmt");
        std::fs::write(&file, (0..100_000).map(|k| format!("set {k}\t-\ta\tb\n")).collect::<String>()).unwrap();
        let names = names(&["a", "b"]);
        let layout = Layout { names: &names, ..Layout::default() };
        let start = std::time::Instant::now();
        let found =
            bank(&format!("linear each set(\"{}\")", file.display())).resolve_named(&layout, &rows(4, 2)).unwrap();
        assert_eq!((found.kernels.len(), found.sets.len()), (100_000, 100_000));
        assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    }

    #[test]
    fn each_view_is_one_copy_per_view_and_each_set_one_per_feature_set() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.gmt");
        std::fs::write(&file, "ONE\t-\tb\ta\tnowhere\nNONE\t-\tzzz\nTWO\t-\tc\n").unwrap();
        let names = names(&["rna:a", "rna:b", "meth:c", "meth:a"]);
        let views = [view("rna", 0..2), view("meth", 2..4)];
        let layout = Layout { names: &names, views: &views, ..Layout::default() };
        let resolve = |text: &str| bank(text).resolve_named(&layout, &rows(9, 4)).unwrap();
        assert_eq!(printed(&resolve("linear each view").kernels), ["linear on [0:2]", "linear on [2:4]"]);
        // Members are found by their names within the view, in any order; sets without any are dropped.
        let file = file.display().to_string();
        let on_rna = resolve(&format!("linear each set(\"{file}\") on rna"));
        assert_eq!(printed(&on_rna.kernels), ["linear on [0:2]"]);
        assert_eq!(on_rna.sets, [("ONE".to_string(), Columns::from_positions([0, 1]))]);
        let everywhere = resolve(&format!("gaussian(1, 2) each set(\"{file}\")"));
        assert_eq!(printed(&everywhere.kernels)[2..], ["gaussian(1) on [2]", "gaussian(2) on [2]"]);
        assert_eq!(everywhere.sets.len(), 2);
        let text = format!("linear each set(\"{file}\") on [rna:a]");
        assert!(text.parse::<KernelBank>().is_err(), "a name with a colon stands in quotes");
        assert_eq!(bank("precomputed(g), linear, precomputed(h) raw, precomputed(g) centred").grams(), ["g", "h"]);
        assert_eq!(
            misfit("linear each view on rna", &layout, &rows(3, 4)),
            (0, "`each view` already says where; leave `on` out".into())
        );
    }

    #[test]
    fn print_of_every_documented_example_is_the_example() {
        for text in [
            "gaussian(2^-6..2^7)",
            "gaussian(median*2^-3..2^3)",
            "gaussian(gamma=2^-15..2^15; 300)",
            "rational_quadratic(median*2^-1..2^1, 3, alpha=0.5)",
            "polynomial(1..3)",
            "linear",
            "laplacian(0.1)",
            "sigmoid(0.5) raw",
            "gaussian(2^-3..2^6) each",
            "gaussian(1) on rna",
            "gaussian(1) on [0:500]",
            "gaussian(1) on [name1, name2]",
            "gaussian(1) centred",
            "polynomial(1) each set(FILE.gmt) on rna",
            "linear each view",
            "precomputed(NAME)",
            "precomputed(\"a (b)\") raw",
            "distance(median*2^-5..2^5; 200) on shape",
            "distance(0.1, 3) on \"a b\" centred",
            "gaussian(0.10, 1e-3, 2^-6..2^7) each on [0, 3, 5:9] raw centred, linear raw",
        ] {
            assert_eq!(bank(text).to_string(), text);
        }
    }

    #[test]
    fn resolve_powers_of_two_gives_one_kernel_each() {
        let kernels = resolve("gaussian(2^-6..2^7)", 3);
        assert_eq!(parameters(&kernels), (-6..=7).map(|k| 2f64.powi(k)).collect::<Vec<_>>());
        assert!(kernels.iter().all(|k| k.columns().is_all() && k.base() == Base::SquaredDistance));
        let half = resolve("gaussian(2^-0.5..2^1.5)", 3);
        let sqrt2 = 2f64.sqrt();
        for (found, expected) in parameters(&half).iter().zip([0.5 * sqrt2, sqrt2, 2.0 * sqrt2]) {
            assert!((found - expected).abs() <= 1e-15 * expected);
        }
    }

    #[test]
    fn resolve_log_spaced_gammas_has_exact_ends_and_equal_ratios() {
        let kernels = resolve("gaussian(gamma=2^-15..2^15; 300)", 3);
        let gammas = parameters(&kernels);
        assert_eq!(kernels[0].family(), &gaussian_gamma::FAMILY);
        assert_eq!((gammas.len(), gammas[0], gammas[299]), (300, 2f64.powi(-15), 2f64.powi(15)));
        let ratio = 2f64.powf(30.0 / 299.0);
        for pair in gammas.windows(2) {
            assert!((pair[1] / pair[0] / ratio - 1.0).abs() < 1e-14);
        }
        assert_eq!(parameters(&resolve("gaussian(gamma=2^-2..2^2; 5)", 1)), [0.25, 0.5, 1.0, 2.0, 4.0]);
        assert_eq!(parameters(&resolve("laplacian(0.1..10; 3)", 1)), [0.1, 1.0, 10.0]);
        assert_eq!(parameters(&resolve("laplacian(0.3..0.3; 1)", 1)), [0.3]);
        let tiny = parameters(&resolve("laplacian(1e-320..1e300; 7)", 1));
        assert!(tiny.is_sorted() && tiny[0] == 1e-320 && tiny[6] == 1e300);
    }

    #[test]
    fn resolve_whole_numbers_gives_one_kernel_each() {
        assert_eq!(printed(&resolve("polynomial(1..3)", 2)), ["polynomial(1)", "polynomial(2)", "polynomial(3)"]);
        assert_eq!(parameters(&resolve("gaussian(1..3, 0.5)", 2)), [1.0, 2.0, 3.0, 0.5]);
        assert_eq!(printed(&resolve("polynomial(2^0..2^2) raw", 2))[2], "polynomial(4) raw");
    }

    #[test]
    fn resolve_each_runs_over_columns_then_values() {
        assert_eq!(
            printed(&resolve("laplacian(1, 2) each on [2, 0] centred", 3)),
            [
                "laplacian(1) on [2] centred",
                "laplacian(2) on [2] centred",
                "laplacian(1) on [0] centred",
                "laplacian(2) on [0] centred"
            ]
        );
        assert_eq!(resolve("gaussian(2^-3..2^6) each", 7).len(), 70);
        assert_eq!(printed(&resolve("linear each", 1)), ["linear"]);
    }

    #[test]
    fn resolve_names_views_and_positions_of_one_set_compare_equal() {
        let names = names(&["a", "b", "c d", "1"]);
        let views = [view("left", 0..2), view("all", 0..4)];
        let layout = Layout { names: &names, views: &views, ..Layout::default() };
        let text = "linear on left, linear on [b, a], linear on [0:2], linear on [1, 0], linear on all, linear on \
                    [\"c d\", \"1\", left, 0]";
        let features = rows(5, 4);
        assert_eq!(misfit(text, &layout, &features).0, text.find("left, 0]").unwrap());
        let kernels = bank(&text.replace("left, 0]", "1, 0]")).resolve(&layout, &features).unwrap();
        assert!(kernels[..4].iter().all(|k| k == &kernels[0] && k.to_string() == "linear on [0:2]"));
        assert!(kernels[4].columns().is_all() && kernels[5].columns().is_all());
    }

    #[test]
    fn resolve_median_is_the_median_of_the_term_s_columns() {
        // On column 0 the distances are 1, 2, 3; on column 1 none is positive; on both as on column 0.
        let features = Matrix::from_vec(3, 2, vec![0.0, 7.0, 1.0, 7.0, 3.0, 7.0]).unwrap().into();
        let resolve = |text: &str| parameters(&bank(text).resolve(&Layout::default(), &features).unwrap());
        assert_eq!(resolve("gaussian(median)"), [2.0]);
        assert_eq!(resolve("gaussian(median, 5, median*0.5)"), [2.0, 5.0, 1.0]);
        assert_eq!(resolve("gaussian(median*2^-1..2^1)"), [1.0, 2.0, 4.0]);
        assert_eq!(resolve("gaussian(median*1..4; 3) each"), [2.0, 4.0, 8.0, 1.0, 2.0, 4.0]);
        assert_eq!(resolve("gaussian(median) on [1]"), [1.0]);
        assert_eq!(resolve("rational_quadratic(median*0.5, alpha=3)"), [1.0]);
    }

    #[test]
    fn resolve_of_the_default_bank_is_ten_kernels_around_the_median() {
        let default = bank(DEFAULT_BANK);
        let features = rows(30, 4);
        let kernels = default.resolve(&Layout::default(), &features).unwrap();
        let widths = parameters(&kernels[..7]);
        assert_eq!(kernels.len(), 10);
        assert_eq!(widths[3], median_distance(&features, &Columns::all()));
        assert!((0..7).all(|i| widths[i] == widths[3] * 2f64.powi(i as i32 - 3)));
    }

    #[test]
    fn alternatives_share_the_kernels_they_have_in_common() {
        let two = bank("gaussian(1..3), linear|polynomial(2),gaussian(2) | gaussian(2), gaussian(2)");
        assert_eq!(
            (two.to_string().as_str(), two.n_alternatives()),
            ("gaussian(1..3), linear | polynomial(2), gaussian(2) | gaussian(2), gaussian(2)", 3)
        );
        assert_eq!(bank(&two.to_string()), two);
        assert_ne!(bank("linear | gaussian(1)"), bank("linear, gaussian(1)"));
        let resolved = two.resolve_named(&Layout::default(), &rows(20, 3)).unwrap();
        let texts = ["gaussian(1)", "gaussian(2)", "gaussian(3)", "linear", "polynomial(2)", "gaussian(2)"];
        assert_eq!(printed(&resolved.kernels), texts);
        assert_eq!(resolved.alternatives, [vec![0, 1, 2, 3], vec![4, 1], vec![1, 5]]);
        let plain = bank("linear, linear").resolve_named(&Layout::default(), &rows(20, 3)).unwrap();
        assert_eq!(plain.alternatives, [vec![0, 1]]);
    }

    #[test]
    fn resolve_of_printed_kernels_gives_the_kernels() {
        let text =
            "gaussian(median*0.1..7; 9) each, laplacian(1e-30, 0.1) on [1, 3] raw, polynomial(1..3) centred, linear";
        let kernels = resolve(text, 5);
        assert_eq!(resolve(&printed(&kernels).join(", "), 5), kernels);
    }

    #[test]
    fn resolve_of_a_misfit_points_at_the_character() {
        let names = names(&["gene1", "gene2", "odd, name", "twice", "twice", "6", "7", "8", "9", "10"]);
        let views = [view("rna", 0..6), view("protein", 6..10), view("void", 3..3)];
        let layout = Layout { names: &names, views: &views, ..Layout::default() };
        let features = rows(4, 10);
        let all_views = "(the data has 3 views: rna, protein, void)";
        let all_columns =
            "(the data has 10 columns: gene1, gene2, \"odd, name\", twice, twice, \"6\", \"7\", \"8\", ...)";
        for (text, at, message) in [
            ("linear on rma", 10, format!("unknown view rma; did you mean rna? {all_views}")),
            ("linear on gene1", 10, format!("unknown view gene1; did you mean on [gene1]? {all_views}")),
            ("linear on x", 10, format!("unknown view x {all_views}")),
            ("linear on void", 10, "view void has no columns; choose another".into()),
            ("linear on [0, geen2]", 14, format!("unknown column geen2; did you mean gene2? {all_columns}")),
            ("linear on [rna]", 11, format!("unknown column rna; did you mean on rna? {all_columns}")),
            ("linear on [twice]", 11, "2 columns are called twice; select by position".into()),
            ("linear on [10]", 11, "column 10 does not exist; the data has columns 0 to 9".into()),
            ("linear, linear on [1, 5:12]", 22, "column 10 does not exist; the data has columns 0 to 9".into()),
            ("linear on [20:30]", 11, "column 20 does not exist; the data has columns 0 to 9".into()),
            ("linear on [gene2, 0:3]", 18, "column 1 is selected twice; name it once".into()),
            ("linear on [gene2, \"odd, name\", gene2]", 31, "column 1 is selected twice; name it once".into()),
            ("linear, gaussian(1..100000) each", 8, too_many()),
        ] {
            assert_eq!(misfit(text, &layout, &features), (at, message), "{text}");
        }
        let message = "unknown column é; the data has no column names, select by position";
        assert_eq!(misfit("linear on [0, é]", &Layout::default(), &features), (14, message.into()));
        let message = "unknown view é (the data has no views)";
        assert_eq!(misfit("linear on é", &Layout::default(), &features), (10, message.into()));
    }

    #[test]
    fn resolve_of_a_median_out_of_range_points_at_the_value() {
        let features = Matrix::from_vec(2, 1, vec![0.0, 1e-149]).unwrap().into();
        assert!(bank("gaussian(median*2^-3)").resolve(&Layout::default(), &features).is_ok());
        let message = "width must lie between 1e-150 and 1e150, found 6.25e-151";
        assert_eq!(misfit("gaussian(1, median*2^-4)", &Layout::default(), &features), (12, message.into()));
    }

    #[test]
    fn resolve_with_a_layout_of_another_shape_is_an_error() {
        let two = names(&["a", "b"]);
        let views = [view("v", 1..4)];
        for layout in [Layout { names: &two, ..Layout::default() }, Layout { views: &views, ..Layout::default() }] {
            assert!(matches!(bank("linear").resolve(&layout, &rows(2, 3)), Err(Error::Input(_))));
        }
        assert!(bank("linear").resolve(&Layout::default(), &rows(2, 0)).is_err());
    }
}
