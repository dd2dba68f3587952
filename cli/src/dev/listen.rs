//! The ports of `dev`, bound before anything slow starts.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use crate::bind::own_address;

/// Bound, but not yet served.
pub(super) struct Listeners {
    pub(super) mcp: TcpListener,
    pub(super) admin: TcpListener,
    pub(super) addresses: Addresses,
}

/// Where the listeners can be reached.
#[derive(Clone)]
pub(super) struct Addresses {
    /// The MCP endpoint on this machine.
    pub(super) url: String,
    /// The MCP endpoint for other machines, if it is open to them.
    pub(super) open_url: Option<String>,
    open_host: Option<IpAddr>,
    pub(super) admin: SocketAddr,
}

/// Why a port cannot be bound.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another program uses it.
    #[error("port {port} is in use by another program; choose another with {option}")]
    InUse {
        /// The port.
        port: u16,
        /// The option that chooses it.
        option: &'static str,
    },
    /// The operating system refused.
    #[error("listening on port {port} ({option})")]
    Bind {
        /// The port.
        port: u16,
        /// The option that chooses it.
        option: &'static str,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
}

impl Listeners {
    /// Binds both ports (0: any free one): the admin port on loopback, the MCP port on loopback or, if
    /// `open`, on all addresses.
    pub(super) fn bind(port: u16, admin_port: u16, open: bool) -> Result<Self, ListenError> {
        let ip = if open {
            Ipv4Addr::UNSPECIFIED
        } else {
            Ipv4Addr::LOCALHOST
        };
        let (mcp, address) = bind(ip, port, "--port")?;
        let (admin, admin_address) = bind(Ipv4Addr::LOCALHOST, admin_port, "--admin-port")?;
        let port = address.port();
        let open_host = open.then(own_address).flatten();
        let addresses = Addresses {
            url: format!("http://{}:{port}/mcp", Ipv4Addr::LOCALHOST),
            open_url: open_host.map(|host| format!("http://{host}:{port}/mcp")),
            open_host,
            admin: admin_address,
        };
        Ok(Listeners {
            mcp,
            admin,
            addresses,
        })
    }
}

impl Addresses {
    /// The host names that requests may use.
    pub(super) fn hosts(&self) -> impl Iterator<Item = String> {
        let loopback = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        loopback
            .into_iter()
            .chain(self.open_host.map(|host| host.to_string()))
    }
}

fn bind(
    ip: Ipv4Addr,
    port: u16,
    option: &'static str,
) -> Result<(TcpListener, SocketAddr), ListenError> {
    let bound = TcpListener::bind((ip, port)).and_then(|listener| {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ListenError::InUse { port, option },
        _ => ListenError::Bind {
            port,
            option,
            source,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_refused_naming_the_option() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let refusal = Listeners::bind(port, 0, false).err().unwrap().to_string();
        assert!(
            refusal.contains(&format!("port {port} is in use")),
            "{refusal}"
        );
        assert!(refusal.contains("--port"), "{refusal}");
        let refusal = Listeners::bind(0, port, false).err().unwrap().to_string();
        assert!(refusal.contains("--admin-port"), "{refusal}");
    }

    #[test]
    fn only_loopback_is_bound_unless_it_is_opened() {
        let closed = Listeners::bind(0, 0, false).unwrap();
        assert!(closed.mcp.local_addr().unwrap().ip().is_loopback());
        assert_eq!(closed.addresses.open_url, None);
        assert!(closed.addresses.hosts().all(|host| host != "0.0.0.0"));
        let open = Listeners::bind(0, 0, true).unwrap();
        assert!(open.mcp.local_addr().unwrap().ip().is_unspecified());
        assert!(open.addresses.admin.ip().is_loopback());
        assert!(open.addresses.url.starts_with("http://127.0.0.1:"));
    }
}
