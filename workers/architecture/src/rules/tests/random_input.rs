//! Random documents, code and rules: nothing panics, and reported lines exist in the code.

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn reported_lines_exist_in_random_code(
        document in "(MUST|NOT|SHOULD|`[a-z.*(]{0,5}`|[ ,.;:()—]|\n|be used|```|ast-grep\n|- |\\PC){0,60}",
        code in "([a-z]{1,3}|[ .;(){}\"'/*#]|\n|\\PC){0,80}",
        language in prop::option::of(prop::sample::select(
            vec!["rust", "ts", "tsx", "js", "py", "go", "java", "c", "c++", "c#", "ruby", "php", "?"]
        )),
    ) {
        let findings = check_code(&document, &code, language);
        let lines = code.split('\n').count();
        for violation in &findings.violations {
            prop_assert!(violation.line.is_none_or(|line| (1..=lines).contains(&line)));
        }
        prop_assert!(findings.total >= findings.violations.len());
    }

    #[test]
    fn a_random_rule_does_not_affect_the_next_one(
        rule in "(rule:|pattern:|kind:|any:|all:|not:|has:|inside:|stopBy: end|regex:|matches:|\
                 utils:|\\$[A-Z]|\\$\\$\\$|[a-z]{1,4}| |  |- |\n|\n  |[\\[\\]{},'\"&*|>]){0,40}",
    ) {
        let document = format!(
            "```ast-grep\nid: x\nlanguage: ts\n{rule}\n---\n{NO_LOG}```\n"
        );
        let findings = check_code(&document, "f(1);\nconsole.log(a)\n", Some("ts"));
        prop_assert!(lines_of(&findings).contains(&"no-log:2".to_owned()), "{:?}", findings);
    }
}
