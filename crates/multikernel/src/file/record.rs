//! Named values and named arrays: the stored form of a state or a model.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::features::{Features, Sparse};
use crate::linalg::Matrix;
use crate::precision::Precision;
use crate::simd::Buffer;

/// An array, stored bit for bit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Array {
    F64 { shape: Vec<usize>, data: Vec<f64> },
    U64 { shape: Vec<usize>, data: Vec<u64> },
}

/// Named values (JSON) and named arrays (exact bits); the content of a model or checkpoint file.
///
/// ```
/// use multikernel::file::Record;
/// let mut record = Record::default();
/// record.put("alpha", &vec![0.5, f64::NAN]);
/// record.put("n_classes", &3usize);
/// assert_eq!(record.take::<usize>("n_classes")?, 3);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub(crate) values: Map<String, Value>,
    pub(crate) arrays: BTreeMap<String, Array>,
    /// The lowest format version whose readers understand all of it.
    pub(crate) version: u64,
}

/// The format version that added sparse rows and kernels in `f32`.
const SECOND_VERSION: u64 = 2;
/// The one that added preprocessing, missing views, Gram matrices, shares and probabilities.
const THIRD_VERSION: u64 = 3;
/// The one that added coefficients stored decision by decision.
const FOURTH_VERSION: u64 = 4;
/// The version of models of numbers.
const FIFTH_VERSION: u64 = 5;

impl Default for Record {
    fn default() -> Self {
        Record { values: Map::new(), arrays: BTreeMap::new(), version: 1 }
    }
}

impl Record {
    /// Stores a field under a name; a second one under the same name replaces the first.
    pub fn put<T: Field>(&mut self, name: &str, field: &T) {
        field.put(name, self);
    }

    /// The field stored under a name; an error names what is missing or has another type.
    pub fn take<T: Field>(&self, name: &str) -> Result<T> {
        T::take(name, self)
    }

    /// Stores all fields of another record under `name.`.
    pub fn put_record(&mut self, name: &str, inner: Record) {
        self.version = self.version.max(inner.version);
        self.values.extend(inner.values.into_iter().map(|(key, value)| (format!("{name}.{key}"), value)));
        self.arrays.extend(inner.arrays.into_iter().map(|(key, array)| (format!("{name}.{key}"), array)));
    }

    /// [`Record::put_record`] for fields that files of the first two format versions never have.
    pub fn put_newer(&mut self, name: &str, inner: Record) {
        self.put_record(name, inner);
        self.version = self.version.max(THIRD_VERSION);
    }

    /// Marks the record as unreadable to readers of the first three format versions.
    pub(crate) fn needs_fourth_version(&mut self) {
        self.version = self.version.max(FOURTH_VERSION);
    }

    /// Marks the record as unreadable to readers of the first four format versions.
    pub(crate) fn needs_fifth_version(&mut self) {
        self.version = self.version.max(FIFTH_VERSION);
    }

    /// Whether it holds a value or an array with this name.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name) || self.arrays.contains_key(name)
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.arrays.is_empty()
    }

    /// All fields stored under `name.`, as a record of their own.
    pub fn take_record(&self, name: &str) -> Record {
        let inner = |key: &str| key.strip_prefix(name)?.strip_prefix('.').map(str::to_string);
        Record {
            values: self.values.iter().filter_map(|(key, value)| Some((inner(key)?, value.clone()))).collect(),
            arrays: self.arrays.iter().filter_map(|(key, array)| Some((inner(key)?, array.clone()))).collect(),
            version: self.version,
        }
    }

    /// The name of an array that contains NaN, if there is one.
    pub(crate) fn nan(&self) -> Option<&str> {
        let holds = |array: &Array| matches!(array, Array::F64 { data, .. } if data.iter().any(|value| value.is_nan()));
        self.arrays.iter().find(|(_, array)| holds(array)).map(|(name, _)| name.as_str())
    }

    /// The name of a count that no run reaches, if there is one: arithmetic on it could overflow. Seeds may be any number.
    pub(crate) fn huge(&self) -> Option<&str> {
        const MOST: u64 = 1 << 53;
        let is_huge = |value: &Value| value.as_u64().is_some_and(|count| count > MOST);
        let mut counts = self.values.iter().filter(|(name, _)| *name != "seed" && !name.ends_with(".seed"));
        counts.find(|(_, value)| is_huge(value)).map(|(name, _)| name.as_str())
    }

    /// Adds the numbers of another record to those of its arrays; false, and nothing useful, if they are not the same
    /// arrays.
    pub(crate) fn add_arrays(&mut self, other: &Record) -> bool {
        self.arrays.len() == other.arrays.len()
            && self.arrays.iter_mut().zip(&other.arrays).all(|((name, array), (other_name, other))| {
                let (Array::F64 { shape, data }, Array::F64 { shape: other_shape, data: others }) = (array, other)
                else {
                    return false;
                };
                let fits = name == other_name && shape == other_shape;
                data.iter_mut().zip(others).for_each(|(sum, value)| *sum += value);
                fits
            })
    }

    fn value(&self, name: &str) -> Result<&Value> {
        self.values.get(name).ok_or_else(|| missing(name))
    }

    fn f64s(&self, name: &str) -> Result<(&[usize], &[f64])> {
        match self.arrays.get(name) {
            Some(Array::F64 { shape, data }) => Ok((shape, data)),
            Some(Array::U64 { .. }) => Err(wrong(name, "an array of f64")),
            None => Err(missing(name)),
        }
    }

    fn u64s(&self, name: &str) -> Result<&[u64]> {
        match self.arrays.get(name) {
            Some(Array::U64 { data, .. }) => Ok(data),
            Some(Array::F64 { .. }) => Err(wrong(name, "an array of u64")),
            None => Err(missing(name)),
        }
    }
}

fn missing(name: &str) -> Error {
    Error::input(format!("field `{name}` is missing; the file was not written by this method"))
}

fn wrong(name: &str, expected: &str) -> Error {
    Error::input(format!("field `{name}` is not {expected}; the file was not written by this method"))
}

/// A value that can be stored in a [`Record`].
pub trait Field: Sized {
    /// Stores the value under a name.
    fn put(&self, name: &str, record: &mut Record);
    /// Reads the value stored under a name.
    fn take(name: &str, record: &Record) -> Result<Self>;
}

/// A struct that is stored as a [`Record`]; the [`record!`](crate::record) macro writes the implementation.
pub trait Codec: Sized {
    /// All fields as a record.
    fn encode(&self) -> Record;
    /// The struct from a record; an error names the field that is missing or has another type.
    fn decode(record: &Record) -> Result<Self>;
}

/// Declares a struct and its [`Codec`](crate::file::Codec): each field is stored under its own name or, if it was
/// renamed, under its original one: `log_step as "log_now": f64`.
///
/// ```
/// use multikernel::{file::{Codec, Record}, record};
/// record! {
///     /// Where a sampler stands.
///     #[derive(Debug, PartialEq)]
///     pub struct Chain { position: u64, draws: Vec<f64> }
/// }
/// let chain = Chain { position: 3, draws: vec![0.1, 0.2, 0.3] };
/// assert_eq!(Chain::decode(&chain.encode())?, chain);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[macro_export]
macro_rules! record {
    (@stored $field:ident) => { stringify!($field) };
    (@stored $field:ident $stored:literal) => { $stored };
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident $(as $stored:literal)? : $type:ty),* $(,)?
    }) => {
        $(#[$meta])*
        $vis struct $name { $($(#[$field_meta])* $field_vis $field: $type),* }

        impl $crate::file::Codec for $name {
            fn encode(&self) -> $crate::file::Record {
                #[allow(unused_mut)]
                let mut record = $crate::file::Record::default();
                $(record.put($crate::record!(@stored $field $($stored)?), &self.$field);)*
                record
            }

            fn decode(record: &$crate::file::Record) -> $crate::Result<Self> {
                Ok($name { $($field: record.take($crate::record!(@stored $field $($stored)?))?),* })
            }
        }
    };
}
// Imported by path: the crate root, where the macro is exported, sits above every module that uses it.
pub(crate) use record;

/// Declares an enum that is stored as a number, as are lists of it: the code of each variant never changes.
macro_rules! codes {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $code:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[$variant_meta])* $variant = $code),* }

        impl $name {
            fn of_code(code: u64) -> $crate::Result<Self> {
                match code {
                    $($code => Ok($name::$variant),)*
                    _ => Err($crate::Error::input(format!("{code} is no code of a status; the file is damaged"))),
                }
            }
        }

        impl $crate::file::Field for $name {
            fn put(&self, name: &str, record: &mut $crate::file::Record) {
                record.put(name, &(*self as u64));
            }

            fn take(name: &str, record: &$crate::file::Record) -> $crate::Result<Self> {
                $name::of_code(record.take(name)?)
            }
        }

        impl $crate::file::Field for Vec<$name> {
            fn put(&self, name: &str, record: &mut $crate::file::Record) {
                record.put(name, &self.iter().map(|&status| status as u64).collect::<Vec<u64>>());
            }

            fn take(name: &str, record: &$crate::file::Record) -> $crate::Result<Self> {
                record.take::<Vec<u64>>(name)?.into_iter().map($name::of_code).collect()
            }
        }
    };
}
pub(crate) use codes;

/// A struct with fields of its own is a record inside the record.
impl<T: Codec> Field for T {
    fn put(&self, name: &str, record: &mut Record) {
        record.put_record(name, self.encode());
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        T::decode(&record.take_record(name))
    }
}

/// A field that is computed when needed and never stored: large data a state can rebuild from its input.
#[derive(Clone, Debug)]
pub struct Cache<T>(pub Option<T>);

impl<T> Cache<T> {
    /// The cached value, made by `make` on first use.
    pub fn get_or_make(&mut self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        let value = match self.0.take() {
            Some(value) => value,
            None => make()?,
        };
        Ok(self.0.insert(value))
    }
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Cache(None)
    }
}

impl<T> Field for Cache<T> {
    fn put(&self, _: &str, _: &mut Record) {}

    fn take(_: &str, _: &Record) -> Result<Self> {
        Ok(Cache(None))
    }
}

// Scalars are stored as arrays so that every bit survives, NaN and infinities included: JSON has none of them.
impl Field for f64 {
    fn put(&self, name: &str, record: &mut Record) {
        record.arrays.insert(name.into(), Array::F64 { shape: vec![], data: vec![*self] });
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        record.f64s(name)?.1.first().copied().ok_or_else(|| wrong(name, "a number"))
    }
}

impl Field for Vec<f64> {
    fn put(&self, name: &str, record: &mut Record) {
        record.arrays.insert(name.into(), Array::F64 { shape: vec![self.len()], data: self.clone() });
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        let (shape, data) = record.f64s(name)?;
        if shape.len() == 1 { Ok(data.to_vec()) } else { Err(wrong(name, "a vector")) }
    }
}

impl Field for Buffer {
    fn put(&self, name: &str, record: &mut Record) {
        self.to_vec().put(name, record);
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        let values = record.take::<Vec<f64>>(name)?;
        let memory = || Error::input(format!("no memory for the {} numbers of `{name}`", values.len()));
        let mut buffer = Buffer::zeros(values.len()).ok_or_else(memory)?;
        buffer.copy_from_slice(&values);
        Ok(buffer)
    }
}

impl Field for Matrix {
    fn put(&self, name: &str, record: &mut Record) {
        let shape = vec![self.n_rows(), self.n_cols()];
        record.arrays.insert(name.into(), Array::F64 { shape, data: self.data().to_vec() });
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        match record.f64s(name)? {
            (&[n_rows, n_cols], data) => Matrix::from_vec(n_rows, n_cols, data.to_vec()),
            _ => Err(wrong(name, "a matrix")),
        }
    }
}

/// Stored as its word, and only if it is not `f64`: files of the first version know only that.
impl Field for Precision {
    fn put(&self, name: &str, record: &mut Record) {
        if *self != Precision::F64 {
            record.put(name, &self.word().to_string());
            record.version = record.version.max(SECOND_VERSION);
        }
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        if record.values.contains_key(name) { record.take::<String>(name)?.parse() } else { Ok(Precision::F64) }
    }
}

/// Dense rows are stored as a matrix, sparse ones as `NAME.ends`, `NAME.columns`, `NAME.values` and `NAME.background`.
impl Field for Features {
    fn put(&self, name: &str, record: &mut Record) {
        let sparse = match self {
            Features::Dense(matrix) => return matrix.put(name, record),
            Features::Sparse(sparse) => sparse,
        };
        let (ends, columns, values) = sparse.parts();
        let columns: Vec<u64> = columns.iter().map(|&column| u64::from(column)).collect();
        record.put(&format!("{name}.ends"), &ends.to_vec());
        record.put(&format!("{name}.columns"), &columns);
        record.put(&format!("{name}.values"), &values.to_vec());
        record.put(&format!("{name}.background"), &sparse.background().to_vec());
        record.version = record.version.max(SECOND_VERSION);
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        let field = |part: &str| format!("{name}.{part}");
        if record.arrays.contains_key(name) || !record.arrays.contains_key(&field("ends")) {
            return Ok(record.take::<Matrix>(name)?.into());
        }
        let columns: Vec<u64> = record.take(&field("columns"))?;
        let fits = |&column: &u64| u32::try_from(column).map_err(|_| wrong(&field("columns"), "an array of columns"));
        let columns = columns.iter().map(fits).collect::<Result<_>>()?;
        let (ends, values) = (record.take(&field("ends"))?, record.take(&field("values"))?);
        Ok(Sparse::from_parts(ends, columns, values, record.take(&field("background"))?)?.into())
    }
}

impl Field for Vec<u64> {
    fn put(&self, name: &str, record: &mut Record) {
        record.arrays.insert(name.into(), Array::U64 { shape: vec![self.len()], data: self.clone() });
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        Ok(record.u64s(name)?.to_vec())
    }
}

impl Field for Vec<usize> {
    fn put(&self, name: &str, record: &mut Record) {
        self.iter().map(|&value| value as u64).collect::<Vec<u64>>().put(name, record);
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        record.u64s(name)?.iter().map(|&value| size(value).ok_or_else(|| wrong(name, "an array of sizes"))).collect()
    }
}

impl Field for usize {
    fn put(&self, name: &str, record: &mut Record) {
        (*self as u64).put(name, record);
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        size(record.take(name)?).ok_or_else(|| wrong(name, "a size"))
    }
}

/// The largest size or count a file may hold. No run comes near, and forged ones can be added up without an overflow.
const MAX_SIZE: u64 = 1 << 48;

fn size(value: u64) -> Option<usize> {
    usize::try_from(value).ok().filter(|_| value <= MAX_SIZE)
}

/// Fields that JSON holds exactly.
macro_rules! json_field {
    ($($type:ty => $expected:literal),*) => {$(
        impl Field for $type {
            fn put(&self, name: &str, record: &mut Record) {
                record.values.insert(name.into(), serde_json::json!(self));
            }

            fn take(name: &str, record: &Record) -> Result<Self> {
                serde_json::from_value(record.value(name)?.clone()).map_err(|_| wrong(name, $expected))
            }
        }
    )*};
}

json_field!(
    bool => "true or false",
    u64 => "a whole number",
    String => "a text",
    Vec<String> => "a list of texts",
    Option<String> => "a text or null",
    Option<u64> => "a whole number or null",
    BTreeMap<String, String> => "a map of texts"
);

#[cfg(test)]
mod tests {
    use super::*;

    record! {
        #[derive(Debug)]
        struct Everything {
            scalar: f64,
            vector: Vec<f64>,
            matrix: Matrix,
            counts: Vec<u64>,
            rows: Vec<usize>,
            flag: bool,
            text: String,
            names: Vec<String>,
            cache: Cache<Matrix>,
        }
    }

    #[test]
    fn record_with_every_kind_of_field_keeps_every_bit() {
        let odd = f64::from_bits(0x7ff8_0000_dead_beef);
        let before = Everything {
            scalar: odd,
            vector: vec![0.1, -0.0, f64::INFINITY, 5e-324],
            matrix: Matrix::from_fn(2, 3, |i, j| (i * 3 + j) as f64 / 7.0),
            counts: vec![u64::MAX, 0],
            rows: vec![3, 1, 2],
            flag: true,
            text: "a \"quoted\" text".into(),
            names: vec!["x1".into(), "µ".into()],
            cache: Cache(Some(Matrix::zeros(1, 1))),
        };
        let after = Everything::decode(&before.encode()).unwrap();
        assert_eq!(after.scalar.to_bits(), odd.to_bits());
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&after.vector), bits(&before.vector));
        assert_eq!(after.matrix, before.matrix);
        assert_eq!((after.counts, after.rows), (before.counts, before.rows));
        assert_eq!((after.flag, after.text, after.names), (before.flag, before.text, before.names));
        assert!(after.cache.0.is_none());
    }

    #[test]
    fn record_with_a_field_of_another_type_names_the_field() {
        let mut record = Record::default();
        record.put("alpha", &vec![1u64]);
        let message = record.take::<Vec<f64>>("alpha").unwrap_err().to_string();
        assert!(message.contains("`alpha` is not an array of f64"), "{message}");
        let message = record.take::<bool>("done").unwrap_err().to_string();
        assert!(message.contains("`done` is missing"), "{message}");
    }

    #[test]
    fn sizes_that_could_overflow_a_sum_are_refused() {
        let mut record = Record::default();
        record.put("most", &(1usize << 48));
        assert_eq!(record.take::<usize>("most").unwrap(), 1 << 48);
        for size in [(1u64 << 48) + 1, u64::MAX] {
            record.put("one", &size);
            record.put("many", &vec![1, size]);
            assert!(record.take::<usize>("one").unwrap_err().to_string().contains("`one` is not a size"));
            assert!(record.take::<Vec<usize>>("many").is_err());
            assert_eq!(record.take::<u64>("one").unwrap(), size);
        }
    }

    #[test]
    fn rows_come_back_the_way_they_were_kept() {
        let sparse = Sparse::from_parts(vec![1, 1, 3], vec![2, 0, 1], vec![0.1, -0.0, 1e300], vec![0.0, -1.5, 0.5]);
        let sparse = Features::from(sparse.unwrap());
        let dense = Features::from(sparse.to_dense().unwrap().into_owned());
        for (rows, names, version) in [
            (&dense, vec!["rows"], 1),
            (&sparse, vec!["rows.background", "rows.columns", "rows.ends", "rows.values"], 2),
        ] {
            let mut record = Record::default();
            record.put("rows", rows);
            assert_eq!(&record.take::<Features>("rows").unwrap(), rows);
            assert_eq!(record.arrays.keys().collect::<Vec<_>>(), names);
            // The outer record needs the version of the inner one.
            let mut outer = Record::default();
            outer.put_record("state", record);
            assert_eq!(outer.version, version);
            assert_eq!(&outer.take_record("state").take::<Features>("rows").unwrap(), rows);
        }
        let message = Record::default().take::<Features>("rows").unwrap_err().to_string();
        assert!(message.contains("`rows` is missing"), "{message}");
    }

    #[test]
    fn record_inside_a_record_comes_back_alone() {
        let mut inner = Record::default();
        inner.put("n", &3u64);
        inner.put("v", &vec![1.5]);
        let mut outer = Record::default();
        outer.put("n", &4u64);
        outer.put_record("state", inner.clone());
        assert_eq!(outer.take_record("state"), inner);
        assert_eq!(outer.take::<u64>("n").unwrap(), 4);
    }
}
