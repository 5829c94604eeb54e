//! `serve`: the dashboard as a program of its own.

use super::args::Page;
use super::{Outcome, Screen};
use crate::manager::LockManager;

#[cfg(feature = "dashboard")]
/// `lockctl serve`.
pub(super) async fn serve(locks: LockManager, page: Page, screen: &mut Screen<'_>) -> Outcome {
    use super::{DONE, MISUSED, Stop, hosts, told_to_end};
    use crate::web::Dashboard;

    let Page {
        listen,
        host,
        allow_release,
    } = page;
    let failed = |error: std::io::Error| {
        Stop::Failed(format!("{listen} can't be listened on: {error}"), MISUSED)
    };
    let listener = tokio::net::TcpListener::bind(listen)
        .await
        .map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    writeln!(screen.out, "http://{address}/ until Ctrl-C")?;
    screen.out.flush()?;
    let mut dashboard = Dashboard::new(locks);
    if allow_release {
        dashboard = dashboard.allow_release();
    }
    let served = axum::serve(listener, hosts::only(dashboard.into_router(), host));
    // open pages never end by themselves: the program ends without them
    futures_util::future::select(
        std::pin::pin!(served.into_future()),
        std::pin::pin!(told_to_end()),
    )
    .await;
    Ok(DONE)
}

#[cfg(not(feature = "dashboard"))]
#[expect(clippy::unused_async, reason = "as its twin")]
pub(super) async fn serve(locks: LockManager, _: Page, _: &mut Screen<'_>) -> Outcome {
    drop(locks);
    let says = "this lockctl was built without its page: cargo install lockruntime --features cli,dashboard";
    Err(super::Stop::Failed(says.to_owned(), super::MISUSED))
}
