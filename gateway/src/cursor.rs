//! Cursors: a worker's plain position in a list, sealed so that clients can neither read nor forge
//! it.
//!
//! A sealed cursor is valid for an hour, for the same tenant, tool, project and arguments; anything
//! else is rejected as an invalid cursor. Replicas share the root secret, so any of them can open
//! it.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use archway_proto::{failure::Failure, fault::Fault};
use aws_lc_rs::digest;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use crate::secrets::{RootSecret, SecretError};

/// The tool argument, and the result field, that carries a cursor.
pub(crate) const CURSOR: &str = "cursor";

const LIFETIME_SECONDS: u32 = 3600;
/// A longer text cannot be a cursor. Those of tools have at most 96 characters, of which 27 are the seal; those of lists
/// of resources hold a URI.
const LONGEST: usize = 8192;

/// Seals and opens cursors.
#[derive(Clone)]
pub(crate) struct Cursors {
    secret: Arc<RootSecret>,
}

/// What a cursor is bound to.
pub(crate) struct CursorContext([u8; 32]);

impl CursorContext {
    /// The context of a call, from its caller's [scope](crate::caller::Principal::cursor_scope) and its normalised
    /// arguments. `default_project` counts only where the arguments name no project.
    pub(crate) fn new(
        scope: &[u8],
        tool: &str,
        default_project: Option<&str>,
        arguments: &Map<String, Value>,
    ) -> Self {
        let mut parts: Vec<(&str, String)> = arguments
            .iter()
            .filter(|(name, _)| *name != CURSOR)
            .map(|(name, value)| (name.as_str(), value.to_string()))
            .collect();
        if !arguments.contains_key("project") {
            parts.push(("project", Value::from(default_project).to_string()));
        }
        parts.sort();
        let mut hash = digest::Context::new(&digest::SHA256);
        hash.update(scope);
        // JSON text separates the parts, so no two contexts have the same bytes.
        hash.update(serde_json::json!([tool, parts]).to_string().as_bytes());
        let mut context = [0; 32];
        context.copy_from_slice(hash.finish().as_ref());
        CursorContext(context)
    }
}

impl Cursors {
    pub(crate) fn new(secret: Arc<RootSecret>) -> Self {
        Cursors { secret }
    }

    /// The sealed form of a worker's cursor.
    pub(crate) fn seal(&self, context: &CursorContext, plain: &str) -> Result<String, SecretError> {
        self.seal_until(context, plain, now().saturating_add(LIFETIME_SECONDS))
    }

    /// Opens a sealed cursor. Returns a failure for the agent if it is forged, expired or belongs
    /// to another call.
    pub(crate) fn open(&self, context: &CursorContext, sealed: &str) -> Result<String, Failure> {
        self.try_open(context, sealed).ok_or_else(|| {
            Failure::new(
                Fault::InvalidArguments,
                "the cursor is not valid for this call, or is older than an hour",
                "start again without a cursor, and keep all other arguments the same from page \
                 to page",
            )
        })
    }

    fn seal_until(
        &self,
        context: &CursorContext,
        plain: &str,
        until: u32,
    ) -> Result<String, SecretError> {
        let bytes = [&until.to_be_bytes(), plain.as_bytes()].concat();
        let sealed = self.secret.seal_cursor(&context.0, &bytes)?;
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    fn try_open(&self, context: &CursorContext, sealed: &str) -> Option<String> {
        let sealed = (sealed.len() <= LONGEST).then(|| URL_SAFE_NO_PAD.decode(sealed).ok())??;
        let bytes = self.secret.open_cursor(&context.0, &sealed)?;
        let (until, plain) = bytes.split_first_chunk()?;
        let fresh = now() < u32::from_be_bytes(*until);
        fresh.then(|| String::from_utf8(plain.to_vec()).ok())?
    }
}

/// Seconds since 1970, until 2106.
fn now() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u32::try_from(since.as_secs()).unwrap_or(u32::MAX)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cursors() -> Cursors {
        let line = RootSecret::generate_line().unwrap();
        Cursors::new(Arc::new(RootSecret::parse(&line).unwrap()))
    }

    fn context(tenant: u128, tool: &str, default: Option<&str>, arguments: Value) -> CursorContext {
        let arguments = arguments.as_object().unwrap();
        CursorContext::new(&tenant.to_be_bytes(), tool, default, arguments)
    }

    #[test]
    fn a_cursor_opens_for_the_same_call_whatever_cursor_it_carries() {
        let cursors = cursors();
        let first = context(1, "list_files", Some("site"), json!({ "pattern": "*.rs" }));
        let sealed = cursors.seal(&first, "500").unwrap();
        let next = json!({ "cursor": sealed.clone(), "pattern": "*.rs" });
        let next = context(1, "list_files", Some("site"), next);
        assert_eq!(cursors.open(&next, &sealed).unwrap(), "500");
    }

    #[test]
    fn the_longest_cursor_of_a_tool_has_96_characters() {
        let context = context(1, "git_log", None, json!({}));
        let sealed = cursors().seal(&context, &"7".repeat(52)).unwrap();
        assert_eq!(sealed.len(), 96);
    }

    #[test]
    fn a_cursor_opens_for_no_other_tenant_tool_project_or_argument() {
        let cursors = cursors();
        let sealed = cursors
            .seal(
                &context(1, "a", Some("site"), json!({ "pattern": "x" })),
                "1",
            )
            .unwrap();
        for other in [
            context(2, "a", Some("site"), json!({ "pattern": "x" })),
            context(1, "b", Some("site"), json!({ "pattern": "x" })),
            context(1, "a", Some("docs"), json!({ "pattern": "x" })),
            context(1, "a", Some("site"), json!({ "pattern": "y" })),
            context(1, "a", Some("site"), json!({})),
            context(1, "a", Some("site"), json!({ "pattern": "x", "limit": 1 })),
        ] {
            let failure = cursors.open(&other, &sealed).unwrap_err();
            assert_eq!(failure.code, Fault::InvalidArguments);
            assert!(failure.suggestion.contains("start again without a cursor"));
        }
    }

    #[test]
    fn forged_and_expired_cursors_are_refused() {
        let cursors = cursors();
        let context = context(1, "a", None, json!({}));
        let sealed = cursors.seal(&context, "1").unwrap();
        let mut forged = URL_SAFE_NO_PAD.decode(&sealed).unwrap();
        forged[15] ^= 1;
        let forged = URL_SAFE_NO_PAD.encode(forged);
        let expired = cursors.seal_until(&context, "1", now()).unwrap();
        let long = "A".repeat(LONGEST + 1);
        for bad in ["", "500", "%%", &forged, &expired, &long] {
            assert!(cursors.open(&context, bad).is_err(), "{bad}");
        }
        assert!(cursors.open(&context, &sealed).is_ok());
    }
}
