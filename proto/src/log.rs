//! Severities of log messages: those of RFC 5424, as MCP spells them.
//!
//! Workers assign a severity. A client sets the lowest one that it wants to receive.

/// A severity, ordered from `Debug` to `Emergency`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// For developers of the tool.
    Debug,
    /// Normal operation.
    Info,
    /// A normal but significant event.
    Notice,
    /// Something that the caller may not expect.
    Warning,
    /// A failure.
    Error,
    /// A failure that affects more than this call.
    Critical,
    /// Immediate action is required.
    Alert,
    /// The system is unusable.
    Emergency,
}

impl LogLevel {
    /// All levels, from `Debug` to `Emergency`.
    pub const ALL: [LogLevel; 8] = [
        LogLevel::Debug,
        LogLevel::Info,
        LogLevel::Notice,
        LogLevel::Warning,
        LogLevel::Error,
        LogLevel::Critical,
        LogLevel::Alert,
        LogLevel::Emergency,
    ];

    /// The name on the wire, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Notice => "notice",
            LogLevel::Warning => "warning",
            LogLevel::Error => "error",
            LogLevel::Critical => "critical",
            LogLevel::Alert => "alert",
            LogLevel::Emergency => "emergency",
        }
    }

    /// The level with a wire name, or `None`. Case-sensitive, like all of MCP.
    pub fn parse(name: &str) -> Option<LogLevel> {
        LogLevel::ALL.into_iter().find(|level| level.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_and_parsed_by_name() {
        assert!(LogLevel::ALL.is_sorted());
        for level in LogLevel::ALL {
            assert_eq!(LogLevel::parse(level.name()), Some(level));
        }
        for name in ["", "Info", "warn", "trace", "info "] {
            assert_eq!(LogLevel::parse(name), None, "{name}");
        }
    }
}
