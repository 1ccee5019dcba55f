//! Charts of hand-made and random timelines: same bytes twice, everything in its box, no text on another.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use proptest::prelude::*;
use warpline_sim::timeline::{Mark, RowKind, SourceLine, SpanKind, Stall, TICKS, Timeline, Work};
use warpline_viz::gantt::{GanttError, GanttOptions, Item, Layer, Noted, Scene, Size, Theme, beside, layout, png, svg};

use crate::{random, synth};

fn options() -> impl Strategy<Value = GanttOptions> {
    let size = prop_oneof![
        Just(Size::Page),
        Just(Size::Slide),
        (160u32..3000).prop_map(Size::Width),
        (160u32..2000, 100u32..1500).prop_map(|(width, height)| Size::Exact { width, height }),
        (160u32..400, 100u32..300).prop_map(|(width, height)| Size::Exact { width, height }),
    ];
    let cycles = || prop::option::of(prop_oneof![0u64..40, any::<u64>()]);
    let words = prop::collection::vec("(agents|slots|load|cta 1|engines)", 0..2);
    let mark = (0u64..300, "[a-z φ]{0,30}").prop_map(|(cycle, text)| Noted { cycle, text });
    let remark = "[A-Za-z0-9 ,.]{0,200}";
    let more = (
        prop::collection::vec(mark, 0..12),
        prop::collection::vec(remark, 0..3),
        prop::collection::vec("[A-Z]: [a-z ]{0,60}", 0..3),
    );
    (size, cycles(), cycles(), words, any::<bool>(), any::<bool>(), any::<bool>(), more).prop_map(
        |(size, from, to, rows, dark, title, wakes, (marks, remarks, headings))| GanttOptions {
            marks,
            remarks,
            headings,
            size,
            from,
            to,
            rows,
            theme: if dark { Theme::Dark } else { Theme::Light },
            title,
            wakes,
            ..GanttOptions::default()
        },
    )
}

/// What every picture promises.
fn check(scene: &Scene) {
    let canvas = scene.canvas();
    let mut texts = Vec::new();
    for drawn in &scene.items {
        let area = drawn.item.area();
        assert!(canvas.holds(&area), "outside the picture: {drawn:?}");
        if let Item::Text { text, baseline, em, .. } = &drawn.item {
            assert!(!text.chars().any(char::is_control), "{text:?}");
            assert!(area.y < *baseline && *baseline <= area.bottom() && area.h == *em, "{drawn:?}");
            texts.push(area);
        }
        // Bars and marks keep to the plot, or to the legend below it.
        let bar = matches!(drawn.layer, Layer::Bars | Layer::Hatch | Layer::Marks | Layer::Plates);
        if bar && area.y < scene.plot.bottom() {
            assert!(scene.plot.holds(&area), "outside the plot {:?}: {drawn:?}", scene.plot);
        }
    }
    for (i, a) in texts.iter().enumerate() {
        assert!(!texts[..i].iter().any(|b| a.meets(b)), "texts touch at {a:?}");
    }
    for drawn in scene.items.iter().filter(|d| d.layer == Layer::Marks && scene.plot.holds(&d.item.area())) {
        if let Item::Fill(area) | Item::Text { area, .. } = &drawn.item {
            assert!(!texts.iter().any(|t| t.meets(area)), "a mark at {area:?} runs through text");
        }
    }
    // A text among the rows lies on one bar.
    for text in texts.iter().filter(|t| scene.plot.holds(t)) {
        let on = |d: &&warpline_viz::gantt::Drawn| d.layer == Layer::Bars && d.item.area().holds(text);
        assert!(scene.items.iter().find(on).is_some(), "a label at {text:?} is on no bar");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn everything_stays_in_its_box(t in random::timeline(), o in options()) {
        match layout(&t, &o) {
            Ok(scene) => check(&scene),
            Err(GanttError::Window { .. } | GanttError::NoRows(_)) => {}
            Err(e) => panic!("{e}"),
        }
    }

    #[test]
    fn an_svg_is_well_formed(t in random::timeline(), o in options()) {
        let Ok(picture) = svg(&t, &o) else { return Ok(()) };
        let scene = layout(&t, &o).unwrap();
        let texts = scene.items.iter().filter(|d| matches!(d.item, Item::Text { .. })).count();
        prop_assert_eq!(picture.matches("<text ").count(), texts);
        prop_assert_eq!(picture.matches("</text>").count(), texts);
        prop_assert!(picture.trim_end().ends_with("</svg>"));
        prop_assert!(!picture.contains("<script>"));
        // Every tag that opens on a line closes on it, but for the whole.
        for line in picture.lines().filter(|l| !l.starts_with("<svg ") && !l.starts_with("</svg>")) {
            let closed = line.ends_with("/>") || line.contains("</");
            prop_assert!(closed && line.starts_with('<'), "{}", line);
        }
    }
}

#[test]
fn the_axis_ends_with_the_ctas_on_show() {
    let mut b = synth::Builder::default();
    let (first, later) = (b.agent(0, "warp", 0), b.agent(1, "warp", 0));
    b.span(first, 0, 1000, SpanKind::Stall(Stall::Mbarrier), "");
    b.span(later, 1000, 4000, SpanKind::Stall(Stall::Mbarrier), "");
    let t = b.done();
    let widest = |ctas, to| {
        let scene = layout(&t, &GanttOptions { ctas, to, ..GanttOptions::default() }).unwrap();
        let bars = scene.items.iter().filter(|d| d.layer == Layer::Bars && d.item.area().y < scene.plot.bottom());
        (bars.map(|d| d.item.area().w).max().unwrap() * 100 + scene.plot.w / 2) / scene.plot.w
    };
    assert_eq!((widest(Some(1), None), widest(Some(1), Some(4000)), widest(None, None)), (100, 25, 75));
}

#[test]
fn what_a_slot_holds_alone_has_its_whole_row() {
    // Two warps fill at once, then it is full.
    let mut b = synth::Builder::default();
    let slot = b.row(0, "s", RowKind::Slot("s".into()));
    b.span(slot, 0, 100, SpanKind::Hold { filling: true }, "r(0)");
    b.span(slot, 20, 120, SpanKind::Hold { filling: true }, "r(1)");
    b.span(slot, 120, 400, SpanKind::Hold { filling: false }, "r(1)");
    let scene = layout(&b.done(), &GanttOptions::default()).unwrap();
    check(&scene);
    let bars = scene.items.iter().filter(|d| d.layer == Layer::Bars && scene.plot.holds(&d.item.area()));
    let mut heights: Vec<_> = bars.map(|d| (d.item.area().x, d.item.area().h)).collect();
    heights.sort_unstable();
    let [(_, first), (_, second), (_, full)] = heights[..] else { panic!("{heights:?}") };
    assert!(full >= first + second, "{heights:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_png_has_the_size_asked_for(t in random::timeline(), o in options(), scale in 1u32..3) {
        let o = GanttOptions { scale, ..o };
        let Ok(bytes) = png(&t, &o) else { return Ok(()) };
        let scene = layout(&t, &o).unwrap();
        let reader = png::Decoder::new(&bytes[..]).read_info().unwrap();
        let info = reader.info();
        prop_assert_eq!((info.width, info.height), (scene.width as u32 * scale, scene.height as u32 * scale));
    }
}

fn shown() -> Vec<(Timeline, GanttOptions)> {
    let slide = GanttOptions { size: Size::Slide, theme: Theme::Dark, ..GanttOptions::default() };
    vec![
        (synth::pipeline(1, 10), GanttOptions::default()),
        (synth::pipeline(4, 6), slide.clone()),
        (synth::barriers(8, 5), slide),
        (synth::dense(5_000), GanttOptions::default()),
    ]
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for (t, o) in shown() {
        assert_eq!(svg(&t, &o).unwrap(), svg(&t, &o).unwrap());
        assert_eq!(png(&t, &o).unwrap(), png(&t, &o).unwrap());
    }
}

#[test]
fn hand_made_charts_keep_their_promises() {
    for (t, o) in shown() {
        check(&layout(&t, &o).unwrap());
    }
}

fn texts(scene: &Scene) -> Vec<&str> {
    fn of(item: &Item) -> Option<&str> {
        match item {
            Item::Text { text, .. } => Some(text.as_str()),
            _ => None,
        }
    }
    scene.items.iter().filter_map(|d| of(&d.item)).collect()
}

#[test]
fn a_chart_says_what_it_shows() {
    let scene = layout(&synth::pipeline(1, 10), &GanttOptions::default()).unwrap();
    let texts = texts(&scene);
    for expected in [
        "Double-buffered TMA pipeline on H200 (sm_90a)",
        "producer",
        "consumer",
        "w4",
        "copy",
        "full[1]",
        "a[0]",
        "A 0,3",
        "φ2",
        "cycles",
        "µs",
        "1,000",
        "mbarrier phase",
        "slot filling",
        "barrier opens",
        "wakes",
    ] {
        assert!(texts.contains(&expected), "{expected} is missing from {texts:?}");
    }
    assert!(!texts.contains(&"global memory"), "the legend names a cause that is not there");
}

#[test]
fn a_chart_says_what_it_leaves_out() {
    let mut t = synth::pipeline(4, 6);
    t.truncated_at = Some(t.end / 2);
    let o = GanttOptions {
        size: Size::Exact { width: 900, height: 300 },
        from: Some(100),
        to: Some(2_000),
        rows: vec!["agents".into(), "slots".into()],
        ..GanttOptions::default()
    };
    let scene = layout(&t, &o).unwrap();
    let all = texts(&scene).join("\n");
    for expected in
        ["Cycles 100 to 2,000 of", "20 of 44 rows chosen", "left out for want of space", "were not recorded"]
    {
        assert!(all.contains(expected), "{expected} is missing from {all}");
    }
}

/// Of many barriers, those that stay in their phase go, but not one that somebody waits for. Of a few, all stay.
#[test]
fn of_many_barriers_those_that_stay_as_they_are_go() {
    let chart = |barriers: usize| {
        let mut b = synth::Builder::default();
        let agent = b.agent(0, "warp", 0);
        b.span(agent, 0, 1000, SpanKind::Stall(Stall::Mbarrier), "");
        let names: Vec<String> = (0..barriers).map(|n| format!("bar{n}")).collect();
        let rows: Vec<u32> = names.iter().map(|n| b.row(0, n, RowKind::Barrier(n.clone()))).collect();
        for row in &rows[1..] {
            b.span(*row, 0, 1000, SpanKind::Hold { filling: false }, "φ0");
        }
        b.span(rows[0], 0, 500, SpanKind::Hold { filling: false }, "φ0");
        b.span(rows[0], 500, 1000, SpanKind::Hold { filling: false }, "φ1");
        let mut t = b.done();
        t.spans[0].on = Some(rows[1]);
        let scene = layout(&t, &GanttOptions::default()).unwrap();
        check(&scene);
        let all: Vec<String> = texts(&scene).iter().map(|s| s.to_string()).collect();
        names
            .into_iter()
            .filter(|n| all.contains(n))
            .chain(all.iter().filter(|s| s.contains("stay")).cloned())
            .collect::<Vec<_>>()
    };
    assert_eq!(chart(12).len(), 12);
    let many = chart(14);
    assert_eq!(many[..2], ["bar0", "bar1"]);
    assert!(many.len() == 3 && many[2].contains("Left out: 12 rows that stay as they are."), "{many:?}");
}

#[test]
fn marks_stand_above_the_rows_and_what_finds_no_place_below() {
    let t = synth::pipeline(1, 10);
    let noted = |cycle, text: &str| Noted { cycle, text: text.into() };
    let mut o = GanttOptions { marks: vec![noted(500, "prologue ends"), noted(900, "steady")], ..Default::default() };
    o.remarks = vec!["Claim held: the ring is full.".into()];
    let scene = layout(&t, &o).unwrap();
    check(&scene);
    let find = |text: &str| {
        let one = |d: &&warpline_viz::gantt::Drawn| matches!(&d.item, Item::Text { text: t, .. } if t == text);
        scene.items.iter().find(one).unwrap_or_else(|| panic!("{text} is missing")).item.area()
    };
    assert!(find("prologue ends").bottom() <= scene.plot.y && find("steady").x > find("prologue ends").x);
    assert!(find("Claim held: the ring is full.").y > scene.plot.bottom());
    // As many marks on one instant do not all have a place.
    o.marks = (0..9).map(|i| noted(500, &format!("mark number {i}"))).collect();
    let scene = layout(&t, &o).unwrap();
    check(&scene);
    let all = texts(&scene).join("\n");
    assert!(all.contains("Mark at cycle 500: mark number ") && all.contains("more marks have no place"), "{all}");
}

#[test]
fn faults_of_one_kind_side_by_side_are_one_label_with_their_number() {
    let mut t = synth::pipeline(1, 10);
    t.sites = vec![SourceLine { file: "k.pipe".into(), line: 7, text: "load".into() }];
    let fault = |cycle: u64, label: &str| Mark { tick: cycle * TICKS, label: label.into(), site: 0 };
    let all = |t: &Timeline| {
        let scene = layout(t, &GanttOptions { to: Some(2000), ..GanttOptions::default() }).unwrap();
        check(&scene);
        texts(&scene).into_iter().filter(|t| t.contains("line 7")).map(str::to_string).collect::<Vec<_>>()
    };
    t.faults = vec![fault(100, "race"), fault(110, "race"), fault(120, "race"), fault(1500, "race")];
    assert_eq!(all(&t), ["race, line 7", "race, line 7 ×3"]);
    // Another between them keeps them apart.
    t.faults = vec![fault(100, "race"), fault(110, "stale"), fault(120, "race")];
    assert_eq!(all(&t), ["race, line 7", "stale, line 7", "race, line 7"]);
}

#[test]
fn what_room_there_is_is_shared_by_the_ctas_of_a_cluster() {
    let rows = |ctas: u32| {
        let mut b = synth::Builder::default();
        for cta in 0..ctas {
            for warp in 0..60 {
                let row = b.agent(cta, "warp", warp);
                b.span(row, 0, 1000, SpanKind::Work(Work::Mma), "");
            }
        }
        let t = b.done();
        let scene = layout(&t, &GanttOptions { size: Size::Slide, ..GanttOptions::default() }).unwrap();
        check(&scene);
        let all = texts(&scene);
        let shown = |warp: u32| all.iter().filter(|t| **t == format!("w{warp}")).count() as u32;
        (shown(0), (0..60).map(shown).sum::<u32>(), (0..60).filter(|w| shown(*w) == ctas).count() as u32)
    };
    let (first, all, both) = rows(2);
    assert!(first == 2 && all < 120 && (all - 2 * both) < 2, "{first} {all} {both}");
    // Of many, the first are shown.
    assert_eq!(rows(8).0, 1);
}

#[test]
fn two_runs_stand_one_under_the_other() {
    let (a, b) = (synth::pipeline(2, 10), synth::pipeline(1, 8));
    let (both, headings) = beside(&a, &b, (Some(1), None));
    assert_eq!(headings.len(), 2);
    let o = GanttOptions { headings, ..GanttOptions::default() };
    let scene = layout(&both, &o).unwrap();
    check(&scene);
    let texts = texts(&scene);
    let of = |start: &str| texts.iter().filter(|t| t.starts_with(start)).count();
    assert_eq!(
        (of("A: Double"), of("B: Double"), texts.iter().filter(|t| t.contains("CTA 1;")).count()),
        (1, 1, 0),
        "{texts:?}"
    );
    assert_eq!(texts.iter().filter(|t| **t == "w4").count(), 2);
}

#[test]
fn mistakes_are_named() {
    let t = synth::pipeline(1, 4);
    let with = |f: fn(&mut GanttOptions)| {
        let mut o = GanttOptions::default();
        f(&mut o);
        svg(&t, &o).unwrap_err().to_string()
    };
    assert!(with(|o| o.rows = vec!["nobody".into()]).starts_with("no row matches `nobody`"));
    assert!(with(|o| o.from = Some(1 << 40)).contains("is empty; the timeline ends at cycle 2068"));
    assert!(with(|o| o.size = Size::Width(10)).contains("out of range"));
    assert!(with(|o| o.scale = 9).contains("scale 9"));
    let mut bad = t.clone();
    bad.spans[0].row = 99;
    assert!(matches!(svg(&bad, &GanttOptions::default()), Err(GanttError::BadRow { row: 99, .. })));
}
