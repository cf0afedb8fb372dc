//! Leaks asked for without the allocator that finds them.

#[test]
fn the_missing_allocator_is_named() {
    let report = reweave::Builder::new().leaks(true).try_run(|| {});
    let text = report
        .expect_err("the allocator is not installed")
        .to_string();
    assert!(text.contains("#[global_allocator]"), "{text}");
    assert!(text.contains("reweave::Allocator"), "{text}");
    assert!(reweave::Builder::new().try_run(|| {}).is_ok());
}
