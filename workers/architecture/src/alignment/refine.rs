//! Applies a chat model's verdicts to findings, within limits.
//!
//! A text that the model read may have manipulated it. So a verdict is one of four labels and a
//! sentence that the decision is known to have. The most it can do is mislabel a document that the
//! caller may read anyway. A decision that is not in effect stays at most related, `Conflicts` and
//! `Supports` need a sentence of the decision, and a conflict that the rules found stays in the
//! answer.

use super::{Alignment, Decision, Finding, Label, explain, is_not_in_effect};

/// A chat model's verdict on one finding.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelVerdict {
    /// Index of the finding.
    pub finding: usize,
    /// The label; `None` if the decision concerns something else.
    pub label: Option<Label>,
    /// The decision's sentence that the verdict is based on, as written.
    pub sentence: Option<String>,
}

impl Alignment {
    /// Applies a chat model's verdicts where the limits allow it, and returns how many changed a
    /// finding.
    pub fn refine(&mut self, decisions: &[Decision<'_>], verdicts: &[ModelVerdict]) -> usize {
        let mut changed = 0;
        let found = std::mem::take(&mut self.found);
        for (index, finding) in found.into_iter().enumerate() {
            let mut verdicts = verdicts.iter().filter(|verdict| verdict.finding == index);
            let decision = decisions.get(finding.decision);
            let outcome = match (verdicts.next(), verdicts.next(), decision) {
                (Some(verdict), None, Some(decision)) => apply(&finding, decision, verdict),
                // No verdict, or contradictory ones.
                _ => Outcome::Kept,
            };
            changed += usize::from(outcome != Outcome::Kept);
            match outcome {
                Outcome::Kept => self.found.push(finding),
                Outcome::Dropped => {}
                Outcome::Changed(other) => self.found.push(other),
            }
        }
        if changed > 0 {
            // A stable sort: the order by relevance remains within a label.
            self.found
                .sort_by_key(|finding| finding.label != Label::Conflicts);
            self.suggestions = explain::suggestions(decisions, &self.found);
        }
        changed
    }
}

/// The effect of a verdict on a finding.
#[derive(PartialEq)]
enum Outcome {
    Kept,
    Changed(Finding),
    /// The decision concerns something else.
    Dropped,
}

fn apply(finding: &Finding, decision: &Decision<'_>, verdict: &ModelVerdict) -> Outcome {
    let label = match verdict.label {
        Some(label) if is_not_in_effect(decision.status) => label.max(Label::Related),
        Some(label) => label,
        None if finding.label == Label::Conflicts => Label::Related,
        None => return Outcome::Dropped,
    };
    let sentence = verdict.sentence.as_deref();
    match (label, sentence) {
        _ if label == finding.label => Outcome::Kept,
        (Label::Conflicts | Label::Supports, None) => Outcome::Kept,
        _ => Outcome::Changed(Finding {
            decision: finding.decision,
            label,
            reason: with_quotation(description(label), sentence),
            conflict: (label == Label::Conflicts).then(|| {
                with_quotation(
                    "The proposal goes against it, as a chat model reads both",
                    sentence,
                )
            }),
        }),
    }
}

fn description(label: Label) -> &'static str {
    match label {
        Label::Conflicts => "Goes against the decision, as a chat model reads both",
        Label::Supports => "Endorsed by the decision, as a chat model reads both",
        Label::Related => {
            "The same subject, neither endorsed nor forbidden, as a chat model reads both"
        }
    }
}

fn with_quotation(description: &str, sentence: Option<&str>) -> String {
    match sentence {
        Some(sentence) => format!("{description}: \"{sentence}\""),
        None => format!("{description}."),
    }
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::cancel;

    use super::*;
    use crate::{
        adr::{Adr, Status},
        alignment::{Positions, Proposal, align},
        markdown::Markdown,
    };

    const TEXT: &str = "# 7. Use PostgreSQL\n\n## Status\n\nAccepted\n\n## Decision\n\nWe will use \
                        PostgreSQL as the database of all services. We looked at MySQL and turned \
                        it down.\n";
    const RULE: &str = "We will use PostgreSQL as the database of all services.";

    /// Aligns a proposal with one decision of this status. Returns the alignment by rules alone,
    /// the one after these verdicts, and the number of verdicts that changed a finding.
    fn refined(
        proposal: &str,
        status: Status,
        verdicts: &[ModelVerdict],
    ) -> (Alignment, Alignment, usize) {
        let markdown = Markdown::read(TEXT, &cancel()).unwrap();
        let adr = Adr::of(&markdown, "7. Use PostgreSQL");
        let positions = Positions::of(&markdown, &adr);
        let decisions = [Decision {
            id: "0007",
            status,
            successors: &[],
            positions: &positions,
            markdown: &markdown,
            source: TEXT,
        }];
        let proposal = Proposal {
            description: proposal,
            context: None,
            nearest: None,
        };
        let by_rules = align(&decisions, &proposal, &cancel()).unwrap();
        let mut refined = by_rules.clone();
        let changed = refined.refine(&decisions, verdicts);
        (by_rules, refined, changed)
    }

    fn verdict(label: Option<Label>, sentence: Option<&str>) -> ModelVerdict {
        ModelVerdict {
            finding: 0,
            label,
            sentence: sentence.map(str::to_owned),
        }
    }

    const RELATED: &str = "Take backups of the PostgreSQL database of each service at night.";
    const CONFLICTING: &str = "Replace PostgreSQL with MySQL as the database of all services.";

    #[test]
    fn a_verdict_changes_label_reason_and_suggestions() {
        let against = verdict(Some(Label::Conflicts), Some(RULE));
        let (by_rules, refined, changed) = refined(RELATED, Status::Accepted, &[against]);
        assert_ne!(by_rules.found[0].label, Label::Conflicts);
        assert_eq!((refined.found[0].label, changed), (Label::Conflicts, 1));
        assert!(refined.found[0].reason.ends_with(&format!("\"{RULE}\"")));
        let conflict = refined.found[0].conflict.as_ref().unwrap();
        assert!(conflict.contains(RULE), "{conflict}");
        let next = refined.suggestions.join(" ");
        assert!(next.contains("supersedes ADR 0007 explicitly"), "{next}");
    }

    #[test]
    fn conflicts_and_supports_need_a_sentence() {
        for label in [Label::Conflicts, Label::Supports] {
            let bare = [verdict(Some(label), None)];
            let (by_rules, refined, _) = refined(RELATED, Status::Accepted, &bare);
            assert_ne!(by_rules.found[0].label, Label::Conflicts);
            assert_eq!(by_rules, refined);
        }
    }

    #[test]
    fn a_decision_not_in_effect_stays_at_most_related() {
        for status in [Status::Superseded, Status::Deprecated, Status::Proposed] {
            for label in [Label::Conflicts, Label::Supports] {
                let verdict = [verdict(Some(label), Some(RULE))];
                let (by_rules, refined, changed) = refined(CONFLICTING, status, &verdict);
                assert_eq!(by_rules.found[0].label, Label::Related);
                assert_eq!((by_rules, 0), (refined, changed), "{status:?}");
            }
        }
    }

    #[test]
    fn an_unrelated_finding_is_removed_unless_rules_found_a_conflict() {
        let other = [verdict(None, None)];
        let (_, refined_plain, changed) = refined(RELATED, Status::Accepted, &other);
        assert_eq!((refined_plain.found.len(), changed), (0, 1));
        assert!(!refined_plain.suggestions.is_empty());
        let (by_rules, refined, _) = refined(CONFLICTING, Status::Accepted, &other);
        assert_eq!(by_rules.found[0].label, Label::Conflicts);
        assert_eq!(refined.found[0].label, Label::Related);
    }

    #[test]
    fn contradictory_and_unmatched_verdicts_are_ignored() {
        let against = verdict(Some(Label::Conflicts), Some(RULE));
        let unmatched = ModelVerdict {
            finding: 7,
            ..against.clone()
        };
        for verdicts in [vec![against.clone(), against], vec![unmatched]] {
            let (by_rules, refined, changed) = refined(RELATED, Status::Accepted, &verdicts);
            assert_eq!((by_rules, 0), (refined, changed));
        }
    }

    #[test]
    fn sentences_are_rules_then_rejections_up_to_the_size_limit() {
        let markdown = Markdown::read(TEXT, &cancel()).unwrap();
        let adr = Adr::of(&markdown, "7. Use PostgreSQL");
        let positions = Positions::of(&markdown, &adr);
        let decision = Decision {
            id: "0007",
            status: Status::Accepted,
            successors: &[],
            positions: &positions,
            markdown: &markdown,
            source: TEXT,
        };
        let rejected = "We looked at MySQL and turned it down.";
        assert_eq!(decision.sentences(1000), [RULE, rejected]);
        assert_eq!(decision.sentences(RULE.len()), [RULE]);
        assert_eq!(decision.sentences(rejected.len()), [rejected]);
        assert!(decision.sentences(10).is_empty());
    }
}
