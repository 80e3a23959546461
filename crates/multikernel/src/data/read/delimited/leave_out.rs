//! Leaving out rows and columns of a table after reading.

/// Removes these rows, and all columns except these, in place; both lists are ascending.
pub(super) fn squeeze(data: &mut Vec<f64>, n_cols: usize, columns: &[usize], dropped: &[usize]) {
    if columns.len() == n_cols && dropped.is_empty() {
        return;
    }
    let (mut end, mut dropped) = (0, dropped.iter().peekable());
    for row in 0..data.len() / n_cols.max(1) {
        if dropped.next_if(|&&first| first == row).is_some() {
            continue;
        }
        for &k in columns {
            data[end] = data[row * n_cols + k];
            end += 1;
        }
    }
    data.truncate(end);
}

/// The number of missing values of each column.
pub(super) fn missing_in(data: &[f64], n_cols: usize) -> Vec<usize> {
    let mut missing = vec![0; n_cols];
    for row in data.chunks(n_cols.max(1)) {
        missing.iter_mut().zip(row).for_each(|(count, value)| *count += usize::from(value.is_nan()));
    }
    missing
}

/// The texts of the remaining rows.
pub(super) fn without(texts: Vec<String>, dropped: &[usize]) -> Vec<String> {
    let mut dropped = dropped.iter().peekable();
    let is_left = |(row, text)| dropped.next_if(|&&first| first == row).is_none().then_some(text);
    texts.into_iter().enumerate().filter_map(is_left).collect()
}

/// `1 row`, `2 rows`.
pub(super) fn rows_of(n: usize) -> String {
    format!("{n} row{}", if n == 1 { "" } else { "s" })
}

/// The numbers of the remaining rows, counted from 1.
pub(super) fn left(n_rows: usize, dropped: &[usize]) -> Vec<usize> {
    (0..n_rows).filter(|row| dropped.binary_search(row).is_err()).map(|row| row + 1).collect()
}
