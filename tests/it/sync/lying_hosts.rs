//! GitLab and Gitea that lie about who may read, or refuse to say it: what they said before counts until it is too
//! old, nobody sees more, and the operator reads why.

use e2e::Issuer;
use http::StatusCode;

use super::Mirrored;
use super::permissions::{BY_LOGIN, GITEA, GITLAB, ask_again, at_host, elsewhere, state};

/// A list of both hosts in which eve may read.
const EVE: &str =
    r#"[{"id": 10, "login": "eve", "username": "eve", "state": "active", "access_level": 40}]"#;

/// A status, a `Link` and a body instead of a list, and how the operator reads of it.
const LIES: [(StatusCode, &str, &str, &str); 6] = [
    (StatusCode::OK, "", r#"[{"id": 10,"#, "a page is no list"),
    (
        StatusCode::OK,
        r#"<https://other.example/more?page=2>; rel="next""#,
        EVE,
        "its next page is on another host",
    ),
    (
        StatusCode::OK,
        r#"</api/v4/projects/2/members/all?page=2>; rel="next""#,
        EVE,
        "is of another list",
    ),
    (
        StatusCode::FORBIDDEN,
        "",
        r#"{"message": "ada:sesame may not"}"#,
        "refused the credential: 403 Forbidden: ada:[secret] may not",
    ),
    (
        StatusCode::NOT_FOUND,
        "",
        "{}",
        "knows no list of the repository's readers",
    ),
    (
        StatusCode::INTERNAL_SERVER_ERROR,
        "",
        "no https://ada:sesame@db",
        "can't be reached: 500 Internal Server Error: no https://ada:[secret]@db",
    ),
];

/// Has the host asked, and waits until the operator reads these words.
async fn until_shown(mirrored: &Mirrored, words: &str) {
    ask_again(mirrored).await;
    let shown = async || {
        let message = state(mirrored).await.message;
        message.filter(|message| message.contains(words))
    };
    let message = mirrored.stack.eventually(shown).await;
    let own = mirrored.host.base();
    assert!(
        !message.contains("sesame") && !message.contains(&own),
        "{message}"
    );
}

#[tokio::test]
async fn a_host_that_lies_about_readers_shows_nobody_more() {
    for host in [GITLAB, GITEA] {
        let issuer = Issuer::start().await;
        let mirrored = elsewhere(&issuer, host, BY_LOGIN).await;
        let (ada, eve) = (
            at_host(&mirrored, &issuer, "ada"),
            at_host(&mirrored, &issuer, "eve"),
        );
        mirrored.until_served(&ada, &["site"]).await;
        for (status, link, body, words) in LIES {
            mirrored.host.answer_for_readers(Some((status, link, body)));
            until_shown(&mirrored, words).await;
            mirrored.until_served(&ada, &["site"]).await;
            mirrored.until_served(&eve, &[]).await;
            assert_eq!(state(&mirrored).await.answered, 1, "{words}");
        }
        mirrored
            .host
            .limit(Some((StatusCode::TOO_MANY_REQUESTS, 1)));
        until_shown(&mirrored, "asks to wait until").await;
        mirrored.host.limit(None);

        // The last good answer becomes too old.
        mirrored
            .execute("update host_readers set listed_at = now() - interval '13 hours'")
            .await;
        mirrored
            .execute("select count_reader_change(id) from tenants")
            .await;
        mirrored.until_served(&ada, &[]).await;
        assert_eq!(state(&mirrored).await.answered, 0);
        // Entries that lack a field name nobody: that is an answer, and it names no reader.
        let bad =
            r#"[{"id": 7}, {"login": "ada", "username": "ada"}, {"id": "7", "login": "ada"}]"#;
        mirrored
            .host
            .answer_for_readers(Some((StatusCode::OK, "", bad)));
        ask_again(&mirrored).await;
        let has_answered = async || (state(&mirrored).await.answered == 1).then_some(());
        mirrored.stack.eventually(has_answered).await;
        for client in [&ada, &eve] {
            mirrored.until_served(client, &[]).await;
        }
        mirrored.host.answer_for_readers(None);
        ask_again(&mirrored).await;
        mirrored.until_served(&ada, &["site"]).await;
        mirrored.until_served(&eve, &[]).await;
    }
}
