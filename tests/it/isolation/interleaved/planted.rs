//! Planted words: one for each place where a tenant's repository, memory or administration can hold text.
//!
//! Words consist of letters, so that an index, a regex, JSON and a URI leave them unchanged.

use std::collections::BTreeMap;

use archway_gateway::terms::Level;
use e2e::{Harness, Key, Repo, Stack, Tenant, git};
use rand::{Rng, rngs::StdRng};
use serde_json::json;
use sqlx::PgPool;

/// Who may see a word, and who knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::isolation) enum Kind {
    /// The tenant's own, unknown to the other.
    Secret,
    /// A name that the other tenant uses: it may be repeated to a client that sent it.
    Bait,
    /// A name that the operator's logs and lists may contain.
    Name,
    /// Closed: not even its own tenant may see it.
    Shut,
}

/// The places, and the kind of word that each holds.
const PLACES: [(&str, Kind); 28] = [
    ("content", Kind::Secret),
    ("symbol", Kind::Secret),
    ("uncommitted", Kind::Secret),
    ("removed line", Kind::Secret),
    ("author", Kind::Secret),
    ("address", Kind::Secret),
    ("message", Kind::Secret),
    ("branch content", Kind::Secret),
    ("decision title", Kind::Secret),
    ("decision text", Kind::Secret),
    ("pattern text", Kind::Secret),
    ("guideline text", Kind::Secret),
    ("prompt text", Kind::Secret),
    ("prompt description", Kind::Secret),
    ("event", Kind::Secret),
    ("entry", Kind::Secret),
    ("discovery", Kind::Secret),
    ("second content", Kind::Secret),
    ("display name", Kind::Secret),
    ("file", Kind::Bait),
    ("folder", Kind::Bait),
    ("branch", Kind::Bait),
    ("decision", Kind::Bait),
    ("pattern", Kind::Bait),
    ("prompt", Kind::Bait),
    ("slug", Kind::Name),
    ("environment", Kind::Shut),
    ("taken back", Kind::Shut),
];

/// The places of a tenant's second project. Its slug is in addresses that are sent, and so may be written elsewhere.
pub(super) const SECOND: [&str; 2] = ["second content", "display name"];
/// The label of a key that no access rule gives the second project.
pub(super) const NARROW: &str = "narrow";

/// A word and its place.
#[derive(Clone, Debug)]
pub(in crate::isolation) struct Word {
    pub(in crate::isolation) place: &'static str,
    pub(in crate::isolation) kind: Kind,
    pub(in crate::isolation) text: String,
}

/// The words of one tenant.
#[derive(Clone, Debug)]
pub(in crate::isolation) struct Planted {
    pub(in crate::isolation) tenant: &'static str,
    pub(in crate::isolation) words: Vec<Word>,
}

impl Planted {
    /// New words for every place.
    pub(in crate::isolation) fn new(tenant: &'static str, random: &mut StdRng) -> Planted {
        let word = |(place, kind): (&'static str, Kind)| Word {
            place,
            kind,
            text: (0..14)
                .map(|_| char::from(random.random_range(b'a'..=b'z')))
                .collect(),
        };
        let words = PLACES.map(word).to_vec();
        Planted { tenant, words }
    }

    /// The word at a place.
    pub(in crate::isolation) fn at(&self, place: &str) -> &str {
        let mut words = self.words.iter();
        let found = words.find(|word| word.place == place);
        &found.unwrap_or_else(|| panic!("nothing at {place}")).text
    }

    /// What the holder of the key `narrow` may see, and what nobody shows it: the other tenant's, and the second project.
    pub(in crate::isolation) fn narrowed(&self, other: &Planted) -> (Planted, Planted) {
        let (mut own, mut hidden) = (self.clone(), other.clone());
        own.words.retain(|word| !SECOND.contains(&word.place));
        let second = self
            .words
            .iter()
            .filter(|word| SECOND.contains(&word.place));
        hidden.words.extend(second.cloned());
        (own, hidden)
    }

    /// The names that the other tenant knows.
    pub(in crate::isolation) fn told(&self) -> impl Iterator<Item = &str> {
        let told = |word: &&Word| matches!(word.kind, Kind::Bait | Kind::Name);
        self.words
            .iter()
            .filter(told)
            .map(|word| word.text.as_str())
    }

    /// A tenant with a project whose slug every tenant has, and one of its own.
    pub(in crate::isolation) fn tenant(&self, other: &Planted) -> Tenant {
        let second = Repo::new().file("lib.rs", format!("// {}\n", self.at("second content")));
        Tenant::new(self.tenant)
            .project("site", self.repo(other))
            .project(self.at("slug"), second.commit())
            .key(Key::new(NARROW))
            .limit(Level::Key, "prompts/get", 0)
            .limit(Level::Tenant, "prompts/get", 0)
    }

    fn repo(&self, other: &Planted) -> Repo {
        let at = |place| self.at(place);
        let linked = format!(
            "linked_projects = ['{}', '{}']\n",
            at("slug"),
            other.at("slug")
        );
        let decision = format!(
            "# Use {}\n\n## Status\n\nAccepted\n\n## Decision\n\nWe will use {} for the gate.\n",
            at("decision title"),
            at("decision text")
        );
        let pattern = format!("# Gates\n\nIt MUST NOT use `{}`.\n", at("pattern text"));
        let source = format!(
            "/// Opens the {} gate.\npub fn open_{}() {{}}\n",
            at("content"),
            at("symbol")
        );
        Repo::new()
            .file("src/lib.rs", format!("{source}// {}\n", at("removed line")))
            .file(&format!("{}/{}.rs", at("folder"), at("file")), &source)
            .file(&format!("docs/adr/0001-{}.md", at("decision")), &decision)
            .file("docs/adr/0002-common.md", &decision)
            .file(
                &format!("docs/architecture/patterns/{}.md", at("pattern")),
                pattern,
            )
            .file(
                "docs/architecture/guidelines/common.md",
                format!("# Logs\n\nLine by line, {}.\n", at("guideline text")),
            )
            .file(".archway/prompts/own.json", self.prompt(at("prompt")))
            .file(".archway/prompts/common.json", self.prompt("common"))
            .file(".archway.toml", linked)
            .file(".env", format!("TOKEN={}\n", at("environment")))
            .commit()
    }

    fn prompt(&self, name: &str) -> String {
        let text = format!(
            "{} {{{{tool:grep_codebase}}}} {{{{result:grep_codebase}}}} {{{{what}}}}",
            self.at("prompt text")
        );
        json!({
            "name": name, "description": self.at("prompt description"),
            "arguments": [{ "name": "what", "required": false }],
            "messages": [{ "role": "user", "content": { "type": "text", "text": text } }],
        })
        .to_string()
    }

    /// Changes to the running stack: commits, a branch, an entry, a discovery.
    pub(in crate::isolation) async fn plant(&self, stack: &Stack) {
        self.commit(stack);
        let client = stack.client(self.tenant);
        let entry = json!({
            "timestamp": "2026-01-07T14:00:00Z", "decision": self.at("entry"), "event": self.at("event"),
        });
        for (tool, mut arguments) in [
            (
                "write_memory_entry",
                json!({ "file": "decisions.jsonl", "entry": entry }),
            ),
            (
                "record_discovery",
                json!({ "type": "rule", "content": self.at("discovery") }),
            ),
        ] {
            arguments["project"] = json!("site");
            client.call(tool, arguments).await.structured();
        }
        let owner = PgPool::connect_with(stack.database().owner())
            .await
            .unwrap();
        let named = sqlx::query("update projects set name = $3 where tenant_id = $1 and slug = $2");
        let named = named
            .bind(stack.tenant_id(self.tenant))
            .bind(self.at("slug"))
            .bind(self.at("display name"));
        assert_eq!(named.execute(&owner).await.unwrap().rows_affected(), 1);
        owner.close().await;
    }

    fn commit(&self, stack: &Stack) {
        let folder = stack.folder(self.tenant, "site");
        let at = |place| self.at(place);
        let author = format!("{} <{}@example.com>", at("author"), at("address"));
        let write = |text: &str| std::fs::write(folder.join("src/lib.rs"), text).unwrap();
        let commit = |more: &[&str]| {
            git(&folder, &["add", "--all"]);
            git(
                &folder,
                &[&["commit", "--quiet", "--author", &author], more].concat(),
            );
        };
        git(&folder, &["checkout", "--quiet", "-b", at("branch")]);
        write(&format!("// {}\n", at("branch content")));
        commit(&["--message", "on a branch"]);
        git(&folder, &["checkout", "--quiet", "main"]);
        write(&format!("// {}\n", at("taken back")));
        commit(&["--message", "a mistake"]);
        write(&format!(
            "/// {}\npub fn open_{}() {{}}\n",
            at("content"),
            at("symbol")
        ));
        commit(&["--amend", "--message", at("message")]);
        write(&format!(
            "/// {}\npub fn open_{}() {{}}\n// {}\n",
            at("content"),
            at("symbol"),
            at("uncommitted")
        ));
    }
}

/// Two tenants and their planted words.
pub(in crate::isolation) async fn two(
    random: &mut StdRng,
    harness: Harness,
) -> (Stack, [Planted; 2]) {
    let planted = ["acme", "zeta"].map(|tenant| Planted::new(tenant, random));
    let [acme, zeta] = &planted;
    let stack = harness.tenant(acme.tenant(zeta)).tenant(zeta.tenant(acme));
    let stack = stack.start().await;
    for tenant in &planted {
        tenant.plant(&stack).await;
    }
    (stack, planted)
}

/// More secrets of a tenant: ids, which the other knows, and credentials, which it does not.
pub(in crate::isolation) fn more_words(stack: &Stack, planted: &mut Planted) {
    let folder = stack.folder(planted.tenant, "site");
    let head = git(&folder, &["rev-parse", "HEAD"]);
    let taken_back = git(&folder, &["rev-parse", "HEAD@{1}"]);
    let key = stack.client(planted.tenant).key().to_owned();
    let parts: Vec<&str> = key.split('_').collect();
    let more = BTreeMap::from([
        ("commit", (Kind::Bait, head)),
        ("commit taken back", (Kind::Bait, taken_back)),
        (
            "tenant id",
            (Kind::Name, stack.tenant_id(planted.tenant).to_string()),
        ),
        ("key id", (Kind::Name, parts[1].to_owned())),
        ("key", (Kind::Shut, parts[2].to_owned())),
    ]);
    let more = more.into_iter();
    let word = |(place, (kind, text))| Word { place, kind, text };
    planted.words.extend(more.map(word));
}
