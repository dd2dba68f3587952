//! The client address under which failed credentials are counted.
//!
//! What a reader would get wrong: the sender writes `X-Forwarded-For`, and each proxy appends the
//! address that it saw. So the header is read from the right, and only as long as the address that
//! appended an entry is a configured proxy.

use std::{
    net::{AddrParseError, IpAddr, SocketAddr},
    str::FromStr,
};

use http::{HeaderMap, HeaderName};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The remote address of the request's connection, as the listener saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// The unit by which failures are counted: one IPv4 address, or the /64 in which an IPv6 host can
/// choose its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    V4(u32),
    V6(u64),
}

impl From<IpAddr> for Source {
    /// An IPv4-mapped IPv6 address counts as the IPv4 address.
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Source::V4(address.to_bits()),
            IpAddr::V6(address) => Source::V6((address.to_bits() >> 64) as u64),
        }
    }
}

/// The proxies whose `X-Forwarded-For` entries are trusted.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    pub(crate) fn new(networks: &[IpNet]) -> Self {
        TrustedProxies(networks.to_vec())
    }

    /// The client's address: the right-most one that is not a trusted proxy. An unreadable entry
    /// ends the search, and the proxy that appended it counts as the client.
    pub(crate) fn client(&self, peer: Peer, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.0.to_canonical();
        let values = headers.get_all(FORWARDED_FOR).iter().rev();
        let mut entries = values.flat_map(|value| value.to_str().unwrap_or("?").rsplit(','));
        while self.trusts(client) {
            match entries.next().map(address) {
                Some(Ok(address)) => client = address,
                Some(Err(_)) | None => break,
            }
        }
        client
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// Parses an entry: an address, with or without a port.
fn address(entry: &str) -> Result<IpAddr, AddrParseError> {
    let entry = entry.trim();
    IpAddr::from_str(entry)
        .or_else(|_no_address| SocketAddr::from_str(entry).map(|socket| socket.ip()))
        .map(|address| address.to_canonical())
}

/// Parses a network in CIDR form or a single address, for the command line.
pub(crate) fn network(text: &str) -> Result<IpNet, String> {
    let text = text.trim();
    let network =
        IpNet::from_str(text).or_else(|_no_network| IpAddr::from_str(text).map(Into::into));
    network.map_err(|_neither| {
        "a network like 10.0.0.0/8 or fd00::/8, or one address, is wanted".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn client(peer: &str, forwarded: &[&str]) -> String {
        let trusted = ["10.0.0.0/8", "fd00::/8", "192.0.2.1"].map(|text| network(text).unwrap());
        let values = forwarded
            .iter()
            .map(|value| (FORWARDED_FOR, value.parse().unwrap()));
        let headers: HeaderMap = values.collect();
        let client = TrustedProxies::new(&trusted).client(Peer(ip(peer)), &headers);
        client.to_string()
    }

    #[test]
    fn the_header_of_an_untrusted_peer_is_ignored() {
        assert_eq!(client("203.0.113.7", &["198.51.100.1"]), "203.0.113.7");
        assert_eq!(
            client("::ffff:203.0.113.7", &["198.51.100.1"]),
            "203.0.113.7"
        );
    }

    #[test]
    fn behind_trusted_proxies_the_right_most_other_address_counts() {
        for (forwarded, expected) in [
            (&["198.51.100.1"][..], "198.51.100.1"),
            (&["1.1.1.1, 198.51.100.1"], "198.51.100.1"),
            (
                &["1.1.1.1, 198.51.100.1, 10.9.9.9,192.0.2.1"],
                "198.51.100.1",
            ),
            (&["1.1.1.1", "198.51.100.1", "10.9.9.9"], "198.51.100.1"),
            (&["198.51.100.1:4711"], "198.51.100.1"),
            (&["[2001:db8::1]:4711"], "2001:db8::1"),
            (&["::ffff:198.51.100.1"], "198.51.100.1"),
        ] {
            assert_eq!(client("10.0.0.1", forwarded), expected, "{forwarded:?}");
            assert_eq!(
                client("::ffff:10.0.0.1", forwarded),
                expected,
                "{forwarded:?}"
            );
            assert_eq!(client("fd00::1", forwarded), expected, "{forwarded:?}");
        }
    }

    #[test]
    fn at_the_end_or_an_unreadable_entry_the_last_known_hop_counts() {
        assert_eq!(client("10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(client("10.0.0.1", &["10.0.0.2"]), "10.0.0.2");
        assert_eq!(client("10.0.0.1", &["198.51.100.1, unknown"]), "10.0.0.1");
        assert_eq!(
            client("10.0.0.1", &["198.51.100.1, , 10.0.0.2"]),
            "10.0.0.2"
        );
        assert_eq!(client("10.0.0.1", &["198.51.100.1,\u{e9}"]), "10.0.0.1");
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_source() {
        let source = |text: &str| Source::from(ip(text));
        assert_eq!(source("2001:db8:0:1::1"), source("2001:db8:0:1:ffff::2"));
        assert_ne!(source("2001:db8:0:1::1"), source("2001:db8:0:2::1"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
    }

    #[test]
    fn a_network_is_read_as_cidr_or_as_one_address() {
        assert_eq!(network("10.0.0.0/8").unwrap().to_string(), "10.0.0.0/8");
        assert_eq!(network(" ::1").unwrap().to_string(), "::1/128");
        for bad in ["", "10.0.0.0/33", "proxy.example", "10.0.0"] {
            assert!(network(bad).is_err(), "{bad}");
        }
    }
}
