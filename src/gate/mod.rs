//! Reports of many verifications, for people and for CI services.
//!
//! ```text
//!   Verifications ──issues──▶ sarif, github, junit
//!         └─────────────────▶ text, json
//! ```

mod github;
mod issues;
mod json;
mod junit;
mod sarif;
mod text;

use warpline_api::{Error, Verifications};

use crate::cli::Format;
use crate::console::Paint;

/// The report in one of the formats.
pub(crate) fn text(all: &Verifications, format: Format, paint: Paint) -> Result<String, Error> {
    match format {
        Format::Text => Ok(text::text(all, paint)),
        Format::Json => json::json(all),
        Format::Junit => junit::junit(all),
        Format::Sarif => sarif::sarif(all),
        Format::Github => Ok(github::github(all)),
    }
}
