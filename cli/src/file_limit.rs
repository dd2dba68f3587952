//! How many files a gateway may have open, and how many connections of clients fit into that.
//!
//! Each connection is an open file. Systems start processes with a soft limit of 1,024 for the
//! sake of programs that use `select`, and leave it to the others to raise it to the hard one.

use std::io;

use archway_gateway::MOST_CLIENTS;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than a gateway ever needs.
const ENOUGH: u64 = 65_536;
/// Open files that are no client's connection: Postgres, workers, the admin port, the runtime.
const OWN: u64 = 256;

/// Raises the soft limit of open files to the hard one, at most to 65,536; what it is then.
pub(crate) fn raise() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let wanted = raised(&limit);
    let current = limit.current.unwrap_or(u64::MAX);
    if wanted <= current {
        return current;
    }
    let set = Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, set).map_err(io::Error::from) {
        Ok(()) => wanted,
        Err(error) => {
            tracing::warn!(%error, "limit of open files not raised");
            current
        }
    }
}

/// How many connections clients may have under this limit, with a warning if that is fewer than
/// a gateway takes by itself.
pub(crate) fn connections(limit: u64) -> u32 {
    let most = fitting(limit);
    if most < MOST_CLIENTS {
        let needed = u64::from(MOST_CLIENTS) + OWN;
        tracing::warn!(
            connections = most,
            "the limit of {limit} open files leaves room for {most} connections of clients \
             instead of {MOST_CLIENTS}: raise the hard limit (ulimit -Hn, LimitNOFILE) to {needed}"
        );
    }
    most
}

fn raised(limit: &Rlimit) -> u64 {
    let current = limit.current.unwrap_or(u64::MAX);
    limit
        .maximum
        .map_or(ENOUGH, |hard| hard.min(ENOUGH))
        .max(current)
}

fn fitting(limit: u64) -> u32 {
    let room = u32::try_from(limit.saturating_sub(OWN)).unwrap_or(MOST_CLIENTS);
    room.clamp(1, MOST_CLIENTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_have_what_the_gateway_itself_leaves_of_the_limit() {
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
        for (current, maximum, wanted) in [
            (Some(1_024), Some(4_096), 4_096),
            (Some(1_024), Some(1_048_576), ENOUGH),
            (Some(1_024), None, ENOUGH),
            (Some(100_000), Some(1_048_576), 100_000),
            (None, None, u64::MAX),
        ] {
            assert_eq!(raised(&Rlimit { current, maximum }), wanted, "{current:?}");
        }
    }
}
