//! Other processes that take locks: what is said to them, and what they report. The program is `bin/holder.rs`.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::register::Register;
use crate::{Child, RedisServer, timing};

/// How a process is set up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// The lock manager's URL, perhaps through a proxy.
    pub url: String,
    /// The register's URL.
    pub register: String,
    /// The manager's lease.
    pub lease: Duration,
    /// The manager's heartbeat.
    pub heartbeat: Duration,
    /// The manager's grace.
    pub grace: Duration,
}

impl Setup {
    /// The tests' usual timings.
    #[must_use]
    pub fn new(server: &RedisServer, register: &Register) -> Self {
        Self {
            url: server.url(),
            register: register.url(),
            lease: timing::lease(),
            heartbeat: timing::heartbeat(),
            grace: timing::grace(),
        }
    }

    /// With the timings of a manager that sets none.
    #[must_use]
    pub fn with_defaults(mut self) -> Self {
        (self.lease, self.heartbeat, self.grace) = timing::DEFAULTS;
        self
    }

    /// With another lease.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// With another grace.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Reaches the server through a proxy.
    #[must_use]
    pub fn through(mut self, server: &RedisServer, address: &str) -> Self {
        self.url = server.url_at(address);
        self
    }
}

/// What takes the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Door {
    /// A function with the attribute, in queue mode.
    Queue,
    /// A function with the attribute, in reject mode.
    Reject,
    /// A guard.
    Guard,
    /// A call by the guard API that keeps its lock for at least so long.
    AtLeast(Duration),
    /// A function with the attribute and so many permits.
    Permits(u32),
    /// A function with the attribute and `access = "read"`.
    Read,
    /// A function with the attribute and `access = "write"`.
    Write,
    /// Nothing: the body runs unlocked.
    Unlocked,
}

/// What the body does between its first and its last note to the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// Waits.
    For(Duration),
    /// Notes that it still runs, again and again, until [`Order::Finish`].
    UntilTold,
    /// Waits for so long at one await, whose end no runtime has to notice; notes nothing meanwhile, and reports at once
    /// when it goes on.
    Quiet(Duration),
    /// Reads the balance, waits 1 to 5 ms, writes back one more.
    Payment,
}

/// One call of a locked function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Call {
    /// A name for orders and reports.
    pub name: String,
    /// The boleto; the key is `boleto:<id>`.
    pub id: String,
    /// What takes the lock.
    pub door: Door,
    /// What is done under it.
    pub body: Body,
}

/// A job that every process starts at each tick of its own clock, and one shall run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Schedule {
    /// The boleto; the key is `boleto:<id>`.
    pub id: String,
    /// The clock's distance from the machine's.
    pub ahead: Duration,
    /// The machine's time of the first tick, since 1970.
    pub first: Duration,
    /// The time between two ticks.
    pub every: Duration,
    /// How many ticks.
    pub ticks: u32,
    /// How long the lock stays taken at least.
    pub least: Duration,
}

/// What a process is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Order {
    /// Start a call.
    Call(Call),
    /// Let the body of this call end.
    Finish(String),
    /// Drop the future of this call.
    Cancel(String),
    /// So many tasks pay so many boletos each, spread over the boletos `0` to `boletos - 1`.
    Pay {
        /// How many tasks.
        tasks: u64,
        /// How many payments each of them makes, one after the other.
        payments: u64,
        /// How many boletos there are.
        boletos: u64,
        /// What takes the lock.
        door: Door,
    },
    /// Start a job again and again, by this process's own clock.
    Schedule(Schedule),
    /// Shut the manager down and end.
    Quit,
}

/// What a process reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// It takes orders.
    Ready,
    /// A body began.
    Entered {
        /// The call's name.
        name: String,
        /// The owner token of its lock.
        owner: String,
        /// The fencing token of its lock.
        token: u64,
    },
    /// A quiet body stands at its await, and has nothing left to do in this poll.
    Waits {
        /// The call's name.
        name: String,
    },
    /// A quiet body went on after its await.
    WentOn {
        /// The call's name.
        name: String,
    },
    /// A call returned.
    Returned {
        /// The call's name.
        name: String,
        /// Empty, or the error: its variant's name, a colon, its text.
        error: String,
    },
    /// The last tick of a schedule is over.
    Ticked {
        /// The ticks at which this process's job ran.
        ran: Vec<u32>,
    },
    /// All payments are made.
    Paid {
        /// The errors among them.
        errors: Vec<String>,
    },
}

/// A process that takes locks when told to. Killed on drop.
#[derive(Debug)]
pub struct Holder {
    child: Child,
    orders: ChildStdin,
    reports: Receiver<Report>,
    /// Reports that came while another was waited for.
    unread: Vec<Report>,
}

impl Holder {
    /// Starts the program at `program` (`env!("CARGO_BIN_EXE_holder")`) and waits until it takes orders.
    #[must_use]
    pub fn start(program: &str, setup: &Setup) -> Self {
        let mut command = Command::new(program);
        command.arg(serde_json::to_string(setup).expect("plain data"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Child::start(command).unwrap_or_else(|error| panic!("{program}: {error}"));
        let orders = child.pipes().stdin.take().expect("it is piped");
        let lines = BufReader::new(child.pipes().stdout.take().expect("it is piped")).lines();
        let (sender, reports) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let report =
                    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
                if sender.send(report).is_err() {
                    return;
                }
            }
        });
        let mut holder = Self {
            child,
            orders,
            reports,
            unread: Vec::new(),
        };
        holder.wait_for("it takes orders", |report| {
            (*report == Report::Ready).then_some(())
        });
        holder
    }

    /// Gives an order.
    pub fn tell(&mut self, order: &Order) {
        let line = serde_json::to_string(order).expect("plain data");
        writeln!(self.orders, "{line}").expect("the process reads its orders");
    }

    /// Starts a call.
    pub fn call(&mut self, name: &str, id: &str, door: Door, body: Body) {
        self.tell(&Order::Call(Call {
            name: name.to_owned(),
            id: id.to_owned(),
            door,
            body,
        }));
    }

    /// Lets a body end.
    pub fn finish(&mut self, name: &str) {
        self.tell(&Order::Finish(name.to_owned()));
    }

    /// Waits until the body of a call began; owner token and fencing token.
    pub fn entered(&mut self, call: &str) -> (String, u64) {
        self.wait_for(&format!("{call} enters"), |report| {
            let Report::Entered { name, owner, token } = report else {
                return None;
            };
            (name == call).then(|| (owner.clone(), *token))
        })
    }

    /// Waits until the body of a call, a [`Body::Quiet`], has nothing left to do before its await ends.
    pub fn waits(&mut self, call: &str) {
        self.wait_for(&format!("{call} waits"), |report| {
            let Report::Waits { name } = report else {
                return None;
            };
            (name == call).then_some(())
        });
    }

    /// Waits until a call returned; its error, empty where it had none.
    pub fn returned(&mut self, call: &str) -> String {
        self.wait_for(&format!("{call} returns"), |report| {
            let Report::Returned { name, error } = report else {
                return None;
            };
            (name == call).then(|| error.clone())
        })
    }

    /// Waits until all payments are made; the errors among them.
    pub fn paid(&mut self) -> Vec<String> {
        self.wait_for("all is paid", |report| {
            let Report::Paid { errors } = report else {
                return None;
            };
            Some(errors.clone())
        })
    }

    /// Waits until a schedule is over; the ticks at which the job ran here.
    pub fn ticked(&mut self) -> Vec<u32> {
        self.wait_for("the last tick is over", |report| {
            let Report::Ticked { ran } = report else {
                return None;
            };
            Some(ran.clone())
        })
    }

    /// Whether the body of a call has begun, as far as reported.
    pub fn has_entered(&mut self, call: &str) -> bool {
        self.unread.extend(self.reports.try_iter());
        self.unread
            .iter()
            .any(|report| matches!(report, Report::Entered { name, .. } if name == call))
    }

    /// Whether a quiet body went on, as far as reported.
    pub fn went_on(&mut self, call: &str) -> bool {
        self.unread.extend(self.reports.try_iter());
        self.unread
            .iter()
            .any(|report| matches!(report, Report::WentOn { name } if name == call))
    }

    /// The process itself.
    pub fn process(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Tells it to end, and waits until it has.
    pub fn quit(mut self) {
        self.tell(&Order::Quit);
        let status = self.child.wait();
        assert!(status.success(), "the holder ended with {status}");
    }

    fn wait_for<T>(&mut self, what: &str, mut pick: impl FnMut(&Report) -> Option<T>) -> T {
        for (index, report) in self.unread.iter().enumerate() {
            if let Some(picked) = pick(report) {
                self.unread.remove(index);
                return picked;
            }
        }
        loop {
            match self.reports.recv_timeout(timing::patience()) {
                Ok(report) => match pick(&report) {
                    Some(picked) => return picked,
                    None => self.unread.push(report),
                },
                Err(RecvTimeoutError::Timeout) => panic!(
                    "not within {:?}: {what}; reported: {:?}",
                    timing::patience(),
                    self.unread
                ),
                Err(RecvTimeoutError::Disconnected) => panic!("the process ended before: {what}"),
            }
        }
    }
}
