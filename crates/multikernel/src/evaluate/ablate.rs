//! What a view is worth: the same plan without it, with it alone, and with all views concatenated.

use crate::data::Samples;
use crate::error::{Error, Result};
use crate::plan::{Part, Plan};

/// The plan itself, then without each view, then on each view alone, then on all columns concatenated, then the plain sum
/// of all kernels unless that is the plan: to be evaluated on the same splits, where differences from the first are what the others lose. Gram matrices count as views. With
/// two views, dropping one and keeping only the other is one run, not two, unless some kernels are on neither of them
/// alone.
///
/// ```
/// use multikernel::{Plan, data::bundled, evaluate::ablations};
/// let mice = bundled("nutrimouse")?;
/// let titles: Vec<String> = ablations(&Plan::new("average")?, &mice.samples)?.iter().map(Plan::title).collect();
/// assert_eq!(titles[..2], ["average", "average, only gene (without lipid)"]);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn ablations(plan: &Plan, samples: &Samples) -> Result<Vec<Plan>> {
    let views = samples.views().iter().map(|view| view.name.clone());
    let names: Vec<String> = views.chain(samples.grams().iter().map(|gram| gram.name().to_string())).collect();
    if names.len() < 2 || !plan.uses_kernels() {
        let found = if plan.uses_kernels() {
            format!("the data has {} views", names.len())
        } else {
            format!("the method {} takes no kernels", plan.name())
        };
        return Err(Error::param("ablate", format!("needs a method on kernels and two views or more; {found}")));
    }
    let mut parts = vec![Part::All];
    match names.as_slice() {
        [a, b] if is_one_run(plan, a, b, samples) && is_one_run(plan, b, a, samples) => {
            parts.push(Part::OnlyWithout { only: a.clone(), without: b.clone() });
            parts.push(Part::OnlyWithout { only: b.clone(), without: a.clone() });
        }
        _ => {
            parts.extend(names.iter().cloned().map(Part::Without));
            parts.extend(names.into_iter().map(Part::Only));
        }
    }
    if samples.n_features() > 0 && samples.views().len() > 1 {
        parts.push(Part::Concatenated);
    }
    let mut plans: Vec<Plan> = parts.into_iter().map(|part| plan.clone().part(part)).collect();
    plans.extend(plan.equal_weights(samples)?);
    Ok(plans)
}

/// Whether dropping one view leaves exactly the kernels on the other: kernels on columns of no view, or on all columns
/// beside a Gram matrix, would remain too. Cases that cannot be decided now are left to the run.
fn is_one_run(plan: &Plan, only: &str, without: &str, samples: &Samples) -> bool {
    let (only, without) = (Part::Only(only.into()), Part::Without(without.into()));
    plan.clone().part(only).has_kernels_of(&plan.clone().part(without), samples).unwrap_or(false)
}
