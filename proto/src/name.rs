//! Names of gateways and workers in records, logs and reports.

/// The longest host name (RFC 1035, 2.3.4), which is the default name of a process. In bytes.
const LONGEST: usize = 253;

/// Parses a name from an option.
///
/// # Errors
/// Describes valid names: 1 to 253 bytes without control characters.
pub fn checked(text: &str) -> Result<String, String> {
    let fits = (1..=LONGEST).contains(&text.len()) && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
        .ok_or_else(|| format!("expected 1 to {LONGEST} bytes without control characters"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_at_most_253_bytes_and_no_control_characters() {
        for good in ["a", "gateway-0.example", &"a".repeat(LONGEST)] {
            assert_eq!(checked(good).as_deref(), Ok(good));
        }
        for bad in ["", "a\nb", "a\u{1b}[31m", &"a".repeat(LONGEST + 1)] {
            assert!(checked(bad).is_err(), "{bad:?}");
        }
    }
}
