//! The names under which recent refusals are counted.

use super::GatewayError;

/// The name of a refusal; an extension of its response. Bad credentials, limits and circuits have
/// none: the code that refuses them counts them itself, with more detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RefusalReason(pub(crate) &'static str);

impl RefusalReason {
    pub(super) fn of(error: &GatewayError) -> Option<Self> {
        let name = match error {
            GatewayError::HostRefused => "host",
            GatewayError::OriginRefused => "origin",
            GatewayError::NotFound | GatewayError::MethodNotAllowed | GatewayError::GetOnly => {
                "not_the_endpoint"
            }
            GatewayError::TooManyHeaders => "too_many_headers",
            GatewayError::BodyTooLarge => "body_too_large",
            GatewayError::BodyTooSlow | GatewayError::BodyBroken => "body_incomplete",
            GatewayError::TooManyLargeBodies => "bodies_crowded",
            GatewayError::UnsupportedMediaType | GatewayError::NotAcceptable => "media_type",
            GatewayError::NoCredential => "no_credential",
            GatewayError::CredentialUnchecked => "credential_unchecked",
            GatewayError::ScopeMissing(_) => "scope_missing",
            GatewayError::TooManyGroups => "too_many_groups",
            GatewayError::LimitsUncounted => "limits_uncounted",
            GatewayError::SessionUnknown | GatewayError::SessionHandleMissing => "session_unknown",
            GatewayError::SessionUnrecorded => "session_unrecorded",
            GatewayError::NotJson(_)
            | GatewayError::InvalidRequest(_)
            | GatewayError::InvalidRequestParams(_)
            | GatewayError::HeaderMismatch(_)
            | GatewayError::InvalidLogLevel(_)
            | GatewayError::InvalidCallParams(_) => "malformed",
            GatewayError::UnsupportedVersion(_) => "unsupported_version",
            GatewayError::InitializeUnsupported | GatewayError::UnknownMethod { .. } => {
                "unknown_method"
            }
            GatewayError::UnknownTool { .. } => "unknown_tool",
            GatewayError::BadCredential
            | GatewayError::TooManyFailures { .. }
            | GatewayError::RateLimited(_)
            | GatewayError::WorkerFailure(_) => return None,
        };
        Some(RefusalReason(name))
    }
}
