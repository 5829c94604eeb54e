//! A temporary folder, removed on drop.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A temporary folder, removed on drop.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A new, empty one.
    #[must_use]
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("lock-test-{name}-{}-{count}", std::process::id()));
        // a process of the same id may have been killed before it cleaned up
        drop(std::fs::remove_dir_all(&path));
        std::fs::create_dir_all(&path).unwrap_or_else(|error| {
            panic!(
                "{} can't be made: {error}; set TMPDIR to a writable folder",
                path.display()
            )
        });
        Self(path)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
