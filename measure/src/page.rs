//! Pages with tables that are measured: `<!-- NAME -->` begins such a table, the next mark that says `end` ends it.

/// The text of a page with another table behind the mark `<!-- NAME -->`; nothing if the mark, or the one that ends it, is missing.
pub fn with_table(page: &str, name: &str, table: &str) -> Option<String> {
    let begin = format!("<!-- {name} -->\n");
    let (before, rest) = page.split_once(&begin)?;
    let ends = |line: &&str| line.starts_with("<!-- end") || line.trim_end().ends_with(" end -->");
    let end: usize = rest.split_inclusive('\n').take_while(|line| !ends(line)).map(str::len).sum();
    (end < rest.len()).then(|| format!("{before}{begin}{}\n{}", table.trim_end(), &rest[end..]))
}

#[cfg(test)]
mod tests {
    use super::with_table;

    #[test]
    fn only_what_is_between_the_marks_changes() {
        for end in ["<!-- end -->", "<!-- end a -->", "<!-- a end -->"] {
            let page = format!("# P\n<!-- a -->\n| old |\n{end}\nbelow\n<!-- end b -->\n");
            let expected = page.replace("old", "new");
            assert_eq!(with_table(&page, "a", "| new |\n"), Some(expected));
        }
        assert_eq!(with_table("<!-- a -->\n| old |\n", "a", "x"), None, "nothing ends it");
        assert_eq!(with_table("<!-- b -->\n<!-- end -->\n", "a", "x"), None);
    }
}
