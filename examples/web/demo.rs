//! `--demo`: the program asks itself a few things over TCP, prints what came back, and fails if it isn't what it should be.

#![expect(clippy::print_stdout, reason = "it is what the examples show")]

use std::error::Error;
use std::io;
use std::net::SocketAddr;

use tokio::task::JoinSet;

use crate::client::{Answer, Call};

pub(super) async fn run(address: SocketAddr) -> Result<(), Box<dyn Error>> {
    println!(
        "\nThe same boleto three times at once, one after the other; another boleto beside them."
    );
    let paths = [
        "/boletos/42/pay",
        "/boletos/42/pay",
        "/boletos/42/pay",
        "/boletos/7/pay",
    ];
    let mut answers = JoinSet::new();
    for path in paths {
        let call = post(address, path, "").await?;
        // shown as they come in
        answers.spawn(async move { Ok::<_, io::Error>(show(path, call.answer().await?)) });
    }
    for answer in answers.join_all().await {
        expect(answer?, 200)?;
    }

    println!("\nClosing the day twice at once: the second is refused.");
    let first = post(address, "/days/2025-06-30/close", "").await?;
    let second = post(address, "/days/2025-06-30/close", "").await?;
    let mut statuses = Vec::new();
    for call in [first, second] {
        statuses.push(show("/days/2025-06-30/close", call.answer().await?).status);
    }
    statuses.sort_unstable();
    if statuses != [200, 409] {
        return Err(format!("expected 200 and 409, got {statuses:?}").into());
    }

    println!(
        "\nA refund whose key comes from the JSON body; without an account there is nothing to lock."
    );
    for (account, status) in [("11-7", 200), ("", 422)] {
        let json = format!(r#"{{"account":"{account}","cents":500}}"#);
        expect(
            show(
                "/refunds",
                post(address, "/refunds", &json).await?.answer().await?,
            ),
            status,
        )?;
    }
    Ok(())
}

async fn post(address: SocketAddr, path: &str, json: &str) -> io::Result<Call> {
    Call::post(address, path, json).await
}

fn show(path: &str, answer: Answer) -> Answer {
    let retry = answer
        .header("retry-after")
        .map(|seconds| format!(" (retry after {seconds} s)"))
        .unwrap_or_default();
    println!(
        "  POST {path} -> {}{retry} {}",
        answer.status, answer.content
    );
    answer
}

fn expect(answer: Answer, status: u16) -> Result<(), Box<dyn Error>> {
    if answer.status == status {
        Ok(())
    } else {
        Err(format!("expected {status}, got {answer:?}").into())
    }
}
