//! What `docs/validation.md` says of the model, and the commands behind it. No device is asked.

use warpline::Status;
use warpline_tests::warpline;

fn fine(args: &[&str]) -> String {
    let said = warpline(args);
    assert_eq!((said.status, said.err.as_str()), (Status::Holds, ""), "{args:?}");
    said.out
}

/// Mean and worst absolute error in percent, of a line of `validate`.
fn errors(line: &str) -> (f64, f64) {
    let after = |word: &str| {
        let rest = &line[line.find(word).unwrap() + word.len()..];
        rest.split_whitespace().next().unwrap().parse::<f64>().unwrap()
    };
    (after("mean absolute error"), after("worst"))
}

/// A model that gets better may say so in the page; one that gets worse has to.
#[test]
fn the_model_is_no_further_from_the_device_than_the_page_says() {
    let out = fine(&["validate", "--recorded"]);
    let line = out.lines().find(|l| l.starts_with("test ")).unwrap();
    let (mean, worst) = errors(line);
    let page = include_str!("../../docs/validation.md");
    let row = page.lines().find(|l| l.starts_with("| test |")).unwrap();
    let cells: Vec<f64> = row.split('|').filter_map(|c| c.trim().trim_end_matches(" %").parse().ok()).collect();
    let [count, said_mean, _bias, said_worst] = cells[..] else { panic!("{row}") };
    assert!(line.contains(&format!("{count} kernels")), "{line}");
    assert!(mean <= said_mean + 0.5 && worst <= said_worst + 0.5, "{line}\n{row}");
}

#[test]
fn without_a_device_the_commands_say_what_to_do() {
    for (args, part) in [
        (&["validate"][..], "--recorded"),
        (&["calibrate", "--device", "metal"], "there is no device"),
        (&["calibrate", "--device", "cuda:x"], "there is no device"),
    ] {
        let said = warpline(args);
        assert_eq!((said.status, said.out.as_str()), (Status::BadInput, ""), "{args:?}");
        assert!(said.err.contains(part), "{args:?}: {}", said.err);
    }
}

#[test]
fn calibrate_replays_what_was_measured() {
    let out = fine(&["calibrate", "--device", "recorded"]);
    assert!(out.contains("NVIDIA H200, 132 SMs"), "{out}");
    assert!(out.lines().any(|l| l.starts_with("mma.warp_interval") && l.contains("6.07")), "{out}");
}

#[test]
fn a_record_of_another_kernel_is_refused_with_its_line() {
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/../calibrate/data/h200_trace_tma_warp_specialized.csv");
    let out = std::env::temp_dir().join("warpline-measured.svg");
    let said = warpline(&["gantt", "hopper/pingpong", "--measured", record, "-o", out.to_str().unwrap()]);
    assert_eq!(said.status, Status::BadInput);
    assert!(said.err.contains("of the record"), "{}", said.err);
}
