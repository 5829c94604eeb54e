//! What a page has seen so far: holds that came and went.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::backend::{Held, Listed, Pulse, Standing};
use crate::clock::{self, Moment};

/// The upper ends of all classes of times but the last, in milliseconds; the page has the same.
const BOUNDS: [u128; 6] = [10, 100, 1_000, 10_000, 60_000, 600_000];
/// So many losses are kept.
const LOSSES: usize = 20;

/// Holds that were there at the last look, and what became of earlier ones.
#[derive(Debug, Default)]
pub(super) struct Seen {
    present: HashMap<String, Held>,
    ended: [u64; BOUNDS.len() + 1],
    lost: VecDeque<Value>,
    told: Option<(Moment, Arc<Value>)>,
}

impl Seen {
    /// What was told, if that is not older than `age`.
    pub(super) fn fresh(&self, age: Duration) -> Option<Arc<Value>> {
        let (when, told) = self.told.as_ref()?;
        (clock::now().since(*when) < age).then(|| Arc::clone(told))
    }

    /// This is told from now on.
    pub(super) fn told(&mut self, told: Value) -> Arc<Value> {
        let told = Arc::new(told);
        self.told = Some((clock::now(), Arc::clone(&told)));
        told
    }

    /// Compares with the last look: a grant that is gone has ended. One that was overdue then ended without a renewal.
    pub(super) fn note(&mut self, listed: &[Listed]) {
        let held = listed.iter().filter_map(|lock| match &lock.standing {
            Standing::Held(held) => Some((lock.key.clone(), held.clone())),
            Standing::Free | Standing::Broken { .. } => None,
        });
        let before = std::mem::replace(&mut self.present, held.collect());
        for (key, held) in before {
            if self
                .present
                .get(&key)
                .is_some_and(|now| now.token == held.token)
            {
                continue;
            }
            let class = BOUNDS
                .iter()
                .position(|bound| held.age.as_millis() < *bound);
            if let Some(count) = self.ended.get_mut(class.unwrap_or(BOUNDS.len())) {
                *count += 1;
            }
            if let Pulse::Overdue { .. } = held.pulse() {
                let holder = held.holder.as_ref();
                let holder =
                    holder.map(|holder| format!("{} ({})", holder.host_name, holder.process_id));
                self.lost
                    .push_front(json!({ "key": key, "at": clock::wall_clock(), "holder": holder }));
                self.lost.truncate(LOSSES);
            }
        }
    }

    /// How many holds ended, by how long they were seen.
    pub(super) fn ended(&self) -> &[u64] {
        &self.ended
    }

    /// The latest holds that ended without a renewal.
    pub(super) fn lost(&self) -> &VecDeque<Value> {
        &self.lost
    }
}
