//! `warpline lsp`.

use warpline_api::{Error, Status};
use warpline_lsp::Settings;

use crate::cli::Lsp;

/// Serves an editor, or analyzes one text for the server. Both use the streams of the process.
pub(super) fn lsp(args: &Lsp) -> Result<Status, Error> {
    if args.analyze {
        let input = std::io::BufReader::new(std::io::stdin());
        let done = warpline_lsp::analyze(input, &mut std::io::stdout());
        return done.map(|()| Status::Holds).map_err(|e| Error::new(format!("cannot analyze: {e}")));
    }
    let settings = Settings {
        machine: args.machine.clone(),
        run_seconds: args.run_seconds,
        verify_seconds: args.verify_seconds,
        ..Settings::default()
    };
    let help = "`warpline lsp` is started by an editor; docs/editors.md says how";
    warpline_lsp::serve(settings)
        .map(|()| Status::Holds)
        .map_err(|e| Error::with_help(format!("the language server ended: {e}"), help))
}
