//! Administration of memory: erases what an agent wrote, and records that it was erased.
//!
//! The workers own the tables. Functions of their migration do the work, and only the owner may call
//! them.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use super::{TenantError, TenantsTx, error::query};

/// The longest reason, in characters.
const LONGEST_REASON: usize = 500;
/// The memory files, as tools name them.
const FILES: [&str; 2] = ["progress_log.jsonl", "decisions.jsonl"];
/// What precedes a discovery's id in a name.
const DISCOVERIES: &str = "discoveries";

/// An item of a project's memory: `progress_log.jsonl/7`, `discoveries/<id>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryItem {
    /// A line of a memory file.
    Entry {
        /// One of the memory files.
        file: &'static str,
        /// Its number in the file, from 1.
        number: i64,
    },
    /// A discovery, by its id.
    Discovery(Uuid),
}

/// Why memory can't be erased.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The text does not name an item of memory.
    #[error(
        "{0:?} is not an item of memory: give progress_log.jsonl/NUMBER, decisions.jsonl/NUMBER or \
         discoveries/ID"
    )]
    Name(String),
    /// There is nothing to erase.
    #[error("{0} was never written in this project, or was erased before")]
    Nothing(MemoryItem),
    /// The reason is recorded, so it must not be empty.
    #[error("a reason has 1 to {LONGEST_REASON} characters")]
    Reason,
}

impl FromStr for MemoryItem {
    type Err = MemoryError;

    fn from_str(text: &str) -> Result<Self, MemoryError> {
        let read = || {
            let (place, which) = text.split_once('/')?;
            if place == DISCOVERIES {
                return Some(MemoryItem::Discovery(which.parse().ok()?));
            }
            let file = FILES.into_iter().find(|file| *file == place)?;
            let number = which.parse().ok().filter(|number| *number > 0)?;
            Some(MemoryItem::Entry { file, number })
        };
        read().ok_or_else(|| MemoryError::Name(text.chars().take(200).collect()))
    }
}

impl fmt::Display for MemoryItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryItem::Entry { file, number } => write!(f, "{file}/{number}"),
            MemoryItem::Discovery(id) => write!(f, "{DISCOVERIES}/{id}"),
        }
    }
}

impl TenantsTx {
    /// Erases an item, and records who erased it and why. Counts and numbers stay.
    ///
    /// # Errors
    /// [`MemoryError::Nothing`] if the item does not exist or was erased before.
    pub async fn erase_memory(
        &mut self,
        tenant: Uuid,
        project: Uuid,
        what: &MemoryItem,
        reason: &str,
    ) -> Result<(), TenantError> {
        let letters = reason.trim().chars().count();
        if !(1..=LONGEST_REASON).contains(&letters) {
            return Err(MemoryError::Reason.into());
        }
        let erased = match what {
            MemoryItem::Entry { file, number } => {
                let erased = sqlx::query_scalar!(
                    r#"select erase_memory_entry($1, $2, $3, $4, $5) as "erased!""#,
                    tenant,
                    project,
                    file,
                    number,
                    reason.trim()
                );
                erased.fetch_one(&mut *self.tx).await
            }
            MemoryItem::Discovery(id) => {
                let erased = sqlx::query_scalar!(
                    r#"select erase_discovery($1, $2, $3, $4) as "erased!""#,
                    tenant,
                    project,
                    id,
                    reason.trim()
                );
                erased.fetch_one(&mut *self.tx).await
            }
        };
        match erased.map_err(query("erase from memory"))? {
            true => Ok(()),
            false => Err(MemoryError::Nothing(what.clone()).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_memory_items_parse_back() {
        let id = "8f14e45f-ceea-467f-a9d2-2b1c3d4e5f60";
        for name in [
            "progress_log.jsonl/7",
            "decisions.jsonl/1",
            &format!("discoveries/{id}"),
        ] {
            let what: MemoryItem = name.parse().unwrap();
            assert_eq!(what.to_string(), *name);
        }
        for bad in [
            "",
            "7",
            "progress_log.jsonl",
            "decisions.jsonl/0",
            "x.jsonl/1",
            "discoveries/x",
        ] {
            assert!(
                matches!(bad.parse::<MemoryItem>(), Err(MemoryError::Name(_))),
                "{bad}"
            );
        }
    }
}
