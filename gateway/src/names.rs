//! Hosts' names that stand for several machines: what addresses they have, asked for again and again.
//!
//! Below the path: the way to the workers finds them by it, and limits count gateways by it. While a
//! name is not answered, it stands for what it stood for last. One that is unknown all at once is
//! taken for a fault of the resolver, too: were it believed, a restart of the cluster's DNS would
//! end every pool.
//!
//! What a reader would get wrong: a name with addresses of both families has each machine twice. The
//! addresses of one family are taken: of the one that has more, of IPv4 if they have as many.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use tokio::time::timeout;

/// How often a name that has an answer is asked for.
pub(crate) const REFRESH: Duration = Duration::from_secs(5);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Asks for the addresses of a host, with this port.
pub(crate) type Resolver =
    Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// What the system answers.
pub(crate) fn system() -> Resolver {
    Arc::new(|host, port| {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    })
}

/// A host's name and what it last stood for.
pub(crate) struct Name {
    host: String,
    port: u16,
    addresses: Vec<SocketAddr>,
    failing: bool,
}

impl Name {
    /// A name that was not asked for yet.
    pub(crate) fn new(host: String, port: u16) -> Self {
        Name {
            host,
            port,
            addresses: Vec::new(),
            failing: false,
        }
    }

    /// What it last stood for: an address for each machine, in their order. None before its first
    /// answer.
    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Asks for it, for 2 s at most; whether it was answered. The log has the first failure of
    /// each outage.
    pub(crate) async fn ask(&mut self, resolver: &Resolver) -> bool {
        let answer = timeout(ANSWER_TIMEOUT, resolver(self.host.clone(), self.port)).await;
        let error: io::Error = match answer.map_err(io::Error::from).flatten() {
            Ok(addresses) if !addresses.is_empty() => {
                self.addresses = of_one_family(addresses);
                self.failing = false;
                return true;
            }
            Ok(_none) => io::ErrorKind::NotFound.into(),
            Err(error) => error,
        };
        if !std::mem::replace(&mut self.failing, true) {
            tracing::warn!(
                host = self.host, %error, kept = self.addresses.len(),
                "a host's name can't be resolved: the last answer is kept"
            );
        }
        false
    }
}

/// The addresses of the family that has more.
fn of_one_family(mut addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    addresses.sort_unstable();
    addresses.dedup();
    let (fourth, sixth): (Vec<_>, Vec<_>) = addresses.into_iter().partition(SocketAddr::is_ipv4);
    if sixth.len() > fourth.len() {
        sixth
    } else {
        fourth
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

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
            assert_eq!(of_one_family(list(all)), list(taken));
        }
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
        let mut name = Name::new("workers.test".to_owned(), 7);
        assert!(name.addresses().is_empty());
        for answered in [true, false, false, false] {
            assert_eq!(name.ask(&resolver).await, answered);
            assert_eq!(name.addresses(), list(&["10.0.0.1:7"]));
        }
    }

    #[tokio::test]
    async fn the_system_knows_itself_and_no_name_that_is_nobodys() {
        let mut itself = Name::new("localhost".to_owned(), 7);
        assert!(itself.ask(&system()).await);
        assert!(itself.addresses().iter().all(|one| one.port() == 7));
        let mut nobody = Name::new("gateways.invalid".to_owned(), 7);
        assert!(!nobody.ask(&system()).await);
    }
}
