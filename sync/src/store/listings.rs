//! The rows of connections and of what their listings found.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use sqlx::types::Json;
use tokio::time::Duration;
use uuid::Uuid;

use super::{SyncStore, SyncStoreError, failed};
use crate::hosts::changes::KnownRepository;
use crate::remote::{AllowedProtocols, RemoteUrl};

/// How long a listing may take: its client's deadline is shorter.
const LEASE_SECONDS: i32 = 300;

/// A connection whose listing this process has leased.
#[derive(Clone, Debug)]
pub(crate) struct LeasedListing {
    pub(crate) connection_id: Uuid,
    pub(crate) tenant: String,
    pub(crate) name: String,
    pub(crate) settings: Value,
    pub(crate) mark: Option<Value>,
    /// Of the settings that the mark was made with.
    pub(crate) settings_digest: Option<String>,
    pub(crate) guard: Option<Value>,
    pub(crate) accepts_losses: bool,
    pub(crate) attempts: u32,
    /// Since everything was listed; `None` if it never was.
    pub(crate) since_whole: Option<Duration>,
    lease_number: i64,
}

/// What a connection found before, and what others of its tenant have.
#[derive(Debug, Default)]
pub(crate) struct KnownSources {
    /// By the host's id.
    pub(crate) repositories: BTreeMap<String, KnownRepository>,
    pub(crate) slugs: BTreeMap<String, String>,
    pub(crate) taken_slugs: BTreeSet<String>,
    /// Repositories ([`RemoteUrl::identity`]) of sources that an operator wrote, or that another connection serves. Of
    /// two connections that serve one, the one that was made first keeps it.
    pub(crate) taken_repositories: BTreeSet<String>,
}

/// How a listing ended, as `record_listing` takes it.
#[derive(Debug, Serialize)]
pub(crate) struct ListingOutcome {
    pub(crate) mark: Option<Value>,
    pub(crate) settings_digest: String,
    pub(crate) guard: Value,
    pub(crate) is_whole: bool,
    pub(crate) served: usize,
    pub(crate) left_out: usize,
    /// Why its changes were not made.
    pub(crate) message: Option<String>,
    /// How long the listing vouches for repositories without a new push; 0 if it says nothing about pushes.
    pub(crate) vouch_seconds: u64,
    /// How late the host may list a push.
    pub(crate) lag_seconds: u64,
    /// Whether it believed the operator that what is missing is gone.
    pub(crate) accepted_losses: bool,
}

impl SyncStore {
    /// Leases the listing that is due for longest.
    pub(crate) async fn lease_listing(&self) -> Result<Option<LeasedListing>, SyncStoreError> {
        let row = sqlx::query!(
            r#"select connection_id as "connection_id!", tenant as "tenant!", name as "name!",
                      settings as "settings!", mark, settings_digest, guard,
                      accepts_losses as "accepts_losses!", attempts as "attempts!", seconds_since_whole,
                      lease_number as "lease_number!"
               from lease_listing($1, $2)"#,
            LEASE_SECONDS,
            self.pool_name
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(failed("leasing a listing"))?;
        let seconds = |seconds: i64| Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        Ok(row.map(|row| LeasedListing {
            connection_id: row.connection_id,
            tenant: row.tenant,
            name: row.name,
            settings: row.settings,
            mark: row.mark,
            settings_digest: row.settings_digest,
            guard: row.guard,
            accepts_losses: row.accepts_losses,
            attempts: u32::try_from(row.attempts).unwrap_or(0),
            since_whole: row.seconds_since_whole.map(seconds),
            lease_number: row.lease_number,
        }))
    }

    /// What is known before a listing.
    pub(crate) async fn known_sources(
        &self,
        listing: &LeasedListing,
        allowed: &AllowedProtocols,
    ) -> Result<KnownSources, SyncStoreError> {
        let found = sqlx::query!(
            r#"select host_id as "host_id!", slug as "slug!", host_path, url as "url!",
                      (extract(epoch from pushed_at) * 1000000)::bigint as pushed_at, in_use as "in_use!"
               from found_sources($1)"#,
            listing.connection_id
        )
        .fetch_all(&self.pool)
        .await
        .map_err(failed("reading what a connection found"))?;
        let mut known = KnownSources::default();
        let identity = |url: &str| Some(RemoteUrl::parse(url, allowed).ok()?.identity());
        let mut own = BTreeSet::new();
        for row in found {
            own.extend(identity(&row.url).filter(|_| row.in_use));
            let pushed_at = row
                .pushed_at
                .and_then(|at| Timestamp::from_microsecond(at).ok());
            let repository = KnownRepository {
                path: row.host_path.unwrap_or_default(),
                clone_url: row.url,
                pushed_at,
                in_use: row.in_use,
            };
            known.slugs.insert(row.host_id.clone(), row.slug);
            known.repositories.insert(row.host_id, repository);
        }
        let taken = sqlx::query!(
            r#"select slug as "slug!", url, is_first as "is_first!" from taken_by_tenant($1)"#,
            listing.connection_id
        )
        .fetch_all(&self.pool)
        .await
        .map_err(failed("reading a tenant's slugs"))?;
        for row in taken {
            known.taken_slugs.insert(row.slug);
            let served = row.url.as_deref().and_then(identity);
            let is_taken = |it: &String| row.is_first || !own.contains(it);
            known.taken_repositories.extend(served.filter(is_taken));
        }
        Ok(known)
    }

    /// Adds and changes the projects of repositories that were found; `found` as `record_found` takes it.
    pub(crate) async fn record_found(
        &self,
        listing: &LeasedListing,
        found: &[Value],
    ) -> Result<(), SyncStoreError> {
        let call = sqlx::query!(
            "select record_found($1, $2, $3)",
            listing.connection_id,
            listing.lease_number,
            Json(found) as _
        );
        self.execute(call, "recording what a connection found")
            .await
    }

    /// Puts projects out of use; `lost` as `record_lost` takes it.
    pub(crate) async fn record_lost(
        &self,
        listing: &LeasedListing,
        lost: Value,
    ) -> Result<(), SyncStoreError> {
        let call = sqlx::query!(
            "select record_lost($1, $2, $3)",
            listing.connection_id,
            listing.lease_number,
            lost
        );
        self.execute(call, "recording what a connection lost").await
    }

    /// Ends a listing.
    pub(crate) async fn record_listing(
        &self,
        listing: &LeasedListing,
        outcome: &ListingOutcome,
        next: Duration,
    ) -> Result<(), SyncStoreError> {
        let call = sqlx::query!(
            "select record_listing($1, $2, $3, $4)",
            listing.connection_id,
            listing.lease_number,
            Json(outcome) as _,
            next.as_secs_f64()
        );
        self.execute(call, "recording a listing").await
    }

    /// Ends a listing that failed. Whoever requests the next one, the host is not asked for `wait`.
    pub(crate) async fn record_listing_failure(
        &self,
        listing: &LeasedListing,
        message: &str,
        next: Duration,
        wait: Duration,
    ) -> Result<(), SyncStoreError> {
        let call = sqlx::query!(
            "select record_listing_failure($1, $2, $3, $4, $5)",
            listing.connection_id,
            listing.lease_number,
            message,
            next.as_secs_f64(),
            wait.as_secs_f64()
        );
        self.execute(call, "recording a failed listing").await
    }

    /// Ends the lease of a listing without a result: it stays due.
    pub(crate) async fn release_listing(
        &self,
        listing: &LeasedListing,
    ) -> Result<(), SyncStoreError> {
        let call = sqlx::query!(
            "select release_listing_lease($1, $2)",
            listing.connection_id,
            listing.lease_number
        );
        self.execute(call, "ending the lease of a listing").await
    }
}
