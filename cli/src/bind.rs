//! A role's sockets, bound after its files are read and before it serves, so a port in use ends the start.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};

/// Why a socket could not be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another process listens on the address.
    #[error("{address} is in use: end what listens there, or choose another with {option}")]
    InUse {
        /// The address.
        address: SocketAddr,
        /// The option that chooses it.
        option: &'static str,
    },
    /// The operating system refused.
    #[error("listening on {address}, as {option} says")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The option that chooses it.
        option: &'static str,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
}

/// Listens on `address`, which `option` names. Returns the actual address, as port 0 means any free port.
pub(crate) fn bind(
    address: SocketAddr,
    option: &'static str,
) -> Result<(TcpListener, SocketAddr), BindError> {
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse { address, option },
        _ => BindError::Bind {
            address,
            option,
            source,
        },
    })
}

/// Where others reach what is bound to `address`. An unspecified address becomes this machine's own.
pub(crate) fn reachable(address: SocketAddr) -> Option<SocketAddr> {
    match address.ip().is_unspecified() {
        true => own_address().map(|ip| SocketAddr::new(ip, address.port())),
        false => Some(address),
    }
}

/// This machine's address on its network: the source address of a packet to a distant host.
/// Connecting a UDP socket sends no packet.
pub(crate) fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // An address of TEST-NET-1 (RFC 5737), which is never assigned.
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_unspecified() && !ip.is_loopback()).then_some(ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_cannot_be_bound_is_refused_with_its_option() {
        let (_taken, address) = bind(([127, 0, 0, 1], 0).into(), "--listen").unwrap();
        let in_use = bind(address, "--listen").unwrap_err();
        assert!(matches!(in_use, BindError::InUse { .. }));
        // An address of TEST-NET-1 (RFC 5737), which no machine has.
        let foreign = bind(([192, 0, 2, 1], 0).into(), "--admin-listen").unwrap_err();
        assert!(matches!(foreign, BindError::Bind { .. }));
        for (error, option) in [(in_use, "--listen"), (foreign, "--admin-listen")] {
            assert!(error.to_string().contains(option), "{error}");
        }
    }
}
