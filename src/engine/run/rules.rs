//! [Rules](crate::engine::ttsr) that stop an answer: it ends as aborted, is forgotten, and asked for again with the rules in view.
//! Source: xcsh source.

use crate::engine::{
    Engine,
    run::state::{EndedRun, Run},
    ttsr::{Rules, Watched},
};
use crate::{
    protocol::{AgentMessage, Rule, Step, StopReason, TtsrTriggeredEvent, Update},
    session::NewEntry,
};

impl Engine {
    /// Looks at what was just written; an answer that goes against a rule ends here.
    pub(in crate::engine) fn watch(&mut self, update: &Update) {
        let Step::Delta(delta) = &update.step else { return };
        let Some(growing) = self.activity.run().and_then(Run::partial) else { return };
        let Some(watched) = growing.message.content.get(update.index).and_then(Watched::of) else { return };
        let Some(broken) = self.rules.feed(update.index, watched, delta) else { return };
        self.event(TtsrTriggeredEvent { rules: broken.clone() });
        self.stop_answer(broken);
    }

    /// After a run that a rule has ended: the next one begins with the rules. `false` if none has.
    pub(in crate::engine) fn inject_rules(&mut self, ended: &EndedRun) -> bool {
        let broken = ended.broken_rules.clone();
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
        let Some(run) = self.activity.run_mut() else { return };
        let Some(partial) = run.take_partial() else { return };
        run.broken_rules = broken;
        self.stop_message(partial);
    }
}
