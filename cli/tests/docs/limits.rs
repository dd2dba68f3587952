//! The tables of limits in the book, held against the tools.

use archway_workers::tools;

use crate::pages::root;

const PAGE: &str = "docs/src/limits.md";

/// The first cells of the rows below a header, with the row.
fn rows<'p>(page: &'p str, header: &str) -> Vec<(&'p str, &'p str)> {
    let (_, table) = page.split_once(header).unwrap();
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| (row.split('|').nth(1).unwrap().trim(), row));
    cells.collect()
}

#[test]
fn the_tables_of_limits_have_every_tool_with_its_numbers() {
    let text = std::fs::read_to_string(root().join(PAGE)).unwrap();
    let (minutes, units) = (
        rows(&text, "| calls a minute |"),
        rows(&text, "| units a call |"),
    );
    for entry in &tools::registry().unwrap().list().tools {
        let name = format!("`{}`", entry.name);
        let row = |rows: &[(&str, &str)]| {
            let found = rows.iter().find(|(_, row)| row.contains(&name));
            found.map(|(first, _)| (*first).to_owned())
        };
        let limit = entry.per_minute.map(|limit| limit.to_string());
        let limit = limit.unwrap_or_else(|| "no limit of their own".to_owned());
        assert_eq!(row(&minutes), Some(limit), "calls a minute of {name}");
        let weight = row(&units).unwrap_or_else(|| "1".to_owned());
        assert_eq!(weight, entry.weight.to_string(), "units of {name}");
    }
}
