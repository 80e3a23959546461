//! How much memory a run may use: what was asked for, or most of what the machine and its limits leave.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// Memory limit in bytes for data, and then for kernels: `--memory`, or most of the memory that is free if the system
/// reports it: that of the machine, of the control groups of this process, and of its limits on addresses and data.
pub(crate) fn limit(given: Option<&str>) -> Result<Option<u64>> {
    match given {
        Some(text) => match parse_size(text) {
            Some(bytes) => Ok(Some(bytes)),
            None => bail!("--memory {text}: must be a size such as 8GiB, 500MiB or 2GB"),
        },
        None => Ok(free_bytes(Path::new("/")).map(|free| free / 10 * 8)),
    }
}

fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let unit = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1u64,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    };
    let number: f64 = text[..digits].parse().ok()?;
    let bytes = number * unit as f64;
    (bytes >= 1.0 && bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// The least of what the machine, control groups and the limits of the process leave; `root` is `/` but in tests.
fn free_bytes(root: &Path) -> Option<u64> {
    // `ulimit -v` and `ulimit -d`: each with what counts towards it.
    let limits = [("Max address space", "VmSize:"), ("Max data size", "VmData:")];
    let left = limits.map(|(limit, mapped)| left_of(root, limit, mapped));
    [machine(root), control_groups(root)].into_iter().chain(left).flatten().min()
}

fn machine(root: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// What a thread maps for its stack and its allocator.
const THREAD_BYTES: u64 = 72 << 20;

/// What a limit of the process leaves: the limit less what is mapped already, and what threads may map, which is seldom all of it.
fn left_of(root: &Path, limit: &str, mapped: &str) -> Option<u64> {
    let limits = std::fs::read_to_string(root.join("proc/self/limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix(limit))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let status = std::fs::read_to_string(root.join("proc/self/status")).ok()?;
    let mapped = status.lines().find_map(|line| line.strip_prefix(mapped))?;
    let mapped = mapped.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024;
    let left = limit.saturating_sub(mapped);
    Some(left.saturating_sub(threads() * THREAD_BYTES).max(left / 4))
}

fn threads() -> u64 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u64)
}

/// What the control groups of this process leave, those above them included; both versions may be mounted.
fn control_groups(root: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mut least: Option<u64> = None;
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(id), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (mount, names) = match (id, controllers) {
            // Above the limit `high` a process is not killed, but made to wait until it hardly moves.
            ("0", "") => ("sys/fs/cgroup", ["memory.max", "memory.high", "memory.current"]),
            (_, controllers) if controllers.split(',').any(|name| name == "memory") => {
                let limit = "memory.limit_in_bytes";
                ("sys/fs/cgroup/memory", [limit, limit, "memory.usage_in_bytes"])
            }
            _ => continue,
        };
        let mount = root.join(mount);
        let mut group: PathBuf = mount.join(path.trim_start_matches('/'));
        // In a container the path may be the one outside; its own group is then at the mount.
        while group.starts_with(&mount) {
            least = [least, left_in(&group, names)].into_iter().flatten().min();
            group.pop();
        }
    }
    least
}

/// What a group leaves: the lower limit less what is used, not counting files that the system would drop.
fn left_in(group: &Path, [most, high, usage]: [&str; 3]) -> Option<u64> {
    let number = |name: &str| std::fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    let (limit, usage) = ([most, high].into_iter().filter_map(number).min()?, number(usage)?);
    let stat = std::fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let dropped = |line: &str| {
        let (name, bytes) = line.split_once(' ')?;
        if matches!(name, "inactive_file" | "total_inactive_file") { bytes.trim().parse::<u64>().ok() } else { None }
    };
    let dropped = stat.lines().filter_map(dropped).max().unwrap_or(0);
    Some(limit.saturating_sub(usage.saturating_sub(dropped)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn limits_of_control_groups_are_read_in_both_versions_and_above() {
        let machine = ("proc/meminfo", "MemTotal: 32000000 kB\nMemAvailable:   16000000 kB\n");
        let free = |files: &[(&str, &str)]| free_bytes(system(&[&[machine], files].concat()).path());
        assert_eq!(free(&[]), Some(16_384_000_000));
        let second = [
            ("proc/self/cgroup", "0::/jobs/mine\n"),
            ("sys/fs/cgroup/jobs/mine/memory.max", "max\n"),
            ("sys/fs/cgroup/jobs/mine/memory.current", "5\n"),
            ("sys/fs/cgroup/jobs/memory.max", "1000000\n"),
            ("sys/fs/cgroup/jobs/memory.current", "700000\n"),
            ("sys/fs/cgroup/jobs/memory.stat", "anon 5\ninactive_file 200000\n"),
        ];
        assert_eq!(free(&second), Some(500_000));
        let first = [
            ("proc/self/cgroup", "11:cpu,cpuacct:/\n4:memory:/docker/abc\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "3000000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "1000000\n"),
            ("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 1000\n"),
        ];
        assert_eq!(free(&first), Some(2_001_000));
        let none = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(free(&[first[0], none, first[2]]), Some(16_384_000_000));
    }

    #[test]
    fn group_that_is_slowed_down_is_as_good_as_full() {
        let group = |high: &'static str| {
            let files = [
                ("proc/self/cgroup", "0::/mine\n"),
                ("sys/fs/cgroup/mine/memory.max", "9000000\n"),
                ("sys/fs/cgroup/mine/memory.high", high),
                ("sys/fs/cgroup/mine/memory.current", "1000000\n"),
            ];
            free_bytes(system(&files).path())
        };
        assert_eq!(group("3000000\n"), Some(2_000_000));
        assert_eq!(group("max\n"), Some(8_000_000));
    }

    #[test]
    fn limit_on_data_is_one_of_memory() {
        let limits = (
            "proc/self/limits",
            "Max data size             7000000 unlimited bytes\nMax address space unlimited unlimited bytes\n",
        );
        let status = ("proc/self/status", "VmSize:\t 9000000 kB\nVmData:\t 3000 kB\n");
        assert_eq!(free_bytes(system(&[limits, status]).path()), Some(982_000), "a quarter of what is left");
    }

    #[test]
    fn limit_on_addresses_counts_less_what_is_and_will_be_mapped() {
        let of_addresses = |root: &Path| left_of(root, "Max address space", "VmSize:");
        let limits =
            ("proc/self/limits", "Limit  Soft  Hard  Units\nMax address space   8000000000  unlimited  bytes\n");
        let status = ("proc/self/status", "Name: x\nVmSize:\t 1000000 kB\n");
        let left: u64 = 8_000_000_000 - 1_024_000_000;
        let expected = left.saturating_sub(threads() * THREAD_BYTES).max(left / 4);
        assert_eq!(of_addresses(system(&[limits, status]).path()), Some(expected));
        let tight = ("proc/self/limits", "Max address space         1124000000  unlimited  bytes\n");
        assert_eq!(of_addresses(system(&[tight, status]).path()), Some(25_000_000), "small jobs still run");
        let unlimited = ("proc/self/limits", "Max address space         unlimited  unlimited  bytes\n");
        assert_eq!(of_addresses(system(&[unlimited, status]).path()), None);
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        let cases =
            [("8GiB", Some(8 << 30)), ("1.5 GiB", Some(3 << 29)), ("2GB", Some(2_000_000_000)), ("512", Some(512))];
        for (text, bytes) in cases.into_iter().chain([("GiB", None), ("-1GiB", None), ("5 apples", None), ("0", None)])
        {
            assert_eq!(parse_size(text), bytes, "{text}");
        }
    }
}
