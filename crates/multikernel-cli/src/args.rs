//! What can be typed.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Args, CommandFactory, Parser, Subcommand};
use multikernel::plan::Registry;
use multikernel::{Device, Pool};

use crate::help::shorten;

/// Classifiers from many kernels: weights, predictions, honest comparisons.
#[derive(Debug, Parser)]
#[command(name = "multikernel", version, max_term_width = 80, after_help = SOME, after_long_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const SOME: &str = "Examples:
  multikernel evaluate ionosphere --method majority,svm,average
  multikernel train ionosphere --out m.multikernel";

const SEARCHES: &str = "Banks are called bank 1, bank 2, ... in the order given. The end says which is
best, and which cannot be told from it.

Examples:
  multikernel search ionosphere --method average \\
      --kernels \"gaussian(median*2^-3..2^3)\" --kernels \"polynomial(1..3)\"
  multikernel search rows.csv --repeats 20 \\
      --kernels \"gaussian(median) on [0:5], linear\" --kernels \"linear\"";

const EXAMPLES: &str = "Examples:
  multikernel evaluate ionosphere --method majority,svm,average
  multikernel train ionosphere --out m.multikernel
  multikernel train ionosphere --method average --set c=50 \\
      --kernels \"gaussian(2^-6..2^7), linear\" --out m.multikernel
  multikernel inspect m.multikernel
  multikernel predict m.multikernel new.csv --out labels.csv
  multikernel evaluate --view rna=rna.csv --view meth=meth.csv \\
      --labels patients.csv --ablate views

DATA is a file (LIBSVM, CSV, TSV or FASTA, also gzip'd; .xlsx, .npy, .npz), `-`
for standard input, or the name of a bundled set; or, instead of DATA, several files of the
same samples, each with --view NAME=FILE, or Gram matrices with --gram NAME=FILE.
Results go to standard output, remarks and progress to standard error. Exit
status: 0, also for a job that was stopped and gave a result; 2 after an error.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train a model and write it to a file
    Train(Train),
    /// Predict the classes of rows with a model
    Predict(Predict),
    /// Measure methods on held-out rows, all on the same splits
    Evaluate(Evaluate),
    /// Compare banks of kernels on held-out rows: --kernels A --kernels B ...
    Search(Evaluate),
    /// Learn from rows as they come, each predicted before it is learned
    Online(Online),
    /// Find clusters of rows, with labels or without
    Cluster(Cluster),
    /// Show what a model holds: method, settings, kernel weights
    Inspect(Inspect),
    /// Write one HTML page about a model or an evaluation
    Report(Report),
    /// Tell which columns or views a model cannot do without
    Importance(Importance),
    /// Write what a method drew, draw by draw, to a table
    Draws(Draws),
    /// Draw the decision boundary of a model of two columns
    Picture(Picture),
    /// Run a table of a paper again, published figures beside ours
    Reproduce(Reproduce),
    /// Show what the columns of a file hold, before anything is learned
    Columns(ColumnsCommand),
    /// The data sets that come with the program, and toy sets
    Datasets(Datasets),
    /// The methods and their parameters
    Methods(Methods),
    /// How kernel banks are written
    Kernels,
    /// Print completions for a shell
    Completions(Completions),
}

/// How files are read.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct Reading {
    /// Without DATA: a file with one view of the samples, joined with the others by sample id, or by row where no file
    /// has ids. With DATA: some of its columns as a view: names, `prefix*` or positions `0:76`, with commas between
    #[arg(long = "view", value_name = "NAME=FILE|COLUMNS")]
    pub(crate) views: Vec<String>,
    /// File with the labels: a column of sample ids and a column of labels (and one of groups), or one label per row; or
    /// with the columns of --target, --time and --event
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<String>,
    /// A Gram matrix (.npy, or CSV without a header): n x n to train and evaluate, new x trained rows to predict, then
    /// with the new rows' own k(x, x) as DIAGONAL unless the kernel is raw. The bank calls it precomputed(NAME), or
    /// distance(median) on NAME where it holds distances
    #[arg(long = "gram", value_name = "NAME=FILE[,DIAGONAL]")]
    pub(crate) grams: Vec<String>,
    /// The column of numbers to predict, instead of classes; several with commas between
    #[arg(long, value_name = "COLUMN,...", allow_hyphen_values = true, conflicts_with = "label")]
    pub(crate) target: Option<String>,
    /// The column of times to an event, or until a row was last seen; needs --event
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, conflicts_with_all = ["label", "target"], requires = "event")]
    pub(crate) time: Option<String>,
    /// The column that says whether the event happened at that time: 1 or 0, yes or no
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, requires = "time")]
    pub(crate) event: Option<String>,
    /// A column of what rows belong to (patients, batches): no group is on both sides of a split
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub(crate) groups: Option<String>,
    #[command(flatten)]
    pub(crate) columns: Columns,
    /// Samples are in columns: their ids in the first line, the names of features in the first column
    #[arg(long)]
    pub(crate) transpose: bool,
    /// Rows without a label, or without any value: refuse the file, or drop them
    #[arg(long, value_name = "WAY", default_value = "refuse", value_parser = ["refuse", "drop"])]
    pub(crate) missing_labels: String,
    /// Most memory for the rows, and for their kernels, such as 8GiB: kernels that would cross it are computed whenever
    /// they are needed, with the same result [default: 80 % of what is free]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
}

/// What the lines and columns of a file are.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct Columns {
    /// The column of sample ids, or none [default: id, sample, barcode, patient_id, PassengerId and the like if values
    /// all differ; else a first column without a name or of texts that all differ, or one that counts the rows]
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub(crate) id: Option<String>,
    /// The file's format [default: by its name, else by its first line]
    #[arg(long, value_name = "FORMAT", value_parser = ["libsvm", "csv", "tsv"])]
    pub(crate) format: Option<String>,
    /// The label column: its name, or its position from 0, negative from the end [default: label, class, target or y,
    /// else the last]
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub(crate) label: Option<String>,
    /// Whether the first line names the columns [default: yes if a cell outside the label column is not a number]
    #[arg(long, value_name = "yes|no", value_parser = ["yes", "no"])]
    pub(crate) header: Option<String>,
    /// Columns to leave out, by name or position, with commas between
    #[arg(long, value_name = "COLUMN,...", allow_hyphen_values = true)]
    pub(crate) ignore: Vec<String>,
    /// What columns hold, where the cells would say otherwise (`multikernel columns` shows it), with commas between:
    /// number, yesno, category, ordered, ordered(low<mid<high), date, date(dmy), text, sequence
    #[arg(long, value_name = "COLUMN=KIND,...", allow_hyphen_values = true)]
    pub(crate) kinds: Vec<String>,
    /// How decimals are written where it could be read both ways, as in 1,234 [default: as the rest of the file says]
    #[arg(long, value_name = "MARK", value_parser = ["point", "comma"])]
    pub(crate) decimal: Option<String>,
}

/// What is trained.
#[derive(Debug, Args)]
#[command(next_help_heading = "Training")]
pub(crate) struct Planning {
    #[command(flatten)]
    pub(crate) choices: Choices,
    /// Rows that lack a view: skip its kernels and let the others make up for them, impute the means of the training
    /// rows, or drop such rows from training
    #[arg(long, value_name = "WAY", default_value = "skip", value_parser = ["skip", "impute", "drop"])]
    pub(crate) missing: String,
    /// Learn class probabilities too, on inner folds: five more trainings
    #[arg(long)]
    pub(crate) proba: bool,
}

/// What a plan is made of, whichever way it is trained.
#[derive(Debug, Args)]
#[command(next_help_heading = "Training")]
pub(crate) struct Choices {
    /// The kernel bank, such as "gaussian(2^-6..2^7), polynomial(1..3)" [default: the method's own]; `search` takes
    /// several
    #[arg(long, value_name = "BANK")]
    pub(crate) kernels: Vec<String>,
    /// Set a parameter of the method (METHOD.KEY=VALUE for one of several); `multikernel methods` lists them
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// How features are scaled, learned on training rows
    #[arg(long, value_name = "SCALE", default_value = "standard", value_parser = ["standard", "none"])]
    pub(crate) scale: String,
    /// Take ln(1 + x) of the columns of these views before scaling, or of all
    #[arg(long, value_name = "VIEW,...|all", value_delimiter = ',')]
    pub(crate) log: Vec<String>,
    /// Keep the K columns of each view (or of all columns) that vary most over the training rows
    #[arg(long, value_name = "K")]
    pub(crate) top_variance: Option<usize>,
    /// How kernel values are held: f32 takes half the memory; sums are f64 either way
    #[arg(long, value_name = "PRECISION", default_value = "f64", value_parser = ["f64", "f32"])]
    pub(crate) precision: String,
    /// Seed of the splits and of all other randomness
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// What a job may use.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct Limits {
    /// Threads; results are the same for any number [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
    /// What computes kernels and their factors: cpu, or cuda for an NVIDIA GPU, where this build knows it
    #[arg(long, value_name = "DEVICE", default_value = "cpu", hide_short_help = true)]
    pub(crate) device: String,
    /// Stop after this time with what was learned so far
    #[arg(long, value_name = "SECONDS")]
    pub(crate) max_seconds: Option<f64>,
    /// No progress and no remarks
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl Limits {
    /// The threads and the device asked for.
    pub(crate) fn pool(&self) -> multikernel::Result<Pool> {
        Ok(Pool::new(self.threads)?.with_device(Device::named(&self.device)?))
    }
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  multikernel train ionosphere --out m.multikernel
  multikernel train rows.csv --label diagnosis --method svm \\
      --kernels \"gaussian(median)\" --set c=5 --out m.multikernel
  multikernel train rows.svm.gz --out m.multikernel \\
      --checkpoint run.checkpoint --max-seconds 3600
  multikernel train rows.svm.gz --out m.multikernel \\
      --checkpoint run.checkpoint --resume
Methods that want no labels (dpm, mkc) take rows as `multikernel cluster` does:
with labels or without.")]
pub(crate) struct Train {
    /// File with labelled rows, `-`, or a bundled set; or give --view NAME=FILE or --gram NAME=FILE
    pub(crate) data: Option<String>,
    /// The method
    #[arg(long, short, value_name = "NAME", default_value = "auto")]
    pub(crate) method: String,
    /// File to write the model to
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) out: PathBuf,
    /// File to store the run in, so that it can go on after a stop
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Least seconds between two checkpoints; 0 stores every step
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, requires = "checkpoint")]
    pub(crate) checkpoint_seconds: f64,
    /// Go on from the checkpoint if it is there
    #[arg(long, requires = "checkpoint")]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) planning: Planning,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// File for a page about the running job, written anew every few seconds; at the end, about its result
    #[arg(long, value_name = "FILE")]
    pub(crate) watch: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Columns are matched by name where the file has names. Prints a table with the
column `label`, one for each number, or the log `risk` of an event.

Examples:
  multikernel predict m.multikernel new.csv
  multikernel predict prices.multikernel new.csv --interval 0.9
  multikernel predict m.multikernel new.svm --scores --out scores.csv")]
pub(crate) struct Predict {
    /// Model written by `multikernel train`
    pub(crate) model: PathBuf,
    /// File with rows (labels are not needed; if they are there, accuracy, or R2 for numbers, is reported), `-`, or a bundled set; or give
    /// --view NAME=FILE or --gram NAME=FILE
    pub(crate) data: Option<String>,
    /// Add a column of class probability for each class (models trained with --proba, or of methods that have them)
    #[arg(long)]
    pub(crate) proba: bool,
    /// Add a column of the cluster of each row, and one of its density where there is one (models of cik, dpm and mkc)
    #[arg(long)]
    pub(crate) clusters: bool,
    /// Add a column of score for each class: larger is more likely
    #[arg(long, conflicts_with = "proba")]
    pub(crate) scores: bool,
    /// Add two columns with the bounds of an interval that holds the number with this probability, such as 0.9 (models
    /// of numbers)
    #[arg(long, value_name = "LEVEL")]
    pub(crate) interval: Option<f64>,
    /// Add a column for each of these times with the probability to be without the event by then (models of times)
    #[arg(long, value_name = "TIME,...", value_delimiter = ',')]
    pub(crate) at: Vec<f64>,
    /// Add a column of what each view, or each kernel, adds to the decision, and one of the constant: they add up to it
    #[arg(long, value_name = "views|kernels", value_parser = ["views", "kernels"])]
    pub(crate) parts: Option<String>,
    /// File to write to [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write an apostrophe before cells that a spreadsheet would take for formulas (=, +, -, @ at the start of a text)
    #[arg(long)]
    pub(crate) guard_formulas: bool,
    /// Threads; results are the same for any number [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
    /// What computes kernels: cpu, or cuda for an NVIDIA GPU, where this build knows it
    #[arg(long, value_name = "DEVICE", default_value = "cpu", hide_short_help = true)]
    pub(crate) device: String,
    /// No progress and no remarks
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  multikernel evaluate ionosphere --method majority,svm,average
  multikernel evaluate rows.csv --method svm,average \\
      --repeats 20 --train-fraction 0.5 --json
  multikernel evaluate train.svm --test test.svm
  multikernel evaluate --view rna=rna.csv --view meth=meth.csv \\
      --labels patients.csv --groups patient --ablate views
  multikernel evaluate rows.csv --view blood=b_* --view urine=u_* \\
      --method average,evidence --set c=auto --proba
  multikernel evaluate glass6 --metrics accuracy,mcc,macro_f \\
      --predictions rows.csv")]
pub(crate) struct Evaluate {
    /// File with labelled rows, `-`, or a bundled set; or give --view NAME=FILE or --gram NAME=FILE
    pub(crate) data: Option<String>,
    /// The methods, with commas between
    #[arg(long, short, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) method: Vec<String>,
    /// Stratified cross-validation with K folds
    #[arg(long, value_name = "K", default_value_t = 5, conflicts_with_all = ["repeats", "test"])]
    pub(crate) folds: usize,
    /// R random stratified splits instead of folds
    #[arg(long, value_name = "R", conflicts_with = "test")]
    pub(crate) repeats: Option<usize>,
    /// With --repeats: share of rows to train on
    #[arg(long, value_name = "F", default_value_t = 0.5, requires = "repeats")]
    pub(crate) train_fraction: f64,
    /// Train on all rows of DATA, test on the rows of this file, instead of folds; for rows in several views,
    /// NAME=FILE for each, with commas between
    #[arg(long, value_name = "FILE")]
    pub(crate) test: Option<String>,
    /// With --test: file with the labels of the rows to test on, as --labels
    #[arg(long, value_name = "FILE", requires = "test")]
    pub(crate) test_labels: Option<String>,
    /// What each view is worth: the method without it, on it alone, and on all columns side by side
    #[arg(long, value_name = "WHAT", value_parser = ["views"])]
    pub(crate) ablate: Option<String>,
    /// Figures of the table: all, or names as in JSON, such as
    /// accuracy,balanced_accuracy,macro_f,mcc,auroc,auprc,brier, log_loss,calibration_error,train_seconds [default: a
    /// few that fit the terminal]
    #[arg(long, value_name = "all|NAME,...", conflicts_with = "json")]
    pub(crate) metrics: Option<String>,
    /// File for the predictions of the test rows of each method and split: a table with the columns id (under its own
    /// name; row, from 1, where there are no ids), method, split, label, predicted and, with --proba, p:CLASS
    #[arg(long, value_name = "FILE")]
    pub(crate) predictions: Option<PathBuf>,
    /// Write an apostrophe before cells that a spreadsheet would take for formulas (=, +, -, @ at the start of a text)
    #[arg(long)]
    pub(crate) guard_formulas: bool,
    /// File for one HTML page with charts of all of it
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) planning: Planning,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// File for a page about the running job, written anew every few seconds; at the end, about its result
    #[arg(long, value_name = "FILE")]
    pub(crate) watch: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Debug, Args)]
#[command(after_long_help = "dpm and mkc want no labels; a column that is called label, class or target, or
that --label names, is left out of the rows and compared with the clusters. cik
needs labels. `predict --clusters` tells the clusters of other rows, by their
density alone: rows near a border may be put otherwise than here.

Examples:
  multikernel cluster rows.csv
  multikernel cluster sonar --method cik --set beta=3 \\
      --model m.multikernel --out clusters.csv
  multikernel cluster --view rna=rna.csv --view meth=meth.csv \\
      --method mkc --set clusters=4 --json")]
pub(crate) struct Cluster {
    /// File with rows, `-`, or a bundled set; or give --view NAME=FILE
    pub(crate) data: Option<String>,
    /// The method: cik, dpm or mkc
    #[arg(long, short, value_name = "NAME", default_value = "dpm")]
    pub(crate) method: String,
    /// File for the cluster of each row: a table with the columns row (or id), cluster and, where there is one,
    /// ln_density
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write an apostrophe before cells that a spreadsheet would take for formulas (=, +, -, @ at the start of a text)
    #[arg(long)]
    pub(crate) guard_formulas: bool,
    /// File to write the model to
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) choices: Choices,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Prints a line after 1, 2, 4, 8, ... rows and at the end: how many rows were
predicted right before they were learned, since the beginning and since the last
line.

Examples:
  multikernel online rows.csv --out m.multikernel
  tail -f -n +1 rows.csv | multikernel online - --format csv --warmup 100 \\
      --predictions now.csv --out m.multikernel
  multikernel online rows.csv.gz --budget 2000 --on-error skip --json \\
      --checkpoint run.checkpoint
  multikernel online rows.csv.gz --budget 2000 --on-error skip --json \\
      --checkpoint run.checkpoint --resume
  multikernel online more.csv --model m.multikernel --out m2.multikernel")]
pub(crate) struct Online {
    /// File with labelled rows (LIBSVM, CSV or TSV text, also gzip'd), or `-` for standard input; it need not end
    pub(crate) stream: String,
    /// The method, one that learns row by row [default: that of the model that is gone on from, else mklda]
    #[arg(long, short, value_name = "NAME")]
    pub(crate) method: Option<String>,
    /// The column of numbers to predict, instead of classes: by mklda or ufomkl
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, conflicts_with = "label")]
    pub(crate) target: Option<String>,
    /// Rows from which scales (that of the target, too), widths of kernels and the features of LIBSVM text are taken,
    /// once and for all, before the first of them is learned [default: 1000]
    #[arg(long, value_name = "ROWS", conflicts_with = "model")]
    pub(crate) warmup: Option<usize>,
    /// Rows between two updates of the kernel weights, which at first change after 1, 2, 4, ... 32 rows, too [default:
    /// 100]
    #[arg(long, value_name = "ROWS")]
    pub(crate) update_every: Option<usize>,
    /// Most support points to keep: the oldest is forgotten for each new one, which costs accuracy [default: no limit]
    #[arg(long, value_name = "B")]
    pub(crate) budget: Option<usize>,
    /// Go on from this model: from where it stands if it was learned online, else with its scales and kernels
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// File to write the model to when the stream ends or is stopped
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) out: Option<PathBuf>,
    /// File to store the run in, so that it can go on after a stop
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Least seconds between two checkpoints; 0 stores after each chunk of rows
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, requires = "checkpoint")]
    pub(crate) checkpoint_seconds: f64,
    /// Go on from the checkpoint if it is there; the stream is given again from its beginning
    #[arg(long, requires = "checkpoint")]
    pub(crate) resume: bool,
    /// File for the prediction of each row, written as rows come: a table with the columns row, label and predicted
    #[arg(long, value_name = "FILE")]
    pub(crate) predictions: Option<PathBuf>,
    /// Write an apostrophe before cells that a spreadsheet would take for formulas (=, +, -, @ at the start of a text)
    #[arg(long)]
    pub(crate) guard_formulas: bool,
    /// A line that is no row: end with an error, or skip it with a remark
    #[arg(long, value_name = "WAY", default_value = "fail", value_parser = ["fail", "skip"])]
    pub(crate) on_error: String,
    /// Print JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) choices: Choices,
    #[command(flatten)]
    pub(crate) columns: Columns,
    /// File for a page about the running job, written anew every few seconds; at the end, about its result
    #[arg(long, value_name = "FILE")]
    pub(crate) watch: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

impl Online {
    /// Whether lines that are no rows are skipped.
    pub(crate) fn skips(&self) -> bool {
        self.on_error == "skip"
    }
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  multikernel reproduce
  multikernel reproduce mkboost --data-dir data --only sonar,ionosphere \\
      --repeats 5")]
pub(crate) struct Reproduce {
    /// The table; without one, the tables there are
    #[arg(value_name = "TABLE")]
    pub(crate) table: Option<String>,
    /// A folder with the data sets that are not bundled, as NAME.csv.gz, or NAME.train.csv.gz and NAME.test.csv.gz
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<std::path::PathBuf>,
    /// Only these data sets of the table
    #[arg(long, value_name = "SET,...", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// How many seeds, from 0 on: a split or a partition into folds each; without it as many as the table has (20, or 5
    /// where that would take long)
    #[arg(long, value_name = "R")]
    pub(crate) repeats: Option<u64>,
    /// For a table that varies a parameter: draw the accuracy by it into this file, .svg; bars are standard errors over
    /// splits
    #[arg(long, value_name = "FILE")]
    pub(crate) picture: Option<std::path::PathBuf>,
    /// Print JSON, every split included
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  multikernel columns rows.csv
  multikernel columns rows.csv --kinds \"stage=ordered(I<II<III),zip=category\"")]
pub(crate) struct ColumnsCommand {
    /// File with rows, or `-`
    pub(crate) data: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// No remarks
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// Model written by `multikernel train`
    pub(crate) model: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_long_help = "The page is one file that loads nothing: charts, the numbers behind each, and what
they mean. With DATA, best rows that the model was not trained on, it also shows
what each view adds to the decision on each row, which columns matter, confusion
and calibration.

Examples:
  multikernel evaluate sonar --method average,evidence --json > sonar.json
  multikernel report sonar.json --out sonar.html
  multikernel report m.multikernel new.csv --out m.html
  multikernel report m.multikernel --picture weights --out weights.svg")]
pub(crate) struct Report {
    /// Model written by `multikernel train`, or what `multikernel evaluate --json` printed
    #[arg(value_name = "MODEL|EVALUATION.json")]
    pub(crate) input: PathBuf,
    /// For a model: file with rows to look at (with labels, if they are there), `-`, or a bundled set; or give --view
    /// NAME=FILE or --gram NAME=FILE
    pub(crate) data: Option<String>,
    /// Only one chart, as a picture: the word behind # in the address of its section, such as weights; a second chart
    /// there is weights-2
    #[arg(long, value_name = "KIND")]
    pub(crate) picture: Option<String>,
    /// File to write to: .html, or .svg with --picture
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Threads; results are the same for any number [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
    /// No remarks
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Values of a column, or of all columns of a view, are dealt to other rows; what
matters is how much accuracy falls. Take rows that the model was not trained on.
Columns that tell the same make up for one another: permute them as one view.

Examples:
  multikernel importance m.multikernel new.csv
  multikernel importance m.multikernel new.csv --by views --repeats 20 --json
  multikernel importance m.multikernel new.csv --sets pathways.gmt")]
pub(crate) struct Importance {
    /// Model written by `multikernel train`
    pub(crate) model: PathBuf,
    /// File with labelled rows, `-`, or a bundled set; or give --view NAME=FILE, with --labels
    pub(crate) data: Option<String>,
    /// What is permuted at a time
    #[arg(long, value_name = "columns|views", default_value = "columns", value_parser = ["columns", "views"])]
    pub(crate) by: String,
    /// Permute named sets of columns, each together, instead: a GMT file, a set in a line
    #[arg(long, value_name = "FILE", conflicts_with = "by")]
    pub(crate) sets: Option<PathBuf>,
    /// Permutations of each
    #[arg(long, value_name = "R", default_value_t = 10)]
    pub(crate) repeats: usize,
    /// Seed of the permutations
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Threads; results are the same for any number [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
    /// No remarks
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
#[command(after_help = "The columns are chain and draw, counted from 0, then each number, such as
weights[gaussian(1)].

Examples:
  multikernel draws m.multikernel --out draws.csv")]
pub(crate) struct Draws {
    /// Model written by `multikernel train` with a method that samples
    pub(crate) model: PathBuf,
    /// File to write to: .csv, or .arrow where the program was built with the feature arrow
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_long_help = "The ground has the colour of the class that is predicted there, deeper where it
is more probable (for models without probabilities: where it leads by more).
Training rows are discs, rows of --test rings, each in the colour of its own
class; the accuracy on --test stands in the lower right corner.

Examples:
  multikernel datasets make moons --noise 0.2 --out moons.csv
  multikernel datasets make moons --noise 0.2 --seed 1 --out new.csv
  multikernel train moons.csv --proba --out m.multikernel
  multikernel picture m.multikernel moons.csv --test new.csv --out moons.svg
  multikernel train rows.csv --ignore age,weight --out m.multikernel
  multikernel picture m.multikernel rows.csv --out rows.svg")]
pub(crate) struct Picture {
    /// Model of two feature columns written by `multikernel train`
    pub(crate) model: PathBuf,
    /// File with the labelled rows it was trained on, or `-`
    pub(crate) data: String,
    /// File with other labelled rows, to see how the model does on them
    #[arg(long, value_name = "FILE")]
    pub(crate) test: Option<String>,
    /// File to write to: .svg
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Threads; results are the same for any number [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
    /// No remarks
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) columns: Columns,
}

#[derive(Debug, Args)]
pub(crate) struct Datasets {
    #[command(subcommand)]
    pub(crate) command: DatasetsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DatasetsCommand {
    /// List them with size, source and licence
    List(ListDatasets),
    /// Write one of them to CSV files
    Write(WriteDataset),
    /// Draw a toy set of two classes in two columns
    Make(MakeDataset),
}

#[derive(Debug, Args)]
pub(crate) struct ListDatasets {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Prints a table with the columns label, x and y. Another seed gives moons and
circles other noise, but puts the classes of separable elsewhere.

Examples:
  multikernel datasets make moons --noise 0.2 --out moons.csv
  multikernel datasets make circles --rows 500 --factor 0.7 --seed 1")]
pub(crate) struct MakeDataset {
    /// moons: two half circles that reach into one another; circles: one in another; separable: two Gaussians with a
    /// gap
    #[arg(value_parser = ["moons", "circles", "separable"])]
    pub(crate) set: String,
    /// Rows, half of them in each class
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) rows: usize,
    /// Standard deviation of what is added to each value of moons and circles [default: 0.1]
    #[arg(long, value_name = "S")]
    pub(crate) noise: Option<f64>,
    /// Radius of the inner one of circles, from 0 to below 1 [default: 0.5]
    #[arg(long, value_name = "R")]
    pub(crate) factor: Option<f64>,
    /// Seed of all randomness
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// File to write to [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "A set of one table becomes one file with the columns id (rows are numbered from
1), label and the features; a set of several views a folder with a file for each
view and labels.csv, joined by the column id.

Examples:
  multikernel datasets write wdbc --out rows.csv
  multikernel datasets write nutrimouse --out mice
  multikernel train --view gene=mice/gene.csv --view lipid=mice/lipid.csv \\
      --labels mice/labels.csv --out m.multikernel")]
pub(crate) struct WriteDataset {
    /// The set; `multikernel datasets list` lists them
    pub(crate) set: String,
    /// File to write to, or folder for a set of several views [default: standard output]
    #[arg(long, short, value_name = "FILE|FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// No remarks
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Methods {
    /// Only this method, with its parameters
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// All methods with their parameters
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Hides what only training wants.
fn for_new_rows(command: clap::Command, label: &'static str) -> clap::Command {
    let hidden = |command: clap::Command, name: &'static str| command.mut_arg(name, |arg| arg.hide(true));
    ["missing_labels", "groups", "target", "time", "event"]
        .into_iter()
        .fold(command.mut_arg("label", |arg| arg.help(label)), hidden)
}

/// The version, with the commit where a release was built from one (`scripts/release`).
fn version() -> &'static str {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    static WITH_COMMIT: LazyLock<String> = LazyLock::new(|| match option_env!("MULTIKERNEL_COMMIT") {
        Some(commit) => format!("{VERSION} ({commit})"),
        None => VERSION.into(),
    });
    &WITH_COMMIT
}

/// Lets options take negative numbers: `--seed -1` is then a wrong value of `--seed`, not an unknown flag.
fn with_negative_values(command: clap::Command) -> clap::Command {
    let takes_values = |arg: &clap::Arg| !arg.is_positional() && arg.get_action().takes_values();
    command
        .mut_args(|arg| if takes_values(&arg) { arg.allow_negative_numbers(true) } else { arg })
        .mut_subcommands(with_negative_values)
}

/// The command with the names of the registry's methods in its help and completions.
pub(crate) fn command(registry: &Registry) -> clap::Command {
    let names = registry.names();
    let help = format!("The method: {}", names.join(", "));
    let default = "[default: majority,average,auto; without majority for numbers and times; auto with --ablate]";
    let searched = format!("The method, one for all banks: {} [default: auto]", names.join(", "));
    let several = format!("The methods, with commas between: {} {default}", names.join(", "));
    let label = "The label column, to tell the accuracy: its name, or its position from 0 [default: the model's, if the file has it]";
    let compared = "The column of classes to compare clusters with: its name, or its position from 0, negative from the end [default: \
                    label, class or target; for cik, which needs one, as for train]";
    let drawn = "The label column: its name, or its position from 0 [default: the model's]";
    let command = Cli::command()
        .version(version())
        .mut_subcommand("predict", |command| for_new_rows(command, label).mut_arg("labels", |arg| arg.hide(true)))
        .mut_subcommand("report", |command| for_new_rows(command, label))
        .mut_subcommand("importance", |command| for_new_rows(command, drawn))
        .mut_subcommand("cluster", |command| command.mut_arg("label", |arg| arg.help(compared)))
        .mut_subcommand("picture", |command| command.mut_arg("label", |arg| arg.help(drawn)))
        .mut_subcommand("train", |command| command.mut_arg("method", |arg| arg.help(help)))
        .mut_subcommand("evaluate", |command| command.mut_arg("method", |arg| arg.help(several)));
    let compared = "Methods to compare [default: majority,average,auto]";
    shorten(with_negative_values(command))
        .mut_subcommand("evaluate", |command| command.mut_arg("method", |arg| arg.help(compared)))
        .mut_subcommand("search", |command| {
            command
                .after_long_help(SEARCHES)
                .mut_arg("method", |arg| arg.help("The method, one for all banks [default: auto]").long_help(searched))
                .mut_arg("kernels", |arg| arg.help("A kernel bank; give two or more"))
                .mut_arg("ablate", |arg| arg.hide(true))
        })
}
