//! The runbooks of alerts: quotes match the programs, commands work on a cluster, and the chart and the
//! Compose file have the jobs and labels that rules assume.

use std::collections::BTreeSet;
use std::fs;

use super::{alerts, folder, pages, read, text};
use crate::tidy::{assert_none, root, sources};

/// The link to the description of how commands are run.
const WHERE: &str = "](../../../docs/src/operations/commands.md)";
/// The beginning of a request to a pod.
pub(super) const IN_A_POD: &str = "kubectl --namespace archway exec deploy/archway-";

/// The commands of Archway that a page shows, each from `archway` on.
pub(super) fn commands(page: &str) -> Vec<&str> {
    page.lines()
        .filter_map(|line| match line.strip_prefix(IN_A_POD) {
            Some(rest) => rest.split_once(" -- ").map(|(_pod, command)| command),
            None => line.starts_with("archway ").then_some(line),
        })
        .collect()
}

/// Text between backticks on one line, outside of code blocks.
fn quoted(page: &str) -> Vec<String> {
    let mut prose = String::new();
    let mut is_code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            prose.push_str(line.trim_start());
            prose.push(' ');
        }
    }
    let spans = prose.split('`').skip(1).step_by(2);
    spans.map(str::to_owned).collect()
}

/// Whether a quote is a message of a program and not code: several words without signs of code.
fn is_said(quote: &str) -> bool {
    let is_word = |word: &str| {
        let end = word.trim_end_matches([',', ':', ';']);
        !end.is_empty()
            && end
                .chars()
                .all(|c| c.is_ascii_lowercase() || matches!(c, '\'' | '-'))
    };
    let programs = ["archway ", "kubectl ", "git "];
    quote.split(' ').count() > 1
        && quote.split(' ').all(is_word)
        && !quote.starts_with('-')
        && !programs.iter().any(|program| quote.starts_with(program))
}

/// All strings of the programs, with continued lines joined.
fn said() -> String {
    let mut all = String::new();
    for folder in ["gateway/src", "workers", "sync/src", "cli/src", "proto/src"] {
        for source in sources(folder) {
            let mut lines = source.text.lines();
            while let Some(line) = lines.next() {
                match line.strip_suffix('\\') {
                    Some(goes_on) => all.push_str(goes_on),
                    None => {
                        all.push_str(line);
                        all.push('\n');
                        continue;
                    }
                }
                for line in lines.by_ref() {
                    let line = line.trim_start();
                    all.push_str(line.strip_suffix('\\').unwrap_or(line));
                    if !line.ends_with('\\') {
                        all.push('\n');
                        break;
                    }
                }
            }
        }
    }
    all
}

#[test]
fn quotes_of_logs_and_answers_match_the_programs() {
    let said = said();
    let mut violations = Vec::new();
    let mut held = 0;
    for name in pages() {
        let page = read(&format!("runbooks/{name}.md"));
        for quote in quoted(&page).into_iter().filter(|quote| is_said(quote)) {
            held += 1;
            if !said.contains(&quote) {
                violations.push(format!("{name}: no program says `{quote}`"));
            }
        }
    }
    assert_none(&violations);
    assert!(held > 20, "pages quote what programs say: {held}");
}

#[test]
fn messages_of_programs_are_distinguished_from_code() {
    for quote in [
        "audit records can't be written yet",
        "the mount hangs: mend it",
    ] {
        assert!(is_said(quote), "{quote}");
    }
    for quote in [
        "draining",
        "sum by (tool)",
        "archway migrate",
        "--limits-when-down shares",
        "of=\"turn\" b",
    ] {
        assert!(!is_said(quote), "{quote}");
    }
    assert_eq!(quoted("a `b\n  c` d\n```sh\n`e`\n```\n`f`\n"), ["b c", "f"]);
}

/// An admin port answers in its own pod alone: `networkPolicy.admin` admits no one else by default.
#[test]
fn pages_query_admin_ports_in_the_pods_themselves() {
    let mut violations = Vec::new();
    let mut asked = 0;
    for name in pages() {
        let page = read(&format!("runbooks/{name}.md"));
        if page.contains("```sh") && !page.contains(WHERE) {
            violations.push(format!("{name} does not say where commands are run"));
        }
        for line in page.lines().filter(|line| line.contains(" healthcheck")) {
            asked += 1;
            let pod = line.strip_prefix(IN_A_POD).unwrap_or_default();
            let pods = ["gateway", "worker-shared"];
            if !pods
                .iter()
                .any(|it| pod == format!("{it} -- archway healthcheck"))
            {
                violations.push(format!("{name}: {line}"));
            }
        }
        // Hosts of the book's examples, which are in no chart.
        let hosts = ["gateway-1", "worker-1"].into_iter();
        let hosts = hosts.filter(|host| page.contains(host));
        violations.extend(hosts.map(|host| format!("{name} uses {host}")));
    }
    assert_none(&violations);
    assert!(asked > 5, "requests to pods: {asked}");
}

/// Rules identify silent gateways by their job, and pools by a label.
#[test]
fn alert_rules_use_the_jobs_and_labels_of_chart_and_compose_file() {
    let rules = read("rules/archway.yaml");
    let jobs = rules.split("job=\"").skip(1);
    let jobs: BTreeSet<&str> = jobs.filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(jobs, BTreeSet::from(["archway-gateway"]));
    let compose = fs::read_to_string(root().join("deploy/compose/prometheus.yaml")).unwrap();
    assert!(compose.contains("job_name: archway-gateway\n"));
    let monitor = read("templates/monitoring.yaml");
    let [component, pool] = ["app.kubernetes.io/component", "archway.io/pool"];
    assert!(monitor.contains(&format!("targetLabels: [{component}, {pool}]")));
    let label = "__meta_kubernetes_service_label_app_kubernetes_io_component";
    let job = format!("sourceLabels: [{label}]\n          targetLabel: job\n");
    assert!(monitor.contains(&job), "{job}");
    assert!(monitor.contains("replacement: archway-$1\n"));
}

#[test]
fn the_table_of_incidents_has_every_alert_once() {
    let page = root().join("docs/src/operations/incidents.md");
    let page = fs::read_to_string(page).unwrap();
    let rows: String = page
        .lines()
        .filter(|line| line.starts_with("| ["))
        .collect();
    for (name, alert) in alerts() {
        let link = format!("[{name}](../../../helm/archway/runbooks/{name}.md)");
        assert_eq!(rows.matches(&link).count(), 1, "{name}");
        assert!(
            folder()
                .join(text(&alert["annotations"], "runbook_url"))
                .is_file()
        );
    }
}
