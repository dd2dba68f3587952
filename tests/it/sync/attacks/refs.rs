//! Refs with hostile names, ones that git forbids, and words of a host that mislead.

use e2e::git;

use super::Attacked;

impl Attacked {
    /// The branches and tags of a mirror, a line each.
    fn served(&self, slug: &str) -> String {
        let list = [
            "for-each-ref",
            "--format=%(refname)",
            "refs/heads",
            "refs/tags",
        ];
        git(&self.mirrored.place(slug), &list)
    }
}

#[tokio::test]
async fn refs_named_as_options_and_commands_are_only_names() {
    let attacked = Attacked::start(&[]).await;
    let work = attacked.repository("refs");
    let canary = attacked.canary().display().to_string();
    let head = format!("refs/heads/--upload-pack=touch${{IFS}}{canary}");
    let hostile = [
        head.clone(),
        format!("refs/heads/$(touch${{IFS}}{canary})"),
        format!("refs/heads/`touch${{IFS}}{canary}`"),
        format!("refs/heads/|touch${{IFS}}{canary}"),
        "refs/heads/--exec=x".to_owned(),
        "refs/heads/-".to_owned(),
        "refs/heads/HEAD".to_owned(),
        "refs/heads/\u{9b}2J\u{202e}\u{2028}".to_owned(),
        "refs/tags/-oProxyCommand=x".to_owned(),
        "refs/tags/refs/heads/main".to_owned(),
    ];
    for name in &hostile {
        git(&work, &["update-ref", name, "HEAD"]);
    }
    let tip = git(
        &work,
        &["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "tip"],
    );
    git(&work, &["update-ref", &head, &tip]);
    git(&work, &["symbolic-ref", "HEAD", &head]);
    attacked.mirror("refs").await;
    assert_eq!(attacked.message("refs", "ok").await, "");
    let served = attacked.served("refs");
    for name in &hostile {
        assert!(served.lines().any(|line| line == name), "{name}: {served}");
    }
    let mirror = attacked.mirrored.place("refs");
    assert_eq!(git(&mirror, &["symbolic-ref", "HEAD"]), head);
    attacked.until_found("refs", 1).await;
    attacked.assert_unharmed(&["refs"]).await;
}

/// A line of git's protocol.
fn packet(text: &str) -> String {
    format!("{:04x}{text}", text.len() + 4)
}

#[tokio::test]
async fn refs_that_git_forbids_are_ignored() {
    let attacked = Attacked::start(&[]).await;
    attacked.repository("liar");
    attacked.mirrored.host.tamper(|asked, answer| {
        let is_list = String::from_utf8_lossy(asked).contains("command=ls-refs");
        let text = String::from_utf8_lossy(answer);
        let Some(id) = text
            .get(4..44)
            .filter(|_| is_list && text.contains("refs/heads/main"))
        else {
            return answer.to_owned();
        };
        let names = [
            "refs/heads/../../../../../escaped",
            "refs/heads/../../config",
            "refs/heads/\u{1b}[2J\u{7}",
            "refs/heads/a.lock",
            "refs/heads//a",
            "refs/tags/../../../hooks/post-checkout",
            "../../escaped",
        ];
        let lines = names.map(|name| packet(&format!("{id} {name}\n"))).concat();
        let honest = text.strip_suffix("0000").unwrap();
        format!("{honest}{lines}0000").into_bytes()
    });
    attacked.mirror("liar").await;
    assert_eq!(attacked.message("liar", "ok").await, "");
    let served = attacked.served("liar");
    assert_eq!(served, "refs/heads/main");
    attacked.assert_unharmed(&["liar"]).await;
}

#[tokio::test]
async fn words_of_a_host_are_shown_without_what_misleads() {
    let attacked = Attacked::start(&[]).await;
    attacked.repository("words");
    let words = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}\r\nfatal: in /tmp/x";
    let said = packet(&format!("ERR {words}{}", "x".repeat(60_000)));
    attacked.mirrored.host.tamper(move |asked, answer| {
        let is_list = String::from_utf8_lossy(asked).contains("command=ls-refs");
        // The other repository is asked for later.
        match is_list && String::from_utf8_lossy(answer).contains("refs/heads/words") {
            true => said.clone().into_bytes(),
            false => answer.to_owned(),
        }
    });
    let work = attacked.mirrored.host.folder("words");
    git(&work, &["branch", "words"]);
    attacked.mirror("words").await;
    let row = attacked.mirrored.until("words", "failed").await;
    let message = row.message.unwrap();
    assert!(message.contains("owned"), "{message}");
    assert!(message.chars().count() <= 300, "{message}");
    let misleads = |c: char| c.is_control() || c == '\u{202e}';
    assert!(!message.chars().any(misleads), "{message:?}");
    attacked.assert_unharmed(&[]).await;
}
