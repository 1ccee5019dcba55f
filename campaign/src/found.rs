//! What a campaign found so far, for the table, the file of wrong verdicts and the progress.

use std::path::Path;
use std::time::Duration;

use warpline_campaign::{Judgment, Table};

/// Time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(10);

/// What the threads found so far.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) table: Table,
    /// Paragraphs of verdicts to look at.
    pub(crate) shown: String,
    pub(crate) kernels: u64,
    /// When progress was last written, since the start.
    written: Duration,
}

impl Found {
    /// Writes progress and the paragraphs so far, if some time has passed: a campaign may be stopped early.
    pub(crate) fn tell(&mut self, since: Duration, wrong: Option<&Path>) {
        if since < self.written + PROGRESS {
            return;
        }
        self.written = since;
        eprintln!("{} kernels in {} s, {} wrong", self.kernels, since.as_secs(), self.table.all_wrong());
        if let Some(path) = wrong {
            let _ = std::fs::write(path, &self.shown);
        }
    }
}

/// A wrong verdict as a paragraph.
pub(crate) fn paragraph(name: &str, text: &str, j: &Judgment) -> String {
    let mut said = format!("=== {name}: {:?}", j.verdict.word);
    if let Some(wrong) = j.wrong {
        said += &format!(", wrong ({wrong:?})");
    }
    said += &format!(", {:.3} s\n", j.verdict.seconds);
    if let Some(f) = &j.fault {
        said += &format!("fault: {} at {:?}, cluster {}\n", f.what, f.values, f.cluster);
    }
    if let Some(e) = &j.error {
        said += &format!("error: {e}\n");
    }
    let v = &j.verdict.json;
    said += &format!(
        "said: trip_counts {}, varied {}, turns {}, classes {}, why {}\n",
        v["trip_counts"], v["varied"], v["turns"], v["classes"], v["why"]
    );
    if !v["violation"].is_null() {
        let x = &v["violation"];
        said += &format!(
            "violation: {} line {} trips {} turns {} class {} parameters {} cluster {}\n",
            x["message"],
            x["line"],
            x["trips"],
            x["turns"],
            x["class"],
            x["schedule"]["parameters"],
            x["schedule"]["cluster"]
        );
    }
    said + text + "\n"
}
