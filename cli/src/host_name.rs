//! The default name of a gateway or worker.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The host's name and the port it listens on, as `box-7000`: unique among several on one host, and
/// the same after a restart. A specific listening address is put between them.
pub(crate) fn name_at(address: SocketAddr, otherwise: &str) -> String {
    let port = address.port();
    match address.ip() {
        ip if is_usual(ip) => format!("{}-{port}", host_name(otherwise)),
        ip => format!("{}-{ip}-{port}", host_name(otherwise)),
    }
}

/// The host's name, or `otherwise` if it has none.
pub(crate) fn host_name(otherwise: &str) -> String {
    let system = rustix::system::uname();
    let name = system.nodename().to_string_lossy();
    match name.trim() {
        "" => otherwise.to_owned(),
        name => name.to_owned(),
    }
}

/// Whether nothing else on the host is likely to listen on the same port at another address.
fn is_usual(ip: IpAddr) -> bool {
    ip.is_unspecified() || ip == Ipv4Addr::LOCALHOST || ip == Ipv6Addr::LOCALHOST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_on_one_host_have_distinct_names() {
        let host = host_name("worker");
        let names = [
            ("0.0.0.0:7000", "7000"),
            ("127.0.0.1:7001", "7001"),
            ("[::]:7002", "7002"),
            ("10.0.0.7:7000", "10.0.0.7-7000"),
            ("[fd00::7]:7000", "fd00::7-7000"),
        ];
        for (address, end) in names {
            let name = name_at(address.parse().unwrap(), "worker");
            assert_eq!(name, format!("{host}-{end}"));
        }
    }
}
