//! Lines of the preprocessor where a grammar does not read them: amid a statement, a list or brackets, or
//! around half of a block. They go, and all branches of a condition remain that are whole, else the first.

use std::ops::Range;

use super::{
    edits::Edits,
    tokens::{Step, Tokens},
};

/// Conditions in conditions that are looked at; deeper ones stay.
const MAX_DEPTH: usize = 32;
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
}

/// Decides about a text from its start to its end.
struct Reader<'a, 'e> {
    text: &'a [u8],
    tokens: &'a Tokens,
    edits: &'e mut Edits,
    /// The open brackets: the sign of each, and what it opens.
    open: Vec<(u8, Around)>,
    /// The token before, among those that remain.
    before: Option<usize>,
}

/// Leaves out lines and branches that are not to be read.
pub(super) fn settle(text: &[u8], tokens: &Tokens, edits: &mut Edits) {
    for comment in &tokens.comments {
        edits.drop_comment(comment.clone());
    }
    let groups = groups(tokens);
    let mut reader = Reader {
        text,
        tokens,
        edits,
        open: Vec::new(),
        before: None,
    };
    let mut directives = tokens.directives.iter().zip(&groups).peekable();
    for at in 0..=tokens.tokens.len() {
        while let Some((directive, group)) = directives.next_if(|(it, _)| it.at == at) {
            match directive.step {
                Step::If => reader.condition(group),
                Step::Other if !reader.is_line_readable() => {
                    reader.edits.drop_line(directive, text);
                }
                _ => {}
            }
        }
        reader.pass(at);
    }
}

/// For each `#if` the lines of its condition: `#if`, `#else`…, `#endif`. Others have none.
fn groups(tokens: &Tokens) -> Vec<Vec<usize>> {
    let mut groups = vec![Vec::new(); tokens.directives.len()];
    let mut open: Vec<Vec<usize>> = Vec::new();
    for (at, directive) in tokens.directives.iter().enumerate() {
        match directive.step {
            Step::If => open.push(vec![at]),
            Step::Else => {
                if let Some(group) = open.last_mut() {
                    group.push(at);
                }
            }
            Step::End => {
                let depth = open.len();
                if let Some(mut group) = open.pop().filter(|_| depth <= MAX_DEPTH) {
                    group.push(at);
                    let first = group[0];
                    groups[first] = group;
                }
            }
            Step::Other => {}
        }
    }
    groups
}

impl<'a> Reader<'a, '_> {
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
            b'(' | b'[' => self.open.push((token.sign, Around::Expression)),
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
        while self.open.last().is_some_and(|(sign, _)| *sign != b'{') {
            self.open.pop();
        }
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
    fn is_line_readable(&self) -> bool {
        match self.around() {
            Around::Block => !self.is_amid(None),
            Around::Enum | Around::Expression => false,
        }
    }

    /// Leaves a condition as it is, or reduces it to its first branch.
    fn condition(&mut self, group: &[usize]) {
        let branches = self.branches(group);
        let Some(last) = branches.last() else { return };
        // In a branch that is never compiled.
        if !self.edits.is_line_kept(&self.tokens.directives[group[0]]) {
            return;
        }
        let behind = Some(last.end).filter(|at| *at < self.tokens.tokens.len());
        let is_whole = |it: &Range<usize>| self.is_whole(it.clone());
        let is_readable = self.around() != Around::Expression
            && branches.iter().all(is_whole)
            && !self.is_amid(behind)
            && !self.are_heads(&branches, behind);
        for at in group {
            self.edits
                .drop_line(&self.tokens.directives[*at], self.text);
        }
        let (first, second) = (
            &self.tokens.directives[group[0]],
            &self.tokens.directives[group[1]],
        );
        if first.is_never(self.text) {
            let bytes = first.bytes.end..second.bytes.start;
            self.edits.drop_never(bytes, branches[0].clone());
            return;
        }
        if is_readable {
            return;
        }
        let heads: Option<Vec<usize>> = branches.iter().map(|it| self.head(it)).collect();
        if let Some(heads) = heads {
            // All branches are heads of one body. Those but the last become prototypes.
            for at in heads.into_iter().rev().skip(1) {
                self.edits.end(at, self.tokens);
            }
            return;
        }
        for at in branches.into_iter().skip(1).flatten() {
            self.edits.drop(at, self.tokens);
        }
    }

    /// The tokens of each branch.
    fn branches(&self, group: &[usize]) -> Vec<Range<usize>> {
        let at = |at: usize| self.tokens.directives[at].at;
        let pairs = group.windows(2);
        pairs.map(|pair| at(pair[0])..at(pair[1])).collect()
    }

    /// Whether brackets are closed, and the last statement has an end.
    fn is_whole(&self, branch: Range<usize>) -> bool {
        let (mut braces, mut brackets) = (0_i32, 0_i32);
        for token in self.tokens.tokens.get(branch.clone()).into_iter().flatten() {
            match token.sign {
                b'{' => braces += 1,
                b'}' => braces -= 1,
                b'(' => brackets += 1,
                b')' => brackets -= 1,
                _ => {}
            }
            if braces < 0 || brackets < 0 {
                return false;
            }
        }
        let last = branch.clone().next_back();
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
    fn head(&self, branch: &Range<usize>) -> Option<usize> {
        let last = branch.clone().next_back()?;
        let others = branch.start..last;
        let is_head = self.sign(last) == b'{' && self.sign(last.checked_sub(1)?) == b')';
        (is_head && self.is_whole(others)).then_some(last)
    }
}
