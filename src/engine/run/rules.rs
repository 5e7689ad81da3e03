//! [Rules](crate::engine::ttsr) that stop an answer: it ends as aborted, is forgotten, and asked for again with the rules in view.
//! Source: xcsh source.

use crate::engine::{
    Engine,
    run::turns::{Ended, Run},
    ttsr::{Rules, Watched},
};
use crate::{
    protocol::{AgentMessage, Rule, Step, StopReason, TtsrTriggeredEvent, Update, errors},
    session::NewEntry,
};

impl Engine {
    /// Looks at what was just written; an answer that goes against a rule ends here.
    pub(in crate::engine) fn watch(&mut self, update: &Update) {
        let Step::Delta(delta) = &update.step else { return };
        let Some(growing) = self.run.as_ref().and_then(Run::growing) else { return };
        let Some(watched) = growing.message.content.get(update.index).and_then(Watched::of) else { return };
        let Some(broken) = self.rules.feed(update.index, watched, delta) else { return };
        self.event(TtsrTriggeredEvent { rules: broken.clone() });
        self.stop_answer(broken);
    }

    /// After a run that a rule has ended: the next one begins with the rules. `false` if none has.
    pub(in crate::engine) fn inject_rules(&mut self, ended: &Ended) -> bool {
        let broken = ended.broken.clone();
        if broken.is_empty() {
            return false;
        }
        self.session.forget_answer(StopReason::Aborted);
        self.rules.injected(&broken);
        let names = broken.iter().map(|rule| rule.name.clone()).collect();
        self.keep(NewEntry::RulesInjected(names));
        let message = Rules::injection(&broken, self.now.wall);
        self.start_run([AgentMessage::Custom(message).into()]);
        true
    }

    /// The model was told of the rules that the session says.
    pub(in crate::engine) fn restore_rules(&mut self) {
        self.rules.restore(self.session.tree().injected_rules());
    }

    fn stop_answer(&mut self, broken: Vec<Rule>) {
        let text = errors::request_aborted(self.dialect.base());
        let now = self.now;
        let Some(run) = &mut self.run else { return };
        let Some(mut growing) = run.take_growing() else { return };
        run.broken = broken;
        growing.close(StopReason::Aborted, Some(text), now);
        self.cancel_model(growing.call);
        self.message_over(growing);
    }
}
