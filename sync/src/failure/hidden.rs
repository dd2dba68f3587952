//! What no message may show: the secret of a run, and paths of this machine.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret, SecretString};

use crate::credentials::HttpsCredential;
use crate::percent;

/// What stands for it.
const CUT: &str = "…";
/// A shorter secret is part of many words, and no secret.
const SHORTEST_SECRET: usize = 4;

/// What no message may show.
#[derive(Default)]
pub(crate) struct Hidden {
    /// Longest first: one may be beneath another.
    paths: Vec<String>,
    /// In each form in which a remote may give it back.
    secrets: Vec<SecretString>,
}

impl Hidden {
    /// Hides these folders and files.
    pub(crate) fn of_paths<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Hidden {
        let text = |path: &Path| {
            path.to_str()
                .map(|path| path.trim_end_matches('/').to_owned())
        };
        let mut paths: Vec<String> = paths.into_iter().filter_map(text).collect();
        paths.retain(|path| path.starts_with('/'));
        paths.sort_by_key(|path| std::cmp::Reverse(path.len()));
        Hidden {
            paths,
            secrets: Vec::new(),
        }
    }

    /// Hides a credential as well.
    pub(crate) fn with_credential(mut self, credential: &HttpsCredential) -> Hidden {
        let secret = credential.password.expose_secret();
        // As http sends it.
        let both = format!("{}:{secret}", credential.user);
        let mut forms = vec![STANDARD_NO_PAD.encode(&both), URL_SAFE_NO_PAD.encode(&both)];
        if secret.len() >= SHORTEST_SECRET {
            forms.extend([
                STANDARD_NO_PAD.encode(secret),
                URL_SAFE_NO_PAD.encode(secret),
            ]);
            forms.push(secret.to_owned());
        }
        self.secrets = forms.into_iter().map(SecretString::from).collect();
        self
    }

    /// The text without it.
    pub(crate) fn cut_from(&self, text: &str) -> String {
        let mut text = Cow::Borrowed(text);
        for secret in &self.secrets {
            let secret = secret.expose_secret();
            text = Cow::Owned(text.replace(secret, CUT));
            text = Cow::Owned(without_encoded(&text, secret.as_bytes()));
        }
        for path in &self.paths {
            text = Cow::Owned(without_path(&text, path));
        }
        text.into_owned()
    }
}

/// Cuts out what is the secret once percent-encoded bytes are read.
fn without_encoded(text: &str, secret: &[u8]) -> String {
    let (bytes, places): (Vec<u8>, Vec<Range<usize>>) = percent::decoded(text).unzip();
    let (mut out, mut rest, mut at) = (String::new(), 0, 0);
    while let Some(found) = bytes.get(at..at + secret.len()) {
        if found != secret {
            at += 1;
            continue;
        }
        let from = places.get(at).map_or(rest, |place| place.start);
        at += secret.len();
        let to = places.get(at - 1).map_or(from, |place| place.end);
        out.push_str(text.get(rest..from).unwrap_or_default());
        out.push_str(CUT);
        rest = to;
    }
    out + text.get(rest..).unwrap_or_default()
}

/// Cuts out an absolute path where it begins, and not within another one or a URL.
fn without_path(text: &str, path: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(path) {
        let is_name = |c: char| c.is_alphanumeric() || "-_.~".contains(c);
        let is_begin = !before.ends_with(|c| is_name(c) || c == '/');
        let is_end = !after.starts_with(is_name);
        out.push_str(before);
        out.push_str(if is_begin && is_end { CUT } else { path });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden() -> Hidden {
        let credential = HttpsCredential {
            user: "ada".to_owned(),
            password: "se/s+ame%é".to_owned().into(),
        };
        Hidden::of_paths([Path::new("/tmp"), Path::new("/tmp/repos/"), Path::new("/")])
            .with_credential(&credential)
    }

    #[test]
    fn a_secret_is_cut_out_in_each_form_that_is_sent() {
        for (text, expected) in [
            ("remote: se/s+ame%é, you", "remote: …, you"),
            ("se%2Fs%2Bame%25%C3%A9se%2fs+ame%25%c3%a9", "……"),
            ("%73%65/s+ame%é.", "…."),
            ("Basic YWRhOnNlL3MrYW1lJcOp", "Basic …"),
            ("x=c2UvcythbWUlw6k=", "x=…="),
            ("x=c2UvcythbWUlw6k%3D", "x=…%3D"),
            ("50% of sesame", "50% of sesame"),
            ("é%", "é%"),
        ] {
            assert_eq!(hidden().cut_from(text), expected, "{text}");
        }
    }

    #[test]
    fn paths_are_cut_out_and_urls_are_not() {
        for (text, expected) in [
            ("in '/tmp/repos/a': no", "in '…/a': no"),
            ("/tmp and /tmp/x", "… and …/x"),
            ("https://host/tmp/repos", "https://host/tmp/repos"),
            ("/tmpx /tmp-a a/tmp", "/tmpx /tmp-a a/tmp"),
            ("file:///tmp/x", "file:///tmp/x"),
        ] {
            assert_eq!(hidden().cut_from(text), expected, "{text}");
        }
    }
}
