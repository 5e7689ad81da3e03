//! The answers of the inspector's server, as its page gets them. `contract` writes them down for TypeScript.

mod conversation;
mod live;
mod protocol;
mod records;
mod requests;
mod session;
mod timing;

pub use conversation::{Item, ItemKind, ItemPage, Part, Tokens, Usage};
pub use live::{FromPage, FromServer, Update};
pub use protocol::{
    ArrowAbout, CommandAbout, CommandCase, CommandState, OtherFrame, Protocol, RegionAbout, RegionStep,
    RuleAbout, StateAbout,
};
pub use records::{
    Copied, Dialog, FindingPage, FindingView, MatchCount, Moment, RecordDetail, RecordPage, RecordRow,
    RuleCount,
};
pub use requests::{
    AttachRequest, DialectRequest, Failure, Problem, Problems, ProcessAction, ProcessRequest, RunningScript,
    Script, ScriptBody, Scripts, SendRequest, Sent,
};
pub use session::{
    DialectOrigin, HostSession, HostSessions, Reading, Session, Source, StateView, Totals, Transition,
};
pub use timing::{CommandTiming, Deltas, Figures, McpServer, Request, RequestPage, Run, Timing};
