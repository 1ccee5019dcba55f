//! The page of `warpline report`: one file without references to other files.
//!
//! ```text
//!   head         scenario, kernel, machine, parameters
//!   run          time, rate, occupancy and bottleneck
//!   timeline     drawn by `timeline.js` from data in the page; a picture without scripts
//!   time         the time of each role, by work and by wait
//!   path         the critical path
//!   claims       the scenario's claims and their results
//!   proof        the verdict; its counterexample as moves and as a timeline
//! ```

mod html;
mod proof;
mod run;
mod source;

use std::collections::BTreeSet;
use std::ops::Range;

use warpline_sim::timeline::{TICKS, Timeline};
use warpline_viz::gantt::{GanttOptions, svg};
use warpline_viz::web;

use crate::console::Paint;
use crate::show::plain;
use html::{escape, message, p, section};
use warpline_api::ClaimResult;
use warpline_api::Error;
use warpline_api::Recording;
use warpline_api::Verification;

/// The pen of a page, whose markup stands for colors.
const PLAIN: Paint = Paint { color: false };

/// The most spans of a timeline in a page: some megabytes, which a browser draws at once.
const SPANS: usize = 60_000;

/// The record of a run that follows the schedule of a fault.
pub(crate) struct Counterexample {
    pub(crate) timeline: Timeline,
    pub(crate) cluster: u32,
}

/// The whole page.
pub(crate) fn page(
    recording: &Recording,
    claims: &[ClaimResult],
    verified: Option<&Verification>,
    counterexample: Option<&Counterexample>,
) -> Result<String, Error> {
    let Some(simulation) = &recording.simulation else { return Err(Error::new("a saved trace has no report")) };
    let (s, timeline) = (&simulation.subject, &recording.timeline);
    let title = s.title.as_ref().map_or(s.name.clone(), |t| format!("{}: {t}", s.name));
    let mut parts = vec![
        ("run", "The run", run::numbers(simulation)),
        ("timeline", "Timeline", drawn("run", timeline, s.program.cluster, recording.opening.clone())?),
        ("time", "Where the time goes", run::roles(simulation)),
        ("source", "The kernel", source::source(simulation)),
        ("path", "Critical path", run::path(timeline)),
        ("claims", "Claims", run::claims(claims)),
    ];
    if let Some(v) = verified {
        let at = match counterexample {
            Some(c) => drawn("fault", &c.timeline, c.cluster, None)?,
            None => String::new(),
        };
        parts.push(("proof", "Verification", proof::proof(v, &at)));
    }
    parts.retain(|part| !part.2.is_empty());
    let nav: String = parts.iter().map(|(id, name, _)| format!("<a href=\"#{id}\">{name}</a>")).collect();
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:; font-src data:\">\n\
         <title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
        escape(&title),
        include_str!("page.css"),
    );
    out += &format!(
        "<header>\n<h1>{}</h1>\n{}<nav aria-label=\"parts of the page\">{nav}</nav>\n</header>\n<main>\n",
        escape(&title),
        run::head(simulation)
    );
    parts.iter().for_each(|(id, name, inside)| out += &section(id, name, inside));
    out += "</main>\n";
    out +=
        &format!("<footer class=\"small\"><p>Made by warpline {}.</p></footer>\n", escape(env!("CARGO_PKG_VERSION")));
    Ok(out + &format!("<script>\n{}</script>\n</body>\n</html>\n", include_str!("timeline.js")))
}

/// A timeline: data for the script, and a picture for browsers without scripts.
fn drawn(id: &str, t: &Timeline, ctas: u32, opening: Option<Range<u64>>) -> Result<String, Error> {
    let (data, cut) = web::data(t, ctas, SPANS, opening.clone());
    let options = GanttOptions {
        from: opening.as_ref().map(|o| o.start),
        to: opening.map(|o| o.end),
        ctas: Some(ctas),
        title: false,
        ..GanttOptions::default()
    };
    let picture = svg(t, &options).map_err(|e| Error::new(e.to_string()))?;
    let mouse = "Drag to move; ctrl and the wheel, or the buttons, zoom. An arrow leads to an operation from what woke or \
                 started it.";
    let keys = "Keys, once the timeline has the focus: `left` and `right` move, `+` and `-` zoom, `a` shows the whole \
                run, `up` and `down` choose a row, `[` and `]` an operation of the row, `w` what woke or started it, \
                `esc` none.";
    let mut out = format!("<p class=\"small\">{}</p>\n<p class=\"small\">{}</p>\n", escape(mouse), message(keys));
    let recorded = t.rows.iter().map(|r| r.cta).collect::<BTreeSet<u32>>().len();
    if recorded > ctas as usize {
        let shown = if ctas == 1 { "the first CTA".to_string() } else { format!("the first {ctas} CTAs") };
        out += &p(&format!("Shown is {shown} of the {recorded} that were recorded; `warpline view` has all."));
    }
    if let Some(tick) = cut.into_iter().chain(t.truncated_at).min() {
        out += &p(&format!(
            "The page carries the first {} operations; later ones, from cycle {} on, are not shown.",
            crate::show::count(SPANS as i64),
            plain(tick as f64 / TICKS as f64)
        ));
    }
    out += &format!("<div class=\"timeline\" data-of=\"data-{id}\"></div>\n<noscript>{picture}</noscript>\n");
    Ok(out + &format!("<script type=\"application/json\" id=\"data-{id}\">{data}</script>\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_page_asks_nobody_for_anything() {
        let recording = sample::recorded("a <b> & c");
        let page = page(&recording, &[], None, None).expect("a page");
        for part in ["src=", "url(", "@import", "fetch(", "XMLHttp", "<b>"] {
            let stripped: String = page.split("<noscript>").flat_map(|s| s.rsplit("</noscript>").next()).collect();
            assert!(!stripped.contains(part), "{part}");
        }
        assert!(page.contains("a &lt;b&gt; &amp; c"));
    }
}
