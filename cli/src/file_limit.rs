//! The limit on a gateway's open files, and how many client connections fit into it.
//!
//! Each connection is an open file. Systems start processes with a soft limit of 1,024 for programs
//! that use `select`, and expect others to raise it to the hard limit.

use std::io;

use archway_gateway::MOST_CLIENTS;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than a gateway ever needs.
const MAX_FILES: u64 = 65_536;
/// Open files that are not client connections: Postgres, workers, the admin port, the runtime.
const OWN_FILES: u64 = 256;

/// Raises the soft limit of open files to the hard limit, at most to 65,536. Returns the new limit.
pub(crate) fn raise() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let target = target_limit(&limit);
    let current = limit.current.unwrap_or(u64::MAX);
    if target <= current {
        return current;
    }
    let set = Rlimit {
        current: Some(target),
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, set).map_err(io::Error::from) {
        Ok(()) => target,
        Err(error) => {
            tracing::warn!(%error, "could not raise the limit of open files");
            current
        }
    }
}

/// How many client connections fit into this limit. Warns if that is fewer than a gateway's own
/// maximum.
pub(crate) fn connections(limit: u64) -> u32 {
    let most = fitting(limit);
    if most < MOST_CLIENTS {
        let needed = u64::from(MOST_CLIENTS) + OWN_FILES;
        tracing::warn!(
            connections = most,
            "the limit of {limit} open files allows {most} client connections instead of \
             {MOST_CLIENTS}: raise the hard limit (ulimit -Hn, LimitNOFILE) to {needed}"
        );
    }
    most
}

fn target_limit(limit: &Rlimit) -> u64 {
    let current = limit.current.unwrap_or(u64::MAX);
    limit
        .maximum
        .map_or(MAX_FILES, |hard| hard.min(MAX_FILES))
        .max(current)
}

fn fitting(limit: u64) -> u32 {
    let room = u32::try_from(limit.saturating_sub(OWN_FILES)).unwrap_or(MOST_CLIENTS);
    room.clamp(1, MOST_CLIENTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_get_the_files_that_the_gateway_does_not_need() {
        for (limit, most) in [
            (0, 1),
            (256, 1),
            (300, 44),
            (1_024, 768),
            (10_255, 9_999),
            (10_256, 10_000),
            (u64::MAX, 10_000),
        ] {
            assert_eq!(fitting(limit), most, "{limit}");
        }
    }

    #[test]
    fn the_soft_limit_is_raised_towards_the_hard_one_and_never_lowered() {
        for (current, maximum, target) in [
            (Some(1_024), Some(4_096), 4_096),
            (Some(1_024), Some(1_048_576), MAX_FILES),
            (Some(1_024), None, MAX_FILES),
            (Some(100_000), Some(1_048_576), 100_000),
            (None, None, u64::MAX),
        ] {
            assert_eq!(
                target_limit(&Rlimit { current, maximum }),
                target,
                "{current:?}"
            );
        }
    }
}
