//! Arguments together with their source: typed on the command line, or from the environment. A typed
//! argument wins over a variable that is set for all commands.

use std::collections::BTreeSet;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Id};

/// Arguments, and which of them were typed on the command line.
#[derive(Debug)]
pub(super) struct TypedArgs<A> {
    pub(super) values: A,
    typed: BTreeSet<Id>,
}

impl<A> TypedArgs<A> {
    /// Whether the argument of this field was typed.
    pub(super) fn is_typed(&self, field: &str) -> bool {
        self.typed.contains(field)
    }
}

impl<A: FromArgMatches> FromArgMatches for TypedArgs<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(TypedArgs {
            values: A::from_arg_matches(matches)?,
            typed: typed(matches),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.typed.append(&mut typed(matches));
        self.values.update_from_arg_matches(matches)
    }
}

impl<A: Args> Args for TypedArgs<A> {
    fn augment_args(command: Command) -> Command {
        A::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        A::augment_args_for_update(command)
    }
}

fn typed(matches: &ArgMatches) -> BTreeSet<Id> {
    let source = |id: &&Id| matches.value_source(id.as_str());
    let ids = matches.ids();
    ids.filter(|id| source(id) == Some(ValueSource::CommandLine))
        .cloned()
        .collect()
}
