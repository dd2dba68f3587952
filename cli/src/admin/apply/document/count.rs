//! A number of a limit.

use std::fmt;

use archway_gateway::terms::MOST;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// 0 to [`MOST`]. Anything else is refused with an explanation that doesn't repeat it.
#[derive(Clone, Copy, Debug)]
pub(in crate::admin::apply) struct Count(pub(in crate::admin::apply) u32);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct CountVisitor;

impl CountVisitor {
    fn no_count<E: de::Error>() -> E {
        E::custom(format!(
            "a limit is a whole number from 0 (no limit) to {MOST}"
        ))
    }
}

impl Visitor<'_> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 0 (no limit) to {MOST}")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Count, E> {
        let count = u32::try_from(number).ok().filter(|count| *count <= MOST);
        count.map(Count).ok_or_else(Self::no_count)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Count, E> {
        self.visit_u64(u64::try_from(number).map_err(|_negative| Self::no_count())?)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Count, E> {
        Err(Self::no_count())
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Count, E> {
        Err(Self::no_count())
    }
}
