//! seam
#[proc_macro_attribute]
/// seam
pub fn distributed_lock(
    _a: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    item
}
