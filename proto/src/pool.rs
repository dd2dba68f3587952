//! What a pool of workers may be called: by gateways, by workers and by the tenants that it serves.

/// The longest name of a pool, in bytes.
const LONGEST: usize = 63;

/// What a name is made of, for whoever gave another.
pub const ALLOWED: &str = "expected a-z, 0-9 and - inside, at most 63 characters";

/// Whether a tenant's pool may have this name (`migrations/0005_limits.sql`).
pub fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=LONGEST).contains(&text.len())
        && text.starts_with(plain)
        && text.chars().all(|c| plain(c) || c == '-')
}

/// A pool's name as an option takes it.
///
/// # Errors
/// What was expected, for a name that no tenant's pool can have: calls would never reach it.
pub fn checked(text: &str) -> Result<String, String> {
    is_name(text)
        .then(|| text.to_owned())
        .ok_or_else(|| ALLOWED.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pools_name_is_a_tenants_slug() {
        for good in ["shared", "0", "gold-2", &"a".repeat(LONGEST)] {
            assert_eq!(checked(good).as_deref(), Ok(good));
        }
        for bad in [
            "",
            "Gold",
            "-gold",
            "gold_2",
            "größe",
            &"a".repeat(LONGEST + 1),
        ] {
            assert!(checked(bad).unwrap_err().contains("a-z"), "{bad:?}");
        }
    }
}
