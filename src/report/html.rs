//! Parts of a page.

/// A text with the special characters of HTML escaped.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() && c != '\n' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A section with a heading and an anchor.
pub(super) fn section(id: &str, heading: &str, inside: &str) -> String {
    format!("<section id=\"{id}\">\n<h2>{}</h2>\n{inside}</section>\n", escape(heading))
}

/// A table. Each heading says whether its column holds numbers; the cells are HTML.
pub(super) fn table(head: &[(&str, bool)], rows: impl IntoIterator<Item = (bool, Vec<String>)>) -> String {
    let class = |number: bool| if number { " class=\"n\"" } else { "" };
    let mut out = "<div class=\"wide\" tabindex=\"0\"><table>\n".to_string();
    if head.iter().any(|h| !h.0.is_empty()) {
        // A heading without text would be read out as one.
        let tag = |h: &str| if h.is_empty() { "td" } else { "th" };
        let cells: String =
            head.iter().map(|(h, n)| format!("<{tag}{}>{}</{tag}>", class(*n), escape(h), tag = tag(h))).collect();
        out += &format!("<thead><tr>{cells}</tr></thead>\n");
    }
    for (key, cells) in rows {
        let cells: String = cells.iter().zip(head).map(|(c, (_, n))| format!("<td{}>{c}</td>", class(*n))).collect();
        out += &format!("<tr{}>{cells}</tr>\n", if key { " class=\"key\"" } else { "" });
    }
    out + "</table></div>\n"
}

/// A text as code.
pub(super) fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text))
}

/// A message whose names in backticks are code. A backtick without a second one stays.
pub(super) fn message(text: &str) -> String {
    let mut parts = text.split('`');
    let mut out = escape(parts.next().unwrap_or_default());
    while let Some(name) = parts.next() {
        match parts.next() {
            Some(after) => out += &format!("{}{}", code(name), escape(after)),
            None => out += &escape(&format!("`{name}")),
        }
    }
    out
}

/// A paragraph.
pub(super) fn p(text: &str) -> String {
    format!("<p>{}</p>\n", message(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_tag_is_text() {
        assert_eq!(escape("a < b && \"c\"\u{7}"), "a &lt; b &amp;&amp; &quot;c&quot; ");
    }

    #[test]
    fn names_in_backticks_are_code() {
        assert_eq!(message("every `k < 4`, a ` alone"), "every <code>k &lt; 4</code>, a ` alone");
    }

    #[test]
    fn a_column_without_a_heading_has_an_empty_cell() {
        let t = table(&[("role", false), ("", true)], [(false, vec!["x".into(), "1".into()])]);
        assert!(t.contains("<thead><tr><th>role</th><td class=\"n\"></td></tr></thead>"), "{t}");
    }

    #[test]
    fn a_table_without_headings_has_none() {
        let t = table(&[("", false), ("", true)], [(true, vec!["x".into(), "1".into()])]);
        assert!(!t.contains("thead") && t.contains("<tr class=\"key\"><td>x</td><td class=\"n\">1</td></tr>"));
    }
}
