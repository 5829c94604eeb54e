//! The forms in the edition of 2024; see `mod.rs`, and `edition_2021` for the other.
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

#[path = "mod.rs"]
mod macro_pass;
