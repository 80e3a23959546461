//! Changes to records that a stranger could make: arrays cut, reshaped, swapped and filled with odd numbers, values replaced
//! and texts disturbed. Tests draw them at random, a fuzzer by its bytes; neither has to know a checksum.

use serde_json::{Value, json};

use super::record::{Array, Record};
use crate::dist::Rng;

/// Where choices come from.
pub trait Choices {
    /// A number below `n`, or 0 where there is none.
    fn below(&mut self, n: usize) -> usize;

    /// True in about so many of 100 cases.
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

impl Choices for Rng {
    fn below(&mut self, n: usize) -> usize {
        ((self.uniform() * n as f64) as usize).min(n.saturating_sub(1))
    }
}

/// The bytes of a fuzzer, from front to back; 0 for ever after the last.
impl Choices for &[u8] {
    fn below(&mut self, n: usize) -> usize {
        let length = (1 + usize::from(n > 1 << 8)).min(self.len());
        let (bytes, rest) = self.split_at(length);
        *self = rest;
        bytes.iter().fold(0, |word, &byte| word << 8 | usize::from(byte)) % n.max(1)
    }
}

const FLOATS: [f64; 13] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, -1.0, 0.5, 1e308, -1e308, 1e-320, 1e16, 3.0];

fn odd_word(choices: &mut impl Choices, length: usize) -> u64 {
    let words =
        [0, 1, 2, 3, length as u64, (length as u64).wrapping_sub(1), 1 << 20, 1 << 32, 1 << 53, 1 << 63, u64::MAX];
    words[choices.below(words.len())]
}

/// A list with some of it gone, doubled or out of order.
fn disturbed<T: Clone>(choices: &mut impl Choices, list: &mut Vec<T>) {
    let n = list.len();
    match choices.below(5) {
        0 => list.clear(),
        1 => list.truncate(choices.below(n.max(1))),
        2 => list.extend(list.clone()),
        3 => list.reverse(),
        _ if n > 0 => drop(list.remove(choices.below(n))),
        _ => {}
    }
}

fn change_array(choices: &mut impl Choices, array: &mut Array) {
    let is_content = choices.chance(50);
    match array {
        Array::F64 { data, .. } if is_content && !data.is_empty() => {
            let (at, kind) = (choices.below(data.len()), choices.below(FLOATS.len() + 3));
            let near = [-data[at], 2.0 * data[at], data[choices.below(data.len())]];
            let value = FLOATS.iter().chain(&near).copied().nth(kind).unwrap_or_default();
            if choices.chance(20) { data.fill(value) } else { data[at] = value }
        }
        Array::U64 { data, .. } if is_content && !data.is_empty() => {
            let (at, kind) = (choices.below(data.len()), choices.below(6));
            let near = [data[at].wrapping_add(1), data[at].wrapping_sub(1), data[choices.below(data.len())]];
            let value = near.get(kind).copied().unwrap_or_else(|| odd_word(choices, data.len()));
            if choices.chance(20) { data.fill(value) } else { data[at] = value }
        }
        Array::F64 { shape, data } => change_shape(choices, shape, data, 1.0),
        Array::U64 { shape, data } => change_shape(choices, shape, data, 1),
    }
}

fn change_shape<T: Clone>(choices: &mut impl Choices, shape: &mut Vec<usize>, data: &mut Vec<T>, one: T) {
    match choices.below(6) {
        0 => shape.reverse(),
        1 => *shape = vec![data.len()],
        2 => *shape = vec![1, data.len()],
        3 => {
            // No values, but a length: as many rows as the file may state.
            data.clear();
            *shape = vec![[0, 1, 1000][choices.below(3)], 0];
        }
        4 => {
            disturbed(choices, data);
            *shape = vec![data.len()];
        }
        _ => {
            let n_cols = shape.get(1).copied().unwrap_or(1).max(1);
            let n_rows = data.len() / n_cols + choices.below(3);
            data.resize(n_rows * n_cols, one);
            *shape = if shape.len() == 2 { vec![n_rows, n_cols] } else { vec![data.len()] };
        }
    }
}

fn change_value(choices: &mut impl Choices, value: &mut Value) {
    match value {
        Value::Array(list) if choices.chance(50) => disturbed(choices, list),
        Value::Array(list) if !list.is_empty() => {
            let at = choices.below(list.len());
            change_value(choices, &mut list[at]);
        }
        Value::Object(map) if !map.is_empty() => {
            let at = choices.below(map.len());
            if let Some((_, value)) = map.iter_mut().nth(at) {
                change_value(choices, value);
            }
        }
        Value::String(text) if choices.chance(80) => {
            let bits = ["9", "-", ":", "(", ")", "[", "]", " on ", "=", ",", "1e999", "99999999999999999999", "\u{0}"];
            let mut letters: Vec<String> = text.chars().map(String::from).collect();
            let (at, bit) = (choices.below(letters.len() + 1), bits[choices.below(bits.len())]);
            if choices.chance(50) || at >= letters.len() {
                letters.insert(at, bit.into());
            } else {
                letters[at] = bit.into();
            }
            *text = letters.concat();
        }
        _ => {
            let odd = [
                json!(null),
                json!(0),
                json!(u64::MAX),
                json!(-1),
                json!(1.5),
                json!(""),
                json!("x"),
                json!([]),
                json!(true),
            ];
            *value = odd[choices.below(odd.len())].clone();
        }
    }
}

/// Changes one to three things in a record, among those whose names start with `prefix`.
pub fn mutate(choices: &mut impl Choices, record: &mut Record, prefix: &str) {
    for _ in 0..=choices.below(3) {
        let arrays: Vec<String> = record.arrays.keys().filter(|name| name.starts_with(prefix)).cloned().collect();
        let values: Vec<String> = record.values.keys().filter(|name| name.starts_with(prefix)).cloned().collect();
        let at = choices.below(arrays.len() + values.len());
        match (arrays.get(at), values.get(at.wrapping_sub(arrays.len()))) {
            (Some(name), _) if choices.chance(10) => {
                let other = record.arrays[&arrays[choices.below(arrays.len())]].clone();
                record.arrays.insert(name.clone(), other);
            }
            (Some(name), _) if choices.chance(5) => drop(record.arrays.remove(name)),
            (Some(name), _) => record.arrays.get_mut(name).into_iter().for_each(|array| change_array(choices, array)),
            (_, Some(name)) if choices.chance(5) => drop(record.values.remove(name)),
            (_, Some(name)) => record.values.get_mut(name).into_iter().for_each(|value| change_value(choices, value)),
            _ => {}
        }
    }
}
