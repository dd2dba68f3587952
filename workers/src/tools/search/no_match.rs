//! Why a search has no match, and what to do next.

use super::collected::MatchPage;
use crate::tools::every_project::SkippedProject;

/// How many skipped projects the message explains.
const MAX_REASONS: usize = 3;

/// What a search was asked for.
#[derive(Default)]
pub(super) struct AskedFor {
    pub(super) pattern: String,
    /// The name of the argument that is a glob, if it was given.
    pub(super) glob: Option<&'static str>,
    pub(super) by_case: bool,
    /// What to try if nothing narrows the search.
    pub(super) advice: &'static str,
}

impl AskedFor {
    /// Explains why nothing was found, if so.
    pub(super) fn no_match<M>(&self, page: &MatchPage<M>) -> Option<String> {
        (page.totals.matches == 0).then(|| with_rest(self.reason(page), page))
    }

    fn reason<M>(&self, page: &MatchPage<M>) -> String {
        let (totals, pattern) = (&page.totals, &self.pattern);
        if totals.incomplete {
            let advice = if page.has_next {
                ""
            } else {
                "; narrow the search"
            };
            format!("The time was up before a match was found{advice}")
        } else if page.projects == 0 {
            "No file was searched: there is no project that you may read".to_owned()
        } else if page.skipped.len() == page.projects {
            let of = if page.has_next { " of this page" } else { "" };
            format!("No project{of} could be searched")
        } else if totals.files_searched > 0 && totals.files_skipped > 0 {
            let skipped = totals.files_skipped;
            format!("No matches found for pattern '{pattern}'; too large to search: {skipped}")
        } else if totals.files_searched > 0 {
            let is_whole = page.skipped.is_empty() && !page.has_next;
            let advice = match (self.by_case, self.glob) {
                _ if !is_whole => String::new(),
                (true, _) => ". Try it without case_sensitive".to_owned(),
                (false, Some(glob)) => format!(". Try it without {glob}"),
                (false, None) => format!(". {}", self.advice),
            };
            format!("No matches found for pattern '{pattern}'{advice}")
        } else {
            let why = match (self.glob, page.projects) {
                (Some(glob), _) => format!("none fits {glob}, or all that fit are excluded"),
                (None, 1) => "the project has no files yet, or all are excluded".to_owned(),
                (None, _) => "the projects have no files yet, or all are excluded".to_owned(),
            };
            format!("No file was searched: {why}")
        }
    }
}

/// Adds which projects were skipped, and that another page follows.
fn with_rest<M>(mut message: String, page: &MatchPage<M>) -> String {
    if !page.skipped.is_empty() {
        let is_all = page.skipped.len() == page.projects && !page.totals.incomplete;
        message += if is_all { ": " } else { "; " };
        message += &reasons(&page.skipped);
    }
    if page.has_next {
        message += "; the next page, by cursor, goes on";
    }
    message
}

/// The reasons of the first few skipped projects.
fn reasons(skipped: &[SkippedProject]) -> String {
    let listed: Vec<&str> = skipped
        .iter()
        .take(MAX_REASONS)
        .map(|it| it.why.as_str())
        .collect();
    let listed = listed.join("; ");
    match skipped.len().saturating_sub(MAX_REASONS) {
        0 => listed,
        more => format!("{listed}; and {more} more projects"),
    }
}

#[cfg(test)]
mod tests {
    use archway_repo::SearchTotals;

    use super::*;

    /// A page without a match: `skipped` of its `projects` were skipped.
    fn page(projects: usize, skipped: usize, has_next: bool) -> MatchPage<()> {
        let skipped = (0..skipped).map(|nth| SkippedProject {
            slug: format!("p{nth}"),
            why: format!("p{nth} is away"),
        });
        MatchPage {
            matches: Vec::new(),
            totals: SearchTotals::default(),
            truncated: false,
            context_omitted: false,
            projects,
            has_next,
            skipped: skipped.collect(),
            duration_ms: 1,
        }
    }

    fn message(page: &MatchPage<()>) -> String {
        AskedFor::default().no_match(page).unwrap()
    }

    #[test]
    fn a_page_of_skipped_projects_says_so_and_that_another_follows() {
        let away = "p0 is away; p1 is away; p2 is away; and 47 more projects";
        assert_eq!(
            message(&page(50, 50, true)),
            format!(
                "No project of this page could be searched: {away}; the next page, by cursor, goes on"
            )
        );
        assert_eq!(
            message(&page(1, 1, false)),
            "No project could be searched: p0 is away"
        );
    }

    #[test]
    fn a_search_is_to_be_narrowed_only_if_no_page_follows() {
        let mut late = page(0, 0, true);
        late.totals.incomplete = true;
        let up = "The time was up before a match was found";
        let next = "the next page, by cursor, goes on";
        assert_eq!(message(&late), format!("{up}; {next}"));
        late.has_next = false;
        assert_eq!(message(&late), format!("{up}; narrow the search"));
        let mut late = page(1, 1, true);
        late.totals.incomplete = true;
        assert_eq!(message(&late), format!("{up}; p0 is away; {next}"));
    }
}
