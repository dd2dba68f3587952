//! The challenge to a caller whose credential lacks a scope.

use archway_proto::catalog::Scope;

/// A scope that a caller lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingScope {
    pub(crate) lacked: Scope,
    /// The lacked scope and those that the caller holds: requesting the lacked one alone would
    /// yield a token that can do nothing else.
    pub(crate) needed: Vec<Scope>,
}

impl MissingScope {
    /// The challenge in Archway's own scope names.
    pub(super) fn challenge(&self) -> String {
        insufficient_scope(self.needed.iter().map(|scope| scope.name()))
    }
}

/// The challenge for a credential that lacks these scopes.
pub(crate) fn insufficient_scope<'a>(needed: impl Iterator<Item = &'a str>) -> String {
    let needed = needed.collect::<Vec<_>>().join(" ");
    format!("Bearer realm=\"archway\", error=\"insufficient_scope\", scope=\"{needed}\"")
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use http::{StatusCode, header::WWW_AUTHENTICATE};

    use super::{super::GatewayError, *};

    #[test]
    fn a_missing_scope_names_what_is_needed() {
        let missing = MissingScope {
            lacked: Scope::MemoryWrite,
            needed: vec![Scope::ToolsRead, Scope::MemoryWrite],
        };
        let error = GatewayError::ScopeMissing(missing);
        assert!(error.to_string().contains("lacks the scope memory:write:"));
        let response = error.into_response();
        assert_eq!(response.status(), StatusCode::FORBIDDEN);
        assert_eq!(
            response.headers()[WWW_AUTHENTICATE],
            "Bearer realm=\"archway\", error=\"insufficient_scope\", \
             scope=\"tools:read memory:write\""
        );
    }
}
