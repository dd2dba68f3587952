//! One listing: asks the host, compares with what is known, and records the difference.

mod rows;

use std::collections::HashSet;

use archway_proto::chain::Chain;
use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Duration;
use tokio_util::sync::CancellationToken;

use super::Lister;
use crate::host_work::HostWorkError;
use crate::hosts::changes::{RemovalGuard, Verdict, compare};
use crate::hosts::{
    ConnectionSettings, CredentialSetting, FoundRepositories, HostClient, HostKind, Listing,
    ListingError, ListingMark,
};
use crate::store::{KnownSources, LeasedListing, ListingOutcome};

/// Between two listings of a host that says what was pushed last.
const SORTED_INTERVAL: Duration = Duration::from_secs(30);
/// Between two listings of a host that has to be read whole.
const WHOLE_INTERVAL: Duration = Duration::from_secs(2 * 60);
/// Between two looks at a list of URLs, which only its operator changes.
const LIST_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// After this time everything is listed, so that renamed and deleted repositories are found.
const LONGEST_WITHOUT_WHOLE: Duration = Duration::from_secs(10 * 60);
/// The first pause after a failure, doubled by each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);
/// Repositories that one statement records.
const ROWS_AT_ONCE: usize = 1_000;
/// Settings that say how a host is asked and who sees what, and not what of it is served.
const ACCESS_SETTINGS: [&str; 6] = [
    "credential",
    "ca_file",
    "https_proxy",
    "max",
    "permissions",
    "permissions_grace",
];

/// Lists a leased connection and records how that ended. Once `stop` is cancelled, another process may list it.
pub(super) async fn run(lister: &Lister, leased: &LeasedListing, stop: &CancellationToken) {
    let (tenant, connection) = (&leased.tenant, &leased.name);
    let listed = tokio::select! {
        () = stop.cancelled() => None,
        listed = list(lister, leased) => Some(listed),
    };
    let recorded = match &listed {
        Some(Ok(())) => return,
        Some(Err(error)) => {
            let why = Chain(error).to_string();
            tracing::info!(
                tenant,
                connection,
                error = why,
                "a connection could not be listed"
            );
            let (next, wait) = error.pauses(leased.attempts, (FIRST_PAUSE, LONGEST_PAUSE));
            let store = &lister.store;
            store.record_listing_failure(leased, &why, next, wait).await
        }
        None => lister.store.release_listing(leased).await,
    };
    if let Err(error) = recorded {
        tracing::warn!(tenant, connection, error = %Chain(&error), "the end of a listing was not recorded");
    }
}

async fn list(lister: &Lister, leased: &LeasedListing) -> Result<(), HostWorkError> {
    let (settings, connection) = ConnectionSettings::stored(&leased.settings, &lister.allowed)?;
    let client = HostClient::new(connection)?;
    let settings_digest = selection_digest(&leased.settings);
    let is_edited = leased.settings_digest.as_ref() != Some(&settings_digest);
    let mark = last_mark(leased).filter(|_| !is_edited);
    let of = (leased, &settings);
    let listing = found(lister, of, &client, mark.as_ref()).await?;
    let mut guard: RemovalGuard = from_json(leased.guard.as_ref()).unwrap_or_default();
    let listing = match guard.is_holding() {
        true => listing,
        false => confirmed(lister, of, &client, listing).await?,
    };
    // An edit of what is to be served says what its operator wants. The first listing is none.
    let accepts = leased.accepts_losses || (leased.settings_digest.is_some() && is_edited);
    let message = match &listing {
        Listing::Unchanged => None,
        Listing::Changed(_) | Listing::Whole(_) => {
            let below = client.connection().below();
            let listed = (leased, &settings, below);
            apply(lister, listed, &listing, &mut guard, accepts).await?
        }
    };
    let (found, is_whole) = match &listing {
        Listing::Unchanged => (None, false),
        Listing::Changed(found) => (Some(found), false),
        Listing::Whole(found) => (Some(found), true),
    };
    let new_mark = found.map_or(mark.as_ref(), |found| found.mark.as_ref());
    // What was held back has to be listed again as a whole.
    let new_mark = new_mark.filter(|_| message.is_none());
    let (interval, vouches, lag) = pace(client.connection().kind());
    let outcome = ListingOutcome {
        mark: new_mark.and_then(|mark| serde_json::to_value(mark).ok()),
        settings_digest,
        guard: serde_json::to_value(&guard).unwrap_or_default(),
        // What was held back is not served.
        is_whole: is_whole && message.is_none(),
        served: found.map_or(0, |found| found.repositories.len()),
        left_out: found.map_or(0, |found| found.excluded.len() + found.unreadable),
        vouch_seconds: vouches.as_secs() * u64::from(message.is_none()),
        lag_seconds: lag.as_secs(),
        accepted_losses: leased.accepts_losses,
        message,
    };
    Ok(lister
        .store
        .record_listing(leased, &outcome, interval)
        .await?)
}

/// The digest of the settings that say what is served. Another credential may see less by mistake: what it does not
/// list is no operator's wish.
fn selection_digest(settings: &Value) -> String {
    let mut settings = settings.clone();
    if let Some(settings) = settings.as_object_mut() {
        settings.retain(|name, _| !ACCESS_SETTINGS.contains(&name.as_str()));
    }
    STANDARD_NO_PAD.encode(digest(&SHA256, settings.to_string().as_bytes()))
}

/// Asks the host.
async fn found(
    lister: &Lister,
    (leased, settings): (&LeasedListing, &ConnectionSettings),
    client: &HostClient,
    mark: Option<&ListingMark>,
) -> Result<Listing, HostWorkError> {
    let of = (settings, &leased.settings);
    let token = lister.tokens.of(&leased.tenant, of).await?;
    match (
        client.list(token.as_ref(), mark).await,
        &settings.credential,
    ) {
        // A host may revoke an App's token before its end.
        (Err(ListingError::Refused { .. }), Some(CredentialSetting::App(_))) => {
            let apps = &lister.tokens.apps;
            apps.forget(&leased.tenant, &leased.settings);
            let token = lister.tokens.of(&leased.tenant, of).await?;
            Ok(client.list(token.as_ref(), mark).await?)
        }
        (listing, _) => Ok(listing?),
    }
}

/// A listing that lacks only what a second one lacks, too. While pages are read, what is pushed to moves to one that
/// was read before, and what is deleted moves others. Without the second, the first says nothing of what is missing.
async fn confirmed(
    lister: &Lister,
    of: (&LeasedListing, &ConnectionSettings),
    client: &HostClient,
    listing: Listing,
) -> Result<Listing, HostWorkError> {
    let first = match listing {
        Listing::Whole(first) if first.pages > 1 => first,
        listing => return Ok(listing),
    };
    let known = lister.store.known_sources(of.0, &lister.allowed).await?;
    if !lacks_any(&first, &known) {
        return Ok(Listing::Whole(first));
    }
    match found(lister, of, client, None).await {
        Ok(Listing::Whole(second)) => {
            let joined = second.joined(first, client.connection())?;
            Ok(Listing::Whole(joined))
        }
        Ok(Listing::Changed(_) | Listing::Unchanged) => Ok(Listing::Changed(first)),
        Err(error) => {
            tracing::debug!(error = %Chain(&error), "a second listing failed");
            Ok(Listing::Changed(first))
        }
    }
}

/// Whether a repository in use was not listed.
fn lacks_any(found: &FoundRepositories, known: &KnownSources) -> bool {
    let ids: HashSet<&str> = found.ids().collect();
    let mut known = known.repositories.iter();
    known.any(|(id, it)| it.in_use && !ids.contains(id.as_str()))
}

/// The mark of the last listing, unless everything is to be listed.
fn last_mark(leased: &LeasedListing) -> Option<ListingMark> {
    let whole = leased.since_whole?;
    match whole < LONGEST_WITHOUT_WHOLE && !leased.accepts_losses {
        true => from_json(leased.mark.as_ref()),
        false => None,
    }
}

fn from_json<T: DeserializeOwned>(value: Option<&Value>) -> Option<T> {
    serde_json::from_value(value?.clone()).ok()
}

/// When the next listing is due, how long this one vouches for repositories that were not pushed to, and how late
/// the host lists a push.
fn pace(kind: Option<HostKind>) -> (Duration, Duration, Duration) {
    match kind {
        Some(kind) if kind.is_sorted() => (SORTED_INTERVAL, SORTED_INTERVAL * 4, kind.lag()),
        Some(kind) => (WHOLE_INTERVAL, WHOLE_INTERVAL * 4, kind.lag()),
        None => (LIST_INTERVAL, Duration::ZERO, Duration::ZERO),
    }
}

/// Makes the changes of a listing, unless they are held back. Returns why they are.
async fn apply(
    Lister { store, allowed, .. }: &Lister,
    (leased, settings, below): (&LeasedListing, &ConnectionSettings, &str),
    listing: &Listing,
    guard: &mut RemovalGuard,
    accepts: bool,
) -> Result<Option<String>, HostWorkError> {
    let known = store.known_sources(leased, allowed).await?;
    let changes = compare(&known.repositories, listing);
    let in_use = known.repositories.values().filter(|it| it.in_use).count();
    let verdict = guard.judge(in_use, &changes, Timestamp::now(), accepts);
    if let Verdict::Hold {
        lost,
        of,
        times,
        believed_at,
    } = verdict
    {
        return Ok(Some(format!(
            "the host no longer lists {lost} of {of} repositories (seen {times} times): nothing changes before \
             {believed_at:.0}; `archway sync run TENANT --accept-removals` believes it at once"
        )));
    }
    let found = rows::found(&changes, &known, settings, below);
    for rows in found.chunks(ROWS_AT_ONCE) {
        store.record_found(leased, rows).await?;
    }
    let lost = rows::lost(&changes, &known);
    if !lost.is_empty() {
        store.record_lost(leased, lost.into()).await?;
    }
    Ok(None)
}
