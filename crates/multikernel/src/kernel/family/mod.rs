//! The kernel families, one file each, and the list of them.
//!
//! To add a kernel, write a file with a [`Family`] named `FAMILY` and add the file's name to the list below: the guide
//! "Adding a kernel" shows every step.

use std::borrow::Cow;

use super::declaration::Family;

/// Declares the files and lists their families.
macro_rules! families {
    ($($file:ident,)*) => {
        $(pub mod $file;)*

        /// The families of this crate, in the order messages list them.
        pub static FAMILIES: &[&Family] = &[$(&$file::FAMILY),*];
    };
}

families! {
    gaussian,
    gaussian_gamma,
    laplacian,
    linear,
    polynomial,
    sigmoid,
    rational_quadratic,
    clinical,
    precomputed,
    distance,
}

/// The families a bank may use: those of this crate, and your own.
///
/// ```
/// use multikernel::kernel::Families;
/// let bank = Families::standard().bank("gaussian(1), linear")?;
/// assert_eq!(bank.terms().len(), 2);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Families {
    list: Cow<'static, [&'static Family]>,
}

impl Families {
    /// The families of this crate.
    pub fn standard() -> Self {
        Families { list: Cow::Borrowed(FAMILIES) }
    }

    /// Adds a family; one of the same name and key is replaced.
    ///
    /// # Panics
    /// If the declaration breaks a rule of [`Family`]: a bug that shows on the first run.
    #[must_use]
    pub fn with(mut self, family: &'static Family) -> Self {
        if let Some(fault) = family.unsound() {
            panic!("{fault}");
        }
        let list = self.list.to_mut();
        list.retain(|known| *known != family);
        list.push(family);
        self
    }

    /// The families, in list order.
    pub fn iter(&self) -> impl Iterator<Item = &'static Family> {
        self.list.iter().copied()
    }

    /// The family names in the grammar, without repeats.
    pub fn names(&self) -> Vec<&'static str> {
        self.iter().filter(|family| family.key.is_none()).map(|family| family.name).collect()
    }

    /// The family with this name and key.
    pub(super) fn find(&self, name: &str, key: Option<&str>) -> Option<&'static Family> {
        self.iter().find(|family| family.name == name && family.key == key)
    }

    /// What a family takes in parentheses, with an example of each way to write it.
    pub(super) fn wants(&self, family: &Family) -> String {
        let same = self.iter().filter(|other| other.name == family.name);
        format!("{}, as in {}", family.takes, same.map(|other| other.example).collect::<Vec<_>>().join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::concrete::Kernel;
    use super::super::declaration::Forms;
    use super::*;
    use crate::dist::Rng;

    #[test]
    fn every_family_is_declared_soundly() {
        for (i, family) in FAMILIES.iter().enumerate() {
            let name = family.name;
            assert!(!FAMILIES[..i].contains(family), "{name} stands twice in the list");
            assert_eq!(family.unsound(), None);
            let kernel: Kernel = family.example.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(kernel.family(), *family, "the example of {name} is of another family");
            assert_eq!(kernel.to_string(), family.example);
        }
    }

    #[test]
    fn every_family_gives_an_element_the_same_bits_alone_and_among_others() {
        let mut rng = Rng::new(5, 0);
        for kernel in FAMILIES.iter().map(|family| family.example.parse::<Kernel>().unwrap()) {
            for n in [0, 1, 7, 8, 9, 67] {
                let mut base: Vec<f64> = (0..n).map(|_| 40.0 * rng.uniform()).collect();
                if n > 2 {
                    (base[0], base[1]) = (f64::NAN, f64::INFINITY);
                }
                let mut out = vec![7.0; n];
                kernel.values_into(&base, &mut out);
                for (b, o) in base.iter().zip(&out) {
                    assert_eq!(kernel.value(*b).to_bits(), o.to_bits(), "{kernel} {b}");
                    assert!(!b.is_nan() || o.is_nan(), "{kernel}: not-a-number in gives not-a-number out");
                }
            }
        }
    }

    #[test]
    fn every_family_has_its_row_in_the_grammar() {
        for family in FAMILIES {
            let code = |text: &str| format!("`{text}`");
            let [unit, raw] = match &family.forms {
                Forms::Unit(form) => [code(form.formula), "the same".into()],
                Forms::Both { unit, raw } => [code(unit.formula), code(raw.formula)],
                Forms::Raw(form) => ["needs `raw`".into(), code(form.formula)],
            };
            let row = format!("| `{}` | {unit} | {raw} |", family.written);
            let found = crate::kernel::GRAMMAR.lines().any(|line| line == row);
            assert!(found, "add this row to the table at the end of kernel/grammar.md:\n{row}");
        }
    }

    #[test]
    fn with_a_family_of_the_same_name_replaces_it() {
        let families = Families::standard().with(&gaussian::FAMILY);
        assert_eq!(families.iter().count(), FAMILIES.len());
        assert_eq!(families.iter().last(), Some(&gaussian::FAMILY));
    }
}
