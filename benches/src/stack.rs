//! Gateways and workers as separate processes over one database, like an installation.
//!
//! Everything is set up by an operator's commands. The processes can be pinned to some of the machine's
//! cores, so that the measuring clients don't compete with them.

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use e2e::Database;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tempfile::TempDir;

use crate::{
    Layout, Project, Running, Usage,
    process::{answer, binary, held, in_force, set_limits},
};

/// A running installation. Its processes end with this value.
pub struct Stack {
    /// In the order in which they were started.
    pub gateways: Vec<Running>,
    /// In the order in which they were started.
    pub workers: Vec<Running>,
    keys: BTreeMap<String, String>,
    postgres: u32,
    /// The CPU seconds of Postgres before the workers started.
    postgres_before: f64,
    layout: Layout,
    installation: Installation,
}

impl Stack {
    /// Sets everything up, and returns once each gateway is ready.
    pub async fn start(layout: Layout) -> Stack {
        let installation = Installation::make().await;
        let folders = layout
            .tenants
            .iter()
            .map(|it| installation.project(it, "site"));
        layout.project.make(folders);
        let sites: Vec<_> = layout
            .tenants
            .iter()
            .map(|it| (it.as_str(), "site"))
            .collect();
        installation.apply(&sites);
        let mut keys = BTreeMap::new();
        for tenant in layout.tenants.iter().take(layout.keys) {
            let issued = installation.run(&["key", "issue", tenant]);
            let key = issued["api_key"].as_str().expect("a key");
            keys.insert(tenant.clone(), key.to_owned());
        }
        let postgres = installation.database.server_pid().await;
        let postgres_before = Usage::of_children(postgres);
        let workers = 0..layout.workers;
        let workers = workers.map(|number| installation.worker(&layout, number, "127.0.0.1:0"));
        let workers: Vec<Running> = workers.collect();
        let gateways = (0..layout.gateways).map(|_| installation.gateway(&layout, &workers));
        let gateways: Vec<Running> = gateways.collect();
        gateways.iter().for_each(Running::is_ready);
        Stack {
            gateways,
            workers,
            keys,
            postgres,
            postgres_before,
            layout,
            installation,
        }
    }

    /// Ends the only worker, and starts it again at the same address.
    pub fn restart_worker(&mut self) {
        let ended = self.workers.pop().expect("a worker");
        let address = ended.address.clone();
        drop(ended);
        let worker = self.installation.worker(&self.layout, 0, &address);
        self.workers.push(worker);
    }

    /// Starts `archway sync` for the repositories, with these further arguments.
    pub fn sync(&self, arguments: &[&str]) -> Running {
        self.installation.sync(arguments)
    }

    /// Runs a statement as the owner of the database.
    pub async fn sql(&self, statement: &str) {
        let owner = self.installation.database.owner();
        let mut owner = PgConnection::connect_with(&owner).await.expect("Postgres");
        let statement = AssertSqlSafe(statement.to_owned());
        owner.execute(statement).await.expect("a statement");
    }

    /// The folder of a tenant's project.
    pub fn project(&self, tenant: &str) -> PathBuf {
        self.project_named(tenant, "site")
    }

    /// The folder of a tenant's project of this slug.
    pub fn project_named(&self, tenant: &str, slug: &str) -> PathBuf {
        self.installation.project(tenant, slug)
    }

    /// Adds projects to a tenant: their folders first, unless they exist, then their rows.
    pub fn add_projects(&self, tenant: &str, slugs: &[String], project: Option<&Project>) {
        let folders = slugs.iter().map(|slug| self.project_named(tenant, slug));
        if let Some(project) = project {
            project.make(folders);
        }
        let projects: Vec<_> = slugs.iter().map(|slug| (tenant, slug.as_str())).collect();
        self.installation.apply(&projects);
    }

    /// Runs an administration command. Returns its answer.
    pub fn administer(&self, arguments: &[&str]) -> Value {
        self.installation.run(arguments)
    }

    /// The key of a tenant.
    pub fn key(&self, tenant: &str) -> &str {
        &self.keys[tenant]
    }

    /// Sets every limit of a tenant at every level; 0 removes them. They apply when it returns.
    pub async fn set_limits(&self, tenant: &str, per_minute: u32) {
        set_limits(tenant, per_minute, |command| {
            self.installation.administer(command)
        });
        for gateway in &self.gateways {
            in_force(&gateway.url(), self.key(tenant)).await;
        }
    }

    /// The main process of Postgres.
    pub fn postgres_pid(&self) -> u32 {
        self.postgres
    }

    /// The CPU seconds that Postgres has used since the workers started.
    pub fn postgres_cpu(&self) -> f64 {
        Usage::of_children(self.postgres) - self.postgres_before
    }

    /// The CPU seconds that all gateways and all workers have used so far.
    pub fn cpu(&self) -> (f64, f64) {
        let sum = |running: &[Running]| running.iter().map(|one| one.usage().cpu_seconds).sum();
        (sum(&self.gateways), sum(&self.workers))
    }
}

/// The files of an installation.
struct Installation {
    database: Database,
    folder: TempDir,
}

impl Installation {
    async fn make() -> Installation {
        let installation = Installation {
            database: Database::create().await,
            folder: tempfile::tempdir().expect("a folder"),
        };
        let (secret, private, public) = (
            installation.text("secret"),
            installation.text("pass"),
            installation.text("pass.pub"),
        );
        let pair = ["--private", &private, "--public", &public];
        answer(Command::new(binary()).args(["secret", "generate", "--out", &secret]));
        answer(
            Command::new(binary())
                .args(["pass-key", "generate"])
                .args(pair),
        );
        installation
    }

    fn project(&self, tenant: &str, slug: &str) -> PathBuf {
        self.path("repos").join(tenant).join(slug)
    }

    /// Adds tenants and projects `(tenant, project)` by one file, sorted by tenant.
    fn apply(&self, projects: &[(&str, &str)]) {
        let of_tenant = projects
            .chunk_by(|one, other| one.0 == other.0)
            .map(|projects| {
                let slugs = projects.iter().map(|(_, slug)| json!({ "slug": slug }));
                json!({ "slug": projects[0].0, "projects": slugs.collect::<Vec<_>>() })
            });
        let tenants = json!({ "tenants": of_tenant.collect::<Vec<_>>() });
        fs::write(self.path("tenants.json"), tenants.to_string()).expect("a file");
        self.run(&["apply", "--file", &self.text("tenants.json")]);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Passes the database and the secret to a command.
    fn administer(&self, command: &mut Command) {
        let owner = self.database.owner();
        let url = self.database.url(owner.get_username());
        command
            .env("ARCHWAY_SECRET_FILE", self.path("secret"))
            .env("ARCHWAY_MIGRATE_DATABASE_URL", url);
    }

    /// Runs an administration command. Returns its answer.
    fn run(&self, arguments: &[&str]) -> Value {
        let mut command = Command::new(binary());
        command.args(arguments).arg("--json");
        self.administer(&mut command);
        answer(&mut command)
    }

    fn worker(&self, layout: &Layout, number: usize, listen: &str) -> Running {
        let mut command = held(layout.cores.as_deref(), &binary());
        command
            .args(["worker", "--log-format", "json"])
            .args(["--listen", listen, "--admin-listen", "127.0.0.1:0"])
            .args(["--name", &format!("worker-{number}")])
            .arg("--repos")
            .arg(self.path("repos"))
            .arg("--pass-public-file")
            .arg(self.path("pass.pub"))
            .args(&layout.worker_arguments)
            .env("ARCHWAY_DATABASE_URL", self.database.url("archway_worker"));
        Running::start(command)
    }

    fn sync(&self, arguments: &[&str]) -> Running {
        let mut command = Command::new(binary());
        command
            .args(["sync", "--log-format", "json"])
            .args([
                "--hooks-listen",
                "127.0.0.1:0",
                "--admin-listen",
                "127.0.0.1:0",
            ])
            .arg("--repos")
            .arg(self.path("repos"))
            .args(arguments)
            .env("ARCHWAY_DATABASE_URL", self.database.url("archway_sync"));
        Running::start(command)
    }

    fn gateway(&self, layout: &Layout, workers: &[Running]) -> Running {
        let mut command = held(layout.cores.as_deref(), &binary());
        command
            .args(["gateway", "--log-format", "json"])
            .args(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"])
            .arg("--secret-file")
            .arg(self.path("secret"))
            .arg("--pass-key-file")
            .arg(self.path("pass"))
            .args(&layout.gateway_arguments)
            .env("ARCHWAY_DATABASE_URL", self.database.url("archway_gateway"));
        for worker in workers {
            command.args(["--worker", &format!("http://{}", worker.address)]);
        }
        Running::start(command)
    }
}
