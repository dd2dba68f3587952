//! Host names that stand for several machines, resolved periodically.
//!
//! Upstream discovery finds workers by such names, and limits count gateways by them. While a name
//! cannot be resolved, its last addresses stay valid. A name that becomes unknown is treated as a
//! resolver fault, too: otherwise a restart of the cluster's DNS would empty every pool.
//!
//! A name with addresses of both families lists each machine twice. So only one family is used: the
//! one with more addresses, or on a tie the one used last. The resolver queries each family
//! separately, so an answer without the family in use may be incomplete. It is accepted only after
//! a minute of such answers.
//!
//! A lookup that timed out continues: the system resolver occupies a thread until it ends. So a
//! name never has two lookups at once; the next attempt waits for the first.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use tokio::time::{Instant, timeout};

use crate::absence_log::{AbsenceLog, Severity};

/// Interval between lookups of a name that has addresses.
pub(crate) const REFRESH: Duration = Duration::from_secs(5);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a name must have only addresses of the other family before they are used.
const OTHER_FAMILY: Duration = Duration::from_secs(60);

/// Resolves a host to addresses with this port.
pub(crate) type Resolver = Arc<dyn Fn(String, u16) -> Lookup + Send + Sync>;

type Lookup = BoxFuture<'static, io::Result<Vec<SocketAddr>>>;

/// The system's resolver.
pub(crate) fn system() -> Resolver {
    Arc::new(|host, port| {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    })
}

/// A host name and its last known addresses.
pub(crate) struct HostName {
    host: String,
    port: u16,
    addresses: Vec<SocketAddr>,
    /// The lookup in progress.
    pending: Option<Lookup>,
    /// Since when all its addresses belong to the family that is not in use.
    other_since: Option<Instant>,
    absence: AbsenceLog,
}

impl HostName {
    /// A name that has not been resolved yet.
    pub(crate) fn new(host: String, port: u16) -> Self {
        HostName {
            host,
            port,
            addresses: Vec::new(),
            pending: None,
            other_since: None,
            absence: AbsenceLog::new(),
        }
    }

    /// One address per machine, in order. Empty before the first answer.
    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Resolves the name, waiting at most 2 s. Returns whether the answer was accepted. Logs the
    /// first failure of each outage; a name that never had an address is a warning only after a
    /// while.
    pub(crate) async fn resolve(&mut self, resolver: &Resolver) -> bool {
        let pending = self
            .pending
            .get_or_insert_with(|| resolver(self.host.clone(), self.port));
        let answer = timeout(ANSWER_TIMEOUT, pending).await;
        if answer.is_ok() {
            self.pending = None;
        }
        let error = match answer.map_err(io::Error::from).flatten() {
            Ok(addresses) => match self.accept(addresses) {
                Ok(()) => return true,
                Err(error) => error,
            },
            Err(error) => {
                self.other_since = None;
                error
            }
        };
        let (host, kept) = (&self.host, self.addresses.len());
        match self.absence.missing() {
            Some(Severity::Note) => {
                tracing::info!(host, %error, "host name could not be resolved yet")
            }
            Some(Severity::Warning) => tracing::warn!(
                host, %error, kept,
                "host name could not be resolved: its last addresses stay in use"
            ),
            None => {}
        }
        false
    }

    /// Accepts an answer, or returns why not.
    fn accept(&mut self, addresses: Vec<SocketAddr>) -> io::Result<()> {
        let now = Instant::now();
        let in_use = self.addresses.first().map(SocketAddr::is_ipv6);
        if addresses.is_empty() {
            self.other_since = None;
            return Err(io::ErrorKind::NotFound.into());
        }
        let other =
            in_use.is_some_and(|ipv6| addresses.iter().all(|address| address.is_ipv6() != ipv6));
        if other && now < *self.other_since.get_or_insert(now) + OTHER_FAMILY {
            return Err(io::Error::other(
                "all its addresses are of the other family",
            ));
        }
        self.addresses = of_one_family(addresses, in_use.unwrap_or(false));
        self.other_since = None;
        self.absence.present();
        Ok(())
    }
}

/// The addresses of the family that has more; on a tie IPv6 if `ipv6_in_use`.
fn of_one_family(mut addresses: Vec<SocketAddr>, ipv6_in_use: bool) -> Vec<SocketAddr> {
    addresses.sort_unstable();
    addresses.dedup();
    let (ipv4, ipv6): (Vec<_>, Vec<_>) = addresses.into_iter().partition(SocketAddr::is_ipv4);
    if ipv6.len() > ipv4.len() || (ipv6_in_use && ipv6.len() == ipv4.len()) {
        ipv6
    } else {
        ipv4
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use parking_lot::Mutex;
    use tokio::sync::Notify;

    use super::*;

    fn list(addresses: &[&str]) -> Vec<SocketAddr> {
        let parsed = addresses.iter().map(|address| address.parse().unwrap());
        parsed.collect()
    }

    #[test]
    fn the_larger_family_ipv6_in_use_and_each_address_once() {
        for (all, taken) in [
            (&["10.0.0.1:7", "10.0.0.1:7"][..], &["10.0.0.1:7"][..]),
            (&["[fd00::1]:7", "10.0.0.1:7"], &["10.0.0.1:7"]),
            (
                &["10.0.0.1:7", "[fd00::2]:7", "[fd00::1]:7"],
                &["[fd00::1]:7", "[fd00::2]:7"],
            ),
            (&["[fd00::1]:7"], &["[fd00::1]:7"]),
        ] {
            assert_eq!(of_one_family(list(all), false), list(taken));
        }
        let both = list(&["10.0.0.1:7", "[fd00::1]:7"]);
        assert_eq!(of_one_family(both, true), list(&["[fd00::1]:7"]));
    }

    #[tokio::test(start_paused = true)]
    async fn an_unresolved_name_keeps_its_last_addresses() {
        let answers = Mutex::new(vec![
            Err(io::Error::other("no answer")),
            Ok(Vec::new()),
            Ok(list(&["10.0.0.1:7"])),
        ]);
        let resolver: Resolver = Arc::new(move |host, port| {
            assert_eq!((host.as_str(), port), ("workers.test", 7));
            // An answer that never comes times out.
            match answers.lock().pop() {
                Some(answer) => Box::pin(async { answer }),
                None => Box::pin(std::future::pending()),
            }
        });
        let mut name = HostName::new("workers.test".to_owned(), 7);
        assert!(name.addresses().is_empty());
        for answered in [true, false, false, false] {
            assert_eq!(name.resolve(&resolver).await, answered);
            assert_eq!(name.addresses(), list(&["10.0.0.1:7"]));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_lookup_is_awaited_and_not_started_twice() {
        let (answer, started) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let (answered, lookups) = (answer.clone(), started.clone());
        let resolver: Resolver = Arc::new(move |_host, _port| {
            lookups.fetch_add(1, Ordering::Relaxed);
            let answered = answered.clone();
            Box::pin(async move {
                answered.notified().await;
                Ok(list(&["10.0.0.1:7"]))
            })
        });
        let mut name = HostName::new("workers.test".to_owned(), 7);
        for _ in 0..10 {
            let began = Instant::now();
            assert!(!name.resolve(&resolver).await);
            assert_eq!(began.elapsed(), ANSWER_TIMEOUT);
        }
        assert_eq!(started.load(Ordering::Relaxed), 1);
        answer.notify_one();
        assert!(name.resolve(&resolver).await);
        answer.notify_one();
        assert!(name.resolve(&resolver).await);
        assert_eq!(started.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_of_the_other_family_are_used_after_a_minute() {
        let answer = Arc::new(Mutex::new(Vec::new()));
        let answers = answer.clone();
        let resolver: Resolver = Arc::new(move |_host, _port| {
            let answer = answers.lock().clone();
            Box::pin(async { Ok(answer) })
        });
        let mut name = HostName::new("workers.test".to_owned(), 7);
        let (ipv4, ipv6) = (list(&["10.0.0.1:7"]), list(&["[fd00::1]:7", "[fd00::2]:7"]));
        let mut resolve = async |resolved: &Vec<SocketAddr>| {
            answer.lock().clone_from(resolved);
            tokio::time::advance(REFRESH).await;
            (name.resolve(&resolver).await, name.addresses().to_vec())
        };
        assert_eq!(resolve(&ipv4).await, (true, ipv4.clone()));
        for _ in 0..12 {
            assert_eq!(resolve(&ipv6).await, (false, ipv4.clone()));
        }
        assert_eq!(resolve(&ipv4).await, (true, ipv4.clone()));
        for _ in 0..12 {
            assert_eq!(resolve(&ipv6).await, (false, ipv4.clone()));
        }
        assert_eq!(resolve(&ipv6).await, (true, ipv6.clone()));
        assert_eq!(resolve(&ipv4).await, (false, ipv6.clone()));
        // Both families: a complete answer.
        let both = [ipv4, ipv6.clone()].concat();
        assert_eq!(resolve(&both).await, (true, ipv6));
    }

    #[tokio::test]
    async fn the_system_resolves_localhost_and_no_invalid_name() {
        let mut localhost = HostName::new("localhost".to_owned(), 7);
        assert!(localhost.resolve(&system()).await);
        assert!(localhost.addresses().iter().all(|one| one.port() == 7));
        let mut invalid = HostName::new("gateways.invalid".to_owned(), 7);
        assert!(!invalid.resolve(&system()).await);
    }
}
