//! `archway audit verify`: checks that gateways wrote the records, and that none is missing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use archway_gateway::audit::chain::hex;
use archway_gateway::audit::verify::{ChainPosition, Finding, Verified, Verifier};
use archway_gateway::secrets::RootSecret;
use serde::Serialize;
use uuid::Uuid;

use super::known_ends::{self, ChainEnd, KnownEnds};
use crate::admin::AdminError;
use crate::admin::connect::{Installation, SecretFile};
use crate::admin::print::{Answer, print, table};
use crate::tenants::{AuditChain, TenantsTx, VerifiedAdministration};

/// Verify that no audit record was changed or removed. Exits with 1 if one was.
///
/// Without a tenant also the records of administration. Needs the root secret. Removal of a chain's last records can only be detected by comparison with
/// an earlier report: give it as --known.
#[derive(Debug, clap::Args)]
pub(super) struct VerifyArgs {
    /// The tenant's slug [default: all tenants].
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// A file with what an earlier `verify --json` printed: none of its records may be missing now.
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
    #[command(flatten)]
    secret: SecretFile,
}

/// The result of a verification.
#[derive(Serialize)]
struct Verification {
    intact: bool,
    tenants: Vec<TenantRow>,
    /// The records of administration. Absent if one tenant was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    administration: Option<AdministrationRow>,
}

#[derive(Serialize)]
struct AdministrationRow {
    records: u64,
    last: Option<ChainEnd>,
    /// What is wrong with them.
    findings: Vec<String>,
}

#[derive(Serialize)]
struct TenantRow {
    tenant: String,
    chains: Vec<ChainRow>,
}

#[derive(Serialize)]
struct ChainRow {
    chain: Uuid,
    records: u64,
    /// Calls that its records report as missing.
    missing: u64,
    ended: bool,
    last: Option<ChainEnd>,
    /// What is wrong with it.
    findings: Vec<String>,
}

/// Runs the command.
pub(super) async fn run(installation: &Installation, which: &VerifyArgs) -> Result<(), AdminError> {
    let secret = installation.secret(&which.secret)?;
    let known = which.known.as_deref().map(known_ends::read).transpose()?;
    let known = known.unwrap_or_default();
    let answered = installation.read(async |tx, _| {
        let mut tenants = Vec::new();
        for (slug, id) in selected(tx, which).await? {
            let of_tenant = known.tenants.get(&slug).cloned().unwrap_or_default();
            let chains = verify(tx, id, &secret, of_tenant).await?;
            tenants.push(TenantRow {
                tenant: slug,
                chains: chains.into_iter().map(ChainRow::from).collect(),
            });
        }
        let administration = match which.tenant {
            Some(_) => None,
            None => Some(
                tx.verify_administration(&secret, known.administration)
                    .await?,
            ),
        };
        let mut answer = answer(tenants, &known, which.tenant.as_deref());
        answer.administration = administration.map(AdministrationRow::from);
        let administration = answer.administration.as_ref();
        answer.intact &= administration.is_none_or(|row| row.findings.is_empty());
        Ok(answer)
    });
    let answered = answered.await?;
    print(&answered, installation.json)?;
    match answered.intact {
        true => Ok(()),
        false => Err(AdminError::Tampered),
    }
}

fn answer(mut tenants: Vec<TenantRow>, known: &KnownEnds, only: Option<&str>) -> Verification {
    let gone = known.tenants.iter().filter(|(slug, chains)| {
        let is_asked = only.is_none_or(|only| only == *slug);
        is_asked && !chains.is_empty() && tenants.iter().all(|one| one.tenant != **slug)
    });
    let gone = gone.map(|(slug, chains)| TenantRow {
        tenant: slug.clone(),
        chains: chains
            .iter()
            .map(|(chain, end)| ChainRow::from(absent(*chain, *end)))
            .collect(),
    });
    let gone: Vec<TenantRow> = gone.collect();
    tenants.extend(gone);
    let mut chains = tenants.iter().flat_map(|tenant| &tenant.chains);
    Verification {
        intact: chains.all(|chain| chain.findings.is_empty()),
        tenants,
        administration: None,
    }
}

/// The selected tenants, by slug.
async fn selected(
    tx: &mut TenantsTx,
    which: &VerifyArgs,
) -> Result<Vec<(String, Uuid)>, AdminError> {
    if let Some(slug) = &which.tenant {
        let id = tx.find_tenant(slug).await?;
        return Ok(vec![(slug.clone(), id)]);
    }
    let tenants = tx.tenants().await?;
    Ok(tenants.into_iter().map(|one| (one.slug, one.id)).collect())
}

/// Verifies a tenant's chains, and reports known chains that are gone.
async fn verify(
    tx: &mut TenantsTx,
    tenant: Uuid,
    secret: &RootSecret,
    mut known: BTreeMap<Uuid, ChainPosition>,
) -> Result<Vec<Verified>, AdminError> {
    let mut verified = Vec::new();
    for AuditChain { id, anchor } in tx.audit_chains(tenant, secret).await? {
        let mut verifier = Verifier::new(tenant, id, secret, anchor, known.remove(&id));
        // Reads from the first record, whatever the anchor says: a record before the anchor is a finding.
        let mut last = None;
        loop {
            let page = tx.audit_rows(tenant, id, last.as_ref()).await?;
            page.iter().for_each(|row| verifier.check(row));
            last = page.into_iter().last();
            if last.is_none() {
                break;
            }
        }
        verified.push(verifier.end());
    }
    let absent = known.into_iter().map(|(chain, end)| absent(chain, end));
    verified.extend(absent);
    Ok(verified)
}

/// The finding for a chain without any records left.
fn absent(chain: Uuid, end: ChainPosition) -> Verified {
    Verified {
        chain,
        last: None,
        records: 0,
        missing: 0,
        has_ended: false,
        findings: vec![Finding::Removed(1, end.number)],
    }
}

impl From<Verified> for ChainRow {
    fn from(verified: Verified) -> Self {
        let findings = verified.findings.into_iter();
        let findings = findings.map(|finding| shown(finding, "a gateway wrote"));
        ChainRow {
            chain: verified.chain,
            records: verified.records,
            missing: verified.missing,
            ended: verified.has_ended,
            last: verified.last.map(|last| ChainEnd {
                number: last.number,
                mac: hex(&last.mac),
            }),
            findings: findings.collect(),
        }
    }
}

impl From<VerifiedAdministration> for AdministrationRow {
    fn from(verified: VerifiedAdministration) -> Self {
        let findings = verified.findings.into_iter();
        AdministrationRow {
            records: verified.records,
            last: verified.last.map(|last| ChainEnd {
                number: last.number,
                mac: hex(&last.mac),
            }),
            findings: findings
                .map(|finding| shown(finding, "was recorded"))
                .collect(),
        }
    }
}

/// A finding in words; `written` ends `is not what`.
fn shown(finding: Finding, written: &str) -> String {
    match finding {
        Finding::Changed(number) => format!("record {number} is not what {written}"),
        Finding::Removed(first, last) if first == last => format!("record {first} is gone"),
        Finding::Removed(first, last) => format!("records {first} to {last} are gone"),
    }
}

/// `intact`, or what is wrong.
fn state(findings: &[String]) -> String {
    match findings {
        [] => "intact".to_owned(),
        findings => findings.join("; "),
    }
}

impl Answer for Verification {
    fn text(&self) -> String {
        let rows = self.tenants.iter().flat_map(|tenant| {
            tenant.chains.iter().map(|chain| {
                [
                    tenant.tenant.clone(),
                    chain.chain.to_string(),
                    chain.records.to_string(),
                    chain.missing.to_string(),
                    (if chain.ended { "yes" } else { "no" }).to_owned(),
                    state(&chain.findings),
                ]
            })
        });
        let header = [
            "tenant",
            "chain",
            "records",
            "missing calls",
            "ended",
            "state",
        ];
        let calls = table(header, rows.collect(), "no audit records");
        match &self.administration {
            Some(own) => format!(
                "{calls}\n\nadministration: {} records, {}",
                own.records,
                state(&own.findings)
            ),
            None => calls,
        }
    }
}
