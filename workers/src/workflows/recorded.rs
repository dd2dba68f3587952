//! The recorded results of a session's calls: the last one of each tool, up to a total size.
//!
//! Each result is stored with the projects and path rules it depends on. A key that has
//! since been restricted can't read it here. No key can, once the repository has closed some of its
//! paths.

use std::collections::{BTreeMap, BTreeSet};

use archway_proto::pass::Pass;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::Readable;

/// Maximum size of all results together, in bytes of JSON.
const MAX_BYTES: usize = 256 << 10;

/// The path rules of projects: a fingerprint for each slug.
pub(crate) type RuleFingerprints = BTreeMap<String, String>;

/// The projects that a result may depend on: those named, or all that its caller could read. `None`
/// means all of the tenant's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ResultProjects(Option<Vec<String>>);

impl ResultProjects {
    /// The projects of a call with these arguments, by a caller that may read these.
    pub(crate) fn of(pass: &Pass, readable: &Readable, arguments: &Value) -> ResultProjects {
        let argument = |name| arguments.get(name).and_then(Value::as_str);
        let is_one = argument("project_scope") != Some("all_linked");
        let named = argument("project").or(pass.default_project.as_deref());
        match named.filter(|slug| is_one && *slug != "*") {
            Some(slug) => ResultProjects(Some(vec![slug.to_owned()])),
            None if readable.is_all() => ResultProjects(None),
            None => {
                let readable = readable.list().into_iter();
                ResultProjects(Some(readable.map(|it| it.slug.clone()).collect()))
            }
        }
    }

    /// The named projects. `None` means all that the caller could read.
    pub(crate) fn projects(&self) -> Option<&[String]> {
        self.0.as_deref()
    }

    fn is_open_to(&self, readable: &Readable) -> bool {
        match &self.0 {
            Some(slugs) => slugs.iter().all(|slug| readable.get(slug).is_some()),
            None => readable.is_all(),
        }
    }
}

/// The results, oldest first.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Results(Vec<RecordedResult>);

#[derive(Debug, Serialize, Deserialize)]
struct RecordedResult {
    tool: String,
    #[serde(rename = "stood")]
    projects: ResultProjects,
    /// The path rules of those projects before the call.
    rules: RuleFingerprints,
    data: Value,
    /// Bytes of `data` as JSON, and of `rules`.
    size: usize,
}

impl Results {
    /// Parses the stored results. Returns none if another version stored them in another form.
    pub(super) fn parse(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// Adds a result, in place of that tool's last one, and drops the oldest results that no longer
    /// fit. A result that is too large by itself is not recorded, and its predecessor is dropped as
    /// well.
    pub(super) fn with(
        mut self,
        tool: &str,
        (projects, rules): (ResultProjects, RuleFingerprints),
        data: &Value,
    ) -> Self {
        self.0.retain(|recorded| recorded.tool != tool);
        let fingerprints = rules.iter().map(|(slug, rules)| slug.len() + rules.len());
        let size = data.to_string().len() + fingerprints.sum::<usize>();
        if size > MAX_BYTES {
            return self;
        }
        self.0.push(RecordedResult {
            tool: tool.to_owned(),
            projects,
            rules,
            data: data.clone(),
            size,
        });
        let mut room = MAX_BYTES;
        let fits = self.0.iter().rev().take_while(|recorded| {
            let left = room.checked_sub(recorded.size);
            room = left.unwrap_or(0);
            left.is_some()
        });
        let fits = fits.count();
        self.0.drain(..self.0.len() - fits);
        self
    }

    /// The tools that have a result.
    pub(super) fn tools(&self) -> Vec<String> {
        self.0
            .iter()
            .map(|recorded| recorded.tool.clone())
            .collect()
    }

    /// The projects that any of the results depends on.
    pub(super) fn projects(&self) -> Vec<String> {
        let slugs = self.0.iter().flat_map(|recorded| recorded.rules.keys());
        slugs
            .cloned()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// The data by tool, limited to tools that the caller may call, each with the projects that it may read by it,
    /// and to results whose projects have the same path rules as before.
    pub(super) fn allowed(
        self,
        readable: &BTreeMap<String, Readable>,
        rules: &RuleFingerprints,
    ) -> Map<String, Value> {
        let is_unchanged = |(slug, then): (&String, &String)| rules.get(slug) == Some(then);
        let is_allowed = |recorded: &RecordedResult| {
            let readable = readable.get(&recorded.tool);
            readable.is_some_and(|readable| recorded.projects.is_open_to(readable))
                && recorded.rules.iter().all(is_unchanged)
        };
        let allowed = self.0.into_iter().filter(is_allowed);
        allowed
            .map(|recorded| (recorded.tool, recorded.data))
            .collect()
    }
}

impl std::fmt::Display for Results {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Strings and JSON values always serialize.
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
            access: None,
            hosted: None,
            pool: "shared".to_owned(),
        }
    }

    /// The projects `site` and `web`, as far as the caller may read them.
    fn readable(pass: &Pass) -> Readable {
        Readable::for_tests(pass, &["site", "web"])
    }

    fn of(pass: &Pass, arguments: &Value) -> ResultProjects {
        ResultProjects::of(pass, &readable(pass), arguments)
    }

    fn anywhere() -> (ResultProjects, RuleFingerprints) {
        (ResultProjects(None), RuleFingerprints::new())
    }

    fn fingerprints(rules: &str) -> RuleFingerprints {
        RuleFingerprints::from([("site".to_owned(), rules.to_owned())])
    }

    fn tools(results: &Results) -> Vec<&str> {
        results
            .0
            .iter()
            .map(|recorded| recorded.tool.as_str())
            .collect()
    }

    #[test]
    fn the_last_result_of_each_tool_is_kept_and_the_oldest_is_dropped() {
        let big = json!("x".repeat(MAX_BYTES / 2 - 2));
        let recorded = Results::default().with("a", anywhere(), &json!(1));
        let recorded = recorded
            .with("b", anywhere(), &json!(2))
            .with("a", anywhere(), &json!(3));
        assert_eq!(tools(&recorded), ["b", "a"]);
        let recorded = recorded.with("c", anywhere(), &big);
        assert_eq!(tools(&recorded), ["b", "a", "c"]);
        let recorded = recorded.with("d", anywhere(), &big);
        assert_eq!(tools(&recorded), ["c", "d"]);
        let larger = json!("x".repeat(MAX_BYTES));
        let recorded = recorded.with("d", anywhere(), &larger);
        assert_eq!(tools(&Results::parse(&recorded.to_string())), ["c"]);
        assert!(tools(&Results::parse("{}")).is_empty());
    }

    #[test]
    fn a_result_is_visible_to_keys_that_may_read_its_projects_and_call() {
        let visible = |projects: &ResultProjects, pass: &Pass| {
            let projects = (projects.clone(), RuleFingerprints::new());
            let recorded = Results::default().with("git_log", projects, &json!(1));
            let by_tool = BTreeMap::from([("git_log".to_owned(), readable(pass))]);
            let shown = recorded.allowed(&by_tool, &RuleFingerprints::new());
            !shown.is_empty()
        };
        let all = pass(None);
        let site = of(&all, &json!({}));
        assert_eq!(site, ResultProjects(Some(vec!["site".to_owned()])));
        let web = of(&all, &json!({ "project": "web" }));
        let every = of(&all, &json!({ "project": "*" }));
        let linked = of(&all, &json!({ "project_scope": "all_linked" }));
        let narrow = pass(Some(&["site"]));
        for (projects, by_all, by_narrow) in [
            (&site, true, true),
            (&web, true, false),
            (&every, true, false),
            (&linked, true, false),
            (&of(&narrow, &json!({ "project": "*" })), true, true),
        ] {
            let found = (visible(projects, &all), visible(projects, &narrow));
            assert_eq!(found, (by_all, by_narrow), "{projects:?}");
        }
        let recorded = Results::default().with("git_log", anywhere(), &json!(1));
        let by_another = BTreeMap::from([("read_file".to_owned(), readable(&all))]);
        let shown = recorded.allowed(&by_another, &RuleFingerprints::new());
        assert!(shown.is_empty(), "a tool that the caller may not call");
    }

    #[test]
    fn a_result_recorded_under_other_path_rules_is_hidden() {
        let pass = pass(None);
        let visible = |now: &RuleFingerprints| {
            let projects = (of(&pass, &json!({})), fingerprints("a"));
            let recorded = Results::default().with("git_log", projects, &json!(1));
            assert_eq!(recorded.projects(), ["site"]);
            let by_tool = BTreeMap::from([("git_log".to_owned(), readable(&pass))]);
            !recorded.allowed(&by_tool, now).is_empty()
        };
        assert!(visible(&fingerprints("a")));
        assert!(!visible(&fingerprints("b")));
        assert!(
            !visible(&RuleFingerprints::new()),
            "a project whose rules are unknown"
        );
    }
}
