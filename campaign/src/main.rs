//! The command line of the campaign.

mod found;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use warpline_campaign::{Base, Binary, Subject, Verdict, Word, bases_in, cases, edited, judge, judge_with_run, kernel};

use found::{Found, paragraph};

const HELP: &str = "\
usage: warpline-campaign --warpline PATH [--seeds N] [--from SEED] [--family NAME] [--threads N] [--wrong FILE]
       warpline-campaign --warpline PATH --edits FOLDER ... [--seeds N] [--from SEED] [--threads N] [--wrong FILE]
       warpline-campaign --warpline PATH FILE.pipe ...
       warpline-campaign [--edits FOLDER ...] --print SEED

Generates kernels, asks a `warpline` binary to verify each, and judges every verdict by brute force.
  --edits FOLDER make kernels by random edits of the kernels of this folder; the option can be repeated.
                 Cases that are proved, scenarios that must hold and kernels without an expectation are edited.
                 Kernels that are proved also run once with the values given.
  --seeds N      number of kernels (default 1000)
  --from SEED    first seed (default 0)
  --family NAME  only this family
  --threads N    threads (default 2)
  --limit S      seconds of processor time for one verdict (default 20)
  --wrong FILE   also write each wrong verdict with its kernel to this file
  --slow S       also write kernels whose verdict took longer
  --bounded N    also write up to N kernels that are BOUNDED or given up although brute force finds no fault
The exit status is 1 where a verdict is wrong.
";

struct Options {
    warpline: PathBuf,
    seeds: u64,
    from: u64,
    family: Option<String>,
    edits: Vec<PathBuf>,
    print: Option<u64>,
    threads: usize,
    limit: u64,
    wrong: Option<PathBuf>,
    slow: f64,
    bounded: u64,
    files: Vec<PathBuf>,
}

fn options() -> Result<Options, String> {
    let mut o = Options {
        warpline: PathBuf::new(),
        seeds: 1000,
        from: 0,
        family: None,
        edits: Vec::new(),
        print: None,
        threads: 2,
        limit: 20,
        wrong: None,
        slow: f64::INFINITY,
        bounded: 0,
        files: Vec::new(),
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if !arg.starts_with("--") {
            o.files.push(arg.into());
            continue;
        }
        let value = args.next().ok_or(HELP)?;
        let number = || value.parse::<u64>().map_err(|e| format!("{arg} {value}: {e}"));
        match arg.as_str() {
            "--warpline" => o.warpline = value.into(),
            "--seeds" => o.seeds = number()?,
            "--from" => o.from = number()?,
            "--family" => o.family = Some(value.to_lowercase()),
            "--edits" => o.edits.push(value.into()),
            "--threads" => o.threads = number()? as usize,
            "--limit" => o.limit = number()?,
            "--wrong" => o.wrong = Some(value.into()),
            "--slow" => o.slow = value.parse().map_err(|e| format!("{arg} {value}: {e}"))?,
            "--bounded" => o.bounded = number()?,
            "--print" => o.print = Some(number()?),
            _ => return Err(HELP.to_string()),
        }
    }
    if o.warpline.as_os_str().is_empty() && o.print.is_none() { Err(HELP.to_string()) } else { Ok(o) }
}

/// A kernel to judge.
struct Named {
    family: String,
    /// What its paragraph is called behind its seed.
    name: String,
    text: String,
}

/// The source of kernels.
struct Source<'o> {
    family: Option<&'o str>,
    bases: Vec<Base>,
    edits: bool,
}

impl Source<'_> {
    fn of(o: &Options) -> Result<Source<'_>, String> {
        let mut bases = Vec::new();
        for folder in &o.edits {
            bases.extend(bases_in(folder).map_err(|e| format!("{}: {e}", folder.display()))?);
        }
        if !o.edits.is_empty() && bases.is_empty() {
            return Err("no kernel to edit".to_string());
        }
        Ok(Source { family: o.family.as_deref(), bases, edits: !o.edits.is_empty() })
    }

    /// The kernel of a seed; `None` where it is not to be judged.
    fn kernel(&self, seed: u64) -> Option<Named> {
        let k = if self.edits {
            let edited = edited(&self.bases, seed)?;
            let kinds: Vec<String> = edited.edits.iter().map(|e| format!("{e:?}")).collect();
            // Of two edits, the first names the row of the table.
            let name = format!("{}, {}", edited.base, kinds.join(" and "));
            Named { family: kinds.into_iter().next()?, name, text: edited.text }
        } else {
            let k = kernel(seed);
            Named { family: format!("{:?}", k.family), name: format!("{:?}", k.family), text: k.text }
        };
        self.family.is_none_or(|name| k.family.to_lowercase() == name).then_some(k)
    }
}

/// A directory of this process, removed at the end.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn campaign(o: &Options) -> Result<bool, String> {
    let scratch = Scratch(std::env::temp_dir().join(format!("campaign-{}", std::process::id())));
    std::fs::create_dir_all(&scratch.0).map_err(|e| e.to_string())?;
    let binary = Binary { path: o.warpline.clone(), limit: Duration::from_secs(o.limit) };
    let (next, bounded, refused) = (AtomicU64::new(o.from), AtomicU64::new(0), AtomicU64::new(0));
    let source = Source::of(o)?;
    let found = Mutex::new(Found::default());
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..o.threads {
            let file = scratch.0.join(format!("t{thread}.pipe"));
            let (next, found, binary, bounded, refused) = (&next, &found, &binary, &bounded, &refused);
            let source = &source;
            scope.spawn(move || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= o.from + o.seeds {
                        break;
                    }
                    let Some(k) = source.kernel(seed) else { continue };
                    // An edit may leave a text that is no kernel.
                    if source.edits && Subject::read(&k.text).is_err() {
                        refused.fetch_add(1, Ordering::Relaxed);
                        continue;
                    }
                    let verdict = Verdict::ask(binary, &k.text, &file);
                    let j = if source.edits {
                        judge_with_run(&k.text, verdict, binary, &file)
                    } else {
                        judge(&k.text, verdict)
                    };
                    let undecided = matches!(j.verdict.word, Word::Bounded | Word::GaveUp) && j.fault.is_none();
                    let shown = j.wrong.is_some()
                        || j.error.is_some()
                        || j.verdict.seconds > o.slow
                        || j.verdict.word == Word::Timeout
                        || undecided && bounded.fetch_add(1, Ordering::Relaxed) < o.bounded;
                    let Ok(mut found) = found.lock() else { break };
                    found.table.add(&k.family, &j);
                    found.kernels += 1;
                    if shown {
                        found.shown += &paragraph(&format!("seed {seed} ({})", k.name), &k.text, &j);
                    }
                    found.tell(start.elapsed(), o.wrong.as_deref());
                }
            });
        }
    });
    let Found { table, shown, kernels, .. } = found.into_inner().map_err(|e| e.to_string())?;
    println!(
        "{kernels} kernels, seeds {} to {}, in {:.1} s",
        o.from,
        o.from + o.seeds - 1,
        start.elapsed().as_secs_f64()
    );
    print!("{}", table.text());
    if source.edits {
        println!("{} edited texts are no kernels", refused.into_inner());
    }
    if let Some(path) = &o.wrong {
        std::fs::write(path, shown).map_err(|e| e.to_string())?;
    }
    Ok(table.all_wrong() == 0)
}

/// Judges kernels in files, and compares each verdict with the expectation in its file.
fn files(o: &Options) -> Result<bool, String> {
    let scratch = Scratch(std::env::temp_dir().join(format!("campaign-{}", std::process::id())));
    std::fs::create_dir_all(&scratch.0).map_err(|e| e.to_string())?;
    let binary = Binary { path: o.warpline.clone(), limit: Duration::from_secs(o.limit) };
    let mut right = true;
    for path in &o.files {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let name = path.file_stem().map_or(String::new(), |f| f.to_string_lossy().into_owned());
        for case in cases(&name, &text) {
            let j = judge(&case.text, Verdict::ask(&binary, &case.text, &scratch.0.join("t.pipe")));
            let word = format!("{:?}", j.verdict.word).to_lowercase();
            let met = j.wrong.is_none() && (case.expect.is_empty() || case.expect.contains(&word));
            right &= met;
            let oracle = match (&j.fault, &j.error) {
                (_, Some(e)) => e.clone(),
                (Some(f), _) => format!("{} at {:?}, cluster {}", f.what, f.values, f.cluster),
                (None, _) => "no fault".to_string(),
            };
            println!(
                "{} {:<52} {word:<9} want {:<20} {:>8.1} ms, brute force {:.1} ms: {oracle}",
                if met { "ok   " } else { "WRONG" },
                case.name,
                case.expect.join(" or "),
                1e3 * j.verdict.seconds,
                1e3 * j.seconds
            );
            if !met && o.wrong.is_some() {
                print!("{}", paragraph(&case.name, &case.text, &j));
            }
        }
    }
    Ok(right)
}

fn main() -> ExitCode {
    let done = options().and_then(|o| match o.print {
        Some(seed) => Source::of(&o).map(|source| {
            print!("{}", source.kernel(seed).map_or(String::new(), |k| k.text));
            true
        }),
        None if o.files.is_empty() => campaign(&o),
        None => files(&o),
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(2)
        }
    }
}
