//! The chart's configuration matches the binary's: every variable and option exists, every value parses,
//! and the chart reaches every option.

use std::collections::{BTreeMap, BTreeSet};

use archway::command::CommandLine;
use clap::{Arg, ArgAction, Command, CommandFactory};
use serde_json::Value;

use super::rendered::{Container, NAMESPACE, Pod, renders, text};
use crate::tidy::assert_none;

/// Commands whose every option the chart must reach: the processes and jobs of an installation.
const COMMANDS: [&str; 5] = ["gateway", "worker", "sync", "migrate", "apply"];
/// Variables of the system and of libraries, which values for CI set as operators would.
const OTHERS: [&str; 4] = [
    "HTTPS_PROXY",
    "OTEL_EXPORTER_OTLP_COMPRESSION",
    "SSL_CERT_FILE",
    "TZ",
];
/// Options that the chart does not reach, and why.
const OUT_OF_REACH: [(&str, &str); 11] = [
    ("--key-file", "keys of tenants come by variables"),
    ("--qdrant-key", "the chart gives the key as a file"),
    ("--embedder-key", "the chart gives the key as a file"),
    ("--chat-key", "the chart gives the key as a file"),
    ("--dry-run", "a question, for a terminal"),
    ("--schema", "a question, for a terminal"),
    ("--json", "an answer for programs"),
    ("--data", "a folder of `archway dev`"),
    ("--roles-only", "for a server on which a dump is restored"),
    ("--replace-secret", "a decision, for a terminal"),
    ("--mirrors", "workers have one volume, which is --repos"),
];

/// All commands, by name.
fn commands() -> BTreeMap<String, Command> {
    fn collect(path: &str, command: &Command, found: &mut BTreeMap<String, Command>) {
        found.insert(path.to_owned(), command.clone());
        for inner in command.get_subcommands() {
            let path = format!("{path} {}", inner.get_name());
            collect(path.trim_start(), inner, found);
        }
    }
    let mut found = BTreeMap::new();
    let mut whole = CommandLine::command();
    whole.build();
    collect("", &whole, &mut found);
    found
}

/// Variables whose values `--help` never shows.
pub(super) fn secret_variables() -> BTreeSet<String> {
    let commands = commands();
    let arguments = commands.values().flat_map(Command::get_arguments);
    let hidden = arguments.filter(|argument| argument.is_hide_env_values_set());
    hidden.filter_map(variable).collect()
}

fn variable(argument: &Arg) -> Option<String> {
    argument.get_env()?.to_str().map(str::to_owned)
}

fn variables(command: &Command) -> impl Iterator<Item = String> {
    command.get_arguments().filter_map(variable)
}

fn option(argument: &Arg) -> Option<String> {
    argument.get_long().map(|name| format!("--{name}"))
}

/// The command that a container runs.
fn command<'a>(
    container: Container<'_>,
    all: &'a BTreeMap<String, Command>,
) -> Result<&'a Command, String> {
    let arguments = container.archway().unwrap_or_default();
    let first = arguments.first().copied().unwrap_or_default();
    all.get(first)
        .ok_or_else(|| format!("archway has no command for {arguments:?}"))
}

/// Containers that run the binary, with their location.
fn each_container(mut visit: impl FnMut(&str, Pod<'_>, Container<'_>)) -> Option<()> {
    for render in renders()? {
        for pod in render.pods() {
            for container in pod.containers().filter(|it| it.archway().is_some()) {
                let place = format!("{}: {}/{}", render.name, pod.title(), container.name());
                visit(&place, pod, container);
            }
        }
    }
    Some(())
}

/// Whether a variable is a key that the file of `archway apply` names. `documents` checks those.
fn is_key(name: &str, container: Container<'_>) -> bool {
    let applies = container.archway().unwrap_or_default().first() == Some(&"apply");
    applies && name.starts_with("TENANT_KEY_")
}

#[test]
fn every_variable_is_known_to_its_command() {
    let all = commands();
    let mut violations = Vec::new();
    let seen = each_container(|place, pod, container| {
        // The next test reports the lack of a command.
        let Ok(command) = command(container, &all) else {
            return;
        };
        let asked: BTreeSet<String> = match text(&pod.document["kind"]) {
            // Any command may be run in place of its own.
            "CronJob" => all.values().flat_map(variables).collect(),
            _ => variables(command).collect(),
        };
        for (name, _) in container.variables() {
            let known = asked.contains(name) || OTHERS.contains(&name) || is_key(name, container);
            if !known {
                violations.push(format!("{place}: no command knows {name}"));
            }
        }
    });
    if seen.is_some() {
        assert_none(&violations);
    }
}

/// A value as the process gets it, after the cluster's substitution.
fn filled(name: &str, variable: &Value, known: &BTreeMap<&str, String>) -> String {
    if let Some(value) = variable["value"].as_str() {
        return known.iter().fold(value.to_owned(), |value, (name, other)| {
            value.replace(&format!("$({name})"), other)
        });
    }
    let sample = match name {
        "ARCHWAY_LIMITS_URL" => "redis://limits:6379/0",
        "OTEL_EXPORTER_OTLP_HEADERS" => "authorization=sesame",
        _ if name.ends_with("DATABASE_URL") => "postgres://archway@database/archway",
        _ if variable["valueFrom"]["fieldRef"].is_object() => "archway-0",
        _ => "awy_sesame",
    };
    sample.to_owned()
}

/// A container's command line, with its variables as options.
fn line(container: Container<'_>, command: &Command) -> Result<Vec<String>, String> {
    let mut line = vec!["archway".to_owned()];
    line.extend(container.archway().unwrap().into_iter().map(str::to_owned));
    let mut known = BTreeMap::new();
    for (name, entry) in container.variables() {
        let value = filled(name, entry, &known);
        if value.contains("$(") {
            return Err(format!(
                "{name} is {value}: a cluster fills in what stands before it"
            ));
        }
        known.insert(name, value.clone());
        let mut arguments = command.get_arguments();
        let Some(argument) = arguments.find(|it| variable(it).as_deref() == Some(name)) else {
            continue;
        };
        let option = option(argument).expect("what a variable says, an option says, too");
        let is_flag = matches!(argument.get_action(), ArgAction::SetTrue);
        match value.as_str() {
            "true" if is_flag => line.push(option),
            "false" if is_flag => {}
            _ if is_flag => return Err(format!("{name} is {value:?}, neither true nor false")),
            _ => line.push(format!("{option}={value}")),
        }
    }
    Ok(line)
}

#[test]
fn every_value_is_accepted_by_its_command() {
    let all = commands();
    let mut violations = Vec::new();
    let mut seen = 0;
    let rendered = each_container(|place, _, container| {
        seen += 1;
        let line = command(container, &all).and_then(|command| line(container, command));
        let taken = line.and_then(|line| {
            let matches = CommandLine::command().try_get_matches_from(&line);
            matches.map_err(|error| format!("{error} ({line:?})"))
        });
        violations.extend(taken.err().map(|error| format!("{place}: {error}")));
    });
    if rendered.is_some() {
        assert_none(&violations);
        assert!(seen > 10, "{seen} containers run the binary");
    }
}

#[test]
fn every_option_is_in_reach_of_the_chart_but_those_that_say_why_not() {
    let all = commands();
    let mut reached: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let rendered = each_container(|_, _, container| {
        let arguments = container.archway().unwrap_or_default();
        let Some(name) = COMMANDS.iter().find(|name| arguments.first() == Some(name)) else {
            return;
        };
        let reached = reached.entry(name).or_default();
        reached.extend(container.variables().map(|(name, _)| name.to_owned()));
        let options = arguments
            .iter()
            .map(|it| it.split('=').next().unwrap_or_default());
        reached.extend(options.map(str::to_owned));
    });
    if rendered.is_none() {
        return;
    }
    let mut violations = Vec::new();
    for name in COMMANDS {
        let reached = reached.get(name).expect("values for CI run every command");
        for argument in all[name].get_arguments() {
            let Some(option) = option(argument).filter(|_| is_asked(argument)) else {
                continue;
            };
            let variable = variable(argument).unwrap_or_default();
            let is_reached = reached.contains(&option) || reached.contains(&variable);
            let excused = OUT_OF_REACH.iter().any(|(excused, _)| *excused == option);
            match (is_reached, excused) {
                (true, true) => violations.push(format!("{option} is excused and reached")),
                (false, false) => violations.push(format!(
                    "archway {name} {option}: no values for CI reach it"
                )),
                _ => {}
            }
        }
    }
    assert_none(&violations);
}

fn is_asked(argument: &Arg) -> bool {
    let answers = matches!(
        argument.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    );
    !answers && !argument.is_hide_set()
}

#[test]
fn pods_get_their_own_name_as_instance_name() {
    let mut violations = Vec::new();
    let seen = each_container(|place, _, container| {
        let names = ["GATEWAY", "WORKER", "SYNC"].map(|role| format!("ARCHWAY_{role}_NAME"));
        for name in names {
            let Some((_, entry)) = container.variables().find(|(it, _)| *it == name) else {
                continue;
            };
            let from = text(&entry["valueFrom"]["fieldRef"]["fieldPath"]);
            if from != "metadata.name" {
                violations.push(format!("{place}: {name} is not the pod's, in {NAMESPACE}"));
            }
        }
    });
    if seen.is_some() {
        assert_none(&violations);
    }
}
