//! Real `redis-server` processes, each with its own port and folder.

mod clock;
mod folder;
mod monitor;
mod port;
mod raw;
mod rights;
mod settings;
mod tls;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lockruntime::{LockManager, LockManagerBuilder};

use clock::Clock;
pub use folder::Folder;
pub use monitor::{Mark, Monitor, Seen, follow};
pub use port::Port;
pub use raw::Raw;
pub use rights::documented_rights;
use settings::Duty;
pub use settings::{ClientCertificate, Settings};
pub use tls::Certificates;

use crate::wire::{APP, ENVIRONMENT};
use crate::{Child, logs, timing};

/// A server of its own for one test. Killed, and its folder removed, on drop; its log is shown when the test fails.
#[derive(Debug)]
pub struct RedisServer {
    port: Port,
    folder: Folder,
    clock: Option<Clock>,
    tls: Option<(Port, Arc<Certificates>)>,
    process: Option<Child>,
    settings: Settings,
}

impl RedisServer {
    /// A server without persistence, password or rights.
    #[must_use]
    pub fn start() -> Self {
        Self::with(Settings::default())
    }

    /// A server with these settings.
    ///
    /// # Panics
    /// When there is no `redis-server`, with a sentence that says what to install.
    #[must_use]
    pub fn with(settings: Settings) -> Self {
        let folder = Folder::new("redis");
        let clock = settings.own_clock.then(|| Clock::new(folder.path()));
        let claim = match settings.duty {
            Duty::Cluster => Port::claim_with_bus,
            Duty::Data | Duty::Sentinel => Port::claim,
        };
        let tls = settings.tls.map(|_| {
            let shared = settings.certificates.clone();
            let own = || Arc::new(Certificates::new(folder.path()));
            (claim(), shared.unwrap_or_else(own))
        });
        let mut server = Self {
            port: claim(),
            folder,
            clock,
            tls,
            process: None,
            settings,
        };
        server.run();
        server
    }

    /// Steps the server's wall clock to so much ahead of the machine's.
    ///
    /// # Panics
    /// When the server has no clock of its own, see [`Settings::own_clock`].
    pub fn set_clock_ahead(&self, ahead: Duration) {
        self.clock
            .as_ref()
            .expect("the server was started with Settings::own_clock")
            .set_ahead(ahead);
    }

    /// `127.0.0.1:port`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port.number())
    }

    /// Its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Its port for other servers: that for TLS, where they share certificates.
    #[must_use]
    pub fn port_among(&self) -> u16 {
        match &self.tls {
            Some((port, _)) if self.settings.certificates.is_some() => port.number(),
            _ => self.port(),
        }
    }

    /// Whether its process runs, be it stopped.
    pub fn runs(&mut self) -> bool {
        self.process.as_mut().is_some_and(Child::runs)
    }

    /// `127.0.0.1:port` for TLS, and the files of the certificates.
    ///
    /// # Panics
    /// When the server has no TLS, see [`Settings::tls`].
    #[must_use]
    pub fn tls(&self) -> (String, &Certificates) {
        let (port, certificates) = self
            .tls
            .as_ref()
            .expect("the server was started with Settings::tls");
        (format!("127.0.0.1:{}", port.number()), certificates)
    }

    /// The path of its socket.
    #[must_use]
    pub fn socket(&self) -> String {
        self.folder.path().join("socket").display().to_string()
    }

    /// The URL for a lock manager of this server.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(&self.address())
    }

    /// The same URL with another address, that of a proxy in front of this server.
    #[must_use]
    pub fn url_at(&self, address: &str) -> String {
        lock_url(&self.settings.credentials(), address)
    }

    /// A builder of lock managers with the tests' timings.
    pub fn manager_builder(&self) -> LockManagerBuilder {
        manager_builder(&self.url())
    }

    /// A lock manager with the tests' timings.
    #[must_use]
    pub fn manager(&self) -> LockManager {
        self.manager_builder()
            .build()
            .expect("the kit's URL is valid")
    }

    /// A lock manager that reaches this server through a proxy.
    #[must_use]
    pub fn manager_at(&self, address: &str) -> LockManager {
        manager_builder(&self.url_at(address))
            .build()
            .expect("the kit's URL is valid")
    }

    /// A connection for direct commands.
    #[must_use]
    pub fn raw(&self) -> Raw {
        Raw::connect(&format!(
            "redis://{}{}",
            self.settings.credentials(),
            self.address()
        ))
    }

    /// Listens to every command that the server executes.
    #[must_use]
    pub fn monitor(&self) -> Monitor {
        Monitor::start(&self.address(), self.settings.secret(), self.raw())
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.process().kill();
        self.process = None;
    }

    /// `kill -STOP`: connections stay, nothing is answered.
    pub fn pause(&mut self) {
        self.process().stop();
    }

    /// `kill -CONT`.
    pub fn resume(&mut self) {
        self.process().resume();
    }

    /// Starts a killed server on the same port, with the data it has on disk: none without append-only file.
    pub fn restart(&mut self) {
        assert!(
            self.process.is_none(),
            "kill the server before restarting it"
        );
        self.run();
    }

    /// Starts a killed server on the same port, and returns while it loads what is on its disk and refuses to answer.
    ///
    /// # Panics
    /// When it is ready already: it has too little to load, see `key-load-delay`.
    pub fn restart_loading(&mut self) {
        assert!(
            self.process.is_none(),
            "kill the server before restarting it"
        );
        self.spawn();
        timing::block_until("it loads its data", timing::patience(), || {
            let answer = answer(&self.address());
            assert!(answer != *b"+PONG", "it has loaded its data already");
            answer == *b"-LOAD"
        });
    }

    /// Removes what a killed server has on disk: it restarts with nothing.
    pub fn forget(&mut self) {
        assert!(
            self.process.is_none(),
            "kill the server before removing its data"
        );
        let data = self.folder.path().join("appendonlydir");
        if data.exists() {
            std::fs::remove_dir_all(&data).expect("the server's own folder is writable");
        }
    }

    fn process(&mut self) -> &mut Child {
        self.process
            .as_mut()
            .expect("the server was killed; restart it first")
    }

    fn run(&mut self) {
        self.spawn();
        self.wait_for_answer();
    }

    fn spawn(&mut self) {
        let configuration = self.folder.path().join("redis.conf");
        let mut lines = self.settings.lines(self.port.number(), self.folder.path());
        if let Some((port, certificates)) = &self.tls {
            let asks = self.settings.tls == Some(ClientCertificate::Required);
            lines += &certificates.lines(port.number(), asks);
        }
        let is_sentinel = self.settings.duty == Duty::Sentinel;
        // a sentinel writes into its file what it has learnt
        if !(is_sentinel && configuration.exists()) {
            std::fs::write(&configuration, lines).expect("the server's own folder is writable");
        }
        let mut command = Command::new("redis-server");
        command
            .arg(&configuration)
            .args(is_sentinel.then_some("--sentinel"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some(clock) = &self.clock {
            clock.give_to(&mut command);
        }
        let process = Child::start(command).unwrap_or_else(|error| panic!("{}", missing(&error)));
        self.process = Some(process);
    }

    fn wait_for_answer(&mut self) {
        let start = Instant::now();
        while !answers(&self.address()) {
            assert!(
                self.process().runs(),
                "redis-server ended at once:\n{}",
                self.log()
            );
            assert!(
                start.elapsed() < timing::patience(),
                "redis-server doesn't answer:\n{}",
                self.log()
            );
            timing::block(Duration::from_millis(2));
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for RedisServer {
    #[expect(clippy::print_stderr, reason = "what a failing test shows")]
    fn drop(&mut self) {
        self.process = None;
        if std::thread::panicking() {
            eprintln!(
                "log of the redis-server on {}:\n{}",
                self.address(),
                self.log()
            );
        }
    }
}

/// The URL of a lock manager over `redis://`; `credentials` ends with `@` or is empty.
#[must_use]
pub fn lock_url(credentials: &str, address: &str) -> String {
    format!("redis://{credentials}{address}?app={APP}&env={ENVIRONMENT}")
}

/// A builder of lock managers with the tests' timings.
pub fn manager_builder(url: &str) -> LockManagerBuilder {
    logs::listen();
    LockManager::builder()
        .url(url)
        .lease(timing::lease())
        .heartbeat(timing::heartbeat())
        .grace(timing::grace())
}

fn missing(error: &std::io::Error) -> String {
    format!(
        "the tests need the program redis-server (6.2 or later), which could not be started: {error}. \
         Run ./tests/run, which installs it where apt-get is at hand, or install it yourself: \
         apt-get install redis-server (Debian, Ubuntu), dnf install redis (Fedora), apk add redis (Alpine), \
         brew install redis (macOS)"
    )
}

/// Whether a server answers a `PING`; that it wants a password is an answer, that it loads its data is none.
fn answers(address: &str) -> bool {
    matches!(&answer(address), b"+PONG" | b"-NOAU")
}

/// The first bytes of a server's answer to a `PING`; zeros where there is none.
fn answer(address: &str) -> [u8; 5] {
    let ping = || -> std::io::Result<[u8; 5]> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(timing::moment()))?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    };
    ping().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_starts_with_nothing_and_takes_commands() {
        let server = RedisServer::start();
        let raw = server.raw();
        assert_eq!(raw.keys("*"), Vec::<String>::new());
        raw.run::<()>(&["SET", "a", "1"]);
        assert_eq!(raw.run::<String>(&["GET", "a"]), "1");
        assert_eq!(raw.calls("get"), 1);
        assert_eq!(raw.calls("getdel"), 0);
    }

    #[test]
    fn a_restart_keeps_the_port_and_only_what_is_on_disk() {
        for (settings, kept) in [
            (Settings::default(), None),
            (Settings::default().append_only(), Some("1".to_owned())),
        ] {
            let mut server = RedisServer::with(settings);
            let address = server.address();
            server.raw().run::<()>(&["SET", "a", "1"]);
            server.kill();
            assert!(!answers(&address));
            server.restart();
            assert_eq!(server.address(), address);
            assert_eq!(server.raw().run::<Option<String>>(&["GET", "a"]), kept);
        }
    }

    #[test]
    fn a_paused_server_answers_when_resumed() {
        let mut server = RedisServer::start();
        server.pause();
        assert!(!answers(&server.address()));
        server.resume();
        assert_eq!(server.raw().run::<String>(&["PING"]), "PONG");
    }

    #[test]
    fn passwords_and_rights() {
        let settings = Settings::default()
            .password("secret")
            .line("user reader on >word ~* +get");
        let server = RedisServer::with(settings);
        server.raw().run::<()>(&["SET", "a", "1"]);
        let reader = Raw::connect(&format!("redis://reader:word@{}", server.address()));
        assert_eq!(reader.run::<String>(&["GET", "a"]), "1");
        let refused = reader.attempt::<()>(&["SET", "a", "2"]).unwrap_err();
        assert_eq!(refused.code(), Some("NOPERM"));
    }

    #[test]
    fn its_process_and_folder_are_gone_after_a_panic() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let test = std::thread::spawn(move || {
            let server = RedisServer::start();
            sender
                .send((server.address(), server.folder.path().to_owned()))
                .unwrap();
            panic!("this panic belongs to the test");
        });
        assert!(test.join().is_err());
        let (address, folder) = receiver.recv().unwrap();
        assert!(!answers(&address));
        assert!(!folder.exists());
    }

    #[test]
    fn a_missing_program_is_named_with_the_fix() {
        let error = std::io::Error::from(std::io::ErrorKind::NotFound);
        assert!(missing(&error).contains("apt-get install redis-server"));
    }
}
