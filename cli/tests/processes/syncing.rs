//! `archway sync` as a process, and what the database says about its mirrors.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use archway::tenants::{ProjectSettings, ProjectSource, Tenants};
use archway_sync::remote::{AllowedProtocols, Protocol, RemoteUrl};
use sqlx::{AssertSqlSafe, Row};

use crate::role::{LOOK, PATIENCE, archway};
use crate::stage::Stage;

/// No git that ran with one of these would reach a remote, or find its own programs.
const MISLEADING: [(&str, &str); 7] = [
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "url.file:///nowhere/.insteadOf"),
    ("GIT_CONFIG_VALUE_0", "git://"),
    ("GIT_EXEC_PATH", "/nowhere"),
    ("GIT_OBJECT_DIRECTORY", "/nowhere"),
    ("GIT_PROXY_COMMAND", "/nowhere/proxy"),
    ("GIT_SSH_COMMAND", "/nowhere/ssh"),
];

/// What the database says about a mirror.
#[derive(Clone, Debug)]
pub(crate) struct Mirror {
    pub(crate) state: String,
    pub(crate) message: String,
    pub(crate) head: String,
    /// How often it was leased.
    pub(crate) leases: i64,
    is_running: bool,
}

impl Stage {
    /// `archway sync`, whose mirrors are in this folder. Its own environment would lead git astray.
    pub(crate) fn sync(&self, repos: &Path) -> Command {
        let mut command = archway(&["sync", "--log-format", "json", "--repos"]);
        command
            .arg(repos)
            .args(["--allow-protocol", "git", "--volume-percent", "100"])
            .args(["--admin-listen", "127.0.0.1:0"])
            .args(["--hooks-listen", "127.0.0.1:0"])
            .env("ARCHWAY_DATABASE_URL", self.url("archway_sync"))
            .env("HOME", self.misleading_home())
            .envs(MISLEADING);
        command
    }

    /// A home whose settings lead git elsewhere.
    fn misleading_home(&self) -> PathBuf {
        let home = self.path("misleading");
        fs::create_dir_all(&home).unwrap();
        let settings = "[url \"file:///nowhere/\"]\n\tinsteadOf = git://\n";
        fs::write(home.join(".gitconfig"), settings).unwrap();
        home
    }

    /// Adds the project `slug` of `acme`, a mirror of this remote.
    pub(crate) fn mirror_of(&self, slug: &str, url: &str) {
        let allowed = AllowedProtocols {
            more: vec![Protocol::Git],
            loopback_http: false,
        };
        let source = ProjectSource {
            remote: RemoteUrl::parse(url, &allowed).unwrap(),
            reference: None,
            credential: None,
            ca_file: None,
            https_proxy: None,
        };
        self.runtime.block_on(async {
            let tenants = Tenants::new(self.owner.clone());
            let mut tx = tenants.begin().await.unwrap();
            let tenant = tx.find_tenant("acme").await.unwrap();
            let settings = ProjectSettings::default();
            let project = tx.add_project(tenant, slug, &settings).await.unwrap();
            tx.set_source((tenant, project), &source).await.unwrap();
            tx.commit().await.unwrap();
        });
    }

    /// Makes a mirror due, also one whose process was killed.
    pub(crate) fn make_due(&self, slug: &str) {
        let sql = "update mirrors m set next_at = now(), tried_at = null, leased_until = '-infinity' \
                   from projects p where p.id = m.project_id and p.slug = $1";
        let done = sqlx::query(sql).bind(slug).execute(&self.owner);
        self.runtime.block_on(done).unwrap();
    }

    pub(crate) fn mirror(&self, slug: &str) -> Option<Mirror> {
        let sql = "select m.state, coalesce(m.message, '') as message, coalesce(m.head, '') as head, \
                   m.lease_number, m.leased_until > now() or m.tried_at is null as is_running \
                   from mirrors m join projects p on p.id = m.project_id where p.slug = $1";
        let row = sqlx::query(AssertSqlSafe(sql)).bind(slug);
        let row = row.fetch_optional(&self.owner);
        let row = self.runtime.block_on(row).unwrap()?;
        Some(Mirror {
            state: row.get("state"),
            message: row.get("message"),
            head: row.get("head"),
            leases: row.get("lease_number"),
            is_running: row.get("is_running"),
        })
    }

    /// Waits until a run of the mirror has ended in this state.
    pub(crate) fn until(&self, slug: &str, state: &str) -> Mirror {
        let has_ended = |it: &Mirror| it.state == state && !it.is_running;
        self.until_mirror(slug, state, has_ended)
    }

    /// Waits until the mirror is so.
    pub(crate) fn until_mirror(
        &self,
        slug: &str,
        what: &str,
        is_so: impl Fn(&Mirror) -> bool,
    ) -> Mirror {
        let deadline = SystemTime::now() + PATIENCE;
        loop {
            let mirror = self.mirror(slug);
            if let Some(mirror) = mirror.clone().filter(&is_so) {
                return mirror;
            }
            assert!(SystemTime::now() < deadline, "not {what}: {mirror:?}");
            std::thread::sleep(LOOK);
        }
    }
}
