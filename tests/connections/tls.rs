//! TLS to real servers, with and without a client's certificate, and everything that may be wrong with one.

use std::time::{Duration, Instant};

use lockruntime::{BackendErrorKind, LockError, LockManager, TlsSettings};
use tests::server::{Certificates, ClientCertificate, Folder, Settings, manager_builder};
use tests::wire::{APP, ENVIRONMENT};
use tests::{RedisServer, logs, tidy, timing};

use super::{connections, contend};

/// What every bad certificate must be told in.
const AT_MOST: Duration = Duration::from_secs(2);

fn url(address: &str, rest: &str) -> String {
    format!("rediss://{address}?app={APP}&env={ENVIRONMENT}{rest}")
}

fn settings(certificates: &Certificates) -> TlsSettings {
    TlsSettings::new().ca(certificates.text("ca.pem"))
}

/// Own authority and client certificate, once as files in the URL, once as text in the builder; RESP3 and RESP2.
#[tokio::test(flavor = "multi_thread")]
async fn both_sides_show_certificates() {
    let server = RedisServer::with(Settings::default().tls(ClientCertificate::Required));
    let (address, certificates) = server.tls();
    let files = format!(
        "&tls_ca={}&tls_cert={}&tls_key={}",
        certificates.file("ca.pem"),
        certificates.file("client.pem"),
        certificates.file("client.key"),
    );
    let by_files = manager_builder(&url(&address, &files)).build().unwrap();
    let by_text = manager_builder(&url(&address, "&protocol=2"))
        .tls(settings(certificates).client(
            certificates.text("client.pem"),
            certificates.text("client.key"),
        ))
        .build()
        .unwrap();
    contend([&by_files, &by_text], "boleto:tls").await;
    assert!(by_files.health().await.unwrap().is_sound());
    assert_eq!(connections(&server.raw()), 3);
    tidy::end(&server, "boleto:tls", timing::lease(), 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_as_good_as_an_address() {
    let server = RedisServer::with(Settings::default().tls(ClientCertificate::Unasked));
    let (address, certificates) = server.tls();
    let named = address.replace("127.0.0.1", "localhost");
    let locks = manager_builder(&url(&named, ""))
        .tls(settings(certificates))
        .build()
        .unwrap();
    locks
        .lock("boleto:tls-name")
        .try_acquire()
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
    tidy::end(&server, "boleto:tls-name", timing::lease(), 0).await;
}

/// One call each: an error that names TLS, soon, and never busy.
async fn refused(locks: &LockManager, words: &str) {
    for mode in ["reject", "queue"] {
        let start = Instant::now();
        let lock = locks.lock("boleto:tls");
        let error = match mode {
            "reject" => lock.try_acquire().await.unwrap_err(),
            _ => timing::soon("it gives up", lock.acquire())
                .await
                .unwrap_err(),
        };
        assert!(start.elapsed() < AT_MOST, "{:?}: {error}", start.elapsed());
        let LockError::Backend { source, .. } = &error else {
            panic!("{error:?}")
        };
        let said = source.to_string();
        assert_eq!(source.kind(), BackendErrorKind::Tls, "{said}");
        assert!(said.contains("TLS") && said.contains(words), "{said}");
        assert!(!error.is_busy() && !error.is_retryable());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_bad_certificate_is_named() {
    let server = RedisServer::with(Settings::default().tls(ClientCertificate::Required));
    let (address, certificates) = server.tls();
    let folder = Folder::new("strangers");
    let strangers = Certificates::new(folder.path());
    let own = |tls: TlsSettings| {
        tls.client(
            certificates.text("client.pem"),
            certificates.text("client.key"),
        )
    };
    let build = |url: &str, tls| manager_builder(url).tls(tls).build().unwrap();
    // another authority's server
    refused(
        &build(&url(&address, ""), own(settings(&strangers))),
        "UnknownIssuer",
    )
    .await;
    // the machine's authorities don't know it either
    if let Ok(locks) = manager_builder(&url(&address, "")).build() {
        refused(&locks, "UnknownIssuer").await;
    }
    // the certificate is for other names
    let server_2 = RedisServer::with(
        Settings::default()
            .tls(ClientCertificate::Unasked)
            .line("bind 127.0.0.1 127.0.0.2"),
    );
    let (address_2, certificates_2) = server_2.tls();
    let elsewhere = address_2.replace("127.0.0.1", "127.0.0.2");
    refused(
        &build(&url(&elsewhere, ""), settings(certificates_2)),
        "not valid for name",
    )
    .await;
    // no client certificate, and another authority's
    refused(
        &build(&url(&address, ""), settings(certificates)),
        "client certificate",
    )
    .await;
    let stranger =
        settings(certificates).client(strangers.text("client.pem"), strangers.text("client.key"));
    refused(&build(&url(&address, ""), stranger), "client certificate").await;
    // a port that speaks no TLS waits for more: it is silent
    let plain = build(&url(&server.address(), ""), own(settings(certificates)));
    let start = Instant::now();
    let error = plain.lock("boleto:tls").try_acquire().await.unwrap_err();
    assert!(start.elapsed() < AT_MOST, "{:?}: {error}", start.elapsed());
    assert!(error.to_string().contains("that it speaks TLS"), "{error}");
    assert!(matches!(error, LockError::Backend { .. }), "{error:?}");
    assert_eq!(logs::panics(), Vec::<String>::new());
}

/// What can be seen without a server is said when the manager is built.
#[test]
fn what_is_no_certificate_is_refused_at_once() {
    let folder = Folder::new("certificates");
    let made = Certificates::new(folder.path());
    let wrong = |tls: TlsSettings| {
        let error = manager_builder(&url("127.0.0.1:1", ""))
            .tls(tls)
            .build()
            .unwrap_err();
        error.to_string()
    };
    assert!(wrong(TlsSettings::new().ca("nothing")).contains("BEGIN CERTIFICATE"));
    assert!(
        wrong(settings(&made).client(made.text("client.pem"), "nothing")).contains("client key")
    );
    let mismatch = settings(&made).client(made.text("client.pem"), made.text("server.key"));
    assert!(wrong(mismatch).contains("with its key"));
    let plain = manager_builder("redis://127.0.0.1:1")
        .tls(settings(&made))
        .build()
        .unwrap_err();
    assert!(plain.to_string().contains("rediss://"), "{plain}");
}
