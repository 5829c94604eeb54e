//! The page in a real browser, with real locks under load. In the long run only: it needs Chromium.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics has failed, as it should"
)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use axum::response::Html;
use axum::routing::get;
use lockruntime::LockManager;
use lockruntime::web::Dashboard;
use tests::{Child, RedisServer, timing};
use tokio::sync::Notify;

use crate::dashboard::{page, serve};

/// Writes down in the page itself what it shows: the keys in their order, at every change; and uses it by keyboard alone.
const WATCH: &str = "<img src=/slow alt=''><pre id=seen hidden></pre><script>
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

/// Runs Chromium on a page, without a window, until all of it is loaded.
fn browse(address: &str, words: &[&str]) -> String {
    let folder = std::env::temp_dir().join(format!("lock-test-browser-{}", std::process::id()));
    let mut command = Command::new("chromium");
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=1300,900",
    ]);
    command.arg(format!("--user-data-dir={}", folder.display()));
    command.args(words).arg(address);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = Child::start(command).expect("chromium is installed by ./tests/run --long");
    let out = child.pipes().stdout.take().unwrap();
    let dom = std::io::read_to_string(out).unwrap();
    child.wait();
    drop(std::fs::remove_dir_all(folder));
    dom
}

/// What the page sees, from the moment when it is open.
async fn load(locks: LockManager) {
    let calm = locks
        .lock("a:calm")
        .run(timing::pass(timing::millis(9_000)));
    let busy = locks
        .lock("b:busy")
        .run(timing::pass(timing::millis(9_000)));
    // seen after a while, and gone after another
    let brief = async {
        timing::pass(timing::millis(1_500)).await;
        locks
            .lock("a:brief")
            .run(timing::pass(timing::millis(3_000)))
            .await
    };
    // one of two locks is waited for from some moment on, and moves to the top
    let waits = async {
        timing::pass(timing::millis(3_000)).await;
        locks
            .lock("b:busy")
            .name_of("tests::wait")
            .run(async {})
            .await
    };
    let (calm, busy, brief, waits) = tokio::join!(calm, busy, brief, waits);
    for over in [calm, busy, brief, waits] {
        over.unwrap();
    }
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
        .replace("const base = ", "const base = '/d/' || ");
    let watched = watched.replace("</html>", WATCH);
    let opened = Arc::new(Notify::new());
    let open = Arc::clone(&opened);
    let watching = get(move || {
        open.notify_one();
        std::future::ready(Html(watched))
    });
    // the page counts as loaded when its last picture is
    let slow = get(|| timing::pass(timing::millis(7_000)));
    let router = axum::Router::new().nest("/d", router);
    let address = serve(router.route("/watched", watching).route("/slow", slow)).await;
    let load = tokio::spawn({
        let locks = server.manager();
        async move {
            opened.notified().await;
            load(locks).await;
        }
    });
    let seen = format!("http://{address}/watched");
    let dom = tokio::task::spawn_blocking(move || browse(&seen, &["--dump-dom"]));
    let dom = dom.await.unwrap();
    let start = dom
        .find("<pre id=\"seen\"")
        .unwrap_or_else(|| panic!("{dom}"));
    let story = dom[start..].split("</pre>").next().unwrap();
    let mut place = 0;
    for line in [
        "keys: a:calm b:busy\n",
        "keys: a:calm b:busy a:brief\n",
        "keys: b:busy a:calm a:brief\n",
        "queue shown, focus on b:busy\n",
        "keys: b:busy a:calm\n",
    ] {
        let next = story[place..].find(line);
        place += next.unwrap_or_else(|| panic!("no {line} in {story}"));
    }
    timing::soon("the load ends", load).await.unwrap();

    // for people: both themes, and something to see
    let locks = server.manager();
    let guard = locks
        .lock("boleto:42")
        .name_of("payments::pay")
        .acquire()
        .await
        .unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (name, dark) in [("light", "1"), ("dark", "0")] {
        let picture = folder.join(format!("dashboard-{name}.png"));
        let words = [
            format!("--screenshot={}", picture.display()),
            format!("--blink-settings=preferredColorScheme={dark}"),
        ];
        let shown = format!("http://{address}/watched");
        let shot = move || browse(&shown, &words.each_ref().map(String::as_str));
        tokio::task::spawn_blocking(shot).await.unwrap();
        assert!(
            picture.metadata().unwrap().len() > 10_000,
            "{}",
            picture.display()
        );
    }
    guard.release().await.unwrap();
}
