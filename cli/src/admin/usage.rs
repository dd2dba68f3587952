//! `archway usage`: who used what, summed by the hour from the audit trail.
//!
//! What a reader would get wrong: these are sums of records. Calls that have none are named as missing, and are in
//! no other number.

mod answer;

use std::time::{Duration, SystemTime};

use clap::ValueEnum;

use super::AdminError;
use super::audit::read_moment;
use super::connect::Installation;
use super::print::print;
use super::tenant_selector::TenantSelector;
use crate::output;
use crate::tenants::UsageQuery;
use answer::Usage;

/// Arguments of `archway usage`.
#[derive(Debug, clap::Args)]
pub struct UsageArgs {
    #[command(flatten)]
    tenants: TenantSelector,
    /// What each row is.
    #[arg(long, value_enum, default_value_t = UsageKind::Tool)]
    by: UsageKind,
    /// From when on: days or hours ago (`7d`, `12h`), a moment, or a day (`2026-11-22`, in UTC). Hours are counted
    /// as a whole, for 13 months [default: 7d; by month all].
    #[arg(long, value_name = "AGE|MOMENT", value_parser = read_since)]
    since: Option<SystemTime>,
    /// Print the rows as CSV, under a header.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    #[command(flatten)]
    installation: Installation,
}

/// What each row of the answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum UsageKind {
    /// A tool, or the method of calls without one.
    Tool,
    /// A key, or an issuer's subject.
    Key,
    /// A project.
    Project,
    /// A program that called, as it names itself.
    Agent,
    /// A day in UTC.
    Day,
    /// A calendar month in UTC.
    Month,
    /// A tenant.
    Tenant,
}

impl UsageKind {
    /// Its name, as the option and the answer have it.
    fn name(self) -> &'static str {
        match self {
            UsageKind::Tool => "tool",
            UsageKind::Key => "key",
            UsageKind::Project => "project",
            UsageKind::Agent => "agent",
            UsageKind::Day => "day",
            UsageKind::Month => "month",
            UsageKind::Tenant => "tenant",
        }
    }
}

/// Runs the command.
pub async fn run(args: UsageArgs) -> Result<(), AdminError> {
    let since = args.since.unwrap_or_else(|| default_since(args.by));
    let slug = args.tenants.slug();
    let rows = args.installation.read(async |tx, _| {
        let tenant = match slug {
            Some(slug) => Some(tx.find_tenant(slug).await?),
            None => None,
        };
        let query = UsageQuery {
            tenant,
            by: args.by.name(),
            since,
        };
        Ok(tx.usage(&query).await?)
    });
    let usage = Usage::new(args.by.name(), since, slug, rows.await?);
    if args.csv {
        return output::print(&usage.csv(), false).map_err(AdminError::Output);
    }
    print(&usage, args.installation.json)
}

/// Seven days ago; by month all that is kept.
fn default_since(by: UsageKind) -> SystemTime {
    let days = if by == UsageKind::Month { 31 * 14 } else { 7 };
    let ago = Duration::from_secs(days * 86_400);
    SystemTime::now()
        .checked_sub(ago)
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

/// So many days or hours ago, or a moment.
pub(super) fn read_since(text: &str) -> Result<SystemTime, String> {
    let count = |unit: char| Some(u64::from(text.strip_suffix(unit)?.parse::<u32>().ok()?));
    match count('h').or_else(|| Some(count('d')? * 24)) {
        Some(hours) => Ok(SystemTime::now()
            .checked_sub(Duration::from_secs(hours * 3600))
            .unwrap_or(SystemTime::UNIX_EPOCH)),
        None => read_moment(text).map_err(|_moment| {
            "expected 7d, 12h, 2026-11-22T05:00:00Z, or a day as 2026-11-22".to_owned()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_an_age_or_a_moment() {
        let ago = |text| read_since(text).unwrap().elapsed().unwrap().as_secs();
        assert_eq!((ago("7d"), ago("12h")), (7 * 86_400, 12 * 3_600));
        let day = read_since("2026-11-22").unwrap();
        assert_eq!(day, read_moment("2026-11-22").unwrap());
        assert!(read_since("4000000000d").unwrap() <= SystemTime::now());
        for bad in ["", "7", "d", "-1d", "7w", "1.5d", "yesterday"] {
            assert!(read_since(bad).is_err(), "{bad}");
        }
    }
}
