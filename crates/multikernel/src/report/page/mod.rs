//! One page that holds everything about a model or an evaluation: charts, their numbers, and what they mean, in one file
//! that needs nothing else.

mod canvas;
mod chart;
mod evaluation;
mod html;
mod model;
mod section;
#[cfg(test)]
mod tests;
mod value;
mod watch;

pub use evaluation::{evaluation_page, evaluation_picture};
pub use model::ModelPage;
pub use watch::Watch;
