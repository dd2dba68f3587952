//! A home can't be asked without saying whose chunks are meant: code that forgets it does not
//! compile.

#[test]
fn a_home_can_not_be_asked_without_a_tenant() {
    trybuild::TestCases::new().compile_fail("tests/home/without_a_tenant.rs");
}
