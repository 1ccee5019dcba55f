//! The console blocks of the documents are what the program prints.
//! After a change of the model or of a text, `TRYCMD=overwrite cargo test -p warpline-tests documents` brings the numbers up
//! to date; read the difference before it is committed.

use warpline_tests::TempDir;

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

/// The guide for the first hour writes files, so its commands run in an empty folder.
#[test]
fn the_first_hour_is_what_the_program_does() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/first-hour.md");
    let dir = TempDir::new();
    let copy = dir.write("first-hour.md", std::fs::read(page).unwrap());
    // The folder beside a page is where its commands run.
    std::fs::create_dir(dir.path().join("first-hour.in")).unwrap();
    let sed = std::env::split_paths(&std::env::var_os("PATH").unwrap()).map(|p| p.join("sed")).find(|p| p.is_file());
    {
        let cases = trycmd::TestCases::new();
        cases.register_bin("warpline", std::path::Path::new(env!("CARGO_BIN_EXE_warpline-under-test")));
        cases.register_bin("sed", sed.unwrap().as_path());
        cases.case(&copy);
    }
    if std::env::var_os("TRYCMD").is_some_and(|v| v == "overwrite") {
        std::fs::copy(copy, page).unwrap();
    }
}
