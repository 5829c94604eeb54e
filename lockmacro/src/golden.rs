// #[distributed_lock(key = "boleto:<id>", lease = "30s", mode = "queue")]
// async fn pay(id: u64) -> Result<Receipt, PayError> { charge(id).await }
async fn pay(id: u64) -> Result<Receipt, PayError> {
    use ::lockruntime::__private as __lockruntime_private;
    let __lockruntime_call = __lockruntime_private::Call::new(
        __lockruntime_private::concat!(__lockruntime_private::module_path!(), "::pay"), "boleto:<id>",
    );
    let __lockruntime_call = __lockruntime_private::Call::text(__lockruntime_call, "boleto:");
    let __lockruntime_call = __lockruntime_private::KeyValue::fill(&id, __lockruntime_call, "id");
    let __lockruntime_call = __lockruntime_private::Call::mode(__lockruntime_call, __lockruntime_private::Mode::Queue);
    let __lockruntime_length = __lockruntime_private::Duration::from_millis(30000u64);
    let __lockruntime_call = __lockruntime_private::Call::lease(__lockruntime_call, __lockruntime_length);
    let __lockruntime_body = __lockruntime_private::Box::pin(async move {
        if let __lockruntime_private::Some(__lockruntime_never) = __lockruntime_private::None::<Result<Receipt, PayError>> {
            return __lockruntime_never;
        }
        #[allow(clippy::shadow_reuse, clippy::shadow_same, clippy::shadow_unrelated)]
        let id = id;
        let _ = &id;
        match () { () => { charge(id).await } }
    });
    #[allow(clippy::implicit_return)]
    __lockruntime_private::run(__lockruntime_call, __lockruntime_body, <Result<Receipt, PayError> as __lockruntime_private::FromLockError>::from_lock_error).await
}
