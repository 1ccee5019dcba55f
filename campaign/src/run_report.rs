//! The findings of one run, read from the output of `warpline run --json`.

use serde_json::Value;

/// The first fault of a run, in words; `None` where the run has none.
///
/// # Errors
/// The output is no report of a run.
pub fn fault_of_run(run: &Value) -> Result<Option<String>, String> {
    let findings = run["findings"].as_array().ok_or_else(|| run.to_string())?;
    let fault = findings.iter().find(|f| f["note"] == false).map(|f| f["message"].to_string());
    let hangs = run["hang"].as_array().is_some_and(|agents| !agents.is_empty());
    Ok(fault.or_else(|| hangs.then(|| "a hang".to_string())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn notes_are_no_faults() {
        let report = |note: bool, hang: Value| {
            fault_of_run(&json!({ "findings": [{ "note": note, "message": "m" }], "hang": hang }))
        };
        assert_eq!(report(true, json!([])), Ok(None));
        assert_eq!(report(true, json!([1])), Ok(Some("a hang".to_string())));
        assert_eq!(report(false, Value::Null), Ok(Some("\"m\"".to_string())));
        assert!(fault_of_run(&json!({})).is_err());
    }
}
