//! Whose turn it is: the database's functions of `archway sync`, at a place that no process serves.

use e2e::Stack;
use serde_json::json;
use sqlx::{PgConnection, postgres::PgListener};
use tokio::time::{Duration, timeout};
use uuid::Uuid;

use super::Mirrored;

/// Three projects whose mirrors are at the place `elsewhere`.
struct Elsewhere {
    mirrored: Mirrored,
    owner: PgConnection,
}

impl Elsewhere {
    async fn start() -> Elsewhere {
        let mut mirrored = Mirrored::start().await;
        mirrored.stop_sync().await;
        for slug in ["a", "b", "c"] {
            let url = format!("https://{slug}.example/acme/{slug}.git");
            mirrored.add(slug, &url, None, None).await;
        }
        mirrored
            .execute(
                "insert into mirrors (project_id, tenant_id, place, next_at)
                 select project_id, tenant_id, 'elsewhere', now() - interval '1 hour' from sources",
            )
            .await;
        let owner = owner(&mirrored.stack).await;
        Elsewhere { mirrored, owner }
    }

    /// Changes the mirror of a project.
    async fn change(&self, slug: &str, changes: &str) {
        let of = format!("where project_id = (select id from projects where slug = '{slug}')");
        self.mirrored
            .execute(&format!("update mirrors set {changes} {of}"))
            .await;
    }

    /// Leases a mirror, and says of which project.
    async fn lease(&mut self, without_clones: &[&str], may_clone: bool) -> Option<String> {
        let without: Vec<String> = without_clones.iter().map(|it| (*it).to_owned()).collect();
        sqlx::query_scalar("select project from lease_mirror('elsewhere', $1, '{}', $2, $3, 60)")
            .bind(Uuid::new_v4())
            .bind(without)
            .bind(may_clone)
            .fetch_optional(&mut self.owner)
            .await
            .unwrap()
    }
}

async fn owner(stack: &Stack) -> PgConnection {
    use sqlx::Connection as _;
    PgConnection::connect_with(&stack.database().owner())
        .await
        .unwrap()
}

#[tokio::test]
async fn requests_have_most_turns_and_nothing_waits_for_ever() {
    let mut place = Elsewhere::start().await;
    let served = "state = 'ok', fetched_at = now() - interval '1 day', leased_until = '-infinity'";
    let requested = format!("{served}, is_requested = true");
    let mut leased = Vec::new();
    // Each is due again at once. That one has half as many turns as it should happens once in 10^6 times.
    for _ in 0..200 {
        place.change("a", "leased_until = '-infinity'").await;
        place.change("b", served).await;
        place.change("c", &requested).await;
        leased.extend(place.lease(&[], true).await);
    }
    for (slug, least) in [("a", 25), ("b", 25), ("c", 60)] {
        let turns = leased.iter().filter(|it| *it == slug).count();
        assert!(turns >= least, "{slug}: {turns} of 200");
    }
}

#[tokio::test]
async fn a_busy_host_or_process_takes_no_first_clone() {
    let mut place = Elsewhere::start().await;
    for slug in ["b", "c"] {
        place
            .change(slug, "next_at = now() + interval '1 hour'")
            .await;
    }
    assert_eq!(place.lease(&[], false).await, None);
    assert_eq!(place.lease(&["a.example"], true).await, None);
    assert_eq!(place.lease(&[], true).await.as_deref(), Some("a"));
    assert_eq!(place.lease(&[], true).await, None, "it is leased");
}

#[tokio::test]
async fn what_is_not_in_use_is_not_due_until_it_is_again() {
    let mut place = Elsewhere::start().await;
    let next = async |place: &mut Elsewhere| -> Vec<String> {
        let add =
            "select add_mirrors(gen_random_uuid(), '1', 'box', null, null, 'elsewhere', null)";
        place.mirrored.execute(add).await;
        let due = "select p.slug from mirrors m join projects p on p.id = m.project_id
                   where m.place = 'elsewhere' and m.next_at <= now() order by p.slug";
        sqlx::query_scalar(due)
            .fetch_all(&mut place.owner)
            .await
            .unwrap()
    };
    let tenant = async |place: &Elsewhere, set: &str| {
        let sql = format!("update tenants set disabled_at = {set} where slug = 'acme'");
        place.mirrored.execute(&sql).await;
    };
    let project = async |place: &Elsewhere, set: &str| {
        let sql = format!("update projects set removed_at = {set} where slug = 'a'");
        place.mirrored.execute(&sql).await;
    };
    assert_eq!(next(&mut place).await, ["a", "b", "c"]);
    project(&place, "now()").await;
    assert_eq!(next(&mut place).await, ["b", "c"]);
    tenant(&place, "now()").await;
    assert_eq!(next(&mut place).await, Vec::<String>::new());
    tenant(&place, "null").await;
    project(&place, "null").await;
    assert_eq!(next(&mut place).await, ["a", "b", "c"]);
}

#[tokio::test]
async fn workers_hear_of_what_a_stopped_run_published() {
    let mut place = Elsewhere::start().await;
    place.change("a", "head = 'old', fetched_at = now()").await;
    let pool = sqlx::PgPool::connect_lazy_with(place.mirrored.stack.database().owner());
    let mut listener = PgListener::connect_with(&pool).await.unwrap();
    listener.listen("archway_projects").await.unwrap();
    let (project, number): (Uuid, i64) =
        sqlx::query_as("select id, m.lease_number from projects p join mirrors m on m.project_id = p.id where slug = 'a'")
            .fetch_one(&mut place.owner)
            .await
            .unwrap();
    // The next run brings nothing: the new commit is there already.
    for (head, is_heard) in [("new", true), ("new", false)] {
        sqlx::query("select record_mirror($1, 'elsewhere', $2, 'ok', false, $3, 1, 30)")
            .bind(project)
            .bind(number)
            .bind(head)
            .execute(&mut place.owner)
            .await
            .unwrap();
        // What came before this notification was heard before it.
        place
            .mirrored
            .execute("select pg_notify('archway_projects', 'end')")
            .await;
        let mut heard = Vec::new();
        while heard.last().is_none_or(|last| last != "end") {
            let next = timeout(Duration::from_secs(30), listener.recv()).await;
            heard.push(next.unwrap().unwrap().payload().to_owned());
        }
        let of_project = heard.iter().any(|it| it.ends_with(&project.to_string()));
        assert_eq!(of_project, is_heard, "{heard:?}");
    }
}

#[tokio::test]
async fn only_a_mirror_that_is_out_of_use_for_long_is_leased_to_remove() {
    let mut place = Elsewhere::start().await;
    for (slug, days) in [("a", 8), ("b", 6)] {
        let removed = format!("set removed_at = now() - interval '{days} days'");
        let sql = format!("update projects {removed} where slug = '{slug}'");
        place.mirrored.execute(&sql).await;
    }
    let lease =
        "select project from lease_expired_mirror('elsewhere', gen_random_uuid(), 7 * 86400, 60)";
    for expected in [Some("a"), None] {
        let leased: Option<String> = sqlx::query_scalar(lease)
            .fetch_optional(&mut place.owner)
            .await
            .unwrap();
        assert_eq!(leased.as_deref(), expected);
    }
}

#[tokio::test]
async fn a_repository_that_is_asked_for_is_run_once_in_ten_seconds() {
    let place = Elsewhere::start().await;
    let mirrored = &place.mirrored;
    mirrored.connect(json!({})).await;
    let of = "(select id from projects where slug = 'a')";
    let found = "connection_id = (select id from connections), host_id = '1', host_path = 'acme/a'";
    mirrored
        .execute(&format!(
            "update sources set {found} where project_id = {of}"
        ))
        .await;
    let hook =
        |which: &str| format!("select request_mirrors((select id from connections), {which})");
    let assert_that = async |expected: &str| {
        let is_so = format!("select {expected} from mirrors where project_id = {of}");
        assert!(mirrored.ask::<bool>(&is_so).await, "{expected}");
    };
    let is_later = "next_at = tried_at + interval '10 seconds'";
    for hook in [None, Some(hook("'1', null")), Some(hook("null, 'acme/a'"))] {
        let request = async |tried: &str| {
            let next = "next_at = now() + interval '1 hour', is_requested = false";
            place
                .change("a", &format!("tried_at = {tried}, {next}"))
                .await;
            match &hook {
                Some(hook) => mirrored.execute(hook).await,
                None => mirrored.run("a").await,
            }
        };
        request("now()").await;
        assert_that(is_later).await;
        request("now() - interval '1 minute'").await;
        assert_that("next_at <= now()").await;
    }
    // It is asked for while it runs.
    place
        .change(
            "a",
            "tried_at = now(), is_requested = true, lease_number = 5",
        )
        .await;
    let done = format!("select record_mirror({of}, 'elsewhere', 5, 'ok', false, null, 1, 3600)");
    mirrored.execute(&done).await;
    assert_that(is_later).await;
}
