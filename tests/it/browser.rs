//! The page of `warpline report` in a real browser without a window: drawn, used, and quiet on the network. Where there is
//! no Chromium on the `PATH` (Debian: `apt-get install chromium`), it says so and is skipped; `WARPLINE_SCREENSHOTS`
//! names a folder that keeps the pictures, to be looked at. `WARPLINE_AXE` names `axe.min.js` (`npm install axe-core`),
//! whose accessibility rules the page must then pass.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use serde_json::Value;
use warpline::Status;
use warpline_tests::{TempDir, warpline};

/// Longer than a page takes on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(240);

fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let path = env::var_os("PATH").unwrap_or_default();
    let all = names.iter().flat_map(|name| env::split_paths(&path).map(move |p| p.join(name)));
    let found = all.into_iter().find(|p| p.is_file());
    if found.is_none() {
        eprintln!("skipped: the page is not looked at: no Chromium on the PATH");
    }
    found
}

/// Opens a page; what the browser prints.
fn open(browser: &Path, dir: &TempDir, width: u32, page: &Path, flags: &[&str]) -> String {
    let out = dir.path().join("out");
    let profile = format!("--user-data-dir={}", dir.path().join("profile").display());
    let mut command = Command::new(browser);
    // No sandbox: a container's root may have none. No name has an address: a page that asked for one would fail.
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]);
    command.args([
        "--disable-background-networking",
        "--no-first-run",
        &format!("--window-size={width},1600"),
        &profile,
    ]);
    command.args(flags).arg(format!("file://{}", page.display()));
    let mut child = command.stdout(fs::File::create(&out).unwrap()).stderr(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    loop {
        match child.try_wait().unwrap() {
            Some(status) => {
                assert!(status.success(), "{status}");
                return fs::read_to_string(out).unwrap();
            }
            None if begin.elapsed() > PATIENCE => {
                child.kill().unwrap();
                panic!("the browser did not end");
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Notes what goes wrong, before anything else of the page.
const BEFORE: &str = "<script>window.wrong = []; addEventListener('error', e => wrong.push(String(e.message)));
addEventListener('securitypolicyviolation', e => wrong.push('asked for ' + e.blockedURI));</script>";

/// Uses every timeline as a reader would, and leaves what was seen in the page.
const AFTER: &str = r#"<script>
addEventListener('load', () => {
  const seen = [...document.querySelectorAll('.timeline')].map(box => {
    const canvas = box.querySelector('canvas'), range = () => box.querySelector('.range').textContent;
    const press = text => [...box.querySelectorAll('button')].find(b => b.textContent === text).click();
    const colours = () => {
      const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data, all = new Set();
      for (let i = 0; i < data.length; i += 4) all.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
      return all.size;
    };
    const at = (type, x, y) => {
      const r = canvas.getBoundingClientRect();
      canvas.dispatchEvent(new PointerEvent(type, { clientX: r.left + x, clientY: r.top + y, pointerId: 1, bubbles: true }));
    };
    canvas.setPointerCapture = () => {};
    const s = { colours: colours(), start: range(), told: [] };
    press('all'); s.all = range();
    press('+'); s.nearer = range();
    canvas.focus();
    canvas.dispatchEvent(new KeyboardEvent('keydown', { key: '-' })); s.back = range();
    for (let y = 4; y < canvas.clientHeight; y += 8) {
      at('pointermove', canvas.clientWidth / 2, y);
      const text = box.querySelector('.detail').textContent;
      if (text.includes('cycles') && !s.told.includes(text)) s.told.push(text);
    }
    const key = k => {
      canvas.dispatchEvent(new KeyboardEvent('keydown', { key: k }));
      return box.querySelector('.detail').textContent;
    };
    s.keys = ['ArrowDown', ']', 'ArrowDown', 'Escape'].map(key);
    s.wider = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    s.legend = box.querySelectorAll('.legend span').length;
    return s;
  });
  const requests = performance.getEntriesByType('resource').map(r => r.name);
  const no_keys = [...document.querySelectorAll('pre, .wide')].filter(e => e.tabIndex !== 0).length;
  const leave = rules => document.body.dataset.seen = encodeURIComponent(JSON.stringify({ seen, wrong, requests, no_keys, rules }));
  if (window.axe) axe.run(document).then(r => leave(r.violations.map(v => v.id + ': ' + v.nodes[0].html)));
  else leave([]);
});
</script>"#;

#[track_caller]
fn used(name: &str, args: &[&str], status: Status, timelines: usize) {
    let Some(browser) = browser() else { return };
    let dir = TempDir::new();
    let file = dir.file("x.html");
    let said = warpline(&[&["report"], args, &["-o", &file]].concat());
    assert_eq!(said.status, status, "{}", said.err);
    let page = fs::read_to_string(&file).unwrap();
    let page = page.replacen("<head>\n", &format!("<head>\n{BEFORE}\n"), 1);
    let page = page.replacen("</body>", &format!("{}{AFTER}\n</body>", axe()), 1);
    let with = dir.write("used.html", page);
    for width in [1200, 400] {
        seen(&open(&browser, &dir, width, Path::new(&with), &["--virtual-time-budget=20000", "--dump-dom"]), timelines);
    }
    // As it looks, in the light and in the dark, and on a telephone.
    for (theme, width, flags) in [
        ("light", 1200, &[][..]),
        ("dark", 1200, &["--blink-settings=preferredColorScheme=0"][..]),
        ("narrow", 400, &[][..]),
    ] {
        let picture = dir.path().join(format!("{name}_{theme}.png"));
        let to = format!("--screenshot={}", picture.display());
        open(&browser, &dir, width, Path::new(&file), &[&[to.as_str()], flags].concat());
        let bytes = fs::read(&picture).unwrap();
        assert!(bytes.len() > 20_000, "a screenshot of {} bytes shows nothing", bytes.len());
        if let Some(keep) = env::var_os("WARPLINE_SCREENSHOTS") {
            fs::create_dir_all(&keep).unwrap();
            fs::copy(&picture, Path::new(&keep).join(picture.file_name().unwrap())).unwrap();
        }
    }
}

/// The accessibility rules as a script; nothing where `WARPLINE_AXE` names none.
fn axe() -> String {
    let Some(file) = env::var_os("WARPLINE_AXE") else {
        eprintln!("skipped: the rules of axe-core (WARPLINE_AXE names axe.min.js)");
        return String::new();
    };
    format!("<script>{}</script>\n", fs::read_to_string(file).unwrap().replace("</script>", "<\\/script>"))
}

/// Checks what a page left when it was used.
#[track_caller]
fn seen(dom: &str, timelines: usize) {
    let left = dom.split("data-seen=\"").nth(1).unwrap_or_else(|| panic!("the page did not get to its end:\n{dom}"));
    let text = percent(left.split('"').next().unwrap());
    let left: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(left["wrong"], serde_json::json!([]), "{text}");
    assert_eq!(left["requests"], serde_json::json!([]), "{text}");
    assert_eq!(left["rules"], serde_json::json!([]), "rules of accessibility");
    assert_eq!(left["no_keys"], 0, "all that scrolls takes keys");
    let seen = left["seen"].as_array().unwrap();
    assert_eq!(seen.len(), timelines, "{text}");
    for s in seen {
        assert!(s["colours"].as_u64() > Some(5) && s["legend"].as_u64() > Some(2), "it is drawn: {s}");
        assert_ne!(s["all"], s["nearer"], "a button zooms");
        assert_eq!(s["all"], s["back"], "a key zooms back");
        assert!(s["told"].as_array().unwrap().len() > 1, "operations tell what they are: {s}");
        let keys: Vec<&str> = s["keys"].as_array().unwrap().iter().map(|k| k.as_str().unwrap()).collect();
        assert!(keys[..3].iter().all(|k| k.contains("cycles")) && keys[0] != keys[1], "keys choose operations: {s}");
        assert!(keys[3].starts_with("Point at"), "a key chooses none: {s}");
        assert_eq!(s["wider"], 0, "nothing reaches beyond the window");
    }
}

fn percent(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(b) = rest.next() {
        let hex = |b: Option<u8>| (b.unwrap() as char).to_digit(16).unwrap() as u8;
        bytes.push(if b == b'%' { hex(rest.next()) * 16 + hex(rest.next()) } else { b });
    }
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_run_is_drawn_and_can_be_used() {
    used("run", &["metal/triple_buffer", "--set", "k=512"], Status::Holds, 1);
}

#[test]
fn a_fault_has_two_timelines() {
    used("fault", &["museum/m09_expect_without_arrive/bug"], Status::Violated, 2);
}
