//! Every kernel and every method passes its suite.

use multikernel::data::bundled;
use multikernel::kernel::{Forms, family::FAMILIES};
use multikernel::method::{
    Alignf, Auto, Average, Bank, Bemkl, Bm3kl, Bsvm, Cik, Dpm, EasyMkl, Evidence, Fheuristic, Gpc, Level, LpMkl,
    Majority, MkBoostD1, MkBoostD2, MkBoostS1, MkBoostS2, Mkc, MklDa, Mklr, Obscure, Sbemkl, Silp, SimpleMkl, Single,
    SviMkl, Svm, UfoMkl,
};
use multikernel::testing::{
    check_kernel, check_method, check_method_of_classes_with, check_method_with, check_two_class_method_with,
};
use multikernel::{Model, Plan};

/// A kernel of each family with each suffix, whatever the families are.
#[test]
fn every_kernel_passes_the_conformance_suite() {
    let suffixes =
        [" raw", " raw centred", " on [3] raw", "", " centred", " on [3]", " on [0:4, 7]", " on [2, 9] centred"];
    // The columns of `clinical` come scaled by its encoding; `mixed` has it.
    for family in FAMILIES.iter().filter(|family| !family.takes_gram() && family.name != "clinical") {
        let example = family.example.trim_end_matches(" raw");
        // Some have no unit diagonal: the first three are for all.
        let n_suffixes = if matches!(family.forms, Forms::Raw(_)) { 3 } else { suffixes.len() };
        for suffix in &suffixes[..n_suffixes] {
            check_kernel(&format!("{example}{suffix}").parse().unwrap()).unwrap();
        }
    }
    for text in ["gaussian(1e-3)", "gaussian(1e6)", "gaussian(1.7)", "polynomial(1)", "polynomial(3)", "polynomial(64)"]
    {
        check_kernel(&text.parse().unwrap()).unwrap();
    }
    for text in
        ["rational_quadratic(0.3)", "rational_quadratic(2, alpha=0.01)", "rational_quadratic(9, alpha=1000) raw"]
    {
        check_kernel(&text.parse().unwrap()).unwrap();
    }
}

#[test]
fn every_kernel_is_trained_saved_loaded_and_predicted_with() {
    let data = bundled("sonar").unwrap();
    let folder = tempfile::tempdir().unwrap();
    for family in FAMILIES.iter().filter(|family| family.positive_semidefinite) {
        let path = folder.path().join(family.name);
        let model = Plan::new("average").unwrap().kernels(family.example).unwrap().train(&data).unwrap();
        model.save(&path).unwrap();
        let loaded = Model::load(&path).unwrap();
        assert_eq!(loaded.kernels().names(), [family.example]);
        let (before, after) = (model.predict(&data.samples).unwrap(), loaded.predict(&data.samples).unwrap());
        assert_eq!(before.scores, after.scores, "{}", family.example);
    }
}

#[test]
fn auto_passes_the_conformance_suite() {
    check_method(Auto::default()).unwrap();
}

#[test]
fn majority_passes_the_conformance_suite() {
    check_method(Majority::default()).unwrap();
}

#[test]
fn svm_passes_the_conformance_suite() {
    check_method(Svm::default()).unwrap();
}

#[test]
fn average_passes_the_conformance_suite() {
    check_method(Average::default()).unwrap();
}

/// `bestview` is the same state machine on other sets of kernels, and needs views, which the suite's data have not.
#[test]
fn single_passes_the_conformance_suite() {
    check_method(Single::default()).unwrap();
}

#[test]
fn simplemkl_passes_the_conformance_suite() {
    check_method(SimpleMkl::default()).unwrap();
}

#[test]
fn silp_passes_the_conformance_suite() {
    check_method(Silp::default()).unwrap();
}

#[test]
fn level_passes_the_conformance_suite() {
    check_method(Level::default()).unwrap();
}

#[test]
fn lpmkl_passes_the_conformance_suite() {
    check_method(LpMkl::default()).unwrap();
}

#[test]
fn fheuristic_passes_the_conformance_suite() {
    check_method(Fheuristic::default()).unwrap();
}

#[test]
fn alignf_passes_the_conformance_suite() {
    check_method(Alignf::default()).unwrap();
}

#[test]
fn easymkl_passes_the_conformance_suite() {
    check_method(EasyMkl::default()).unwrap();
}

#[test]
fn evidence_passes_the_conformance_suite() {
    check_method(Evidence::default()).unwrap();
    check_method_with(Evidence::default(), &[("landmarks", "20"), ("iterations", "4")]).unwrap();
}

#[test]
fn mkboost_d1_passes_the_conformance_suite() {
    check_method(MkBoostD1::default()).unwrap();
}

#[test]
fn mkboost_d2_passes_the_conformance_suite() {
    check_method(MkBoostD2::default()).unwrap();
}

#[test]
fn mkboost_s1_passes_the_conformance_suite() {
    check_method(MkBoostS1::default()).unwrap();
}

#[test]
fn mkboost_s2_passes_the_conformance_suite() {
    check_method(MkBoostS2::default()).unwrap();
}

#[test]
fn mklda_passes_the_conformance_suite() {
    check_method(MklDa::default()).unwrap();
    for variant in ["published", "gibbs"] {
        check_method_with(MklDa::default(), &[("variant", variant)]).unwrap();
    }
}

#[test]
fn ufomkl_passes_the_conformance_suite() {
    check_method(UfoMkl::default()).unwrap();
}

#[test]
fn obscure_passes_the_conformance_suite() {
    check_method(Obscure::default()).unwrap();
}

#[test]
fn bemkl_passes_the_conformance_suite() {
    check_method(Bemkl::default()).unwrap();
}

#[test]
fn sbemkl_passes_the_conformance_suite() {
    check_method(Sbemkl::default()).unwrap();
}

#[test]
fn gpc_passes_the_conformance_suite() {
    check_method(Gpc::default()).unwrap();
}

#[test]
fn bsvm_passes_the_conformance_suite() {
    let few = [("warmup", "4"), ("sweeps", "8")];
    check_method_with(Bsvm::default(), &few).unwrap();
}

#[test]
fn bank_passes_the_conformance_suite() {
    let few = [("frequencies", "40"), ("warmup", "4"), ("sweeps", "9"), ("thin", "3")];
    check_two_class_method_with(Bank::default(), &few).unwrap();
}

#[test]
fn mkc_passes_the_conformance_suite() {
    check_method(Mkc::default()).unwrap();
}

/// Few sweeps: the defaults take seconds for each of its many runs.
const SHORT_RUN: [(&str, &str); 3] = [("chains", "2"), ("warmup", "6"), ("draws", "9")];

#[test]
fn bm3kl_passes_the_conformance_suite() {
    check_method_with(Bm3kl::default(), &SHORT_RUN).unwrap();
}

#[test]
fn bm3kl_as_published_passes_the_conformance_suite() {
    let published = [("prior", "paper"), ("sampler", "paper"), ("gamma0", "100")];
    check_method_of_classes_with(Bm3kl::default(), &[SHORT_RUN.as_slice(), &published].concat()).unwrap();
}

/// The step that diverges in few sweeps is the paper's of .1.
#[test]
fn bm3kl_with_the_printed_step_passes_the_conformance_suite() {
    let published = [("prior", "paper"), ("sampler", "published"), ("gamma0", "100"), ("epsilon", "0.001")];
    check_method_of_classes_with(Bm3kl::default(), &[SHORT_RUN.as_slice(), &published].concat()).unwrap();
}

/// Few rounds and frequencies, as above.
const SHORT: [(&str, &str); 4] = [("sweeps", "2"), ("frequencies", "12"), ("epochs", "2"), ("start", "5")];

#[test]
fn cik_passes_the_conformance_suite() {
    check_method_with(Cik::default(), &SHORT).unwrap();
    check_method_with(Cik::default(), &[&SHORT[..], &[("sampler", "blocked"), ("likelihood", "published")]].concat())
        .unwrap();
    check_method_with(Cik::default(), &[&SHORT[..], &[("optimiser", "sgd")]].concat()).unwrap();
}

#[test]
fn dpm_passes_the_conformance_suite() {
    check_method_with(Dpm::default(), &[("sweeps", "3")]).unwrap();
    check_method_with(Dpm::default(), &[("sweeps", "3"), ("sampler", "blocked")]).unwrap();
}

#[test]
fn svimkl_passes_the_conformance_suite() {
    check_method(SviMkl::default()).unwrap();
    for solver in ["ascent", "plain"] {
        check_method_with(SviMkl::default(), &[("solver", solver), ("iterations", "40")]).unwrap();
    }
}

#[test]
fn mklr_passes_the_conformance_suite() {
    check_method(Mklr::default()).unwrap();
    check_method_with(Mklr::default(), &[("loss", "poisson"), ("landmarks", "20")]).unwrap();
}
