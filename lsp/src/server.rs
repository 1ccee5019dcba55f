//! The main loop: messages of the editor, and news of the jobs.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{self as notifications, Notification as _};
use lsp_types::request::{self as requests, Request as _};
use lsp_types::{
    CompletionOptions, HoverProviderCapability, InitializeParams, InlayHintServerCapabilities, Location, OneOf,
    PublishDiagnosticsParams, SaveOptions, ServerCapabilities, TextDocumentPositionParams, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions, Uri,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use warpline_api::editor::KernelText;

use crate::analysis::{Job, Part, Stage};
use crate::document::{Analysis, Document, Unfinished, path};
use crate::job::{Event, Limits, News, Program, start};
use crate::settings::{Settings, seconds};
use crate::{complete, fix, format, hints, hover, messages};

/// An error that ends the server: the editor broke the protocol or closed the streams.
pub type Failure = Box<dyn std::error::Error + Sync + Send>;

/// Runs the server over the standard streams, until the editor ends it.
///
/// # Errors
/// An editor that breaks the protocol, and streams that fail.
pub fn serve(settings: Settings) -> Result<(), Failure> {
    let path = std::env::current_exe()?;
    let program = Program { path, args: vec!["lsp".to_string(), "--analyze".to_string()] };
    let (connection, threads) = Connection::stdio();
    let (id, parameters) = connection.initialize_start()?;
    let parameters: InitializeParams = serde_json::from_value(parameters)?;
    let result = serde_json::json!({
        "capabilities": capabilities(),
        "serverInfo": { "name": "warpline", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, result)?;
    let settings = merged(settings, parameters.initialization_options.as_ref());
    let refreshes = refreshes(&parameters);
    let (sender, news) = unbounded();
    let mut server = Server {
        out: connection.sender.clone(),
        news: sender,
        program,
        settings,
        refreshes,
        documents: BTreeMap::new(),
        sent: 0,
    };
    server.run(&connection, &news)?;
    // The writer ends when the last sender is dropped.
    drop((server, connection));
    threads.join()?;
    Ok(())
}

/// The settings of the command line with those of the editor; a setting that is not readable changes nothing.
fn merged(settings: Settings, options: Option<&Value>) -> Settings {
    let number = |name: &str, old: f64| options.and_then(|o| o.get(name)?.as_f64()).unwrap_or(old);
    let machine = options.and_then(|o| o.get("machine")?.as_str()).filter(|m| !m.is_empty());
    Settings {
        machine: machine.map(str::to_string).or(settings.machine),
        check_seconds: number("checkSeconds", settings.check_seconds),
        run_seconds: number("runSeconds", settings.run_seconds),
        verify_seconds: number("verifySeconds", settings.verify_seconds),
        delay_ms: number("delayMs", settings.delay_ms),
    }
}

/// Whether the editor asks for inlay hints again when told to.
fn refreshes(parameters: &InitializeParams) -> bool {
    let workspace = parameters.capabilities.workspace.as_ref();
    workspace.and_then(|w| w.inlay_hint.as_ref()).and_then(|h| h.refresh_support).unwrap_or(false)
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::FULL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
            ..TextDocumentSyncOptions::default()
        })),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        inlay_hint_provider: Some(OneOf::Right(InlayHintServerCapabilities::Options(
            lsp_types::InlayHintOptions::default(),
        ))),
        code_action_provider: Some(lsp_types::CodeActionProviderCapability::Simple(true)),
        completion_provider: Some(CompletionOptions::default()),
        ..ServerCapabilities::default()
    }
}

struct Server {
    out: Sender<Message>,
    news: Sender<News>,
    program: Program,
    settings: Settings,
    refreshes: bool,
    /// Open kernels by URI.
    documents: BTreeMap<String, Document>,
    /// Number of requests sent to the editor.
    sent: i32,
}

impl Server {
    fn run(&mut self, connection: &Connection, news: &Receiver<News>) -> Result<(), Failure> {
        loop {
            crossbeam_channel::select! {
                recv(connection.receiver) -> message => match message {
                    Ok(Message::Request(request)) => {
                        if connection.handle_shutdown(&request)? {
                            return Ok(());
                        }
                        let response = self.answer(request);
                        self.out.send(response.into())?;
                    }
                    Ok(Message::Notification(n)) => {
                        // A panic leaves the text without an outline or analysis until the next change.
                        catch_unwind(AssertUnwindSafe(|| self.notice(n))).unwrap_or(Ok(()))?;
                    }
                    // Answers to refreshes say nothing.
                    Ok(Message::Response(_)) => {}
                    Err(_) => return Ok(()),
                },
                recv(news) -> event => if let Ok(event) = event { self.learn(event)?; },
            }
        }
    }

    /// The answer to a request. A panic becomes an error of this request.
    fn answer(&self, request: Request) -> Response {
        let (id, method) = (request.id.clone(), request.method.clone());
        let answered = catch_unwind(AssertUnwindSafe(|| self.value(request)));
        match answered {
            Ok(Ok(value)) => Response::new_ok(id, value),
            Ok(Err(Refused { code, message })) => Response::new_err(id, code as i32, message),
            Err(_) => Response::new_err(
                id,
                ErrorCode::InternalError as i32,
                format!("`{method}` failed: an error of warpline"),
            ),
        }
    }

    fn value(&self, request: Request) -> Result<Value, Refused> {
        match request.method.as_str() {
            requests::HoverRequest::METHOD => {
                let p = parameters::<lsp_types::HoverParams>(request)?.text_document_position_params;
                json(self.at(&p).and_then(|(d, offset)| hover::hover(d, offset)))
            }
            requests::GotoDefinition::METHOD => {
                let p = parameters::<lsp_types::GotoDefinitionParams>(request)?.text_document_position_params;
                let found = self.at(&p).and_then(|(d, offset)| Some(d.range(&d.outline.declaration_at(offset)?.span)));
                json(found.map(|range| Location { uri: p.text_document.uri.clone(), range }))
            }
            requests::References::METHOD => {
                let p = parameters::<lsp_types::ReferenceParams>(request)?.text_document_position;
                let found = self.at(&p).and_then(|(d, offset)| {
                    let spans = d.outline.references(d.outline.declaration_at(offset)?);
                    let location = |s| Location { uri: p.text_document.uri.clone(), range: d.range(&s) };
                    Some(spans.into_iter().map(location).collect::<Vec<_>>())
                });
                json(found)
            }
            requests::Formatting::METHOD => {
                let p = parameters::<lsp_types::DocumentFormattingParams>(request)?;
                json(self.document(&p.text_document.uri).and_then(format::edits))
            }
            requests::InlayHintRequest::METHOD => {
                let p = parameters::<lsp_types::InlayHintParams>(request)?;
                json(self.document(&p.text_document.uri).map(|d| hints::hints(d, &p.range)))
            }
            requests::CodeActionRequest::METHOD => {
                let p = parameters::<lsp_types::CodeActionParams>(request)?;
                let uri = &p.text_document.uri;
                json(self.document(uri).map(|d| fix::fixes(d, uri, &p.range)))
            }
            requests::Completion::METHOD => {
                let p = parameters::<lsp_types::CompletionParams>(request)?.text_document_position;
                json(self.at(&p).map(|(d, offset)| complete::items(d, offset)))
            }
            other => Err(Refused { code: ErrorCode::MethodNotFound, message: format!("`{other}` is not supported") }),
        }
    }

    fn document(&self, uri: &Uri) -> Option<&Document> {
        self.documents.get(uri.as_str())
    }

    /// The document and byte offset of a position.
    fn at(&self, p: &TextDocumentPositionParams) -> Option<(&Document, usize)> {
        let document = self.document(&p.text_document.uri)?;
        Some((document, document.offset(p.position)))
    }

    fn notice(&mut self, n: Notification) -> Result<(), Failure> {
        match n.method.as_str() {
            notifications::DidOpenTextDocument::METHOD => {
                let Some(p) = told::<lsp_types::DidOpenTextDocumentParams>(n) else { return Ok(()) };
                let d = p.text_document;
                self.documents.insert(d.uri.as_str().to_string(), Document::new(d.version, d.text));
                self.analyze(&d.uri, true);
            }
            notifications::DidChangeTextDocument::METHOD => {
                let Some(mut p) = told::<lsp_types::DidChangeTextDocumentParams>(n) else { return Ok(()) };
                let (uri, version) = (p.text_document.uri, p.text_document.version);
                // The text is sent whole, so only the last change counts.
                if let (Some(change), Some(d)) = (p.content_changes.pop(), self.documents.get_mut(uri.as_str())) {
                    d.change(version, change.text);
                    self.analyze(&uri, false);
                }
            }
            notifications::DidSaveTextDocument::METHOD => {
                if let Some(p) = told::<lsp_types::DidSaveTextDocumentParams>(n) {
                    self.analyze(&p.text_document.uri, true);
                }
            }
            notifications::DidCloseTextDocument::METHOD => {
                let Some(p) = told::<lsp_types::DidCloseTextDocumentParams>(n) else { return Ok(()) };
                if self.documents.remove(p.text_document.uri.as_str()).is_some() {
                    self.publish(p.text_document.uri, None, Vec::new())?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Starts the analysis of a document; the analysis of an older text ends.
    fn analyze(&mut self, uri: &Uri, verify: bool) {
        let settings = &self.settings;
        let (Some(path), Some(document)) = (path(uri), self.documents.get_mut(uri.as_str())) else { return };
        let kernel = KernelText { path, text: document.text.clone(), machine: settings.machine.clone() };
        let job = Job { kernel, run: settings.run_seconds > 0.0, verify: verify && settings.verify_seconds > 0.0 };
        let limits = Limits {
            delay: if verify { Duration::ZERO } else { seconds(settings.delay_ms / 1000.0) },
            check: seconds(settings.check_seconds),
            run: seconds(settings.run_seconds),
            verify: seconds(settings.verify_seconds),
        };
        let at = (uri.clone(), document.version);
        document.running = None;
        document.running = Some(start(self.program.clone(), job, at, limits, self.news.clone()));
    }

    /// Takes over the result of a job.
    fn learn(&mut self, news: News) -> Result<(), Failure> {
        let Some(d) = self.documents.get_mut(news.uri.as_str()).filter(|d| d.version == news.version) else {
            return Ok(());
        };
        let restart = |d: &mut Document| d.analysis = Analysis { text: d.text.clone(), ..Analysis::default() };
        match news.event {
            Event::Stage(stage) => match *stage {
                Stage::Check(checked) => {
                    restart(d);
                    d.analysis.checked = Some(checked);
                }
                Stage::Run(measured) => d.analysis.measured = Some(measured),
                Stage::Verify(proved) => d.analysis.proved = Some(proved),
            },
            Event::TimedOut(part, limit) => {
                if part == Part::Check {
                    restart(d);
                }
                d.analysis.unfinished = Some(Unfinished::TimedOut(part, limit));
            }
            Event::Failed(part, why) => {
                if part == Part::Check {
                    restart(d);
                }
                d.analysis.unfinished = Some(Unfinished::Failed(part, why));
            }
            Event::Done => {
                d.running = None;
                return Ok(());
            }
        }
        let all = messages::diagnostics(d, &news.uri);
        self.publish(news.uri, Some(news.version), all)?;
        if self.refreshes {
            self.sent += 1;
            let id = RequestId::from(format!("refresh {}", self.sent));
            let request = Request::new(id, requests::InlayHintRefreshRequest::METHOD.to_string(), ());
            self.out.send(request.into())?;
        }
        Ok(())
    }

    fn publish(&self, uri: Uri, version: Option<i32>, diagnostics: Vec<lsp_types::Diagnostic>) -> Result<(), Failure> {
        let parameters = PublishDiagnosticsParams { uri, diagnostics, version };
        let method = notifications::PublishDiagnostics::METHOD.to_string();
        Ok(self.out.send(Notification::new(method, parameters).into())?)
    }
}

/// A request without an answer.
struct Refused {
    code: ErrorCode,
    message: String,
}

fn parameters<P: DeserializeOwned>(request: Request) -> Result<P, Refused> {
    serde_json::from_value(request.params)
        .map_err(|e| Refused { code: ErrorCode::InvalidParams, message: format!("`{}`: {e}", request.method) })
}

fn json(value: impl serde::Serialize) -> Result<Value, Refused> {
    serde_json::to_value(value).map_err(|e| Refused { code: ErrorCode::InternalError, message: e.to_string() })
}

/// The parameters of a notification; one that is not readable is ignored, as the protocol asks.
fn told<P: DeserializeOwned>(n: Notification) -> Option<P> {
    serde_json::from_value(n.params).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_editor_come_before_those_of_the_command_line() {
        let line = Settings { machine: Some("h200".into()), verify_seconds: 3.0, ..Settings::default() };
        let options = serde_json::json!({ "runSeconds": 0, "machine": null });
        let both = merged(line.clone(), Some(&options));
        assert_eq!(both, Settings { run_seconds: 0.0, ..line.clone() });
        assert_eq!(merged(line.clone(), Some(&serde_json::json!({ "runSeconds": "x" }))), line);
        assert_eq!(merged(line.clone(), None), line);
    }
}
