//! Random requests: every method, in both eras, of either tenant.

use std::net::SocketAddr;

use e2e::{
    Client, Stack,
    http::{Request, Response},
};
use rand::{Rng, rngs::StdRng, seq::IndexedRandom as _};
use serde_json::{Value, json};

use super::{
    planted::{Kind, Planted, SECOND, Word},
    values::Pool,
};

/// The most cursors and handles that are remembered.
const MOST_KEPT: usize = 200;

/// A client of one tenant and its material for requests.
pub(super) struct Requester {
    /// One for each gateway.
    clients: Vec<Client>,
    pool: Pool,
    handles: Vec<String>,
    tools: Vec<Value>,
}

impl Requester {
    /// A client of a tenant, with its key of this label, that knows the other's names.
    pub(super) async fn new(
        stack: &Stack,
        label: &str,
        (own, other): (&Planted, &Planted),
    ) -> Requester {
        let gateways = 0..stack.gateways().len();
        let clients: Vec<Client> = gateways
            .map(|gateway| stack.at(gateway, own.tenant, label))
            .collect();
        let listed = clients[0].rpc("tools/list", json!({})).await.json();
        Requester {
            clients,
            pool: pool(own, other),
            handles: Vec::new(),
            tools: listed["result"]["tools"].as_array().unwrap().clone(),
        }
    }

    /// The next request and the client that sends it.
    pub(super) fn next(&self, random: &mut StdRng) -> (Request, SocketAddr) {
        let client = self.clients.choose(random).unwrap().clone();
        let to = client.address();
        let modern = random.random_bool(0.4);
        let client = if modern { client.modern() } else { client };
        let (method, params) = self.message(random);
        if method == "DELETE" {
            let credential = format!("Bearer {}", client.key());
            let delete = Request::new("DELETE", "/mcp").header("Authorization", &credential);
            return (self.headed(delete, false, random), to);
        }
        (
            self.headed(client.request(method, params), modern, random),
            to,
        )
    }

    fn headed(&self, request: Request, modern: bool, random: &mut StdRng) -> Request {
        let label = ["agent", "other"].choose(random).unwrap();
        match random.random_range(0..6) {
            0 if modern => request.header("Archway-Session", label),
            0 | 1 => match self.handles.choose(random) {
                Some(handle) => request.header("Mcp-Session-Id", handle),
                None => request,
            },
            2 => request.header("X-Tenant-Id", &plain(&self.pool.text("tenant", random))),
            _ => request,
        }
    }

    fn message(&self, random: &mut StdRng) -> (&'static str, Value) {
        let pool = &self.pool;
        let (method, mut params) = match random.random_range(0..100) {
            0..66 => {
                let tool = self.tools.choose(random).unwrap();
                let arguments = pool.arguments(&tool["inputSchema"], random);
                (
                    "tools/call",
                    json!({ "name": tool["name"], "arguments": arguments }),
                )
            }
            66..76 => ("resources/read", json!({ "uri": pool.text("uri", random) })),
            76..84 => {
                let what = pool.text("what", random);
                let name = self.prompt_name(random);
                (
                    "prompts/get",
                    json!({ "name": name, "arguments": { "what": what } }),
                )
            }
            84..90 => ("completion/complete", self.completion(random)),
            90 => ("tools/list", json!({})),
            91 => ("resources/list", json!({})),
            92 => ("resources/templates/list", json!({})),
            93 => ("prompts/list", json!({})),
            94 => ("server/discover", json!({})),
            95 | 96 => {
                let client_info = json!({ "name": "e2e", "version": "1" });
                let params = json!({
                    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client_info,
                });
                ("initialize", params)
            }
            97 => ("logging/setLevel", json!({ "level": "debug" })),
            98 => ("DELETE", json!({})),
            _ => ("ping", json!({})),
        };
        if random.random_bool(0.1) {
            params["_meta"] = json!({
                "io.archway/tenant": pool.text("tenant", random),
                "io.archway/idempotencyKey": "the same of both",
                "progressToken": 1,
            });
        }
        (method, params)
    }

    fn prompt_name(&self, random: &mut StdRng) -> String {
        let (slug, name) = (
            self.pool.text("project", random),
            self.pool.text("prompt", random),
        );
        let names = [
            name.clone(),
            format!("{slug}/{name}"),
            "common".to_owned(),
            format!("{slug}/common"),
        ];
        names.choose(random).unwrap().clone()
    }

    fn completion(&self, random: &mut StdRng) -> Value {
        let text = |name: &str, random: &mut StdRng| self.pool.text(name, random);
        let uris = [
            "architecture://{project}/{kind}/{slug}",
            "repo://{project}/{path}",
        ];
        let reference = if random.random_bool(0.5) {
            json!({ "type": "ref/prompt", "name": self.prompt_name(random) })
        } else {
            json!({ "type": "ref/resource", "uri": uris.choose(random).unwrap() })
        };
        let names = ["project", "kind", "slug", "path", "what", "pattern_name"];
        let value = text("value", random);
        json!({
            "ref": reference,
            "argument": { "name": names.choose(random).unwrap(), "value": value.get(..3).unwrap_or("") },
            "context": { "arguments": { "project": text("project", random), "kind": "adr" } },
        })
    }

    /// Remembers the cursors and handles in an answer to either tenant.
    pub(super) fn learn(&mut self, answer: &Response) {
        if let Some(handle) = answer.header("mcp-session-id") {
            keep(&mut self.handles, handle);
        }
        let text = answer.text();
        for part in text.split("\"cursor\":\"").skip(1) {
            keep(
                &mut self.pool.cursors,
                part.split('"').next().unwrap_or_default(),
            );
        }
    }
}

fn keep(list: &mut Vec<String>, text: &str) {
    if list.len() < MOST_KEPT {
        list.push(text.to_owned());
    }
}

/// The text as far as a header may contain it.
fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_graphic).collect()
}

fn pool(own: &Planted, other: &Planted) -> Pool {
    let of = |text: fn(&Planted) -> Vec<String>| [own, other].into_iter().flat_map(text).collect();
    // Closed words are not sent, since a refusal may repeat them. Those of the second project are not, since they could be
    // written into the first.
    let is_sayable = |word: &&Word| word.kind != Kind::Shut && !SECOND.contains(&word.place);
    let sayable = own.words.iter().filter(is_sayable);
    let mut names: Vec<String> = sayable.map(|word| word.text.clone()).collect();
    names.extend(other.told().map(str::to_owned));
    names.extend(["gate", "open", "pub fn", "."].map(str::to_owned));
    Pool {
        names,
        slugs: of(|it| vec!["site".to_owned(), it.at("slug").to_owned(), "*".to_owned()]),
        paths: of(|it| {
            let file = format!("{}/{}.rs", it.at("folder"), it.at("file"));
            let decision = format!("docs/adr/0001-{}.md", it.at("decision"));
            let shared = [
                "src/lib.rs",
                "lib.rs",
                ".env",
                "decisions.jsonl",
                "docs/adr/0002-common.md",
            ];
            let mut paths = vec![file, decision, it.at("folder").to_owned()];
            paths.extend(shared.map(str::to_owned));
            paths
        }),
        revisions: of(|it| {
            let known = ["HEAD", "HEAD~1", "main"].map(str::to_owned);
            let own =
                ["branch", "commit", "commit taken back"].map(|place| it.at(place).to_owned());
            [known, own].concat()
        }),
        uris: of(|it| {
            let slug = it.at("slug");
            vec![
                "workflow://current".to_owned(),
                format!("repo://{slug}/lib.rs"),
                format!("repo://site/{}/{}.rs", it.at("folder"), it.at("file")),
                "repo://site/src/lib.rs".to_owned(),
                format!("architecture://site/adr/0001-{}", it.at("decision")),
                "architecture://site/adr/0002-common".to_owned(),
                format!("architecture://site/pattern/{}", it.at("pattern")),
                format!("architecture://{slug}/guideline/common"),
            ]
        }),
        cursors: Vec::new(),
    }
}
