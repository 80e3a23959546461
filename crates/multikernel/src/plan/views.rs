//! Views: which take part, and how rows that lack some are treated.

use std::ops::Range;
use std::str::FromStr;

use crate::data::{Preprocessor, Presence, Samples, View};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::run::KernelsOfView;

/// How rows that lack views are treated. Single missing values are always filled with the training means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// Kernels on a view are 0 for rows that lack it, and the others compensate: see [`Points`](crate::stack::Points).
    #[default]
    Skip,
    /// The missing view is filled with the training means.
    Impute,
    /// Rows that lack a view are left out of training; new rows are treated as by `Skip`.
    Drop,
}

impl Missing {
    /// The word used by the command line and in files.
    pub fn word(self) -> &'static str {
        match self {
            Missing::Skip => "skip",
            Missing::Impute => "impute",
            Missing::Drop => "drop",
        }
    }
}

impl FromStr for Missing {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "skip" => Ok(Missing::Skip),
            "impute" => Ok(Missing::Impute),
            "drop" => Ok(Missing::Drop),
            _ => Err(Error::param("missing", format!("must be skip, impute or drop, got `{text}`"))),
        }
    }
}

/// Which views take part, selected by the kernels on them. A Gram matrix counts as a view of its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All.
    #[default]
    All,
    /// All but the kernels that use this view.
    Without(String),
    /// Only kernels that use this view and no other.
    Only(String),
    /// The same, where this leaves out exactly one other view: with two views, what remains without the other.
    OnlyWithout {
        /// The view that takes part.
        only: String,
        /// The view that does not.
        without: String,
    },
    /// All columns concatenated: the bank of data without views.
    Concatenated,
}

impl Part {
    pub(super) fn word(&self) -> Option<String> {
        match self {
            Part::All => None,
            Part::Without(view) => Some(format!("without {view}")),
            Part::Only(view) => Some(format!("only {view}")),
            Part::OnlyWithout { only, without } => Some(format!("only {only} (without {without})")),
            Part::Concatenated => Some("concatenated".into()),
        }
    }
}

/// Which views the rows have, if some lack one and it is not imputed.
pub(super) fn presence(samples: &Samples, missing: Missing) -> Result<Option<Presence>> {
    if missing == Missing::Impute || samples.views().is_empty() {
        return Ok(None);
    }
    let presence = Presence::of(samples.features(), samples.views());
    match presence.as_ref().and_then(Presence::first_without_any) {
        Some(i) if samples.grams().is_empty() => {
            Err(Error::input(format!("{} has no view at all; leave it out", row_name(samples, i))))
        }
        _ => Ok(presence),
    }
}

/// A row's name in messages: its id if it has one.
fn row_name(samples: &Samples, i: usize) -> String {
    match samples.ids() {
        Some(ids) => format!("sample {} (row {})", ids[i], i + 1),
        None => format!("row {}", i + 1),
    }
}

/// Whether every column of a range is one of a view or learned from it.
fn is_covered(range: &Range<usize>, own: &Range<usize>, learned: &[Range<usize>]) -> bool {
    let mut at = range.start;
    while at < range.end {
        let Some(next) = std::iter::once(own).chain(learned).find(|own| own.contains(&at)) else { return false };
        at = next.end;
    }
    true
}

/// The views of prepared rows, and which kernels use which.
pub(super) struct Places<'a> {
    views: &'a [View],
    /// For each view the features learned from its columns alone, such as the words of its texts, and those learned
    /// from any of its columns; both beside its own.
    learned: Vec<[Vec<Range<usize>>; 2]>,
    all_columns: Range<usize>,
}

impl<'a> Places<'a> {
    pub(super) fn of(preprocessor: &'a Preprocessor) -> Self {
        let views = preprocessor.views();
        let mut learned = vec![[vec![], vec![]]; views.len()];
        if let Some(layout) = preprocessor.layout() {
            for (view, [of_it_alone, of_it]) in layout.views.iter().zip(&mut learned) {
                for (encoded, range) in layout.blocks {
                    let n_inside = encoded.columns.iter().filter(|j| view.columns.contains(j)).count();
                    of_it_alone.extend((n_inside == encoded.columns.len()).then(|| range.clone()));
                    of_it.extend((n_inside > 0).then(|| range.clone()));
                }
            }
        }
        Places { views, learned, all_columns: 0..preprocessor.names().len() }
    }

    /// The columns a kernel uses; none for a Gram matrix.
    fn ranges<'s>(&'s self, kernel: &'s Kernel) -> &'s [Range<usize>] {
        match kernel.gram() {
            Some(_) => &[],
            // A view may cover all columns: a kernel on it is then one on all columns.
            None => kernel.columns().ranges().unwrap_or(std::slice::from_ref(&self.all_columns)),
        }
    }

    /// The view a kernel uses, if it uses exactly one; Gram matrices count as views of their name.
    fn view_of<'s>(&'s self, kernel: &'s Kernel) -> Option<&'s str> {
        if let Some(name) = kernel.gram() {
            return Some(name);
        }
        let inside = |(view, [learned, _]): &(&View, &[Vec<Range<usize>>; 2])| {
            self.ranges(kernel).iter().all(|range| is_covered(range, &view.columns, learned))
        };
        self.views.iter().zip(&self.learned).find(inside).map(|(view, _)| view.name.as_str())
    }

    fn looks_at(&self, kernel: &Kernel, name: &str) -> bool {
        let Some(v) = self.views.iter().position(|view| view.name == name) else { return kernel.gram() == Some(name) };
        let of_view = || std::iter::once(&self.views[v].columns).chain(&self.learned[v][1]);
        self.ranges(kernel).iter().any(|r| of_view().any(|own| r.start < own.end && own.start < r.end))
    }

    /// The kernels of the views that take part.
    pub(super) fn part(&self, kernels: Vec<Kernel>, part: &Part) -> Result<Vec<Kernel>> {
        let (left, name): (Vec<Kernel>, _) = match part {
            Part::All | Part::Concatenated => return Ok(kernels),
            Part::Without(name) => (kernels.into_iter().filter(|kernel| !self.looks_at(kernel, name)).collect(), name),
            Part::Only(name) | Part::OnlyWithout { only: name, .. } => {
                (kernels.into_iter().filter(|kernel| self.view_of(kernel) == Some(name)).collect(), name)
            }
        };
        if left.is_empty() {
            let word = part.word().unwrap_or_default();
            return Err(Error::input(format!(
                "{word} no kernel of the bank is left; give kernels on single views (`each view`), or another view than {name}"
            )));
        }
        Ok(left)
    }

    /// The kernels on each single view; views without any are left out.
    pub(super) fn kernels_of_views(&self, kernels: &[Kernel]) -> Vec<KernelsOfView> {
        let mut found: Vec<KernelsOfView> =
            self.views.iter().map(|view| KernelsOfView { name: view.name.clone(), kernels: vec![] }).collect();
        for (m, kernel) in kernels.iter().enumerate() {
            let Some(name) = self.view_of(kernel) else { continue };
            match found.iter_mut().find(|view| view.name == name) {
                Some(view) => view.kernels.push(m),
                None => found.push(KernelsOfView { name: name.into(), kernels: vec![m] }),
            }
        }
        found.retain(|view| !view.kernels.is_empty());
        found
    }
}
