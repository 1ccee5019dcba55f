//! `warpline explain`: a page for each code of a finding.

use include_dir::{Dir, include_dir};
use warpline_sim::code::Code;

use crate::cli::Explain;
use crate::console::{Console, Paint};
use crate::show::{WIDTH, wrap};
use warpline_api::{Error, Status};

/// The pages, one file for each code.
static PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/docs/explain");

pub(super) fn explain(args: &Explain, console: &mut Console) -> Result<Status, Error> {
    let text = match &args.code {
        None => list(),
        Some(word) => {
            let code: Code = word.parse().map_err(|()| unknown(word))?;
            let page = PAGES.get_file(format!("{code}.md")).and_then(|f| f.contents_utf8());
            let page = page.ok_or_else(|| Error::new(format!("{code} has no page: {}", code.title())))?;
            shown(page, console.paint())
        }
    };
    console.print(&text)?;
    Ok(Status::Holds)
}

/// All codes with their titles, by kind.
fn list() -> String {
    let mut text = String::new();
    for c in Code::ALL {
        text += &format!("{c}  {}\n", wrap(&format!("{}: {}", c.kind().name(), c.title()), WIDTH - 8, 8));
    }
    text + "\n`warpline explain WL0104` says what one is, with an example and the fix\n"
}

/// A page for a terminal: wrapped prose, indented kernels.
fn shown(page: &str, paint: Paint) -> String {
    let mut text = String::new();
    let mut kernel = false;
    for line in page.lines() {
        if line.starts_with("```") {
            kernel = !kernel;
        } else if kernel {
            text += &format!("  {line}\n");
        } else if let Some(title) = line.strip_prefix("# ").or(line.strip_prefix("## ")) {
            text += &format!("{}\n", paint.head(&wrap(title, WIDTH, 0)));
        } else {
            text += &format!("{}\n", wrap(line, WIDTH, 0));
        }
    }
    text
}

fn unknown(word: &str) -> Error {
    let upper = word.to_uppercase();
    let hint = warpline_api::hint(&upper, Code::ALL.iter().map(|c| c.id()));
    Error::with_help(format!("no finding has the code `{word}`"), format!("{hint}`warpline explain` lists them all"))
}
