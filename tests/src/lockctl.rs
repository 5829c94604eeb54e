//! The program for operators, run within this process.

use std::ffi::OsString;

use lockruntime::cli::{Screen, run};

/// What it wrote, and how it ended.
#[derive(Clone, Debug)]
pub struct Said {
    /// The exit code.
    pub code: u8,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub complaints: String,
}

impl Said {
    /// Standard output as JSON.
    ///
    /// # Panics
    /// When it isn't.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Runs `lockctl --url URL …` to its end, on a thread of its own: it has its own runtime.
///
/// # Panics
/// When it does.
#[must_use]
pub fn lockctl(url: &str, words: &[&str]) -> Said {
    let line: Vec<OsString> = ["lockctl", "--url", url]
        .iter()
        .chain(words)
        .map(Into::into)
        .collect();
    let program = std::thread::spawn(move || {
        let (mut out, mut complaints) = (Vec::new(), Vec::new());
        let code = run(line, Screen::new(&mut out, &mut complaints));
        let text = |bytes| String::from_utf8(bytes).expect("it writes text");
        Said {
            code,
            out: text(out),
            complaints: text(complaints),
        }
    });
    program.join().expect("lockctl doesn't panic")
}
