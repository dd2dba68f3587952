//! What others start in their own time, as workers and the store of limits: after a start it may not
//! be there yet, and only an absence that lasts is a warning.

use std::time::Duration;

use tokio::time::Instant;

/// How long something may not be there yet before the log warns of it.
pub(crate) const GRACE: Duration = Duration::from_secs(15);

/// How the log tells of an absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// It may still come.
    Note,
    /// It was there, or should have been by now.
    Warning,
}

/// Whether something is there, as far as the log has to tell.
#[derive(Debug)]
pub(crate) struct AbsenceLog {
    since: Instant,
    was_there: bool,
    logged: Option<Severity>,
}

impl AbsenceLog {
    /// Something that is waited for from now on.
    pub(crate) fn new() -> Self {
        AbsenceLog {
            since: Instant::now(),
            was_there: false,
            logged: None,
        }
    }

    /// It is there.
    pub(crate) fn present(&mut self) {
        self.was_there = true;
        self.logged = None;
    }

    /// It is not there. How the log tells of that, if it has not yet: once while it may still come,
    /// and once as a warning.
    pub(crate) fn missing(&mut self) -> Option<Severity> {
        let tone = match self.was_there || self.since.elapsed() >= GRACE {
            true => Severity::Warning,
            false => Severity::Note,
        };
        let is_news = self.logged != Some(tone);
        self.logged = Some(tone);
        is_news.then_some(tone)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_may_still_come_is_a_note_and_what_stays_away_one_warning() {
        let mut absence = AbsenceLog::new();
        assert_eq!(absence.missing(), Some(Severity::Note));
        advance(GRACE - Duration::from_millis(1)).await;
        assert_eq!(absence.missing(), None);
        advance(Duration::from_millis(1)).await;
        assert_eq!(absence.missing(), Some(Severity::Warning));
        assert_eq!(absence.missing(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_there_and_is_gone_is_a_warning_each_time() {
        let mut absence = AbsenceLog::new();
        for _ in 0..2 {
            absence.present();
            assert_eq!(absence.missing(), Some(Severity::Warning));
            assert_eq!(absence.missing(), None);
        }
    }
}
