//! Which forms of a question a service refuses, as far as it was found out.
//!
//! What a reader would get wrong: it is forgotten. The service may be another one by then, at the
//! same place, and what it refused may have been the question.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a form is not tried that was refused.
const REFUSED_FOR: Duration = Duration::from_secs(3600);

/// The forms, by their places.
#[derive(Debug, Default)]
pub(super) struct Forms(Mutex<Option<Found>>);

#[derive(Clone, Copy, Debug)]
struct Found {
    /// Those before it were refused, and it was not.
    first: usize,
    until: Instant,
}

impl Forms {
    /// The first form that it may take.
    pub(super) fn first(&self) -> usize {
        let found = *self.0.lock();
        let found = found.filter(|found| Instant::now() < found.until);
        found.map_or(0, |found| found.first)
    }

    /// It took this form, and refused those before it as far as they were tried.
    pub(super) fn taken(&self, place: usize) {
        if place > self.first() {
            *self.0.lock() = Some(Found {
                first: place,
                until: Instant::now() + REFUSED_FOR,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_refused_is_tried_again_after_an_hour_and_not_put_off_by_answers() {
        let forms = Forms::default();
        assert_eq!(forms.first(), 0);
        forms.taken(1);
        for _ in 0..59 {
            advance(Duration::from_secs(60)).await;
            forms.taken(1);
            assert_eq!(forms.first(), 1);
        }
        advance(Duration::from_secs(60)).await;
        assert_eq!(forms.first(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_plainest_form_that_was_needed_counts() {
        let forms = Forms::default();
        forms.taken(2);
        forms.taken(1);
        assert_eq!(forms.first(), 2);
    }
}
