//! What `docs/validation.md` says of the model, and the commands behind it. No device is asked.

use warpline::Status;
use warpline_calibrate::accuracy::Timed;
use warpline_tests::{TempDir, warpline};

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

/// What sessions on hardware differ by, as the page says it, and every kernel was timed and counted.
#[test]
fn sessions_differ_by_what_the_page_says() {
    let read = |text: &str| -> Vec<Timed> { text.lines().map(|l| serde_json::from_str(l).unwrap()).collect() };
    let first = read(include_str!("../../calibrate/data/h200_validation.jsonl"));
    let other = read(include_str!("../../calibrate/data/h200_validation_other.jsonl"));
    let third = read(include_str!("../../calibrate/data/h200_validation_third.jsonl"));
    let fourth = read(include_str!("../../calibrate/data/h200_validation_fourth.jsonl"));
    let apart = |other: &[Timed], f: &dyn Fn(&Timed, &Timed) -> f64| {
        let all: Vec<f64> = first.iter().zip(other).map(|(a, b)| f(a, b).abs()).collect();
        (100.0 * all.iter().sum::<f64>() / all.len() as f64, 100.0 * all.iter().fold(0.0, |m: f64, e| m.max(*e)))
    };
    let cycles = |a: &Timed, b: &Timed| {
        assert_eq!(a.case, b.case);
        a.cycles() / b.cycles() - 1.0
    };
    let (sessions, later, last) = (apart(&other, &cycles), apart(&third, &cycles), apart(&fourth, &cycles));
    // Of the same sets as the other session; those alone are short, and the profiler counts a launch's end.
    let profiler = apart(&other, &|a, _| a.counted.unwrap().cycles / a.cycles() - 1.0);
    let page = include_str!("../../docs/validation.md");
    for (row, (mean, largest)) in [
        ("| two sessions", sessions),
        ("| a third session", later),
        ("| a fourth session", last),
        ("| Nsight Compute", profiler),
    ] {
        let line = page.lines().find(|l| l.starts_with(row)).unwrap();
        assert!(line.ends_with(&format!("| {mean:.1} % | {largest:.1} % |")), "{line}: {mean:.1}, {largest:.1}");
    }
    assert!(first.iter().all(|t| t.runs == 15));
    // Paces are of the fourth session: what one is was settled after the first.
    assert!(first.iter().zip(&fourth).all(|(a, b)| a.pace.is_some() && a.pace == b.pace));
}

#[test]
fn the_worst_cases_are_drawn_with_what_was_recorded_of_them() {
    let dir = TempDir::new();
    let (picture, folder, record) = (dir.file("x.svg"), dir.file("worst"), dir.file("record"));
    fine(&["validate", "--recorded", "-o", &picture, "--worst", &folder, "--record", &record]);
    assert!(std::fs::read_to_string(picture).unwrap().contains("recorded: one NVIDIA H200"));
    let again = std::fs::read_to_string(format!("{record}/validation.jsonl")).unwrap();
    assert_eq!(again, include_str!("../../calibrate/data/h200_validation.jsonl"));
    let drawn = std::fs::read_dir(folder).unwrap().count();
    let traces = std::fs::read_dir(record).unwrap().count() - 1;
    assert_eq!((drawn, traces), (3, 3), "three have a record in calibrate/data");
}

#[test]
fn without_a_device_the_commands_say_what_to_do() {
    for (args, parts) in [
        (&["validate"][..], ["no device was named", "`--recorded`"]),
        (&["validate", "--device", "opencl:0"], ["there is no device `opencl:0`", "`hip:0`"]),
        (&["calibrate", "--device", "metal"], ["there is no device `metal`", "`metal:0`"]),
        (&["calibrate", "--device", "cuda:x"], ["there is no device `cuda:x`", "`cuda:0`"]),
        (&["calibrate", "--device", "hip:-1"], ["there is no device `hip:-1`", "`recorded`"]),
        (
            &["calibrate", "--device", "recorded", "--machine", "mi300x"],
            ["is not of the vendor of mi300x", "`--machine`"],
        ),
        (&["validate", "--recorded", "--machine", "m4-max"], ["is not of the vendor of m4-max", "`--machine`"]),
    ] {
        let said = warpline(args);
        assert_eq!((said.status, said.out.as_str()), (Status::BadInput, ""), "{args:?}");
        let err = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(parts.iter().all(|p| err.contains(p)) && err.contains("help: "), "{args:?}: {}", said.err);
    }
}

/// What is missing is named, and what to do about it, wherever the tests run: one that has the device would open it.
#[test]
fn a_device_of_another_kind_of_machine_is_missing() {
    let no_such = "4294967295";
    for (kind, missing) in [("cuda", "CUDA"), ("hip", "HIP"), ("metal", "Metal")] {
        for command in ["calibrate", "validate"] {
            let said = warpline(&[command, "--device", &format!("{kind}:{no_such}")]);
            assert_eq!((said.status, said.out.as_str()), (Status::BadInput, ""), "{kind}");
            let err = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(err.contains(missing) || err.contains(&format!("{kind}:{no_such}")), "{}", said.err);
            assert!(err.contains("help: ") && err.contains("`--device recorded` replays"), "{}", said.err);
        }
    }
}

#[test]
fn help_names_the_devices() {
    for command in ["calibrate", "validate"] {
        let help = fine(&["help", command]).split_whitespace().collect::<Vec<_>>().join(" ");
        for device in ["cuda:N", "hip:N", "metal:N", "recorded", "never run by us"] {
            assert!(help.contains(device), "{command}: {device}\n{help}");
        }
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
