//! What tells path rules apart by which other paths exist, for what was made by them and is kept.

use super::Rules;
use crate::glob::Glob;

/// Changes with the names that are blocked everywhere: what was made by these is made anew then.
const NAMES: u8 = 1;

impl Rules {
    /// 40 hexadecimal digits: the same wherever the same globs open and close.
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
        // Who asks for a collision gets rules that are like no others'.
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
    fn rules_that_open_or_close_other_paths_are_told_apart_and_no_others() {
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
            "reading is another matter"
        );
        assert_eq!(all[0].len(), 40);
    }
}
