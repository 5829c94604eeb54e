//! Events through the `metrics` crate: names and units as `docs/operating.md` lists them. Labels are the template and a few constant
//! words, never a filled key.

use ::metrics::{counter, gauge, histogram};

use super::{Event, Subject};
use crate::error::LossReason;
use crate::options::Mode;

macro_rules! count {
    ($name:literal, $lock:expr $(, $label:literal => $value:expr)*) => {
        counter!($name, "template" => $lock.template $(, $label => $value)*).increment(1)
    };
}

pub(super) fn event(event: &Event<'_>) {
    match *event {
        Event::Acquired { lock, waited, .. } => {
            histogram!("lockruntime_wait_seconds", "template" => lock.template, "mode" => mode(lock))
                .record(waited);
        }
        Event::Busy { lock, .. } => refused(lock, "busy"),
        Event::WaitTimedOut { lock, .. } => refused(lock, "wait_timed_out"),
        Event::Failed { lock, .. } => refused(lock, "failed"),
        Event::Waiting {
            lock,
            rank,
            joined: true,
        } => {
            #[expect(
                clippy::cast_precision_loss,
                reason = "a queue has fewer than 2^52 callers"
            )]
            histogram!("lockruntime_queue_rank", "template" => lock.template).record(rank as f64);
        }
        Event::Waiting { .. } => {}
        Event::Withdrawn { lock } => count!("lockruntime_withdrawn_total", lock),
        Event::Renewed { lock } => count!("lockruntime_renewals_total", lock, "result" => "ok"),
        Event::RenewalFailed { lock, .. } => {
            count!("lockruntime_renewals_total", lock, "result" => "failed");
        }
        Event::Released {
            lock,
            held,
            dropped,
        } => {
            let how = if dropped { "dropped" } else { "awaited" };
            histogram!("lockruntime_hold_seconds", "template" => lock.template, "end" => how)
                .record(held);
        }
        Event::ReleaseFailed { lock, .. } => count!("lockruntime_release_failures_total", lock),
        Event::NotOurs { lock } => count!("lockruntime_lost_total", lock, "reason" => "not_ours"),
        Event::Lost { lock, reason, .. } => {
            count!("lockruntime_lost_total", lock, "reason" => cause(reason));
        }
        Event::CapReached { lock, .. } => count!("lockruntime_cap_reached_total", lock),
        Event::StuckHold { lock, .. } => stuck(lock, "hold"),
        Event::StuckWait { lock, .. } => stuck(lock, "wait"),
        Event::LongQueue { lock, .. } => stuck(lock, "queue"),
        Event::Backend { address, up } => is_up(address, up),
        Event::Node { address, failure } => is_up(address, failure.is_none()),
        Event::Found { .. } => {}
    }
}

fn refused(lock: Subject<'_>, reason: &'static str) {
    count!("lockruntime_refused_total", lock, "mode" => mode(lock), "reason" => reason);
}

fn stuck(lock: Subject<'_>, what: &'static str) {
    count!("lockruntime_stuck_total", lock, "what" => what);
}

fn is_up(address: &str, up: bool) {
    gauge!("lockruntime_backend_up", "address" => address.to_owned()).set(f64::from(u8::from(up)));
}

fn mode(lock: Subject<'_>) -> &'static str {
    match lock.mode {
        Mode::Queue => "queue",
        Mode::Reject => "reject",
        Mode::Skip => "skip",
    }
}

fn cause(reason: LossReason) -> &'static str {
    match reason {
        LossReason::LeaseOver => "lease_over",
        LossReason::Taken => "taken",
        LossReason::ShutDown => "shut_down",
        LossReason::KeeperEnded => "keeper_ended",
        LossReason::CapReached => "cap_reached",
        LossReason::GivenBack => "given_back",
    }
}
