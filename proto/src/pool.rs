//! Names of worker pools: for gateways, workers and tenants alike.

/// The longest name of a pool, in bytes.
const LONGEST: usize = 63;

/// What a name consists of, for error messages.
pub const ALLOWED: &str = "expected a-z, 0-9 and - inside, at most 63 characters";

/// Whether a tenant's pool may have this name (`migrations/0005_limits.sql`).
pub fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=LONGEST).contains(&text.len())
        && text.starts_with(plain)
        && text.chars().all(|c| plain(c) || c == '-')
}

/// Parses a pool's name from an option.
///
/// # Errors
/// Describes valid names. No tenant's pool can have another name, so calls would never reach it.
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
