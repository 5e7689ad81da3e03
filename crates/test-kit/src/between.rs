//! A front between the host and the engine: the host speaks one dialect, the engine another.

use pi_rpc_front::{Front, Output};
use pi_rpc_protocol::Dialect;

/// A line of either conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedLine {
    /// Time in milliseconds.
    pub at: u64,
    /// Whether it is of the conversation with the client, or of that with the server.
    pub is_of_client: bool,
    /// Whether it goes to the server.
    pub is_inbound: bool,
    /// The line, without its line feed.
    pub line: String,
}

/// Both conversations of a front.
#[derive(Debug, Default)]
pub struct PassedLines {
    /// The lines, in order.
    pub lines: Vec<PassedLine>,
    /// What the front had to say to people.
    pub notices: Vec<String>,
    /// The states in which both sides end.
    pub states: (String, String),
}

impl PassedLines {
    /// The conversation of one side as a recording.
    pub fn recording(&self, of_client: bool) -> String {
        let lines = self.lines.iter().filter(|line| line.is_of_client == of_client);
        let records = lines.map(|PassedLine { at, is_inbound, line, .. }| {
            let way = if *is_inbound { "in" } else { "out" };
            format!("{{\"t\":{at},\"dir\":\"{way}\",\"frame\":{line}}}\n")
        });
        records.collect()
    }
}

/// The front of a conversation.
pub(crate) struct Between {
    front: Front,
    pub passed: PassedLines,
}

impl Between {
    /// A front, and the lines for the server before anything else.
    pub fn new(server: Dialect, client: Dialect) -> (Self, Vec<String>) {
        let mut made = Self { front: Front::new(server.into(), client), passed: PassedLines::default() };
        let mut output = Output::default();
        made.front.start(&mut output);
        let (_, to_server) = made.take(0, output);
        (made, to_server)
    }

    /// Takes a line of the host; returns the lines for the host, and for the server.
    pub fn host_line(&mut self, at: u64, line: &str) -> (Vec<String>, Vec<String>) {
        self.note(at, true, true, line);
        let mut output = Output::default();
        self.front.client_line(line.as_bytes(), &mut output);
        self.take(at, output)
    }

    /// Takes a line of the server; returns the lines for the host, and for the server.
    pub fn server_line(&mut self, at: u64, line: &str) -> (Vec<String>, Vec<String>) {
        self.note(at, false, false, line);
        let mut output = Output::default();
        self.front.server_line(line.as_bytes(), &mut output);
        self.take(at, output)
    }

    /// The states of both sides: of the client's, and of the server's.
    pub fn states(&self) -> (String, String) {
        let (client, server) = self.front.states();
        (client.to_string(), server.to_string())
    }

    fn take(&mut self, at: u64, output: Output) -> (Vec<String>, Vec<String>) {
        let lines = |bytes: &[u8]| -> Vec<String> {
            String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
        };
        let (to_client, to_server) = (lines(&output.to_client), lines(&output.to_server));
        to_client.iter().for_each(|line| self.note(at, true, false, line));
        to_server.iter().for_each(|line| self.note(at, false, true, line));
        self.passed.notices.extend(output.notices);
        (to_client, to_server)
    }

    fn note(&mut self, at: u64, is_of_client: bool, is_inbound: bool, line: &str) {
        self.passed.lines.push(PassedLine { at, is_of_client, is_inbound, line: line.to_owned() });
    }
}
