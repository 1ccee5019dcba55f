//! `warpline recheck`.

use std::fmt::Write;

use warpline_recheck::{Certificate, Checked, Proof, Refusal, TRUSTED};

use crate::cli::Recheck;
use crate::console::Console;
use crate::show::{WIDTH, wrap};
use warpline_api::{Error, Status, refusal_words};
use warpline_sim::words::of;

pub(super) fn recheck(args: &Recheck, console: &mut Console) -> Result<Status, Error> {
    let text = warpline_api::read(&args.certificate)?;
    let name = args.certificate.display();
    let unreadable = |why: String| Error::new(format!("`{name}` is not a certificate: {why}"));
    let certificate = warpline_recheck::read(&text).map_err(|refusal| unreadable(refusal_words(&refusal)))?;
    let statement = &certificate.statement;
    let mut machine = warpline_api::machine_named(args.machine.as_deref().unwrap_or(&statement.machine))?;
    for number in &statement.machine_numbers {
        warpline_api::set_machine(&mut machine, &number.key, number.value)?;
    }
    let (status, text) = match warpline_recheck::recheck(&certificate, &machine, args.delays) {
        Ok(checked) => (Status::Holds, valid(&certificate, checked)),
        Err(Refusal::Unreadable(why)) => return Err(unreadable(why)),
        Err(refusal @ Refusal::Rejected { .. }) => {
            (Status::Violated, wrap(&format!("REJECTED: {}", refusal_words(&refusal)), WIDTH, 2) + "\n")
        }
        Err(Refusal::NotChecked(why)) => (Status::GaveUp, wrap(&format!("NOT CHECKED: {why}"), WIDTH, 2) + "\n"),
    };
    if !args.quiet {
        console.print(&text)?;
    }
    Ok(status)
}

/// The statement of a valid certificate, the checks made, and the trusted base.
fn valid(c: &Certificate, checked: Checked) -> String {
    let s = &c.statement;
    let tiles = c.cells.iter().find_map(|cell| match &cell.proof {
        Proof::Trips(proof) => proof.tiles,
        _ => None,
    });
    let turns = s.turns.as_ref().filter(|_| tiles.is_none());
    let varied: Vec<String> = [("n", s.trips.as_ref()), ("t", turns)]
        .into_iter()
        .filter_map(|(n, f)| Some((n, f?)))
        .map(|(n, f)| {
            let zero = if f.zero == 0 { String::new() } else { format!(" + {}", f.zero) };
            format!("{} = {n} x {}{zero}", f.symbol, f.step)
        })
        .chain(s.sizes.iter().map(|name| format!("every {name}")))
        .collect();
    let is_varied = |name: &str| s.symbols.iter().any(|x| x.varied && x.name == name);
    let bound = s.values.iter().filter(|v| !is_varied(&v.name)).map(|v| format!("{} = {}", v.name, v.value));
    let bound: Vec<String> = bound.chain(tiles.map(|n| format!("{n} tiles are handed out"))).collect();
    let list = |words: &[String]| if words.is_empty() { "nothing".to_string() } else { words.join(", ") };
    let mut text = format!("VALID: kernel {} on {}\n", s.kernel, s.machine);
    let mut row = |name: &str, value: &str| writeln!(text, "  {name:<9}{}", wrap(value, WIDTH, 11)).ok();
    row("varied", &list(&varied));
    row("bound", &list(&bound));
    row("excluded", &s.excludes.join(", "));
    let Checked { cells, cases, delayed, comparisons, .. } = checked;
    row(
        "checked",
        &[of(cells as i64, "cell"), of(cases as i64, "base case"), of(comparisons as i64, "comparison")].join(", "),
    );
    row("", &format!("each access delayed in {delayed} of the base cases, to decide races without clocks"));
    for (i, what) in TRUSTED.iter().enumerate() {
        row(if i == 0 { "trusted" } else { "" }, what);
    }
    text
}
