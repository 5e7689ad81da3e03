//! Conformance with live programs: scenarios played with a server, a proxy that records and judges, a recording played as a
//! server.
//!
//! For authors of servers and hosts: [`live`] tests a server, [`tap`] listens in on a real host and a real server, and [`replay`]
//! gives a host a server that always says the same.
//!
//! This crate knows no rules: the crate `pi-rpc-oracle` judges every frame. It plays what a scenario says and never repairs a
//! conversation: [`tap`] passes every byte on as it came. Unlike the oracle it starts processes; [`replay`] alone does no IO.
//!
//! - [`live::play`], [`live::play_all`]: play scenarios with a server, which is started as an [`Adapter`](live::Adapter) says.
//! - [`tap::tap`]: sits between a host and a server, and records and judges both sides.
//! - [`replay::RecordedProcess`], [`replay::Replay`]: a recording as a server, step by step.
//!
//! ```
//! use pi_rpc_conform::replay::{Action, HostInput, RecordedProcess, Replay};
//! use pi_rpc_protocol::Dialect;
//!
//! let recording = r#"{"t":0,"dir":"in","frame":{"id":"1","type":"abort"}}
//! {"t":2,"dir":"out","frame":{"id":"1","type":"response","command":"abort","success":true}}"#;
//! let mut replay = Replay::new(RecordedProcess::read(recording, 1)?, Dialect::Pi);
//! assert_eq!(replay.advance(), Action::Wait);
//! replay.handle(&HostInput::Line(br#"{"id":"mine","type":"abort"}"#));
//! let Action::Write { line, .. } = replay.advance() else { panic!() };
//! assert_eq!(line, b"{\"id\":\"mine\",\"type\":\"response\",\"command\":\"abort\",\"success\":true}\n");
//! # Ok::<(), pi_rpc_conform::replay::RecordedProcessError>(())
//! ```

pub mod live;
pub mod replay;
pub mod tap;
