//! What the command line itself said, as against the environment: what was typed for this one
//! command wins over what is set for all of them.

use std::collections::BTreeSet;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Id};

/// Arguments, and which of them were typed.
#[derive(Debug)]
pub(super) struct Told<A> {
    pub(super) args: A,
    typed: BTreeSet<Id>,
}

impl<A> Told<A> {
    /// Whether the argument of this field was typed.
    pub(super) fn is_typed(&self, field: &str) -> bool {
        self.typed.contains(field)
    }
}

impl<A: FromArgMatches> FromArgMatches for Told<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Told {
            args: A::from_arg_matches(matches)?,
            typed: typed(matches),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.typed.append(&mut typed(matches));
        self.args.update_from_arg_matches(matches)
    }
}

impl<A: Args> Args for Told<A> {
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
