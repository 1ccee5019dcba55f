//! An editor: it starts the server as a process and talks to it.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The longest wait for a message: the machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server and the messages that it sent.
pub(super) struct Client {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    /// Notifications and requests of the server that nobody asked for yet.
    kept: VecDeque<Value>,
    requests: i64,
}

impl Client {
    /// Starts the server and initializes it.
    pub(super) fn start(options: &Value) -> Client {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpline-under-test"));
        let mut child = command.args(["lsp", "--stdio"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut client = Client { child, input, messages, kept: VecDeque::new(), requests: 0 };
        let capabilities = json!({ "workspace": { "inlayHint": { "refreshSupport": true } } });
        let parameters = json!({ "capabilities": capabilities, "initializationOptions": options });
        let result = client.request("initialize", parameters);
        assert_eq!(result["serverInfo"]["name"], "warpline");
        assert_eq!(result["capabilities"]["definitionProvider"], true);
        client.notify("initialized", json!({}));
        client
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.input.flush().unwrap();
    }

    /// Tells the server something.
    pub(super) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The whole answer to a request.
    pub(super) fn answer(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let found = |m: &Value| m["id"] == id && m.get("method").is_none();
        self.wait(&found, method)
    }

    /// The result of a request.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The first message that fits; others are kept.
    fn wait(&mut self, found: &dyn Fn(&Value) -> bool, what: &str) -> Value {
        if let Some(at) = self.kept.iter().position(found) {
            return self.kept.remove(at).unwrap();
        }
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left);
            let message = message.unwrap_or_else(|e| panic!("no message for {what}: {e}; kept {:#?}", self.kept));
            if found(&message) {
                return message;
            }
            self.kept.push_back(message);
        }
    }

    /// The next diagnostics of a version that fit.
    pub(super) fn diagnostics(&mut self, version: i64, fits: &dyn Fn(&[Value]) -> bool) -> Vec<Value> {
        let list = |m: &Value| m["params"]["diagnostics"].as_array().cloned().unwrap_or_default();
        let found = |m: &Value| {
            m["method"] == "textDocument/publishDiagnostics" && m["params"]["version"] == version && fits(&list(m))
        };
        list(&self.wait(&found, "diagnostics"))
    }

    /// Opens a document with version 1.
    pub(super) fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "pipe", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Gives a document a new text.
    pub(super) fn change(&mut self, uri: &str, version: i64, text: &str) {
        let document = json!({ "uri": uri, "version": version });
        self.notify(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": [{ "text": text }] }),
        );
    }

    /// A request about a position of a document.
    pub(super) fn at(&mut self, method: &str, uri: &str, position: Value) -> Value {
        self.request(method, json!({ "textDocument": { "uri": uri }, "position": position }))
    }

    /// Ends the server, and checks that it ended well.
    pub(super) fn shut_down(mut self) {
        assert_eq!(self.request("shutdown", Value::Null), Value::Null);
        self.notify("exit", Value::Null);
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server does not end");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // After a test that failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A message with its header; `None` at the end of the stream.
fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            header => length = header.strip_prefix("Content-Length: ").and_then(|n| n.parse().ok()).or(length),
        }
    }
    let mut body = vec![0; length?];
    output.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
