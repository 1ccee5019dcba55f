//! The console blocks of the documents are what the program prints.

#[test]
fn documents_show_what_the_program_prints() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    trycmd::TestCases::new()
        .register_bin("warpline", std::path::Path::new(env!("CARGO_BIN_EXE_warpline-under-test")))
        .case(format!("{root}/README.md"))
        .case(format!("{root}/docs/cli.md"));
}
