//! How grave a log message is: the severities of RFC 5424, as MCP spells them.
//!
//! A worker says how grave, a client from which level on it wants to hear.

/// A severity. Ordered: `Debug` is the least grave, `Emergency` the gravest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// For who mends the tool.
    Debug,
    /// What happens as it should.
    Info,
    /// What happens as it should, and seldom.
    Notice,
    /// What may not be what the caller expects.
    Warning,
    /// What failed.
    Error,
    /// What failed and takes more with it.
    Critical,
    /// What somebody must see to at once.
    Alert,
    /// Nothing works.
    Emergency,
}

impl LogLevel {
    /// Every level, the least grave first.
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

    /// The level of a wire name, or `None`. Case matters, as it does for every word of MCP.
    pub fn parse(name: &str) -> Option<LogLevel> {
        LogLevel::ALL.into_iter().find(|level| level.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_from_debug_to_emergency_and_found_by_their_names() {
        assert!(LogLevel::ALL.is_sorted());
        for level in LogLevel::ALL {
            assert_eq!(LogLevel::parse(level.name()), Some(level));
        }
        for name in ["", "Info", "warn", "trace", "info "] {
            assert_eq!(LogLevel::parse(name), None, "{name}");
        }
    }
}
