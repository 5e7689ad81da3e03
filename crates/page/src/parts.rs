//! Divides the entries of a page into parts, the unit in which a long page is built and branches are shown.
//!
//! A part ends after an entry where branches leave, so that another branch replaces whole parts. In long sessions each
//! part stands in a `noscript`: where scripts run, that is one text, from which the script makes elements when readers
//! come near; where they do not, it is the elements. So 100,000 entries open at once, and can be read by everybody.

use std::collections::HashMap;

use super::kinds::Kinds;

/// Entries of a part.
const PART_ENTRIES: usize = 50;

/// Entries up to which a session is elements at once.
const SHORT_SESSION: usize = 300;

/// Writes the parts of a page.
pub(super) struct PartWriter {
    is_short: bool,
    /// The number of the current part, over all segments.
    number: usize,
    markup: String,
    entries: usize,
    kinds: Kinds,
    /// The part that ends with each entry where branches leave.
    forks: HashMap<usize, usize>,
}

impl PartWriter {
    /// Creates the writer for a session of so many entries.
    pub fn new(entries: usize) -> Self {
        let is_short = entries <= SHORT_SESSION;
        Self {
            is_short,
            number: 1,
            markup: String::new(),
            entries: 0,
            kinds: Kinds::default(),
            forks: HashMap::new(),
        }
    }

    /// Adds an entry, and writes the part to `page` if it is full.
    pub fn add(&mut self, kinds: Kinds, markup: &str, page: &mut String) {
        if markup.is_empty() {
            return;
        }
        self.markup.push_str(markup);
        self.entries += 1;
        self.kinds = self.kinds.with(kinds);
        if self.entries == PART_ENTRIES {
            self.end(page);
        }
    }

    /// Adds the links of branches that leave after `entry`, and writes the part.
    pub fn fork(&mut self, entry: usize, links: &str, page: &mut String) {
        self.markup.push_str(links);
        self.forks.insert(entry, self.number);
        self.end(page);
    }

    /// Writes the part, if anything is in it.
    pub fn end(&mut self, page: &mut String) {
        if self.markup.is_empty() {
            return;
        }
        let class = self.kinds.classes("part");
        let (number, entries) = (self.number, self.entries);
        page.push_str(&format!("<div class=\"{class}\" id=\"p{number}\" data-entries=\"{entries}\">"));
        let (start, end) = if self.is_short { ("", "") } else { ("<noscript>", "</noscript>") };
        page.extend([start, &self.markup, end, "</div>"]);
        self.markup.clear();
        (self.entries, self.kinds) = (0, Kinds::default());
        self.number += 1;
    }

    /// The number of the part after which the branches of an entry leave.
    pub fn ending_with(&self, entry: usize) -> Option<usize> {
        self.forks.get(&entry).copied()
    }
}
