//! Runs every command of README, the book and the pages for chart and Compose, and compares the output
//! with what the page shows.

use std::collections::BTreeSet;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::expected_output::{Bound, missing, substitute};
use crate::pages::pages;
use crate::stage::Stage;
use crate::steps::{Command, Scenario, Step, found};

/// Commands that cannot be run here, by their beginning, with the reason.
const NOT_RUN: [(&str, &str); 2] = [
    (
        "tests/",
        "programs of the project's tests: they run these here, or are steps of .ci/run of their own",
    ),
    (".ci/", "it runs tests/run"),
];

/// The kinds of stages (`stage.rs`). A test below runs each kind.
const KINDS: [&str; 12] = [
    "alerted",
    "called",
    "clients",
    "cluster",
    "compose",
    "dev",
    "hosts",
    "installation",
    "mirrored",
    "prepared",
    "release",
    "shared",
];

/// Commands that change nothing. What they show may take seconds to appear, so they are repeated.
const LOOKS: [&str; 10] = [
    "archway status",
    "archway project list",
    "archway healthcheck",
    "archway index status",
    "archway audit export",
    "archway audit verify",
    "archway usage",
    "archway sync status",
    "archway call list_projects",
    "curl",
];
/// When it must have appeared: workers report their projects every 30 s.
const PATIENCE: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
/// How many scenarios of a kind run at a time. Each starts its own processes.
const AT_ONCE: usize = 4;

fn why_not_run(command: &Command) -> Option<&'static str> {
    // Variables that are set for one command only are not part of its name.
    let mut words = command.text.split_whitespace();
    let name = words.find(|word| !word.contains('='))?;
    let found = NOT_RUN.iter().find(|(begin, _)| name.starts_with(begin));
    found.map(|(_, why)| *why)
}

#[test]
fn every_command_belongs_to_a_scenario_or_can_not_be_run_here() {
    let mut excused = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    let mut homeless = Vec::new();
    let mut run = 0;
    for page in &pages() {
        let found = found(page);
        kinds.extend(found.scenarios.iter().map(|it| it.kind.clone()));
        let steps = found.scenarios.iter().flat_map(|it| &it.steps);
        run += steps
            .filter(|step| matches!(step, Step::Command(_)))
            .count();
        for command in found.homeless {
            match why_not_run(&command) {
                Some(why) => drop(excused.insert(why)),
                None => homeless.push(format!("{}: {}", command.installation, command.text)),
            }
        }
    }
    assert!(
        homeless.is_empty(),
        "put <!-- scenario: KIND/NAME --> above the blocks of these commands:\n{}",
        homeless.join("\n")
    );
    assert_eq!(
        excused.len(),
        NOT_RUN.len(),
        "what no page shows needs no excuse"
    );
    assert!(kinds.iter().eq(KINDS), "no test runs others: {kinds:?}");
    assert!(run > 150, "pages show commands: {run}");
}

#[test]
fn commands_of_an_installation_do_what_pages_say() {
    run_all("installation");
}

#[test]
fn commands_about_calls_do_what_pages_say() {
    run_all("called");
}

#[test]
fn commands_for_hosts_of_ones_own_do_what_pages_say() {
    run_all("hosts");
}

#[test]
fn commands_that_start_roles_do_what_pages_say() {
    run_all("prepared");
}

#[test]
fn commands_of_the_alerts_pages_do_what_they_say() {
    run_all("alerted");
}

#[test]
fn commands_about_an_organisation_do_what_pages_say() {
    run_all("mirrored");
}

#[test]
fn commands_on_a_laptop_do_what_pages_say() {
    run_all("dev");
}

#[test]
fn commands_that_connect_clients_do_what_pages_say() {
    run_all("clients");
}

#[test]
fn commands_for_a_cluster_do_what_pages_say() {
    run_all("cluster");
}

#[test]
fn commands_in_a_cluster_do_what_pages_say() {
    run_all("release");
}

#[test]
fn commands_about_a_shared_volume_do_what_pages_say() {
    run_all("shared");
}

#[test]
fn commands_of_docker_compose_do_what_pages_say() {
    run_all("compose");
}

/// Runs all scenarios of a kind, some concurrently.
fn run_all(kind: &str) {
    assert!(KINDS.contains(&kind), "say it there, too");
    let pages = pages();
    let scenarios = pages.iter().flat_map(|page| found(page).scenarios);
    let scenarios: Vec<Scenario> = scenarios.filter(|it| it.kind == kind).collect();
    assert!(!scenarios.is_empty(), "no page has a scenario of {kind}");
    let left = Mutex::new(scenarios.iter());
    let next = || left.lock().next();
    let run_some = || {
        std::iter::from_fn(next)
            .filter_map(|it| run(it).err())
            .collect::<Vec<_>>()
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(run_some)).collect();
        let ended = runs.into_iter().map(|run| run.join().unwrap());
        ended.flatten().collect()
    });
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}

/// Runs a scenario to its end, or to the first command whose output differs from its page.
fn run(scenario: &Scenario) -> Result<(), String> {
    let mut stage = match Stage::set(&scenario.kind) {
        Ok(stage) => stage,
        Err(absent) => {
            eprintln!(
                "SKIPPED: {} of {}: {}",
                scenario.kind, scenario.page, absent.0
            );
            return Ok(());
        }
    };
    let mut bound = Bound::new();
    for step in &scenario.steps {
        match step {
            Step::File { name, text } => {
                stage.write(name, &substitute(&stage.substitute(text), &bound))
            }
            Step::Command(command) => {
                obey(&mut stage, command, &mut bound).map_err(|why| {
                    format!(
                        "{} ({}/{}): {why}",
                        command.installation, scenario.kind, scenario.name
                    )
                })?;
            }
        }
    }
    Ok(())
}

fn obey(stage: &mut Stage, command: &Command, bound: &mut Bound) -> Result<(), String> {
    let text = substitute(&stage.substitute(&command.text), bound);
    let again = LOOKS.iter().any(|look| command.text.starts_with(look));
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = stage.shell.run(&text);
        let wrong = match &command.shown {
            _ if answer.code != 0 => Some(format!("ended with {}", answer.code)),
            None => None,
            Some(shown) => {
                let shown: Vec<String> = shown.iter().map(|line| stage.substitute(line)).collect();
                let missing = missing(&shown, &answer.said, bound);
                missing.map(|line| format!("the page shows: {line}"))
            }
        };
        let Some(wrong) = wrong else { return Ok(()) };
        if !again || Instant::now() > deadline {
            return Err(format!(
                "{}\n{wrong}; it said:\n{}",
                command.text, answer.said
            ));
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}
