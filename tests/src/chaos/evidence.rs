//! Everything that was written down in one run, as its folder has it.
//!
//! | file | line |
//! |---|---|
//! | `run.txt` | `seed 7`, and so on: what the run was, and when its parts began |
//! | `plan.txt` | for people: the faults as planned |
//! | `faults.txt` | `<from> <to> <kind> <worker or ->`: the faults as they were |
//! | `worker-<worker>.<life>.txt` | a [`journal`](super::journal) |
//! | `arrivals.txt` | `<time> <key> <ticket>`, in the order in which the server let them in |
//! | `stalls.txt` | `<from> <to>`: when the server answered slowly, though no fault was meant |
//! | `skipped.txt` | `<kind>`: a fault that was planned, and can't be made on this machine |
//! | `deaths.txt` | `<time> <process id>`: workers that were killed |
//! | `grants.txt` | `<time> <key> <process id>`: tickets that stood in a queue and got the lock |
//! | `store.txt` | the guarded store's log, see [`Register::store_log`](crate::register::Register::store_log) |
//! | `outcome.txt` | what was wrong in the end |

use std::collections::HashMap;
use std::path::Path;

use super::journal::{Entry, What, Wish};
use super::plan::Kind;
use super::topology::Topology;

/// What a run was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// What its servers are.
    pub topology: Topology,
    /// The plan's seed.
    pub seed: u64,
    /// The length, in seconds, of the part in which calls are made.
    pub seconds: u64,
    /// How many worker processes.
    pub workers: usize,
    /// Whether bodies ran under their locks; the control run takes them off.
    pub locked: bool,
    /// The waiters' heartbeat, in nanoseconds.
    pub heartbeat: u64,
    /// What a call may take on a machine that does other things as well, in nanoseconds.
    pub moment: u64,
    /// The first call.
    pub start: u64,
    /// From here on there are no faults.
    pub healed: u64,
    /// From here on no new calls.
    pub stopped: u64,
}

/// A fault that was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When it began.
    pub from: u64,
    /// When it was over.
    pub to: u64,
    /// What it was.
    pub kind: Kind,
    /// Whose; `None`: the server's.
    pub worker: Option<usize>,
}

impl Fault {
    /// Whether it was between two moments.
    #[must_use]
    pub fn touches(&self, from: u64, to: u64) -> bool {
        self.from <= to && from <= self.to
    }

    /// Whether it was a worker's matter.
    #[must_use]
    pub fn concerns(&self, worker: usize) -> bool {
        self.worker.is_none_or(|of| of == worker)
    }
}

/// A process that did not run for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Whose; `None`: the server's, or that of the process with the proxies.
    pub worker: Option<usize>,
    /// The last sign of life.
    pub from: u64,
    /// The next.
    pub to: u64,
}

impl Stall {
    /// Whether it was between two moments.
    #[must_use]
    pub fn touches(&self, from: u64, to: u64) -> bool {
        self.from <= to && from <= self.to
    }
}

/// One call of a locked function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// A name that no other call of the run has.
    pub id: String,
    /// Its process.
    pub worker: usize,
    /// What it wanted.
    pub wish: Wish,
    /// When it began to want it.
    pub want: u64,
    /// Its body, if it ran.
    pub body: Option<Body>,
    /// When and how it was over; `None` when its process died before.
    pub left: Option<(u64, String)>,
}

/// A body that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Its fencing token.
    pub token: u64,
    /// Its owner token, which is its ticket.
    pub owner: String,
    /// When its first poll began.
    pub begin: u64,
    /// When its last poll began.
    pub last_poll: u64,
    /// When its last poll was over, as far as known.
    pub last_sign: u64,
    /// It came to its end; else it was dropped or killed.
    pub ended: bool,
    /// Polls that began after the deadline: when, and how many microseconds after.
    pub late: Vec<(u64, u64)>,
}

/// What the guarded store did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// The value's key.
    pub key: String,
    /// The token that was shown.
    pub token: u64,
    /// The call that showed it.
    pub call: String,
    /// A write; else a read.
    pub write: bool,
    /// Not refused.
    pub accepted: bool,
    /// What was written, or what stood there.
    pub value: u64,
}

/// Everything of one run.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// What it was.
    pub run: Run,
    /// Its faults, by their beginning.
    pub faults: Vec<Fault>,
    /// Its stalls.
    pub stalls: Vec<Stall>,
    /// All calls, by their beginning.
    pub calls: Vec<Call>,
    /// Key and ticket in the order of arrival, and when.
    pub arrivals: Vec<(u64, String, String)>,
    /// Faults that were planned, and can't be made on this machine.
    pub skipped: Vec<Kind>,
    /// Processes that were killed, and when.
    pub deaths: Vec<(u64, u32)>,
    /// When a ticket that had queued was given the lock, of which key, and to which process it belonged.
    pub grants: Vec<(u64, String, u32)>,
    /// The store's log.
    pub store: Vec<Deed>,
    /// What was wrong in the end: keys left behind, processes that didn't end.
    pub outcome: Vec<String>,
}

impl Evidence {
    /// Reads a folder.
    ///
    /// # Errors
    /// A sentence that says which file can't be read, or which line.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let mut evidence = Self {
            run: Run::parse(&text(folder, "run.txt")?)
                .ok_or_else(|| "run.txt: not as a run writes it".to_owned())?,
            faults: lines(folder, "faults.txt", fault)?,
            stalls: lines(folder, "stalls.txt", stall)?,
            arrivals: lines(folder, "arrivals.txt", arrival)?,
            skipped: lines(folder, "skipped.txt", Kind::named)?,
            deaths: lines(folder, "deaths.txt", death)?,
            grants: lines(folder, "grants.txt", grant)?,
            store: lines(folder, "store.txt", deed)?,
            outcome: lines(folder, "outcome.txt", |line| Some(line.to_owned()))?,
            ..Self::default()
        };
        evidence.faults.sort_by_key(|fault| fault.from);
        let files =
            std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for file in files.flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            let Some(process) = name
                .strip_prefix("worker-")
                .and_then(|rest| rest.strip_suffix(".txt"))
            else {
                continue;
            };
            let worker = process
                .split('.')
                .next()
                .and_then(|worker| worker.parse().ok())
                .ok_or_else(|| format!("{name}: the name has no worker's number"))?;
            evidence.read_journal(process, worker, &text(folder, &name)?)?;
        }
        evidence.calls.sort_by_key(|call| call.want);
        Ok(evidence)
    }

    /// Adds what a process wrote.
    fn read_journal(&mut self, process: &str, worker: usize, text: &str) -> Result<(), String> {
        let mut calls: HashMap<String, Call> = HashMap::new();
        // a line that was being written when the process was killed
        let whole = text
            .rfind('\n')
            .map_or("", |end| text.get(..end).unwrap_or(""));
        for line in whole.lines() {
            let wrong = || format!("worker-{process}.txt: not a line of a journal here: {line}");
            let Entry {
                at,
                call: name,
                what,
            } = Entry::parse(line).ok_or_else(wrong)?;
            if let What::Stall { from } = what {
                self.stalls.push(Stall {
                    worker: Some(worker),
                    from,
                    to: at,
                });
                continue;
            }
            let id = format!("{process}/{name}");
            if let What::Want(wish) = what {
                let call = Call {
                    id,
                    worker,
                    wish,
                    want: at,
                    body: None,
                    left: None,
                };
                calls.insert(name, call);
                continue;
            }
            calls
                .get_mut(&name)
                .ok_or_else(wrong)?
                .note(at, what)
                .ok_or_else(wrong)?;
        }
        self.calls.extend(calls.into_values());
        Ok(())
    }
}

impl Call {
    fn note(&mut self, at: u64, what: What) -> Option<()> {
        match (what, &mut self.body) {
            (What::Begin { token, owner }, body @ None) => {
                *body = Some(Body {
                    token,
                    owner,
                    begin: at,
                    last_poll: at,
                    last_sign: at,
                    ended: false,
                    late: Vec::new(),
                });
            }
            (What::Poll { late }, Some(body)) => {
                body.last_poll = body.last_poll.max(at);
                body.last_sign = body.last_sign.max(at);
                if late > 0 {
                    body.late.push((at, late));
                }
            }
            (What::Long { .. }, Some(body)) => body.last_sign = body.last_sign.max(at),
            (What::End, Some(body)) => {
                body.last_sign = body.last_sign.max(at);
                body.ended = true;
            }
            // a body that is dropped does nothing any more
            (What::Cut, _) => {}
            (What::Left { how }, _) => self.left = Some((at, how)),
            (
                What::Want(_)
                | What::Stall { .. }
                | What::Begin { .. }
                | What::Poll { .. }
                | What::Long { .. }
                | What::End,
                _,
            ) => {
                return None;
            }
        }
        Some(())
    }

    /// It ended without an error, its own included.
    #[must_use]
    pub fn went_well(&self) -> bool {
        self.left
            .as_ref()
            .is_some_and(|(_, how)| how == "ok" || how == "early")
    }
}

impl Run {
    /// The text of `run.txt`.
    #[must_use]
    pub fn text(&self) -> String {
        let Self {
            topology,
            seed,
            seconds,
            workers,
            locked,
            heartbeat,
            moment,
            start,
            healed,
            stopped,
        } = self;
        format!(
            "topology {}\nseed {seed}\nseconds {seconds}\nworkers {workers}\nlocked {locked}\nheartbeat {heartbeat}\nmoment {moment}\n\
             start {start}\nhealed {healed}\nstopped {stopped}\n",
            topology.name()
        )
    }

    fn parse(text: &str) -> Option<Self> {
        let fields: HashMap<_, _> = text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .collect();
        let number = |name| fields.get(name)?.parse::<u64>().ok();
        Some(Self {
            topology: Topology::named(fields.get("topology")?)?,
            seed: number("seed")?,
            seconds: number("seconds")?,
            workers: usize::try_from(number("workers")?).ok()?,
            locked: *fields.get("locked")? == "true",
            heartbeat: number("heartbeat")?,
            moment: number("moment")?,
            start: number("start")?,
            healed: number("healed")?,
            stopped: number("stopped")?,
        })
    }
}

impl Fault {
    /// A line of `faults.txt`, with its end.
    #[must_use]
    pub fn line(&self) -> String {
        let worker = self
            .worker
            .map_or_else(|| "-".to_owned(), |worker| worker.to_string());
        format!("{} {} {} {worker}\n", self.from, self.to, self.kind.name())
    }
}

fn fault(line: &str) -> Option<Fault> {
    let mut words = line.split(' ');
    Some(Fault {
        from: words.next()?.parse().ok()?,
        to: words.next()?.parse().ok()?,
        kind: Kind::named(words.next()?)?,
        worker: match words.next()? {
            "-" => None,
            worker => Some(worker.parse().ok()?),
        },
    })
}

fn stall(line: &str) -> Option<Stall> {
    let (from, to) = line.split_once(' ')?;
    Some(Stall {
        worker: None,
        from: from.parse().ok()?,
        to: to.parse().ok()?,
    })
}

fn death(line: &str) -> Option<(u64, u32)> {
    let (at, process) = line.split_once(' ')?;
    Some((at.parse().ok()?, process.parse().ok()?))
}

fn grant(line: &str) -> Option<(u64, String, u32)> {
    let mut words = line.split(' ');
    let at = words.next()?.parse().ok()?;
    Some((at, words.next()?.to_owned(), words.next()?.parse().ok()?))
}

fn arrival(line: &str) -> Option<(u64, String, String)> {
    let mut words = line.split(' ');
    let at = words.next()?.parse().ok()?;
    Some((at, words.next()?.to_owned(), words.next()?.to_owned()))
}

fn deed(line: &str) -> Option<Deed> {
    let mut words = line.split(' ');
    Some(Deed {
        key: words.next()?.to_owned(),
        token: words.next()?.parse().ok()?,
        call: words.next()?.to_owned(),
        write: words.next()? == "w",
        accepted: words.next()? == "1",
        value: words.next()?.parse().ok()?,
    })
}

fn text(folder: &Path, name: &str) -> Result<String, String> {
    let path = folder.join(name);
    std::fs::read_to_string(&path).map_err(|error| {
        format!(
            "{}: {error}; a run's folder has the files run.txt, faults.txt and more",
            path.display()
        )
    })
}

fn lines<T>(
    folder: &Path,
    name: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, String> {
    text(folder, name)?
        .lines()
        .map(|line| parse(line).ok_or_else(|| format!("{name}: not a line of ours: {line}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_becomes_calls() {
        let owner = "ab".repeat(16);
        let text = format!(
            "10 c1 want chaos:1 queue 600 plain\n20 c1 begin 7 {owner}\n30 c1 poll 0\n35 c1 long 30\n40 c1 poll 5\n45 c1 end\n\
             50 c1 left ok\n60 - stall 52\n70 c2 want chaos:2 reject 700 early\n75 c2 left Busy\n80 c3 want chaos:2 queue 700 pl"
        );
        let mut evidence = Evidence::default();
        evidence.read_journal("1.0", 1, &text).unwrap();
        evidence.calls.sort_by_key(|call| call.want);
        assert_eq!(
            evidence.stalls,
            [Stall {
                worker: Some(1),
                from: 52,
                to: 60
            }]
        );
        let [first, second] = &evidence.calls[..] else {
            panic!("{:?}", evidence.calls)
        };
        let body = first.body.as_ref().unwrap();
        assert_eq!((body.begin, body.last_poll, body.last_sign), (20, 40, 45));
        assert_eq!(body.late, [(40, 5)]);
        assert!(body.ended && first.went_well() && second.body.is_none());
        let unknown = evidence.read_journal("1.1", 1, "10 c1 end\n").unwrap_err();
        assert!(unknown.contains("10 c1 end"), "{unknown}");
    }

    #[test]
    fn the_other_lines_come_back() {
        let run = Run {
            topology: Topology::Quorum,
            seed: 3,
            workers: 4,
            locked: true,
            ..Run::default()
        };
        assert_eq!(Run::parse(&run.text()), Some(run));
        let seen = Fault {
            from: 3,
            to: 9,
            kind: Kind::DataFlushed,
            worker: None,
        };
        assert_eq!(fault(seen.line().trim_end()), Some(seen));
        assert!(deed("chaos:1 7 1.0/c1 w 0 3").is_some_and(|deed| deed.write && !deed.accepted));
    }
}
