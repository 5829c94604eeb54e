//! All locks of one server, found by `SCAN`: many short looks instead of one long one, so that nobody waits for them.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use redis::{RedisError, Value};

use super::connect::Link;
use super::script::Script;
use super::{keys, reply};
use crate::backend::{Listed, Listing};

/// How many keys one `SCAN` looks at.
const STRIDE: usize = 500;
/// How many locks are looked at side by side.
const AT_ONCE: usize = 32;
/// How many waiting tickets of a lock are looked at.
const TICKETS: usize = 50;
/// How long one look may take.
const LIMIT: Duration = Duration::from_secs(1);

/// Why a list could not be made.
pub(super) enum Failed {
    /// No answer in time.
    Silent,
    Refused(RedisError),
    /// An answer that this version doesn't know.
    Odd,
}

/// The server's own keys of these locks, of every kind, each once.
pub(super) async fn names(link: &Link, listing: &Listing) -> Result<BTreeSet<String>, Failed> {
    let pattern = format!("*{}{}*", listing.prefix, plain(&listing.pattern));
    let mut names = BTreeSet::new();
    let mut cursor = "0".to_owned();
    loop {
        let mut scan = redis::cmd("SCAN");
        scan.arg(&cursor).arg("MATCH").arg(&pattern);
        scan.arg("COUNT").arg(STRIDE);
        let value = answer(link, link.send(&scan)).await?;
        let [next, found] = reply::sequence(&value).ok_or(Failed::Odd)? else {
            return Err(Failed::Odd);
        };
        let found = reply::sequence(found).ok_or(Failed::Odd)?;
        names.extend(found.iter().filter_map(reply::text).map(str::to_owned));
        reply::text(next)
            .ok_or(Failed::Odd)?
            .clone_into(&mut cursor);
        if cursor == "0" {
            return Ok(names);
        }
    }
}

/// The locks of one server that are held or waited for, and how many can't be looked at while their slots move.
pub(super) async fn list(
    link: &Link,
    script: &Script,
    listing: &Listing,
) -> Result<(Vec<Listed>, usize), Failed> {
    let names = names(link, listing).await?;
    let records: BTreeSet<String> = names
        .iter()
        .filter_map(|name| keys::record_of(name))
        .filter(|record| listing.key_of(record).is_some())
        .map(str::to_owned)
        .collect();
    let looks = records
        .into_iter()
        .map(|record| look(link, script, listing, record));
    let seen: Vec<_> = stream::iter(looks).buffered(AT_ONCE).try_collect().await?;
    let all = seen.len();
    let here: Vec<_> = seen.into_iter().flatten().collect();
    let elsewhere = all - here.len();
    Ok((here.into_iter().flatten().collect(), elsewhere))
}

/// One lock, perhaps gone meanwhile; nothing while it is on its way to another server.
async fn look(
    link: &Link,
    script: &Script,
    listing: &Listing,
    record: String,
) -> Result<Option<Option<Listed>>, Failed> {
    let keys = keys::of(&record);
    let tickets = [TICKETS.to_string()];
    let value = match answer(link, script.call(link, false, &keys, &tickets)).await {
        Err(Failed::Refused(error)) if reply::is_elsewhere(&error) => return Ok(None),
        answer => answer?,
    };
    let key = listing.key_of(&record).unwrap_or(&record);
    reply::listed(key, &value).map(Some).ok_or(Failed::Odd)
}

/// How many keys of these locks never end, and one of them. None of ours is such.
pub(super) async fn endless(
    link: &Link,
    listing: &Listing,
) -> Result<(u64, Option<String>), Failed> {
    let names = names(link, listing).await?;
    let looks = names.into_iter().map(|name| is_endless(link, name));
    let endless: Vec<_> = stream::iter(looks).buffered(AT_ONCE).try_collect().await?;
    let mut endless = endless.into_iter().flatten();
    let first = endless.next();
    Ok((u64::from(first.is_some()) + endless.count() as u64, first))
}

/// The name, if its key never ends.
async fn is_endless(link: &Link, name: String) -> Result<Option<String>, Failed> {
    let mut command = redis::cmd("PTTL");
    command.arg(&name);
    let value = match answer(link, link.send(&command)).await {
        Err(Failed::Refused(error)) if reply::is_elsewhere(&error) => return Ok(None),
        answer => answer?,
    };
    Ok((value == Value::Int(-1)).then_some(name))
}

async fn answer(
    link: &Link,
    call: impl Future<Output = Result<Value, RedisError>>,
) -> Result<Value, Failed> {
    link.within(LIMIT, call)
        .await
        .ok_or(Failed::Silent)?
        .map_err(Failed::Refused)
}

/// A pattern of ours in the server's words, which knows more signs.
fn plain(pattern: &str) -> String {
    let mut plain = String::new();
    for c in pattern.chars() {
        if matches!(c, '[' | ']' | '\\' | '^') {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}
