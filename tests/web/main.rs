//! The handlers of the web examples, asked over real TCP connections, with a real Redis behind them.
//!
//! Every case of [`cases`] runs over both frameworks. What a client does to a handler by going away is the subject of half of
//! them: with FIN, as a plain close does, and with RST.

#[path = "../../examples/actix_handler.rs"]
mod actix_app;
#[expect(
    dead_code,
    reason = "its main and its demonstration are for people; the tests start it themselves"
)]
#[path = "../../examples/axum_handler.rs"]
mod axum_app;

mod actix;
mod axum;
mod bank;
mod browser;
mod cases;
mod client;
mod dashboard;
mod forms;
mod forms_actix;
mod forms_axum;
mod shutdown;
mod site;
