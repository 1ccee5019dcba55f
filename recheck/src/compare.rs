//! The first entry in which two certificates differ.

use serde_json::Value;

use crate::Refusal;
use crate::schema::Certificate;

/// Compares a certificate with the same one whose facts were computed.
pub(crate) fn same(given: &Certificate, computed: &Certificate) -> Result<(), Refusal> {
    let json = |c: &Certificate| serde_json::to_value(c).map_err(|e| Refusal::Unreadable(e.to_string()));
    differ("", &json(given)?, &json(computed)?).map_or(Ok(()), Err)
}

fn differ(path: &str, given: &Value, computed: &Value) -> Option<Refusal> {
    match (given, computed) {
        (Value::Object(a), Value::Object(b)) => {
            let dot = if path.is_empty() { "" } else { "." };
            b.iter().find_map(|(key, y)| differ(&format!("{path}{dot}{key}"), a.get(key).unwrap_or(&Value::Null), y))
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
