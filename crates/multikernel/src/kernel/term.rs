//! The syntax tree of a bank text: terms with their values and selectors, their meaning and how they print.

use std::fmt;
use std::ops::Range;

use super::columns::Columns;
use super::concrete::Kernel;
use super::declaration::{Family, KernelParam, MAX_KERNEL_PARAMS, ParamRange};
use super::text::{At, Decimal, Enclosed, Fault, Name, Parsed, quoted_name};
use crate::data::Encoding;

/// The maximum number of kernels in a resolved bank; larger banks are refused before anything is allocated.
pub const MAX_KERNELS: usize = 1_000_000;

/// A positive number with the user's spelling.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Number {
    pub(super) at: At,
    pub(super) text: String,
    pub(super) value: f64,
    /// The exponent of a number written `2^exponent`.
    pub(super) exponent: Option<f64>,
}

impl Number {
    /// Whether it is written with digits only, and so may end a range over whole numbers.
    fn is_digits(&self) -> bool {
        self.text.bytes().all(|b| b.is_ascii_digit())
    }

    fn log2(&self) -> f64 {
        self.exponent.unwrap_or_else(|| self.value.log2())
    }
}

/// One or more numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Factor {
    One(Number),
    /// `2^a..2^b` or `1..3`.
    Steps(Number, Number),
    /// `low..high; count`.
    Spaced(Number, Number, At, usize),
}

impl Factor {
    fn ends(&self) -> [&Number; 2] {
        match self {
            Factor::One(number) => [number, number],
            Factor::Steps(low, high) | Factor::Spaced(low, high, ..) => [low, high],
        }
    }

    /// The number of values; may be huge before [`Factor::check`].
    fn count(&self) -> f64 {
        match self {
            Factor::One(_) => 1.0,
            Factor::Spaced(_, _, _, count) => *count as f64,
            Factor::Steps(low, high) => match (low.exponent, high.exponent) {
                (Some(a), Some(b)) => (b - a).round() + 1.0,
                _ => high.value - low.value + 1.0,
            },
        }
    }

    /// The numbers in ascending order, both ends exact.
    fn numbers(&self) -> Vec<f64> {
        let [low, high] = self.ends();
        let count = self.count() as usize;
        let between = |i: usize| match self {
            Factor::Spaced(..) => {
                let (a, b) = (low.log2(), high.log2());
                exp2(a + (b - a) * (i as f64 / (count - 1) as f64)).clamp(low.value, high.value)
            }
            _ => low.exponent.map_or(low.value + i as f64, |a| exp2(a + i as f64)),
        };
        (0..count)
            .map(|i| match i {
                0 => low.value,
                i if i + 1 == count => high.value,
                i => between(i),
            })
            .collect()
    }

    /// Checks that a range is ascending, has a well-defined step and stays small.
    fn check(&self) -> Parsed<()> {
        let [low, high] = self.ends();
        if low.value > high.value {
            let message =
                format!("the range runs down from {} to {}; write {}..{}", low.text, high.text, high.text, low.text);
            return Err(Fault::new(low.at, message));
        }
        match self {
            Factor::One(_) => Ok(()),
            Factor::Steps(low, high) => check_steps(low, high),
            Factor::Spaced(low, high, at, count) => check_spaced(low, high, *at, *count),
        }
    }
}

fn check_steps(low: &Number, high: &Number) -> Parsed<()> {
    let clear = match (low.exponent, high.exponent) {
        // Decimal exponents come rounded; 1e-9 distinguishes rounding from a different step.
        (Some(a), Some(b)) => ((b - a) - (b - a).round()).abs() <= 1e-9,
        // Above 2^53 adjacent whole numbers are indistinguishable.
        _ => low.is_digits() && high.is_digits() && high.value <= (1u64 << 53) as f64,
    };
    if clear {
        return Ok(());
    }
    let message = format!(
        "a range runs over powers of two a whole number of steps apart (2^-3..2^3) or over whole numbers (1..3); for {}..{} \
         add how many, as in {}..{}; 10",
        low.text, high.text, low.text, high.text
    );
    Err(Fault::new(low.at, message))
}

fn check_spaced(low: &Number, high: &Number, at: At, count: usize) -> Parsed<()> {
    let single = low.value == high.value;
    let message = match count {
        0 => "a count of 0 leaves no kernel; write 2 or more".to_string(),
        1 if !single => {
            format!("one kernel cannot stand at both {} and {}; write a count of 2 or more", low.text, high.text)
        }
        _ if count > MAX_KERNELS => too_many(),
        2.. if single => {
            format!("{count} kernels between {} and {} would be equal; write one value", low.text, high.text)
        }
        _ => return Ok(()),
    };
    Err(Fault::new(at, message))
}

/// 2^x, exact for whole x from -1022 to 1023.
pub(super) fn exp2(x: f64) -> f64 {
    let whole = x.floor();
    if !(-1022.0..=1023.0).contains(&whole) {
        return x.exp2();
    }
    let power = f64::from_bits(((whole as i64 + 1023) as u64) << 52);
    if x == whole { power } else { power * (x - whole).exp2() }
}

pub(super) fn too_many() -> String {
    "the bank holds more than 1,000,000 kernels; use fewer values or columns".to_string()
}

/// One value of a term: numbers, or multiples of the median distance.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Plain(Factor),
    Median(At, Option<Factor>),
}

impl Value {
    fn factor(&self) -> Option<&Factor> {
        match self {
            Value::Plain(factor) => Some(factor),
            Value::Median(_, factor) => factor.as_ref(),
        }
    }

    fn at(&self) -> At {
        match self {
            Value::Plain(factor) => factor.ends()[0].at,
            Value::Median(at, _) => *at,
        }
    }
}

/// One entry of a column list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) at: At,
    pub(super) pick: Pick,
}

impl Item {
    pub(super) fn range(&self) -> Option<(At, Range<usize>)> {
        match &self.pick {
            Pick::Range(range) => Some((self.at, range.clone())),
            Pick::Name(_) => None,
        }
    }
}

/// The column or range that an entry of a column list selects.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pick {
    Range(Range<usize>),
    Name(String),
}

/// The columns or views of a term.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Selector {
    View(At, String),
    Items(Vec<Item>),
}

/// The things a term is copied for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Each {
    Column,
    View,
    /// The feature sets in this file.
    Set(String),
}

/// One term of a [`KernelBank`](super::KernelBank): a family with its values and suffixes, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    pub(super) at: At,
    pub(super) family: &'static Family,
    pub(super) values: Vec<Value>,
    /// Parameters other than the first, by their index in the family, in the order written.
    pub(super) options: Vec<(usize, Number)>,
    pub(super) gram: Option<String>,
    pub(super) each: Option<(At, Each)>,
    pub(super) on: Option<Selector>,
    pub(super) unscaled: bool,
    pub(super) raw: bool,
    pub(super) centred: bool,
    /// The features its columns become, one kernel for each; empty if they are taken as they are.
    pub(super) encodings: Vec<Encoding>,
    /// Its beginning as written, if it is named by its encoding: `spectrum(3..6)`.
    pub(super) head: Option<String>,
    pub(super) revcomp: bool,
}

impl Term {
    /// The name of the family.
    pub fn family_name(&self) -> &'static str {
        self.family.name
    }

    /// How many kernels the term gives on one set of columns; with `each`, multiply by the number of columns, views or
    /// sets.
    pub fn n_values(&self) -> usize {
        self.n_kernels().saturating_mul(self.encodings.len().max(1))
    }

    /// The same with a single encoding.
    pub(super) fn n_kernels(&self) -> usize {
        if self.values.is_empty() { 1 } else { self.count().min(usize::MAX as f64) as usize }
    }

    /// Whether the term is copied for each column, view or feature set.
    pub fn is_each(&self) -> bool {
        self.each.is_some()
    }

    /// The name of the Gram matrix the term uses.
    pub fn gram(&self) -> Option<&str> {
        self.gram.as_deref()
    }

    pub(super) fn each(&self) -> Option<&Each> {
        self.each.as_ref().map(|(_, each)| each)
    }

    /// Whether the term needs the median distance of the training rows.
    pub fn needs_median(&self) -> bool {
        self.values.iter().any(|value| matches!(value, Value::Median(..)))
    }

    pub(super) fn selector(&self) -> Option<&Selector> {
        self.on.as_ref()
    }

    fn count(&self) -> f64 {
        self.values.iter().map(|value| value.factor().map_or(1.0, Factor::count)).sum()
    }

    /// The kernels on all columns, for the given median distance, in the order of the values.
    pub(super) fn kernels(&self, median: f64) -> Parsed<Vec<Kernel>> {
        if let Some(name) = self.gram.as_ref().filter(|_| self.values.is_empty()) {
            return Ok(vec![self.switched(Kernel::of_gram(self.family, name, 0.0))]);
        }
        let mut params = self.params();
        let Some(first) = self.family.params.first().filter(|_| !self.values.is_empty()) else {
            return Ok(vec![self.switched(Kernel::unchecked(self.family, params))]);
        };
        let mut kernels = Vec::with_capacity(self.n_values());
        for value in &self.values {
            let scale = if let Value::Median(..) = value { median } else { 1.0 };
            for number in value.factor().map_or(vec![1.0], Factor::numbers) {
                params[0] = scale * number;
                check_range(first, params[0], value.at(), Decimal(params[0]))?;
                kernels.push(self.switched(match &self.gram {
                    Some(name) => Kernel::of_gram(self.family, name, params[0]),
                    None => Kernel::unchecked(self.family, params),
                }));
            }
        }
        Ok(kernels)
    }

    /// The parameters as written or at their defaults.
    fn params(&self) -> [f64; MAX_KERNEL_PARAMS] {
        let mut params = [0.0; MAX_KERNEL_PARAMS];
        for (value, param) in params.iter_mut().zip(self.family.params) {
            *value = param.default.unwrap_or_default();
        }
        for (k, number) in &self.options {
            params[*k] = number.value;
        }
        params
    }

    fn switched(&self, kernel: Kernel) -> Kernel {
        // The features of `overlap` have the length they should have.
        let raw = self.raw || self.encodings.contains(&Encoding::Overlap);
        let kernel = if raw { kernel.raw() } else { kernel };
        let kernel = if self.unscaled { kernel.unscaled() } else { kernel };
        if self.centred { kernel.centred() } else { kernel }
    }

    /// All checks of a value that need no data. Parameters increase along a range, so checking its ends suffices.
    pub(super) fn check_value(&self, value: &Value) -> Parsed<()> {
        let Some(param) = self.family.params.first() else { return Ok(()) };
        if let Value::Median(at, _) = value
            && !param.median
        {
            return Err(Fault::new(*at, "`median` stands for widths only; write a number here"));
        }
        let Some(factor) = value.factor() else { return Ok(()) };
        if let Value::Plain(_) = value {
            for end in factor.ends() {
                check_range(param, end.value, end.at, end)?;
            }
        }
        if let (ParamRange::Whole(..), Factor::Spaced(_, _, at, _)) = (param.range, factor) {
            let message = format!("{}s cannot be log-spaced; write a range such as 1..3", param.name);
            return Err(Fault::new(*at, message));
        }
        factor.check()?;
        if factor.count() > MAX_KERNELS as f64 { Err(Fault::new(value.at(), too_many())) } else { Ok(()) }
    }

    /// The single kernel of a term that names one, with columns by position.
    pub(super) fn single(&self) -> Parsed<Kernel> {
        if let Some((at, _)) = self.each {
            return Err(Fault::new(at, "`each` makes many kernels; a single kernel is wanted here"));
        }
        for (i, value) in self.values.iter().enumerate() {
            if i > 0 || !matches!(value, Value::Plain(Factor::One(_))) {
                return Err(Fault::new(value.at(), "a single kernel is wanted here; write one number"));
            }
        }
        let columns = match &self.on {
            None => Columns::all(),
            Some(Selector::View(at, _)) => {
                return Err(Fault::new(*at, "a single kernel takes its columns by position, as in on [0:5]"));
            }
            Some(Selector::Items(items)) => Columns::from_ranges(positions(items)?),
        };
        let mut kernels = self.kernels(1.0)?;
        match kernels.pop().map(|kernel| kernel.on(columns)) {
            Some(Ok(kernel)) => Ok(kernel),
            _ => Err(Fault::new(self.at, "a single kernel is wanted here")),
        }
    }
}

/// An error if a parameter is out of range, with the value as written.
pub(super) fn check_range(param: &KernelParam, value: f64, at: At, found: impl fmt::Display) -> Parsed<()> {
    match param.fault(value) {
        Some(must) => Err(Fault::new(at, format!("{} {must}, found {found}", param.name))),
        None => Ok(()),
    }
}

/// The ranges of a list that holds positions only.
fn positions(items: &[Item]) -> Parsed<Vec<Range<usize>>> {
    items
        .iter()
        .map(|item| match &item.pick {
            Pick::Range(range) => Ok(range.clone()),
            Pick::Name(_) => Err(Fault::new(item.at, "a single kernel takes its columns by position, as in on [0:5]")),
        })
        .collect()
}

/// An error at an entry that selects a column already selected by an earlier one.
pub(super) fn check_repeats(picked: &[(At, Range<usize>)]) -> Parsed<()> {
    let mut order: Vec<usize> = (0..picked.len()).collect();
    order.sort_unstable_by_key(|&i| (picked[i].1.start, i));
    let mut first: Option<(usize, usize)> = None;
    // A later start can only overlap the entry that reaches furthest so far.
    let mut furthest: Option<usize> = None;
    for &i in &order {
        if let Some(j) = furthest.filter(|&j| picked[i].1.start < picked[j].1.end) {
            let found = (i.max(j), picked[i].1.start);
            first = Some(first.map_or(found, |old| old.min(found)));
        }
        if furthest.is_none_or(|j| picked[i].1.end > picked[j].1.end) {
            furthest = Some(i);
        }
    }
    match first {
        Some((i, column)) => Err(Fault::new(picked[i].0, format!("column {column} is selected twice; name it once"))),
        None => Ok(()),
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Factor::One(number) => write!(f, "{number}"),
            Factor::Steps(low, high) => write!(f, "{low}..{high}"),
            Factor::Spaced(low, high, _, count) => write!(f, "{low}..{high}; {count}"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Plain(factor) => write!(f, "{factor}"),
            Value::Median(_, None) => f.write_str("median"),
            Value::Median(_, Some(factor)) => write!(f, "median*{factor}"),
        }
    }
}

impl Selector {
    /// Its names with commas between, as `words(...)` takes them.
    fn inside(&self) -> String {
        let Selector::Items(items) = self else { return self.to_string() };
        let name = |item: &Item| match &item.pick {
            Pick::Name(name) => quoted_name(name),
            Pick::Range(range) => format!("{}:{}", range.start, range.end),
        };
        items.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = match self {
            Selector::View(_, name) => return write!(f, "{}", Name(name)),
            Selector::Items(items) => items,
        };
        for (i, item) in items.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "[" })?;
            match &item.pick {
                Pick::Name(name) => write!(f, "{}", Name(name))?,
                Pick::Range(range) if range.len() == 1 => write!(f, "{}", range.start)?,
                Pick::Range(range) => write!(f, "{}:{}", range.start, range.end)?,
            }
        }
        f.write_str("]")
    }
}

impl fmt::Display for Term {
    /// The canonical text: suffixes in the order `each`, `on`, `unscaled`, `raw`, `centred`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.head.as_deref().unwrap_or(self.family.name))?;
        for (i, value) in self.values.iter().enumerate() {
            match (i, self.family.key) {
                (0, Some(key)) => write!(f, "({key}={value}")?,
                (0, None) => write!(f, "({value}")?,
                _ => write!(f, ", {value}")?,
            }
        }
        for (k, number) in &self.options {
            write!(f, ", {}={number}", self.family.params[*k].name)?;
        }
        f.write_str(if self.values.is_empty() { "" } else { ")" })?;
        match &self.gram {
            Some(name) if self.family.takes_distances() => write!(f, " on {}", Name(name))?,
            Some(name) => write!(f, "{}", Enclosed(name))?,
            None => {}
        }
        match self.each() {
            None => {}
            Some(Each::Column) => f.write_str(" each")?,
            Some(Each::View) => f.write_str(" each view")?,
            Some(Each::Set(file)) => write!(f, " each set{}", Enclosed(file))?,
        }
        match (&self.on, self.encodings.first().filter(|encoding| encoding.is_selector())) {
            (Some(selector), Some(encoding)) => {
                write!(f, " on {}", encoding.on(&selector.inside()))?;
            }
            (Some(selector), None) => write!(f, " on {selector}")?,
            (None, _) => {}
        }
        f.write_str(if self.revcomp { " revcomp" } else { "" })?;
        f.write_str(if self.unscaled { " unscaled" } else { "" })?;
        f.write_str(if self.raw { " raw" } else { "" })?;
        f.write_str(if self.centred { " centred" } else { "" })
    }
}
