//! One server.

use tests::RedisServer;
use tests::chaos::now;
use tests::chaos::plan::{Kind, Planned};
use tests::fault::Proxy;

use super::{Clock, Node, Stage};

pub(super) struct Standalone(Node);

impl Standalone {
    pub(super) fn start() -> Self {
        Self(Node::start())
    }
}

impl Stage for Standalone {
    fn servers(&self) -> Box<dyn Iterator<Item = &RedisServer> + '_> {
        Box::new(std::iter::once(&self.0.server))
    }

    fn url(&self, ways: &[Proxy]) -> String {
        let mut urls = ways.iter().map(|way| self.0.server.url_at(&way.address()));
        urls.next().expect("there is a way to the server")
    }

    fn watched(&self) -> (&RedisServer, Clock) {
        (&self.0.server, self.0.clock.clone())
    }

    fn disturb(&mut self, planned: &Planned) -> (u64, u64) {
        let from = now();
        self.0.disturb(planned);
        if planned.kind == Kind::ServerClockBack {
            // a loss of data before the clock has made up for it would bring old tokens back: nothing could tell the time
            tests::timing::block(planned.length + tests::timing::moment());
        }
        (from, now())
    }
}
