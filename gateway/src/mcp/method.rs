//! The methods that clients may send: a closed list, so that nothing dispatches on text.

use archway_proto::method::Method as WorkerMethod;

/// A method of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Opens a session; only in revisions before 2026-07-28.
    Initialize,
    /// Only in revisions before 2026-07-28.
    Ping,
    /// What the server can do.
    Discover,
    /// Sets a session's log level; only in revisions before 2026-07-28.
    SetLevel,
    /// A notification, accepted and ignored.
    Initialized,
    /// A notification, accepted and ignored.
    Cancelled,
    /// A method of the worker protocol under the same name.
    Worker(WorkerMethod),
}

impl Method {
    /// `tools/call`.
    pub(super) const TOOLS_CALL: Method = Method::Worker(WorkerMethod::ToolsCall);
    /// `tools/list`.
    pub(super) const TOOLS_LIST: Method = Method::Worker(WorkerMethod::ToolsList);

    const OWN: [Method; 6] = [
        Method::Initialize,
        Method::Ping,
        Method::Discover,
        Method::SetLevel,
        Method::Initialized,
        Method::Cancelled,
    ];

    /// The name on the wire.
    pub(super) fn name(self) -> &'static str {
        match self {
            Method::Initialize => "initialize",
            Method::Ping => "ping",
            Method::Discover => "server/discover",
            Method::SetLevel => "logging/setLevel",
            Method::Initialized => "notifications/initialized",
            Method::Cancelled => "notifications/cancelled",
            Method::Worker(method) => method.name(),
        }
    }

    /// The method of a wire name; `None` for an unknown one.
    pub(super) fn parse(name: &str) -> Option<Method> {
        let own = Method::OWN.into_iter().find(|method| method.name() == name);
        own.or_else(|| WorkerMethod::parse(name).map(Method::Worker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_parses_from_its_own_name_and_no_other() {
        let of_workers = WorkerMethod::ALL.map(Method::Worker);
        for method in Method::OWN.into_iter().chain(of_workers) {
            assert_eq!(Method::parse(method.name()), Some(method));
        }
        assert_eq!(Method::parse("tools/Call"), None);
    }
}
