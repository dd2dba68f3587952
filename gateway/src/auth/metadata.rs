//! Protected-resource metadata (RFC 9728): where a client without a token can get one.
//!
//! A refusal links to the document, and the document lists the issuers. Every URL in them comes
//! from the operator's configuration. A request's `Host` is never repeated: otherwise an attacker
//! could direct other clients to an issuer of his own.

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header::WWW_AUTHENTICATE};
use serde_json::json;

use super::issuers::{Issuer, Issuers, IssuersError, trusted};
use crate::{
    caller::SCOPES,
    error::{MissingScope, insufficient_scope},
};

/// Path of the gateway's document. The endpoint's document is below it.
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// The endpoint's path, here and in the path of its document.
const ENDPOINT: &str = "/mcp";

/// The metadata for clients.
pub(crate) struct Metadata {
    of_gateway: Bytes,
    of_endpoint: Bytes,
    /// URL of the endpoint's document.
    address: String,
    /// The scopes to request from any issuer, separated by spaces; empty if they differ by issuer.
    scopes: String,
}

impl Metadata {
    /// The metadata of a gateway that clients reach at `resource`: `https://host`, with or without
    /// `/mcp`.
    pub(super) fn new(resource: &str, issuers: &Issuers) -> Result<Self, IssuersError> {
        let url = trusted(resource).ok_or(IssuersError::Resource)?;
        if !["", "/", ENDPOINT].contains(&url.path()) {
            return Err(IssuersError::Resource);
        }
        let base = url.origin().ascii_serialization();
        let words = issuers.words_for(&SCOPES);
        let document = |resource: String| {
            let mut document = json!({
                "resource": resource,
                "authorization_servers": issuers.names().collect::<Vec<_>>(),
                "bearer_methods_supported": ["header"],
                "resource_name": "Archway",
            });
            if !words.is_empty() {
                document["scopes_supported"] = json!(words);
            }
            Bytes::from(document.to_string())
        };
        Ok(Metadata {
            of_gateway: document(base.clone()),
            of_endpoint: document(format!("{base}{ENDPOINT}")),
            address: format!("{base}{WELL_KNOWN}{ENDPOINT}"),
            scopes: match issuers.use_the_same_words(&SCOPES) {
                true => words.join(" "),
                false => String::new(),
            },
        })
    }

    /// The document at a path.
    pub(crate) fn at(&self, path: &str) -> Option<&Bytes> {
        match path.strip_prefix(WELL_KNOWN)? {
            "" => Some(&self.of_gateway),
            ENDPOINT => Some(&self.of_endpoint),
            _ => None,
        }
    }

    /// Adds to a refusal the URL of the document and the scopes to request: in the caller's
    /// issuer's words if that is known.
    pub(super) fn complete(&self, response: &mut Response, issuer: Option<&Issuer>) {
        let Some(challenge) = response.headers().get(WWW_AUTHENTICATE) else {
            return;
        };
        let mut challenge = challenge.to_str().unwrap_or_default().to_owned();
        let missing = response.extensions().get::<MissingScope>();
        if let (Some(missing), Some(issuer)) = (missing, issuer) {
            // Without a word for the missing scope, requesting the others would yield the same
            // token again.
            if !issuer.config.words_for(missing.lacked).is_empty() {
                let words = issuer.config.narrowest_words(&missing.needed);
                challenge = insufficient_scope(words.into_iter());
            }
        }
        challenge += &format!(", resource_metadata=\"{}\"", self.address);
        if response.status() == StatusCode::UNAUTHORIZED && !self.scopes.is_empty() {
            challenge += &format!(", scope=\"{}\"", self.scopes);
        }
        if let Ok(challenge) = HeaderValue::try_from(challenge) {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
    }
}
