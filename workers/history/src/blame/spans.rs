//! Runs of lines whose commit is unknown, and how a file divides them with its parent's version.

/// Consecutive lines: their position in a suspect file, and in the blamed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    /// The first line, from 0, in the suspect file.
    pub(super) line: u32,
    /// The first line, from 0, in the blamed file.
    pub(super) blamed: u32,
    /// The number of lines; at least one.
    pub(super) count: u32,
}

/// Lines that a file and its parent's version share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedLines {
    /// The first line, from 0, in the file.
    pub(super) line: u32,
    /// The first line, from 0, in the parent's version.
    pub(super) parent: u32,
    /// The number of lines; at least one.
    pub(super) count: u32,
}

/// The lines of one suspect, divided.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Divided {
    /// Those that the parent has, at their position there.
    pub(super) passed: Vec<Span>,
    /// Those that it lacks.
    pub(super) left: Vec<Span>,
}

/// Sorts spans, and joins adjacent ones.
pub(super) fn sort_and_join(spans: &mut Vec<Span>) {
    spans.sort_unstable();
    spans.dedup_by(|next, span| {
        let is_adjacent =
            next.line == span.line + span.count && next.blamed == span.blamed + span.count;
        if is_adjacent {
            span.count += next.count;
        }
        is_adjacent
    });
}

/// Divides `spans` by the lines shared with the parent, which are in line order. Spans may overlap:
/// separate lines can come from the same line.
pub(super) fn divide(spans: &[Span], common: &[SharedLines]) -> Divided {
    let mut divided = Divided::default();
    for &span in spans {
        let before = common.partition_point(|common| common.line + common.count <= span.line);
        let mut rest = span;
        for common in common.iter().skip(before) {
            if rest.count == 0 || common.line >= rest.line + rest.count {
                break;
            }
            let (new, old) = rest.cut(common.line.saturating_sub(rest.line));
            divided.left.extend(new);
            let within = common.line + common.count - old.line;
            let (shared, after) = old.cut(within);
            divided.passed.extend(shared.map(|shared| Span {
                line: common.parent + (shared.line - common.line),
                ..shared
            }));
            rest = after;
        }
        divided
            .left
            .extend(Some(rest).filter(|rest| rest.count > 0));
    }
    divided
}

impl Span {
    /// The first `count` lines, if any, and the rest, which may be empty.
    fn cut(self, count: u32) -> (Option<Span>, Span) {
        let count = count.min(self.count);
        let first = Span { count, ..self };
        let rest = Span {
            line: self.line + count,
            blamed: self.blamed + count,
            count: self.count - count,
        };
        (Some(first).filter(|first| first.count > 0), rest)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(line: u32, blamed: u32, count: u32) -> Span {
        Span {
            line,
            blamed,
            count,
        }
    }

    #[test]
    fn shared_lines_pass_to_the_parent_at_its_line_numbers() {
        let common = [
            SharedLines {
                line: 0,
                parent: 3,
                count: 2,
            },
            SharedLines {
                line: 5,
                parent: 5,
                count: 10,
            },
        ];
        let divided = divide(&[span(1, 101, 6)], &common);
        assert_eq!(divided.passed, [span(4, 101, 1), span(5, 105, 2)]);
        assert_eq!(divided.left, [span(2, 102, 3)]);
    }

    #[test]
    fn only_adjacent_spans_are_joined() {
        let mut spans = vec![span(5, 5, 1), span(0, 0, 2), span(2, 2, 3), span(6, 9, 1)];
        sort_and_join(&mut spans);
        assert_eq!(spans, [span(0, 0, 6), span(6, 9, 1)]);
    }

    proptest! {
        #[test]
        fn each_line_is_passed_if_shared_and_left_otherwise(
            spans in prop::collection::vec((0_u32..40, 1_u32..9), 0..6),
            gaps in prop::collection::vec((0_u32..4, 1_u32..6, 0_u32..4), 0..8),
        ) {
            let (mut line, mut parent, mut common) = (0, 0, Vec::new());
            for (gap, count, other) in gaps {
                line += gap;
                parent += other;
                common.push(SharedLines { line, parent, count });
                line += count;
                parent += count;
            }
            let spans: Vec<_> = spans.into_iter().zip(0..)
                .map(|((line, count), at)| span(line, at * 100, count)).collect();
            let divided = divide(&spans, &common);
            let mut seen: Vec<(u32, Option<u32>)> = Vec::new();
            for span in &divided.passed {
                seen.extend((0..span.count).map(|at| (span.blamed + at, Some(span.line + at))));
            }
            for span in &divided.left {
                seen.extend((0..span.count).map(|at| (span.blamed + at, None)));
            }
            let mut expected = Vec::new();
            for span in spans {
                for at in 0..span.count {
                    let line = span.line + at;
                    let of = common.iter().find(|common| (common.line..common.line + common.count).contains(&line));
                    expected.push((span.blamed + at, of.map(|common| common.parent + line - common.line)));
                }
            }
            seen.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(seen, expected);
        }
    }
}
