//! The rights that the documentation says are enough.

/// The ACL rule of `docs/rights.md` after the user's name and password, for locks of this application, word by word.
///
/// # Panics
/// When the page has no such line.
#[must_use]
pub fn documented_rights(app: &str, environment: &str) -> Vec<String> {
    let page = include_str!("../../../lockruntime/src/docs/rights.md");
    let line = page
        .lines()
        .find_map(|line| line.strip_prefix("ACL SETUSER locks on >password "))
        .expect("the page has the line for the user `locks`");
    line.replace("app:prod", &format!("{app}:{environment}"))
        .split(' ')
        .map(str::to_owned)
        .collect()
}
