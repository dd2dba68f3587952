//! Failures of the service, and how an embedder handles them within its deadline.

use std::time::{Duration, SystemTime};

use archway_index::embed::{
    AnswerError::{self, Unreadable},
    EmbedError, Embedder,
};
use archway_index::openai::Unreadable::{Form, TooLong};
use e2e::{Embeddings, Mishap};
use tokio::{net::TcpListener, time::Instant};

use super::{KEY, config, is_of, project_key, served, soon, texts, until};

const SECOND: Duration = Duration::from_secs(1);
/// The service's share of a call, unless it hangs.
const DEADLINE: Duration = Duration::from_secs(20);
const TEXT: &str = "fn sesame_text() {}";

fn status(status: u16) -> Mishap {
    Mishap::Status(status, Vec::new())
}

fn limited(header: &'static str, value: impl Into<String>) -> Mishap {
    Mishap::Status(429, vec![(header, value.into())])
}

/// A date in HTTP's format.
fn date(at: SystemTime) -> String {
    let seconds = at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let moment = format!("@{seconds}");
    let made = std::process::Command::new("date")
        .args(["-u", "-d", &moment, "+%a, %d %b %Y %H:%M:%S GMT"])
        .env("LC_ALL", "C")
        .output();
    let text = String::from_utf8(made.unwrap().stdout).unwrap();
    text.trim().to_owned()
}

/// The error of an embedder, and how long it took.
async fn refusal(embedder: &Embedder, deadline: Duration) -> (EmbedError, Duration) {
    let started = Instant::now();
    let answer = embedder.texts(&texts([TEXT]), started + deadline).await;
    let took = started.elapsed();
    let error = answer.expect_err("it fails");
    assert!(took <= deadline + 5 * SECOND, "{error:?} after {took:?}");
    let mut told = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        told.push_str(&format!(" {cause}"));
        source = cause.source();
    }
    assert!(!told.contains("127.0.0.1"), "{told}");
    told.push_str(&format!("{error:?}"));
    for secret in ["sesame", KEY] {
        assert!(!told.contains(secret), "{secret} in {told}");
    }
    (error, took)
}

#[tokio::test]
async fn a_single_failure_is_retried_after_a_moment() {
    let date = date(SystemTime::now() + 5 * SECOND);
    for (mishap, least) in [
        (limited("retry-after", date), SECOND),
        (status(500), Duration::ZERO),
        (status(503), Duration::ZERO),
        (status(429), Duration::ZERO),
        (limited("retry-after", "1"), SECOND),
        (
            Mishap::Status(503, vec![("retry-after", "1".to_owned())]),
            SECOND,
        ),
        (Mishap::Cut, Duration::ZERO),
        (Mishap::CutShort, Duration::ZERO),
        (Mishap::Hang, 3 * SECOND),
    ] {
        let service = Embeddings::start(super::DIMENSIONS).await;
        let mut config = config(&service);
        let hangs = matches!(mishap, Mishap::Hang);
        config.embedder_timeout = if hangs { 3 } else { 20 };
        let embedder = Embedder::open(&config).unwrap();
        service.next([mishap.clone()]);
        let started = Instant::now();
        let vectors = embedder.texts(&texts([TEXT]), soon()).await.unwrap();
        let took = started.elapsed();
        assert!(
            is_of(&service, TEXT, vectors[0].as_ref().unwrap()),
            "{mishap:?}"
        );
        assert_eq!(service.requests().len(), 2, "{mishap:?}");
        assert!(
            took >= least && took < least + 10 * SECOND,
            "{mishap:?}: {took:?}"
        );
    }
}

#[tokio::test]
async fn a_lasting_failure_is_reported_within_the_deadline() {
    type Expected = fn(&EmbedError) -> bool;
    let cases: [(Mishap, Expected); 5] = [
        (status(500), |e| {
            matches!(e, EmbedError::Failed { status: 500 })
        }),
        (status(429), |e| matches!(e, EmbedError::Paused { .. })),
        (Mishap::Cut, |e| matches!(e, EmbedError::Unreachable(_))),
        (Mishap::CutShort, |e| {
            matches!(e, EmbedError::Unreachable(_))
        }),
        (Mishap::Hang, |e| matches!(e, EmbedError::Late)),
    ];
    for (mishap, expected) in cases {
        let (service, embedder) = served().await;
        service.always(Some(mishap.clone()));
        let hangs = matches!(mishap, Mishap::Hang);
        let deadline = if hangs { 2 * SECOND } else { DEADLINE };
        let (error, _) = refusal(&embedder, deadline).await;
        assert!(expected(&error), "{mishap:?}: {error:?}");
        let asked = service.requests().len();
        assert!((1..=4).contains(&asked), "{mishap:?}: asked {asked} times");
    }
}

#[tokio::test]
async fn a_permanent_failure_is_reported_after_one_request() {
    type Expected = fn(&EmbedError) -> bool;
    let cases: [(Mishap, Expected); 8] = [
        (status(400), |e| {
            matches!(e, EmbedError::Refused { status: 400 })
        }),
        (status(401), |e| {
            matches!(e, EmbedError::Refused { status: 401 })
        }),
        (status(404), |e| {
            matches!(e, EmbedError::Refused { status: 404 })
        }),
        (limited("retry-after", "60"), |e| {
            e.retry_after() > Some(2 * DEADLINE)
        }),
        (Mishap::Dimensions(7), |e| {
            let wanted = super::DIMENSIONS;
            matches!(e, EmbedError::Unusable(AnswerError::Dimensions { found: 7, wanted: w }) if *w == wanted)
        }),
        (Mishap::Fewer, |e| {
            matches!(
                e,
                EmbedError::Unusable(AnswerError::Count { found: 0, asked: 1 })
            )
        }),
        (Mishap::Echo, |e| {
            matches!(e, EmbedError::Unusable(Unreadable(Form { line: 1, .. })))
        }),
        (Mishap::Endless, |e| {
            matches!(e, EmbedError::Unusable(Unreadable(TooLong { .. })))
        }),
    ];
    for (mishap, expected) in cases {
        let (service, embedder) = served().await;
        service.always(Some(mishap.clone()));
        let (error, took) = refusal(&embedder, DEADLINE).await;
        assert!(expected(&error), "{mishap:?}: {error:?}");
        assert!(took < DEADLINE / 2, "{mishap:?}: {took:?}");
        // A plain text shows whether a refusal concerns the text or all texts.
        let plain = matches!(error, EmbedError::Refused { status: 400 });
        let asked = 1 + usize::from(plain);
        assert_eq!(service.requests().len(), asked, "{mishap:?}");
    }
}

#[tokio::test]
async fn retry_after_of_the_service_is_respected() {
    let (service, embedder) = served().await;
    service.next([limited("retry-after", "60")]);
    refusal(&embedder, DEADLINE).await;
    let (error, _) = refusal(&embedder, DEADLINE).await;
    assert!(error.retry_after() > Some(DEADLINE), "{error:?}");
    let query = embedder
        .query(project_key(), "main", Instant::now() + SECOND)
        .await;
    assert!(matches!(query, Err(EmbedError::Paused { .. })), "{query:?}");
    assert_eq!(service.requests().len(), 1);
}

#[tokio::test]
async fn requests_follow_no_redirect() {
    let (elsewhere, _) = served().await;
    for code in [301, 302, 307, 308] {
        let (service, embedder) = served().await;
        let place = format!("{}/embeddings", elsewhere.url());
        service.always(Some(Mishap::Status(code, vec![("location", place)])));
        let (error, _) = refusal(&embedder, DEADLINE).await;
        let EmbedError::Refused { status } = error else {
            panic!("{error:?}");
        };
        assert_eq!(status, code);
        assert!(error.to_string().contains("redirects"), "{error}");
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn an_unreachable_service_is_reported_within_the_deadline() {
    let (service, _) = served().await;
    let mut config = config(&service);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    config.embedder_url = Some(format!("http://{}/v1", listener.local_addr().unwrap()));
    drop(listener);
    let embedder = Embedder::open(&config).unwrap();
    let (error, _) = refusal(&embedder, DEADLINE).await;
    assert!(matches!(error, EmbedError::Unreachable(_)), "{error:?}");
}

#[tokio::test]
async fn a_failing_service_rests_and_recovers_without_help() {
    let (service, embedder) = served().await;
    service.always(Some(status(500)));
    let rest = loop {
        if let (EmbedError::CircuitOpen { retry_after }, _) = refusal(&embedder, DEADLINE).await {
            break retry_after;
        }
    };
    assert!(rest <= 2 * SECOND, "{rest:?}");
    let asked = service.requests().len();
    assert_eq!(asked, 5, "so many failures in a row, and no more");
    let (error, _) = refusal(&embedder, DEADLINE).await;
    assert!(matches!(error, EmbedError::CircuitOpen { .. }), "{error:?}");
    assert_eq!(service.requests().len(), asked, "it gets no request");
    service.always(None);
    let deadline = soon();
    while let Err(error) = embedder.texts(&texts([TEXT]), deadline).await {
        assert!(matches!(error, EmbedError::CircuitOpen { .. }), "{error:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(service.requests().len(), asked + 1);
}

#[tokio::test]
async fn texts_that_it_does_not_take_are_no_reason_to_leave_it_alone() {
    let (service, embedder) = served().await;
    service.always(Some(status(413)));
    for _ in 0..12 {
        let (error, _) = refusal(&embedder, DEADLINE).await;
        assert!(
            matches!(error, EmbedError::Refused { status: 413 }),
            "{error:?}"
        );
    }
    service.always(None);
    embedder.texts(&texts([TEXT]), soon()).await.unwrap();
}

#[tokio::test]
async fn a_refused_text_gets_no_vector_and_all_others_do() {
    let service = Embeddings::start(super::DIMENSIONS).await;
    let mut config = config(&service);
    config.embedder_batch = 64.try_into().unwrap();
    let embedder = Embedder::open(&config).unwrap();
    service.always(Some(Mishap::Dislikes("sesame")));
    let mut all: Vec<String> = (0..64).map(|number| format!("text {number}")).collect();
    for bad in [0, 17, 18, 63] {
        all[bad] = format!("sesame {bad}");
    }
    let vectors = embedder.texts(&all, soon()).await.unwrap();
    for (text, vector) in all.iter().zip(&vectors) {
        match vector {
            Some(vector) => assert!(is_of(&service, text, vector), "{text}"),
            None => assert!(text.contains("sesame"), "{text}"),
        }
    }
    assert_eq!(vectors.iter().flatten().count(), 60);
    let asked = service.requests().len();
    assert!(asked <= 2 + 2 * 6 * 4, "asked {asked} times");
    let (service, embedder) = (service, Embedder::open(&config).unwrap());
    service.always(Some(status(400)));
    let wrong = embedder.texts(&all, soon()).await;
    assert!(
        matches!(wrong, Err(EmbedError::Refused { status: 400 })),
        "a service that is set up wrongly leaves nothing out: {wrong:?}"
    );
    assert_eq!(service.requests().len(), asked + 2);
}

#[tokio::test]
async fn whoever_goes_away_leaves_no_place_taken() {
    let (service, embedder) = served().await;
    service.always(Some(Mishap::Hang));
    let many: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    for round in 1..=3 {
        let asked = async { embedder.texts(&many, soon()).await };
        tokio::select! {
            answer = asked => panic!("it was to hang: {answer:?}"),
            () = until(|| service.requests().len() == round * 3) => {}
        }
    }
    service.always(None);
    let vectors = embedder.texts(&many, soon()).await.unwrap();
    assert_eq!(vectors.iter().flatten().count(), 40);
}
