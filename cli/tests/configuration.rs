//! Holds `docs/CONFIGURATION.md` to the command line. This test can write the page.
//!
//! After a change of an option: `ARCHWAY_WRITE_DOCS=1 cargo test -p archway --test configuration`.

use std::collections::BTreeMap;
use std::path::Path;

use archway::command::CommandLine;
use clap::{Arg, ArgAction, Command, CommandFactory};

const INTRODUCTION: &str = "\
# Configuration

Every option is a flag or, where the table names one, an environment variable; a flag wins over a variable. Secrets are
read from the files that are named here, and database URLs best come by variable: a command line can be seen by others.

This page is written by a test, from the same text as `archway help`: after a change of an option
`ARCHWAY_WRITE_DOCS=1 cargo test -p archway --test configuration` writes it anew.
";

#[test]
fn the_page_lists_every_option_as_the_command_line_has_it() {
    let page = page();
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/CONFIGURATION.md");
    if std::env::var_os("ARCHWAY_WRITE_DOCS").is_some() {
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(&place, &page).unwrap();
    }
    let written = std::fs::read_to_string(&place).unwrap_or_default();
    let differs = page
        .lines()
        .zip(written.lines())
        .find(|(now, then)| now != then);
    assert!(
        page == written,
        "docs/CONFIGURATION.md is not what the command line says: set ARCHWAY_WRITE_DOCS=1 and \
         run this test again; first difference: {differs:?}"
    );
}

#[test]
fn one_variable_means_one_thing_and_no_secret_is_shown_in_help() {
    let mut flags: BTreeMap<String, String> = BTreeMap::new();
    for (path, command) in commands() {
        for arg in command.get_arguments() {
            let Some(variable) = arg.get_env() else {
                continue;
            };
            let variable = variable.to_str().unwrap().to_owned();
            let is_ours = variable.starts_with("ARCHWAY_");
            // OpenTelemetry's own names, which operators of collectors know.
            let is_standard = variable.starts_with("OTEL_") && name(arg).starts_with("--otlp-");
            assert!(is_ours || is_standard, "{path}: {variable}");
            let secret = [
                "DATABASE_URL",
                "LIMITS_URL",
                "EMBEDDER_KEY",
                "CHAT_KEY",
                "OTLP_HEADERS",
            ];
            if secret.iter().any(|name| variable.ends_with(name)) {
                assert!(arg.is_hide_env_values_set(), "{path}: {variable} is shown");
            }
            let flag = name(arg);
            let other = flags.insert(variable.clone(), flag.clone());
            let same = other.as_ref().is_none_or(|other| *other == flag);
            assert!(
                same,
                "{variable} is {flag} in {path} and {other:?} elsewhere"
            );
        }
    }
    assert!(flags.len() > 20, "{flags:?}");
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    let whole = CommandLine::command();
    let everywhere: Vec<&Arg> = whole.get_arguments().filter(|arg| shown(arg)).collect();
    page.push_str(&section("All commands", None, &everywhere));
    for (path, command) in commands() {
        let about = command.get_long_about().or(command.get_about());
        let about = about.map(|text| sentence(&text.to_string()));
        let arguments: Vec<&Arg> = command.get_arguments().filter(|arg| shown(arg)).collect();
        page.push_str(&section(&format!("`{path}`"), about.as_deref(), &arguments));
    }
    page
}

/// All commands that do something, with their full names, in the order of the help. Each has the options
/// of its group. Options of all commands are only in the page's first table.
fn commands() -> Vec<(String, Command)> {
    fn collect(
        path: &str,
        inherited: &[Arg],
        command: &Command,
        found: &mut Vec<(String, Command)>,
    ) {
        let inner = command.get_subcommands();
        let mut inner = inner.filter(|inner| !inner.is_hide_set()).peekable();
        // `archway sync` is a process, and has subcommands.
        let own = command.get_arguments().any(|arg| !arg.is_global_set());
        if inner.peek().is_none() || (own && path != "archway") {
            found.push((path.to_owned(), command.clone().args(inherited)));
        }
        let of_all = command.get_arguments().filter(|arg| arg.is_global_set());
        let passed_on: Vec<Arg> = match path {
            "archway" => Vec::new(),
            _ => inherited.iter().chain(of_all).cloned().collect(),
        };
        for command in inner {
            let path = format!("{path} {}", command.get_name());
            collect(&path, &passed_on, command, found);
        }
    }
    let mut found = Vec::new();
    collect("archway", &[], &CommandLine::command(), &mut found);
    found
}

fn shown(arg: &Arg) -> bool {
    let asks = matches!(
        arg.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    );
    !asks && !arg.is_hide_set()
}

fn section(title: &str, about: Option<&str>, arguments: &[&Arg]) -> String {
    let mut section = format!("\n## {title}\n");
    if let Some(about) = about {
        section.push_str(&format!("\n{about}\n"));
    }
    if !arguments.is_empty() {
        section.push_str("\n| option | variable | default | meaning |\n|---|---|---|---|\n");
    }
    for arg in arguments {
        let variable = arg.get_env().and_then(|name| name.to_str());
        section.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            usage(arg).replace('|', "\\|"),
            variable.map(|name| format!("`{name}`")).unwrap_or_default(),
            default(arg),
            meaning(arg).replace('|', "\\|"),
        ));
    }
    section
}

/// `--flag`, or `<NAME>` for a positional argument.
fn name(arg: &Arg) -> String {
    match arg.get_long() {
        Some(long) => format!("--{long}"),
        None => format!("<{}>", value(arg)),
    }
}

fn usage(arg: &Arg) -> String {
    let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    if arg.get_long().is_none() || !takes_value {
        return name(arg);
    }
    format!("{} {}", name(arg), value(arg))
}

/// The value's name in the help.
fn value(arg: &Arg) -> String {
    let named = arg.get_value_names().and_then(|names| names.first());
    named.map_or_else(
        || arg.get_id().as_str().to_uppercase(),
        |named| named.as_str().to_owned(),
    )
}

/// A default that is computed at runtime is named in the help text.
const IN_WORDS: &str = " [default: ";

fn default(arg: &Arg) -> String {
    let values: Vec<_> = arg.get_default_values().iter().collect();
    if arg.is_required_set() {
        return "required".to_owned();
    }
    if let Some((_, words)) = help(arg).split_once(IN_WORDS) {
        return words.trim_end_matches(['.', ']']).to_owned();
    }
    // A flag without a value has no default to show.
    if !matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) || values.is_empty() {
        return String::new();
    }
    let values: Vec<_> = values.iter().map(|value| value.to_string_lossy()).collect();
    format!("`{}`", values.join(","))
}

fn meaning(arg: &Arg) -> String {
    let help = help(arg);
    let mut meaning = match help.split_once(IN_WORDS) {
        Some((meaning, _)) => sentence(meaning),
        None => help,
    };
    let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let choices: Vec<String> = arg
        .get_possible_values()
        .iter()
        .map(|choice| format!("`{}`", choice.get_name()))
        .collect();
    if takes_value && !choices.is_empty() {
        meaning.push_str(&format!(" One of {}.", choices.join(", ")));
    }
    meaning
}

fn help(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help());
    help.map(|text| sentence(&text.to_string()))
        .unwrap_or_default()
}

/// On one line, with the full stop that clap removes. `<` is escaped, so that nothing is taken for HTML.
fn sentence(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = line
        .split('`')
        .enumerate()
        .map(|(index, part)| match index % 2 {
            0 => part.replace('<', "\\<"),
            _ => part.to_owned(),
        });
    let mut line = parts.collect::<Vec<_>>().join("`");
    if !line.ends_with(['.', ':', '?']) {
        line.push('.');
    }
    line
}
