//! Plain matrices, such as a Gram matrix computed elsewhere.

use std::path::Path;

use super::dispatch::read;
use super::options::ReadOptions;
use crate::error::{Error, Place, Result};
use crate::features::Features;
use crate::linalg::Matrix;

/// Reads a plain matrix of numbers: a `.npy` array, or CSV or TSV text without names, plain or gzip.
///
/// For matrices that are not tables of samples, such as Gram matrices; [`read`] is for tables. A 1-D array is one
/// column. Missing values are NaN; infinity is an error that names row and column. `memory` limits the size of the
/// matrix in bytes, 8 GiB by default; an array in Fortran order briefly takes twice that.
///
/// ```
/// use multikernel::data::read_matrix;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("gram.csv");
/// std::fs::write(&path, "1,0.5\n0.5,1\n")?;
/// let gram = read_matrix(&path, None)?;
/// assert_eq!(gram.row(1), [0.5, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_matrix(path: &Path, memory: Option<u64>) -> Result<Matrix> {
    // A matrix has no id column.
    let id = Some("none".to_string());
    let options = ReadOptions { header: Some(false), unlabelled: true, id, memory, ..Default::default() };
    let table = read(path, &options)?;
    match table.samples.into_features() {
        Features::Dense(matrix) if table.index_base.is_none() => Ok(matrix),
        _ => Err(Error::data(
            Place::file(table.source),
            "this is LIBSVM text; a matrix is read from .npy, or from CSV or TSV without names: convert it",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read::npy::tests::{assert_matrix, expected, file};

    fn of(name: &str, bytes: &[u8]) -> Result<Matrix> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), bytes).unwrap();
        read_matrix(&folder.path().join(name), Some(1 << 20))
    }

    fn message(name: &str, bytes: &[u8]) -> String {
        let text = of(name, bytes).unwrap_err().to_string();
        let (_, after) = text.split_at(text.find(name).unwrap());
        after.to_string()
    }

    #[test]
    fn arrays_and_text_give_the_same_matrix() {
        assert_matrix(&of("a.npy", &file("fortran.npy")).unwrap(), &expected()["fortran.npy"][""], "fortran");
        assert_matrix(&of("a", &file("f8-big.npy")).unwrap(), &expected()["f8-big.npy"][""], "without an ending");
        let plain = Matrix::from_vec(2, 3, vec![1.0, -0.5, 3.0, 1e300, 5.0, 6.0]).unwrap();
        for (name, text) in [
            ("a.csv", "1,-0.5,3\n1e300,5,6\n"),
            ("a.tsv", "1\t-0.5\t3\n1e300\t5\t6\n"),
            ("a.txt", "1\t-0.5\t3\n1e300\t5\t6\n"),
            ("a", "1;-0.5;3\n1e300;5;6\n"),
            ("a.csv", "1;-0,5;3\n1e300;5;6\n"),
        ] {
            assert_eq!(of(name, text.as_bytes()).unwrap(), plain, "{name}");
        }
    }

    #[test]
    fn no_column_is_taken_for_ids() {
        let text: String = (1..=30).map(|i| format!("{i},0.5,{}\n", i * i)).collect();
        assert_eq!(of("a.csv", text.as_bytes()).unwrap().n_cols(), 3);
    }

    #[test]
    fn other_files_refused() {
        assert_eq!(
            message("a.csv", b"p,q\n1,2\n"),
            "a.csv:1:1: 'p' in column 'x1' is not a number; is the first line a header?"
        );
        assert_eq!(
            message("a.svm", b"1 1:2\n"),
            "a.svm: this is LIBSVM text; a matrix is read from .npy, or from CSV or TSV without names: convert it"
        );
        assert_eq!(
            message("a.npy", b"1,2\n"),
            "a.npy: this is no NumPy array: it does not begin with \\x93NUMPY; write it with numpy.save"
        );
        assert!(message("b.npy", &file("i8.npy")[..170]).contains("only 42 are there: it is cut short"));
    }
}
