//! `release`: a lock is taken from the owner who is named, and from nobody else.

use super::render::clean;
use super::{DONE, MISUSED, NOT_SO, Outcome, Screen, Stop};
use crate::backend::Released;
use crate::manager::LockManager;
use crate::report::time;
use crate::token::OwnerToken;

/// `lockctl release`.
pub(super) async fn release(
    locks: &LockManager,
    key: &str,
    owner: &str,
    screen: &mut Screen<'_>,
) -> Outcome {
    let Some(owner) = OwnerToken::parse(owner) else {
        let says = "an owner token is 32 hexadecimal digits, as lockctl show names them";
        return Err(Stop::Failed(says.to_owned(), MISUSED));
    };
    let (held, released) = locks.evict_owner(key, owner).await?;
    let done = released != Released::NotHeld;
    if screen.json {
        let passed = matches!(released, Released::Passed | Released::Next(_));
        let value = serde_json::json!({ "key": key, "released": done, "passedOn": passed });
        writeln!(screen.out, "{value}")?;
        return Ok(if done { DONE } else { NOT_SO });
    }
    let Some(held) = held.filter(|_| done) else {
        writeln!(
            screen.complaints,
            "lockctl: changed meanwhile: {} is no longer this owner's; nothing was done",
            clean(key)
        )?;
        return Ok(NOT_SO);
    };
    let now = match released {
        Released::Passed | Released::Next(_) => "it was handed to the first in line",
        Released::Free | Released::Kept | Released::NotHeld => {
            "it is free, or the first in line enters at once"
        }
    };
    writeln!(screen.out, "released {}: {now}", clean(key))?;
    let third = held.lease.unwrap_or(held.left) / 3;
    writeln!(
        screen.out,
        "if its holder runs still: it is stopped at its next renewal, within {}, or, where its lease isn't renewed, when that ends, in {}; \
         until then two may run, and a store that compares fencing tokens refuses what is older than {}",
        time(third),
        time(held.left),
        held.token.get().saturating_add(1)
    )?;
    Ok(DONE)
}
