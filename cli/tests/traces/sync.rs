//! Traces of `archway sync`: a run of git is a trace of its own.

use rustix::process::Signal;

use super::Exported;
use crate::role::{Role, archway, wait_until};
use crate::stage::Stage;
use git_http::GitHttp;

#[path = "../dev/git_http.rs"]
mod git_http;

impl Stage {
    /// Adds a project of `acme` that is mirrored from a URL. Returns its id.
    fn add_mirrored(&self, slug: &str, url: &str) -> String {
        let owner = self.url(self.database().get_username());
        let mut add = archway(&["project", "add", "acme", slug, "--git", url]);
        add.args(["--allow-protocol", "http"]);
        let added = add.env("ARCHWAY_MIGRATE_DATABASE_URL", owner).output();
        let added = added.unwrap();
        assert!(added.status.success(), "{added:?}");
        let sql = "select id::text from projects where slug = $1";
        let id = sqlx::query_scalar(sql).bind(slug).fetch_one(&self.owner);
        self.runtime.block_on(id).unwrap()
    }

    /// `archway sync`, which exports everything to this URL.
    fn mirroring(&self, url: &str) -> Role {
        let mirrors = self.path("mirrors");
        std::fs::create_dir(&mirrors).unwrap();
        let mut sync = archway(&["sync", "--log-format", "json", "--otlp-endpoint", url]);
        sync.args(["--admin-listen", "127.0.0.1:0"])
            .args(["--hooks-listen", "127.0.0.1:0"])
            .args(["--allow-protocol", "http", "--volume-percent", "100"])
            .env("ARCHWAY_REPOS", mirrors)
            .env("ARCHWAY_DATABASE_URL", self.url("archway_sync"));
        Role::start(sync)
    }

    fn fetch_now(&self) {
        let sql = "update mirrors set next_at = now(), tried_at = now() - interval '1 minute'";
        let done = sqlx::query(sql).execute(&self.owner);
        self.runtime.block_on(done).unwrap();
    }
}

#[test]
fn each_run_of_git_is_a_trace_that_names_its_project_and_its_state() {
    let stage = Stage::set();
    let collector = stage.collector();
    let host = GitHttp::start(&stage.path("host"), None);
    let wiki_url = host.add("wiki", "sesame\n");
    let gone_url = wiki_url.replace("wiki", "gone");
    let wiki = stage.add_mirrored("wiki", &wiki_url);
    let gone = stage.add_mirrored("absent", &gone_url);
    let sync = stage.mirroring(&collector.url());
    let found = |name: &str, project: &str| {
        let mut all = collector.all().into_iter();
        all.find(|span| span.name == name && span.attribute("project.id") == project)
    };
    let run = |name: &str, project: &str| -> Exported {
        let what = format!("{name} of {project} was exported");
        wait_until(&what, || found(name, project).is_some());
        found(name, project).unwrap()
    };
    let clone = run("git clone", &wiki);
    let failed = run("git clone", &gone);
    stage.fetch_now();
    let fetch = run("git fetch", &wiki);
    for (span, state, error) in [
        (&clone, "ok", ""),
        (&failed, "not_found", "not_found"),
        (&fetch, "ok", ""),
    ] {
        assert_eq!(
            (span.service.as_str(), span.kind),
            ("archway-sync", "client")
        );
        assert_eq!(span.parent, "", "it is the root of its trace");
        assert_eq!(span.attribute("tenant.id").len(), 36, "{span:?}");
        assert_eq!(span.attribute("archway.sync.state"), state);
        assert_eq!(span.attribute("error.type"), error);
        assert_eq!(span.failed, !error.is_empty());
        let attributes = format!("{:?}", span.attributes);
        for hidden in ["127.0.0.1", "wiki", "acme", "mirrors"] {
            assert!(!attributes.contains(hidden), "{attributes}");
        }
    }
    assert!(clone.trace != fetch.trace && clone.trace != failed.trace);
    sync.signal(Signal::TERM);
    let (code, log) = sync.end();
    assert_eq!(code, Some(0), "{log}");
}
