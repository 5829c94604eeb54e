//! Every form of annotated function, and the order of drops, in the edition of 2021.
#![expect(
    clippy::allow_attributes_without_reason,
    clippy::extra_unused_type_parameters,
    clippy::mixed_attributes_style,
    clippy::needless_arbitrary_self_type,
    clippy::new_ret_no_self,
    clippy::redundant_closure,
    clippy::wrong_self_convention,
    reason = "the forms are unusual on purpose"
)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../macro_behaviour/drop_order.rs"]
mod drop_order;
#[path = "../macro_pass/mod.rs"]
mod macro_pass;
#[path = "../macro_behaviour/support.rs"]
#[expect(dead_code, reason = "the order of drops needs a part of it")]
mod support;
