//! Comparison of a part of a certificate with the computed part, with the first entry that differs.

use serde::Serialize;
use serde_json::Value;

use crate::Refusal;

/// Compares a part of the certificate with the same part whose facts were computed.
pub(crate) fn same<T: Serialize>(path: &str, given: &T, computed: &T) -> Result<(), Refusal> {
    let json = |part: &T| serde_json::to_value(part).map_err(|e| Refusal::Unreadable(e.to_string()));
    differ(path, &json(given)?, &json(computed)?).map_or(Ok(()), Err)
}

fn differ(path: &str, given: &Value, computed: &Value) -> Option<Refusal> {
    match (given, computed) {
        (Value::Object(a), Value::Object(b)) => {
            b.iter().find_map(|(key, y)| differ(&format!("{path}.{key}"), a.get(key).unwrap_or(&Value::Null), y))
        }
        (Value::Array(a), Value::Array(b)) => {
            let each = a.iter().zip(b).enumerate().find_map(|(i, (x, y))| differ(&format!("{path}[{i}]"), x, y));
            each.or_else(|| {
                let why = format!("has {} entries instead of {}", a.len(), b.len());
                (a.len() != b.len()).then(|| Refusal::rejected(path, why))
            })
        }
        _ => (given != computed).then(|| Refusal::rejected(path, format!("is {given} instead of {computed}"))),
    }
}
