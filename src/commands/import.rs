//! `warpline import`.

use warpline_import::lift::Lifted;
use warpline_import::text;

use crate::cli::Import;
use crate::console::Console;
use crate::output;
use crate::show::{WIDTH, wrap};
use warpline_api::{CompiledKernel, Error, Request, Status, parameter_types, readable_name};

pub(super) fn import(args: &Import, console: &mut Console) -> Result<Status, Error> {
    if !warpline_api::is_ptx(&args.kernel) {
        return Err(Error::with_help(
            format!("`{}` is not a PTX file", args.kernel),
            "name a file that ends in `.ptx` or `.ptx.gz`, or `k.ptx:name` for one of its kernels",
        ));
    }
    let request = args.launch.of(Request::named(&args.kernel));
    // A kernel file must load again.
    if let Some(path) = args.output.as_ref().filter(|p| p.extension().is_some_and(|e| e == "pipe")) {
        output::write(console, path, warpline_api::kernel_text(&request)?.as_bytes())?;
        return Ok(Status::Holds);
    }
    let kernel = warpline_api::lifted(&request)?;
    if args.explain {
        console.print(&explanation(&kernel, &args.kernel))?;
        return Ok(Status::Holds);
    }
    let text = text::kernel(&kernel.lifted);
    match &args.output {
        Some(path) => output::write(console, path, text.as_bytes())?,
        None => console.print(&text)?,
    }
    Ok(Status::Holds)
}

/// What was understood, what a launch file lists, and the commands that come next.
fn explanation(kernel: &CompiledKernel, file: &str) -> String {
    let l = &kernel.lifted;
    let mut text = text::explain(l, &readable_name(&l.program.name));
    let params = match kernel.params.as_slice() {
        [] => "none".to_string(),
        list => parameter_types(list),
    };
    text += &format!("\nParameters, as `--arg` and a launch file number them\n  {params}\n");
    text = text.lines().map(folded).collect();
    let args: String = arguments(l).iter().map(|a| format!(" --arg {a}=VALUE")).collect();
    text += "\nNext\n";
    text += &format!("  warpline verify {file}\n");
    text + &format!("  warpline run {file} --grid XxYxZ{args}\n")
}

/// A line of at most `WIDTH` columns; more words of it are indented further.
fn folded(line: &str) -> String {
    let words = line.trim_start();
    let indent = line.len() - words.len();
    format!("{}{}\n", " ".repeat(indent), wrap(words, WIDTH, indent + 2))
}

/// The arguments that symbols are computed from, as `--arg` names them.
fn arguments(l: &Lifted) -> Vec<String> {
    let words = |meaning: &str| -> Vec<String> {
        let parts = meaning.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '_')));
        let args = parts.filter_map(|w| w.strip_prefix("arg"));
        args.filter(|w| w.starts_with(|c: char| c.is_ascii_digit())).map(String::from).collect()
    };
    let mut list: Vec<String> = l.meaning.iter().flat_map(|(_, meaning)| words(meaning)).collect();
    list.sort();
    list.dedup();
    list
}
