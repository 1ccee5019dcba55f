//! The terminal viewer: its panes cell by cell and style by style, and any keys on any timeline at any size.
//! After a change that is meant, `INSTA_UPDATE=always cargo test -p warpline-viz tui` brings the frames up to date;
//! read the difference before it is committed.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use warpline_sim::schedule::Act;
use warpline_sim::timeline::{Mark, Row, ScheduledMove, Span, SpanKind, TICKS, Timeline, Work};
use warpline_viz::tui::commands::{TABLE, entries};
use warpline_viz::tui::keys::{Code, Key};
use warpline_viz::tui::script::{Step, script};
use warpline_viz::tui::{Colours, Command, Keymap, Model, Msg, Palette, Runs, State, chart, render, text, update};

use crate::{random, synth};

/// The pipeline of the pictures; as B with another depth.
fn runs(two: bool) -> Runs {
    let model = |t| Model::new(t).unwrap();
    Runs::new(model(synth::pipeline(2, 6)), two.then(|| model(synth::pipeline(2, 8))))
}

fn state(runs: &Runs, size: (u16, u16), colours: Colours, ascii: bool) -> State {
    State::new(runs, size, (0, 4000 * TICKS), Keymap::default(), Palette { colours, ascii })
}

fn play(state: &mut State, runs: &Runs, commands: &str) {
    for step in script(commands).unwrap() {
        match step {
            Step::Do(command, given) => update(state, runs, Msg::Do(command, given)),
            Step::Key(key) => update(state, runs, Msg::Key(key)),
            Step::Dump => {}
        }
    }
}

fn frame(state: &State, runs: &Runs, (width, height): (u16, u16)) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    render(state, runs, &mut buffer);
    buffer
}

/// What is shown at each size after these commands, with its styles.
#[track_caller]
fn panes(name: &str, two: bool, commands: &str) {
    let runs = runs(two);
    for size in [(48, 12), (80, 24), (130, 40)] {
        let mut state = state(&runs, size, Colours::Sixteen, false);
        play(&mut state, &runs, commands);
        let text = text::styled(&frame(&state, &runs, size));
        insta::assert_snapshot!(format!("{name}_{}x{}", size.0, size.1), text);
    }
}

#[test]
fn the_operation_pane() {
    panes("operation", false, "row w4\ngoto 300\nnext-edge\nmore-hops\nmark\nnext-edge\nmark");
}

#[test]
fn the_stalls_pane() {
    panes("stalls", false, "pane");
}

#[test]
fn the_legend() {
    panes("legend", false, "pane\npane");
}

#[test]
fn the_help() {
    panes("help", false, "help\nkey down\nkey down");
}

#[test]
fn the_palette() {
    panes("palette", false, "palette\nkey e\nkey d\nkey g\nkey down");
}

#[test]
fn a_prompt() {
    panes("prompt", false, "key /\nkey A\nkey space\nkey 1");
}

#[test]
fn two_runs_over_each_other() {
    panes("overlay", true, "row w4\ngoto 300\nalign");
}

#[test]
fn the_second_run_alone() {
    panes("second", true, "row w4\ngoto 300\nruns\nruns");
}

#[test]
fn palettes() {
    let runs = runs(false);
    let all = [
        ("true", Colours::True, false),
        ("256", Colours::Indexed, false),
        ("none", Colours::None, false),
        ("ascii", Colours::None, true),
    ];
    for (name, colours, ascii) in all {
        let mut state = state(&runs, (80, 24), colours, ascii);
        play(&mut state, &runs, "row w4\ngoto 300");
        let buffer = frame(&state, &runs, (80, 24));
        insta::assert_snapshot!(format!("palette_{name}"), text::styled(&buffer));
        assert!(!ascii || text::plain(&buffer).is_ascii());
    }
}

#[test]
fn a_chart_without_a_terminal() {
    let runs = runs(false);
    let state = state(&runs, (100, 40), Colours::None, false);
    insta::assert_snapshot!("chart", text::plain(&chart(&state, &runs, 100)));
}

#[test]
fn a_chart_leaves_out_the_ctas_that_do_nothing_in_its_window() {
    let mut t = synth::pipeline(1, 6);
    let end = t.end;
    for cta in 1..40u32 {
        t.rows.push(Row { name: "w0".into(), cta, kind: t.rows[0].kind.clone() });
        let row = t.rows.len() as u32 - 1;
        t.spans.push(Span::new(row, (end, end + 400 * TICKS), SpanKind::Work(Work::Mma)));
    }
    let runs = Runs::new(Model::new(t).unwrap(), None);
    let chart = |window| {
        let palette = Palette { colours: Colours::None, ascii: false };
        text::plain(&chart(&State::new(&runs, (100, 40), window, Keymap::default(), palette), &runs, 100))
    };
    let first = chart((0, end));
    assert!(first.contains("39 idle CTAs left out") && !first.contains("CTA 1\n"), "{first}");
    let whole = chart((0, end + 400 * TICKS));
    assert!(!whole.contains("left out") && whole.contains("▸CTA 39"), "{whole}");
}

/// The text of the frame after these commands, at 120 x 40 and without colours.
fn after(commands: &str) -> String {
    let runs = runs(false);
    let mut state = state(&runs, (120, 40), Colours::None, false);
    play(&mut state, &runs, commands);
    text::plain(&frame(&state, &runs, (120, 40)))
}

#[track_caller]
fn shows(commands: &str, part: &str) {
    let frame = after(commands);
    assert!(frame.contains(part), "`{part}` is missing after\n{commands}\n{frame}");
}

#[test]
fn edges_marks_and_kept_places() {
    shows("goto 100\nmark\ngoto 350.5", "at 350.5, +250.5 from mark a");
    shows("goto 100\nmark\ngoto 300\nmark\nkey '", "last two 200 apart");
    shows("goto 100\nstore 3\ngoto 2000\nkey 3", "at 100");
    shows("palette\nkey g\nkey o\nkey t\nkey o\nkey space\nkey 7\nkey 0\nkey enter", "at 70");
    shows("key g\nkey 8\nkey 0\nkey enter", "at 80");
    shows("key 4", "no position is stored as 4");
    shows("start\nkey ]\nkey [", "at 0");
    shows("end\nkey }", "there is no edge after here");
}

#[test]
fn the_mouse_selects_and_zooms() {
    let runs = runs(false);
    let mut state = state(&runs, (120, 40), Colours::None, false);
    // The middle of the run, on the second of the lines.
    update(&mut state, &runs, Msg::Click(73, 1));
    update(&mut state, &runs, Msg::Click(73, 4));
    update(&mut state, &runs, Msg::Wheel(73, true));
    let frame = text::plain(&frame(&state, &runs, (120, 40)));
    assert!(frame.contains("producer w0: ") && frame.contains(" of 2,847 cycles, 15 a cell"), "{frame}");
}

#[test]
fn searching_and_filtering() {
    shows("search A 0,3\nsearch-next\nsearch-prev", "1 of ");
    shows("search nowhere", "nothing found");
    shows("filter nowhere", "no row has `nowhere` in its name");
    let filtered = after("filter a[");
    assert!(filtered.contains("a[0]") && !filtered.contains("w0"), "{filtered}");
}

#[test]
fn from_a_wait_to_what_woke_it_and_back() {
    let there = after("row w4\ngoto 300\nwaker");
    assert!(!there.contains("nothing is recorded"), "{there}");
    shows("row w4\ngoto 300\nwaker\nback", "at 300");
}

#[test]
fn faults_and_the_moves_of_a_schedule_are_stepped_through() {
    let mut t = synth::pipeline(1, 6);
    let row = t.rows.iter().position(|r| r.name.contains("w4")).unwrap() as u32;
    let of = t.spans.iter().find(|s| s.row == row && s.site.is_some()).unwrap().clone();
    let site = of.site.unwrap();
    t.faults = vec![Mark { tick: of.end, label: "WAR race".into(), site }];
    let made = |tick, act| ScheduledMove { tick, row, site, act };
    t.moves = vec![made(0, Act::Does), made(0, Act::Waits), made(of.end, Act::Breaks)];
    let runs = Runs::new(Model::new(t).unwrap(), None);
    let after = |commands| {
        let mut state = state(&runs, (110, 30), Colours::None, false);
        play(&mut state, &runs, commands);
        text::plain(&frame(&state, &runs, (110, 30)))
    };
    for (commands, part) in [
        ("fault", "1 of 1: WAR race at "),
        ("fault\npane\npane\npane", "fault at "),
        ("move-next", "move 1 of 3: consumer w4 does "),
        ("move-next\nmove-next", "move 2 of 3: consumer w4 waits "),
        ("move-next\nmove-next\nmove-prev", "move 1 of 3"),
        ("move-next\nmove-next\nmove-next", "move 3 of 3: consumer w4 fails "),
        ("end\nmove-next", "the schedule ends here"),
        ("move-prev\nmove-prev\nmove-prev", "the schedule begins here"),
    ] {
        let frame = after(commands);
        assert!(frame.contains(part), "`{part}` is missing after\n{commands}\n{frame}");
    }
    let axis = after("fault").lines().nth(2).unwrap().to_string();
    assert!(after("start").lines().nth(2).unwrap().contains('!'), "{axis}");
    shows("fault", "no fault was met");
    shows("move-next", "the run follows no schedule");
}

#[test]
fn rows_fold_and_move() {
    let frame = after("row a[0]\nfold");
    assert!(frame.contains("▸a ×2") && !frame.contains("a[0]"), "{frame}");
    let moved = after("row a[0]\nrow-down");
    assert!(moved.find("a[1]") < moved.find("a[0]"), "{moved}");
}

#[test]
fn a_cell_that_stands_for_many_says_so() {
    let model = Model::new(synth::dense(100_000)).unwrap();
    let end = 1 << 40;
    let runs = Runs::new(model, None);
    let palette = Palette { colours: Colours::None, ascii: false };
    let state = State::new(&runs, (80, 24), (0, end), Keymap::default(), palette);
    let frame = text::plain(&frame(&state, &runs, (80, 24)));
    assert!(frame.contains('▒') || frame.contains('░'), "{frame}");
    assert!(!frame.contains('━'), "a bar stands for one operation\n{frame}");
}

#[test]
fn small_terminals_say_what_is_needed() {
    let runs = runs(false);
    for (width, height) in [(1, 1), (20, 5), (39, 50), (200, 9)] {
        let state = state(&runs, (width, height), Colours::None, true);
        let text = text::plain(&frame(&state, &runs, (width, height)));
        assert!("needs 40 x 10 cells".starts_with(text.trim()), "{text}");
    }
}

#[test]
fn a_script_names_the_line_that_is_wrong() {
    assert_eq!(script("goto 1\nfly").unwrap_err().0, 2);
    assert_eq!(script("quit now").unwrap_err().0, 1);
    assert_eq!(script("key nothing").unwrap_err().0, 1);
    assert_eq!(script("# a comment\n\ndump").unwrap(), [Step::Dump]);
}

#[test]
fn the_document_has_the_table_of_keys() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/viewer.md");
    let document = std::fs::read_to_string(path).unwrap();
    let table = warpline_viz::tui::commands::markdown();
    assert!(document.contains(&table), "the table in docs/viewer.md is to be\n{table}");
}

#[test]
fn the_help_has_every_command() {
    let runs = runs(false);
    let size = (120, 100);
    let mut state = state(&runs, size, Colours::None, false);
    play(&mut state, &runs, "help");
    let frame = text::plain(&frame(&state, &runs, size));
    for (heading, _) in TABLE {
        assert!(frame.contains(heading), "{heading}");
    }
    for e in entries() {
        assert!(frame.contains(e.help) && frame.contains(e.name), "{}", e.name);
    }
}

fn key() -> impl Strategy<Value = Key> {
    let named = prop_oneof![
        Just(Code::Left),
        Just(Code::Right),
        Just(Code::Up),
        Just(Code::Down),
        Just(Code::PageUp),
        Just(Code::PageDown),
        Just(Code::Home),
        Just(Code::End),
        Just(Code::Tab),
        Just(Code::Enter),
        Just(Code::Esc),
        Just(Code::Backspace),
    ];
    let code = prop_oneof![3 => prop::char::range(' ', '~').prop_map(Code::Char), 1 => any::<char>().prop_map(Code::Char), 3 => named];
    (code, prop::bool::weighted(0.05), prop::bool::weighted(0.05)).prop_map(|(code, ctrl, shift)| Key {
        code,
        ctrl,
        alt: false,
        shift,
    })
}

fn msg() -> impl Strategy<Value = Msg> {
    let all: Vec<Command> = entries().map(|e| e.command).collect();
    let given = prop::option::of("[0-9]{0,6}( [0-9]{1,6})?|[a-z\\[ ]{0,4}");
    prop_oneof![
        4 => key().prop_map(Msg::Key),
        4 => (prop::sample::select(all), given).prop_map(|(c, given)| Msg::Do(c, given)),
        1 => (0..260u16, 0..90u16).prop_map(|(w, h)| Msg::Resize(w, h)),
        1 => (0..100_000u32).prop_map(Msg::Tick),
        1 => (0..260u16, 0..90u16).prop_map(|(x, y)| Msg::Click(x, y)),
        1 => (0..260u16, any::<bool>()).prop_map(|(x, up)| Msg::Wheel(x, up)),
    ]
}

fn palette() -> impl Strategy<Value = Palette> {
    let colours = prop_oneof![Just(Colours::True), Just(Colours::Indexed), Just(Colours::Sixteen), Just(Colours::None)];
    (colours, any::<bool>()).prop_map(|(colours, ascii)| Palette { colours, ascii })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// A frame is drawn after every message, at the size the state knows and at one it does not know yet.
    #[test]
    fn no_keys_on_no_timeline_at_no_size_panic(
        a in random::timeline(),
        b in prop::option::of(random::timeline()),
        size in (0..260u16, 0..90u16),
        window in (any::<u64>(), any::<u64>()),
        palette in palette(),
        msgs in prop::collection::vec(msg(), 0..40),
    ) {
        let model = |t: Timeline| Model::new(t).ok();
        let Some(a) = model(a) else { return Ok(()) };
        let runs = Runs::new(a, b.and_then(model));
        let mut state = State::new(&runs, size, window, Keymap::default(), palette);
        let mut now = size;
        for msg in msgs {
            if let Msg::Resize(w, h) = msg {
                now = (w, h);
            }
            update(&mut state, &runs, msg);
            let drawn = frame(&state, &runs, now);
            prop_assert!(!palette.ascii || text::plain(&drawn).is_ascii());
            prop_assert!(palette.colours != Colours::None || !text::styled(&drawn).contains("Rgb"));
            frame(&state, &runs, size);
        }
        chart(&state, &runs, size.0);
    }
}
