//! What a pass says of a caller's access, where not everybody of the tenant may use everything.

use serde::{Deserialize, Serialize};

use crate::host_account::HostAccount;

/// The access rules about a caller, by their ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassAccess {
    /// How often the tenant's rules had changed when the gateway read them.
    pub edition: i64,
    /// The ids, ascending.
    pub rules: Vec<i64>,
    /// Slugs of the projects that the caller's credential is for; `None` for all of the tenant's.
    pub projects: Option<Vec<String>>,
}

/// A caller of a tenant with projects whose readers a host decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassHosted {
    /// How often the tenant's rules, and what hosts say, had changed when the gateway read them.
    pub edition: i64,
    /// The ids of the access rules about the caller, ascending; `None` if the tenant has no rules.
    pub rules: Option<Vec<i64>>,
    /// Those of them that name the caller's API key by its label: what they give, no host has to.
    pub by_label: Vec<i64>,
    /// The caller's accounts, at most [`MAX_ACCOUNTS`](crate::host_account::MAX_ACCOUNTS). An API key has none.
    pub accounts: Vec<HostAccount>,
    /// Slugs of the projects that the caller's credential is for; `None` for all of the tenant's.
    pub projects: Option<Vec<String>>,
}
