//! Input that several commands parse: durations, ends of keys, globs, tool families.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use archway_proto::catalog::Scope;
use archway_repo::{GlobError, Rules};
use archway_workers::tools;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit};

use super::AdminError;

/// A duration: `90d`, `2w`, `24h`, `30m`, `45s`, or `0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Length(pub(super) Duration);

/// When a key ends: a duration from now, a day (its first moment in UTC), or a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyEnd(pub(super) SystemTime);

/// Why a text is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TimeError {
    #[error("expected a duration like 90d, 2w, 24h, 30m or 45s")]
    Length,
    #[error("expected a duration (90d), a day (2027-01-31) or a moment (2027-01-31T12:00:00Z)")]
    KeyEnd,
    #[error("expected a day (2027-01-31) or a moment (2027-01-31T12:00:00Z)")]
    Moment,
    #[error("that moment is in the past")]
    Over,
}

/// Reads a text file, or standard input for `-`. `None` if it has more than `max` bytes.
///
/// # Errors
/// If it can't be read, or is not UTF-8.
pub(super) fn read_text(path: &Path, max: u64) -> io::Result<Option<String>> {
    let mut text = String::new();
    let length = open(path)?.take(max + 1).read_to_string(&mut text)? as u64;
    Ok((length <= max).then_some(text))
}

/// Opens a file, or standard input for `-`.
///
/// # Errors
/// If the file cannot be opened.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    match path == Path::new("-") {
        true => Ok(Box::new(io::stdin())),
        false => Ok(Box::new(File::open(path)?)),
    }
}

impl FromStr for Length {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        if text == "0" {
            return Ok(Length(Duration::ZERO));
        }
        let unit = text.chars().last().ok_or(TimeError::Length)?;
        let seconds: u64 = match unit {
            's' => 1,
            'm' => 60,
            'h' => 60 * 60,
            'd' => 24 * 60 * 60,
            'w' => 7 * 24 * 60 * 60,
            _ => return Err(TimeError::Length),
        };
        let number = text.trim_end_matches(unit);
        let is_number =
            number.len() + 1 == text.len() && number.bytes().all(|b| b.is_ascii_digit());
        let number: Option<u64> = number.parse().ok().filter(|_| is_number);
        let length = number.and_then(|number| number.checked_mul(seconds));
        // A century is as good as unlimited, and every clock can represent it.
        let length = length.filter(|length| *length <= 100 * 366 * 24 * 60 * 60);
        Ok(Length(Duration::from_secs(
            length.ok_or(TimeError::Length)?,
        )))
    }
}

impl FromStr for KeyEnd {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let now = SystemTime::now();
        let end = match text.parse::<Length>() {
            Ok(Length(length)) => now + length,
            Err(_no_length) => KeyEnd::at(text).map_err(|_no_moment| TimeError::KeyEnd)?.0,
        };
        if end <= now {
            return Err(TimeError::Over);
        }
        Ok(KeyEnd(end))
    }
}

impl KeyEnd {
    /// A day or a moment, which may be in the past. Rounded to the second, so that a file applied
    /// again changes nothing.
    pub(super) fn at(text: &str) -> Result<KeyEnd, TimeError> {
        let day = text.parse::<Date>().ok().filter(|_| text.len() == 10);
        let moment = match day {
            Some(day) => day.to_zoned(TimeZone::UTC).map(|day| day.timestamp()),
            None => text.parse::<Timestamp>(),
        };
        let moment = moment.and_then(|moment| moment.round(Unit::Second));
        Ok(KeyEnd(
            moment.map_err(|_no_moment| TimeError::Moment)?.into(),
        ))
    }
}

/// Checks globs with the rules that workers apply.
pub(super) fn check_globs<'a>(
    open: bool,
    globs: impl IntoIterator<Item = &'a String>,
) -> Result<(), AdminError> {
    let mut globs = globs.into_iter();
    globs.try_for_each(|glob| check_glob(open, glob).map_err(|error| bad_glob(glob, &error)))
}

fn check_glob(open: bool, glob: &String) -> Result<(), GlobError> {
    let one = std::slice::from_ref(glob);
    let rules = if open {
        Rules::new(one, &[], None)
    } else {
        Rules::new(&[], one, Some(one))
    };
    rules.map(|_rules| ())
}

fn bad_glob(glob: &str, error: &GlobError) -> AdminError {
    let place = error.position.map_or_else(String::new, |position| {
        format!(", at character {}", position + 1)
    });
    AdminError::Refused(format!("{glob:?} is not a glob: {error}{place}"))
}

/// The families of this version's tools.
pub(super) fn families() -> Result<Vec<String>, AdminError> {
    let tools = scoped_families()?.into_iter();
    let mut families: Vec<String> = tools.map(|(family, _)| family).collect();
    families.dedup();
    Ok(families)
}

/// The family of each of this version's tools, and the scope that it needs.
pub(super) fn scoped_families() -> Result<Vec<(String, Scope)>, AdminError> {
    let registry = tools::registry().map_err(|error| AdminError::Refused(error.to_string()))?;
    let tools = registry.list().tools.iter();
    Ok(tools
        .map(|tool| (tool.family.clone(), tool.scope))
        .collect())
}

/// Checks that tools of this version have these families.
pub(super) fn check_families(families: Option<&[String]>) -> Result<(), AdminError> {
    let known = self::families()?;
    let mut families = families.into_iter().flatten();
    match families.find(|family| !known.contains(family)) {
        None => Ok(()),
        Some(family) => Err(AdminError::Refused(format!(
            "there is no tool family {family:?}; there are {}",
            known.join(", ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_a_unit_and_a_bound() {
        let seconds = |text: &str| text.parse::<Length>().map(|length| length.0.as_secs());
        assert_eq!(seconds("0"), Ok(0));
        assert_eq!(seconds("45s"), Ok(45));
        assert_eq!(seconds("2w"), Ok(14 * 86_400));
        for bad in [
            "",
            "d",
            "9",
            "-1d",
            "1dd",
            "1.5h",
            "١d",
            "99999999999999999999d",
            "40000d",
        ] {
            assert_eq!(seconds(bad), Err(TimeError::Length), "{bad}");
        }
    }

    #[test]
    fn an_end_is_a_duration_a_day_or_a_moment_in_the_future() {
        let day = KeyEnd::at("2027-01-31").unwrap();
        assert_eq!(KeyEnd::at("2027-01-31T01:00:00.4+01:00"), Ok(day));
        let soon: KeyEnd = "1h".parse().unwrap();
        let left = soon.0.duration_since(SystemTime::now()).unwrap();
        assert!((3_590..=3_600).contains(&left.as_secs()), "{left:?}");
        assert_eq!("2001-01-01".parse::<KeyEnd>(), Err(TimeError::Over));
        assert_eq!("0".parse::<KeyEnd>(), Err(TimeError::Over));
        assert_eq!("tomorrow".parse::<KeyEnd>(), Err(TimeError::KeyEnd));
        assert_eq!(KeyEnd::at("90d"), Err(TimeError::Moment));
    }

    #[test]
    fn invalid_globs_and_families_are_named() {
        check_globs(true, &["docs/**".to_owned(), "*.env".to_owned()]).unwrap();
        let refusal = check_globs(false, &["a[b".to_owned()]).unwrap_err();
        assert!(refusal.to_string().contains("\"a[b\""), "{refusal}");
        check_families(Some(&["files".to_owned()])).unwrap();
        let refusal = check_families(Some(&["fils".to_owned()])).unwrap_err();
        assert!(refusal.to_string().contains("basics, files"), "{refusal}");
    }
}
