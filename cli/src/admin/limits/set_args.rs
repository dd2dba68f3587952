//! Parses the two spellings of `archway limits set`.
//!
//! `set TENANT NAME=N …` sets several limits at once. `set --tenant TENANT --tool NAME N` is for
//! scripts that hold name and number in separate variables. Both are parsed here, so that clap refuses invalid
//! input before a database is contacted.

use std::str::FromStr;

use archway_gateway::terms::{TOTAL, most};
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

use super::LimitScope;

/// Set limits of a tenant, or of one key: calls per minute, or units of the total; 0 is no limit. `month`
/// is the units of a tenant in a calendar month.
///
/// Each level is independent: removing a key's limit does not change its sessions' or tenant's limits.
/// A key's limit overrides its tenant's, and is not multiplied by the key's agents. Every gateway
/// applies it within a second.
#[derive(Debug, Args)]
#[command(override_usage = "\
    archway limits set [OPTIONS] <TENANT> <NAME=N>...\n       \
    archway limits set [OPTIONS] --tenant <TENANT> [--tool <NAME>] <N>")]
struct RawSetArgs {
    /// The tenant's slug, then limits: a tool, `prompts/get`, `total` or `month`, and a number.
    #[arg(value_name = "TENANT|NAME=N", required = true)]
    operands: Vec<Operand>,
    /// The tenant, by name.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// Name of the limit that a bare number sets [default: total, with --tenant].
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    #[command(flatten)]
    scope: LimitScope,
    /// Accept unknown tool names, for workers of another version.
    #[arg(long)]
    force: bool,
}

/// A tenant's slug or a bare number, or a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Operand {
    Plain(String),
    Limit(String, u32),
}

/// The limits to set: calls per minute, units per minute for `total`, units per month for `month`.
#[derive(Debug)]
pub(super) struct RequestedLimits {
    pub(super) tenant: String,
    /// Each name once.
    pub(super) limits: Vec<(String, u32)>,
    pub(super) scope: LimitScope,
    /// Whether to accept unknown tool names.
    pub(super) force: bool,
}

#[derive(Debug)]
pub(super) struct SetArgs(RequestedLimits);

impl SetArgs {
    pub(super) fn requested(&self) -> &RequestedLimits {
        &self.0
    }
}

impl FromStr for Operand {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, number)) = text.split_once('=') else {
            return Ok(Operand::Plain(text.to_owned()));
        };
        if name.is_empty() {
            return Err("a limit is NAME=N".to_owned());
        }
        Ok(Operand::Limit(name.to_owned(), parse_limit(name, number)?))
    }
}

fn parse_limit(of: &str, text: &str) -> Result<u32, String> {
    let most = most(of);
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    let number = number.filter(|number| *number <= most);
    number.ok_or_else(|| format!("{text:?} is not a number from 0 (no limit) to {most}"))
}

impl RawSetArgs {
    fn into_request(self) -> Result<RequestedLimits, String> {
        // With --tenant, a bare number is the total. Typed after a slug, it would be ambiguous.
        let bare_number_name = match (&self.tool, &self.tenant) {
            (None, None) => None,
            (tool, _) => Some(tool.as_deref().unwrap_or(TOTAL)),
        };
        let mut operands = self.operands.into_iter().peekable();
        let tenant = match (self.tenant, operands.peek()) {
            (Some(tenant), Some(Operand::Plain(slug))) if *slug == tenant => {
                return Err(format!(
                    "the tenant is named twice: {slug}, --tenant {tenant}"
                ));
            }
            (Some(tenant), _) => tenant,
            (None, Some(Operand::Plain(slug))) => {
                let slug = slug.clone();
                operands.next();
                slug
            }
            (None, _) => return Err("the tenant comes first: set TENANT NAME=N".to_owned()),
        };
        let mut limits: Vec<(String, u32)> = Vec::new();
        for operand in operands {
            let (name, per_minute) = match operand {
                Operand::Limit(..) if self.tool.is_some() => {
                    return Err("with --tool, a limit is a bare number".to_owned());
                }
                Operand::Limit(name, number) => (name, number),
                Operand::Plain(word) => {
                    parse_bare_limit(bare_number_name, self.tool.is_some(), &word)?
                }
            };
            if limits.iter().any(|(known, _)| *known == name) {
                return Err(format!("{name} is given twice"));
            }
            limits.push((name, per_minute));
        }
        if limits.is_empty() {
            return Err("name a limit: NAME=N".to_owned());
        }
        Ok(RequestedLimits {
            tenant,
            limits,
            scope: self.scope,
            force: self.force,
        })
    }
}

/// Parses a bare number as the limit of `of`.
fn parse_bare_limit(of: Option<&str>, is_tool: bool, word: &str) -> Result<(String, u32), String> {
    let number = word.trim_start_matches(['-', '+']);
    let is_number = number.starts_with(|first: char| first.is_ascii_digit());
    match of {
        Some(of) if is_number || is_tool => Ok((of.to_owned(), parse_limit(of, word)?)),
        None if is_number => Err(format!(
            "{word} needs a name: {TOTAL}={word} or TOOL={word}, for example hello={word}"
        )),
        _ => Err(format!(
            "{word:?} is not a limit: a limit is NAME=N, as hello=5"
        )),
    }
}

impl FromArgMatches for SetArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let request = RawSetArgs::from_arg_matches(matches)?.into_request();
        Ok(SetArgs(request.map_err(usage_error)?))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = SetArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for SetArgs {
    fn augment_args(command: Command) -> Command {
        RawSetArgs::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        RawSetArgs::augment_args_for_update(command)
    }
}

/// An error in clap's format, with this command's usage. clap alone would add that of `archway`.
fn usage_error(problem: String) -> Error {
    let command = Command::new("set").bin_name("archway limits set");
    Error::raw(ErrorKind::ValueValidation, problem).format(&mut RawSetArgs::augment_args(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<RequestedLimits, Error> {
        let command = SetArgs::augment_args(Command::new("set"));
        let words = std::iter::once("set").chain(line.split_whitespace());
        let matches = command.try_get_matches_from(words)?;
        Ok(SetArgs::from_arg_matches(&matches)?.0)
    }

    #[test]
    fn both_spellings_set_the_same_limits() {
        let one = |line| read(line).unwrap();
        let short = one("acme hello=5 total=0");
        assert_eq!(short.tenant, "acme");
        let limits = [("hello".to_owned(), 5), ("total".to_owned(), 0)];
        assert_eq!(short.limits, limits);
        let long = one("--tenant acme --tool hello 5");
        assert_eq!(
            (long.tenant, long.limits),
            ("acme".to_owned(), limits[..1].to_vec())
        );
        assert_eq!(
            one("--tenant acme 1000000").limits,
            [("total".to_owned(), most(TOTAL))]
        );
        assert_eq!(one("42 --tool hello 5").limits, limits[..1]);
    }

    #[test]
    fn numbers_outside_0_to_a_million_are_refused() {
        for line in [
            "acme hello=-5",
            "acme hello=",
            "acme hello=x",
            "acme hello=1.5",
            "acme hello=+5",
            "acme hello=1000001",
            "acme hello=99999999999999999999",
            "--tenant acme --tool hello -- -5",
            "--tenant acme --tool hello lots",
        ] {
            let message = read(line).unwrap_err().to_string();
            assert!(
                message.contains("is not a number from 0 (no limit) to 1000000"),
                "{line}: {message}"
            );
        }
    }

    #[test]
    fn missing_and_duplicate_words_are_refused_with_a_reason() {
        let refusal = |line| read(line).unwrap_err().to_string();
        assert!(refusal("hello=5").contains("the tenant comes first"));
        assert!(refusal("acme").contains("name a limit"));
        assert!(refusal("acme =5").contains("a limit is NAME=N"));
        assert!(refusal("acme hello=5 hello=6").contains("hello is given twice"));
        assert!(refusal("acme --tool hello grep=5").contains("a bare number"));
        assert!(refusal("42 7").contains("7 needs a name: total=7 or TOOL=7, for example hello=7"));
        assert!(refusal("acme 5").contains("5 needs a name"));
        assert!(refusal("acme lots").contains("\"lots\" is not a limit"));
        assert!(refusal("acme -5").contains("unexpected argument '-5'"));
        for line in ["acme hello", "acme hello 5", "--tenant acme hello 5"] {
            let message = refusal(line);
            assert!(
                message.contains("\"hello\" is not a limit: a limit is NAME=N"),
                "{message}"
            );
        }
        assert!(refusal("acme --tenant acme total=5").contains("the tenant is named twice"));
    }

    #[test]
    fn a_refusal_shows_the_usage_of_this_command_only() {
        let message = read("acme hello").unwrap_err().to_string();
        assert!(
            message.contains("\n\nUsage: archway limits set [OPTIONS] <TENANT>"),
            "{message}"
        );
        assert!(
            !message.contains("\n\n\n") && !message.contains("<COMMAND>"),
            "{message}"
        );
    }
}
