//! Printing of answers: one JSON document for programs, a few lines or a table for people.

use std::io;
use std::time::SystemTime;

use archway_proto::misleading::on_one_line;
use jiff::{Timestamp, Unit};
use serde::Serialize;

use super::AdminError;
use crate::output;

/// A command's answer. Its JSON is an interface: members are added, never renamed.
pub(super) trait Answer: Serialize {
    /// The answer as text for people, without a final newline.
    fn text(&self) -> String;
}

/// Writes the answer to standard output.
pub(super) fn print(answer: &impl Answer, as_json: bool) -> Result<(), AdminError> {
    let text = if as_json {
        serde_json::to_string(answer)
            .map_err(|error| AdminError::Output(io::Error::from(error).into()))?
    } else {
        answer.text()
    };
    output::print(&text, as_json).map_err(AdminError::Output)
}

/// A moment in UTC, to the second: `2026-11-22T05:00:00Z`.
pub(super) fn moment(moment: SystemTime) -> String {
    let shown = Timestamp::try_from(moment).and_then(|moment| moment.round(Unit::Second));
    shown.map_or_else(
        |_out_of_range| "never".to_owned(),
        |moment| moment.to_string(),
    )
}

/// Columns as wide as their widest cell, separated by two spaces, one row per line. `none` replaces a
/// table without rows.
pub(super) fn table<const N: usize>(
    header: [&str; N],
    rows: Vec<[String; N]>,
    none: &str,
) -> String {
    let rows = rows.into_iter().map(Vec::from);
    aligned(header.to_vec(), rows.collect(), none)
}

/// A [`table`] of several tenants' rows, with the tenant as its first column.
pub(super) fn table_by_tenant<const N: usize>(
    header: [&str; N],
    rows: Vec<(String, [String; N])>,
    none: &str,
) -> String {
    let rows = rows.into_iter();
    let rows = rows.map(|(tenant, row)| std::iter::once(tenant).chain(row).collect());
    let header = std::iter::once("tenant").chain(header);
    aligned(header.collect(), rows.collect(), none)
}

/// Rows have as many cells as the header.
fn aligned(header: Vec<&str>, rows: Vec<Vec<String>>, none: &str) -> String {
    if rows.is_empty() {
        return none.to_owned();
    }
    let mut widths = vec![0; header.len()];
    let header = header.into_iter().map(str::to_owned).collect();
    // Escaping comes first: it keeps a cell on its line and decides its width.
    let harmless = |row: Vec<String>| row.iter().map(|cell| harmless(cell)).collect();
    let rows: Vec<Vec<String>> = std::iter::once(header)
        .chain(rows.into_iter().map(harmless))
        .collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let lines: Vec<String> = rows.iter().map(|row| line(row, &widths)).collect();
    lines.join("\n")
}

/// `a, b`; `otherwise` for an empty or absent list.
pub(super) fn listed(items: Option<&[String]>, otherwise: &str) -> String {
    match items {
        Some(items) if !items.is_empty() => items.join(", "),
        _ => otherwise.to_owned(),
    }
}

/// Workers by name. Those that share theirs are shown with where they run: `w (box-7000)`.
pub(super) fn distinct_names(workers: &[(String, String)]) -> Vec<String> {
    let shown = |(name, instance): &(String, String)| {
        let of_this_name = workers.iter().filter(|(other, _)| other == name).count();
        match of_this_name > 1 && !instance.is_empty() && instance != name {
            true => format!("{name} ({instance})"),
            false => name.clone(),
        }
    };
    workers.iter().map(shown).collect()
}

fn line(row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths);
    let padded: Vec<String> = cells
        .map(|(cell, width)| format!("{cell:width$}"))
        .collect();
    padded.join("  ").trim_end().to_owned()
}

/// Escapes what others named, such as a worker's name: one line, nothing hidden.
pub(super) fn harmless(cell: &str) -> String {
    on_one_line(cell).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_nothing_trails() {
        let row = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
        let shown = table(
            ["slug", "name"],
            vec![row("größe", "x"), row("b\u{202e}\n", "y")],
            "none",
        );
        let expected = "slug         name\ngröße        x\nb\\u{202e}\\n  y";
        assert_eq!(shown, expected);
        assert_eq!(table(["slug"], Vec::new(), "no tenants"), "no tenants");
        let rows = vec![("acme".to_owned(), row("a", "b"))];
        let shown = table_by_tenant(["slug", "name"], rows, "none");
        assert_eq!(shown, "tenant  slug  name\nacme    a     b");
    }

    #[test]
    fn a_moment_is_shown_in_utc_to_the_second() {
        let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(1_800_000_000_400);
        assert_eq!(moment(at), "2027-01-15T08:00:00Z");
    }
}
