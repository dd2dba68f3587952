//! Determines the role of each token in a clause: adopted, dropped, or mentioned alongside.

mod words;

use super::Role;
use crate::alignment::words::{Mark, Token};
use words::{BESIDE, COMPARES, ENDS, MOVES, NEGATES, REPLACES, STARTS, TURNS};

pub(super) fn of(tokens: &[Token]) -> Vec<Role> {
    let mut reader = Reader {
        tokens,
        roles: vec![Role::Takes; tokens.len()],
        role: Role::Takes,
        start: 0,
        has_moved: false,
        replaces: false,
        is_described: false,
    };
    let mut at = 0;
    while at < tokens.len() {
        at += reader.step(at);
    }
    reader.roles
}

struct Reader<'a> {
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

impl Reader<'_> {
    /// Handles the word or phrase at a token and returns its length in tokens.
    fn step(&mut self, at: usize) -> usize {
        self.begin(at);
        let length = self.turn(at);
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
            Mark::Comma => {
                STARTS.contains(&word)
                    || self.role == Role::Beside
                    || (word == "and" && self.starts(at + 1))
            }
            Mark::Break => true,
            Mark::None => {
                matches!(word, "but" | "because" | "so" | "since")
                    || (word == "and" && self.starts(at + 1))
            }
        };
        if is_start {
            self.start = at;
            self.role = Role::Takes;
            (self.has_moved, self.replaces, self.is_described) = (false, false, false);
        }
    }

    fn starts(&self, at: usize) -> bool {
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
    fn turn(&mut self, at: usize) -> usize {
        let word = self.word(at);
        if let Some(length) = self.one_of(BESIDE, at) {
            self.role = Role::Beside;
            return length;
        }
        if let Some(length) = self.one_of(TURNS, at) {
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
            self.role = Role::Takes;
        } else if matches!(word, "with" | "by") && self.replaces {
            self.role = Role::Takes;
            self.replaces = false;
        } else if ENDS.contains(&word) {
            self.end(at, 1);
        } else if let Some(length) = self.negation(at) {
            self.negate(at, length);
            return length;
        } else if word == "away" && self.is_one(at.wrapping_sub(1), &["goes", "go", "going", "is"])
        {
            self.turn_subject(at);
        }
        1
    }

    fn replace(&mut self, at: usize) {
        if self.is_passive(at) {
            self.turn_subject(at);
            self.role = Role::Takes;
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
            .is_none_or(|next| next.before != Mark::None);
        let is_of_subject = is_last
            && self
                .tokens
                .get(self.start..at)
                .is_some_and(|before| before.iter().any(|token| token.concept.is_some()));
        if self.is_passive(at) || is_of_subject {
            self.turn_subject(at);
        } else {
            self.role = flipped(self.role);
        }
    }

    /// The length in tokens of the negation that begins here, unless it is part of a comparison.
    fn negation(&self, at: usize) -> Option<usize> {
        let next = self.word(at + 1);
        let is_needed = self.is_one(at.wrapping_sub(1), &["need", "needs"]);
        let is_either = self.is_one(at.wrapping_sub(1), &["or", "if", "whether"]);
        let is_compared = is_needed
            || is_either
            || COMPARES.contains(&next)
            || (self.word(at) == "no" && next == "longer" && self.word(at + 2) == "than");
        self.one_of(NEGATES, at).filter(|_| !is_compared)
    }

    /// "No X" inverts X; a verb's negation inverts its subject as well.
    fn negate(&mut self, at: usize, length: usize) {
        let contrasts =
            self.is_one(at.wrapping_sub(1), &["and", "but"]) || self.is_behind_comma(at);
        let is_of_noun = matches!(
            self.word(at),
            "no" | "nobody" | "nothing" | "none" | "nowhere"
        ) && length == 1
            || self.word(at) == "not" && contrasts;
        let role = flipped(self.role);
        if !is_of_noun && self.is_relative(at) {
            // "What can't be rebuilt" identifies a thing; the negation says nothing about its role.
            self.is_described = true;
            return;
        }
        if !is_of_noun {
            self.turn_subject(at);
        }
        self.role = role;
    }

    /// Whether the verb applies to its subject.
    fn is_passive(&self, at: usize) -> bool {
        let before = at.wrapping_sub(1);
        let is_adverb = self.is_one(before, &["not", "never", "also", "now", "then", "be"]);
        let aux = if is_adverb {
            before.wrapping_sub(1)
        } else {
            before
        };
        let words = [
            "is", "are", "was", "were", "be", "been", "being", "gets", "get", "got", "goes",
        ];
        self.is_one(before, &words) || self.is_one(aux, &words)
    }

    /// Whether a negation is in a relative clause.
    fn is_relative(&self, at: usize) -> bool {
        let before = self.start.max(at.saturating_sub(6))..at;
        !self.is_described
            && before
                .clone()
                .any(|at| at > self.start && self.is_one(at, &["that", "which", "who", "whose"]))
    }

    fn is_behind_comma(&self, at: usize) -> bool {
        self.tokens
            .get(at)
            .is_some_and(|token| token.before == Mark::Comma)
    }

    fn turn_subject(&mut self, at: usize) {
        let start = self.start;
        for role in self.roles.iter_mut().take(at).skip(start) {
            *role = flipped(*role);
        }
    }

    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.lower.as_str())
    }

    fn is_one(&self, at: usize, words: &[&str]) -> bool {
        words.contains(&self.word(at))
    }

    /// The length in tokens of the first of these phrases that begins at this token.
    fn one_of(&self, phrases: &[&'static str], at: usize) -> Option<usize> {
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

fn flipped(role: Role) -> Role {
    match role {
        Role::Takes => Role::Drops,
        Role::Drops => Role::Takes,
        Role::Beside => Role::Beside,
    }
}
