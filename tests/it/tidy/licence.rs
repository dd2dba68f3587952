//! SPDX licence expressions: whether accepted licences satisfy one.

/// Whether the accepted licences satisfy `expression`.
///
/// The grammar of SPDX 2.3, annex D, with the old `/` as `OR`. An exception (`WITH`) grants more than the
/// licence alone, so it is ignored.
pub(super) fn satisfies(expression: &str, accepted: &[String]) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = tokens.as_slice();
    let holds = any(&mut rest, accepted);
    assert!(rest.is_empty(), "no licence expression: {expression}");
    holds
}

fn any(rest: &mut &[&str], accepted: &[String]) -> bool {
    let mut holds = all(rest, accepted);
    while eat(rest, "OR") {
        holds |= all(rest, accepted);
    }
    holds
}

fn all(rest: &mut &[&str], accepted: &[String]) -> bool {
    let mut holds = one(rest, accepted);
    while eat(rest, "AND") {
        holds &= one(rest, accepted);
    }
    holds
}

fn one(rest: &mut &[&str], accepted: &[String]) -> bool {
    if eat(rest, "(") {
        let holds = any(rest, accepted);
        assert!(eat(rest, ")"), "unclosed parenthesis");
        return holds;
    }
    let (name, after) = rest.split_first().expect("a licence's name");
    *rest = after;
    if eat(rest, "WITH") {
        *rest = &rest[1..];
    }
    accepted.iter().any(|licence| licence == name)
}

fn eat(rest: &mut &[&str], token: &str) -> bool {
    let is_next = rest.first() == Some(&token);
    if is_next {
        *rest = &rest[1..];
    }
    is_next
}

#[test]
fn an_expression_holds_only_by_what_is_accepted() {
    let accepted = ["MIT".to_owned(), "ISC".to_owned()];
    for good in [
        "MIT",
        "GPL-3.0 OR MIT",
        "(MIT OR GPL-3.0) AND ISC",
        "Apache-2.0/MIT",
        "MIT WITH X",
    ] {
        assert!(satisfies(good, &accepted), "{good}");
    }
    for bad in [
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "GPL-3.0 OR (MIT AND BSD)",
        "MIT-0",
    ] {
        assert!(!satisfies(bad, &accepted), "{bad}");
    }
}
