//! `auto`: tries a short list of banks, rules and values of c on inner folds, and keeps what predicts best. Ours.

mod candidate;
mod compare;
mod landmarks;
mod member;
mod model;
mod state;
#[cfg(test)]
mod tests;

pub use model::AutoModel;
pub use state::AutoState;

use super::ends::TARGETS;
use super::svc::ClassWeights;
use crate::data::TargetKind;
use crate::kernel::{AUTO_BANK, AUTO_BANK_WITHOUT_COLUMNS};
use crate::run::{About, Allowed, Method, Needs, choice, params};

choice! {
    /// How much work a method may take on, in candidates and rows, never in seconds: same seed, same answer.
    pub enum Effort {
        /// Uniform weights only.
        Quick = "quick",
        /// Uniform weights, and those of `evidence`.
        Normal = "normal",
        /// Those of `alignf` as well, and more rows to choose on.
        Thorough = "thorough",
    }
}

params! {
    /// The default: nothing to choose. Candidates are the alternatives of the bank (`A | B`), each with uniform weights
    /// and with those of [`Evidence`](super::Evidence), at the values of c that `auto` tries. All are trained on the
    /// same five inner folds, which share one stack, and a rule learns its weights once for each fold. The candidate
    /// with the lowest held-out log-loss is kept, or the mean of the probabilities of the best two where that is lower
    /// still. Numbers are compared by held-out squared error, times by the held-out partial likelihood; there the best
    /// one is kept.
    ///
    /// The default bank has four alternatives: widths around the median distance; 14 fixed widths, the narrow ones of
    /// which act as a ridge on noisy tables; the first with kernels on single columns, where there are no more of them
    /// than rows: five widths on each, or one where rows are fewer, but twice as many as columns; and the first on columns
    /// in their own units (`unscaled`), from 50 rows on: columns that are on one scale already, such as pixels or spectra, may
    /// lose by being standardised. Data with views have the first and the last on each view; other columns than
    /// numbers, and Gram matrices, have their usual bank as the only one.
    /// With fewer than 20 rows nothing is compared: the first alternative has uniform weights.
    ///
    /// With more than 2,000 rows candidates are compared and weights learned on 2,000 of them, and the machine is
    /// trained on all. With more than 20,000 (numbers and times, whose models cost N^3: 5,000), or where their combined kernel
    /// does not fit into memory, the best candidate alone is kept: it becomes a kernel logistic regression
    /// ([`Mklr`](super::Mklr)) on all rows with 500 landmarks (numbers: 1,000, and no intervals), or, with more than 20 kernels, a
    /// machine on as many rows. The penalty of landmarks is that of c; that of numbers and times is chosen on the same inner
    /// folds. Each is told. Probabilities come from the inner folds, so they cost nothing more.
    ///
    /// Cost: about six times that of `evidence` on the largest alternative.
    pub struct Auto {
        /// how many candidates: quick (uniform weights), normal (and those of evidence), thorough (and those of
        /// alignf, on twice as many rows)
        effort: Effort = Effort::Normal, Allowed::OneOf(Effort::WORDS);
        /// multiply c per class: none, balanced (n / (n_classes * count)), or CLASS=WEIGHT,...
        class_weights: ClassWeights = ClassWeights::None, Allowed::Text("none, balanced, or CLASS=WEIGHT,...");
    }
}

impl Auto {
    /// Rows on which candidates are compared and weights learned.
    fn most_rows(&self) -> usize {
        match self.effort {
            Effort::Quick => 1000,
            Effort::Normal => 2000,
            Effort::Thorough => 4000,
        }
    }
}

/// Rows that the machine is trained on, at most: a combined kernel of 3 GiB; and those of machines that cost N^3.
const MOST_TRAINED: usize = 20_000;
const MOST_FACTORED: usize = 5_000;

impl Method for Auto {
    type State = AutoState;

    fn about(&self) -> About {
        About {
            name: "auto",
            summary: "the best of several banks, rules and values of c on inner folds, or the mean of two: no choice to make",
            needs: Needs::Stack,
            bank: if self.effort == Effort::Quick { AUTO_BANK_WITHOUT_COLUMNS } else { AUTO_BANK },
        }
    }

    // Many rows have landmarks, or are trained on in part.
    fn n_squares(&self) -> usize {
        0
    }

    // Candidates are compared on so many rows and no more.
    fn grows_evenly(&self) -> bool {
        false
    }

    fn targets(&self) -> &'static [TargetKind] {
        TARGETS
    }
}
