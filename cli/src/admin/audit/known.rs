//! Where chains ended when they were verified before: what `verify --json` printed then.
//!
//! A chain can't tell by itself that its last records were removed. Whoever keeps what an earlier
//! verification printed can.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use archway_gateway::audit::verify::ChainPosition;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The largest file that is read.
const LARGEST: u64 = 256 << 20;

/// Why what was printed before can't be used.
#[derive(Debug, thiserror::Error)]
pub enum KnownError {
    /// It can't be read.
    #[error("--known {}: it can't be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is something else.
    #[error("--known {}: this is not what `archway audit verify --json` prints", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

/// The end of a chain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct End {
    pub(super) number: i64,
    /// In hexadecimal digits.
    pub(super) mac: String,
}

/// Where each chain ended, by tenant.
pub(super) type Known = BTreeMap<String, BTreeMap<Uuid, ChainPosition>>;

#[derive(Deserialize)]
struct Printed {
    tenants: Vec<PrintedTenant>,
}

#[derive(Deserialize)]
struct PrintedTenant {
    tenant: String,
    chains: Vec<PrintedChain>,
}

#[derive(Deserialize)]
struct PrintedChain {
    chain: Uuid,
    last: Option<End>,
}

/// Reads what was printed before.
pub(super) fn read(path: &Path) -> Result<Known, KnownError> {
    let failed = |source| KnownError::Read {
        path: path.to_owned(),
        source,
    };
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut text = String::new();
    file.take(LARGEST)
        .read_to_string(&mut text)
        .map_err(failed)?;
    let malformed = |source| KnownError::Malformed {
        path: path.to_owned(),
        source,
    };
    let printed: Printed = serde_json::from_str(&text).map_err(malformed)?;
    let chains = |chains: Vec<PrintedChain>| {
        let ends = chains.into_iter();
        let ends = ends.filter_map(|chain| Some((chain.chain, place(&chain.last?)?)));
        ends.collect()
    };
    let tenants = printed.tenants.into_iter();
    Ok(tenants
        .map(|one| (one.tenant, chains(one.chains)))
        .collect())
}

/// The place of an end; `None` where its MAC is none.
fn place(end: &End) -> Option<ChainPosition> {
    let mut mac = [0; 32];
    if end.mac.len() != 2 * mac.len() {
        return None;
    }
    for (at, byte) in mac.iter_mut().enumerate() {
        *byte = u8::from_str_radix(end.mac.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(ChainPosition {
        number: end.number,
        mac,
    })
}
