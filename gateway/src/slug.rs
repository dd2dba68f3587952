//! Slugs: the names of tenants, projects and pools in addresses, folders and settings.

/// Maximum length in characters.
pub const LONGEST: usize = 63;

/// Whether a text matches `[a-z0-9][a-z0-9-]{0,62}`, as the schema requires.
pub fn is_slug(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=LONGEST).contains(&text.len())
        && text.bytes().next().is_some_and(plain)
        && text.bytes().all(|byte| plain(byte) || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_what_the_schema_accepts() {
        for good in ["a", "0", "site-2", &"a".repeat(63)] {
            assert!(is_slug(good), "{good}");
        }
        for bad in ["", "-a", "A", "a_b", "ä", "a/b", "..", &"a".repeat(64)] {
            assert!(!is_slug(bad), "{bad}");
        }
    }
}
