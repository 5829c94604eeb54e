//! What anybody may read while a lock is held.

use serde_json::Value;
use tests::{RedisServer, tidy, timing, wire};

/// The record is JSON with the nine fields of the founding text, by their exact names, plus owner, token and version.
#[tokio::test]
async fn the_record_reads_as_json_in_any_language() {
    let server = RedisServer::start();
    let (manager, raw) = (server.manager(), server.raw());
    let guard = manager
        .lock("boleto:record")
        .name_of("payments::pay")
        .acquire()
        .await
        .unwrap();
    let (key, text) = (
        wire::record("boleto:record"),
        raw.run::<String>(&["GET", &wire::record("boleto:record")]),
    );
    let record: Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let (text_of, number_of) = (
        |name: &str| {
            record[name]
                .as_str()
                .unwrap_or_else(|| panic!("{name} in {record}"))
        },
        |name: &str| {
            record[name]
                .as_u64()
                .unwrap_or_else(|| panic!("{name} in {record}"))
        },
    );
    assert!(
        key.ends_with(text_of("key")) && text_of("key").ends_with("boleto:record"),
        "{record}"
    );
    assert!(record["threadId"].is_u64());
    assert!(!text_of("hostName").is_empty());
    assert!(text_of("processName").starts_with("faults"));
    assert_eq!(number_of("processId"), u64::from(std::process::id()));
    assert_eq!(text_of("nameOf"), "payments::pay");
    let created = text_of("dataCriacao");
    assert!(
        created.len() >= 20 && created.ends_with('Z') && created[10..].starts_with('T'),
        "{created}"
    );
    let lease = u64::try_from(timing::lease().as_millis()).unwrap();
    assert_eq!(
        (
            number_of("tempoExpiracao"),
            number_of("tempoRestanteExpiracao")
        ),
        (lease, lease)
    );
    assert!(
        record
            .as_object()
            .unwrap()
            .keys()
            .any(|name| name.to_lowercase().contains("version")),
        "{record}"
    );
    assert_eq!(
        wire::owner_of(&text),
        (guard.owner_token().to_string(), guard.fencing_token().get())
    );
    guard.release().await.unwrap();
    tidy::end(&server, "boleto:record", timing::lease(), 0).await;
}
