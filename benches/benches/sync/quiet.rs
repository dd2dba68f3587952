//! What many quiet repositories behind a listing cost.

use std::{fs, io, time::Duration};

use archway_benches::{Stack, number};
use tokio::time::Instant;

use super::{Organisation, TENANT, cpu};

/// Long enough for a whole listing, which is due every ten minutes.
const SECONDS: usize = 660;
/// How long the first listing may take.
const SETTLES: Duration = Duration::from_secs(30);

/// Adds repositories that were mirrored before and are quiet since, and prints what they cost.
pub(super) async fn measure(stack: &Stack, organisation: &Organisation) {
    let count = number("--quiet", 10_000);
    let seconds = number("--seconds", SECONDS);
    // The host lists the same for every organisation.
    stack.administer(&["connection", "remove", TENANT, "org"]);
    organisation.list_quiet(count);
    organisation.connect(stack, "quiet");
    make_mirrors(stack, count).expect("mirrors");
    for statement in statements(count, organisation) {
        stack.sql(&statement).await;
    }
    let sync = organisation.sync(stack);
    tokio::time::sleep(SETTLES).await;
    let (before, postgres, begun) = (cpu(&sync), stack.postgres_cpu(), Instant::now());
    tokio::time::sleep(Duration::from_secs(
        u64::try_from(seconds).expect("seconds"),
    ))
    .await;
    let took = begun.elapsed().as_secs_f64();
    let share = |used: f64| used / took * 100.0;
    println!(
        "{count} quiet repositories over {took:.0} s: sync {:.2} % of a core (target ≤ 3), {:.0} MiB at most \
         (target ≤ 100); Postgres {:.2} %",
        share(cpu(&sync) - before),
        sync.usage().peak_mib,
        share(stack.postgres_cpu() - postgres)
    );
}

impl Organisation {
    fn list_quiet(&self, count: usize) {
        let entry = |id: usize| {
            let id_there = u64::try_from(id + 1).expect("a number");
            self.host.entry(id_there, &format!("quiet/q{id}"), 1)
        };
        self.host.list((0..count).map(entry).collect());
    }
}

/// Makes mirrors without a commit: what is gone from the volume would be cloned again.
fn make_mirrors(stack: &Stack, count: usize) -> io::Result<()> {
    for number in 0..count {
        let mirror = stack.project_named(TENANT, &format!("q{number}"));
        for folder in ["objects/pack", "refs"] {
            fs::create_dir_all(mirror.join(folder))?;
        }
        let id = format!("{:032x}", number + 1);
        let config = format!("[core]\n\tbare = true\n[archway]\n\tmirror = {id}\n");
        fs::write(mirror.join("config"), config)?;
        fs::write(mirror.join("HEAD"), "ref: refs/heads/main\n")?;
    }
    Ok(())
}

/// Makes the rows of repositories that were found, mirrored, and quiet for two days.
fn statements(count: usize, organisation: &Organisation) -> [String; 3] {
    let base = organisation.host.base();
    let host = base.trim_start_matches("https://");
    let certificate = organisation.host.certificate().display().to_string();
    [
        format!(
            "insert into projects (id, tenant_id, slug) \
             select lpad(to_hex(n + 1), 32, '0')::uuid, id, 'q' || n from tenants, generate_series(0, {count} - 1) n where slug = '{TENANT}'"
        ),
        format!(
            "insert into sources (project_id, tenant_id, url, host, connection_id, host_id, host_path, pushed_at, \
                                  credential, ca_file, description, default_branch, topics) \
             select p.id, p.tenant_id, '{base}/quiet/' || p.slug || '/.git', '{host}', c.id, \
                    (substr(p.slug, 2)::int + 1)::text, 'quiet/' || p.slug, '2026-01-01T00:00:01Z', \
                    'host', '{certificate}', 'about quiet/' || p.slug, 'main', '{{web}}' \
             from projects p join connections c on c.tenant_id = p.tenant_id and c.name = 'quiet' \
             where p.slug ~ '^q[0-9]+$'"
        ),
        "insert into mirrors (project_id, tenant_id, place, state, tried_at, fetched_at, changed_at, next_at) \
         select s.project_id, s.tenant_id, '', 'ok', now(), now(), now() - interval '2 days', \
                now() + random() * interval '1 hour' \
         from sources s join connections c on c.id = s.connection_id and c.name = 'quiet'"
            .to_owned(),
    ]
}
