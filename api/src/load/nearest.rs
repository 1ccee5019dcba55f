//! Suggestions for names that do not exist.

/// `did you mean X? ` with the closest of the known words; empty where no word is close.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or(String::new(), |k| format!("did you mean `{k}`? "))
}

fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let spelled_alike = known
        .iter()
        .map(|k| {
            // A name without its family (`triple_buffer` for `metal/triple_buffer`) counts as exact.
            let last = k.rsplit('/').next().unwrap_or(k);
            (strsim::damerau_levenshtein(word, k).min(strsim::damerau_levenshtein(word, last)), *k)
        })
        .filter(|(d, _)| *d <= 1 + word.chars().count() / 4)
        .min();
    // The beginning of a name (`museum/m30`) is meant to be the name; a whole family is not.
    let begins = || known.iter().copied().find(|k| k.strip_prefix(word).is_some_and(|rest| rest.starts_with('_')));
    spelled_alike.map(|(_, k)| k).or_else(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let names = ["metal/triple_buffer", "metal/double_buffer", "mla/rope"];
        assert_eq!(nearest("triple_bufer", names), Some("metal/triple_buffer"));
        assert_eq!(nearest("metal/double-buffer", names), Some("metal/double_buffer"));
        assert_eq!(nearest("fft", names), None);
        assert_eq!(nearest("metal/triple", names), Some("metal/triple_buffer"));
        assert_eq!(nearest("metal", names), None);
        assert_eq!(hint("mla/rpoe", names), "did you mean `mla/rope`? ");
    }
}
