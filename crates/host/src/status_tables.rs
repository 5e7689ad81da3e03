//! The status of a host as tables for people: text for a terminal, a page for a browser.

use super::{
    host_status::{HostLoad, HostRow, HostStatus, LimitsRow, SessionRow},
    limits::TokenLimits,
};
use maud::{DOCTYPE, html};
use pi_rpc_files::harmless::harmless;
use pi_rpc_html::{BASE_STYLE, head};

/// Rows of one kind, with the names of their columns first.
struct StatusTable {
    title: &'static str,
    lines: Vec<Vec<String>>,
}

impl StatusTable {
    fn new<R>(title: &'static str, columns: &[&str], rows: &[R], cells: impl Fn(&R) -> Vec<String>) -> Self {
        let names = columns.iter().map(|&name| name.to_owned()).collect();
        Self { title, lines: [names].into_iter().chain(rows.iter().map(cells)).collect() }
    }

    fn is_empty(&self) -> bool {
        self.lines.len() == 1
    }

    /// Its lines, with columns below one another.
    fn text(&self) -> String {
        let columns = self.lines.first().map_or(0, Vec::len);
        let length = |line: &Vec<String>, column: usize| line[column].chars().count();
        let widths: Vec<usize> = (0..columns)
            .map(|column| self.lines.iter().map(|line| length(line, column)).max().unwrap_or(0))
            .collect();
        let line = |line: &Vec<String>| {
            let cells: Vec<String> =
                line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            cells.join("  ").trim_end().to_owned()
        };
        self.lines.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Style of the page, behind [`BASE_STYLE`].
const STYLE: &str = "\
body { margin: 0 auto; max-width: 80rem; }
div { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { border: 1px solid var(--line); padding: .3em .6em; text-align: start; vertical-align: top; }
th { background: var(--card); }
";

impl HostStatus {
    /// The status as text: a table for each kind of row, without those that have none.
    pub fn text(&self) -> String {
        let tables = self.tables();
        let tables = tables.iter().filter(|table| !table.is_empty()).map(StatusTable::text);
        tables.collect::<Vec<_>>().join("\n\n")
    }

    /// The status as a page.
    pub fn page(&self) -> String {
        let tables = self.tables();
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head("Status of a session host", &[BASE_STYLE, STYLE].concat(), None))
                body {
                    h1 { "Status of a session host" }
                    p { "As " bdi { (harmless(&self.principal)) } " may see it." }
                    @for table in tables.iter().filter(|table| !table.is_empty()) {
                        h2 { (table.title) }
                        div { table {
                            @for (number, line) in table.lines.iter().enumerate() {
                                tr { @for cell in line {
                                    @if number == 0 { th scope="col" { (cell) } } @else { td { bdi { (harmless(cell)) } } }
                                } }
                            }
                        } }
                    }
                }
            }
        };
        page.into_string()
    }

    fn tables(&self) -> [StatusTable; 3] {
        let Self { principal: _, hosts, sessions, limits } = self;
        let columns = ["HOST", "LABELS", "SESSIONS", "CONNECTIONS", "PENDING BYTES", "JOINED", "SNAPSHOTS"];
        let hosts = StatusTable::new("Hosts", &columns, hosts, host_cells);
        let columns = ["SESSION", "STATUS", "OWNER", "HOST", "DIRECTORY", "NAME"];
        let sessions = StatusTable::new("Sessions", &columns, sessions, session_cells);
        let columns = ["TOKEN", "SESSIONS", "COMMANDS A MINUTE", "DOLLARS TODAY", "FURTHER LIMITS"];
        [hosts, sessions, StatusTable::new("Tokens", &columns, limits, limits_cells)]
    }
}

fn host_cells(HostRow { id, labels, is_this, load }: &HostRow) -> Vec<String> {
    let name = match (id, is_this) {
        (Some(id), true) => format!("{id} (asked)"),
        (Some(id), false) => id.clone(),
        (None, _) => "this one".to_owned(),
    };
    let number = |of: fn(&HostLoad) -> u64| load.as_ref().map_or_else(unknown, |load| of(load).to_string());
    vec![
        name,
        labels.join(", "),
        number(|load| load.sessions),
        number(|load| load.connections),
        number(|load| load.pending_bytes),
        number(|load| load.coalesced_deltas),
        number(|load| load.lag_snapshots),
    ]
}

fn session_cells(SessionRow { session, owner, host }: &SessionRow) -> Vec<String> {
    vec![
        session.session_id.clone(),
        session.status.as_str().to_owned(),
        owner.clone(),
        host.clone().unwrap_or_default(),
        session.cwd.clone(),
        session.name.clone().unwrap_or_default(),
    ]
}

fn limits_cells(LimitsRow { name, limits, sessions, commands, dollars_today }: &LimitsRow) -> Vec<String> {
    let TokenLimits {
        roots,
        models,
        tools,
        mcp,
        dialects,
        sessions: most_sessions,
        commands_per_minute,
        dollars_per_day,
        sees_all,
        logins,
    } = limits;
    let commands = commands.map_or_else(unknown, |commands| commands.to_string());
    let dollars = dollars_today.map_or_else(unknown, |dollars| format!("{dollars:.2}"));
    let further = [
        ("roots", roots.is_some()),
        ("models", models.is_some()),
        ("tools", tools.is_some()),
        ("dialects", dialects.is_some()),
        ("no mcp", *mcp == Some(false)),
        ("no logins", !logins),
        ("own sessions only", !sees_all),
    ];
    let further: Vec<&str> = further.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| name).collect();
    vec![
        name.clone(),
        most_sessions.map_or_else(|| sessions.to_string(), |most| format!("{sessions} of {most}")),
        commands_per_minute.map_or_else(|| "any".to_owned(), |most| format!("{commands} of {most}")),
        dollars_per_day.map_or_else(|| dollars.clone(), |most| format!("{dollars} of {most}")),
        further.join(", "),
    ]
}

fn unknown() -> String {
    "?".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(owner: &str) -> HostStatus {
        let load = HostLoad { sessions: 1, connections: 2, pending_bytes: 3, ..HostLoad::default() };
        let hosts = [("a-1", true, Some(load)), ("b-2", false, None)].map(|(id, is_this, load)| HostRow {
            id: Some(id.to_owned()),
            labels: Vec::new(),
            is_this,
            load,
        });
        let session = serde_json::json!({
            "sessionId": "s1", "sessionPath": null, "name": null, "cwd": "/work", "status": "idle",
            "owner": owner, "host": "a-1",
        });
        let limits = serde_json::json!({
            "name": "build", "limits": { "commands_per_minute": 600, "logins": true }, "sessions": 1, "commands": 2,
            "dollarsToday": 0.25,
        });
        HostStatus {
            principal: "local".to_owned(),
            hosts: hosts.into(),
            sessions: vec![serde_json::from_value(session).unwrap()],
            limits: vec![serde_json::from_value(limits).unwrap()],
        }
    }

    #[test]
    fn text_has_a_table_for_each_kind() {
        let expected = "\
HOST         LABELS  SESSIONS  CONNECTIONS  PENDING BYTES  JOINED  SNAPSHOTS
a-1 (asked)          1         2            3              0       0
b-2                  ?         ?            ?              ?       ?

SESSION  STATUS  OWNER  HOST  DIRECTORY  NAME
s1       idle    build  a-1   /work

TOKEN  SESSIONS  COMMANDS A MINUTE  DOLLARS TODAY  FURTHER LIMITS
build  1         2 of 600           0.25           own sessions only";
        assert_eq!(status("build").text(), expected);
        let only_limits = HostStatus { hosts: Vec::new(), sessions: Vec::new(), ..status("build") };
        assert!(only_limits.text().starts_with("TOKEN"));
    }

    #[test]
    fn page_shows_markup_as_letters() {
        let page = status("<b>\u{202e}").page();
        assert!(page.contains("default-src 'none'") && page.contains("<td><bdi>a-1 (asked)</bdi></td>"));
        assert!(page.contains("&lt;b&gt;") && !page.contains('\u{202e}'), "{page}");
    }
}
