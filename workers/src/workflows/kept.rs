//! What is kept of a session's calls: the last result of each tool, so many bytes in all.
//!
//! With each goes what it stood on: a key that was narrowed since must not get at it this way, and
//! what a repository closed since is not to be had this way either.

use std::collections::{BTreeMap, BTreeSet};

use archway_proto::pass::Pass;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Bytes of all results together, as JSON.
const MAX_BYTES: usize = 256 << 10;

/// Which path rules projects have, each by its slug: a fingerprint.
pub(crate) type Ruled = BTreeMap<String, String>;

/// Which projects an answer may stand on: those named, or all that its caller could read, which
/// for `None` are all of the tenant's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stood(Option<Vec<String>>);

impl Stood {
    /// Of a call with these arguments.
    pub(crate) fn of(pass: &Pass, arguments: &Value) -> Stood {
        let argument = |name| arguments.get(name).and_then(Value::as_str);
        let is_one = argument("project_scope") != Some("all_linked");
        let named = argument("project").or(pass.default_project.as_deref());
        match named.filter(|slug| is_one && *slug != "*") {
            Some(slug) => Stood(Some(vec![slug.to_owned()])),
            None => Stood(pass.projects.clone()),
        }
    }

    /// Those named; `None` for all that its caller could read.
    pub(crate) fn projects(&self) -> Option<&[String]> {
        self.0.as_deref()
    }

    fn is_open_to(&self, pass: &Pass) -> bool {
        match &self.0 {
            Some(slugs) => slugs.iter().all(|slug| pass.may_read(slug)),
            None => pass.projects.is_none(),
        }
    }
}

/// The results, the oldest first.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Results(Vec<Result>);

#[derive(Debug, Serialize, Deserialize)]
struct Result {
    tool: String,
    stood: Stood,
    /// The path rules of those projects when it was asked for.
    rules: Ruled,
    data: Value,
    /// Bytes of `data` as JSON, and of `rules`.
    size: usize,
}

impl Results {
    /// What was stored; nothing, if another version stored it in another form.
    pub(super) fn parse(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// With one more, in place of that tool's last; the oldest go while there is no room. One that
    /// alone has none is not kept, and nor is what it replaces.
    pub(super) fn with(mut self, tool: &str, (stood, rules): (Stood, Ruled), data: &Value) -> Self {
        self.0.retain(|kept| kept.tool != tool);
        let ruled = rules.iter().map(|(slug, rules)| slug.len() + rules.len());
        let size = data.to_string().len() + ruled.sum::<usize>();
        if size > MAX_BYTES {
            return self;
        }
        self.0.push(Result {
            tool: tool.to_owned(),
            stood,
            rules,
            data: data.clone(),
            size,
        });
        let mut room = MAX_BYTES;
        let fitting = self.0.iter().rev().take_while(|kept| {
            let left = room.checked_sub(kept.size);
            room = left.unwrap_or(0);
            left.is_some()
        });
        let fitting = fitting.count();
        self.0.drain(..self.0.len() - fitting);
        self
    }

    /// The projects that something of it stands on.
    pub(super) fn projects(&self) -> Vec<String> {
        let slugs = self.0.iter().flat_map(|kept| kept.rules.keys());
        slugs
            .cloned()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// The data by tool, of the tools that the caller may call and the projects it may read, if
    /// their path rules are what they were.
    pub(super) fn allowed(
        self,
        pass: &Pass,
        may_call: impl Fn(&str) -> bool,
        rules: &Ruled,
    ) -> Map<String, Value> {
        let is_ruled_so = |(slug, then): (&String, &String)| rules.get(slug) == Some(then);
        let is_allowed = |kept: &Result| {
            may_call(&kept.tool)
                && kept.stood.is_open_to(pass)
                && kept.rules.iter().all(is_ruled_so)
        };
        let allowed = self.0.into_iter().filter(is_allowed);
        allowed.map(|kept| (kept.tool, kept.data)).collect()
    }
}

impl std::fmt::Display for Results {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Strings and JSON values always have a form.
        f.write_str(&serde_json::to_string(self).unwrap_or_else(|_| "[]".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use archway_proto::catalog::Scope;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn pass(projects: Option<&[&str]>) -> Pass {
        let owned = |slugs: &[&str]| slugs.iter().map(|&slug| slug.to_owned()).collect();
        Pass {
            tenant_id: Uuid::nil(),
            tenant: "acme".to_owned(),
            principal: "key:test".to_owned(),
            projects: projects.map(owned),
            default_project: Some("site".to_owned()),
            scopes: vec![Scope::ToolsRead],
            families: None,
            pool: "shared".to_owned(),
        }
    }

    fn anywhere() -> (Stood, Ruled) {
        (Stood(None), Ruled::new())
    }

    fn ruled(rules: &str) -> Ruled {
        Ruled::from([("site".to_owned(), rules.to_owned())])
    }

    fn tools(results: &Results) -> Vec<&str> {
        results.0.iter().map(|kept| kept.tool.as_str()).collect()
    }

    #[test]
    fn the_last_of_each_tool_is_kept_and_the_oldest_makes_room() {
        let big = json!("x".repeat(MAX_BYTES / 2 - 2));
        let kept = Results::default().with("a", anywhere(), &json!(1));
        let kept = kept
            .with("b", anywhere(), &json!(2))
            .with("a", anywhere(), &json!(3));
        assert_eq!(tools(&kept), ["b", "a"]);
        let kept = kept.with("c", anywhere(), &big);
        assert_eq!(tools(&kept), ["b", "a", "c"]);
        let kept = kept.with("d", anywhere(), &big);
        assert_eq!(tools(&kept), ["c", "d"]);
        let larger = json!("x".repeat(MAX_BYTES));
        let kept = kept.with("d", anywhere(), &larger);
        assert_eq!(tools(&Results::parse(&kept.to_string())), ["c"]);
        assert!(tools(&Results::parse("{}")).is_empty());
    }

    #[test]
    fn what_was_kept_is_open_to_whoever_may_still_read_and_call() {
        let seen = |stood: &Stood, pass: &Pass| {
            let stood = (stood.clone(), Ruled::new());
            let kept = Results::default().with("git_log", stood, &json!(1));
            let may_call = |_tool: &str| pass.may_call("git", Scope::ToolsRead);
            !kept.allowed(pass, may_call, &Ruled::new()).is_empty()
        };
        let all = pass(None);
        let site = Stood::of(&all, &json!({}));
        assert_eq!(site, Stood(Some(vec!["site".to_owned()])));
        let web = Stood::of(&all, &json!({ "project": "web" }));
        let every = Stood::of(&all, &json!({ "project": "*" }));
        let linked = Stood::of(&all, &json!({ "project_scope": "all_linked" }));
        let narrow = pass(Some(&["site"]));
        for (stood, by_all, by_narrow) in [
            (&site, true, true),
            (&web, true, false),
            (&every, true, false),
            (&linked, true, false),
            (&Stood::of(&narrow, &json!({ "project": "*" })), true, true),
        ] {
            let found = (seen(stood, &all), seen(stood, &narrow));
            assert_eq!(found, (by_all, by_narrow), "{stood:?}");
        }
        let mut of_files = pass(None);
        of_files.families = Some(vec!["files".to_owned()]);
        assert!(!seen(&site, &of_files));
    }

    #[test]
    fn what_was_kept_under_other_path_rules_is_not_given() {
        let pass = pass(None);
        let seen = |now: &Ruled| {
            let stood = (Stood::of(&pass, &json!({})), ruled("a"));
            let kept = Results::default().with("git_log", stood, &json!(1));
            assert_eq!(kept.projects(), ["site"]);
            !kept.allowed(&pass, |_tool| true, now).is_empty()
        };
        assert!(seen(&ruled("a")));
        assert!(!seen(&ruled("b")));
        assert!(!seen(&Ruled::new()), "a project that can't be asked");
    }
}
