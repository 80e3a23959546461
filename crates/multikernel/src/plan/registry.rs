//! The one list of methods.

use std::sync::Arc;

use crate::closest::closest;
use crate::error::{Error, Result};
use crate::kernel::{Families, Family};
use crate::method::{
    Alignf, Auto, Average, Bank, Bemkl, BestView, Bm3kl, Bsvm, Cik, Dpm, EasyMkl, Evidence, Fheuristic, Gpc, Level,
    LpMkl, Majority, MkBoostD1, MkBoostD2, MkBoostS1, MkBoostS2, Mkc, MklDa, Mklr, Obscure, Sbemkl, Silp, SimpleMkl,
    Single, SviMkl, Svm, UfoMkl,
};
use crate::run::{AnyMethod, Method};

/// The methods and kernel families known to the command line and to files. Add your own method with [`Registry::with`],
/// your own kernel with [`Registry::with_kernel`]; they then have everything the built-in ones have.
///
/// ```
/// use multikernel::plan::Registry;
/// let registry = Registry::standard();
/// assert_eq!(registry.get("average")?.about().name, "average");
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone)]
pub struct Registry {
    methods: Vec<Arc<dyn AnyMethod>>,
    families: Families,
}

/// The methods of [`Registry::standard`] that learn from a stream, for messages.
pub(super) const STREAMING_METHODS: &str = "mklda, ufomkl and obscure";

impl Registry {
    /// All methods of this crate.
    pub fn standard() -> Self {
        Registry { methods: vec![], families: Families::standard() }
            .at_default::<Auto>()
            .at_default::<Majority>()
            .at_default::<Svm>()
            .at_default::<Average>()
            .at_default::<Single>()
            .at_default::<BestView>()
            .at_default::<Fheuristic>()
            .at_default::<Alignf>()
            .at_default::<EasyMkl>()
            .at_default::<Evidence>()
            .at_default::<SimpleMkl>()
            .at_default::<Silp>()
            .at_default::<Level>()
            .at_default::<LpMkl>()
            .at_default::<MkBoostD1>()
            .at_default::<MkBoostD2>()
            .at_default::<MkBoostS1>()
            .at_default::<MkBoostS2>()
            .at_default::<MklDa>()
            .at_default::<UfoMkl>()
            .at_default::<Obscure>()
            .at_default::<Bm3kl>()
            .at_default::<Bemkl>()
            .at_default::<Sbemkl>()
            .at_default::<Gpc>()
            .at_default::<Bsvm>()
            .at_default::<Cik>()
            .at_default::<Dpm>()
            .at_default::<Mkc>()
            .at_default::<Bank>()
            .at_default::<SviMkl>()
            .at_default::<Mklr>()
    }

    fn at_default<M: Method + Default>(self) -> Self {
        self.with(M::default())
    }

    /// Adds a method; one of the same name is replaced.
    #[must_use]
    pub fn with(mut self, method: impl Method) -> Self {
        self.methods.retain(|known| known.about().name != method.about().name);
        self.methods.push(Arc::new(method));
        self
    }

    /// Adds a kernel family; one of the same name is replaced. Plans and models of this registry understand its text.
    ///
    /// # Panics
    /// If the declaration is not sound, as for [`Families::with`].
    #[must_use]
    pub fn with_kernel(mut self, family: &'static Family) -> Self {
        self.families = self.families.with(family);
        self
    }

    /// The kernel families, built-in and added.
    pub fn families(&self) -> &Families {
        &self.families
    }

    /// The method of this name; an unknown name gives an error that lists the known ones.
    pub fn get(&self, name: &str) -> Result<Arc<dyn AnyMethod>> {
        let known = self.names();
        self.methods.iter().find(|method| method.about().name == name).cloned().ok_or_else(|| {
            let hint =
                closest(name, known.iter().copied()).map_or(String::new(), |word| format!(" (did you mean {word}?)"));
            let known = known.join(", ");
            Error::param("method", format!("`{name}` is unknown{hint}; known: {known}"))
        })
    }

    /// All names, in the order of the list.
    pub fn names(&self) -> Vec<&'static str> {
        self.iter().map(|method| method.about().name).collect()
    }

    /// All methods, in the order of the list.
    pub fn iter(&self) -> impl Iterator<Item = &dyn AnyMethod> {
        self.methods.iter().map(|method| method.as_ref())
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
