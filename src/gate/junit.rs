//! Verdicts as JUnit XML: a test case for each scenario.
//!
//! A violation is a failure. A scenario that cannot be read or decided is an error, since nothing was tested. Times are
//! left out, so that the same input gives the same bytes.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::issues::{Issue, Level, issues};
use warpline_api::{Entry, Verifications};
use warpline_api::{Error, Status};

pub(super) fn junit(all: &Verifications) -> Result<String, Error> {
    let mut suite = TestSuite::new("warpline verify");
    suite.add_test_cases(all.entries.iter().map(case));
    let mut report = Report::new("warpline");
    report.add_test_suite(suite);
    report.to_string().map_err(|e| Error::new(format!("cannot write the XML: {e}")))
}

fn case(e: &Entry) -> TestCase {
    let all = issues(e);
    let (errors, others): (Vec<&Issue>, Vec<&Issue>) = all.iter().partition(|i| i.level == Level::Error);
    let kind = match e.status() {
        Status::Holds => None,
        Status::Violated => Some(NonSuccessKind::Failure),
        Status::BadInput | Status::GaveUp => Some(NonSuccessKind::Error),
    };
    let status = match (kind, errors.first()) {
        (Some(kind), Some(first)) => {
            let mut status = TestCaseStatus::non_success(kind);
            status.set_type(first.rule.as_str()).set_message(line(first)).set_description(lines(&errors));
            status
        }
        // An entry without an issue is still not a success.
        (Some(kind), None) => TestCaseStatus::non_success(kind),
        (None, _) => TestCaseStatus::success(),
    };
    let mut case = TestCase::new(e.name.as_str(), status);
    case.set_classname(e.result.as_ref().map_or("", |v| v.subject.program.name.as_str()));
    if !others.is_empty() {
        case.set_system_out(lines(&others));
    }
    case
}

fn lines(issues: &[&Issue]) -> String {
    issues.iter().map(|i| line(i) + "\n").collect()
}

/// `file:line:column: rule: message (other place)`.
fn line(i: &Issue) -> String {
    let at = i.at.as_ref().map_or(String::new(), |a| format!("{}:{}:{}: ", a.file, a.line, a.column));
    let expected = if i.level == Level::Expected { "expected " } else { "" };
    let also: Vec<String> = i.also.iter().map(|(a, words)| format!("{words}: {}:{}", a.file, a.line)).collect();
    let also = if also.is_empty() { String::new() } else { format!(" ({})", also.join("; ")) };
    format!("{at}{expected}{}: {}{also}", i.title, i.message)
}
