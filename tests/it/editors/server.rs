//! A session with the server: errors while typing, hover, definitions, formatting, hints, verdicts.

use serde_json::{Value, json};
use warpline_tests::TempDir;

use super::client::Client;

const KERNEL: &str = include_str!("../../../scenarios/hopper/tma_warp_specialized.pipe");
const SCENARIO: &str = include_str!("../../../scenarios/hopper/tma_warp_specialized.toml");

/// A kernel whose proof takes tens of turns of the server.
const SLOW: &str = include_str!("../../../scenarios/hopper/pingpong.pipe");
const SLOW_SCENARIO: &str = include_str!("../../../scenarios/hopper/pingpong.toml");

/// A folder with the kernel and its scenario, and the URI of the kernel.
fn project(kernel: &str) -> (TempDir, String) {
    with_scenario("tma_warp_specialized", SCENARIO, kernel)
}

/// The same for a scenario of this name.
fn with_scenario(name: &str, scenario: &str, kernel: &str) -> (TempDir, String) {
    let dir = TempDir::new();
    dir.write(&format!("{name}.toml"), scenario);
    let file = dir.write(&format!("{name}.pipe"), kernel);
    (dir, format!("file://{file}"))
}

/// The position of the n-th occurrence of a piece of text, some characters on.
fn position(text: &str, piece: &str, n: usize, inside: usize) -> Value {
    let at = text.match_indices(piece).nth(n).unwrap_or_else(|| panic!("{piece}")).0 + inside;
    let before = &text[..at];
    let line = before.matches('\n').count();
    json!({ "line": line, "character": before.rsplit('\n').next().unwrap().encode_utf16().count() })
}

fn message(d: &Value) -> &str {
    d["message"].as_str().unwrap()
}

#[test]
fn an_editor_sees_errors_hover_definitions_format_hints_and_the_verdict() {
    let broken = KERNEL.replace("commit wgmma", "comit wgmma");
    let (_dir, uri) = project(&broken);
    let mut client = Client::start(&json!({}));
    client.open(&uri, &broken);
    let errors = client.diagnostics(1, &|_| true);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert!(message(&errors[0]).contains("`comit` is not a statement"), "{errors:#?}");
    assert!(message(&errors[0]).contains("did you mean `commit`?"), "{errors:#?}");
    assert_eq!(errors[0]["range"]["start"], position(&broken, "comit wgmma", 0, 0));
    assert_eq!(errors[0]["range"]["end"], position(&broken, "comit wgmma", 0, 5));
    assert_eq!(client.at("textDocument/definition", &uri, position(&broken, "full[i %", 0, 1))["uri"], uri);

    let asks = json!({ "textDocument": { "uri": uri }, "range": errors[0]["range"], "context": { "diagnostics": [] } });
    let fixes = client.request("textDocument/codeAction", asks);
    assert_eq!(fixes[0]["title"], "Write `commit` instead of `comit`", "{fixes}");
    let edit = &fixes[0]["edit"]["changes"][&uri][0];
    assert_eq!(
        (&edit["newText"], &edit["range"]["start"]),
        (&json!("commit"), &position(&broken, "comit wgmma", 0, 0))
    );

    // Nothing is verified while typing, and the run gives hints.
    let spaced = KERNEL.replace("commit wgmma", "commit  wgmma");
    client.change(&uri, 2, &spaced);
    assert_eq!(client.diagnostics(2, &|_| true), Vec::<Value>::new());
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let asks = json!({ "textDocument": { "uri": uri }, "range": range });
    let labels = |hints: &Value| -> Vec<String> {
        hints.as_array().unwrap().iter().map(|h| h["label"].as_str().unwrap().to_string()).collect()
    };
    let mut hints = client.request("textDocument/inlayHint", asks.clone());
    for _ in 0..600 {
        if labels(&hints).iter().any(|l| l.contains("waits")) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        hints = client.request("textDocument/inlayHint", asks.clone());
    }
    let labels = labels(&hints);
    assert!(labels.iter().any(|l| l == " = 64"), "the value of `tiles`: {labels:?}");
    assert!(labels.iter().any(|l| l.contains("math waits") && l.contains("matrix unit")), "{labels:?}");

    let hover = client.at("textDocument/hover", &uri, position(&spaced, "wait full", 0, 6));
    let text = hover["contents"]["value"].as_str().unwrap();
    for part in
        ["mbar full[stages] (1)", "4 mbarriers", "**Cost** each time", "**Waits**: math", "Acquires what", "*Fault:*"]
    {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
    let hover = client.at("textDocument/hover", &uri, position(&spaced, "tma A", 0, 1));
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(text.contains("cp.async.bulk.tensor") && text.contains("**Engine**"), "{text}");

    let found = |client: &mut Client, p: Value| client.at("textDocument/definition", &uri, p)["range"]["start"].clone();
    assert_eq!(found(&mut client, position(&spaced, "signals full", 1, 8)), position(&spaced, "full[stages]", 0, 0));
    assert_eq!(found(&mut client, position(&spaced, "bytes(a)", 0, 6)), position(&spaced, "a[stages]", 0, 0));
    assert_eq!(found(&mut client, position(&spaced, "% stages", 0, 3)), position(&spaced, "stages = 4", 0, 0));
    assert_eq!(found(&mut client, position(&spaced, "load: elect", 0, 0)), position(&spaced, "load = warp", 0, 0));
    assert_eq!(found(&mut client, position(&spaced, "warps 12", 0, 0)), Value::Null);

    let options = json!({ "tabSize": 2, "insertSpaces": true });
    let edits =
        client.request("textDocument/formatting", json!({ "textDocument": { "uri": uri }, "options": options }));
    assert_eq!(edits[0]["newText"], KERNEL);

    let items = client.at("textDocument/completion", &uri, position(&spaced, "wait full", 0, 0));
    let offered: Vec<&str> = items.as_array().unwrap().iter().map(|i| i["label"].as_str().unwrap()).collect();
    assert!(["full", "stages", "i", "wgmma", "multicast"].iter().all(|w| offered.contains(w)), "{offered:?}");

    client.change(&uri, 3, KERNEL);
    client.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    let verdict = client.diagnostics(3, &|all| all.iter().any(|d| message(d).starts_with("proved")));
    assert!(message(&verdict[0]).contains("every trip count of `k`"), "{verdict:#?}");
    client.shut_down();
}

#[test]
fn a_fault_of_the_verdict_is_at_its_statements() {
    let faulty = KERNEL.replace("wait wgmma <= 1", "wait wgmma <= 2");
    let (_dir, uri) = project(&faulty);
    let mut client = Client::start(&json!({ "runSeconds": 0 }));
    client.open(&uri, &faulty);
    let found = client.diagnostics(1, &|all| all.iter().any(|d| message(d).starts_with("violated")));
    let race = found.iter().find(|d| d["code"] == "WL0104").unwrap_or_else(|| panic!("{found:#?}"));
    assert_eq!(race["severity"], 1);
    let place = race["relatedInformation"][0]["location"]["uri"].as_str();
    assert_eq!(place, Some(uri.as_str()), "{race:#}");
    let start = race["range"]["start"].clone();
    let hover = client.at("textDocument/hover", &uri, start);
    assert!(hover["contents"]["value"].as_str().unwrap().contains("**WL0104: "), "{hover}");
    client.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    client.shut_down();
}

#[test]
fn a_kernel_that_takes_too_long_is_stopped_and_the_server_goes_on() {
    let (_dir, uri) = with_scenario("pingpong", SLOW_SCENARIO, SLOW);
    let mut client = Client::start(&json!({ "verifySeconds": 0.001, "runSeconds": 0 }));
    client.open(&uri, SLOW);
    let stopped = client.diagnostics(1, &|all| !all.is_empty());
    assert!(message(&stopped[0]).contains("the verification was stopped after 0.001 s"), "{stopped:#?}");
    assert_eq!(stopped[0]["severity"], 2);
    let hover = client.at("textDocument/hover", &uri, position(SLOW, "elect", 0, 1));
    assert!(hover["contents"]["value"].as_str().unwrap().contains("splits the warp"), "{hover}");
    let error = client.answer("textDocument/rename", json!({}));
    assert_eq!(error["error"]["code"], -32601);
    client.shut_down();
}
