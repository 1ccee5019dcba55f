//! `warpline lsp` as an editor sees it, and the files for editors.

mod client;
mod grammars;
mod server;
