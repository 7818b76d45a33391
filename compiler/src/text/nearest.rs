//! Did you mean: the known name that is nearest to a mistyped one.

/// The candidate with the fewest changed letters, if few enough to be a typing error; ties go to the first.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= 3 && *candidate != name)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|&(distance, candidate)| distance <= allowed && distance < candidate.chars().count())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Letters to insert, delete, replace or swap with the next one; a change of case alone counts like one letter.
fn distance(a: &str, b: &str) -> usize {
    if a.eq_ignore_ascii_case(b) { usize::from(a != b) } else { strsim::damerau_levenshtein(a, b) }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn suggests_typing_errors_only() {
        assert_eq!(nearest("weigth", ["weight", "x"]), Some("weight"));
        assert_eq!(nearest("tarin", ["chain", "train"]), Some("train"));
        assert_eq!(nearest("W", ["w"]), None);
        assert_eq!(nearest("Mu", ["m", "mu"]), Some("mu"));
        assert_eq!(nearest("alpha", ["x", "y", "beta"]), None);
    }
}
