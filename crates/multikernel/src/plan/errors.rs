//! The errors of numbers predicted from a stream before they were learned.

use crate::data::Standard;

/// The errors of one number of a stream, each row predicted before it was learned: sums, from which R2, RMSE and MAE
/// follow for all rows or for those between two moments ([`StreamErrors::since`]).
///
/// ```
/// use multikernel::plan::StreamErrors;
/// let mut errors = StreamErrors::new(10.0, 2.0);
/// for (number, predicted) in [(8.0, 9.0), (12.0, 11.0), (10.0, 10.0)] {
///     errors.add(number, predicted);
/// }
/// assert_eq!((errors.n_rows(), errors.r2(), errors.mae()), (3, Some(0.75), Some(2.0 / 3.0)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamErrors {
    n_rows: u64,
    /// Numbers are summed with mean 0 and standard deviation 1, as nearly as the first rows told: the sums lose no digits.
    mean: f64,
    scale: f64,
    sum: f64,
    squares: f64,
    /// Sums of squared and of absolute errors.
    squared: f64,
    absolute: f64,
}

/// The values of [`StreamErrors::to_words`].
const WORDS: usize = 7;

impl StreamErrors {
    /// Without rows. The mean and the standard deviation of the numbers, roughly: for the digits of the sums only.
    pub fn new(mean: f64, scale: f64) -> StreamErrors {
        StreamErrors { n_rows: 0, mean, scale, sum: 0.0, squares: 0.0, squared: 0.0, absolute: 0.0 }
    }

    /// One for each number of these units.
    pub(super) fn of(standard: &Standard) -> Vec<StreamErrors> {
        standard.mean.iter().zip(&standard.scale).map(|(&mean, &scale)| StreamErrors::new(mean, scale)).collect()
    }

    /// Adds a row.
    pub fn add(&mut self, number: f64, predicted: f64) {
        let (value, error) = ((number - self.mean) / self.scale, (number - predicted) / self.scale);
        self.n_rows = self.n_rows.saturating_add(1);
        self.sum += value;
        self.squares += value * value;
        self.squared += error * error;
        self.absolute += error.abs();
    }

    /// The errors of the rows since an earlier moment.
    #[must_use]
    pub fn since(&self, earlier: &StreamErrors) -> StreamErrors {
        StreamErrors {
            n_rows: self.n_rows - earlier.n_rows.min(self.n_rows),
            sum: self.sum - earlier.sum,
            squares: self.squares - earlier.squares,
            squared: self.squared - earlier.squared,
            absolute: self.absolute - earlier.absolute,
            ..*self
        }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// 1 minus the squared errors over the squared distances from the mean of the same rows; `None` if these do not
    /// differ.
    pub fn r2(&self) -> Option<f64> {
        let spread = self.squares - self.sum * self.sum / self.n_rows as f64;
        (spread > 1e-12 * self.squares).then(|| 1.0 - self.squared / spread)
    }

    /// The root of the mean squared error; `None` without rows.
    pub fn rmse(&self) -> Option<f64> {
        (self.n_rows > 0).then(|| self.scale * (self.squared.max(0.0) / self.n_rows as f64).sqrt())
    }

    /// The mean absolute error; `None` without rows.
    pub fn mae(&self) -> Option<f64> {
        (self.n_rows > 0).then(|| self.scale * self.absolute.max(0.0) / self.n_rows as f64)
    }

    /// All of it as words, for [`Online::set_memo`](super::Online::set_memo).
    pub fn to_words(&self) -> [u64; WORDS] {
        let bits = [self.mean, self.scale, self.sum, self.squares, self.squared, self.absolute].map(f64::to_bits);
        let mut words = [self.n_rows; WORDS];
        words[1..].copy_from_slice(&bits);
        words
    }

    /// From words.
    pub fn from_words(words: [u64; WORDS]) -> StreamErrors {
        let [n_rows, bits @ ..] = words;
        let [mean, scale, sum, squares, squared, absolute] = bits.map(f64::from_bits);
        StreamErrors { n_rows, mean, scale, sum, squares, squared, absolute }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_of_the_definitions_and_of_parts_of_a_stream() {
        let rows: Vec<(f64, f64)> =
            (0..200).map(|i| (1e6 + f64::from(i * 37 % 101), 1e6 + f64::from(i * 31 % 97))).collect();
        let mut whole = StreamErrors::new(1e6 + 40.0, 25.0);
        let mut at_80 = whole;
        for (i, &(number, predicted)) in rows.iter().enumerate() {
            whole.add(number, predicted);
            if i + 1 == 80 {
                at_80 = whole;
            }
        }
        for (found, rows) in [(whole, &rows[..]), (whole.since(&at_80), &rows[80..]), (at_80, &rows[..80])] {
            let n = rows.len() as f64;
            let mean = rows.iter().map(|row| row.0).sum::<f64>() / n;
            let squared: f64 = rows.iter().map(|row| (row.0 - row.1).powi(2)).sum();
            let spread: f64 = rows.iter().map(|row| (row.0 - mean).powi(2)).sum();
            let close = |a: Option<f64>, b: f64| assert!((a.unwrap() - b).abs() < 1e-9 * b.abs(), "{a:?} {b}");
            close(found.r2(), 1.0 - squared / spread);
            close(found.rmse(), (squared / n).sqrt());
            close(found.mae(), rows.iter().map(|row| (row.0 - row.1).abs()).sum::<f64>() / n);
            assert_eq!(StreamErrors::from_words(found.to_words()), found);
        }
        let none = StreamErrors::new(0.0, 1.0);
        assert_eq!((none.r2(), none.rmse(), none.mae()), (None, None, None));
    }
}
