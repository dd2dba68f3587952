//! Administration of memory: what an agent wrote down is erased, and that it was is kept.
//!
//! The workers own the tables: functions of their migration do it, which only the owner may call.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use super::{TenantError, TenantsTx, error::query};

/// Characters of a reason at most.
const LONGEST_REASON: usize = 500;
/// The memory files, as tools name them.
const FILES: [&str; 2] = ["progress_log.jsonl", "decisions.jsonl"];
/// What stands before a discovery's id.
const DISCOVERIES: &str = "discoveries";

/// Something that was written to a project's memory: `progress_log.jsonl/7`, `discoveries/<id>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// An entry, by its file and its number in it.
    Entry {
        /// Of the memory files, one.
        file: &'static str,
        /// From 1.
        number: i64,
    },
    /// A discovery, by its id.
    Discovery(Uuid),
}

/// Why memory can't be erased.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// Not a name of anything in memory.
    #[error(
        "{0:?} names nothing in memory: give progress_log.jsonl/NUMBER, decisions.jsonl/NUMBER or \
         discoveries/ID"
    )]
    Name(String),
    /// Nothing is there to be erased.
    #[error("{0} was never written in this project, or was erased before")]
    Nothing(Remembered),
    /// The reason is kept: it must say something.
    #[error("a reason has 1 to {LONGEST_REASON} characters")]
    Reason,
}

impl FromStr for Remembered {
    type Err = MemoryError;

    fn from_str(text: &str) -> Result<Self, MemoryError> {
        let read = || {
            let (place, which) = text.split_once('/')?;
            if place == DISCOVERIES {
                return Some(Remembered::Discovery(which.parse().ok()?));
            }
            let file = FILES.into_iter().find(|file| *file == place)?;
            let number = which.parse().ok().filter(|number| *number > 0)?;
            Some(Remembered::Entry { file, number })
        };
        read().ok_or_else(|| MemoryError::Name(text.chars().take(200).collect()))
    }
}

impl fmt::Display for Remembered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remembered::Entry { file, number } => write!(f, "{file}/{number}"),
            Remembered::Discovery(id) => write!(f, "{DISCOVERIES}/{id}"),
        }
    }
}

impl TenantsTx {
    /// Erases what was written, and keeps that it was, by whom and why. Counts and numbers stay.
    ///
    /// # Errors
    /// [`MemoryError::Nothing`] where nothing is left to erase.
    pub async fn erase_memory(
        &mut self,
        tenant: Uuid,
        project: Uuid,
        what: &Remembered,
        reason: &str,
    ) -> Result<(), TenantError> {
        let letters = reason.trim().chars().count();
        if !(1..=LONGEST_REASON).contains(&letters) {
            return Err(MemoryError::Reason.into());
        }
        let erased = match what {
            Remembered::Entry { file, number } => {
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
            Remembered::Discovery(id) => {
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
    fn what_is_in_memory_has_a_name_that_reads_back() {
        let id = "8f14e45f-ceea-467f-a9d2-2b1c3d4e5f60";
        for name in [
            "progress_log.jsonl/7",
            "decisions.jsonl/1",
            &format!("discoveries/{id}"),
        ] {
            let what: Remembered = name.parse().unwrap();
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
                matches!(bad.parse::<Remembered>(), Err(MemoryError::Name(_))),
                "{bad}"
            );
        }
    }
}
