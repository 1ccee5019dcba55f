//! The kernel's text with the waits of each line in the margin.

use std::collections::BTreeMap;

use warpline_api::Simulation;
use warpline_sim::ir::Site;
use warpline_sim::words;

use super::html::{escape, p};
use crate::show::percent;

/// The smallest share of a role's time that is written in the margin.
const SMALL: f64 = 0.001;

/// The most lines that are shown at once; a longer listing scrolls in its own box.
const SHORT: usize = 150;

/// A statement that leads to its line of the listing.
pub(super) fn link(site: &Site) -> String {
    link_to(site.line, &site.text)
}

/// A statement, by its line and its text, that leads to its line of the listing.
pub(super) fn link_to(line: u32, text: &str) -> String {
    format!("<a href=\"#L{line}\"><code>{line}  {}</code></a>", escape(text))
}

/// The waits of a line: of each role, the share of its time and the cause of the longest.
fn margins(simulation: &Simulation) -> BTreeMap<u32, Vec<(f64, String)>> {
    let mut margins: BTreeMap<u32, Vec<(f64, String)>> = BTreeMap::new();
    let program = &simulation.subject.program;
    for role in &simulation.report.roles {
        let mut lines: BTreeMap<u32, (f64, f64, String)> = BTreeMap::new();
        for (index, stall, share) in &role.at {
            let Some(site) = program.sites.get(*index as usize) else { continue };
            let (sum, longest, cause) = lines.entry(site.line).or_insert_with(|| (0.0, 0.0, String::new()));
            *sum += share;
            if *share > *longest {
                (*longest, *cause) = (*share, words::wait(program, *index, *stall));
            }
        }
        for (line, (sum, _, cause)) in lines.into_iter().filter(|l| l.1.0 >= SMALL) {
            margins.entry(line).or_default().push((sum, format!("{} {} %, {cause}", role.name, percent(sum))));
        }
    }
    margins.values_mut().for_each(|waits| waits.sort_by(|a, b| b.0.total_cmp(&a.0)));
    margins
}

/// The whole listing.
pub(super) fn source(simulation: &Simulation) -> String {
    let s = &simulation.subject;
    let Some(text) = s.sources.get(&s.program.file) else { return String::new() };
    let margins = margins(simulation);
    let mut out = p("Beside a line stands how long each role waits there, in % of its time, and for what most of it.");
    // A compiled kernel has thousands of lines, and sections follow.
    let long = if text.lines().count() > SHORT { " long" } else { "" };
    out += &format!("<div class=\"wide{long}\" tabindex=\"0\"><table class=\"source\">\n");
    for (n, line) in (1u32..).zip(text.lines()) {
        let waits = margins.get(&n).map_or(&[][..], Vec::as_slice);
        let longest = waits.first().map_or(0.0, |w| w.0);
        let heat =
            if longest > 0.0 { format!(" style=\"--heat:{:.0}%\"", longest.min(1.0) * 100.0) } else { String::new() };
        let words: Vec<String> = waits.iter().map(|w| escape(&w.1)).collect();
        out += &format!(
            "<tr id=\"L{n}\"{heat}><td class=\"n\">{n}</td><td class=\"waits\">{}</td><td><code>{}</code></td></tr>\n",
            words.join("<br>"),
            escape(line)
        );
    }
    out + "</table></div>\n"
}
