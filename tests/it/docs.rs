//! The console blocks of the documents are what the program prints.
//! After a change of the model or of a text, `TRYCMD=overwrite cargo test -p warpline-tests documents` brings the numbers up
//! to date; read the difference before it is committed.

#[test]
fn documents_show_what_the_program_prints() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    trycmd::TestCases::new()
        .register_bin("warpline", std::path::Path::new(env!("CARGO_BIN_EXE_warpline-under-test")))
        .case(format!("{root}/README.md"))
        .case(format!("{root}/docs/answers.md"))
        .case(format!("{root}/docs/cli.md"))
        .case(format!("{root}/docs/tour.md"))
        .case(format!("{root}/docs/viewer.md"));
}
