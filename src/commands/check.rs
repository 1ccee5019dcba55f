//! `warpline check`.

use rayon::prelude::*;
use warpline_api::{ClaimResult, Error, Request, Status};
use warpline_sim::words::{number, of, ungrouped};

use crate::cli::Check;
use crate::console::{Console, Paint};
use crate::diagnose;
use crate::progress::Bar;
use crate::show::{self, WIDTH, wrap};

pub(super) fn check(args: &Check, console: &mut Console) -> Result<Status, Error> {
    let all = args.scenarios.is_empty();
    let names = if all { warpline_api::builtin_scenarios() } else { args.scenarios.clone() };
    let (mut status, mut results) = (Status::Holds, Vec::new());
    let mut pages = Vec::new();
    let bar = Bar::pieces(console.look.progress, names.len(), "checking claims".into());
    let found: Vec<_> = names
        .par_iter()
        .map(|name| {
            let claims = one(name);
            bar.step();
            claims
        })
        .collect();
    drop(bar);
    for (name, claims) in names.into_iter().zip(found) {
        match claims {
            Ok(claims) if claims.is_empty() && all => {}
            Ok(claims) => {
                if args.markdown {
                    pages.push((name, claims.clone()));
                } else if !args.quiet {
                    let text = text(&name, &claims, console.paint());
                    console.print(&text)?;
                }
                results.extend(claims);
            }
            // A scenario that cannot run does not prevent the others from being checked.
            Err(error) => {
                console.error(&diagnose::error(&error, console.look.color_err))?;
                status = Status::BadInput;
            }
        }
    }
    let wrong = results.iter().filter(|c| !c.as_stated()).count();
    if wrong > 0 {
        status = status.and(Status::Violated);
    }
    // If nothing could run, the errors are all there is to print.
    let nothing = results.is_empty() && status == Status::BadInput;
    if args.markdown {
        console.print(&show::claims(&pages))?;
    } else if !args.quiet && !nothing {
        let held = results.iter().filter(|c| c.holds == Some(true)).count();
        let refuted = results.iter().filter(|c| c.holds == Some(false)).count();
        let stated = if wrong == 0 { "all as stated".to_string() } else { format!("{wrong} not as stated") };
        console.print(&format!("{}: {held} held, {refuted} refuted; {stated}\n", of(results.len() as i64, "claim")))?;
    }
    Ok(status)
}

fn one(name: &str) -> Result<Vec<ClaimResult>, Error> {
    let request = Request::named(name);
    let subject = warpline_api::load(&request)?;
    warpline_api::claims(&subject, None, &request)
}

fn text(name: &str, claims: &[ClaimResult], paint: Paint) -> String {
    let mut text = format!("{}\n", paint.head(name));
    for c in claims {
        let word = match c.holds {
            Some(true) => "held",
            Some(false) => "refuted",
            None => "unknown",
        };
        text += &format!("  {word:<8} {}\n", wrap(&c.text, WIDTH, 11));
        let values: Vec<String> = c.values.iter().map(|(n, v)| format!("{n} = {}", ungrouped(*v))).collect();
        if let Some(v) = c.computed {
            let unit = c.unit.as_deref().unwrap_or("");
            text += &format!(
                "           {}
",
                format!("computed: {} {unit}", number(v)).trim_end()
            );
        }
        if let Some(instead) = &c.instead {
            text += &format!("           {}\n", wrap(instead, WIDTH, 11));
        }
        let with = if values.is_empty() { String::new() } else { format!(" with {}", values.join(", ")) };
        text += &format!("           {}\n", paint.faint(&wrap(&format!("{}{with}", c.check), WIDTH, 11)));
        if let Some(error) = &c.error {
            text += &format!("           {} {}\n", paint.bad("cannot be computed:"), wrap(error, WIDTH, 31));
        } else if !c.as_stated() {
            text += &format!("           {} the scenario states `{}`\n", paint.bad("CHANGED:"), c.verdict);
        }
    }
    text + "\n"
}
