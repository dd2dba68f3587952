//! Deliveries and attacks against the route, with connections in memory.

mod forged;
mod handled;
mod hostile;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_lc_rs::hmac;
use http::Method;
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use tower::ServiceExt as _;

use super::*;

const PUSH: &str = r#"{"ref":"refs/heads/main","repository":{"id":42,"full_name":"acme/site"}}"#;

/// Connections of the tenant `acme`: `github`, `gitlab`, `gitea`, each with its own secret, and `bare`.
struct KnownConnections {
    connections: Vec<(&'static str, HookTarget, Option<&'static str>)>,
    looked_up: Mutex<Vec<String>>,
    secrets_read: Mutex<Vec<String>>,
    events: Mutex<Vec<HookEvent>>,
    fails: AtomicBool,
    hangs: AtomicBool,
}

impl HookConnections for Arc<KnownConnections> {
    async fn find(
        &self,
        tenant: &str,
        connection: &str,
    ) -> Result<Option<HookTarget>, HookStoreError> {
        self.looked_up.lock().push(format!("{tenant}/{connection}"));
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        let mut all = self.connections.iter();
        let found = all.find(|(name, ..)| tenant == "acme" && *name == connection);
        Ok(found.map(|(_, target, _)| *target))
    }

    fn secret(&self, tenant: &str, connection: &str) -> Option<SecretString> {
        self.secrets_read
            .lock()
            .push(format!("{tenant}/{connection}"));
        let mut all = self.connections.iter();
        let found = all.find(|(name, ..)| *name == connection);
        found.and_then(|(_, _, secret)| secret.map(SecretString::from))
    }

    async fn due(&self, _connection: Uuid, event: HookEvent) -> Result<(), HookStoreError> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(HookStoreError("connection refused".into()));
        }
        self.events.lock().push(event);
        Ok(())
    }
}

struct Endpoint {
    known: Arc<KnownConnections>,
    router: Router,
}

/// A delivery as a host would send it, before a test spoils it.
struct Sent {
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Body,
}

impl Endpoint {
    fn new() -> Endpoint {
        let connection = |name, host, secret| {
            let id = Uuid::new_v4();
            (name, HookTarget { id, host }, secret)
        };
        let known = Arc::new(KnownConnections {
            connections: vec![
                connection("github", HookHost::GitHub, Some("sesame-github")),
                connection("gitlab", HookHost::GitLab, Some("sesame-gitlab")),
                connection("gitea", HookHost::Gitea, Some("sesame-gitea")),
                connection("bare", HookHost::GitHub, None),
                connection("empty", HookHost::GitHub, Some("")),
                connection("empty-gitlab", HookHost::GitLab, Some("")),
            ],
            looked_up: Mutex::default(),
            secrets_read: Mutex::default(),
            events: Mutex::default(),
            fails: AtomicBool::new(false),
            hangs: AtomicBool::new(false),
        });
        let router = router(known.clone());
        Endpoint { known, router }
    }

    async fn send(&self, sent: Sent) -> u16 {
        let mut request = http::Request::builder().method(Method::POST).uri(sent.path);
        for (name, value) in sent.headers {
            request = request.header(name, value);
        }
        self.request(request.body(sent.body).unwrap()).await
    }

    /// The status of an answer, which has no body.
    async fn request(&self, request: Request) -> u16 {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(body.is_empty());
        status
    }

    fn events(&self) -> Vec<HookEvent> {
        std::mem::take(&mut self.known.events.lock())
    }
}

fn sign(secret: &str, body: &[u8]) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), body);
    tag.as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A push that GitHub signed.
fn push() -> Sent {
    github("push", PUSH)
}

fn github(event: &str, body: &str) -> Sent {
    Sent {
        path: "/hooks/acme/github".to_owned(),
        headers: vec![
            ("X-GitHub-Event", event.to_owned()),
            ("X-GitHub-Delivery", Uuid::new_v4().to_string()),
            (
                "X-Hub-Signature-256",
                format!("sha256={}", sign("sesame-github", body.as_bytes())),
            ),
        ],
        body: Body::from(body.to_owned()),
    }
}

impl Sent {
    fn to(mut self, path: &str) -> Sent {
        self.path = path.to_owned();
        self
    }

    fn without(mut self, name: &str) -> Sent {
        self.headers.retain(|(header, _)| *header != name);
        self
    }

    fn and(mut self, name: &'static str, value: impl Into<String>) -> Sent {
        self.headers.push((name, value.into()));
        self
    }

    fn with(self, name: &'static str, value: impl Into<String>) -> Sent {
        self.without(name).and(name, value)
    }

    fn body(mut self, body: Body) -> Sent {
        self.body = body;
        self
    }
}

fn fetch_of_site() -> Vec<HookEvent> {
    vec![HookEvent {
        kind: HookEventKind::Fetch,
        repository: Some("42".to_owned()),
        full_name: Some("acme/site".to_owned()),
        is_private: false,
    }]
}
