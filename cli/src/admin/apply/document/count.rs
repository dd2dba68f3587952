//! Numbers of limits, by name.

use std::collections::BTreeMap;
use std::fmt;

use archway_gateway::terms::most;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};

/// Numbers from 0 to the highest limit of their name. Anything else is refused with an explanation that
/// doesn't repeat it.
pub(super) fn by_name<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, u32>, D::Error> {
    deserializer.deserialize_map(ByName)
}

struct ByName;

impl<'de> Visitor<'de> for ByName {
    type Value = BTreeMap<String, u32>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("numbers by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut limits = BTreeMap::new();
        while let Some(of) = map.next_key::<String>()? {
            let most = most(&of);
            let limit = map.next_value_seed(Count { most })?;
            if limits.insert(of, limit).is_some() {
                return Err(de::Error::custom("a limit is there twice"));
            }
        }
        Ok(limits)
    }
}

/// A number of at most so much.
#[derive(Clone, Copy)]
struct Count {
    most: u32,
}

impl Count {
    fn no_count<E: de::Error>(self) -> E {
        let most = self.most;
        E::custom(format!(
            "a limit is a whole number from 0 (no limit) to {most}"
        ))
    }
}

impl<'de> DeserializeSeed<'de> for Count {
    type Value = u32;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u32, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Count {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 0 (no limit) to {}", self.most)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<u32, E> {
        let count = u32::try_from(number)
            .ok()
            .filter(|count| *count <= self.most);
        count.ok_or_else(|| self.no_count())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<u32, E> {
        self.visit_u64(u64::try_from(number).map_err(|_negative| self.no_count())?)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<u32, E> {
        Err(self.no_count())
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<u32, E> {
        Err(self.no_count())
    }
}
