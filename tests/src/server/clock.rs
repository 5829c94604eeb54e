//! A server with a wall clock of its own, which tests may step. Linux with glibc, and the linker's C compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The files that give a process its clock.
#[derive(Debug)]
pub(super) struct Clock {
    library: PathBuf,
    skew: PathBuf,
}

impl Clock {
    pub(super) fn new(folder: &Path) -> Self {
        let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
        let skew = folder.join("skew");
        fs::write(&source, include_str!("clock.c")).expect("the server's own folder is writable");
        fs::write(&skew, "0").expect("the server's own folder is writable");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &source])
            .status();
        assert!(
            built.is_ok_and(|status| status.success()),
            "a server's own clock is built with cc, the C compiler that Rust links with: install gcc"
        );
        Self { library, skew }
    }

    pub(super) fn give_to(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", &self.library)
            .env("SKEW_FILE", &self.skew);
    }

    /// Fixed width, so that a reader never sees half of it.
    pub(super) fn set_ahead(&self, ahead: Duration) {
        let ahead = format!("{:019}", ahead.as_millis());
        fs::write(&self.skew, ahead).expect("the server's own folder is writable");
    }
}
