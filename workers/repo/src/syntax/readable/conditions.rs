//! Lines of the preprocessor where a grammar does not read them: amid a statement, a list or brackets, or
//! around half of a block. They go, and all branches of a condition remain that are whole, else the first.

use std::ops::Range;

use super::{
    branches::{Condition, Conditions},
    broken::BrokenBytes,
    edits::Edits,
    tokens::{Directive, Step, Tokens},
};

/// Words and signs before a `{` that may say that it opens an enumeration.
const MAX_HEAD: usize = 16;

/// What is around a line of the preprocessor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    /// Statements or declarations.
    Block,
    /// Values of an enumeration.
    Enum,
    /// An initializer or an expression.
    Expression,
    /// The head of a `for`, where `;` ends no statement.
    Head,
}

/// Decides about a text from its start to its end.
struct Reader<'a, 'e> {
    text: &'a [u8],
    tokens: &'a Tokens,
    conditions: &'a Conditions,
    edits: &'e mut Edits,
    /// For each line whether it is looked at: it is in or around an error, or in a branch that goes.
    is_due: Vec<bool>,
    /// The open brackets: the sign of each, and what it opens.
    open: Vec<(u8, Around)>,
    /// The token before, among those that remain.
    before: Option<usize>,
}

/// Leaves out lines and branches that are not to be read. Those that touch nothing `broken` stay.
pub(super) fn settle(text: &[u8], tokens: &Tokens, broken: &BrokenBytes, edits: &mut Edits) {
    for comment in &tokens.comments {
        edits.drop_comment(comment.clone());
    }
    let conditions = Conditions::of(text, tokens);
    let lines = tokens.directives.iter().zip(&conditions.begun);
    let is_due = lines.map(|(line, begun)| match begun {
        Some(condition) => broken.touch(&condition.bytes(tokens)),
        None => broken.touch(&line.bytes),
    });
    let mut reader = Reader {
        text,
        tokens,
        conditions: &conditions,
        edits,
        is_due: is_due.collect(),
        open: Vec::new(),
        before: None,
    };
    let mut lines = tokens.directives.iter().enumerate().peekable();
    for at in 0..=tokens.tokens.len() {
        while let Some((line, _)) = lines.next_if(|(_, it)| it.at == at) {
            reader.line(line);
        }
        reader.pass(at);
    }
}

impl<'a> Reader<'a, '_> {
    /// Decides about a line, and with `#if` about its condition.
    fn line(&mut self, line: usize) {
        let directive = &self.tokens.directives[line];
        if !self.is_due[line] || !self.edits.is_line_kept(directive) {
            return;
        }
        match &self.conditions.begun[line] {
            Some(condition) => self.condition(condition),
            None if directive.step == Step::Other && !self.is_line_readable(directive) => {
                self.edits.drop_line(directive, self.text);
            }
            None => {}
        }
    }

    /// Goes past a token.
    fn pass(&mut self, at: usize) {
        let Some(token) = self
            .tokens
            .tokens
            .get(at)
            .filter(|_| self.edits.is_kept(at))
        else {
            return;
        };
        match token.sign {
            b'{' => {
                let before = self.before.map_or(0, |it| self.sign(it));
                if matches!(before, b';' | b'}') {
                    self.close_inner();
                }
                self.open.push((b'{', self.brace()));
            }
            b'(' if self.before.and_then(|it| self.word(it)) == Some(b"for") => {
                self.open.push((b'(', Around::Head));
            }
            b'(' | b'[' => self.open.push((token.sign, Around::Expression)),
            // An expression ends here at the latest, though one of its brackets is not closed.
            b';' => self.close_while(|around| around != Around::Head),
            b'}' => {
                self.close_inner();
                self.open.pop();
            }
            b')' | b']' => {
                self.open.pop_if(|(sign, _)| *sign != b'{');
            }
            _ => {}
        }
        self.before = Some(at);
    }

    /// Closes brackets that are open in the present block: no expression goes on.
    fn close_inner(&mut self) {
        self.close_while(|_| true);
    }

    /// As [`Reader::close_inner`], up to one that opens something else.
    fn close_while(&mut self, is_closed: impl Fn(Around) -> bool) {
        let is_it = |(sign, around): &mut (u8, Around)| *sign != b'{' && is_closed(*around);
        while self.open.pop_if(is_it).is_some() {}
    }

    /// What a `{` opens at the present place.
    fn brace(&self) -> Around {
        let Some(before) = self.before else {
            return Around::Block;
        };
        let sign = self.sign(before);
        let is_list = matches!(sign, b'=' | b',' | b'(')
            || (sign == b'{' && self.around() == Around::Expression);
        if is_list {
            return Around::Expression;
        }
        let head = (0..=before).rev().take(MAX_HEAD);
        let mut head = head
            .filter(|at| self.edits.is_kept(*at))
            .take_while(|at| !matches!(self.sign(*at), b';' | b'{' | b'}' | b'(' | b')'));
        if head.any(|at| self.word(at) == Some(b"enum")) {
            return Around::Enum;
        }
        Around::Block
    }

    fn around(&self) -> Around {
        self.open
            .last()
            .map_or(Around::Block, |(_, around)| *around)
    }

    /// The text of a token, if it is a word.
    fn word(&self, at: usize) -> Option<&'a [u8]> {
        self.tokens.word(self.text, at)
    }

    /// Whether a line that is no condition may stand here.
    fn is_line_readable(&self, line: &Directive) -> bool {
        match self.around() {
            // A macro that is defined amid a statement is worth more than the statement.
            Around::Block => line.defines(self.text) || !self.is_amid(None),
            Around::Enum | Around::Expression | Around::Head => false,
        }
    }

    /// Leaves out the lines of a condition, what is never compiled, and the branches that cannot stay side by
    /// side.
    fn condition(&mut self, condition: &Condition) {
        for line in &condition.lines {
            let line = &self.tokens.directives[*line];
            self.edits.drop_line(line, self.text);
        }
        let mut branches = condition.branches(self.tokens);
        if condition.is_never {
            let line = |at: usize| &self.tokens.directives[condition.lines[at]].bytes;
            let bytes = line(0).end..line(1).start;
            self.edits.drop_never(bytes, branches.remove(0));
        }
        if self.may_all_stay(condition, &branches) {
            return;
        }
        let heads = branches.iter().map(|it| self.head(condition, it));
        match heads.collect::<Option<Vec<usize>>>() {
            Some(heads) => self.share_body(&heads),
            None => self.keep_first(condition, branches),
        }
    }

    /// Whether all branches are statements or elements of their own, so that one may follow the other.
    fn may_all_stay(&self, condition: &Condition, branches: &[Range<usize>]) -> bool {
        let Some(last) = branches.last() else {
            return true;
        };
        let behind = Some(last.end).filter(|at| *at < self.tokens.tokens.len());
        let mut branches_of = branches.iter();
        matches!(self.around(), Around::Block | Around::Enum)
            && branches_of.all(|it| self.is_whole(condition, it.clone()))
            && !self.is_amid(behind)
            && !self.are_heads(branches, behind)
    }

    /// All branches end with a `{` of one body. Those but the last become prototypes.
    fn share_body(&mut self, heads: &[usize]) {
        for at in heads.iter().rev().skip(1) {
            self.edits.end(*at, self.tokens);
        }
    }

    /// Leaves out all branches but the first. Lines that are in them are looked at.
    fn keep_first(&mut self, condition: &Condition, branches: Vec<Range<usize>>) {
        let lines = &condition.lines[condition.lines.len() - branches.len()..];
        if let [second, .., last] = lines {
            self.is_due[*second..*last].fill(true);
        }
        for at in branches.into_iter().skip(1).flatten() {
            self.edits.drop(at, self.tokens);
        }
    }

    /// Whether brackets are closed, and the last statement has an end.
    fn is_whole(&self, condition: &Condition, branch: Range<usize>) -> bool {
        let (mut braces, mut brackets, mut last) = (0_i32, 0_i32, None);
        for at in branch.filter(|at| self.conditions.counts(*at, condition)) {
            match self.sign(at) {
                b'{' => braces += 1,
                b'}' => braces -= 1,
                b'(' => brackets += 1,
                b')' => brackets -= 1,
                _ => {}
            }
            if braces < 0 || brackets < 0 {
                return false;
            }
            last = Some(at);
        }
        let is_ended = last.is_none_or(|last| match self.around() {
            Around::Enum => self.sign(last) == b',',
            _ => self.is_end(last) || self.sign(last) == b')',
        });
        braces == 0 && brackets == 0 && is_ended
    }

    fn sign(&self, at: usize) -> u8 {
        self.tokens.sign(at)
    }

    /// Whether a statement may end with a token. Macros may stand for statements.
    fn is_end(&self, at: usize) -> bool {
        match self.sign(at) {
            b';' | b'{' | b'}' | b':' => true,
            b'w' => self
                .word(at)
                .is_some_and(|it| !it.iter().any(u8::is_ascii_lowercase)),
            b',' => self.around() == Around::Enum,
            _ => false,
        }
    }

    /// Whether a statement has begun that goes on `behind` a condition.
    fn is_amid(&self, behind: Option<usize>) -> bool {
        let next = behind.map_or(0, |at| self.sign(at));
        let is_begun = self.before.is_some_and(|before| match self.sign(before) {
            b')' => next == b'{',
            _ => !self.is_end(before),
        });
        is_begun || matches!(next, b')' | b'&' | b'|' | b'=' | b'?' | b'.')
    }

    /// Whether branches may be heads of a body that is `behind` them.
    fn are_heads(&self, branches: &[Range<usize>], behind: Option<usize>) -> bool {
        let has_body = behind.is_some_and(|at| self.sign(at) == b'{');
        let mut ends = branches.iter().filter_map(|it| it.clone().next_back());
        has_body && ends.any(|end| self.sign(end) == b')')
    }

    /// The `{` that a branch ends with, if the rest of it is the head of a function.
    fn head(&self, condition: &Condition, branch: &Range<usize>) -> Option<usize> {
        let last = branch.clone().next_back()?;
        let others = branch.start..last;
        let is_head = self.sign(last) == b'{' && self.sign(others.clone().next_back()?) == b')';
        (is_head && self.is_whole(condition, others)).then_some(last)
    }
}
