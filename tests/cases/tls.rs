//! First calls over TLS. What is wrong with a certificate is the subject of the theme `connections`.

use tests::process::{Body, Door, Holder, Setup};
use tests::register::Register;
use tests::server::{ClientCertificate, Settings};
use tests::wire::{APP, ENVIRONMENT};
use tests::{RedisServer, tidy, timing};

use super::HOLDER;

/// A hundred fresh processes, one reject call each, every other one with a client certificate: all of them get the lock.
#[tokio::test]
async fn b101_first_call_on_a_cold_or_tls_connection() {
    let register = Register::start();
    for asks in [ClientCertificate::Unasked, ClientCertificate::Required] {
        let server = RedisServer::with(Settings::default().tls(asks));
        let (address, certificates) = server.tls();
        let mut setup = Setup::new(&server, &register);
        setup.url = format!(
            "rediss://{address}?app={APP}&env={ENVIRONMENT}&tls_ca={}&tls_cert={}&tls_key={}",
            certificates.file("ca.pem"),
            certificates.file("client.pem"),
            certificates.file("client.key"),
        );
        for call in 0..timing::times(15, 50) {
            let mut holder = Holder::start(HOLDER, &setup);
            let id = format!("b101-{call}");
            holder.call("cold", &id, Door::Reject, Body::For(timing::micros(1)));
            assert_eq!(holder.returned("cold"), "", "call {call}, {asks:?}");
            holder.quit();
        }
        tidy::end(&server, "boleto:b101", timing::lease(), 0).await;
    }
}
