//! Rules for slugs and names. All commands share them, and they match the schema's.

use archway_gateway::slug;

use super::TenantError;

/// Slugs that would collide with addresses of architecture resources.
const RESERVED: [&str; 3] = ["adr", "pattern", "guideline"];
/// The longest slug, in characters.
pub const LONGEST_SLUG: usize = slug::LONGEST;
/// The longest name or label, in characters.
const LONGEST_NAME: usize = 200;

/// Whether a project may have this slug: `[a-z0-9][a-z0-9-]{0,62}`, and not a reserved word.
pub fn is_project_slug(slug: &str) -> bool {
    check_project_slug(slug).is_ok()
}

pub(super) fn check_slug(slug: &str) -> Result<(), TenantError> {
    slug::is_slug(slug)
        .then_some(())
        .ok_or_else(|| TenantError::Slug(slug.to_owned()))
}

pub(super) fn check_project_slug(slug: &str) -> Result<(), TenantError> {
    check_slug(slug)?;
    if RESERVED.contains(&slug) {
        return Err(TenantError::Reserved(slug.to_owned()));
    }
    Ok(())
}

/// Terminals show names and labels, each on one line.
pub(super) fn check_text(what: &'static str, text: &str) -> Result<(), TenantError> {
    let fits = text.chars().count() <= LONGEST_NAME && !text.chars().any(char::is_control);
    fits.then_some(()).ok_or_else(|| TenantError::Text {
        what,
        text: text.chars().take(LONGEST_NAME).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_cannot_have_a_reserved_slug() {
        assert!(check_project_slug("adr-2").is_ok());
        for word in RESERVED {
            let refused = check_project_slug(word);
            assert!(matches!(refused, Err(TenantError::Reserved(_))), "{word}");
        }
    }

    #[test]
    fn a_name_is_one_line_of_bounded_length() {
        assert!(check_text("name", "Größe & co.").is_ok());
        assert!(check_text("name", "a\u{1b}[31m").is_err());
        assert!(check_text("name", &"ä".repeat(201)).is_err());
    }
}
