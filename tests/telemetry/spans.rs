//! One span for each locked call, inside of the caller's own.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex};

use lockruntime::{LockError, LockManager, distributed_lock};
use tests::timing;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

/// One span: its name, the span it was made in, its fields, and whether it is over.
#[derive(Clone, Debug, Default)]
struct Seen {
    name: String,
    inside: Option<u64>,
    fields: BTreeMap<String, String>,
    closed: bool,
    metadata: Option<&'static Metadata<'static>>,
}

/// Keeps all spans of one thread.
#[derive(Clone, Default)]
struct Spans {
    all: Arc<Mutex<HashMap<u64, Seen>>>,
    entered: Arc<Mutex<Vec<u64>>>,
}

impl Spans {
    fn named(&self, name: &str) -> Vec<(u64, Seen)> {
        let all = self.all.lock().unwrap();
        let mut named: Vec<_> = all
            .iter()
            .filter(|(_, seen)| seen.name == name)
            .map(|(id, seen)| (*id, seen.clone()))
            .collect();
        named.sort_by_key(|(id, _)| *id);
        named
    }
}

struct Fields<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Spans {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut all = self.all.lock().unwrap();
        let id = all.len() as u64 + 1;
        let mut seen = Seen {
            name: attributes.metadata().name().to_owned(),
            metadata: Some(attributes.metadata()),
            inside: self.entered.lock().unwrap().last().copied(),
            ..Seen::default()
        };
        attributes.record(&mut Fields(&mut seen.fields));
        all.insert(id, seen);
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let mut all = self.all.lock().unwrap();
        values.record(&mut Fields(
            &mut all.get_mut(&id.into_u64()).unwrap().fields,
        ));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, id: &Id) {
        self.entered.lock().unwrap().push(id.into_u64());
    }

    fn exit(&self, id: &Id) {
        assert_eq!(self.entered.lock().unwrap().pop(), Some(id.into_u64()));
    }

    fn current_span(&self) -> Current {
        let entered = self.entered.lock().unwrap().last().copied();
        let all = self.all.lock().unwrap();
        match entered.and_then(|id| Some((id, all.get(&id)?.metadata?))) {
            Some((id, metadata)) => Current::new(Id::from_u64(id), metadata),
            None => Current::none(),
        }
    }

    fn try_close(&self, id: Id) -> bool {
        self.all
            .lock()
            .unwrap()
            .get_mut(&id.into_u64())
            .unwrap()
            .closed = true;
        true
    }
}

#[distributed_lock(key = "boleto:<id>", mode = "reject")]
async fn pay(id: u64) -> Result<(), LockError> {
    tracing::info_span!("body").in_scope(|| {});
    timing::pass(timing::millis(5)).await;
    Ok(())
}

#[test]
fn a_call_is_a_span_with_its_story() {
    let spans = Spans::default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tracing::subscriber::with_default(spans.clone(), || {
        runtime.block_on(async {
            let locks = LockManager::memory();
            let request = tracing::info_span!("request");
            let call = tracing::Instrument::instrument(locks.scope(pay(42)), request);
            call.await.unwrap();
            let guard = locks.lock("boleto:42").acquire().await.unwrap();
            locks.scope(pay(42)).await.unwrap_err();
            guard.release().await.unwrap();
            let cut = locks.lock("boleto:7").run(std::future::pending::<()>());
            tokio::time::timeout(timing::millis(20), cut)
                .await
                .unwrap_err();
        });
    });
    let request = spans.named("request")[0].0;
    let calls = spans.named("lock");
    assert_eq!(calls.len(), 3, "{calls:#?}");
    let (paid, seen) = &calls[0];
    assert_eq!(seen.inside, Some(request), "inside of the caller's own");
    let field = |name: &str| {
        seen.fields
            .get(name)
            .unwrap_or_else(|| panic!("no {name}: {seen:?}"))
            .as_str()
    };
    assert_eq!((field("key"), field("mode")), ("boleto:42", "reject"));
    assert_eq!(field("template"), "\"boleto:<id>\"");
    assert_eq!(field("outcome"), "\"released\"");
    assert!(field("fencing_token").parse::<u64>().unwrap() > 0);
    assert!(field("hold").parse::<f64>().unwrap() >= 0.005, "{seen:?}");
    assert!(field("wait").parse::<f64>().unwrap() < 1.0, "{seen:?}");
    assert_eq!(
        spans.named("body")[0].1.inside,
        Some(*paid),
        "the body is inside of it"
    );
    assert_eq!(calls[1].1.fields["outcome"], "\"busy\"");
    assert_eq!(calls[2].1.fields["outcome"], "\"cancelled\"");
    assert!(calls.iter().all(|(_, seen)| seen.closed), "{calls:#?}");
}
