//! ast-grep rules in a document: the fences that hold them, and limits checked before compiling.

use archway_repo::text::shown;
use grep_regex::RegexMatcherBuilder;
use serde_json::Value;

use super::{Skipped, dialect::Dialect};
use crate::markdown::Fence;

/// At most this many rules of a document are run.
pub(super) const MAX_RULES: usize = 50;

/// The longest rule, in bytes.
const MAX_RULE: usize = 16 << 10;

/// The maximum number of values in a rule, with aliases expanded.
const MAX_VALUES: usize = 2_000;

/// The size limit of a compiled regular expression, in bytes.
const MAX_REGEX: usize = 256 << 10;

/// A rule as its document states it.
#[derive(Debug)]
pub(super) struct RuleSource {
    /// The rule's id, or its line.
    pub(super) name: String,
    /// The language of the rule.
    pub(super) dialect: Dialect,
    pub(super) yaml: Value,
}

/// The rules of a document, and the texts that are not valid rules.
#[derive(Debug, Default)]
pub(super) struct RuleSources {
    pub(super) rules: Vec<RuleSource>,
    pub(super) skipped: Vec<Skipped>,
}

/// The reason why a text is not a valid rule.
#[derive(Debug, thiserror::Error)]
enum RuleSourceError {
    #[error("it is not YAML: {0}")]
    Yaml(String),
    #[error("it has more than {MAX_RULE} bytes")]
    TooLong,
    #[error("it has more than {MAX_VALUES} parts")]
    TooManyValues,
    #[error("its regular expression is too large or wrong: {0}")]
    Regex(String),
    #[error("it has no `rule`")]
    NoRule,
    #[error("it has no `language`")]
    NoLanguage,
    #[error("there is no grammar for its language `{0}`")]
    Language(String),
}

impl RuleSources {
    /// Parses the fences of a document.
    pub(super) fn of(fences: &[Fence]) -> RuleSources {
        let mut found = RuleSources::default();
        let mut omitted = 0;
        for (fence, is_marked) in fences
            .iter()
            .filter_map(|fence| Some((fence, fence_marking(fence)?)))
        {
            for (line, text) in yaml_documents(fence) {
                let parse = parse(text);
                let is_rule = is_marked
                    || parse
                        .as_ref()
                        .map_or_else(|_| looks_like_rule(text), is_rule);
                match parse {
                    Ok(Value::Null) => {}
                    _ if !is_rule => {}
                    _ if found.rules.len() >= MAX_RULES => omitted += 1,
                    parse => found.add(line, text, parse),
                }
            }
        }
        if omitted > 0 {
            found.skipped.push(Skipped {
                rule: format!("{omitted} more"),
                reason: format!("a document has at most {MAX_RULES} rules"),
            });
        }
        found
    }

    fn add(&mut self, line: usize, text: &str, parse: Result<Value, RuleSourceError>) {
        let fallback_name = || format!("rule at line {line}");
        let id_of = |yaml: &Value| yaml.get("id").and_then(Value::as_str).map(str::to_owned);
        let id = parse.as_ref().ok().and_then(id_of);
        let id = id.or_else(|| line_of(text, "id:").map(str::to_owned));
        let id = id.filter(|id| !id.is_empty());
        let name = id.map_or_else(fallback_name, |id| shown(&id).into_owned());
        let source = parse.and_then(|yaml| {
            check_limits(&yaml)?;
            let dialect = dialect(&yaml)?;
            let name = name.clone();
            Ok(RuleSource {
                name,
                dialect,
                yaml,
            })
        });
        match source {
            Ok(source) => self.rules.push(source),
            Err(error) => self.skipped.push(Skipped {
                rule: name,
                reason: error.to_string(),
            }),
        }
    }
}

/// Whether the info string marks a fence as rules. YAML without a mark (`false`) may hold rules;
/// `None` means that it can't.
fn fence_marking(fence: &Fence) -> Option<bool> {
    let mut words = fence
        .info
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '{' | '}'))
        .filter(|word| !word.is_empty());
    let first = words.next()?.to_ascii_lowercase();
    match first.as_str() {
        "ast-grep" => Some(true),
        "yaml" | "yml" => Some(words.any(|word| word.eq_ignore_ascii_case("ast-grep"))),
        _ => None,
    }
}

/// The YAML documents in a fence, each with its first line. By YAML's grammar, `---` separates
/// documents wherever it is.
fn yaml_documents(fence: &Fence) -> Vec<(usize, &str)> {
    let mut yaml_documents = Vec::new();
    let (mut start, mut at, mut first) = (0, 0, fence.line);
    for (number, line) in fence.content.split_inclusive('\n').enumerate() {
        let next = at + line.len();
        let mark = line.trim_end();
        if mark == "---" || mark == "..." || line.starts_with("--- ") {
            yaml_documents.push((first, fence.content.get(start..at).unwrap_or_default()));
            (start, first) = (next, fence.line + number + 1);
        }
        at = next;
    }
    yaml_documents.push((first, fence.content.get(start..).unwrap_or_default()));
    yaml_documents
}

fn parse(text: &str) -> Result<Value, RuleSourceError> {
    if text.len() > MAX_RULE {
        return Err(RuleSourceError::TooLong);
    }
    ast_grep_config::from_str(text).map_err(|error| {
        let message = error.to_string();
        let first = message.lines().find(|line| !line.trim().is_empty());
        RuleSourceError::Yaml(shown(first.unwrap_or_default()).into_owned())
    })
}

fn is_rule(yaml: &Value) -> bool {
    yaml.get("id").is_some() && yaml.get("rule").is_some()
}

/// Whether a text that is not valid YAML was meant as a rule.
fn looks_like_rule(text: &str) -> bool {
    line_of(text, "id:").is_some() && line_of(text, "rule:").is_some()
}

fn line_of<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(value.trim().trim_matches(['"', '\'']))
}

fn dialect(yaml: &Value) -> Result<Dialect, RuleSourceError> {
    let id_of = yaml.get("language").and_then(Value::as_str);
    let id_of = id_of.ok_or(RuleSourceError::NoLanguage)?;
    let unknown = || RuleSourceError::Language(shown(id_of).into_owned());
    Dialect::named(id_of).ok_or_else(unknown)
}

/// Checks limits that the length of a rule doesn't imply.
fn check_limits(yaml: &Value) -> Result<(), RuleSourceError> {
    if yaml.get("rule").is_none() {
        return Err(RuleSourceError::NoRule);
    }
    let (mut values, mut next) = (0, vec![yaml]);
    while let Some(value) = next.pop() {
        values += 1;
        if values > MAX_VALUES {
            return Err(RuleSourceError::TooManyValues);
        }
        match value {
            Value::Array(items) => next.extend(items),
            Value::Object(fields) => {
                if let Some(regex) = fields.get("regex").and_then(Value::as_str) {
                    check_regex(regex)?;
                }
                next.extend(fields.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Ok(())
}

/// ast-grep compiles regular expressions with a larger size limit, which could cost too much time.
fn check_regex(regex: &str) -> Result<(), RuleSourceError> {
    let built = RegexMatcherBuilder::new()
        .size_limit(MAX_REGEX)
        .build(regex);
    match built {
        Ok(_) => Ok(()),
        Err(error) => {
            let message = error.to_string();
            let last = message.lines().rfind(|line| !line.trim().is_empty());
            let reason = shown(last.unwrap_or_default()).into_owned();
            Err(RuleSourceError::Regex(reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fence(info: &str, content: &str) -> Fence {
        Fence {
            info: info.to_owned(),
            content: content.to_owned(),
            line: 10,
            section: 0,
        }
    }

    fn of(info: &str, content: &str) -> (Vec<String>, Vec<(String, String)>) {
        let found = RuleSources::of(&[fence(info, content)]);
        let rules = found.rules.into_iter().map(|rule| rule.name).collect();
        let skipped = found.skipped.into_iter().map(|it| (it.rule, it.reason));
        (rules, skipped.collect())
    }

    const RULE: &str = "id: a\nlanguage: rust\nrule: {kind: block}\n";

    #[test]
    fn rules_are_in_ast_grep_fences_and_yaml_with_id_and_rule() {
        for info in ["ast-grep", "AST-GREP", "yaml", "yml", "yaml title=x"] {
            assert_eq!(of(info, RULE), (vec!["a".to_owned()], vec![]), "{info}");
        }
        for (info, text) in [
            ("yaml", "id: a\nname: x\n"),
            ("yaml", "rule: {kind: block}\n"),
            ("yaml", "a: [\n"),
            ("rust", RULE),
            ("", RULE),
            ("ast-grep", ""),
            ("ast-grep", "# nothing yet\n"),
        ] {
            assert_eq!(of(info, text), (vec![], vec![]), "{info} {text}");
        }
    }

    #[test]
    fn an_invalid_rule_in_a_fence_does_not_affect_the_others() {
        let next = RULE.replace("id: a", "id: c");
        let text = format!("---\n{RULE}---\nid: b\nrule: [\n--- # next\n{next}");
        let (rules, skipped) = of("yaml", &text);
        assert_eq!(rules, ["a", "c"]);
        assert_eq!(skipped.len(), 1, "{skipped:?}");
        assert_eq!(skipped[0].0, "b");
        assert!(skipped[0].1.starts_with("it is not YAML"), "{skipped:?}");
    }

    #[test]
    fn a_rule_without_an_id_is_named_by_its_line() {
        let (rules, skipped) = of(
            "ast-grep",
            "language: go\nrule: {kind: a}\n---\nlanguage: go\n",
        );
        assert_eq!(rules, ["rule at line 10"]);
        assert_eq!(skipped[0].0, "rule at line 13");
        assert_eq!(skipped[0].1, "it has no `rule`");
    }

    #[test]
    fn oversized_rules_and_unknown_languages_are_rejected() {
        let aliases: String = (1..9).fold("a0: &a0 [x, x, x, x, x, x]\n".to_owned(), |text, n| {
            let before = format!("*a{}", n - 1);
            text + &format!("a{n}: &a{n} [{}]\n", [before.as_str(); 6].join(", "))
        });
        let bomb = format!("id: bomb\n{aliases}rule: {{kind: block}}\n");
        let long = format!("id: a\nrule: {{pattern: '{}'}}\n", "x".repeat(MAX_RULE));
        let many = format!("id: a\nrule: {{any: [{}]}}\n", "1, ".repeat(MAX_VALUES));
        let deep = format!("id: a\nrule: {}", "{all: [".repeat(1000));
        let regex = "id: a\nrule: {regex: '((x{99}){99}){99}'}\n".to_owned();
        let wrong = "id: a\nrule: {has: {regex: '(('}}\n".to_owned();
        let cobol = RULE.replace("rust", "cobol");
        for text in [cobol, bomb, long, many, deep, regex, wrong] {
            let (rules, skipped) = of("ast-grep", &text);
            assert!(rules.is_empty(), "{:.60}", text);
            assert_eq!(skipped.len(), 1, "{:.60}", text);
            assert!(skipped[0].1.len() < 300, "{skipped:?}");
        }
        let usual =
            "id: a\nlanguage: Go\nrule: {regex: '^[\\w.]+@\\w+\\.(com|org)$|^(get|set)[A-Z]\\w*$'}";
        assert_eq!(of("ast-grep", usual).0, ["a"]);
    }

    #[test]
    fn at_most_50_rules_run_and_the_rest_are_counted() {
        let text = format!("{RULE}---\n").repeat(MAX_RULES + 7);
        let (rules, skipped) = of("ast-grep", &text);
        assert_eq!(rules.len(), MAX_RULES);
        assert_eq!(skipped[0].0, "7 more");
    }
}
