//! The page of `warpline report`: whole, its own, and the same every time.

use std::fs;

use serde_json::Value;
use warpline::Status;
use warpline_tests::{TempDir, warpline};

fn page(args: &[&str], status: Status) -> String {
    let dir = TempDir::new();
    let file = dir.file("x.html");
    let said = warpline(&[&["report"], args, &["-o", &file]].concat());
    assert_eq!(said.status, status, "{args:?}: {}", said.err);
    fs::read_to_string(file).unwrap()
}

/// The data of a timeline in a page.
fn data(page: &str, id: &str) -> Value {
    let start = format!("id=\"data-{id}\">");
    let text =
        page.split(&start).nth(1).unwrap_or_else(|| panic!("no data of {id}")).split("</script>").next().unwrap();
    serde_json::from_str(text).unwrap()
}

/// Every element that opens closes, in order.
#[track_caller]
fn well_formed(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page.split_once("<!DOCTYPE html>").expect("a doctype").1;
    while let Some((_, tag)) = rest.split_once('<') {
        let (inside, after) = tag.split_once('>').expect("a tag ends");
        let name = inside.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap();
        rest = after;
        if inside.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "…{}", &after[..after.len().min(60)]);
        } else if !inside.ends_with('/') && !["meta", "br", "input"].contains(&name) {
            open.push(name);
            // What is in a script is no markup.
            if name == "script" || name == "style" {
                rest = &rest[rest.find(&format!("</{name}>")).expect("it ends")..];
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_page_has_every_part_and_asks_for_nothing() {
    let args = ["metal/triple_buffer", "--set", "k=512"];
    let page = page(&args, Status::Holds);
    well_formed(&page);
    for part in [
        "The run",
        "Timeline",
        "Where the time goes",
        "The kernel",
        "Critical path",
        "Claims",
        "Verification",
        "PROVED.",
        "k = 512",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("src=") && !page.contains("@import") && page.contains("default-src 'none'"));
    // The only addresses are names: of the vector pictures' kind.
    for (i, _) in page.match_indices("http") {
        assert!(
            page[i..].starts_with("http://www.w3.org/") || page[i..].starts_with("http-equiv"),
            "{}",
            &page[i..i + 60]
        );
    }
    let data = data(&page, "run");
    let (width, spans) = (data["width"].as_u64().unwrap() as usize, data["spans"].as_array().unwrap());
    assert!(spans.len() % width == 0 && spans.len() > 100 * width);
    let rows = data["rows"].as_array().unwrap().len() as i64;
    assert!(spans.iter().step_by(width).all(|row| (0..rows).contains(&row.as_i64().unwrap())));
    assert!(!data["path"].as_array().unwrap().is_empty());
    assert_eq!(page, self::page(&args, Status::Holds), "the same every time");
}

#[test]
fn a_fault_has_its_schedule_and_its_timeline() {
    let page = page(&["museum/m09_expect_without_arrive/bug"], Status::Violated);
    well_formed(&page);
    for part in
        ["VIOLATED.", "The schedule that leads to the fault", "A change that repairs it", "The schedule in time"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(data(&page, "fault")["spans"].as_array().is_some_and(|s| !s.is_empty()));
}

#[test]
fn a_page_can_do_without_the_proof() {
    let page = page(&["timeline/naive", "--no-verify"], Status::Holds);
    well_formed(&page);
    assert!(!page.contains("Verification"));
    // One CTA is all there is.
    assert!(!page.contains("that were recorded"));
}

#[test]
fn a_page_says_that_it_carries_the_first_ctas_only() {
    let page = page(&["metal/triple_buffer", "--set", "k=512", "--no-verify"], Status::Holds);
    let says = page.split("Shown is the first CTA of the ").nth(1).expect("it says so");
    let recorded: u64 = says.split(' ').next().unwrap().parse().unwrap();
    assert!(recorded > 1);
    let data = data(&page, "run");
    assert!(data["rows"].as_array().unwrap().iter().all(|row| row["cta"] == 0));
}

#[test]
fn a_page_lists_the_kernel_with_its_waits() {
    let page = page(&["metal/triple_buffer", "--set", "k=512", "--no-verify"], Status::Holds);
    let kernel = include_str!("../../scenarios/metal/triple_buffer.pipe");
    for n in 1..=kernel.lines().count() {
        assert_eq!(page.matches(&format!("<tr id=\"L{n}\"")).count(), 1, "line {n}");
    }
    let barrier = 1 + kernel.lines().position(|l| l.trim().starts_with("barrier")).unwrap();
    let row = page.lines().find(|l| l.contains(&format!("id=\"L{barrier}\""))).unwrap();
    assert!(row.contains("loader ") && row.contains("CTA barrier"), "{row}");
    // Most of the waiting is at the last one.
    let barrier = 1 + kernel.lines().collect::<Vec<_>>().iter().rposition(|l| l.trim().starts_with("barrier")).unwrap();
    assert!(page.contains(&format!("href=\"#L{barrier}\"")), "a wait leads to its line");
}
