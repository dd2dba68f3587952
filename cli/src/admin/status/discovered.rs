//! Gateways and processes of sync that reported their admin ports to Postgres, and which of them may be queried
//! from here.
//!
//! The addresses come from the database, so only this host and private networks are queried: a loopback
//! address only if its row names this host, a public address never.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::tenants::ReportedProcess;

use super::query::GatewayTarget;
use crate::host_name::host_name;

/// What to query of each, in order.
pub(super) fn asked(running: &[ReportedProcess]) -> Vec<GatewayTarget> {
    let here = host_name("gateway");
    running.iter().map(|seen| of(seen, &here)).collect()
}

fn of(seen: &ReportedProcess, here: &str) -> GatewayTarget {
    let url = format!("http://{}/readyz", seen.admin);
    let refused = match seen.admin.parse::<SocketAddr>() {
        Err(_) => Some("its admin port has no usable address".to_owned()),
        Ok(address) if address.ip().is_loopback() && seen.host == here => None,
        Ok(address) if address.ip().is_loopback() => {
            Some(format!("its admin port is reachable on {} only", seen.host))
        }
        Ok(address) if is_private(address.ip()) => None,
        Ok(_) => Some("its admin port has a public address: name it with --admin-url".to_owned()),
    };
    GatewayTarget::discovered(seen.name.clone(), url, refused)
}

/// Whether an address is of a private network: RFC 1918, RFC 6598, RFC 4193, or link-local.
fn is_private(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            let shared = Ipv4Addr::new(100, 64, 0, 0).to_bits() >> 22;
            ip.is_private() || ip.is_link_local() || ip.to_bits() >> 22 == shared
        }
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_host_and_private_networks_are_queried() {
        let may = |admin: &str, host: &str| {
            let seen = ReportedProcess {
                name: "a".to_owned(),
                host: host.to_owned(),
                admin: admin.to_owned(),
            };
            of(&seen, "here").refused.is_none()
        };
        for admin in ["127.0.0.1:1", "[::1]:1"] {
            assert!(may(admin, "here") && !may(admin, "there"), "{admin}");
        }
        for admin in [
            "10.1.2.3:1",
            "172.31.0.1:1",
            "192.168.0.9:1",
            "100.127.0.1:1",
            "[fd00::1]:1",
        ] {
            assert!(may(admin, "there"), "{admin}");
        }
        for admin in [
            "8.8.8.8:1",
            "100.128.0.1:1",
            "[2001:db8::1]:1",
            "0.0.0.0:1",
            "name:1",
            "x",
        ] {
            assert!(!may(admin, "here"), "{admin}");
        }
    }
}
