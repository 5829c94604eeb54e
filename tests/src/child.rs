//! A child process that never outlives the tests.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::process::{Pid, Signal, WaitOptions, getppid, kill_process, waitpid};

/// A process that is killed and reaped on drop, and by the kernel (on Linux) if the tests themselves die.
#[derive(Debug)]
pub struct Child {
    child: std::process::Child,
    ended: Option<ExitStatus>,
}

impl Child {
    /// Starts `command`.
    pub fn start(mut command: Command) -> std::io::Result<Self> {
        let parent = rustix::process::getpid();
        let before_exec = move || {
            #[cfg(target_os = "linux")]
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // the parent may have died before the line above
            if getppid() == Some(parent) {
                Ok(())
            } else {
                Err(std::io::Error::other("the tests ended"))
            }
        };
        #[expect(
            unsafe_code,
            reason = "what runs between fork and exec makes two system calls and allocates only to fail"
        )]
        unsafe {
            command.pre_exec(before_exec);
        }
        Ok(Self {
            child: start_for_good(command)?,
            ended: None,
        })
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its pipes, to take.
    pub fn pipes(&mut self) -> &mut std::process::Child {
        &mut self.child
    }

    /// How long it was on a processor so far, all its threads (on Linux).
    ///
    /// # Panics
    /// When it is gone.
    #[must_use]
    pub fn busy(&self) -> std::time::Duration {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.id())).expect("it runs");
        let of = |thread: std::fs::DirEntry| {
            // a thread may end in between
            let text = std::fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            let nanos = text.split(' ').next()?.parse().ok()?;
            Some(std::time::Duration::from_nanos(nanos))
        };
        threads.flatten().filter_map(of).sum()
    }

    /// `kill -9`; returns when it is gone.
    pub fn kill(&mut self) {
        if self.ended.is_none() {
            self.signal(Signal::KILL);
            self.wait();
        }
    }

    /// `kill -STOP`; returns when it stands still.
    pub fn stop(&mut self) {
        self.signal(Signal::STOP);
        let (_, status) = waitpid(Some(self.pid()), WaitOptions::UNTRACED)
            .expect("it is our child")
            .expect("the call waits");
        assert!(
            status.stopped(),
            "process {} ended instead of stopping: {status:?}",
            self.id()
        );
    }

    /// `kill -TERM`, as containers are told to stop.
    pub fn terminate(&mut self) {
        self.signal(Signal::TERM);
    }

    /// `kill -CONT`.
    pub fn resume(&mut self) {
        self.signal(Signal::CONT);
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        *self
            .ended
            .get_or_insert_with(|| self.child.wait().expect("it is our child"))
    }

    /// Whether it has not ended.
    pub fn runs(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().expect("it is our child");
        }
        self.ended.is_none()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn signal(&self, signal: Signal) {
        // a child that was not yet reaped keeps its process id, so this can't hit anybody else
        assert!(self.ended.is_none(), "process {} has ended", self.id());
        kill_process(self.pid(), signal).expect("a child of ours may be signalled");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

struct Start {
    command: Command,
    reply: Sender<std::io::Result<std::process::Child>>,
}

/// Starts a process from a thread that lives as long as this process does: the kernel's death signal is sent when the
/// *thread* that started the child ends, and test threads end all the time.
fn start_for_good(command: Command) -> std::io::Result<std::process::Child> {
    static STARTER: OnceLock<Sender<Start>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (sender, receiver): (_, Receiver<Start>) = channel();
        std::thread::Builder::new()
            .name("child starter".to_owned())
            .spawn(move || {
                for Start { mut command, reply } in receiver {
                    drop(reply.send(command.spawn()));
                }
            })
            .expect("a thread can be started");
        sender
    });
    let (reply, answer) = channel();
    starter
        .send(Start { command, reply })
        .expect("the starter lives as long as the process");
    answer.recv().expect("the starter answers")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn sleeper() -> Child {
        let mut command = Command::new("sleep");
        command.arg("1000");
        Child::start(command).unwrap()
    }

    #[test]
    fn kill_reaps() {
        let mut child = sleeper();
        assert!(child.runs());
        child.kill();
        assert_eq!(child.wait().signal(), Some(9));
        assert!(!child.runs());
    }

    #[test]
    fn a_stopped_child_is_killed_all_the_same() {
        let mut child = sleeper();
        child.stop();
        assert!(child.runs());
        child.resume();
        child.stop();
        let pid = Pid::from_child(&child.child);
        drop(child);
        assert!(rustix::process::test_kill_process(pid).is_err());
    }

    #[test]
    fn it_outlives_the_thread_that_started_it() {
        let mut child = std::thread::spawn(sleeper).join().unwrap();
        // the kernel sends the death signal before the join above returns, if it sends it
        crate::timing::block(crate::timing::short_body());
        assert!(child.runs());
    }
}
