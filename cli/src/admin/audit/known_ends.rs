//! The ends of chains that an earlier `archway audit verify --json` printed.
//!
//! A chain alone cannot reveal that its last records were removed. Comparing it with an earlier
//! verification can.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use archway_gateway::audit::verify::ChainPosition;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 256 << 20;

/// Why an earlier report cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KnownEndsError {
    /// The file cannot be read.
    #[error("--known {}: it can't be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The file holds something else.
    #[error("--known {}: this is not what `archway audit verify --json` prints", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The parse error.
        #[source]
        source: serde_json::Error,
    },
}

/// The last record of a chain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ChainEnd {
    pub(super) number: i64,
    /// Hexadecimal.
    pub(super) mac: String,
}

/// The ends of the chains at an earlier verification.
#[derive(Default)]
pub(super) struct KnownEnds {
    /// The end of each chain, by tenant.
    pub(super) tenants: BTreeMap<String, BTreeMap<Uuid, ChainPosition>>,
    /// The end of the records of administration.
    pub(super) administration: Option<ChainPosition>,
}

#[derive(Deserialize)]
struct EarlierReport {
    tenants: Vec<EarlierTenant>,
    /// Absent from reports of earlier versions and of one tenant.
    administration: Option<EarlierAdministration>,
}

#[derive(Deserialize)]
struct EarlierAdministration {
    last: Option<ChainEnd>,
}

#[derive(Deserialize)]
struct EarlierTenant {
    tenant: String,
    chains: Vec<EarlierChain>,
}

#[derive(Deserialize)]
struct EarlierChain {
    chain: Uuid,
    last: Option<ChainEnd>,
}

/// Reads an earlier report.
pub(super) fn read(path: &Path) -> Result<KnownEnds, KnownEndsError> {
    let failed = |source| KnownEndsError::Read {
        path: path.to_owned(),
        source,
    };
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut text = String::new();
    file.take(LARGEST)
        .read_to_string(&mut text)
        .map_err(failed)?;
    let malformed = |source| KnownEndsError::Malformed {
        path: path.to_owned(),
        source,
    };
    let printed: EarlierReport = serde_json::from_str(&text).map_err(malformed)?;
    let chains = |chains: Vec<EarlierChain>| {
        let ends = chains.into_iter();
        let ends = ends.filter_map(|chain| Some((chain.chain, place(&chain.last?)?)));
        ends.collect()
    };
    let tenants = printed.tenants.into_iter();
    let administration = printed.administration.and_then(|it| it.last);
    Ok(KnownEnds {
        tenants: tenants
            .map(|one| (one.tenant, chains(one.chains)))
            .collect(),
        administration: administration.as_ref().and_then(place),
    })
}

/// Parses an end; `None` if its MAC is malformed.
fn place(end: &ChainEnd) -> Option<ChainPosition> {
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
