//! Draws made-up timelines in every shape the painter knows, into a folder, and prints how long each took.
//!
//! `cargo run --release -p warpline-viz --example gallery -- FOLDER`

#[path = "../tests/drawing/synth/mod.rs"]
mod synth;

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use warpline_sim::timeline::Timeline;
use warpline_viz::gantt::{self, GanttOptions, Size, Theme};
use warpline_viz::trace::chrome;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: gallery FOLDER")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let page = GanttOptions::default();
    let slide = GanttOptions { size: Size::Slide, ..page.clone() };
    let dark = |o: &GanttOptions| GanttOptions { theme: Theme::Dark, ..o.clone() };
    let rows = |o: &GanttOptions, words: &[&str]| GanttOptions {
        rows: words.iter().map(|w| w.to_string()).collect(),
        ..o.clone()
    };
    let sparse = synth::pipeline(1, 10);
    let short = synth::pipeline(1, 4);
    let many = synth::pipeline(4, 6);
    let metal = synth::barriers(8, 5);
    let dense = synth::dense(100_000);
    let empty = Timeline::default();
    let mut cut = synth::pipeline(2, 40);
    cut.truncated_at = Some(cut.end * 3 / 4);
    let window = GanttOptions { from: Some(1000), to: Some(2600), ..page.clone() };
    let exact = |width, height| GanttOptions { size: Size::Exact { width, height }, ..page.clone() };
    let all: Vec<(&str, &Timeline, GanttOptions)> = vec![
        ("page", &sparse, page.clone()),
        ("page_dark", &sparse, dark(&page)),
        ("slide", &short, slide.clone()),
        ("slide_dark", &sparse, dark(&slide)),
        ("rows40_page", &many, page.clone()),
        ("rows40_slide", &many, slide.clone()),
        ("one_row", &sparse, rows(&page, &["producer"])),
        ("one_row_slide", &sparse, rows(&slide, &["tensor"])),
        ("every_class", &metal, page.clone()),
        ("every_class_dark", &metal, dark(&slide)),
        ("dense", &dense, page.clone()),
        ("dense_dark_slide", &dense, dark(&slide)),
        ("window", &cut, window),
        ("truncated", &cut, page.clone()),
        ("small", &sparse, exact(640, 360)),
        ("tiny", &sparse, exact(200, 120)),
        ("empty", &empty, page.clone()),
    ];
    for (name, timeline, options) in &all {
        let t0 = Instant::now();
        let svg = gantt::svg(timeline, options)?;
        let t1 = Instant::now();
        let png = gantt::png(timeline, options)?;
        let t2 = Instant::now();
        let json = chrome::write(timeline)?;
        let t3 = Instant::now();
        println!(
            "{name:18} {:>7} spans  svg {:>5} KB {:>6.1} ms  png {:>5} KB {:>6.1} ms  json {:>6} KB {:>6.1} ms",
            timeline.spans.len(),
            svg.len() / 1024,
            (t1 - t0).as_secs_f64() * 1e3,
            png.len() / 1024,
            (t2 - t1).as_secs_f64() * 1e3,
            json.len() / 1024,
            (t3 - t2).as_secs_f64() * 1e3,
        );
        std::fs::write(folder.join(format!("{name}.svg")), svg)?;
        std::fs::write(folder.join(format!("{name}.png")), png)?;
        std::fs::write(folder.join(format!("{name}.json")), json)?;
    }
    Ok(())
}
