//! What may stand on the command line.

use std::time::Duration;

use clap::{Args, Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  lockctl --url redis://host:6379 ls               who holds what
  lockctl ls 'boleto:*'                            only these (LOCK_URL says where)
  lockctl show boleto:42                           who holds it, since when, who waits, and why
  lockctl release boleto:42 --owner 5f0c…          take it from a holder that is dead or stuck
  lockctl doctor                                   is this server fit for locks
  lockctl ls --json | jq '.locks[] | select(.waiting > 0)'

Exit codes:
  0  done
  1  the storage could not be asked (ls: not all of it, and what answered is listed; watch: at no look), or nothing could be written
  2  the command line can't be used
  3  show: nobody has the lock and nobody waits; release: not this owner's any more, nothing was done
  4  doctor: something needs a look

All times come from the storage's clock, and all dates are in UTC. Colours end with NO_COLOR=1.";

#[derive(Debug, Parser)]
#[command(
    name = "lockctl",
    version,
    about = "Distributed locks: who holds them, who waits for them, and why",
    after_help = EXAMPLES,
    max_term_width = 100
)]
pub(super) struct Line {
    #[command(flatten)]
    pub(super) place: Place,
    /// For scripts: one JSON document instead of a table
    #[arg(long, global = true)]
    pub(super) json: bool,
    #[command(subcommand)]
    pub(super) verb: Verb,
}

/// Where the locks are.
#[derive(Args, Debug)]
pub(super) struct Place {
    /// Where the locks are: redis://user:password@host:6379/0, rediss://…,
    /// redis+sentinel://host,host/master, redis+cluster://host,host, redlock://host,host,host
    #[arg(long, env = "LOCK_URL", hide_env_values = true, global = true)]
    pub(super) url: Option<String>,
    /// The system whose locks they are; else the URL's ?app=, else LOCK_APP, else `app`
    #[arg(long, global = true)]
    pub(super) app: Option<String>,
    /// Its environment; else the URL's ?env=, else LOCK_ENV, else `prod`
    #[arg(long, global = true)]
    pub(super) env: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// The locks that somebody holds or waits for
    Ls {
        /// Which keys: `*` is any text, `?` one character
        #[arg(default_value = "*")]
        pattern: String,
    },
    /// One lock: who holds it, since when, who waits, and why the first in line isn't running
    #[command(after_help = "Exit code 3: nobody has the lock and nobody waits.")]
    Show {
        /// The key, without app and environment: boleto:42
        key: String,
    },
    /// As ls, again and again, until Ctrl-C
    Watch {
        /// Which keys: `*` is any text, `?` one character
        #[arg(default_value = "*")]
        pattern: String,
        /// How often: 500ms, 2s
        #[arg(long, default_value = "1s", value_parser = duration)]
        every: Duration,
        /// End after so many looks
        #[arg(long)]
        times: Option<u64>,
    },
    /// Take a lock from the owner that `show` names, and only from it; the next in line enters
    #[command(after_help = "\
The owner is compared in the same step, so a lock that has changed hands meanwhile is never touched: exit code 3.
A holder that lives is not asked. It is stopped at its next renewal, up to a third of its lease later, or, where its
lease isn't renewed, when that ends; until then two bodies may run, and only a store that compares fencing tokens refuses the late one. Of a holder that is dead the lock
ends by itself with its lease.

Example:
  lockctl show boleto:42
  lockctl release boleto:42 --owner 5f0c3f9a2c7e4f0fa0d1b1c6f3a2d4e5")]
    Release {
        /// The key, without app and environment: boleto:42
        key: String,
        /// The owner token that `show` and `ls` name
        #[arg(long)]
        owner: String,
    },
    /// Whether the storage is fit for locks: version, memory, persistence, replicas, clock, rights, expiry, round trip
    #[command(after_help = "Exit code 4: something needs a look.")]
    Doctor,
    /// How fast locks are on this storage; takes locks of its own, under lockctl-bench:…
    Bench {
        /// How many locks to take and give back
        #[arg(long, default_value_t = 500)]
        count: u32,
    },
    /// A page in the browser that shows it all live (feature `dashboard`)
    Serve(Page),
    /// Completions for a shell: bash, zsh, fish, …
    #[command(after_help = "Example: lockctl completions bash > /etc/bash_completion.d/lockctl")]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

/// How the page is served.
#[derive(Args, Debug)]
pub(super) struct Page {
    /// Where to listen; only this machine by default
    #[arg(long, default_value = "127.0.0.1:7437")]
    pub(super) listen: std::net::SocketAddr,
    /// A name that the page is reached by, beside IP addresses and localhost; may be given several times
    #[arg(long)]
    pub(super) host: Vec<String>,
    /// Let the page release locks, as `lockctl release` does. Whoever reaches the page may
    #[arg(long)]
    pub(super) allow_release: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    let every = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if every < Duration::from_millis(50) {
        return Err("50ms at least".to_owned());
    }
    Ok(every)
}
