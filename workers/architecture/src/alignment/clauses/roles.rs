//! Determines the role of each token in a clause: adopted, dropped, or mentioned alongside.

mod words;

use super::Role;
use crate::alignment::words::{Separator, Token};
use words::{ALONGSIDE, COMPARES, ENDS, INVERTS, MOVES, NEGATES, REPLACES, STARTS};

pub(super) fn of(tokens: &[Token]) -> Vec<Role> {
    let mut parser = RoleParser {
        tokens,
        roles: vec![Role::Adopts; tokens.len()],
        role: Role::Adopts,
        start: 0,
        has_moved: false,
        replaces: false,
        is_described: false,
    };
    let mut at = 0;
    while at < tokens.len() {
        at += parser.step(at);
    }
    parser.roles
}

struct RoleParser<'a> {
    tokens: &'a [Token],
    roles: Vec<Role>,
    role: Role,
    /// The first token of the current statement.
    start: usize,
    has_moved: bool,
    replaces: bool,
    /// Whether the statement has had a relative clause with a negation.
    is_described: bool,
}

impl RoleParser<'_> {
    /// Handles the word or phrase at a token and returns its length in tokens.
    fn step(&mut self, at: usize) -> usize {
        self.begin(at);
        let length = self.apply_word(at);
        for role in self.roles.iter_mut().skip(at).take(length) {
            *role = self.role;
        }
        length
    }

    /// Starts a new statement if one begins at this token.
    fn begin(&mut self, at: usize) {
        let Some(token) = self.tokens.get(at) else {
            return;
        };
        let word = token.lower.as_str();
        let is_start = match token.before {
            Separator::Comma => {
                STARTS.contains(&word)
                    || self.role == Role::Alongside
                    || (word == "and" && self.starts_statement(at + 1))
            }
            Separator::Break => true,
            Separator::None => {
                matches!(word, "but" | "because" | "so" | "since")
                    || (word == "and" && self.starts_statement(at + 1))
            }
        };
        if is_start {
            self.start = at;
            self.role = Role::Adopts;
            (self.has_moved, self.replaces, self.is_described) = (false, false, false);
        }
    }

    fn starts_statement(&self, at: usize) -> bool {
        const BEGIN: [&str; 24] = [
            "we", "it", "they", "the", "use", "keep", "take", "put", "move", "leave", "make",
            "store", "write", "build", "a", "an", "no", "nobody", "each", "every", "our", "is",
            "are", "goes",
        ];
        self.tokens
            .get(at)
            .is_some_and(|token| BEGIN.contains(&token.lower.as_str()))
    }

    /// Changes the role if a word or phrase at this token does so. Returns its length in tokens.
    fn apply_word(&mut self, at: usize) -> usize {
        let word = self.word(at);
        if let Some(length) = self.phrase_length(ALONGSIDE, at) {
            self.role = Role::Alongside;
            return length;
        }
        if let Some(length) = self.phrase_length(INVERTS, at) {
            self.end(at, length);
            return length;
        }
        if MOVES.contains(&word) {
            self.has_moved = true;
        } else if REPLACES.contains(&word) {
            self.replace(at);
        } else if word == "from" && self.has_moved {
            self.role = Role::Drops;
        } else if matches!(word, "to" | "into" | "onto" | "in")
            && self.has_moved
            && self.role == Role::Drops
        {
            self.role = Role::Adopts;
        } else if matches!(word, "with" | "by") && self.replaces {
            self.role = Role::Adopts;
            self.replaces = false;
        } else if ENDS.contains(&word) {
            self.end(at, 1);
        } else if let Some(length) = self.negation(at) {
            self.negate(at, length);
            return length;
        } else if word == "away"
            && self.is_any_of(at.wrapping_sub(1), &["goes", "go", "going", "is"])
        {
            self.invert_subject(at);
        }
        1
    }

    fn replace(&mut self, at: usize) {
        if self.is_passive(at) {
            self.invert_subject(at);
            self.role = Role::Adopts;
        } else {
            self.role = Role::Drops;
            self.replaces = true;
        }
    }

    /// Handles a verb of `length` tokens that ends something: its subject if it is passive,
    /// otherwise its object.
    fn end(&mut self, at: usize, length: usize) {
        let is_last = self
            .tokens
            .get(at + length)
            .is_none_or(|next| next.before != Separator::None);
        let is_of_subject = is_last
            && self
                .tokens
                .get(self.start..at)
                .is_some_and(|before| before.iter().any(|token| token.concept.is_some()));
        if self.is_passive(at) || is_of_subject {
            self.invert_subject(at);
        } else {
            self.role = inverted(self.role);
        }
    }

    /// The length in tokens of the negation that begins here, unless it is part of a comparison.
    fn negation(&self, at: usize) -> Option<usize> {
        let next = self.word(at + 1);
        let is_needed = self.is_any_of(at.wrapping_sub(1), &["need", "needs"]);
        let is_either = self.is_any_of(at.wrapping_sub(1), &["or", "if", "whether"]);
        let is_compared = is_needed
            || is_either
            || COMPARES.contains(&next)
            || (self.word(at) == "no" && next == "longer" && self.word(at + 2) == "than");
        self.phrase_length(NEGATES, at).filter(|_| !is_compared)
    }

    /// "No X" inverts X; a verb's negation inverts its subject as well.
    fn negate(&mut self, at: usize, length: usize) {
        let contrasts =
            self.is_any_of(at.wrapping_sub(1), &["and", "but"]) || self.is_behind_comma(at);
        let is_of_noun = matches!(
            self.word(at),
            "no" | "nobody" | "nothing" | "none" | "nowhere"
        ) && length == 1
            || self.word(at) == "not" && contrasts;
        let role = inverted(self.role);
        if !is_of_noun && self.is_relative(at) {
            // "What can't be rebuilt" identifies a thing; the negation says nothing about its role.
            self.is_described = true;
            return;
        }
        if !is_of_noun {
            self.invert_subject(at);
        }
        self.role = role;
    }

    /// Whether the verb applies to its subject.
    fn is_passive(&self, at: usize) -> bool {
        let before = at.wrapping_sub(1);
        let is_adverb = self.is_any_of(before, &["not", "never", "also", "now", "then", "be"]);
        let aux = if is_adverb {
            before.wrapping_sub(1)
        } else {
            before
        };
        let words = [
            "is", "are", "was", "were", "be", "been", "being", "gets", "get", "got", "goes",
        ];
        self.is_any_of(before, &words) || self.is_any_of(aux, &words)
    }

    /// Whether a negation is in a relative clause.
    fn is_relative(&self, at: usize) -> bool {
        let before = self.start.max(at.saturating_sub(6))..at;
        !self.is_described
            && before
                .clone()
                .any(|at| at > self.start && self.is_any_of(at, &["that", "which", "who", "whose"]))
    }

    fn is_behind_comma(&self, at: usize) -> bool {
        self.tokens
            .get(at)
            .is_some_and(|token| token.before == Separator::Comma)
    }

    fn invert_subject(&mut self, at: usize) {
        let start = self.start;
        for role in self.roles.iter_mut().take(at).skip(start) {
            *role = inverted(*role);
        }
    }

    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.lower.as_str())
    }

    fn is_any_of(&self, at: usize, words: &[&str]) -> bool {
        words.contains(&self.word(at))
    }

    /// The length in tokens of the first of these phrases that begins at this token.
    fn phrase_length(&self, phrases: &[&'static str], at: usize) -> Option<usize> {
        let fits = |phrase: &&&str| {
            phrase
                .split(' ')
                .zip(at..)
                .all(|(word, at)| self.word(at) == word)
        };
        let phrase = phrases.iter().find(fits)?;
        Some(phrase.split(' ').count())
    }
}

fn inverted(role: Role) -> Role {
    match role {
        Role::Adopts => Role::Drops,
        Role::Drops => Role::Adopts,
        Role::Alongside => Role::Alongside,
    }
}
