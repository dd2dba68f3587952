//! The service behind TLS, used by a worker that can read nothing but its mounts.

use std::{fs, thread};

use archway_index::embed::{EmbedError, Embedder, EmbedderConfig};
use archway_repo::confine::{Confinement, confine};
use e2e::Embeddings;

use super::{DIMENSIONS, config, is_of, soon, texts};

const TEXT: &str = "parse a header";

/// The answer, inside the confinement, of an embedder that was opened before it.
fn confined(config: EmbedderConfig) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
    let mount = tempfile::tempdir().unwrap();
    let folders = [mount.path().to_owned()];
    let authority = config.embedder_ca_file.clone();
    let thread = thread::spawn(move || {
        let embedder = Embedder::open(&config).unwrap();
        if confine(&folders, &[]).unwrap() == Confinement::Absent {
            println!("not tried: this kernel has no Landlock");
        } else if let Some(authority) = authority {
            fs::read(authority).expect_err("it is out of reach");
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async { embedder.texts(&texts([TEXT]), soon()).await })
    });
    thread.join().unwrap()
}

#[tokio::test]
async fn a_confined_worker_speaks_tls_to_a_service_by_its_name() {
    let service = Embeddings::encrypted(DIMENSIONS).await;
    let config = EmbedderConfig {
        embedder_ca_file: Some(service.authority()),
        ..config(&service)
    };
    assert!(
        config
            .embedder_url
            .as_ref()
            .unwrap()
            .contains("https://localhost:")
    );
    let vectors = tokio::task::spawn_blocking(|| confined(config))
        .await
        .unwrap();
    let vectors = vectors.unwrap();
    assert!(is_of(&service, TEXT, vectors[0].as_ref().unwrap()));
}

#[tokio::test]
async fn an_untrusted_certificate_is_refused() {
    let service = Embeddings::encrypted(DIMENSIONS).await;
    let other = Embeddings::encrypted(DIMENSIONS).await;
    let mut config = config(&service);
    config.embedder_ca_file = Some(other.authority());
    let told = tokio::task::spawn_blocking(|| confined(config))
        .await
        .unwrap();
    let error = told.unwrap_err();
    assert!(matches!(error, EmbedError::Unreachable(_)), "{error:?}");
    assert!(
        format!("{error:?}").contains("InvalidCertificate"),
        "{error:?}"
    );
    assert!(service.requests().is_empty());
}

#[tokio::test]
async fn a_confined_worker_reaches_a_service_without_tls() {
    let service = Embeddings::start(DIMENSIONS).await;
    let config = config(&service);
    let vectors = tokio::task::spawn_blocking(|| confined(config))
        .await
        .unwrap();
    assert!(vectors.unwrap()[0].is_some());
}
