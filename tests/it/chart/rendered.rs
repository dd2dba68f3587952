//! Helm's renders of the chart: one for each set of values, shared by all tests.

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command, sync::OnceLock};

use serde_json::Value;

use crate::{programs::given, tidy::root};

/// The namespace of all renders.
pub(super) const NAMESPACE: &str = "archway";
/// The name of the release, and the longest name that Helm allows.
pub(super) const RELEASE: &str = "archway";
const LONGEST: &str = "a-release-with-a-name-as-long-as-helm-lets-one-be-553";

/// One set of values, rendered.
pub(super) struct Render {
    /// The name of the values, with a suffix for the longest release name.
    pub(super) name: String,
    pub(super) documents: Vec<Value>,
}

/// All sets of values under both release names. `None` without Helm.
pub(super) fn renders() -> Option<&'static [Render]> {
    static RENDERS: OnceLock<Option<Vec<Render>>> = OnceLock::new();
    RENDERS.get_or_init(all).as_deref()
}

fn all() -> Option<Vec<Render>> {
    given("ARCHWAY_TEST_HELM")?;
    let cases = fs::read_dir(folder().join("ci")).expect("the chart has values for CI");
    let mut cases: Vec<PathBuf> = cases.map(|case| case.unwrap().path()).collect();
    cases.sort();
    assert!(cases.len() > 5, "{cases:?}");
    let mut renders = Vec::new();
    for case in &cases {
        let name = case.file_name().unwrap().to_str().unwrap();
        let name = name.strip_suffix("-values.yaml").expect("a set of values");
        let values = ["--values", case.to_str().unwrap()];
        for (release, said) in [(RELEASE, ""), (LONGEST, " (longest name)")] {
            let documents = render(release, &values);
            let name = format!("{name}{said}");
            renders.push(Render { name, documents });
        }
    }
    Some(renders)
}

/// The chart's folder.
pub(super) fn folder() -> PathBuf {
    root().join("helm/archway")
}

/// A render with these arguments.
pub(super) fn render(release: &str, arguments: &[&str]) -> Vec<Value> {
    let helm = given("ARCHWAY_TEST_HELM").expect("renders() checked for Helm");
    let mut command = Command::new(helm);
    command.arg("template").arg(release).arg(folder());
    let command = command.args(["--namespace", NAMESPACE]).args(arguments);
    let output = command.output().expect("Helm starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    let text = String::from_utf8(output.stdout).expect("Helm writes UTF-8");
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).expect("YAML");
    documents.into_iter().filter(|it| !it.is_null()).collect()
}

impl Render {
    /// The documents of a kind.
    pub(super) fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        let documents = self.documents.iter();
        documents.filter(move |document| text(&document["kind"]) == kind)
    }

    /// A document by kind and name.
    pub(super) fn find(&self, kind: &str, name: &str) -> Option<&Value> {
        let is_it =
            |it: &&Value| text(&it["kind"]) == kind && text(&it["metadata"]["name"]) == name;
        self.documents.iter().find(is_it)
    }

    /// All pods that the render would create.
    pub(super) fn pods(&self) -> impl Iterator<Item = Pod<'_>> {
        self.documents.iter().filter_map(Pod::of)
    }
}

/// A pod or pod template.
#[derive(Clone, Copy)]
pub(super) struct Pod<'a> {
    /// The whole document.
    pub(super) document: &'a Value,
    pub(super) metadata: &'a Value,
    pub(super) spec: &'a Value,
}

impl<'a> Pod<'a> {
    fn of(document: &'a Value) -> Option<Pod<'a>> {
        let holder = match text(&document["kind"]) {
            "Pod" => document,
            "Deployment" | "StatefulSet" | "DaemonSet" | "Job" => &document["spec"]["template"],
            "CronJob" => &document["spec"]["jobTemplate"]["spec"]["template"],
            _ => return None,
        };
        Some(Pod {
            document,
            metadata: &holder["metadata"],
            spec: &holder["spec"],
        })
    }

    pub(super) fn title(&self) -> String {
        title(self.document)
    }

    pub(super) fn labels(&self) -> BTreeMap<&'a str, &'a str> {
        pairs(&self.metadata["labels"])
    }

    /// Init containers, then ordinary ones.
    pub(super) fn containers(&self) -> impl Iterator<Item = Container<'a>> + use<'a> {
        let spec = self.spec;
        let all = list(&spec["initContainers"]).chain(list(&spec["containers"]));
        all.map(Container)
    }

    /// Containers that run as long as the pod does, including init containers that stay (`restartPolicy`).
    pub(super) fn running(&self) -> impl Iterator<Item = Container<'a>> + use<'a> {
        let spec = self.spec;
        let beside = list(&spec["initContainers"]).filter(|it| it["restartPolicy"] == "Always");
        beside.chain(list(&spec["containers"])).map(Container)
    }

    /// Whether the pod runs until it is stopped.
    pub(super) fn is_lasting(&self) -> bool {
        matches!(
            text(&self.document["kind"]),
            "Deployment" | "StatefulSet" | "DaemonSet"
        )
    }
}

/// A container of a pod.
#[derive(Clone, Copy)]
pub(super) struct Container<'a>(pub(super) &'a Value);

impl<'a> Container<'a> {
    pub(super) fn name(&self) -> &'a str {
        text(&self.0["name"])
    }

    /// The command of the binary that it runs, with all arguments. `None` if it runs another program.
    pub(super) fn archway(&self) -> Option<Vec<&'a str>> {
        let ours = text(&self.0["image"]);
        let repository = ours.split(['@', ':']).next().unwrap_or_default();
        let is_ours = repository.rsplit('/').next() == Some("archway");
        is_ours.then(|| list(&self.0["args"]).map(text).collect())
    }

    /// Its variables in their order.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
        list(&self.0["env"]).map(|variable| (text(&variable["name"]), variable))
    }

    /// The value of a variable that is set in place.
    pub(super) fn value(&self, name: &str) -> Option<&'a str> {
        let found = self.variables().find(|(variable, _)| *variable == name);
        found.and_then(|(_, variable)| variable["value"].as_str())
    }

    /// Its ports, by number and name.
    pub(super) fn ports(&self) -> impl Iterator<Item = (u64, &'a str)> + use<'a> {
        let ports = list(&self.0["ports"]);
        ports.map(|port| (number(&port["containerPort"]), text(&port["name"])))
    }
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

pub(super) fn pairs(value: &Value) -> BTreeMap<&str, &str> {
    let pairs = value.as_object().into_iter().flatten();
    pairs
        .map(|(name, value)| (name.as_str(), text(value)))
        .collect()
}

/// `Kind/name`.
pub(super) fn title(document: &Value) -> String {
    let name = text(&document["metadata"]["name"]);
    format!("{}/{name}", text(&document["kind"]))
}

/// Whether labels match a selector. An empty selector matches all.
pub(super) fn is_selected(selector: &Value, labels: &BTreeMap<&str, &str>) -> bool {
    let mut expressions = list(&selector["matchExpressions"]);
    let all = expressions.all(|expression| {
        let label = labels.get(text(&expression["key"]));
        let among = label.is_some_and(|label| list(&expression["values"]).any(|it| it == label));
        match text(&expression["operator"]) {
            "In" => among,
            "NotIn" => !among,
            "Exists" => label.is_some(),
            "DoesNotExist" => label.is_none(),
            other => panic!("no operator of a selector: {other:?}"),
        }
    });
    all && has_all(&selector["matchLabels"], labels)
}

/// Whether `labels` contain all of `wanted`.
pub(super) fn has_all(wanted: &Value, labels: &BTreeMap<&str, &str>) -> bool {
    let wanted = pairs(wanted);
    wanted
        .iter()
        .all(|(name, value)| labels.get(name) == Some(value))
}
