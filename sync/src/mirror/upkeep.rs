//! Keeps a mirror fast to read: few packs, and a commit-graph with changed paths.
//!
//! A reader may have the index of a pack open, and open the pack itself much later. So packs that were combined
//! are removed after a grace, by the next run that brings something.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use super::{Mirrors, disk_failure, removal, since_written};
use crate::failure::SyncFailure;
use crate::git::RunBounds;

/// Packs that a mirror may have before small ones are combined. A reader looks into each of them.
const MAX_PACKS: usize = 16;
/// How much larger a pack is than all smaller ones together, so that it is not combined with them.
const FACTOR: u64 = 2;
/// The file that lists packs that were combined: a line has the second and the name.
const OLD_PACKS: &str = "archway-old-packs";
/// The file that is there from before something is published until what git computes from it is up to date.
const DUE: &str = "archway-upkeep-due";
/// The file's content after upkeep failed.
const FAILED: &str = "failed";
/// How long nothing is tried after it failed, unless something new is published.
const PAUSE: Duration = Duration::from_secs(60 * 60);

/// Whether a run was stopped before it brought up to date what git computes, or failed at that some time ago.
pub(super) fn is_due(mirror: &Path) -> bool {
    let mark = mirror.join(DUE);
    match fs::read_to_string(&mark) {
        Ok(text) => text != FAILED || since_written(&mark) >= PAUSE,
        Err(_none) => false,
    }
}

/// Has the next run do it, if this one does not come to it.
pub(super) fn make_due(mirror: &Path) -> io::Result<()> {
    fs::write(mirror.join(DUE), "")
}

impl Mirrors {
    /// Brings what git computes from the objects up to date. What is served does not depend on it.
    pub(super) async fn keep_up(&self, mirror: &Path, bounds: &RunBounds<'_>) {
        let Err(failure) = self.try_to_keep_up(mirror, bounds).await else {
            return;
        };
        tracing::warn!(%failure, "what speeds up a mirror could not be computed");
        if !bounds.cancel.is_cancelled() {
            _ = fs::write(mirror.join(DUE), FAILED);
            // A git that was stopped leaves half a pack.
            _ = removal::remove_unfinished(mirror);
        }
    }

    async fn try_to_keep_up(
        &self,
        mirror: &Path,
        bounds: &RunBounds<'_>,
    ) -> Result<(), SyncFailure> {
        self.combine_packs(mirror, bounds).await?;
        self.write_graph(mirror, bounds).await?;
        match fs::remove_file(mirror.join(DUE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(disk_failure(&error)),
            _ => Ok(()),
        }
    }

    async fn write_graph(&self, mirror: &Path, bounds: &RunBounds<'_>) -> Result<(), SyncFailure> {
        let graph = [
            "commit-graph",
            "write",
            "--reachable",
            "--changed-paths",
            "--split",
            "--expire-time=15.minutes.ago",
            "--no-progress",
        ];
        self.git.local(mirror, &graph, None, bounds).await.map(drop)
    }

    async fn combine_packs(
        &self,
        mirror: &Path,
        bounds: &RunBounds<'_>,
    ) -> Result<(), SyncFailure> {
        let failed = |error: io::Error| disk_failure(&error);
        let mut old = OldPacks::read(mirror);
        old.remove_after(self.grace).map_err(failed)?;
        let packs = packs(mirror).map_err(failed)?;
        let packs = packs
            .into_iter()
            .filter(|(name, _)| !old.names.contains_key(name));
        let mut chosen = small_packs(packs.collect());
        if chosen.is_empty() {
            return Ok(());
        }
        let list: String = chosen.iter().map(|name| format!("{name}.pack\n")).collect();
        let place = mirror.join("objects/pack/pack");
        let place = place.to_string_lossy();
        let pack = ["pack-objects", "--stdin-packs", "--quiet", &place];
        let made = self.git.local(mirror, &pack, Some(list), bounds).await?;
        // The result of a run that was killed before it listed the others may be among those that were chosen.
        let made = format!("pack-{}", made.trim());
        chosen.retain(|name| *name != made);
        old.add(chosen).map_err(failed)
    }
}

/// The packs of a mirror by name, with their sizes in bytes.
fn packs(mirror: &Path) -> io::Result<Vec<(String, u64)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(mirror.join("objects/pack"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(name) = name
            .strip_suffix(".pack")
            .filter(|name| name.starts_with("pack-"))
        {
            found.push((name.to_owned(), entry.metadata()?.len()));
        }
    }
    Ok(found)
}

/// The packs to combine: the smallest ones, so many that each other one is larger than all smaller ones
/// together. None while there are few packs.
fn small_packs(mut packs: Vec<(String, u64)>) -> Vec<String> {
    if packs.len() <= MAX_PACKS {
        return Vec::new();
    }
    packs.sort_by_key(|(_, bytes)| *bytes);
    let (mut sum, mut chosen) = (0_u64, 0);
    for (number, (_, bytes)) in packs.iter().enumerate() {
        // A larger one after it may be too small, so all are looked at.
        if *bytes < sum.saturating_mul(FACTOR) {
            chosen = number + 1;
        }
        sum = sum.saturating_add(*bytes);
    }
    let names = packs.into_iter().map(|(name, _)| name);
    names.take(chosen.max(2)).collect()
}

/// Packs whose objects are in others, and since when.
struct OldPacks {
    mirror: PathBuf,
    names: BTreeMap<String, u64>,
}

impl OldPacks {
    /// A list that cannot be read is empty: its packs stay, and are combined once more.
    fn read(mirror: &Path) -> OldPacks {
        let text = fs::read_to_string(mirror.join(OLD_PACKS)).unwrap_or_default();
        let line = |line: &str| {
            let (second, name) = line.split_once(' ')?;
            Some((name.to_owned(), second.parse().ok()?))
        };
        OldPacks {
            mirror: mirror.to_owned(),
            names: text.lines().filter_map(line).collect(),
        }
    }

    fn add(&mut self, names: Vec<String>) -> io::Result<()> {
        let now = seconds();
        self.names.extend(names.into_iter().map(|name| (name, now)));
        self.write()
    }

    /// Removes the packs that have been old for so long.
    fn remove_after(&mut self, grace: Duration) -> io::Result<()> {
        let now = seconds();
        let folder = self.mirror.join("objects/pack");
        let is_due = |since: &u64| now.saturating_sub(*since) >= grace.as_secs();
        let due: Vec<String> = (self.names.iter())
            .filter(|(_, since)| is_due(since))
            .map(|(name, _)| name.clone())
            .collect();
        for name in &due {
            // The index first: without it nobody begins to use the pack.
            for end in ["idx", "rev", "bitmap", "mtimes", "pack"] {
                match fs::remove_file(folder.join(format!("{name}.{end}"))) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            self.names.remove(name);
        }
        match due.is_empty() {
            true => Ok(()),
            false => self.write(),
        }
    }

    fn write(&self) -> io::Result<()> {
        let line = |(name, second): (&String, &u64)| format!("{second} {name}\n");
        let text: String = self.names.iter().map(line).collect();
        let beside = self.mirror.join(format!("{OLD_PACKS}.new"));
        fs::write(&beside, text)?;
        fs::rename(beside, self.mirror.join(OLD_PACKS))
    }
}

fn seconds() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(sizes: &[u64]) -> usize {
        let packs = sizes.iter().enumerate();
        small_packs(
            packs
                .map(|(name, bytes)| (name.to_string(), *bytes))
                .collect(),
        )
        .len()
    }

    #[test]
    fn small_packs_are_combined_and_large_ones_stay() {
        assert_eq!(chosen(&[1; MAX_PACKS]), 0, "they are few");
        assert_eq!(chosen(&[1; MAX_PACKS + 1]), MAX_PACKS + 1);
        let mut sizes = vec![10; MAX_PACKS];
        sizes.push(1_000_000);
        assert_eq!(chosen(&sizes), MAX_PACKS, "the first clone stays");
        sizes.push(500);
        assert_eq!(chosen(&sizes), MAX_PACKS, "so does what is much larger");
        let doubling: Vec<u64> = (0..20).map(|power| 3_u64.pow(power)).collect();
        assert_eq!(
            chosen(&doubling),
            2,
            "at least two, so that there are never more"
        );
    }

    #[test]
    fn an_old_pack_is_removed_after_its_grace() {
        let mirror = tempfile::tempdir().unwrap();
        let folder = mirror.path().join("objects/pack");
        fs::create_dir_all(&folder).unwrap();
        for file in ["pack-a.pack", "pack-a.idx", "pack-b.pack"] {
            fs::write(folder.join(file), "x").unwrap();
        }
        let mut old = OldPacks::read(mirror.path());
        old.add(vec!["pack-a".to_owned()]).unwrap();
        let mut old = OldPacks::read(mirror.path());
        old.remove_after(Duration::from_secs(3600)).unwrap();
        assert_eq!(packs(mirror.path()).unwrap().len(), 2);
        old.remove_after(Duration::ZERO).unwrap();
        assert_eq!(packs(mirror.path()).unwrap(), [("pack-b".to_owned(), 1)]);
        assert!(OldPacks::read(mirror.path()).names.is_empty());
    }
}
