//! A session as a page.
/// stub
pub fn html(_tree: &super::Tree) -> String {
    String::new()
}
