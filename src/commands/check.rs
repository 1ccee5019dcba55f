//! `warpline check`.

use rayon::prelude::*;

use crate::claims::{self, Judged};
use crate::cli::{Check, Subject};
use crate::console::{Console, Paint};
use crate::failure::{Failure, Status};
use crate::load;
use crate::progress::Progress;
use crate::show::{WIDTH, exact, wrap};

pub(super) fn check(args: &Check, console: &mut Console) -> Result<Status, Failure> {
    let all = args.scenarios.is_empty();
    let names = if all { load::builtin_scenarios() } else { args.scenarios.clone() };
    let (mut status, mut judged) = (Status::Holds, Vec::new());
    let mut pages = Vec::new();
    let progress = Progress::of(console.look.progress, names.len(), "checking claims".into());
    let found: Vec<_> = names
        .par_iter()
        .map(|name| {
            let claims = one(name);
            progress.step();
            claims
        })
        .collect();
    drop(progress);
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
                judged.extend(claims);
            }
            // One that cannot be run does not keep the others from being checked.
            Err(failure) => {
                console.error(&failure.render(console.look))?;
                status = Status::BadInput;
            }
        }
    }
    let wrong = judged.iter().filter(|j| !j.as_stated()).count();
    if wrong > 0 {
        status = status.and(Status::Violated);
    }
    // Where nothing could be run, the errors say it all.
    let nothing = judged.is_empty() && status == Status::BadInput;
    if args.markdown {
        console.print(&claims::page(&pages))?;
    } else if !args.quiet && !nothing {
        let held = judged.iter().filter(|j| j.holds == Some(true)).count();
        let refuted = judged.iter().filter(|j| j.holds == Some(false)).count();
        let stated = if wrong == 0 { "all as stated".to_string() } else { format!("{wrong} not as stated") };
        console.print(&format!("{} claims: {held} held, {refuted} refuted; {stated}\n", judged.len()))?;
    }
    Ok(status)
}

fn one(name: &str) -> Result<Vec<Judged>, Failure> {
    let subject = Subject::named(name);
    let loaded = load::load(&subject)?;
    claims::evaluate(&loaded, None, &subject)
}

fn text(name: &str, claims: &[Judged], paint: Paint) -> String {
    let mut text = format!("{}\n", paint.head(name));
    for c in claims {
        let word = match c.holds {
            Some(true) => "held",
            Some(false) => "refuted",
            None => "unknown",
        };
        text += &format!("  {word:<8} {}\n", wrap(&c.text, WIDTH, 11));
        let values: Vec<String> = c.values.iter().map(|(n, v)| format!("{n} = {}", exact(*v))).collect();
        if let Some(v) = c.computed {
            let unit = c.unit.as_deref().unwrap_or("");
            text += &format!(
                "           {}
",
                format!("computed: {} {unit}", claims::number(v)).trim_end()
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
