//! Names that occur again and again, as numbers.

use std::collections::HashMap;

/// A table of names. Those beyond its limit are all [`OTHER`].
#[derive(Debug)]
pub struct Names {
    names: Vec<String>,
    numbers: HashMap<String, u16>,
}

/// The number of names that there was no room for.
const OTHER: &str = "other";
/// The most names; a hostile server may invent any number.
const LIMIT: usize = 4096;
/// The longest name, in bytes.
const LONGEST: usize = 256;

impl Default for Names {
    fn default() -> Self {
        Self { names: vec![OTHER.to_owned()], numbers: HashMap::new() }
    }
}

impl Names {
    /// The number of a name.
    pub fn number(&mut self, name: &str) -> u16 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        if self.names.len() >= LIMIT || name.len() > LONGEST {
            return 0;
        }
        let number = self.names.len() as u16;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// The name with this number.
    pub fn name(&self, number: u16) -> &str {
        self.names.get(usize::from(number)).map_or(OTHER, String::as_str)
    }

    /// All names with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &str)> {
        self.names.iter().enumerate().map(|(number, name)| (number as u16, name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_limit_are_other() {
        let mut names = Names::default();
        assert_eq!(names.number("a"), names.number("a"));
        let numbers: Vec<u16> = (0..2 * LIMIT).map(|at| names.number(&at.to_string())).collect();
        assert_eq!(names.name(numbers[7]), "7");
        assert_eq!(names.name(numbers[2 * LIMIT - 1]), OTHER);
        assert_eq!(names.number(&"x".repeat(LONGEST + 1)), 0);
    }
}
