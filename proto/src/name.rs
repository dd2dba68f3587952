//! What a gateway or a worker is called where others read it: in records, logs and reports.

/// The longest name of a host (RFC 1035, 2.3.4), and so of a process that has its host's.
const LONGEST: usize = 253;

/// A name as an option takes it.
///
/// # Errors
/// What was expected, for any but 1 to 253 bytes without control characters.
pub fn checked(text: &str) -> Result<String, String> {
    let fits = (1..=LONGEST).contains(&text.len()) && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
        .ok_or_else(|| format!("expected 1 to {LONGEST} bytes without control characters"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_longer_than_a_hosts_and_shows_as_it_is() {
        for good in ["a", "gateway-0.example", &"a".repeat(LONGEST)] {
            assert_eq!(checked(good).as_deref(), Ok(good));
        }
        for bad in ["", "a\nb", "a\u{1b}[31m", &"a".repeat(LONGEST + 1)] {
            assert!(checked(bad).is_err(), "{bad:?}");
        }
    }
}
