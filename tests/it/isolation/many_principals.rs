//! Many keys and projects under rules at random: each key sees the projects that a plain model of the rules gives it,
//! and no other. `ARCHWAY_TEST_SEED` repeats a run.

use std::collections::BTreeSet;

use e2e::{Client, Harness, Key, Repo, Stack, Tenant};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::number_from;

const KEYS: usize = 40;
/// The last ones, about whom no rule is but those about everyone.
const UNNAMED: usize = 4;
const PROJECTS: usize = 200;
const RULES: usize = 120;
/// The topic of each seventh project.
const TOPIC: &str = "ledger";
/// The key, and the project, of a rule that shows which changes are in force.
const WATCH: (&str, &str) = ("watch", "site");

/// A project of the model.
struct ModelProject {
    slug: String,
    has_topic: bool,
}

/// An access rule of the model.
struct ModelRule {
    who: String,
    projects: Vec<String>,
    is_deny: bool,
}

impl ModelRule {
    fn random(random: &mut StdRng) -> ModelRule {
        let who = match random.random_range(0..12) {
            0 => "everyone".to_owned(),
            _ => format!("key:{}", random.random_range(0..KEYS - UNNAMED)),
        };
        let count = random.random_range(1..=3);
        ModelRule {
            who,
            projects: (0..count).map(|_| pattern(random)).collect(),
            is_deny: random.random_bool(0.25),
        }
    }

    async fn add(&self, stack: &Stack) -> i64 {
        let projects: Vec<&str> = self.projects.iter().map(String::as_str).collect();
        match self.is_deny {
            true => stack.deny("acme", &self.who, &projects).await,
            false => stack.allow("acme", &self.who, &projects).await,
        }
    }

    fn is_about(&self, label: usize, project: &ModelProject) -> bool {
        let is_for = self.who == "everyone" || self.who == format!("key:{label}");
        let names = |pattern: &String| match pattern.strip_prefix("topic:") {
            Some(topic) => topic == TOPIC && project.has_topic,
            None => is_match(pattern.as_bytes(), project.slug.as_bytes()),
        };
        is_for && self.projects.iter().any(names)
    }
}

fn slug(number: usize) -> String {
    format!("t{}-{number}", number % 5)
}

fn pattern(random: &mut StdRng) -> String {
    let number = random.random_range(0..PROJECTS);
    match random.random_range(0..6) {
        0 => format!("t{}-*", number % 5),
        1 => format!("t?-{}*", number % 20),
        2 => format!("*-{}?", number % 20),
        3 => format!("*{}", number % 10),
        4 => format!("topic:{TOPIC}"),
        _ => slug(number),
    }
}

/// Whether a glob of letters, `*` and `?` fits a slug.
fn is_match(glob: &[u8], slug: &[u8]) -> bool {
    match (glob, slug) {
        ([], []) => true,
        ([b'*', rest @ ..], []) => is_match(rest, slug),
        ([b'*', rest @ ..], [_, after @ ..]) => is_match(rest, slug) || is_match(glob, after),
        ([b'?', rest @ ..], [_, after @ ..]) => is_match(rest, after),
        ([own, rest @ ..], [is, after @ ..]) => own == is && is_match(rest, after),
        _ => false,
    }
}

/// What rules give a key: one of them gives it, and none denies it.
fn given(rules: &[ModelRule], label: usize, projects: &[ModelProject]) -> BTreeSet<String> {
    let is_given = |project: &&ModelProject| {
        let about = rules.iter().filter(|rule| rule.is_about(label, project));
        let about: Vec<&ModelRule> = about.collect();
        !about.is_empty() && about.iter().all(|rule| !rule.is_deny)
    };
    let given = projects.iter().filter(is_given);
    given.map(|project| project.slug.clone()).collect()
}

/// Every page of a key's list.
async fn listed(client: &Client) -> BTreeSet<String> {
    let (mut slugs, mut arguments) = (BTreeSet::new(), json!({}));
    loop {
        let params = json!({ "name": "list_projects", "arguments": arguments });
        let message = client.rpc("tools/call", params).await.json();
        let Some(result) = message.get("result") else {
            // Who is given nothing has no such tool.
            assert_eq!(message["error"]["code"], -32602, "{message}");
            return slugs;
        };
        let page = &result["structuredContent"];
        for project in page["projects"].as_array().unwrap() {
            let slug = project["slug"].as_str().unwrap().to_owned();
            assert!(slugs.insert(slug), "{project} is on two pages");
        }
        match &page["cursor"] {
            Value::Null => {
                assert_eq!(page["total_count"], slugs.len(), "{page}");
                return slugs;
            }
            cursor => arguments["cursor"] = cursor.clone(),
        }
    }
}

/// Adds the projects of the model, as rows without folders.
async fn add_projects(stack: &Stack) -> Vec<ModelProject> {
    let owner = PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    let projects = "insert into projects (tenant_id, slug) \
                    select t.id, 't' || n % 5 || '-' || n from tenants t, generate_series(0, $1) n";
    let last = i32::try_from(PROJECTS - 1).unwrap();
    let added = sqlx::query(projects).bind(last).execute(&owner);
    assert_eq!(added.await.unwrap().rows_affected(), PROJECTS as u64);
    let topics = "insert into sources (project_id, tenant_id, url, host, topics) \
                  select id, tenant_id, 'https://git.example/' || slug, 'git.example', array[$1] \
                  from projects \
                  where case when slug like 't%-%' then split_part(slug, '-', 2)::int % 7 = 0 else false end";
    sqlx::query(topics)
        .bind(TOPIC)
        .execute(&owner)
        .await
        .unwrap();
    owner.close().await;
    let project = |number: usize| ModelProject {
        slug: slug(number),
        has_topic: number.is_multiple_of(7),
    };
    (0..PROJECTS).map(project).collect()
}

/// Waits until the rule of the key `watch` is in force, or no longer. What was changed before is in force, too.
async fn until_watched(stack: &Stack, is_there: bool) {
    let watch = stack.keyed("acme", WATCH.0);
    let is_so = async || (listed(&watch).await.contains(WATCH.1) == is_there).then_some(());
    stack.eventually(is_so).await;
}

/// Panics unless each key sees what the model gives it. Returns how much that is in all.
async fn compare(stack: &Stack, rules: &[ModelRule], projects: &[ModelProject]) -> usize {
    let mut total = 0;
    for label in 0..KEYS {
        let client = stack.keyed("acme", &label.to_string());
        let expected = given(rules, label, projects);
        assert_eq!(listed(&client).await, expected, "the key {label}");
        total += expected.len();
    }
    total
}

#[tokio::test]
async fn each_of_many_keys_sees_what_a_plain_model_of_the_rules_gives_it() {
    let seed = number_from("ARCHWAY_TEST_SEED", 40);
    println!("ARCHWAY_TEST_SEED={seed}");
    let random = &mut StdRng::seed_from_u64(seed);
    let acme = Tenant::new("acme")
        .project(WATCH.1, Repo::new().file("a.txt", "a\n").commit())
        .key(Key::new(WATCH.0));
    let acme = (0..KEYS).fold(acme, |acme, label| acme.key(Key::new(&label.to_string())));
    let stack = Harness::new().tenant(acme).start().await;
    stack.until_listening().await;
    let projects = add_projects(&stack).await;
    let (mut rules, mut ids) = (Vec::new(), Vec::new());
    for _ in 0..RULES {
        let rule = ModelRule::random(random);
        ids.push(rule.add(&stack).await);
        rules.push(rule);
    }
    let watch = format!("key:{}", WATCH.0);
    let watched = stack.allow("acme", &watch, &[WATCH.1]).await;
    until_watched(&stack, true).await;
    let seen = compare(&stack, &rules, &projects).await;
    assert!(seen > KEYS * 10, "the rules give something: {seen}");

    let mut kept = Vec::new();
    for (rule, id) in rules.into_iter().zip(ids) {
        match random.random_bool(0.4) {
            true => stack.remove_rule("acme", id).await,
            false => kept.push(rule),
        }
    }
    stack.remove_rule("acme", watched).await;
    until_watched(&stack, false).await;
    let seen = compare(&stack, &kept, &projects).await;
    println!("{seen} of {} are seen in the end", KEYS * PROJECTS);
}
