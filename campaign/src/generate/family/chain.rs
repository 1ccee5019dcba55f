//! Persistent kernels with a chain of three roles. The ring between the first two moves on with each step, and the ring
//! behind them with each job. So the two rings come to the same slots only after many jobs.

use super::loops::two;
use super::{count, roles, scope};
use crate::dice::Dice;
use crate::generate::bodies::{Index, Ring};
use crate::generate::template::{Count, Template};

pub(super) fn chain(dice: &mut Dice) -> Template {
    of_jobs(dice, None)
}

/// Lengths of a job, from 0 on, and jobs until they repeat.
const LENGTHS: i64 = 6;
const JOBS: u32 = 4;

/// The same, where each job has a number of steps that is known only at run time: a digit of the parameter `code`.
pub(super) fn jobs(dice: &mut Dice) -> Template {
    let mut t = of_jobs(dice, Some("for i in 0..steps(job):"));
    let codes = LENGTHS.pow(JOBS);
    let given = dice.range(0, codes - 1);
    t.counts.push(Count { name: "code".into(), param: "code".into(), unit: 1, given, any: false });
    let digit = |k: u32| format!("code / {} % {LENGTHS}", LENGTHS.pow(k));
    let last = digit(JOBS - 1);
    let run = (0..JOBS - 1).rev().fold(last, |rest, k| format!("t % {JOBS} == {k} ? {} : {rest}", digit(k)));
    t.header.push(format!("trips steps = any per t run {run}"));
    for _ in 0..TRIES {
        t.tries.push(format!("code = {}, jobs = {}", dice.range(0, codes - 1), dice.range(1, 12)));
    }
    t
}

/// Numbers of jobs with their lengths that brute force tries.
const TRIES: usize = 40;

fn of_jobs(dice: &mut Dice, lengths: Option<&str>) -> Template {
    let size = *dice.pick(&[1, 1, 2, 3, 4]);
    let mut t = Template { machine: "h200", ..Template::default() };
    let nested = lengths.is_none() && dice.chance(85);
    t.counts.extend(if nested { two(dice, "jobs", "n").to_vec() } else { vec![count(dice, "jobs", "n")] });
    t.counts.iter_mut().filter(|c| c.name == "jobs").for_each(|c| c.given = dice.range(1, 3 * size + 5));
    t.header.push("needs sm_90".into());
    roles(&mut t, &format!("grid {size}"), "warps 3");
    t.header.push("role out = warp 2".into());
    if !nested {
        t.header.iter_mut().for_each(|l| *l = l.replace("COLUMNS", "64"));
    }
    let (steps, results) = (dice.range(1, 5), dice.range(1, 3));
    let ring = Ring { slots: steps, index: Index::Counter, parity: false, readers: 1, taken: None };
    t.header.push(format!("shared a[{steps}]: f16[64, 16]   shared c[{results}]: f16[64, 16]"));
    t.header.push(format!("mbar full[{steps}] (1)   mbar empty[{steps}] (32)"));
    t.header.push(format!("mbar done[{results}] (32)   mbar freed[{results}] (32)"));
    // Steps of a job: a count, or a number that differs between jobs.
    let inner = match (nested, dice.range(1, 4)) {
        _ if lengths.is_some() => lengths.unwrap_or_default().to_string(),
        (true, _) => "for i in 0..tiles:".to_string(),
        (false, 1) => format!("for i in 0..job % {} + 1:", dice.range(2, 4)),
        (false, _) => format!("for i in 0..{}:", dice.range(1, 6)),
    };
    let counts: &[&str] = if nested { &["tiles", "jobs"] } else { &["jobs"] };
    let counters = [("i", "tiles"), ("job", "jobs"), ("job", "jobs")];
    t.scopes.push(scope(counts, if nested { &counters } else { &counters[1..] }, (size, 1)));
    t.scopes.push(scope(counts, &counters[1..], (size, 1)));
    let head = dice.word(&["for job in cta.id..jobs step grid.size:", "for job in 0..jobs:"]);
    // Jobs that all roles skip.
    let skip = dice.chance(30).then(|| {
        let m = dice.range(2, 5);
        format!("if job % {m} {} {}:", dice.word(&["!=", "<", "=="]), dice.range(0, m - 1))
    });
    t.lines(0, "all:\n  warp 0: elect: init full, empty, done, freed;  fence mbarrier_init\n  barrier");
    let before_steps = dice.chance(50);
    for role in ["load: elect:", "use:", "out:"] {
        t.lines(0, role);
        t.lines(1, if role == "out:" { "var th = 0" } else { "var it = 0\nvar th = 0" });
        t.lines(1, head);
        skip.iter().for_each(|skip| t.lines(2, skip));
        let at = 2 + usize::from(skip.is_some());
        match role {
            "load: elect:" => {
                t.lines(at, &inner);
                t.lines(at + 1, "@wait_empty\n@fill\nit += 1");
            }
            "use:" => {
                t.lines(at, if before_steps { "@wait_freed\nzero q: f16[64, 16]" } else { "zero q: f16[64, 16]" });
                t.lines(at, &inner);
                t.lines(at + 1, "@wait_full\n@use\n@free\n@late\nit += 1");
                t.lines(at, if before_steps { "@result\n@done" } else { "@wait_freed\n@result\n@done" });
            }
            _ => t.lines(at, "@wait_done\n@read\n@give\n@late_read"),
        }
        t.lines(at, "th += 1");
    }
    let (place, round) = (format!("th % {results}"), format!("th / {results}"));
    let tile = if nested || lengths.is_some() { "job % 64, i" } else { "job % 64, 0" };
    ring.sites(&mut t, tile, &format!("{tile} + 1"));
    let wait = format!("wait freed[{place}] for {round} - 1");
    t.fault("wait_freed", 1, &wait, "");
    t.fault("wait_freed", 1, &wait, &format!("wait freed[{place}] for {round} - 2"));
    t.harmless("wait_freed", 1, &wait, &wait);
    let result = format!("sts q -> c[{place}]");
    t.fault("result", 1, &result, &format!("sts q -> c[(th + 1) % {results}]"));
    t.harmless("result", 1, &result, &result);
    let done = format!("arrive done[{place}]");
    t.fault("done", 1, &done, "");
    t.harmless("done", 1, &done, &done);
    let wait = format!("wait done[{place}] for {round}");
    t.fault("wait_done", 1, &wait, "");
    t.harmless("wait_done", 1, &wait, &wait);
    let read = format!("lds c[{place}] -> p; alu fma 64 x 16 uses p");
    t.harmless("read", 1, &read, "alu fma 64 x 16");
    let give = format!("arrive freed[{place}]");
    t.fault("give", 1, &give, "");
    t.harmless("give", 1, &give, &give);
    t.fault("late_read", 1, "", &format!("lds c[{place}] -> p"));
    t.harmless("late_read", 1, "", "alu fma 64 x 16");
    t
}
