//! One round: asks a host about what is due, and records its answers.

use std::collections::BTreeMap;

use archway_proto::chain::Chain;
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use super::Permissions;
use crate::host_work::HostWorkError;
use crate::hosts::{
    AskedRepository, Budget, ConnectionSettings, HostClient, HostReader, ListingError,
    ReaderSession, ReadersAnswer,
};
use crate::store::{DueReaders, LeasedPermissions, ReadersRow, RoundEnd, SyncStoreError};

/// Until an answer is asked for again, at most; and at most a third of the time for which it counts.
const LONGEST_ROUND: Duration = Duration::from_secs(4 * 60 * 60);
/// The share by which chance shortens that at most.
const JITTER: f64 = 0.2;
/// Between two looks for what is due.
const NEXT_LOOK: Duration = Duration::from_secs(60);
/// Until a repository is asked for again of which the host said nothing.
const NO_ANSWER_PAUSE: Duration = Duration::from_secs(10 * 60);
/// The first pause after a failure, doubled by each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);
/// Repositories that one statement names.
const BATCH: i32 = 50;
/// After so many repositories, or so long, answers are recorded.
const RECORD_AT: usize = 10;
const RECORD_AFTER: Duration = Duration::from_secs(10);
/// Refusals in a row after which the credential is at fault, and not a repository.
const MOST_REFUSALS: usize = 5;

/// What was answered and is not recorded yet.
struct Answers {
    rows: Vec<ReadersRow>,
    accounts: BTreeMap<i64, HostReader>,
    since: Instant,
    /// Why a repository had no answer.
    message: Option<String>,
    /// Refusals in a row.
    refusals: usize,
}

/// Asks about a leased connection and records how that ended. Once `stop` is cancelled, another process may ask.
pub(super) async fn run(
    permissions: &Permissions,
    leased: &LeasedPermissions,
    stop: &CancellationToken,
) {
    let (tenant, connection) = (&leased.tenant, &leased.name);
    let asked = tokio::select! {
        () = stop.cancelled() => None,
        asked = ask(permissions, leased) => Some(asked),
    };
    let why = match &asked {
        Some(Err(error)) => Some(Chain(error).to_string()),
        Some(Ok(message)) => message.clone(),
        None => None,
    };
    let (next, wait) = match &asked {
        Some(Ok(_)) => (NEXT_LOOK, Duration::ZERO),
        Some(Err(error)) => error.pauses(leased.attempts, (FIRST_PAUSE, LONGEST_PAUSE)),
        None => (Duration::ZERO, Duration::ZERO),
    };
    let has_failed = matches!(asked, Some(Err(_)));
    if has_failed {
        tracing::info!(
            tenant,
            connection,
            error = why,
            "a host did not say who may read"
        );
    }
    let end = RoundEnd {
        has_failed,
        message: why.as_deref(),
        next,
        wait,
    };
    if let Err(error) = permissions.store.end_permissions(leased, &end).await {
        tracing::warn!(tenant, connection, error = %Chain(&error), "the end of a round was not recorded");
    }
}

/// Asks about all that is due. Returns why a repository had no answer, if one had none.
async fn ask(
    permissions: &Permissions,
    leased: &LeasedPermissions,
) -> Result<Option<String>, HostWorkError> {
    let (settings, connection) =
        ConnectionSettings::stored(&leased.settings, &permissions.allowed)?;
    let client = HostClient::new(connection)?;
    let budget = Budget::default();
    let mut message = None;
    loop {
        // Answers are as of this moment: what is asked for several of them is asked after it.
        let due = permissions.store.due_readers(leased, BATCH).await?;
        if due.is_empty() {
            return Ok(message);
        }
        let token = permissions
            .tokens
            .of(&leased.tenant, (&settings, &leased.settings));
        let token = token.await?;
        let mut session = ReaderSession::new(&client, &budget, token.as_ref());
        let mut answers = Answers::new();
        let asked = answers.ask(permissions, leased, &mut session, &due).await;
        let is_ours = answers.record(permissions, leased).await?;
        message = answers.message.or(message);
        if !asked? || !is_ours {
            return Ok(message);
        }
    }
}

impl Answers {
    fn new() -> Answers {
        Answers {
            rows: Vec::new(),
            accounts: BTreeMap::new(),
            since: Instant::now(),
            message: None,
            refusals: 0,
        }
    }

    /// Asks about these, and records now and then. Returns whether the lease is still this process's.
    async fn ask(
        &mut self,
        permissions: &Permissions,
        leased: &LeasedPermissions,
        session: &mut ReaderSession<'_>,
        due: &[DueReaders],
    ) -> Result<bool, HostWorkError> {
        for due in due {
            let asked = AskedRepository {
                host_id: &due.host_id,
                path: &due.path,
                etags: &due.etags,
                is_requested: due.is_requested,
            };
            let answer = session.readers(asked).await;
            self.add(due, answer, leased.grace)?;
            let is_full = self.rows.len() >= RECORD_AT || self.since.elapsed() >= RECORD_AFTER;
            if is_full && !self.record(permissions, leased).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds an answer. A failure that is about more than this repository ends the round.
    fn add(
        &mut self,
        due: &DueReaders,
        answer: Result<ReadersAnswer, ListingError>,
        grace: Duration,
    ) -> Result<(), ListingError> {
        let random = f64::from(uuid::Uuid::new_v4().as_fields().0) / f64::from(u32::MAX);
        let mut row = ReadersRow {
            project_id: due.project_id,
            asked_at: due.asked_at,
            is_answer: true,
            readers: None,
            etags: None,
            next_seconds: until_next(grace, random).as_secs_f64(),
        };
        match answer {
            Ok(ReadersAnswer::Unchanged) => self.refusals = 0,
            Ok(ReadersAnswer::Listed { readers, etags }) => {
                self.refusals = 0;
                row.readers = Some(readers.iter().map(|it| it.account).collect());
                row.etags = Some(etags);
                self.accounts
                    .extend(readers.into_iter().map(|it| (it.account, it)));
            }
            Err(error) if is_about_one(&error) => {
                self.refusals += usize::from(matches!(error, ListingError::Refused { .. }));
                if self.refusals >= MOST_REFUSALS {
                    return Err(error);
                }
                row.is_answer = false;
                row.next_seconds = NO_ANSWER_PAUSE.as_secs_f64();
                self.message = Some(format!("{}: {error}", due.path));
            }
            Err(error) => return Err(error),
        }
        self.rows.push(row);
        Ok(())
    }

    /// Records what there is. Returns whether the lease is still this process's.
    async fn record(
        &mut self,
        permissions: &Permissions,
        leased: &LeasedPermissions,
    ) -> Result<bool, SyncStoreError> {
        let rows = std::mem::take(&mut self.rows);
        let accounts = distinct(std::mem::take(&mut self.accounts));
        self.since = Instant::now();
        if rows.is_empty() {
            return Ok(true);
        }
        permissions
            .store
            .record_readers(leased, &rows, &accounts)
            .await
    }
}

/// The time until a repository is asked for again. `random` is in `0.0..1.0`: chance only shortens it.
fn until_next(grace: Duration, random: f64) -> Duration {
    let longest = LONGEST_ROUND.min(grace / 3);
    longest.mul_f64(1.0 - JITTER * random.clamp(0.0, 1.0))
}

/// Whether a failure says nothing of other repositories.
fn is_about_one(error: &ListingError) -> bool {
    match error {
        ListingError::Refused { .. }
        | ListingError::NotFound { .. }
        | ListingError::TooMany { .. }
        | ListingError::Invalid { .. } => true,
        ListingError::RateLimited { .. }
        | ListingError::Unreachable { .. }
        | ListingError::TimedOut { .. } => false,
    }
}

/// The accounts, of which no two have one name: a host that says so is not believed about the name.
fn distinct(accounts: BTreeMap<i64, HostReader>) -> Vec<HostReader> {
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for name in accounts.values().flat_map(names).flatten() {
        *named.entry(name.clone()).or_default() += 1;
    }
    let is_single = |name: &String| named.get(name) == Some(&1);
    let accounts = accounts.into_values().map(|account| HostReader {
        login: account.login.filter(is_single),
        email: account.email.filter(is_single),
        account: account.account,
    });
    accounts.collect()
}

fn names(account: &HostReader) -> [Option<&String>; 2] {
    [account.login.as_ref(), account.email.as_ref()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_renewed_within_four_hours_and_thrice_within_their_grace() {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        for (grace, longest) in [(12, 4), (100, 4), (3, 1)] {
            assert_eq!(until_next(hours(grace), 0.0), hours(longest));
            assert!(until_next(hours(grace), 1.0) >= hours(longest).mul_f64(0.8));
        }
    }

    #[test]
    fn a_failure_of_the_host_ends_the_round_and_one_of_a_repository_does_not() {
        let due = DueReaders {
            project_id: uuid::Uuid::new_v4(),
            host_id: "41".to_owned(),
            path: "acme/site".to_owned(),
            etags: Vec::new(),
            is_requested: false,
            asked_at: 0,
        };
        let grace = Duration::from_secs(12 * 3600);
        for of_the_host in [
            ListingError::TimedOut { limit: grace },
            ListingError::Unreachable {
                why: "503".to_owned(),
            },
            ListingError::RateLimited {
                retry_at: jiff::Timestamp::now(),
            },
        ] {
            let mut answers = Answers::new();
            assert!(answers.add(&due, Err(of_the_host), grace).is_err());
            assert!(answers.rows.is_empty());
        }
        let mut answers = Answers::new();
        let what = "a page is no list".to_owned();
        let invalid = Err(ListingError::Invalid { what });
        answers.add(&due, invalid, grace).unwrap();
        // Its last answer stays valid.
        let row = &answers.rows[0];
        assert_eq!((row.is_answer, &row.readers), (false, &None));
        let message = "acme/site: the host's answer is not valid: a page is no list";
        assert_eq!(answers.message.as_deref(), Some(message));
        // A credential that is refused for one after the other is refused for all.
        let mut is_taken = || {
            let said = "403".to_owned();
            let refused = Err(ListingError::Refused { said });
            answers.add(&due, refused, grace).is_ok()
        };
        let taken: Vec<bool> = (0..MOST_REFUSALS).map(|_| is_taken()).collect();
        assert_eq!(taken, [true, true, true, true, false]);
    }

    #[test]
    fn two_accounts_of_one_name_have_none() {
        let account = |account: i64, login: &str| {
            let login = Some(login.to_owned());
            (
                account,
                HostReader {
                    account,
                    login,
                    email: None,
                },
            )
        };
        let accounts = distinct(BTreeMap::from([
            account(1, "ada"),
            account(2, "ada"),
            account(3, "eve"),
        ]));
        let logins: Vec<Option<&str>> = accounts.iter().map(|it| it.login.as_deref()).collect();
        assert_eq!(logins, [None, None, Some("eve")]);
    }
}
