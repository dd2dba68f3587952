//! Hosts' names that stand for several machines: what addresses they have, asked for again and again.
//!
//! Below the path: the way to the workers finds them by it, and limits count gateways by it. While a
//! name is not answered, it stands for what it stood for last. One that is unknown all at once is
//! taken for a fault of the resolver, too: were it believed, a restart of the cluster's DNS would
//! end every pool.
//!
//! What a reader would get wrong: a name with addresses of both families has each machine twice. The
//! addresses of one family are taken: of the one that has more, or else of the one that was taken
//! last. Each family is a question of its own to the resolver, so an answer without the family that was
//! taken may be half an answer: only if it stays so for a minute are these other machines.
//!
//! A look-up that was given up goes on: the system's holds a thread until it ends. So there is never
//! a second one of the same name; who asks again waits for the first.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use tokio::time::{Instant, timeout};

use crate::absence_log::{AbsenceLog, Severity};

/// How often a name that has an answer is asked for.
pub(crate) const REFRESH: Duration = Duration::from_secs(5);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a name has to have only addresses of the other family before it is believed.
const OTHER_FAMILY: Duration = Duration::from_secs(60);

/// Asks for the addresses of a host, with this port.
pub(crate) type Resolver = Arc<dyn Fn(String, u16) -> LookUp + Send + Sync>;

type LookUp = BoxFuture<'static, io::Result<Vec<SocketAddr>>>;

/// What the system answers.
pub(crate) fn system() -> Resolver {
    Arc::new(|host, port| {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    })
}

/// A host's name and what it last stood for.
pub(crate) struct HostName {
    host: String,
    port: u16,
    addresses: Vec<SocketAddr>,
    /// The look-up that was not answered yet.
    asked: Option<LookUp>,
    /// Since when all its addresses are of the family that was not taken.
    other_since: Option<Instant>,
    absence: AbsenceLog,
}

impl HostName {
    /// A name that was not asked for yet.
    pub(crate) fn new(host: String, port: u16) -> Self {
        HostName {
            host,
            port,
            addresses: Vec::new(),
            asked: None,
            other_since: None,
            absence: AbsenceLog::new(),
        }
    }

    /// What it last stood for: an address for each machine, in their order. None before its first
    /// answer.
    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Asks for it, for 2 s at most; whether it was answered. The log has the first failure of
    /// each outage; of a name that never stood for anything it warns after a while.
    pub(crate) async fn ask(&mut self, resolver: &Resolver) -> bool {
        let asked = self
            .asked
            .get_or_insert_with(|| resolver(self.host.clone(), self.port));
        let answer = timeout(ANSWER_TIMEOUT, asked).await;
        if answer.is_ok() {
            self.asked = None;
        }
        let error = match answer.map_err(io::Error::from).flatten() {
            Ok(addresses) => match self.take(addresses) {
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
                tracing::info!(host, %error, "a host's name can't be resolved yet")
            }
            Some(Severity::Warning) => tracing::warn!(
                host, %error, kept,
                "a host's name can't be resolved: the last answer is kept"
            ),
            None => {}
        }
        false
    }

    /// Believes an answer, or says why not.
    fn take(&mut self, addresses: Vec<SocketAddr>) -> io::Result<()> {
        let now = Instant::now();
        let taken = self.addresses.first().map(SocketAddr::is_ipv6);
        if addresses.is_empty() {
            self.other_since = None;
            return Err(io::ErrorKind::NotFound.into());
        }
        let other = taken.is_some_and(|sixth| addresses.iter().all(|it| it.is_ipv6() != sixth));
        if other && now < *self.other_since.get_or_insert(now) + OTHER_FAMILY {
            return Err(io::Error::other(
                "it has addresses of the other family only",
            ));
        }
        self.addresses = of_one_family(addresses, taken.unwrap_or(false));
        self.other_since = None;
        self.absence.present();
        Ok(())
    }
}

/// The addresses of the family that has more; of IPv6 if they have as many and that `is_taken`.
fn of_one_family(mut addresses: Vec<SocketAddr>, is_taken: bool) -> Vec<SocketAddr> {
    addresses.sort_unstable();
    addresses.dedup();
    let (fourth, sixth): (Vec<_>, Vec<_>) = addresses.into_iter().partition(SocketAddr::is_ipv4);
    if sixth.len() > fourth.len() || (is_taken && sixth.len() == fourth.len()) {
        sixth
    } else {
        fourth
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
    fn the_larger_family_is_taken_and_each_address_once() {
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
    async fn what_is_not_answered_stands_for_what_it_stood_for() {
        let answers = Mutex::new(vec![
            Err(io::Error::other("no answer")),
            Ok(Vec::new()),
            Ok(list(&["10.0.0.1:7"])),
        ]);
        let resolver: Resolver = Arc::new(move |host, port| {
            assert_eq!((host.as_str(), port), ("workers.test", 7));
            // What is not answered at all is given up.
            match answers.lock().pop() {
                Some(answer) => Box::pin(async { answer }),
                None => Box::pin(std::future::pending()),
            }
        });
        let mut name = HostName::new("workers.test".to_owned(), 7);
        assert!(name.addresses().is_empty());
        for answered in [true, false, false, false] {
            assert_eq!(name.ask(&resolver).await, answered);
            assert_eq!(name.addresses(), list(&["10.0.0.1:7"]));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_up_that_hangs_is_waited_for_and_not_begun_again() {
        let (answer, asked) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let (answered, questions) = (answer.clone(), asked.clone());
        let resolver: Resolver = Arc::new(move |_host, _port| {
            questions.fetch_add(1, Ordering::Relaxed);
            let answered = answered.clone();
            Box::pin(async move {
                answered.notified().await;
                Ok(list(&["10.0.0.1:7"]))
            })
        });
        let mut name = HostName::new("workers.test".to_owned(), 7);
        for _ in 0..10 {
            let began = Instant::now();
            assert!(!name.ask(&resolver).await);
            assert_eq!(began.elapsed(), ANSWER_TIMEOUT);
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        answer.notify_one();
        assert!(name.ask(&resolver).await);
        answer.notify_one();
        assert!(name.ask(&resolver).await);
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn half_an_answer_replaces_no_machine_unless_it_stays_the_only_one() {
        let answer = Arc::new(Mutex::new(Vec::new()));
        let answers = answer.clone();
        let resolver: Resolver = Arc::new(move |_host, _port| {
            let answer = answers.lock().clone();
            Box::pin(async { Ok(answer) })
        });
        let mut name = HostName::new("workers.test".to_owned(), 7);
        let (fourth, sixth) = (list(&["10.0.0.1:7"]), list(&["[fd00::1]:7", "[fd00::2]:7"]));
        let mut ask = async |said: &Vec<SocketAddr>| {
            answer.lock().clone_from(said);
            tokio::time::advance(REFRESH).await;
            (name.ask(&resolver).await, name.addresses().to_vec())
        };
        assert_eq!(ask(&fourth).await, (true, fourth.clone()));
        for _ in 0..12 {
            assert_eq!(ask(&sixth).await, (false, fourth.clone()));
        }
        assert_eq!(ask(&fourth).await, (true, fourth.clone()));
        for _ in 0..12 {
            assert_eq!(ask(&sixth).await, (false, fourth.clone()));
        }
        assert_eq!(ask(&sixth).await, (true, sixth.clone()));
        assert_eq!(ask(&fourth).await, (false, sixth.clone()));
        // Both are a whole answer.
        let both = [fourth, sixth.clone()].concat();
        assert_eq!(ask(&both).await, (true, sixth));
    }

    #[tokio::test]
    async fn the_system_knows_itself_and_no_name_that_is_nobodys() {
        let mut itself = HostName::new("localhost".to_owned(), 7);
        assert!(itself.ask(&system()).await);
        assert!(itself.addresses().iter().all(|one| one.port() == 7));
        let mut nobody = HostName::new("gateways.invalid".to_owned(), 7);
        assert!(!nobody.ask(&system()).await);
    }
}
