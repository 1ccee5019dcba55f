//! "Did you mean": the nearest known name.

/// The known name that a wrong name most likely stands for.
pub(crate) fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = match wrong.len() {
        0..=4 => 1,
        5..=7 => 2,
        n => n / 3,
    };
    // A distance is at least the difference of the lengths, and takes long to compute where a word is long.
    let length = wrong.chars().count();
    let close = known
        .into_iter()
        .filter(|k| k.chars().count().abs_diff(length) <= limit)
        .map(|k| (strsim::osa_distance(wrong, k), k))
        .filter(|(d, k)| *d > 0 && *d <= limit && *d < k.len().max(wrong.len()));
    // The first of several equally near names, so that the order of declaration decides.
    close.min_by_key(|(d, _)| *d).map(|(_, k)| k)
}

/// `` did you mean `x`? ``, if a name is near.
pub(crate) fn did_you_mean<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(wrong, known).map(|k| format!("did you mean `{k}`?"))
}
