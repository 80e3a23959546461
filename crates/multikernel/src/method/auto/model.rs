//! The model: one machine, or the mean of the probabilities of two.

use super::compare::mean_of;
use super::member::MemberModel;
use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::linalg::Matrix;
use crate::method::ends::EndModel;
use crate::method::machine::Told;
use crate::pool::Pool;
use crate::run::{
    Additive, Calibration, Coefficients, Compared, Explain, Input, Predict, Probabilistic, Regressor, Survival,
};

/// One machine, or two whose probabilities are averaged, each with its map from margins to probabilities. The label is
/// the likeliest class. Models of numbers and times, those on landmarks, and those of runs stopped early are one machine
/// without a map.
#[derive(Clone, Debug)]
pub struct AutoModel {
    members: Vec<MemberModel>,
    maps: Vec<Calibration>,
    told: Told,
    compared: Compared,
    /// Derived from the members: the union of their points and kernels, and the mean of their weights.
    points: Vec<usize>,
    kernels: Vec<usize>,
    weights: Vec<f64>,
}

impl Codec for AutoModel {
    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("n_members", &self.members.len());
        self.members
            .iter()
            .enumerate()
            .for_each(|(k, member)| record.put_record(&format!("member.{k}"), member.encode()));
        record.put("n_maps", &self.maps.len());
        self.maps.iter().enumerate().for_each(|(k, map)| record.put_record(&format!("map.{k}"), map.encode()));
        record.put("told", &self.told);
        record.put_record("compared", self.compared.encode());
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        let (n_members, n_maps): (usize, usize) = (record.take("n_members")?, record.take("n_maps")?);
        if n_members.max(n_maps) > 2 {
            return Err(Error::input("it has more than two members"));
        }
        let members = (0..n_members).map(|k| MemberModel::decode(&record.take_record(&format!("member.{k}"))));
        let maps = (0..n_maps).map(|k| Calibration::decode(&record.take_record(&format!("map.{k}"))));
        let told: Told = record.take("told")?;
        // Files of earlier versions have none.
        let compared = record.take_record("compared");
        let compared = if compared.is_empty() { Compared::default() } else { Compared::decode(&compared)? };
        AutoModel::new(members.collect::<Result<_>>()?, maps.collect::<Result<_>>()?, told.0, compared)
    }
}

impl AutoModel {
    /// The model of these members. Maps are those of all members, or none.
    pub(super) fn new(
        members: Vec<MemberModel>,
        maps: Vec<Calibration>,
        told: Vec<(String, String)>,
        compared: Compared,
    ) -> Result<AutoModel> {
        let n_kernels = members.first().and_then(|member| member.weights()).map_or(0, <[f64]>::len);
        let fits = !members.is_empty()
            && compared.candidates.len() == compared.losses.len()
            && compared.kept.iter().all(|&k| k < compared.candidates.len())
            && (maps.len() == members.len() || maps.is_empty() && members.len() == 1)
            && members.iter().all(|member| member.weights().is_some_and(|weights| weights.len() == n_kernels));
        if !fits {
            return Err(Error::input("its members do not fit together"));
        }
        let mut points: Vec<usize> = members.iter().flat_map(|member| member.points().to_vec()).collect();
        points.sort_unstable();
        points.dedup();
        // A single member has its points in its own order.
        if let [only] = members.as_slice() {
            points = only.points().to_vec();
        }
        let mut weights = vec![0.0; n_kernels];
        for member in &members {
            let of_member = member.weights().unwrap_or_default();
            weights.iter_mut().zip(of_member).for_each(|(sum, weight)| *sum += weight / members.len() as f64);
        }
        let is_used = |m: &usize| members.iter().any(|member| used(member).contains(m));
        let kernels = (0..n_kernels).filter(is_used).collect();
        Ok(AutoModel { members, maps, told: Told(told), compared, points, kernels, weights })
    }

    fn only(&self) -> Option<&MemberModel> {
        if let [only] = self.members.as_slice() { Some(only) } else { None }
    }

    /// Calls `f` with the input of a member: its own points and kernels.
    fn with_input<T>(
        &self,
        member: &MemberModel,
        input: Input<'_>,
        f: impl FnOnce(Input<'_>) -> Result<T>,
    ) -> Result<T> {
        if self.members.len() == 1 {
            return f(input);
        }
        let stack = input.stack()?;
        let place = |of: &[usize], wanted: &[usize]| -> Result<Vec<usize>> {
            let at = |wanted: &usize| of.binary_search(wanted);
            wanted
                .iter()
                .map(at)
                .collect::<std::result::Result<_, _>>()
                .map_err(|_| Error::input("a member lacks points"))
        };
        let rows: Vec<usize> = (0..stack.n_rows()).collect();
        let stack = stack.between(&rows, &place(&self.points, member.points())?)?;
        let stack = stack.pick(&place(&self.kernels, &used(member))?)?;
        f(Input::Stack(&stack))
    }
}

/// The kernels of the bank that a member uses.
fn used(member: &MemberModel) -> Vec<usize> {
    let n_kernels = member.weights().map_or(0, <[f64]>::len);
    member.kernels().unwrap_or_else(|| (0..n_kernels).collect())
}

impl Predict for AutoModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        if self.maps.is_empty() {
            return self.members[0].scores(input, pool);
        }
        let mut found = vec![];
        for (member, map) in self.members.iter().zip(&self.maps) {
            let margins = self.with_input(member, input, |input| member.margins(input, pool))?;
            found.push(map.free(&margins));
        }
        Ok(mean_of(&found.iter().collect::<Vec<_>>()))
    }

    /// A single machine decides by its own margins, which have parts.
    fn margins(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        match self.only() {
            Some(only) => only.margins(input, pool),
            None => self.scores(input, pool),
        }
    }

    fn points(&self) -> &[usize] {
        &self.points
    }

    fn kernels(&self) -> Option<Vec<usize>> {
        Some(self.kernels.clone())
    }

    fn check(&self, n_kernels: usize, n_outputs: usize) -> Result<()> {
        self.members.iter().try_for_each(|member| member.check(n_kernels, n_outputs))?;
        self.maps.iter().try_for_each(|map| map.check(n_outputs))?;
        let classes = self
            .members
            .iter()
            .all(|member| matches!(member, MemberModel::End(end) if matches!(**end, EndModel::Svm(_))));
        if classes || self.maps.is_empty() && self.members.len() == 1 {
            Ok(())
        } else {
            Err(Error::input("its members do not fit together"))
        }
    }

    fn probabilistic(&self) -> Option<&dyn Probabilistic> {
        if self.maps.is_empty() { self.only()?.probabilistic() } else { Some(self) }
    }

    fn regressor(&self) -> Option<&dyn Regressor> {
        self.only()?.regressor()
    }

    fn survival(&self) -> Option<&dyn Survival> {
        self.only()?.survival()
    }

    fn additive(&self) -> Option<&dyn Additive> {
        self.only()?.additive()
    }
}

impl Probabilistic for AutoModel {}

impl Explain for AutoModel {
    fn weights(&self) -> Option<&[f64]> {
        Some(&self.weights)
    }

    fn coefficients(&self) -> Option<&Coefficients> {
        self.only()?.coefficients()
    }

    fn members(&self) -> Vec<&dyn Predict> {
        match self.only() {
            Some(_) => vec![],
            None => self.members.iter().map(|member| member as &dyn Predict).collect(),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = self.told.0.clone();
        if let Some(only) = self.only() {
            facts.extend(only.facts());
        }
        facts
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.members.iter().flat_map(|member| member.warnings()).collect();
        warnings.dedup();
        warnings
    }

    fn compared(&self) -> Option<&Compared> {
        Some(&self.compared).filter(|compared| !compared.candidates.is_empty())
    }

    fn told(&self) -> Vec<String> {
        self.told.0.iter().map(|(name, value)| format!("{name}: {value}")).collect()
    }
}
