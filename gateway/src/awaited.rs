//! What others start in their own time, as workers and the store of limits: after a start it may not
//! be there yet, and only an absence that lasts is a warning.

use std::time::Duration;

use tokio::time::Instant;

/// How long something may not be there yet before the log warns of it.
pub(crate) const GRACE: Duration = Duration::from_secs(15);

/// How the log tells of an absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// It may still come.
    Note,
    /// It was there, or should have been by now.
    Warning,
}

/// Whether something is there, as far as the log has to tell.
#[derive(Debug)]
pub(crate) struct Awaited {
    since: Instant,
    was_there: bool,
    told: Option<Tone>,
}

impl Awaited {
    /// Something that is waited for from now on.
    pub(crate) fn new() -> Self {
        Awaited {
            since: Instant::now(),
            was_there: false,
            told: None,
        }
    }

    /// It is there.
    pub(crate) fn is_there(&mut self) {
        self.was_there = true;
        self.told = None;
    }

    /// It is not there. How the log tells of that, if it has not yet: once while it may still come,
    /// and once as a warning.
    pub(crate) fn is_missing(&mut self) -> Option<Tone> {
        let tone = match self.was_there || self.since.elapsed() >= GRACE {
            true => Tone::Warning,
            false => Tone::Note,
        };
        let is_news = self.told != Some(tone);
        self.told = Some(tone);
        is_news.then_some(tone)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_may_still_come_is_a_note_and_what_stays_away_one_warning() {
        let mut awaited = Awaited::new();
        assert_eq!(awaited.is_missing(), Some(Tone::Note));
        advance(GRACE - Duration::from_millis(1)).await;
        assert_eq!(awaited.is_missing(), None);
        advance(Duration::from_millis(1)).await;
        assert_eq!(awaited.is_missing(), Some(Tone::Warning));
        assert_eq!(awaited.is_missing(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_there_and_is_gone_is_a_warning_each_time() {
        let mut awaited = Awaited::new();
        for _ in 0..2 {
            awaited.is_there();
            assert_eq!(awaited.is_missing(), Some(Tone::Warning));
            assert_eq!(awaited.is_missing(), None);
        }
    }
}
