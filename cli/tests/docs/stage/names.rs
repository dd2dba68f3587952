//! Free ports, and replacements of the host names in pages.

use std::net::TcpListener;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

use sqlx::postgres::PgConnectOptions;
use uuid::Uuid;

use crate::installation::Installation;

/// Below the ports that systems assign to outgoing connections, so none is taken between check and use.
const FIRST: u16 = 20_000;
const HOW_MANY: u16 = 10_000;

#[derive(Clone, Copy)]
pub(super) enum Role {
    Gateway,
    GatewayAdmin,
    Worker,
    WorkerAdmin,
    SyncAdmin,
    Hooks,
    Dev,
}

pub(super) struct Ports([u16; 7]);

impl Ports {
    pub(super) fn free() -> Ports {
        Ports([(); 7].map(|()| free_port()))
    }

    pub(super) fn of(&self, role: Role) -> u16 {
        self.0[role as usize]
    }
}

/// No two stages get the same port, and tests of two checkouts begin at different ones.
fn free_port() -> u16 {
    static GIVEN: LazyLock<AtomicU16> = LazyLock::new(|| {
        let random = u16::try_from(Uuid::new_v4().as_u128() % u128::from(HOW_MANY)).unwrap();
        AtomicU16::new(random)
    });
    loop {
        let port = FIRST + GIVEN.fetch_add(1, Ordering::Relaxed) % HOW_MANY;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The hosts of the pages' examples. Those that contain another's name come first.
pub(super) fn of_hosts(ports: &Ports, folder: &Path) -> Vec<(String, String)> {
    let here = |role| format!("127.0.0.1:{}", ports.of(role));
    let folder = folder.display();
    let mut names = vec![
        (
            "https://archway.example.com/mcp".to_owned(),
            format!("http://{}/mcp", here(Role::Gateway)),
        ),
        ("DNS:worker-1".to_owned(), "IP:127.0.0.1".to_owned()),
        ("127.0.0.1:7676".to_owned(), here(Role::Dev)),
        (
            "/srv/credentials".to_owned(),
            format!("{folder}/credentials"),
        ),
        ("/srv/repos".to_owned(), format!("{folder}/repos")),
        ("/path/to/repository".to_owned(), format!("{folder}/site")),
        ("/home/you/code/site".to_owned(), format!("{folder}/site")),
        ("/home/you/code/docs".to_owned(), format!("{folder}/docs")),
        ("--repo PATH".to_owned(), format!("--repo {folder}/site")),
    ];
    for host in ["gateway", "gateway-1", "gateway-2"] {
        names.push((
            format!("//{host}:9090"),
            format!("//{}", here(Role::GatewayAdmin)),
        ));
    }
    for host in ["worker", "worker-1", "worker-2"] {
        names.push((
            format!("//{host}:9091"),
            format!("//{}", here(Role::WorkerAdmin)),
        ));
        names.push((
            format!("//{host}:7000"),
            format!("//{}", here(Role::Worker)),
        ));
    }
    names.push((
        "//sync:9092".to_owned(),
        format!("//{}", here(Role::SyncAdmin)),
    ));
    names
}

/// A database by its name in pages, as its owner and as both roles.
pub(super) fn of_database(name: &str, installation: &Installation) -> Vec<(String, String)> {
    let owner = as_role(installation, None);
    let mut names = vec![(format!("postgres://owner:…@db/{name}"), owner)];
    for role in ["archway_gateway", "archway_worker", "archway_sync"] {
        for password in [":…", ""] {
            let shown = format!("postgres://{role}{password}@db/{name}");
            names.push((shown, as_role(installation, Some(role))));
        }
    }
    names
}

/// Connection settings of a role, or of the owner. The tests' server trusts every client on its socket. In
/// words that PostgreSQL's own programs understand, and that need no quoting in a shell.
pub(super) fn as_role(installation: &Installation, role: Option<&str>) -> String {
    let owner: PgConnectOptions = installation.url().parse().unwrap();
    let user = role.unwrap_or(owner.get_username());
    let database = owner.get_database().unwrap();
    let port = owner.get_port();
    match owner.get_socket() {
        Some(socket) => format!(
            "postgres://{user}@localhost:{port}/{database}?host={}",
            socket.display()
        ),
        None => format!("postgres://{user}@{}:{port}/{database}", owner.get_host()),
    }
}
