//! A packet filter in a network of our own: what it drops is lost on the way, and TCP sends it again and again.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Set in a process that has a network of its own.
const INSIDE: &str = "LOCK_TEST_NETWORK";

const TABLE: &str = "inet locks";

/// Which packets to a port, and from it, are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Those of the clients.
    Requests,
    /// Those of the server.
    Replies,
    /// All.
    Both,
}

/// Starts this program anew in a network of its own, where the machine allows that; returns where it doesn't.
///
/// Needs Linux, `unshare` (util-linux), `ip` (iproute2) and `nft` (nftables), and no rights but to make a user namespace.
pub fn enter_own_network() {
    if std::env::var_os(INSIDE).is_some() {
        return;
    }
    let inside = |command: &str| {
        let mut unshare = Command::new("unshare");
        let script = format!("ip link set lo up && {command}");
        unshare.args(["--user", "--map-root-user", "--net", "sh", "-c", &script]);
        unshare
    };
    let allowed = inside("nft list ruleset")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let (true, Ok(program)) = (allowed, std::env::current_exe()) else {
        return;
    };
    let error = inside("exec \"$0\" \"$@\"")
        .arg(program)
        .args(std::env::args_os().skip(1))
        .env(INSIDE, "1")
        .exec();
    panic!("unshare worked a moment ago: {error}");
}

/// The packet filter of a network of our own.
#[derive(Debug)]
pub struct Firewall(());

impl Firewall {
    /// `None` where this process has no network of its own, see [`enter_own_network`].
    #[must_use]
    pub fn of_own_network() -> Option<Self> {
        std::env::var_os(INSIDE)?;
        nft(&format!(
            "add table {TABLE}\nadd chain {TABLE} input {{ type filter hook input priority 0; }}\n"
        ));
        Some(Self(()))
    }

    /// Drops packets to and from a port, until [`heal`](Self::heal).
    pub fn drop(&self, port: u16, lost: Lost) {
        let mut rules = String::new();
        if lost != Lost::Replies {
            rules += &format!("add rule {TABLE} input tcp dport {port} drop\n");
        }
        if lost != Lost::Requests {
            rules += &format!("add rule {TABLE} input tcp sport {port} drop\n");
        }
        nft(&rules);
    }

    /// Lets everything pass.
    pub fn heal(&self) {
        nft(&format!("flush chain {TABLE} input\n"));
    }
}

fn nft(rules: &str) {
    let mut child = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("nft worked a moment ago");
    child
        .stdin
        .take()
        .expect("it was asked for")
        .write_all(rules.as_bytes())
        .expect("nft reads its rules");
    let status = child.wait().expect("it is our child");
    assert!(status.success(), "nft refused {rules}");
}
