//! The page of a job that is still running.

use std::time::Instant;

use super::chart::Trace;
use super::html::{Cell, Figure, Page, Section, Table};
use super::section::brief;
use crate::run::{Observer, Progress, seconds_in_words};

/// Points of a curve; when there are more, every second one goes.
const MOST_POINTS: usize = 400;
/// Notes that are kept.
const MOST_NOTES: usize = 50;
/// Seconds after which a browser loads the page again.
const REFRESH: u32 = 3;

/// An observer that keeps what a page about a running job shows: phases, how far they are, and the figures that methods
/// tell, as curves. Write [`Watch::html`] to a file every few seconds; a browser that has it open loads it again by itself.
///
/// ```
/// use multikernel::{report::Watch, run::{Observer, Progress}};
/// let mut watch = Watch::new("multikernel train");
/// watch.phase("evidence");
/// watch.progress(&Progress::of(3, 10).with("evidence", -12.5));
/// assert!(watch.html().contains("3 of 10"));
/// ```
#[derive(Clone, Debug)]
pub struct Watch {
    title: String,
    begun: Instant,
    phases: Vec<Phase>,
    notes: Vec<String>,
}

/// A phase that has begun.
#[derive(Clone, Debug)]
struct Phase {
    name: String,
    begun: Instant,
    seconds: Option<f64>,
    done: u64,
    total: u64,
    curves: Vec<Curve>,
}

/// A figure by units of work.
#[derive(Clone, Debug)]
struct Curve {
    name: String,
    points: Vec<[f64; 2]>,
    /// One of so many values is kept.
    every: usize,
    seen: usize,
}

impl Watch {
    /// A watch on a job with a title, such as its command.
    pub fn new(title: &str) -> Watch {
        Watch { title: title.into(), begun: Instant::now(), phases: vec![], notes: vec![] }
    }

    /// The page as it is now.
    pub fn html(&self) -> String {
        let so_far = seconds_in_words(self.begun.elapsed().as_secs_f64());
        self.page(format!("running for {so_far}; this page loads itself again every {REFRESH} s"), Some(REFRESH))
    }

    /// The last page, of a job that has ended somehow.
    pub fn ended(&self, how: &str) -> String {
        self.page(format!("{how} after {}", seconds_in_words(self.begun.elapsed().as_secs_f64())), None)
    }

    fn page(&self, subtitle: String, refresh: Option<u32>) -> String {
        let mut sections = vec![self.progress_section()];
        sections.extend(self.figures());
        let (title, warnings) = (self.title.clone(), self.notes.clone());
        Page { title, subtitle, warnings, sections, json: "{}".into(), refresh }.html()
    }

    fn progress_section(&self) -> Section {
        let mut table = Table::new("Phases", &["phase", "done", "of", "seconds"]);
        for phase in &self.phases {
            let seconds = phase.seconds.unwrap_or_else(|| phase.begun.elapsed().as_secs_f64());
            let cells = [Cell::Count(phase.done as usize), Cell::Count(phase.total as usize), Cell::Number(seconds)];
            table.row([Cell::Text(phase.name.clone())].into_iter().chain(cells).collect());
        }
        let open: Vec<String> = self.phases.iter().filter(|phase| phase.seconds.is_none()).map(Phase::says).collect();
        let says = if open.is_empty() { "Between two phases.".into() } else { open.join(" ") };
        Section {
            id: "progress",
            title: "How far it is".into(),
            says,
            figures: vec![Figure { svg: String::new(), table }],
        }
    }

    /// The curves of the latest phase that has any.
    fn figures(&self) -> Option<Section> {
        let phase = self.phases.iter().rev().find(|phase| !phase.curves.is_empty())?;
        let figures = phase.curves.iter().enumerate().map(|(k, curve)| curve.figure(k, &phase.name)).collect();
        let says = format!("Figures that {} tells on its way; the last point is the latest.", brief(&phase.name));
        Some(Section { id: "figures", title: "On its way".into(), says, figures })
    }
}

impl Phase {
    fn says(&self) -> String {
        let elapsed = self.begun.elapsed().as_secs_f64();
        if self.total == 0 || self.done == 0 {
            return format!("{}: {} so far.", brief(&self.name), seconds_in_words(elapsed));
        }
        let left = elapsed / self.done as f64 * self.total.saturating_sub(self.done) as f64;
        format!(
            "{}: {} of {}, {} so far, about {} left.",
            brief(&self.name),
            self.done,
            self.total,
            seconds_in_words(elapsed),
            seconds_in_words(left.min(1e9))
        )
    }

    fn add(&mut self, name: &str, value: f64) {
        let x = self.done as f64;
        let curve = match self.curves.iter().position(|curve| curve.name == name) {
            Some(at) => &mut self.curves[at],
            None => {
                self.curves.push(Curve { name: name.into(), points: vec![], every: 1, seen: 0 });
                let last = self.curves.len() - 1;
                &mut self.curves[last]
            }
        };
        curve.seen += 1;
        if value.is_finite() && curve.seen.is_multiple_of(curve.every) {
            curve.points.push([x, value]);
        }
        if curve.points.len() > MOST_POINTS {
            curve.points = curve.points.iter().copied().skip(1).step_by(2).collect();
            curve.every *= 2;
        }
    }
}

impl Curve {
    fn figure(&self, k: usize, phase: &str) -> Figure {
        let title = format!("{} of {}", self.name, phase);
        let svg = Trace {
            id: &format!("figure-{k}"),
            title: &title,
            describes: &format!("{} by units of work done", self.name),
            axes: ["done", &self.name],
            points: &self.points,
        }
        .svg();
        let mut table = Table::new(&title, &["done", &self.name]);
        for &[x, y] in &self.points {
            table.row(vec![Cell::Count(x as usize), Cell::Number(y)]);
        }
        Figure { svg, table }
    }
}

impl Observer for Watch {
    fn phase(&mut self, name: &str) {
        // Splits have phases of their own inside, and come back.
        for phase in self.phases.iter_mut().filter(|phase| phase.seconds.is_none() && phase.name != name) {
            if phase.name != "splits" || name.is_empty() {
                phase.seconds = Some(phase.begun.elapsed().as_secs_f64());
            }
        }
        let is_open = self.phases.iter().any(|phase| phase.name == name && phase.seconds.is_none());
        if name.is_empty() || is_open {
            return;
        }
        // A phase that comes again, in the next split, starts anew.
        self.phases.retain(|phase| phase.name != name);
        let begun = Instant::now();
        self.phases.push(Phase { name: name.into(), begun, seconds: None, done: 0, total: 0, curves: vec![] });
    }

    fn progress(&mut self, progress: &Progress) {
        let inner = self.phases.iter_mut().rev().find(|phase| phase.seconds.is_none());
        if let Some(phase) = inner {
            (phase.done, phase.total) = (progress.done, progress.total);
            progress.values.iter().for_each(|&(name, value)| phase.add(name, value));
        }
    }

    fn note(&mut self, text: &str) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(text.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_has_open_phases_thinned_curves_and_escaped_notes() {
        let mut watch = Watch::new("multikernel evaluate <data>");
        watch.phase("splits");
        watch.progress(&Progress::of(1, 20));
        watch.phase("evidence");
        for k in 1..=5000 {
            watch.progress(&Progress::of(k, 10_000).with("objective", 1.0 / k as f64).with("gap", f64::NAN));
        }
        watch.note("a <script> in a name");
        let page = watch.html();
        assert!(page.contains("5000 of 10000") && page.contains("1 of 20") && page.contains("http-equiv=\"refresh\""));
        assert!(page.contains("&lt;script&gt; in a name") && !page.contains("<data>"));
        let curve = &watch.phases[1].curves[0];
        assert!(curve.points.len() <= MOST_POINTS && curve.points.len() > MOST_POINTS / 4);
        assert!(
            curve.points.is_sorted_by(|a, b| a[0] < b[0])
                && curve.points.iter().all(|[x, y]| (x * y - 1.0).abs() < 1e-12)
        );
        // The next split begins anew, and splits go on.
        watch.phase("splits");
        watch.progress(&Progress::of(2, 20));
        watch.phase("evidence");
        watch.progress(&Progress::of(7, 10_000));
        let page = watch.html();
        assert!(page.contains("2 of 20") && page.contains("7 of 10000") && watch.phases.len() == 2);
        watch.phase("");
        assert!(watch.html().contains("Between two phases"));
        let last = watch.ended("finished");
        assert!(last.contains("finished after") && !last.contains("http-equiv=\"refresh\""));
    }
}
