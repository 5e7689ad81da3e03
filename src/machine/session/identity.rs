//! Which session it is: its id and its file.

/// What the server tells of the session's identity.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// The session's id and its file, as they were told last.
    known: Option<(String, Option<String>)>,
    /// The session's id before the session was left for a new one.
    left: Option<String>,
}

impl Identity {
    /// The id that was told in this session.
    pub fn id(&self) -> Option<&str> {
        self.known.as_ref().map(|(id, _)| id.as_str())
    }

    /// The file that was told in this session; `None`: none was told yet.
    pub fn file(&self) -> Option<Option<&str>> {
        self.known.as_ref().map(|(_, file)| file.as_deref())
    }

    /// The id of the session before, which no other one has.
    pub fn left(&self) -> Option<&str> {
        self.left.as_deref()
    }

    /// The server has told it.
    pub fn tell(&mut self, id: &str, file: Option<&str>) {
        self.known = Some((id.to_owned(), file.map(str::to_owned)));
    }

    /// Another session has taken its place; `is_new`: one that did not exist before.
    pub fn leave(&mut self, is_new: bool) {
        let id = self.known.take().map(|(id, _)| id);
        self.left = if is_new { id.or(self.left.take()) } else { None };
    }
}
