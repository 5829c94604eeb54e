//! The record of a holder: JSON that any reader in any language can list.
//!
//! It is `{"owner":"<32 hex>","fencingToken":<16 digits>,…}`: the scripts put those two before the rest that is encoded here,
//! and compare them as bytes. The nine fields after them are the founding text's, by their exact names.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::backend::{Holder, RECORD_VERSION};
use crate::clock::millis_up;
use crate::options::Sharing;
use crate::token::{FencingToken, OwnerToken};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rest<'a> {
    // before all others and without a blank: the scripts read these two as bytes
    #[serde(skip_serializing_if = "Option::is_none")]
    permits: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<Access>,
    key: &'a str,
    thread_id: u64,
    host_name: &'a str,
    process_name: &'a str,
    process_id: u32,
    name_of: &'a str,
    data_criacao: &'a str,
    tempo_expiracao: u64,
    tempo_restante_expiracao: u64,
    version: u32,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Access {
    Read,
    Write,
}

/// The record from its first comma on.
pub(super) fn encode_rest(
    record: &str,
    holder: &Holder,
    lease: Duration,
    sharing: Sharing,
) -> String {
    let lease = millis_up(lease);
    let (permits, access) = match sharing {
        Sharing::Alone => (None, None),
        Sharing::Write => (None, Some(Access::Write)),
        Sharing::Read => (None, Some(Access::Read)),
        Sharing::Permits(permits) => (Some(permits), None),
    };
    let rest = Rest {
        permits,
        access,
        key: record,
        thread_id: holder.thread_id,
        host_name: &holder.host_name,
        process_name: &holder.process_name,
        process_id: holder.process_id,
        name_of: &holder.name_of,
        data_criacao: &holder.created,
        tempo_expiracao: lease,
        tempo_restante_expiracao: lease,
        version: RECORD_VERSION,
    };
    let json = serde_json::to_string(&rest).expect("strings and numbers always encode");
    json.replacen('{', ",", 1)
}

/// What a record has from its owner to its token, byte for byte.
pub(super) fn owned_by(owner: OwnerToken, token: FencingToken) -> String {
    format!("{owner}\",\"fencingToken\":{}", digits(token))
}

/// A token as the scripts write it.
pub(super) fn digits(token: FencingToken) -> String {
    format!("{:016}", token.get())
}

/// What a reader needs of a record. Fields of a newer version are passed over.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Read {
    owner: String,
    fencing_token: u64,
    #[serde(default)]
    thread_id: u64,
    #[serde(default)]
    host_name: String,
    #[serde(default)]
    process_name: String,
    #[serde(default)]
    process_id: u32,
    #[serde(default)]
    name_of: String,
    #[serde(default)]
    data_criacao: String,
    tempo_expiracao: Option<u64>,
    #[serde(default)]
    version: u32,
    permits: Option<u32>,
    access: Option<Access>,
}

/// What a record says.
#[derive(Debug, PartialEq)]
pub(super) struct Record {
    pub(super) owner: OwnerToken,
    pub(super) token: FencingToken,
    pub(super) sharing: Sharing,
    pub(super) holder: Holder,
    /// The length that was asked for.
    pub(super) lease: Option<Duration>,
    pub(super) version: u32,
}

/// Reads who asked, from a record's rest as a ticket keeps it.
pub(super) fn holder_of(rest: &str) -> Option<Holder> {
    let owner = "0".repeat(32);
    let whole = format!("{{\"owner\":\"{owner}\",\"fencingToken\":0{rest}");
    decode(whole.as_bytes()).map(|record| record.holder)
}

/// Reads a record, of this version or another; `None` when it isn't one of ours.
pub(super) fn decode(json: &[u8]) -> Option<Record> {
    let read: Read = serde_json::from_slice(json).ok()?;
    let holder = Holder {
        thread_id: read.thread_id,
        host_name: read.host_name,
        process_name: read.process_name,
        process_id: read.process_id,
        name_of: read.name_of,
        created: read.data_criacao,
    };
    let sharing = match (read.permits, read.access) {
        (Some(permits), _) => Sharing::Permits(permits),
        (None, Some(Access::Read)) => Sharing::Read,
        (None, Some(Access::Write)) => Sharing::Write,
        (None, None) => Sharing::Alone,
    };
    Some(Record {
        owner: OwnerToken::parse(&read.owner)?,
        token: FencingToken::new(read.fencing_token),
        sharing,
        holder,
        lease: read.tempo_expiracao.map(Duration::from_millis),
        version: read.version,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder() -> Holder {
        Holder {
            thread_id: 7,
            host_name: "pod-1".to_owned(),
            process_name: "payments".to_owned(),
            process_id: 42,
            name_of: "payments::pay".to_owned(),
            created: "2026-11-30T12:00:00.000Z".to_owned(),
        }
    }

    #[test]
    fn the_record_is_json_with_the_founding_fields_in_order() {
        let rest = encode_rest(
            "lib_lock:app:prod:boleto:42",
            &holder(),
            Duration::from_secs(30),
            Sharing::Alone,
        );
        let owner = OwnerToken::random();
        let record = format!("{{\"owner\":\"{owner}\",\"fencingToken\":1796000000000000{rest}");
        assert_eq!(&record[43..59].len(), &16);
        let read = Record {
            owner,
            token: FencingToken::new(1_796_000_000_000_000),
            sharing: Sharing::Alone,
            holder: holder(),
            lease: Some(Duration::from_secs(30)),
            version: 1,
        };
        assert_eq!(decode(record.as_bytes()), Some(read));
        assert_eq!(
            rest,
            ",\"key\":\"lib_lock:app:prod:boleto:42\",\"threadId\":7,\"hostName\":\"pod-1\",\"processName\":\"payments\",\
             \"processId\":42,\"nameOf\":\"payments::pay\",\"dataCriacao\":\"2026-11-30T12:00:00.000Z\",\
             \"tempoExpiracao\":30000,\"tempoRestanteExpiracao\":30000,\"version\":1}"
        );
    }

    /// Where the scripts look for it, byte for byte.
    #[test]
    fn how_it_is_shared_stands_first() {
        for (sharing, begin) in [
            (Sharing::Read, ",\"access\":\"read\",\"key\":"),
            (Sharing::Write, ",\"access\":\"write\",\"key\":"),
            (Sharing::Permits(3), ",\"permits\":3,\"key\":"),
            (Sharing::Alone, ",\"key\":"),
        ] {
            let rest = encode_rest("lib_lock:a:b:c", &holder(), Duration::from_secs(1), sharing);
            assert!(rest.starts_with(begin), "{rest}");
            let owner = OwnerToken::random();
            let record = format!("{{\"owner\":\"{owner}\",\"fencingToken\":1{rest}");
            assert_eq!(decode(record.as_bytes()).unwrap().sharing, sharing);
        }
    }

    #[test]
    fn foreign_and_broken_records_are_not_ours() {
        for json in [
            "",
            "OK",
            "{}",
            "{\"owner\":\"x\",\"fencingToken\":1}",
            "{\"owner\":1}",
            "[1]",
        ] {
            assert!(decode(json.as_bytes()).is_none(), "{json}");
        }
    }
}
