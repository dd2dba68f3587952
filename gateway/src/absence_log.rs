//! Log severity for the absence of services that start on their own schedule, such as workers and
//! the limit store. They may not be up yet after a start, so only a lasting absence is a warning.

use std::time::Duration;

use tokio::time::Instant;

/// How long a service may be absent after the start before the log warns.
pub(crate) const GRACE: Duration = Duration::from_secs(15);

/// How the log reports an absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// It may still come up.
    Note,
    /// It was up before, or should be up by now.
    Warning,
}

/// Decides when and how an absence is logged.
#[derive(Debug)]
pub(crate) struct AbsenceLog {
    since: Instant,
    was_up: bool,
    logged: Option<Severity>,
}

impl AbsenceLog {
    /// A service that is expected from now on.
    pub(crate) fn new() -> Self {
        AbsenceLog {
            since: Instant::now(),
            was_up: false,
            logged: None,
        }
    }

    /// The service is up.
    pub(crate) fn present(&mut self) {
        self.was_up = true;
        self.logged = None;
    }

    /// The service is absent. Returns the severity to log, or `None` if that was already logged:
    /// one note while it may still come up, and one warning.
    pub(crate) fn missing(&mut self) -> Option<Severity> {
        let severity = match self.was_up || self.since.elapsed() >= GRACE {
            true => Severity::Warning,
            false => Severity::Note,
        };
        let is_news = self.logged != Some(severity);
        self.logged = Some(severity);
        is_news.then_some(severity)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_late_service_is_noted_once_and_then_warned_about_once() {
        let mut absence = AbsenceLog::new();
        assert_eq!(absence.missing(), Some(Severity::Note));
        advance(GRACE - Duration::from_millis(1)).await;
        assert_eq!(absence.missing(), None);
        advance(Duration::from_millis(1)).await;
        assert_eq!(absence.missing(), Some(Severity::Warning));
        assert_eq!(absence.missing(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn each_loss_of_a_service_that_was_up_is_a_warning() {
        let mut absence = AbsenceLog::new();
        for _ in 0..2 {
            absence.present();
            assert_eq!(absence.missing(), Some(Severity::Warning));
            assert_eq!(absence.missing(), None);
        }
    }
}
