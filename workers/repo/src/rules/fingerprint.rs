//! A fingerprint of path rules, stored with data that was derived under them.

use super::Rules;
use crate::glob::Glob;

/// Version of the names that are blocked everywhere. Change it with them: all derived data is then
/// built again.
const NAMES: u8 = 1;

impl Rules {
    /// 40 hexadecimal digits, equal for rules that open and close by the same globs.
    pub fn fingerprint(&self) -> String {
        let open: Vec<&str> = self.open.iter().map(|open| open.glob.as_str()).collect();
        let close = self.close.iter().map(Glob::as_str).collect();
        let deny = self.deny.iter().map(Glob::as_str).collect();
        let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
        hasher.update(&[NAMES]);
        for globs in [open, close, deny] {
            hasher.update(&globs.len().to_be_bytes());
            for glob in globs {
                hasher.update(&glob.len().to_be_bytes());
                hasher.update(glob.as_bytes());
            }
        }
        // Globs crafted to collide get a fingerprint that equals no other rules'.
        let hash = hasher.try_finalize();
        hash.map_or_else(|_collides| String::new(), |hash| hash.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(open: &[&str], close: &[&str], allow: Option<&str>) -> String {
        let owned =
            |globs: &[&str]| -> Vec<String> { globs.iter().map(ToString::to_string).collect() };
        let allow = allow.map(|glob| vec![glob.to_owned()]);
        let rules = Rules::new(&owned(open), &owned(close), allow.as_deref());
        rules.unwrap().fingerprint()
    }

    #[test]
    fn fingerprints_differ_with_open_and_close_globs_only() {
        let all = [
            rules(&[], &[], None),
            rules(&["a"], &[], None),
            rules(&[], &["a"], None),
            rules(&["a", "b"], &[], None),
            rules(&["a"], &["b"], None),
            rules(&["ab"], &[], None),
            rules(&["b", "a"], &[], None),
        ];
        let distinct: std::collections::HashSet<&String> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(
            all[0],
            rules(&[], &[], Some("docs/**")),
            "`allow` does not count"
        );
        assert_eq!(all[0].len(), 40);
    }
}
