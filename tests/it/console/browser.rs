//! A real Chromium under a test's control.

use e2e::Stack;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::programs::{Talk, given};

/// A browser with one page.
pub(super) struct Browser {
    talk: Talk,
    _profile: TempDir,
}

/// How a page is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) width: u32,
    pub(super) dark: bool,
}

/// A desktop's window in daylight.
pub(super) const DESKTOP: View = View {
    width: 1280,
    dark: false,
};

impl Browser {
    /// `None` outside of `tests/run`.
    pub(super) fn start() -> Option<Browser> {
        let profile = TempDir::new().unwrap();
        let mut command = Command::new(given("ARCHWAY_TEST_NODE")?);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/browser.mjs");
        command.arg(script);
        command.arg(given("ARCHWAY_TEST_CHROMIUM")?);
        command.arg(profile.path());
        Some(Browser {
            talk: Talk::start(command),
            _profile: profile,
        })
    }

    async fn ask(&mut self, command: &Value) -> Value {
        self.talk.say(&command.to_string()).await;
        let mut answer = self.talk.hear().await;
        assert!(answer["error"].is_null(), "{command}: {answer}");
        answer["value"].take()
    }

    /// Loads a page of the first gateway.
    pub(super) async fn open(&mut self, stack: &Stack, path: &str, view: View) {
        self.visit(&format!("http://{}{path}", stack.admin()), view)
            .await;
    }

    /// Loads a page.
    pub(super) async fn visit(&mut self, url: &str, View { width, dark }: View) {
        let command = json!({ "open": url, "width": width, "height": 800, "dark": dark });
        self.ask(&command).await;
    }

    /// Clicks on an element, and waits for the next page.
    pub(super) async fn follow(&mut self, selector: &str) {
        self.ask(&json!({ "follow": selector })).await;
    }

    /// The value of an expression in the page.
    pub(super) async fn run(&mut self, script: &str) -> Value {
        self.ask(&json!({ "run": script })).await
    }

    /// Waits until an expression holds.
    pub(super) async fn until(&mut self, script: &str) {
        let wait = format!(
            "new Promise((done, late) => {{ const end = Date.now() + 30000; (function look() {{ \
               if ({script}) done(); \
               else if (Date.now() > end) late(new Error('not in time: ' + document.body.innerText)); \
               else setTimeout(look, 20); }})(); }})"
        );
        self.run(&wait).await;
    }

    /// Presses a key.
    pub(super) async fn press(&mut self, key: &str) {
        self.ask(&json!({ "press": key })).await;
    }

    /// Types a text.
    pub(super) async fn enter(&mut self, text: &str) {
        self.ask(&json!({ "type": text })).await;
    }

    /// Takes a picture of the whole page.
    pub(super) async fn picture(&mut self, file: &str) {
        self.ask(&json!({ "picture": file })).await;
    }
}
