//! Findings as workflow commands, which GitHub Actions shows beside the lines of the findings.
//!
//! The escapes follow GitHub's own toolkit (actions/toolkit, `command.ts`). They are five characters, so no library is used.

use super::issues::{Issue, Level, issues};
use warpline_api::Verifications;

pub(super) fn github(all: &Verifications) -> String {
    all.entries.iter().flat_map(|e| issues(e).into_iter().filter_map(|i| command(&e.name, &i))).collect()
}

fn command(scenario: &str, i: &Issue) -> Option<String> {
    let level = match i.level {
        Level::Error => "error",
        Level::Note => "notice",
        Level::Expected => return None,
    };
    let mut properties = Vec::new();
    if let Some(at) = &i.at {
        properties.push(("file", at.file.clone()));
        properties.push(("line", at.line.to_string()));
        properties.push(("col", at.column.to_string()));
        properties.extend(at.end.map(|end| ("endColumn", (end - 1).max(at.column).to_string())));
    }
    properties.push(("title", format!("{} ({scenario})", i.title)));
    let properties: Vec<String> = properties.iter().map(|(name, v)| format!("{name}={}", property(v))).collect();
    let also: String = i.also.iter().map(|(a, words)| format!("\n{words}: {}:{}", a.file, a.line)).collect();
    Some(format!("::{level} {}::{}\n", properties.join(","), data(&format!("{}{also}", i.message))))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_command_is_escaped() {
        let at = super::super::issues::At { file: "a,b:c%.pipe".into(), line: 3, column: 5, end: Some(9) };
        let issue = Issue {
            level: Level::Error,
            rule: "WL0104".into(),
            title: "WL0104 WAR race".into(),
            about: "an overwrite",
            message: "100 %\r\nof it::yes".into(),
            at: Some(at.clone()),
            also: vec![(at, "the read".into())],
        };
        let text = command("x", &issue).expect("shown");
        let want = "::error file=a%2Cb%3Ac%25.pipe,line=3,col=5,endColumn=8,title=WL0104 WAR race (x)::\
                    100 %25%0D%0Aof it::yes%0Athe read: a,b:c%25.pipe:3\n";
        assert_eq!(text, want);
        assert_eq!(command("x", &Issue { level: Level::Expected, ..issue }), None);
    }
}
