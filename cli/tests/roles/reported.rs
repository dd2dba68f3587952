//! What a worker reports about the projects whose folders it sees.

use tokio::time::{Duration, Instant};

use crate::role::{Role, wait_until};
use crate::stage::Stage;

const SITE: &str = "select count(*) from mounted_folders m join projects p on p.id = m.project_id \
                    where p.slug = 'site' and seen_at > now() - interval '60 seconds'";
const LATE: &str = "select count(*) from mounted_folders m join projects p on p.id = m.project_id \
                    where p.slug = 'late' and seen_at > now() - interval '60 seconds'";

impl Stage {
    fn change_projects(&self, statement: &'static str) {
        let done = sqlx::query(statement).execute(&self.owner);
        self.runtime.block_on(done).unwrap();
    }

    /// Waits for a count. Fails if it takes longer than two polls of a worker.
    fn soon(&self, what: &str, query: &'static str, count: i64) {
        let began = Instant::now();
        wait_until(what, || self.count(query) == count);
        let took = began.elapsed();
        assert!(took < Duration::from_secs(10), "{what}: {took:?}");
    }
}

#[test]
fn a_worker_logs_projects_that_appear_and_disappear_within_seconds() {
    let stage = Stage::set();
    let _worker = Role::start(stage.worker("127.0.0.1:0"));
    stage.soon("the first report is there", SITE, 1);
    let folder = stage.path("repos/acme/late");
    std::fs::create_dir_all(&folder).unwrap();
    stage.change_projects(
        "insert into projects (tenant_id, slug) select id, 'late' from tenants where slug = 'acme'",
    );
    stage.soon("the new project was seen", LATE, 1);
    std::fs::remove_dir(&folder).unwrap();
    stage.soon("the project that went was taken back", LATE, 0);
    stage.change_projects("update worker_mounts set seen_at = now() - interval '70 seconds'");
    stage.change_projects("update worker_reports set seen_at = now() - interval '70 seconds'");
    stage.soon("the worker said that it lives", SITE, 1);
}
