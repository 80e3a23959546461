//! What a partition answers.

use std::borrow::Cow;

use super::statistics::{Picks, Summary, unfit};
use super::{BLOCK_ROWS, PICKS, SEEN, STEPS, SUMMARY, Setup, check_samples, check_size, labels_of, packed, unpacked};
use crate::data::{
    Dataset, Features, Labels, LogChoice, Numbers, Presence, Recipe, Samples, Seen, Standard, Target, Wanted,
};
use crate::dist::Rng;
use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::kernel::{Families, Kernel};
use crate::plan::plan::Plan;
use crate::plan::prepare::those_complete;
use crate::plan::registry::Registry;
use crate::plan::views::{Missing, presence};
use crate::pool::Pool;
use crate::run::{ByPartitions, Input, Params, Rows, Task};
use crate::stack::{Points, Stack, StackOptions, Storage};

/// The answer of a partition to a question of [`Plan::train_partitions`]: `number` is its place among all, from 0. Depends
/// on nothing else; the number of threads changes no bit.
///
/// # Errors
/// Those that name the partition: rows that have changed since the first question, values without a logarithm, too many
/// levels or terms.
pub fn answer(setup: &[u8], request: &[u8], number: usize, partition: &Dataset, pool: &Pool) -> Result<Vec<u8>> {
    let (word, content) = unpacked(setup)?;
    check_samples(&partition.name, &partition.samples)?;
    let partition = &*complete(partition, &content)?;
    let found = match word.as_str() {
        SUMMARY => {
            let recipe = recipe(&content)?;
            let named = |error: Error| Error::input(format!("{}: {error}", partition.name));
            // A row that lacks all views is named by its place among all of the partition.
            presence(&partition.samples, content.take::<String>("missing")?.parse()?).map_err(named)?;
            if let (Target::Numbers(numbers), true) = (&partition.target, content.take::<bool>("counts")?) {
                numbers.check_counts().map_err(named)?;
            }
            Summary::of(partition, &recipe)?.encode()
        }
        PICKS => {
            unchanged(&content.take::<Vec<String>>("hashes")?, number, partition)?;
            Picks::of(&content, number, partition, &recipe(&content)?)?.encode()
        }
        SEEN => {
            unchanged(&content.take::<Vec<String>>("hashes")?, number, partition)?;
            let wanted: Wanted = content.take("wanted")?;
            if !wanted.fits(&partition.samples) {
                return Err(unfit());
            }
            let seen = Seen::of(&partition.samples, &wanted);
            let named = |error: Error| Error::input(format!("{}: {error}", partition.name));
            check_size(&seen, partition.samples.names(), &wanted).map_err(named)?;
            seen.encode()
        }
        STEPS => {
            let setup = Setup::decode(&content)?;
            unchanged(&setup.hashes, number, partition)?;
            let request = unpacked(request)?.1;
            Partition::new(&setup, pool)?.sums(&request, number, partition)?
        }
        other => {
            return Err(Error::input(format!("the question `{other}` is unknown; all workers need the same version")));
        }
    };
    packed("answer", found)
}

impl Plan {
    /// What partitions need to know of preprocessing.
    pub(super) fn recipe_record(&self) -> Record {
        let mut record = Record::default();
        let log = &self.own_recipe().log;
        record.put("log", &matches!(log, LogChoice::All));
        record.put("log_views", &if let LogChoice::Views(views) = log { views.clone() } else { vec![] });
        record.put("missing", &self.own_missing().word().to_string());
        record
    }
}

fn recipe(record: &Record) -> Result<Recipe> {
    let views: Vec<String> = record.take("log_views")?;
    let log = match record.take("log")? {
        true => LogChoice::All,
        false if views.is_empty() => LogChoice::None,
        false => LogChoice::Views(views),
    };
    Ok(Recipe { log, ..Recipe::default() })
}

/// The rows that training uses: all, or those that have all views.
fn complete<'a>(partition: &'a Dataset, content: &Record) -> Result<Cow<'a, Dataset>> {
    let rows = those_complete(&partition.samples, content.take::<String>("missing")?.parse()?);
    Ok(rows.map_or(Cow::Borrowed(partition), |rows| Cow::Owned(partition.select(&rows))))
}

/// Whether the rows are those of the first question.
fn unchanged(hashes: &[String], number: usize, partition: &Dataset) -> Result<()> {
    if hashes.get(number).is_some_and(|hash| *hash == partition.fingerprint()) {
        return Ok(());
    }
    Err(Error::input(format!(
        "{}: the rows of partition {number} have changed since training began; leave them alone while it runs, and train again",
        partition.name
    )))
}

/// The random streams from which the seeds of blocks come, one for each partition.
const BLOCKS: u64 = 7 << 41;

/// What a step needs on each block of rows.
struct Partition<'a> {
    setup: &'a Setup,
    kernels: Vec<Kernel>,
    points: Points,
    missing: Missing,
    method: Box<dyn ByPartitions>,
    pool: &'a Pool,
}

impl<'a> Partition<'a> {
    fn new(setup: &'a Setup, pool: &'a Pool) -> Result<Partition<'a>> {
        let mut params = Params::new(Registry::standard().get(&setup.method)?.boxed())?;
        setup.params.iter().try_for_each(|(name, value)| params.set(name, value))?;
        let unable = || Error::input(format!("the method {} cannot be trained on partitions", setup.method));
        let families = Families::standard();
        let kernels: Vec<Kernel> = setup.kernels.iter().map(|text| families.kernel(text)).collect::<Result<_>>()?;
        let n_columns = setup.preprocessor.names().len();
        // Methods on rows have neither kernels nor landmarks.
        let fits = (kernels.is_empty() || setup.points.n_cols() == n_columns)
            && kernels.iter().all(|kernel| kernel.columns().end() <= n_columns && kernel.gram().is_none())
            && setup.mean.len() == setup.scale.len();
        if !fits {
            return Err(Error::input("the question does not fit itself; all workers need the same version"));
        }
        let views = setup.preprocessor.views();
        let mut points = Points::from(&setup.points);
        if !kernels.is_empty() {
            points = points.with_units(setup.preprocessor.units())?;
        }
        if !setup.presence.is_empty() {
            points = points.with_presence(&Presence::from_parts(views.len(), &setup.presence)?, views, &kernels)?;
        }
        Ok(Partition {
            setup,
            points,
            missing: setup.missing.parse()?,
            kernels,
            method: params.method().by_partitions().ok_or_else(unable)?,
            pool,
        })
    }

    /// The sums over all rows, block by block.
    fn sums(&self, request: &Record, number: usize, partition: &Dataset) -> Result<Record> {
        let mut sums = Record::default();
        let all: Vec<usize> = (0..partition.samples.n_samples()).collect();
        // Draws of a block do not depend on others.
        let mut seeds = Rng::new(self.setup.seed, BLOCKS + number as u64);
        for rows in all.chunks(BLOCK_ROWS) {
            self.method.add(&mut sums, &self.block(request, partition, rows, seeds.bits())?)?;
        }
        Ok(sums)
    }

    fn block(&self, request: &Record, partition: &Dataset, rows: &[usize], seed: u64) -> Result<Record> {
        let named = |error: Error| Error::input(format!("{}: {error}", partition.name));
        let samples = partition.samples.select_rows(rows);
        let features = self.setup.preprocessor.apply_samples(&samples).map_err(named)?;
        let options = StackOptions {
            precision: self.setup.precision,
            storage: Storage::Tiled,
            sparse: false,
            ..StackOptions::new(self.pool)
        };
        let centring = vec![None; self.kernels.len()];
        let cross = || {
            let points = self.rows(&samples, &features).map_err(named)?;
            Stack::cross(points, self.points.clone(), &self.kernels, &centring, &options)
        };
        let stack = if self.kernels.is_empty() { None } else { Some(cross()?) };
        let plain = Rows::new(&features, None);
        let (labels, target) = match &partition.target {
            Target::Numbers(numbers) => {
                let standard = Standard { mean: self.setup.mean.clone(), scale: self.setup.scale.clone() };
                let few = numbers.select(rows);
                if few.n_targets() != standard.mean.len() {
                    return Err(Error::input("the question is of another number of targets than the partition has"));
                }
                let given = Numbers::new(few.names().to_vec(), standard.apply(few.values()))?;
                (Labels::strata(vec!["rows".into()], vec![0; rows.len()])?, Target::Numbers(given))
            }
            Target::Times(times) => {
                (Labels::strata(vec!["rows".into()], vec![0; rows.len()])?, Target::Times(times.select(rows)))
            }
            Target::Classes => (labels_of(&partition.labels, &self.setup.classes, rows)?, Target::Classes),
        };
        let block = Task {
            input: stack.as_ref().map_or(Input::Rows(&plain), Input::Stack),
            labels: &labels,
            target: &target,
            groups: None,
            views: &[],
            alternatives: &[],
            seed,
            pool: self.pool,
        };
        self.method.sums(request, &block)
    }

    /// Rows in the form that kernels need.
    fn rows(&self, samples: &Samples, features: &Features) -> Result<Points> {
        let preprocessor = &self.setup.preprocessor;
        let points = Points::from(features).with_units(preprocessor.units())?;
        match presence(samples, self.missing)? {
            Some(presence) => points.with_presence(&presence, preprocessor.views(), &self.kernels),
            None => Ok(points),
        }
    }
}
