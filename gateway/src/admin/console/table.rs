//! Tables and sections. A table scrolls sideways where it is wider than the screen, and on a phone each row becomes a
//! block in which every cell has its column's name.

use maud::{Markup, html};

/// How a value is coloured. A colour never stands alone: the text says the same.
#[derive(Clone, Copy)]
pub(super) enum Color {
    Good,
    Warn,
    Bad,
    Plain,
}

impl Color {
    /// The CSS class.
    pub(super) fn class(self) -> &'static str {
        match self {
            Color::Good => "good",
            Color::Warn => "warn",
            Color::Bad => "bad",
            Color::Plain => "",
        }
    }

    /// `Good` if the condition holds, otherwise the given one.
    pub(super) fn good_if(holds: bool, otherwise: Color) -> Color {
        if holds { Color::Good } else { otherwise }
    }
}

/// A cell of a table.
pub(super) struct Cell {
    class: &'static str,
    content: Markup,
}

impl Cell {
    /// Words.
    pub(super) fn text(text: &str) -> Self {
        Cell::of(&html! { (text) })
    }

    /// A right-aligned number.
    pub(super) fn number(number: impl std::fmt::Display) -> Self {
        Cell {
            class: "number",
            content: html! { (number.to_string()) },
        }
    }

    /// Ids and addresses, in a monospaced font.
    pub(super) fn mono(text: &str) -> Self {
        Cell {
            class: "mono",
            content: html! { (text) },
        }
    }

    /// Long text, which may wrap.
    pub(super) fn wide(text: &str) -> Self {
        Cell {
            class: "wide",
            content: html! { (text) },
        }
    }

    /// A state.
    pub(super) fn state(text: &str, color: Color) -> Self {
        Cell {
            class: color.class(),
            content: html! { (text) },
        }
    }

    /// A state with a long reason, which may wrap.
    pub(super) fn wide_state(text: &str, color: Color) -> Self {
        Cell {
            class: "wide",
            content: html! { span class=(color.class()) { (text) } },
        }
    }

    /// Anything else.
    pub(super) fn of(content: &Markup) -> Self {
        Cell {
            class: "",
            content: content.clone(),
        }
    }

    /// A link.
    pub(super) fn link(address: &str, text: &str) -> Self {
        Cell::of(&html! { a href=(address) { (text) } })
    }
}

/// A part of the page under a title.
pub(super) fn section(title: &str, content: &Markup) -> Markup {
    html! { section data-key=(title) { h2 { (title) } (content) } }
}

/// A table, or the text `none` if there are no rows. A leading `>` in a column's name aligns it to the right.
pub(super) fn table(header: &[&str], rows: Vec<Vec<Cell>>, none: &str) -> Markup {
    let rows = rows.into_iter().map(|row| (String::new(), row));
    table_of_named(header, rows.collect(), none)
}

/// The same with a name for each row, by which the script of live pages knows it again.
pub(super) fn table_of_named(
    header: &[&str],
    rows: Vec<(String, Vec<Cell>)>,
    none: &str,
) -> Markup {
    if rows.is_empty() {
        return html! { p class="none" { (none) } };
    }
    let names: Vec<&str> = header
        .iter()
        .map(|name| name.strip_prefix('>').unwrap_or(name))
        .collect();
    html! {
        // Reachable by keyboard, so that it can be scrolled.
        div class="table" tabindex="0" role="region" aria-label=(names.join(", ")) {
            table {
                thead { tr {
                    @for (name, column) in names.iter().zip(header) {
                        th scope="col" class=[column.starts_with('>').then_some("number")] { (name) }
                    }
                } }
                tbody {
                    @for (key, row) in rows {
                        tr data-key=[Some(key).filter(|key| !key.is_empty())] {
                            @for (cell, name) in row.into_iter().zip(&names) {
                                td class=[Some(cell.class).filter(|it| !it.is_empty())] data-label=(name) { span class="cell" { (cell.content) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The text for what Postgres did not deliver.
pub(super) fn unknown() -> Markup {
    html! { p class="bad" { "No answer from Postgres in time: the log has the reason." } }
}

/// `3 d 4 h`, `5 h 12 min`, `42 s`.
pub(super) fn span(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, ..) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// Milliseconds with about three digits: `0.42`, `17.3`, `1,240`.
pub(super) fn millis(ms: f64) -> String {
    match ms {
        _ if ms < 10.0 => format!("{ms:.2}"),
        _ if ms < 100.0 => format!("{ms:.1}"),
        _ => grouped(&format!("{ms:.0}")),
    }
}

/// `1,234,567`.
pub(super) fn thousands(number: i64) -> String {
    let digits = grouped(&number.unsigned_abs().to_string());
    if number < 0 {
        format!("-{digits}")
    } else {
        digits
    }
}

fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_two_units_from_an_hour_on() {
        let shown = [42, 180, 18_720, 273_600].map(span);
        assert_eq!(shown, ["42 s", "3 min", "5 h 12 min", "3 d 4 h"]);
    }

    #[test]
    fn numbers_have_separators_and_times_three_digits() {
        assert_eq!(
            [0, 999, 1_000, -1_234_567].map(thousands),
            ["0", "999", "1,000", "-1,234,567"]
        );
        assert_eq!(
            [0.417, 17.31, 1_240.4].map(millis),
            ["0.42", "17.3", "1,240"]
        );
    }

    #[test]
    fn each_cell_has_its_columns_name_and_text_is_escaped() {
        let rows = vec![vec![Cell::text("<b>"), Cell::number(3)]];
        let text = table(&["tool", ">calls"], rows, "none").into_string();
        assert!(
            text.contains(r#"<td data-label="tool"><span class="cell">&lt;b&gt;</span></td>"#),
            "{text}"
        );
        assert!(
            text.contains(
                r#"<td class="number" data-label="calls"><span class="cell">3</span></td>"#
            ),
            "{text}"
        );
        assert_eq!(
            table(&["tool"], vec![], "Nothing.").into_string(),
            r#"<p class="none">Nothing.</p>"#
        );
    }
}
