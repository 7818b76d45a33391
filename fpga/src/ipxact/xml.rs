//! Text of XML, element by element.
//!
//!     element("a", |xml| xml.leaf("b", "1 < 2"))   =>   <ipxact:a>
//!                                                         <ipxact:b>1 &lt; 2</ipxact:b>
//!                                                       </ipxact:a>

use std::fmt::Write;

/// What all elements begin with.
const PREFIX: &str = "ipxact";

/// A text that grows.
pub(super) struct Xml {
    text: String,
    depth: usize,
}

impl Xml {
    /// An empty document; `head` is a comment, one line.
    pub(super) fn new(head: &str) -> Xml {
        let head = head.replace("--", "- -");
        Xml { text: format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- {head} -->\n"), depth: 0 }
    }

    pub(super) fn element(&mut self, name: &str, content: impl FnOnce(&mut Xml)) {
        self.element_with(name, &[], content);
    }

    pub(super) fn element_with(&mut self, name: &str, attributes: &[(&str, &str)], content: impl FnOnce(&mut Xml)) {
        let attributes = written(attributes);
        self.line(&format!("<{PREFIX}:{name}{attributes}>"));
        self.depth += 1;
        content(self);
        self.depth -= 1;
        self.line(&format!("</{PREFIX}:{name}>"));
    }

    /// An element without content.
    pub(super) fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) {
        let attributes = written(attributes);
        self.line(&format!("<{PREFIX}:{name}{attributes}/>"));
    }

    /// An element with text.
    pub(super) fn leaf(&mut self, name: &str, text: &str) {
        self.line(&format!("<{PREFIX}:{name}>{}</{PREFIX}:{name}>", escaped(text)));
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:indent$}{line}", "", indent = 2 * self.depth);
    }
}

fn written(attributes: &[(&str, &str)]) -> String {
    attributes.iter().fold(String::new(), |text, (name, value)| text + &format!(" {name}=\"{}\"", escaped(value)))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::Xml;

    #[test]
    fn texts_cannot_end_their_element() {
        let mut xml = Xml::new("a--b");
        xml.element_with("a", &[("b", "\"<")], |xml| xml.leaf("c", "</ipxact:c>&"));
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- a- -b -->\n<ipxact:a b=\"&quot;&lt;\">\n  \
                        <ipxact:c>&lt;/ipxact:c&gt;&amp;</ipxact:c>\n</ipxact:a>\n";
        assert_eq!(xml.into_text(), expected);
    }

    #[test]
    fn elements_without_content_close_themselves() {
        let mut xml = Xml::new("a");
        xml.element("b", |xml| xml.empty("c", &[("d", "&"), ("e", "f")]));
        let text = xml.into_text();
        assert!(text.ends_with("<ipxact:b>\n  <ipxact:c d=\"&amp;\" e=\"f\"/>\n</ipxact:b>\n"), "{text}");
    }
}
