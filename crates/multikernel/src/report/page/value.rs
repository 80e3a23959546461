//! Reading the JSON of an evaluation: what is absent or not a number is `None`.

use serde_json::Value;

pub(super) fn values<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_string()
}

pub(super) fn texts(value: &Value, key: &str) -> Vec<String> {
    values(value, key).iter().map(|one| one.as_str().unwrap_or_default().to_string()).collect()
}

pub(super) fn number(value: &Value, key: &str) -> Option<f64> {
    value[key].as_f64()
}

pub(super) fn mean(value: &Value, key: &str) -> Option<f64> {
    value[key]["mean"].as_f64()
}

pub(super) fn std(value: &Value, key: &str) -> Option<f64> {
    value[key]["std"].as_f64()
}

pub(super) fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

pub(super) fn interval(value: &Value, key: &str) -> Option<(f64, f64)> {
    match numbers(&value[key])?.as_slice() {
        &[low, high] => Some((low, high)),
        _ => None,
    }
}
