//! What a browser keeps for the page, sealed with the root secret, so that any gateway can read it.
//!
//! A cookie is bound to what it is for and to who let its holder in: after a change of the provider, of its client, or of
//! the token, the cookies of before are worth nothing. What a reader would get wrong: a sealed cookie cannot be taken
//! back, so it has to end soon.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, header};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::secrets::RootSecret;

/// Characters of a sealed cookie at most; browsers keep 4,096 with its name.
const LONGEST: usize = 3_800;

/// A kind of cookie.
#[derive(Clone, Copy)]
pub(super) struct CookieKind {
    pub(super) name: &'static str,
    /// The path below which browsers send it.
    pub(super) path: &'static str,
    /// Seconds that it is good for.
    pub(super) life: u64,
}

/// A value with its end.
#[derive(Serialize, Deserialize)]
pub(super) struct Ending<T> {
    /// Seconds since 1970.
    pub(super) ends: u64,
    pub(super) value: T,
}

/// Seals cookies and opens them.
pub(super) struct Cookies {
    secret: Arc<RootSecret>,
    /// Whether browsers reach the page over TLS alone.
    is_secure: bool,
}

impl Cookies {
    pub(super) fn new(secret: Arc<RootSecret>, is_secure: bool) -> Self {
        Cookies { secret, is_secure }
    }

    /// The header that sets a cookie, bound to `context`; `None` if it does not fit into one.
    pub(super) fn set<T: Serialize>(
        &self,
        kind: CookieKind,
        context: &str,
        value: T,
    ) -> Option<HeaderValue> {
        let ends = now() + kind.life;
        let plain = serde_json::to_vec(&Ending { ends, value }).ok()?;
        let sealed = self
            .secret
            .seal_cookie(&bound(kind, context), &plain)
            .ok()?;
        let sealed = URL_SAFE_NO_PAD.encode(sealed);
        let fits = sealed.len() <= LONGEST;
        fits.then(|| self.header(kind, &sealed, kind.life))?
    }

    /// The header that removes a cookie.
    pub(super) fn remove(&self, kind: CookieKind) -> Option<HeaderValue> {
        self.header(kind, "", 0)
    }

    /// The value of a request's cookie, if it was sealed for this context and has not ended.
    pub(super) fn get<T: DeserializeOwned>(
        &self,
        kind: CookieKind,
        context: &str,
        headers: &HeaderMap,
    ) -> Option<Ending<T>> {
        let sent = headers.get_all(header::COOKIE).iter();
        let pairs = sent.filter_map(|it| it.to_str().ok());
        let mut pairs = pairs.flat_map(|it| it.split(';'));
        pairs.find_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            if name != kind.name || value.len() > LONGEST {
                return None;
            }
            let sealed = URL_SAFE_NO_PAD.decode(value).ok()?;
            let plain = self.secret.open_cookie(&bound(kind, context), &sealed)?;
            let found: Ending<T> = serde_json::from_slice(&plain).ok()?;
            // A clock that differs from that of the gateway which sealed it must not lengthen its life.
            let left = found.ends.saturating_sub(now());
            (1..=kind.life + MOST_SKEW).contains(&left).then_some(found)
        })
    }

    fn header(&self, kind: CookieKind, value: &str, life: u64) -> Option<HeaderValue> {
        let CookieKind { name, path, .. } = kind;
        let secure = if self.is_secure { "; Secure" } else { "" };
        let text =
            format!("{name}={value}; Path={path}; Max-Age={life}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::try_from(text).ok()
    }
}

/// Seconds by which the clocks of gateways may differ.
const MOST_SKEW: u64 = 60;

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

fn bound(kind: CookieKind, context: &str) -> Vec<u8> {
    format!("{}\n{context}", kind.name).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: CookieKind = CookieKind {
        name: "one",
        path: "/console",
        life: 60,
    };

    fn jar() -> Cookies {
        let line = RootSecret::generate_line().unwrap();
        Cookies::new(Arc::new(RootSecret::parse(&line).unwrap()), true)
    }

    fn sent(set: &HeaderValue) -> HeaderMap {
        let pair = set.to_str().unwrap().split(';').next().unwrap();
        let mut headers = HeaderMap::new();
        let both = format!("other=1; one=x; {pair}");
        headers.insert(header::COOKIE, HeaderValue::try_from(both).unwrap());
        headers
    }

    #[test]
    fn a_cookie_is_opened_for_its_kind_and_context_alone() {
        let cookies = jar();
        let set = cookies.set(ONE, "a", "v").unwrap();
        let text = set.to_str().unwrap();
        for part in [
            "HttpOnly",
            "SameSite=Lax",
            "Secure",
            "Path=/console",
            "Max-Age=60",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let headers = sent(&set);
        let found = |kind, context| cookies.get::<String>(kind, context, &headers);
        assert_eq!(found(ONE, "a").unwrap().value, "v");
        assert!(found(ONE, "b").is_none());
        assert!(
            found(
                CookieKind {
                    name: "other",
                    ..ONE
                },
                "a"
            )
            .is_none()
        );
        // One that is sealed for longer than its kind lives.
        assert!(found(CookieKind { life: 0, ..ONE }, "a").is_some());
        let long = cookies
            .set(CookieKind { life: 900, ..ONE }, "a", "v")
            .unwrap();
        assert!(cookies.get::<String>(ONE, "a", &sent(&long)).is_none());
        let over = cookies
            .set(CookieKind { life: 0, ..ONE }, "a", "v")
            .unwrap();
        assert!(cookies.get::<String>(ONE, "a", &sent(&over)).is_none());
        assert!(jar().get::<String>(ONE, "a", &headers).is_none());
    }
}
