//! What a partition answers.

use super::statistics::{Picks, Summary};
use super::{BLOCK_ROWS, PICKS, STEPS, SUMMARY, Setup, check_samples, labels_of, packed, unpacked};
use crate::data::{Dataset, Labels, LogChoice, Numbers, Recipe, Standard, Target};
use crate::dist::Rng;
use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::kernel::{Families, Kernel};
use crate::plan::plan::Plan;
use crate::plan::registry::Registry;
use crate::pool::Pool;
use crate::run::{ByPartitions, Input, Params, Rows, Task};
use crate::stack::{Points, Stack, StackOptions, Storage};

/// The answer of a partition to a question of [`Plan::train_partitions`]: `number` is its place among all, from 0. Depends
/// on nothing else; the number of threads changes no bit.
///
/// # Errors
/// Those that name the partition: columns that are not numbers, rows that have changed since the first question.
pub fn answer(setup: &[u8], request: &[u8], number: usize, partition: &Dataset, pool: &Pool) -> Result<Vec<u8>> {
    let (word, content) = unpacked(setup)?;
    check_samples(&partition.name, &partition.samples)?;
    let found = match word.as_str() {
        SUMMARY => {
            let recipe = recipe(&content)?;
            if let (Target::Numbers(numbers), true) = (&partition.target, content.take::<bool>("counts")?) {
                numbers.check_counts().map_err(|error| Error::input(format!("{}: {error}", partition.name)))?;
            }
            Summary::of(partition, &recipe)?.encode()
        }
        PICKS => {
            unchanged(&content.take::<Vec<String>>("hashes")?, number, partition)?;
            Picks::of(&content, number, partition, &recipe(&content)?)?.encode()
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
        record.put("log", &matches!(self.own_recipe().log, LogChoice::All));
        record
    }
}

fn recipe(record: &Record) -> Result<Recipe> {
    let log = if record.take::<bool>("log")? { LogChoice::All } else { LogChoice::None };
    Ok(Recipe { log, ..Recipe::default() })
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
        Ok(Partition {
            setup,
            kernels,
            points: Points::from(&setup.points),
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
        let features = partition.samples.features().select_rows(rows);
        let features = self.setup.preprocessor.apply(&features).map_err(named)?;
        let options = StackOptions {
            precision: self.setup.precision,
            storage: Storage::Tiled,
            sparse: false,
            ..StackOptions::new(self.pool)
        };
        let centring = vec![None; self.kernels.len()];
        let cross = || Stack::cross(&features, self.points.clone(), &self.kernels, &centring, &options);
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
}
