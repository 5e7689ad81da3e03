//! The page as an HTML parser sees it.

use html5ever::{ParseOpts, parse_document, tendril::TendrilSink, tree_builder::TreeBuilderOpts};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// One element with its attributes and what is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub inside: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    Element(Element),
    Text(String),
    Comment,
}

impl Element {
    /// The `html` element of a page, as it is without scripts: what stands in `noscript` is elements, too.
    pub fn of(html: &str) -> Self {
        Self::parsed(html, false)
    }

    /// The `html` element of a page where scripts run: what stands in `noscript` is text.
    pub fn with_scripting(html: &str) -> Self {
        Self::parsed(html, true)
    }

    fn parsed(html: &str, scripting_enabled: bool) -> Self {
        let tree_builder = TreeBuilderOpts { scripting_enabled, ..TreeBuilderOpts::default() };
        let options = ParseOpts { tree_builder, ..ParseOpts::default() };
        let dom = parse_document(RcDom::default(), options).one(html);
        let children = dom.document.children.borrow();
        children
            .iter()
            .find_map(|child| match node(child) {
                Some(Node::Element(element)) => Some(element),
                _ => None,
            })
            .unwrap()
    }

    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(named, _)| named == name).map(|(_, value)| value.as_str())
    }

    /// The elements right inside.
    pub fn inside_elements(&self) -> Vec<&Element> {
        let elements = self.inside.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            _ => None,
        });
        elements.collect()
    }

    /// This element and every one below it.
    pub fn all(&self) -> Vec<&Element> {
        std::iter::once(self).chain(self.inside_elements().into_iter().flat_map(Element::all)).collect()
    }

    pub fn find(&self, name: &str) -> Option<&Element> {
        self.all().into_iter().find(|element| element.name == name)
    }

    /// The text in it, of all depths.
    pub fn text(&self) -> String {
        self.inside
            .iter()
            .map(|node| match node {
                Node::Element(element) => element.text(),
                Node::Text(text) => text.clone(),
                Node::Comment => String::new(),
            })
            .collect()
    }

    /// Elements and text, a line each, indented by depth.
    pub fn outline(&self) -> String {
        let mut lines = String::new();
        self.outlined(0, &mut lines);
        lines
    }

    fn outlined(&self, depth: usize, lines: &mut String) {
        let attributes = self.attributes.iter().map(|(name, value)| match value.as_str() {
            "" => format!(" {name}"),
            value => format!(" {name}={value:?}"),
        });
        let indent = "  ".repeat(depth);
        lines.push_str(&format!("{indent}<{}{}>", self.name, attributes.collect::<String>()));
        if let [Node::Text(text)] = &self.inside[..] {
            lines.push_str(&format!(" {text:?}\n"));
            return;
        }
        lines.push('\n');
        for node in &self.inside {
            match node {
                Node::Element(element) => element.outlined(depth + 1, lines),
                Node::Text(text) => lines.push_str(&format!("{indent}  {text:?}\n")),
                Node::Comment => lines.push_str(&format!("{indent}  <!-- -->\n")),
            }
        }
    }
}

fn node(handle: &Handle) -> Option<Node> {
    match &handle.data {
        NodeData::Element { name, attrs, .. } => Some(Node::Element(Element {
            name: name.local.to_string(),
            attributes: attrs
                .borrow()
                .iter()
                .map(|attribute| (attribute.name.local.to_string(), attribute.value.to_string()))
                .collect(),
            inside: handle.children.borrow().iter().filter_map(node).collect(),
        })),
        NodeData::Text { contents } => Some(Node::Text(contents.borrow().to_string())),
        NodeData::Comment { .. } | NodeData::ProcessingInstruction { .. } => Some(Node::Comment),
        NodeData::Doctype { .. } | NodeData::Document => None,
    }
}
