//! Files that are written whole or not at all, and by one process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// More links than this in a row lead nowhere, as in the kernel.
const MAX_LINKS: usize = 40;

/// Digits of the random part of a partial file's name.
const RANDOM_DIGITS: usize = 16;

/// Writes bytes to `path` through a new sibling `.NAME.RANDOM.partial`, flushed to disk before it is renamed over the
/// target. A run that is killed leaves the old file untouched and at most that one partial file, which the
/// next [`claim`] removes. A link is followed, and what it leads to keeps its mode; a pipe or
/// device is written to directly.
pub fn write_atomic(path: &Path, content: &[u8]) -> Result<()> {
    let target = resolved(path);
    if is_special(&target) {
        let direct = || OpenOptions::new().write(true).open(&target)?.write_all(content);
        return direct().map_err(|error| Error::io("write", path, error));
    }
    let (mut file, partial) = new_partial(&target)?.map_err(|error| Error::io("write", path, error))?;
    let mut attempt = || -> std::io::Result<()> {
        keep_access(&file, &target)?;
        file.write_all(content)?;
        file.sync_all()?;
        std::fs::rename(&partial, &target)?;
        // The rename itself must survive a power cut; not every system allows syncing a folder.
        File::open(folder(&target)).and_then(|folder| folder.sync_all()).ok();
        Ok(())
    };
    attempt().map_err(|error| {
        std::fs::remove_file(&partial).ok();
        Error::io("write", path, error)
    })
}

/// A new, empty file beside the target, locked so that nobody takes it for one left behind; nothing that exists is
/// opened, and no link is followed. If the target exists, nobody else may read it yet.
fn new_partial(target: &Path) -> Result<std::io::Result<(File, PathBuf)>> {
    let name = file_name(target)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if target.exists() {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    loop {
        let random = RandomState::new().build_hasher().finish();
        let partial = target.with_file_name(format!(".{name}.{random:0RANDOM_DIGITS$x}.partial"));
        match options.open(&partial) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(error) => return Ok(Err(error)),
            Ok(file) => {
                // Not every file system has locks, and the name alone is safe enough.
                file.try_lock().ok();
                return Ok(Ok((file, partial)));
            }
        }
    }
}

/// Gives a new file the owner, group and mode of the one it replaces; a group that cannot be kept loses its access.
#[cfg(unix)]
fn keep_access(file: &File, target: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let Ok(old) = std::fs::metadata(target) else { return Ok(()) };
    let new = file.metadata()?;
    let owner = (old.uid() != new.uid()).then_some(old.uid());
    let kept = old.gid() == new.gid() || fchown(file, None, Some(old.gid())).is_ok();
    fchown(file, owner, None).ok();
    let mode = old.mode() & if kept { 0o777 } else { 0o707 };
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn keep_access(file: &File, target: &Path) -> std::io::Result<()> {
    match std::fs::metadata(target) {
        Ok(old) => file.set_permissions(old.permissions()),
        Err(_) => Ok(()),
    }
}

/// Checks before a long job whether its result can be written: an error now, not after hours.
pub fn check_writable(path: &Path) -> Result<()> {
    let target = resolved(path);
    if target.is_dir() {
        return Err(Error::file(path, "is a folder; give a file to write, such as model.multikernel"));
    }
    if is_special(&target) {
        return Ok(());
    }
    if target.is_symlink() {
        return Err(Error::file(path, "is a link that leads in a circle; remove it or give another file"));
    }
    if !folder(&target).is_dir() {
        return Err(Error::file(
            path,
            format!("cannot be written: there is no folder {}; create it first", folder(&target).display()),
        ));
    }
    let probe = new_partial(&target)?.and_then(|(_, partial)| std::fs::remove_file(partial));
    probe.map_err(|error| Error::io("write", path, error))
}

/// Removes the partial files of a target whose writers are gone: whoever writes one has it locked.
fn remove_stale(folder: &Path, name: &str) {
    let is_random = |text: &str| text.len() == RANDOM_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let random = found
            .to_str()
            .and_then(|found| found.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('.')?.strip_suffix(".partial"));
        if random.is_some_and(is_random) && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let free = File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
            if free {
                std::fs::remove_file(entry.path()).ok();
            }
        }
    }
}

/// The right to write a file, which one process at a time has; given up when dropped, or when the process ends for
/// whatever reason.
///
/// ```
/// let path = std::env::temp_dir().join(format!("claimed-{}.multikernel", std::process::id()));
/// let claim = multikernel::file::claim(&path)?;
/// assert!(multikernel::file::claim(&path).unwrap_err().to_string().contains("being written by another run"));
/// drop(claim);
/// multikernel::file::claim(&path)?;
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Debug)]
pub struct Claim(Option<(File, PathBuf)>);

impl Drop for Claim {
    fn drop(&mut self) {
        // Removed while it is still locked: whoever opens it now finds it gone and makes another.
        if let Some((_, path)) = &self.0 {
            std::fs::remove_file(path).ok();
        }
    }
}

/// Claims a file for writing before a long job; refused while another process, or another part of this one, has it. The
/// claim is a lock of the operating system on an empty file `.NAME.multikernel-lock` beside it. Partial files that killed
/// runs left there are removed. Pipes, devices and file systems without locks are not claimed.
pub fn claim(path: &Path) -> Result<Claim> {
    check_writable(path)?;
    let target = resolved(path);
    if is_special(&target) {
        return Ok(Claim(None));
    }
    let name = file_name(&target)?;
    let lock = target.with_file_name(format!(".{name}.multikernel-lock"));
    loop {
        let in_the_way = || {
            let message =
                "is in the way: it is not one of the empty files that tell of a running job; move it elsewhere";
            Error::file(&lock, message)
        };
        let file = match open_lock(&lock) {
            Err(_) if lock.symlink_metadata().is_ok_and(|found| !found.is_file()) => return Err(in_the_way()),
            file => file.map_err(|error| Error::io("write", path, error))?,
        };
        let found = file.metadata().map_err(|error| Error::io("write", path, error))?;
        if !found.is_file() || found.len() > 0 {
            return Err(in_the_way());
        }
        match file.try_lock() {
            Ok(()) if is_at(&file, &lock) => {
                remove_stale(folder(&target), &name);
                return Ok(Claim(Some((file, lock))));
            }
            Ok(()) => continue,
            Err(TryLockError::WouldBlock) => {
                let message =
                    "is being written by another run; wait until that has ended, or give this one another file";
                return Err(Error::file(path, message));
            }
            Err(TryLockError::Error(_)) => return Ok(Claim(None)),
        }
    }
}

fn open_lock(lock: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(target_os = "linux")]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options.open(lock)
}

/// Whether an open file is still the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), path.symlink_metadata()) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.is_file()
}

/// Removes a file that nobody needs any more. Of a link what it leads to goes; a pipe or a device belongs to the system and stays.
pub fn remove(path: &Path) -> Result<()> {
    let target = resolved(path);
    if is_special(&target) {
        return Ok(());
    }
    std::fs::remove_file(&target).map_err(|error| Error::io("remove", path, error))
}

/// Whether two paths name the same file, whether or not it exists; a file may have several names.
pub fn is_same(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(a), Ok(b)) = (std::fs::metadata(a), std::fs::metadata(b)) {
        use std::os::unix::fs::MetadataExt;
        return (a.dev(), a.ino()) == (b.dev(), b.ino());
    }
    let place = |path: &Path| {
        let target = resolved(path);
        (folder(&target).canonicalize().ok(), target.file_name().map(ToOwned::to_owned))
    };
    place(a) == place(b)
}

/// The file a path leads to, links followed, those to files that do not exist yet too.
pub(super) fn resolved(path: &Path) -> PathBuf {
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        if let Ok(found) = target.canonicalize() {
            return found;
        }
        match std::fs::read_link(&target) {
            Ok(next) => target = folder(&target).join(next),
            Err(_) => break,
        }
    }
    target
}

fn is_special(path: &Path) -> bool {
    path.exists() && !path.is_file() && !path.is_dir()
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn file_name(path: &Path) -> Result<String> {
    let name = path.file_name().ok_or_else(|| {
        Error::file(path, "is not the name of a file; give a file to write, such as model.multikernel")
    })?;
    Ok(name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[cfg(unix)]
    #[test]
    fn write_through_a_link_changes_what_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_atomic(&link, b"new").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert!(link.is_symlink());
        assert!(is_same(&file, &link));
        write_atomic(Path::new("/dev/null"), b"new").unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn write_through_a_dangling_link_makes_what_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("second", at("first")).unwrap();
        std::os::unix::fs::symlink("file", at("second")).unwrap();
        check_writable(&at("first")).unwrap();
        write_atomic(&at("first"), b"new").unwrap();
        assert_eq!(std::fs::read(at("file")).unwrap(), b"new");
        assert!(at("first").is_symlink() && at("second").is_symlink());
        assert!(is_same(&at("first"), &at("file")));

        std::os::unix::fs::symlink("absent/file", at("astray")).unwrap();
        let message = check_writable(&at("astray")).unwrap_err().to_string();
        assert!(message.contains("there is no folder") && message.contains("absent"), "{message}");
        std::os::unix::fs::symlink("round", at("round")).unwrap();
        let message = check_writable(&at("round")).unwrap_err().to_string();
        assert!(message.contains("leads in a circle"), "{message}");
    }

    #[cfg(unix)]
    #[test]
    fn names_of_one_file_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("rows.csv"), "old").unwrap();
        std::fs::write(at("other"), "old").unwrap();
        std::fs::hard_link(at("rows.csv"), at("second")).unwrap();
        std::os::unix::fs::symlink("second", at("third")).unwrap();
        assert!(is_same(&at("rows.csv"), &at("second")) && is_same(&at("rows.csv"), &at("third")));
        assert!(!is_same(&at("rows.csv"), &at("other")) && !is_same(&at("rows.csv"), &at("absent")));
    }

    #[cfg(unix)]
    #[test]
    fn what_is_removed_is_a_file_and_never_a_device() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "old").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        remove(&at("link")).unwrap();
        assert_eq!(names(folder.path()), ["link"]);
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink("socket", at("to-socket")).unwrap();
        remove(&at("socket")).and_then(|()| remove(&at("to-socket"))).unwrap();
        assert!(std::fs::metadata(at("to-socket")).unwrap().file_type().is_socket());
        let message = remove(&at("absent")).unwrap_err().to_string();
        assert!(message.starts_with("cannot remove") && message.contains("absent"), "{message}");
    }

    #[cfg(unix)]
    #[test]
    fn file_that_is_overwritten_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for mode in [0o600, 0o640, 0o664, 0o444] {
            std::fs::write(&path, "old").ok();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            write_atomic(&path, b"new").unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode);
        }
    }

    #[cfg(unix)]
    #[test]
    fn files_of_others_beside_the_target_are_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("victim"), "keep").unwrap();
        std::os::unix::fs::symlink("victim", at(".notes.partial")).unwrap();
        std::os::unix::fs::symlink("victim", at(".notes.0123456789abcdef.partial")).unwrap();
        std::fs::write(at(".notes.mine.partial"), "keep").unwrap();
        claim(&at("notes")).unwrap();
        write_atomic(&at("notes"), b"new").unwrap();
        assert_eq!(std::fs::read(at("victim")).unwrap(), b"keep");
        let kept = [".notes.0123456789abcdef.partial", ".notes.mine.partial", ".notes.partial", "notes", "victim"];
        assert_eq!(names(folder.path()), kept);
        // A lock must not lead elsewhere either, nor cost a file of that name.
        std::os::unix::fs::symlink("victim", at(".notes.multikernel-lock")).unwrap();
        assert!(claim(&at("notes")).unwrap_err().to_string().contains("is in the way"));
        std::fs::write(at(".other.multikernel-lock"), "keep").unwrap();
        assert!(claim(&at("other")).unwrap_err().to_string().contains("is in the way"));
        assert_eq!(std::fs::read(at(".other.multikernel-lock")).unwrap(), b"keep");
    }

    #[test]
    fn partial_files_of_killed_runs_are_removed_and_those_of_running_ones_kept() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("m");
        let stale = folder.path().join(".m.00112233445566aa.partial");
        std::fs::write(&stale, "half").unwrap();
        let (_file, running) = new_partial(&target).unwrap().unwrap();
        claim(&target).unwrap();
        assert!(!stale.exists() && running.exists());
    }

    #[test]
    fn file_is_claimed_once_until_the_claim_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        let first = claim(&path).unwrap();
        let message = claim(&path).unwrap_err().to_string();
        assert!(message.contains("is being written by another run"), "{message}");
        let _other = claim(&folder.path().join("n")).unwrap();
        // What is written meanwhile does not loosen the claim.
        write_atomic(&path, b"new").unwrap();
        assert!(claim(&path).is_err());
        drop(first);
        assert!(!folder.path().join(".m.multikernel-lock").exists());
        // The empty file of a killed run is no claim.
        std::fs::write(folder.path().join(".m.multikernel-lock"), "").unwrap();
        claim(&path).unwrap();
    }
}
