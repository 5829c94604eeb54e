//! Transfers between two accounts, both locked: all or none, in an order that can't deadlock.
//!
//! ```text
//! cargo run -p examples --example transfer
//! LOCK_URL=redis://127.0.0.1:6379 cargo run -p examples --example transfer
//! ```
//!
//! Anna sends to Bruno while Bruno sends to Anna. Each transfer needs both accounts; whoever named theirs in the other order
//! would wait for the other for ever if each took the first one first.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use lockruntime::{FencingToken, LockError, LockManager};

/// What a store does: it reads, works, writes, and refuses a writer whose token is older than the last one it saw.
#[derive(Default)]
struct Bank {
    accounts: Mutex<HashMap<&'static str, Account>>,
}

#[derive(Clone, Copy, Default)]
struct Account {
    balance: i64,
    token: i64,
}

#[derive(Debug)]
enum TransferError {
    Lock(LockError),
    TooLittle { account: &'static str, balance: i64 },
    LateWriter(&'static str),
}

impl From<LockError> for TransferError {
    fn from(error: LockError) -> Self {
        Self::Lock(error)
    }
}

impl std::fmt::Display for TransferError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lock(error) => error.fmt(f),
            Self::TooLittle { account, balance } => write!(f, "{account} has only {balance}"),
            Self::LateWriter(account) => write!(f, "{account} was written by a later holder"),
        }
    }
}

impl std::error::Error for TransferError {}

impl Bank {
    fn read(&self, name: &'static str) -> Account {
        let accounts = self.accounts.lock().expect("nobody panics under it");
        accounts.get(name).copied().unwrap_or_default()
    }

    fn write(
        &self,
        name: &'static str,
        balance: i64,
        token: FencingToken,
    ) -> Result<(), TransferError> {
        let mut accounts = self.accounts.lock().expect("nobody panics under it");
        let account = accounts.entry(name).or_default();
        if account.token > token.as_i64() {
            return Err(TransferError::LateWriter(name));
        }
        let token = token.as_i64();
        *account = Account { balance, token };
        Ok(())
    }
}

async fn transfer(
    locks: &LockManager,
    bank: &Bank,
    [from, to]: [&'static str; 2],
    amount: i64,
) -> Result<(), TransferError> {
    let keys = [from, to].map(|name| format!("account:{name}"));
    let body = async {
        let hold = lockruntime::current().expect("the body has both locks");
        // one token each, in the order in which the keys were given
        let tokens: Vec<_> = hold.each().map(|part| part.fencing_token()).collect();
        let (payer, payee) = (bank.read(from), bank.read(to));
        if payer.balance < amount {
            let balance = payer.balance;
            return Err(TransferError::TooLittle {
                account: from,
                balance,
            });
        }
        // without the locks another transfer would read here, too
        tokio::time::sleep(Duration::from_millis(2)).await;
        for (name, balance, token) in [
            (from, payer.balance - amount, tokens.first()),
            (to, payee.balance + amount, tokens.get(1)),
        ] {
            bank.write(name, balance, *token.expect("a token for each key"))?;
        }
        Ok(())
    };
    let both = locks.lock_all(keys.iter().map(String::as_str));
    both.wait(Duration::from_secs(10)).run(body).await?
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "the program says why it ends")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "the program shows what happens")]
async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let locks = if std::env::var_os("LOCK_URL").is_some() {
        LockManager::from_env()?
    } else {
        LockManager::memory()
    };
    let bank = Bank::default();
    let opening = locks.lock("account:anna").run(async {
        let hold = lockruntime::current().expect("the body has the lock");
        bank.write("anna", 100, hold.fencing_token())
    });
    opening.await??;

    let there = async {
        for _ in 0..20 {
            transfer(&locks, &bank, ["anna", "bruno"], 5).await?;
        }
        Ok::<_, TransferError>(())
    };
    let back = async {
        for _ in 0..20 {
            match transfer(&locks, &bank, ["bruno", "anna"], 3).await {
                // he may not have it yet
                Err(TransferError::TooLittle { account, balance }) => {
                    println!("refused: {account} has only {balance}");
                }
                outcome => outcome?,
            }
        }
        Ok(())
    };
    tokio::try_join!(there, back)?;

    let (anna, bruno) = (bank.read("anna").balance, bank.read("bruno").balance);
    println!("anna {anna}, bruno {bruno}, together {}", anna + bruno);
    locks.shutdown(Duration::from_secs(5)).await;
    if anna + bruno == 100 {
        Ok(())
    } else {
        Err("money was lost or made".into())
    }
}
