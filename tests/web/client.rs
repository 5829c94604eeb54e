//! The client's side: what tests add to the examples' client.

use examples::{Answer, Call};
use tests::timing;

/// How a client goes away.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Close {
    /// As a plain close does: no more data, politely.
    Fin,
    /// As a crash does, or a client with unread data: the connection is void.
    Rst,
}

/// What a test does with a request on its way.
pub(crate) trait Outcome {
    /// Closes the connection.
    fn close(self, how: Close);
    /// The answer, which must have this status.
    async fn expect(self, status: u16) -> Answer;
    /// The answer, which must be this refusal.
    async fn expect_problem(self, status: u16, name: &str) -> Answer;
}

impl Outcome for Call {
    fn close(self, how: Close) {
        match how {
            Close::Fin => {}
            Close::Rst => self.stream.set_zero_linger().expect("an open socket"),
        }
        drop(self);
    }

    async fn expect(self, status: u16) -> Answer {
        let answer = timing::soon("the answer", self.answer())
            .await
            .expect("an answer");
        assert_eq!(answer.status, status, "{answer:?}");
        answer
    }

    async fn expect_problem(self, status: u16, name: &str) -> Answer {
        let answer = self.expect(status).await;
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json")
        );
        let problem: serde_json::Value = serde_json::from_str(&answer.content).expect("JSON");
        let field = |name| {
            problem
                .get(name)
                .unwrap_or_else(|| panic!("no {name} in {problem}"))
        };
        assert_eq!(field("type"), &format!("urn:problem-type:{name}"));
        assert_eq!(field("status"), status);
        answer
    }
}
