//! Fortran source text in free form.

/// Longest line, well within the 132 columns that the language allows.
const COLUMNS: usize = 100;

/// A statement, continued over several lines where it is long; it is broken behind commas.
pub(super) fn statement(indent: usize, text: &str) -> String {
    let mut out = String::new();
    let mut line = " ".repeat(indent);
    for word in text.split_inclusive(", ") {
        if line.len() + word.len() > COLUMNS {
            out.push_str(line.trim_end());
            out.push_str(" &\n");
            line = " ".repeat(indent + 4);
        }
        line.push_str(word);
    }
    out.push_str(line.trim_end());
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_statements_are_continued() {
        let text = statement(2, &format!("subroutine x({}end)", "argument, ".repeat(20)));
        assert!(text.lines().count() > 1);
        assert!(text.lines().all(|line| line.len() <= COLUMNS + 2));
        assert_eq!(statement(2, "integer :: a"), "  integer :: a\n");
    }
}
