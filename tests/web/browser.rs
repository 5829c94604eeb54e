//! The page in a real browser, with real locks under load. In the long run only: it needs Chromium.

use std::path::Path;
use std::process::{Command, Stdio};

use axum::response::Html;
use axum::routing::get;
use lockruntime::LockManager;
use lockruntime::web::Dashboard;
use tests::{Child, RedisServer, timing};

use crate::dashboard::{page, serve};

/// Writes down in the page itself what it shows: the keys in their order, at every change; and uses it by keyboard alone.
const WATCH: &str = "<pre id=seen hidden></pre><script>
  const note = text => { $('seen').textContent += text + '\\n'; };
  let before = '';
  new MutationObserver(() => {
    const keys = [...$('locks').children].filter(row => row.dataset.key).map(row => row.dataset.key).join(' ');
    if (keys !== before) { before = keys; note('keys: ' + keys); }
    const shown = document.querySelector('.detail');
    if (shown && shown.textContent.includes('tests::wait')) note('queue shown, focus on ' + document.activeElement.textContent);
    const held = document.querySelector('[data-key=\"b:busy\"] button');
    if (held && !document.querySelector('.detail')) { held.focus(); held.click(); }
  }).observe($('locks'), { childList: true, subtree: true });
</script>";

/// Runs Chromium on a page, without a window, until it has been open for so long.
fn browse(address: &str, open: std::time::Duration, words: &[&str]) -> String {
    let folder = std::env::temp_dir().join(format!("lock-test-browser-{}", std::process::id()));
    let mut command = Command::new("chromium");
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=1300,900",
    ]);
    command.arg(format!("--user-data-dir={}", folder.display()));
    command.arg(format!("--timeout={}", open.as_millis()));
    command.args(words).arg(address);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = Child::start(command).expect("chromium is installed by ./tests/run --long");
    let out = child.pipes().stdout.take().unwrap();
    let dom = std::io::read_to_string(out).unwrap();
    child.wait();
    drop(std::fs::remove_dir_all(folder));
    dom
}

async fn load(locks: LockManager) {
    // seen at once, and gone after a while
    let brief = async {
        timing::pass(timing::millis(1_500)).await;
        let guard = locks.lock("a:brief").acquire().await.unwrap();
        timing::pass(timing::millis(2_500)).await;
        guard.release().await.unwrap();
    };
    // two locks; the one that is waited for from some moment on moves to the top
    let calm = locks
        .lock("a:calm")
        .run(timing::pass(timing::millis(9_000)));
    let busy = locks
        .lock("b:busy")
        .run(timing::pass(timing::millis(9_000)));
    let waits = async {
        timing::pass(timing::millis(4_000)).await;
        locks
            .lock("b:busy")
            .name_of("tests::wait")
            .run(async {})
            .await
    };
    let (_brief, calm, busy, waits) = tokio::join!(brief, calm, busy, waits);
    calm.unwrap();
    busy.unwrap();
    waits.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_locks_appear_move_and_vanish() {
    if !timing::is_long() {
        return;
    }
    let server = RedisServer::start();
    let router = Dashboard::new(server.manager()).into_router();
    let plain = serve(router.clone()).await;
    let watched = page(plain)
        .await
        .replace("const base = ", "const base = '/d/' || ")
        .replace("</html>", WATCH);
    let watching = get(move || std::future::ready(Html(watched)));
    let address = serve(
        axum::Router::new()
            .nest("/d", router)
            .route("/watched", watching),
    )
    .await;
    let load = tokio::spawn(load(server.manager()));
    let seen = format!("http://{address}/watched");
    let dom =
        tokio::task::spawn_blocking(move || browse(&seen, timing::millis(8_000), &["--dump-dom"]));
    let dom = dom.await.unwrap();
    let start = dom
        .find("<pre id=\"seen\"")
        .unwrap_or_else(|| panic!("{dom}"));
    let story = dom[start..].split("</pre>").next().unwrap();
    let at = |line: &str| {
        story
            .find(line)
            .unwrap_or_else(|| panic!("no {line} in {story}"))
    };
    assert!(at("keys: a:brief a:calm b:busy") > 0 || at("keys: a:calm b:busy a:brief") > 0);
    let moved = at("keys: b:busy a:calm");
    assert!(moved > at("keys: a:calm b:busy"), "{story}");
    assert!(at("queue shown, focus on b:busy") > moved, "{story}");
    assert!(!story[moved..].contains("a:brief"), "{story}");

    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (name, dark) in [("light", "1"), ("dark", "0")] {
        let picture = folder.join(format!("dashboard-{name}.png"));
        let words = [
            format!("--screenshot={}", picture.display()),
            format!("--blink-settings=preferredColorScheme={dark}"),
        ];
        let shown = format!("http://{plain}/");
        let shot = move || {
            browse(
                &shown,
                timing::millis(1_500),
                &words.each_ref().map(String::as_str),
            )
        };
        tokio::task::spawn_blocking(shot).await.unwrap();
        assert!(
            picture.metadata().unwrap().len() > 10_000,
            "{}",
            picture.display()
        );
    }
    timing::soon("the load ends", load).await.unwrap();
}
