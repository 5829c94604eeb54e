//! Frees what bids may have left on one node: one worker a node, whatever there is to clean.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;

use super::background::Background;
use super::node::Node;
use super::tickets::Hold;
use crate::clock::{self, Moment};

/// The pauses between tries to reach a node that doesn't answer.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(1);
/// So many requests at the same time.
const AT_ONCE: usize = 64;

/// What is to be freed on one node.
#[derive(Debug)]
struct Job {
    hold: Hold,
    /// A grant may be executed until then: what is freed before is freed once more.
    late_until: Moment,
    /// By then its lease has ended it.
    moot: Moment,
}

#[derive(Debug, Default)]
struct Work {
    jobs: VecDeque<Job>,
    /// A worker is at it.
    is_running: bool,
}

/// The cleaner of one node.
#[derive(Debug)]
pub(super) struct Cleaner {
    node: Arc<dyn Node>,
    work: Mutex<Work>,
}

impl Cleaner {
    pub(super) fn new(node: Arc<dyn Node>) -> Self {
        Self {
            node,
            work: Mutex::default(),
        }
    }

    /// Frees this in the background. `late`: a grant may still be under way.
    pub(super) fn add(self: &Arc<Self>, hold: Hold, late: bool, background: &Background) {
        let now = clock::now();
        let late_until = if late { now + hold.bid.valid } else { now };
        let moot = late_until + hold.lease;
        let mut work = self.work();
        work.jobs.push_back(Job {
            hold,
            late_until,
            moot,
        });
        if !std::mem::replace(&mut work.is_running, true) {
            let cleaner = Arc::clone(self);
            background.add(async move { cleaner.run().await });
        }
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        // nothing that is done under this lock panics half-way
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be done now; `None` when nothing is left, and then the worker is gone.
    fn take(&self) -> Option<Vec<Job>> {
        let mut work = self.work();
        let now = clock::now();
        work.jobs.retain(|job| job.moot > now);
        if work.jobs.is_empty() {
            work.is_running = false;
            return None;
        }
        let count = work.jobs.len().min(AT_ONCE);
        Some(work.jobs.drain(..count).collect())
    }

    async fn run(&self) {
        let mut pause = FIRST_PAUSE;
        while let Some(mut jobs) = self.take() {
            // a node that is out of reach is asked for one thing at a time
            let first = jobs.pop();
            let mut left = Vec::new();
            let answered = match first {
                Some(job) => self.free(job).await,
                None => Ok(None),
            };
            match answered {
                Ok(again) => {
                    pause = FIRST_PAUSE;
                    left.extend(again);
                    let rest = join_all(jobs.into_iter().map(|job| self.free(job))).await;
                    left.extend(rest.into_iter().filter_map(|job| job.unwrap_or_else(Some)));
                }
                Err(job) => {
                    left.push(job);
                    left.extend(jobs);
                    clock::sleep(pause).await;
                    pause = (pause * 2).min(LAST_PAUSE);
                }
            }
            let waits = left.iter().all(|job| job.late_until > clock::now());
            let nothing_new = {
                let mut work = self.work();
                let nothing_new = work.jobs.is_empty();
                work.jobs.extend(left);
                nothing_new && !work.jobs.is_empty()
            };
            if waits && nothing_new {
                clock::sleep(FIRST_PAUSE).await;
            }
        }
    }

    /// One request. The job comes back when it is to be done once more; as an error when the node gave no answer.
    async fn free(&self, job: Job) -> Result<Option<Job>, Job> {
        let Hold { bid, token, .. } = &job.hold;
        let asked = clock::now();
        let timeout = bid.valid.max(FIRST_PAUSE);
        match self.node.free(bid, *token, None, timeout).await {
            Ok(_) if asked >= job.late_until => Ok(None),
            Ok(_) => Ok(Some(job)),
            Err(_) => Err(job),
        }
    }
}
