//! Any text as feature sets: an error or sets that have members, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multikernel::data::FeatureSets;

fuzz_target!(|text: &str| {
    if let Ok(sets) = FeatureSets::parse(text, "f") {
        assert!(!sets.sets.is_empty() && sets.sets.iter().all(|set| !set.members.is_empty() && !set.name.is_empty()));
    }
});
