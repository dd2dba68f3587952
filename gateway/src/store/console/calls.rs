//! Calls from the audit trail, by page: who called what and what became of it, never what was asked for or read.

use std::cmp::Reverse;

use uuid::Uuid;

use super::super::{StoreError, Stores, with_timeout};

/// Calls of a page.
const PAGE: i32 = 50;

/// Which calls; `None` means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallFilter {
    pub(crate) tenant: Option<String>,
    /// A key's id, or that of an issuer's subject.
    pub(crate) key: Option<String>,
    pub(crate) project: Option<String>,
    /// A tool or a method.
    pub(crate) tool: Option<String>,
    /// Any of these.
    pub(crate) outcomes: Option<Vec<String>>,
    /// Calls that ended then or later: microseconds since 1970.
    pub(crate) since: i64,
}

/// The place of a call in the trail; later calls have a greater one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallPosition {
    /// When it ended: microseconds since 1970.
    pub(crate) at: i64,
    pub(crate) chain: Uuid,
    pub(crate) number: i64,
}

/// A page of calls, the latest first.
#[derive(Debug, Default)]
pub(crate) struct CallsPage {
    /// At most 50.
    pub(crate) calls: Vec<AuditedCall>,
    /// Where the next page goes on; `None` if nothing older matches.
    pub(crate) next: Option<CallPosition>,
}

/// A record of the trail: one call, some refusals of one kind, or a number of calls that have no record.
#[derive(Debug, Default)]
pub(crate) struct AuditedCall {
    tenant: Option<String>,
    at: i64,
    chain: Uuid,
    number: i64,
    /// `call`, `refusals` or `gap`.
    pub(crate) kind: Option<String>,
    pub(crate) principal: Option<String>,
    /// The id of the key, or of the issuer's subject.
    pub(crate) credential: Option<String>,
    /// The client's address.
    pub(crate) client: Option<String>,
    pub(crate) agent: Option<String>,
    /// The tool, or the method of a message that is no tool call.
    pub(crate) what: Option<String>,
    pub(crate) project: Option<String>,
    pub(crate) outcome: Option<String>,
    pub(crate) duration_ms: Option<f64>,
    pub(crate) units: Option<i64>,
    pub(crate) bytes: Option<i64>,
    pub(crate) commit_id: Option<String>,
    pub(crate) trace: Option<String>,
    /// When it reached the stops of its path, in milliseconds after it came; `None` if it did not.
    pub(crate) checked_ms: Option<f64>,
    pub(crate) admitted_ms: Option<f64>,
    pub(crate) answered_ms: Option<f64>,
    /// What refused it.
    pub(crate) refused_by: Option<String>,
    /// Of refusals and gaps: how many calls.
    pub(crate) calls: Option<i64>,
}

impl CallsPage {
    /// The first of these calls, and where the search for more goes on.
    fn of(mut calls: Vec<AuditedCall>, mut next: Option<CallPosition>) -> CallsPage {
        let page = PAGE.unsigned_abs() as usize;
        if calls.len() > page {
            calls.truncate(page);
            next = calls.last().map(AuditedCall::position);
        }
        CallsPage { calls, next }
    }

    /// Pages of several filters as one page.
    pub(crate) fn merged(pages: Vec<CallsPage>) -> CallsPage {
        // Beyond the first end of a page its other calls may be missing.
        let next = pages.iter().filter_map(|page| page.next).max();
        let mut calls: Vec<AuditedCall> = pages.into_iter().flat_map(|page| page.calls).collect();
        calls.retain(|call| next.is_none_or(|next| call.position() >= next));
        calls.sort_by_key(|call| Reverse(call.position()));
        CallsPage::of(calls, next)
    }
}

impl AuditedCall {
    /// Its tenant's slug.
    pub(crate) fn tenant(&self) -> &str {
        self.tenant.as_deref().unwrap_or_default()
    }

    /// Its place in the trail.
    pub(crate) fn position(&self) -> CallPosition {
        CallPosition {
            at: self.at,
            chain: self.chain,
            number: self.number,
        }
    }
}

impl Stores {
    /// The calls that match, before a position. Looks at a bounded part of the trail, so a page may have fewer than
    /// 50 and go on.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub(crate) async fn console_calls(
        &self,
        filter: &CallFilter,
        before: CallPosition,
    ) -> Result<CallsPage, StoreError> {
        let rows = sqlx::query_as!(
            AuditedCall,
            r#"select tenant, at as "at!", chain as "chain!", number as "number!", kind, principal, credential, client,
                      agent, what, project, outcome, duration_ms, units, bytes, commit_id, trace, checked_ms,
                      admitted_ms, answered_ms, refused_by, calls
               from console_calls($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"#,
            filter.tenant.as_deref(),
            filter.key.as_deref(),
            filter.project.as_deref(),
            filter.tool.as_deref(),
            filter.outcomes.as_deref(),
            filter.since,
            before.at,
            before.chain,
            before.number,
            PAGE + 1
        )
        .fetch_all(&self.pool);
        let mut calls = with_timeout("calls of the audit trail", rows).await?;
        // A row without a tenant says where the search stopped.
        let stopped = calls.pop_if(|last| last.tenant.is_none());
        let next = stopped.map(|stopped| stopped.position());
        Ok(CallsPage::of(calls, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with the calls that ended at these times.
    fn page(times: impl IntoIterator<Item = i64>, next: Option<i64>) -> CallsPage {
        let call = |at| AuditedCall {
            at,
            ..AuditedCall::default()
        };
        let position = |at| call(at).position();
        CallsPage {
            calls: times.into_iter().map(call).collect(),
            next: next.map(position),
        }
    }

    fn times(page: &CallsPage) -> (Vec<i64>, Option<i64>) {
        let times = page.calls.iter().map(|call| call.at);
        (times.collect(), page.next.map(|next| next.at))
    }

    #[test]
    fn merged_pages_end_where_the_first_of_them_does() {
        let merged = |pages| times(&CallsPage::merged(pages));
        assert_eq!(merged(vec![]), (vec![], None));
        let (whole, cut) = (|| page([9, 5, 1], None), || page([8, 6], Some(4)));
        assert_eq!(
            merged(vec![whole(), page([7], None)]),
            (vec![9, 7, 5, 1], None)
        );
        assert_eq!(merged(vec![whole(), cut()]), (vec![9, 8, 6, 5], Some(4)));
        let long = || page((1..=40).rev(), None);
        let (calls, next) = merged(vec![long(), long()]);
        assert_eq!((calls.len(), calls[0], next), (50, 40, Some(16)));
    }
}
