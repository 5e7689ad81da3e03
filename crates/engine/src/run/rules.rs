//! Applies [rules](crate::ttsr) to answers: a broken rule aborts the answer, which is excluded and requested
//! again. Source: xcsh source.

use crate::{
    core::Engine,
    io::CallId,
    run::state::EndedRun,
    ttsr::{rule::WatchedContent, rules::Rules},
};
use pi_rpc_protocol::{AgentMessage, Step, StopReason, TtsrTriggeredEvent, Update};
use pi_rpc_session::NewEntry;

impl Engine {
    /// Checks a delta against the rules, and aborts the answer that breaks one.
    pub(crate) fn check_rules(&mut self, call: CallId, update: &Update) {
        let Step::Delta(delta) = &update.step else { return };
        let Some(partial) = self.requests.partial(call) else { return };
        let Some(watched) = partial.message.content.get(update.index).and_then(WatchedContent::of) else {
            return;
        };
        let Some(broken) = self.rules.feed(update.index, watched, delta) else { return };
        self.emit_event(TtsrTriggeredEvent { rules: broken.clone() });
        if let Some(run) = self.activity.run_mut() {
            run.broken_rules = broken;
        }
        self.abort_message(call);
    }

    /// Starts the next run with the broken rules, after a run that a rule has ended; `false` if none has.
    pub(crate) fn inject_rules(&mut self, ended: &EndedRun) -> bool {
        let broken = ended.broken_rules.clone();
        if broken.is_empty() {
            return false;
        }
        self.store.session.forget_last_answer(StopReason::Aborted);
        self.rules.mark_injected(&broken);
        let names = broken.iter().map(|rule| rule.name.clone()).collect();
        self.append(NewEntry::RulesInjected(names));
        let message = Rules::injection_message(&broken, self.now.wall);
        self.start_run([AgentMessage::Custom(message).into()]);
        true
    }
}
