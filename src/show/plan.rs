//! The text of a search for a pipeline: the best, its bottleneck and the runner-up.

use warpline_plan::{Answer, CandidateResult};

use super::WIDTH;
use super::table::{Align, Table, wrap};
use crate::console::Paint;
use warpline_api::Subject;
use warpline_sim::words::{count, plain, short};

/// The most ranked pipelines listed.
const LISTED: usize = 10;

/// All sections of the answer.
pub(crate) fn plan(subject: &Subject, answer: &Answer, paint: Paint) -> String {
    let of = |f: fn(&CandidateResult) -> bool| answer.all.iter().filter(|(_, x)| f(x)).count();
    let ranked = answer.ranked();
    let groups = answer.groups.as_deref();
    let mut text = format!(
        "{}\n\n",
        wrap(
            &format!(
                "{} on {}: {} pipelines tried, {} of them different; {} proved and timed, {} not proved, {} do not fit, \
                 {} refused, {} undecided",
                subject.name,
                subject.machine.name,
                answer.all.len(),
                answer.all.len() - of(|f| matches!(f, CandidateResult::Same(_))),
                ranked.len(),
                of(|f| matches!(f, CandidateResult::NotProved(_))),
                of(|f| matches!(f, CandidateResult::DoesNotFit(_))),
                of(|f| matches!(f, CandidateResult::Refused(_))),
                of(|f| matches!(f, CandidateResult::GaveUp(_))),
            ),
            WIDTH,
            0
        )
    );
    if answer.beyond > 0 {
        text += &format!("The search was cut: {} more were not checked (--max-candidates).\n\n", answer.beyond);
    }
    let Some((best, timed)) = ranked.first() else {
        text += "No pipeline is proved for every trip count and fits this machine.\n";
        for (c, f) in &answer.all {
            let why = match f {
                CandidateResult::Refused(w)
                | CandidateResult::DoesNotFit(w)
                | CandidateResult::NotProved(w)
                | CandidateResult::GaveUp(w) => w,
                CandidateResult::Same(_) | CandidateResult::Timed(_) => continue,
            };
            text += &format!("{}\n", wrap(&format!("  {}: {why}", c.words(groups)), WIDTH, 4));
        }
        return text;
    };
    let line = |name: &str, words: &str| {
        // The words are wrapped below each other, after the name.
        let laid = wrap(&format!("{} {words}", "-".repeat(14)), WIDTH, 15);
        format!("{name:<15}{}\n", &laid[15..])
    };
    text += &paint.head(&line("Best", &best.words(groups)));
    text += &line("Binds it", &timed.report.bottleneck);
    if let Some((second, other)) = ranked.get(1) {
        let more = (other.report.cycles / timed.report.cycles - 1.0) * 100.0;
        let by = if more < 0.05 { "as fast".to_string() } else { format!("{more:.1} % slower") };
        text += &line("Runner-up", &format!("{} ({by})", second.words(groups)));
        text += &line("Binds it", &other.report.bottleneck);
    }
    if let Some(words) = answer.limits {
        text += &line("Not tried", words);
    }
    text += "\n";
    let mut t = Table::new(&[Align::Left].into_iter().chain([Align::Right; 5]).collect::<Vec<_>>(), 2);
    t.row(["", "cycles", "per tile", "us", "shared", "CTAs"]);
    for (c, timed) in ranked.iter().take(LISTED) {
        let r = &timed.report;
        t.row([
            c.words(groups),
            plain(r.cycles),
            r.cycles_per_tile.map_or("-".to_string(), plain),
            short(r.time_us),
            count(r.shared_bytes),
            count(r.occupancy.ctas_per_core.into()),
        ]);
    }
    text += &t.text();
    text += &format!("\nwarpline expand {} {}\n", subject.name, best.flags(groups));
    text
}
