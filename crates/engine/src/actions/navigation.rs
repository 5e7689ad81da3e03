//! Navigation to another branch of the session, for `navigate_tree` of the host and of extensions.
//!
//! ```text
//! nothing goes on? ─→ session_before_tree hook ─→ a summary of what is left behind? ─→ the leaf moves, and is stored
//!                                                                                   └→ session_tree hook ─→ response
//! ```
//!
//! Until the leaf moves, a run, a compaction or another session that begins gives it up; that of a host is also given up by
//! `abort` and at the end of the input. Source: pi source; own for the command of the host.

use crate::{
    core::Engine,
    extensions::hook::Hook,
    io::CallId,
    requests::{ModelContinuation, Navigation, NavigationStage},
    run::{
        partial_message::{PartialMessage, has_failed},
        summarize::{calls_tool, text_of},
    },
    store::{Appended, after_append::AfterAppend},
};
use pi_rpc_protocol::{
    BeforeTreeHook, DialectBranchSummaryFrom, DialectExtensionApi, ExtensionSetLeaf, HookSummary, JsonObject,
    NavigateTreeCommand, NavigateTreeResponse, RpcCommandKind, TreeHook, TreeNavigation, Usage, errors,
    texts,
};
use pi_rpc_session::{BranchPreparation, Entry, NewEntry, compaction::TouchedFiles};
use serde_json::Value;

/// A summary of the branch that is left.
struct BranchSummaryText {
    text: String,
    details: Option<Value>,
    usage: Option<Box<Usage>>,
    from_extension: bool,
}

impl Engine {
    /// Serves `navigate_tree`: sends the hook, if nothing is under way.
    pub(crate) fn navigate(&mut self, wanted: NavigateTreeCommand) {
        let tree = self.store.session.tree();
        let old_leaf_id = tree.leaf_id().map(ToString::to_string);
        let is_known = tree.get(&wanted.target_id).is_some();
        if let Some(text) = self.navigation_refusal() {
            return self.handler_failed(wanted.id, RpcCommandKind::NavigateTree, text);
        }
        if old_leaf_id.as_ref() == Some(&wanted.target_id) {
            return self.succeed(NavigateTreeResponse { id: wanted.id, data: outcome(false, None) });
        }
        if !is_known {
            let text = errors::no_such_entry(self.dialect.base(), &wanted.target_id);
            return self.handler_failed(wanted.id, RpcCommandKind::NavigateTree, text);
        }
        let left = self.store.session.tree().abandoned_entries(&wanted.target_id);
        let event = BeforeTreeHook {
            target_id: wanted.target_id.clone(),
            old_leaf_id,
            common_ancestor_id: left.common.map(ToString::to_string),
            entries_to_summarize: left.entries.iter().filter_map(|entry| object(entry)).collect(),
            user_wants_summary: wanted.summarize.unwrap_or(false),
            custom_instructions: wanted.custom_instructions,
            replace_instructions: wanted.replace_instructions,
            label: wanted.label,
        };
        let (call, hook) = (self.ids.call(), self.ids.call());
        let navigation = Navigation {
            id: wanted.id,
            target: wanted.target_id,
            label: None,
            stage: NavigationStage::Hooked(hook),
        };
        self.requests.navigations.insert(call, navigation);
        self.send_hook_as(
            hook,
            Hook::SessionBeforeTree { event, is_cancelled: false, summary: None, navigation: call },
        );
    }

    /// Serves `set_leaf`: continues at another entry at once.
    pub(crate) fn set_leaf(&mut self, process: CallId, wanted: ExtensionSetLeaf) {
        let outcome = match self.navigation_refusal() {
            Some(text) => Err(text),
            None if self.store.session.continue_after(Some(&wanted.entry_id)) => Ok(None),
            None => Err(errors::no_such_entry(self.dialect.base(), &wanted.entry_id)),
        };
        self.respond(process, wanted.id, outcome);
    }

    /// The error if the leaf cannot move now; `None`: it can.
    fn navigation_refusal(&self) -> Option<String> {
        let base = self.dialect.base();
        let in_run = self.activity.is_streaming()
            || self.activity.is_retrying()
            || self.series.chain.is_some()
            || self.has_prompt_under_way();
        if in_run {
            return Some(errors::navigation_in_run(base));
        }
        let has_moved = |it: &Navigation| matches!(it.stage, NavigationStage::Moved(_));
        let is_navigating = !self.requests.navigations.values().all(has_moved);
        (is_navigating || self.activity.compaction().is_some()).then(|| errors::navigation_busy(base))
    }

    /// Extensions have responded: the navigation is given up, or what is left behind is summed up, or the leaf moves.
    pub(crate) fn on_navigation_hooked(
        &mut self,
        hook: CallId,
        call: CallId,
        event: BeforeTreeHook,
        is_cancelled: bool,
        summary: Option<HookSummary>,
    ) {
        let awaits = |it: &Navigation| matches!(it.stage, NavigationStage::Hooked(own) if own == hook);
        if !self.requests.navigations.get(&call).is_some_and(awaits) {
            return;
        }
        if is_cancelled {
            return self.end_navigation(call, outcome(true, None));
        }
        let BeforeTreeHook { custom_instructions, replace_instructions, label, user_wants_summary, .. } =
            event;
        let instructions = custom_instructions.clone();
        if let Some(navigation) = self.requests.navigations.get_mut(&call) {
            navigation.label = label;
        }
        let made = summary.filter(|_| user_wants_summary).map(|made| BranchSummaryText {
            text: made.summary,
            details: made.details,
            usage: made.usage.map(Box::new),
            from_extension: true,
        });
        match made {
            None if user_wants_summary => {
                self.summarise_branch(call, instructions.as_deref(), replace_instructions.unwrap_or(false));
            }
            made => self.move_leaf(call, made),
        }
    }

    /// Requests a summary of the branch that is left.
    fn summarise_branch(&mut self, call: CallId, instructions: Option<&str>, replace: bool) {
        let Some(target) = self.requests.navigations.get(&call).map(|it| it.target.clone()) else { return };
        let window = match self.limits_model().context_window {
            0 => UNKNOWN_WINDOW,
            window => window,
        };
        let left = self.store.session.tree().abandoned_entries(&target).entries;
        if left.is_empty() {
            return self.move_leaf(call, None);
        }
        let branch = BranchPreparation::new(&left, window.saturating_sub(self.modes.branch_reserve).max(1));
        if let Some(text) = self.models.choice().unusable.clone() {
            return self.fail_navigation(call, text);
        }
        match branch.request(instructions, replace) {
            Some(request) => {
                let thinks = self.models.choice().model.reasoning
                    && self.dialect.record().extension_api == DialectExtensionApi::V15;
                let level = self.models.level.filter(|_| thinks);
                self.set_stage(call, NavigationStage::Summarising);
                let continuation = ModelContinuation::BranchSummary(Box::new(branch));
                self.request_summary(call, level, &request, continuation);
            }
            None => {
                let summary = BranchSummaryText {
                    text: texts::branch_empty(),
                    details: serde_json::to_value(TouchedFiles::default().details()).ok(),
                    usage: None,
                    from_extension: false,
                };
                self.move_leaf(call, Some(summary));
            }
        }
    }

    /// Handles the summary of the branch that is left.
    pub(crate) fn on_branch_summary(
        &mut self,
        call: CallId,
        branch: &BranchPreparation,
        partial: PartialMessage,
    ) {
        self.set_stage(call, NavigationStage::Between);
        let base = self.dialect.base();
        let answer = partial.finish();
        let text = text_of(&answer);
        let fault = match has_failed(&answer) {
            true => Some(answer.error_message.clone().unwrap_or_else(|| errors::summary_empty(base))),
            false => self.summary_fault(&answer, &text).filter(|_| !calls_tool(&answer)),
        };
        if let Some(reason) = fault {
            return self.fail_navigation(call, errors::branch_summary_failed(base, &reason));
        }
        if calls_tool(&answer) {
            return self.fail_navigation(call, errors::branch_summary_called(base));
        }
        let text = branch.summary(&text, self.dialect.record().compaction.list_lines);
        let details = serde_json::to_value(branch.files.details()).ok();
        let usage = Some(Box::new(answer.usage));
        self.move_leaf(call, Some(BranchSummaryText { text, details, usage, from_extension: false }));
    }

    /// Moves the leaf; extensions are notified once that is persisted.
    fn move_leaf(&mut self, call: CallId, summary: Option<BranchSummaryText>) {
        let Some(navigation) = self.requests.navigations.get_mut(&call) else { return };
        let (target, label) = (navigation.target.clone(), navigation.label.take());
        let before = self.store.session.clone();
        let old_leaf_id = before.tree().leaf_id().map(ToString::to_string);
        let chosen = self.store.session.tree().navigation_target(&target);
        let Some(chosen) = chosen.filter(|it| self.store.session.continue_after(it.leaf.as_deref())) else {
            let text = errors::no_such_entry(self.dialect.base(), &target);
            return self.fail_navigation(call, text);
        };
        let from_extension = summary.as_ref().map(|summary| summary.from_extension);
        let from = match self.dialect.record().branch_summary_from {
            DialectBranchSummaryFrom::OldLeaf => old_leaf_id.clone(),
            DialectBranchSummaryFrom::NewPosition => chosen.leaf.as_deref().map(str::to_owned),
        };
        let summary = summary.filter(|summary| !summary.text.is_empty()).and_then(|summary| {
            self.append(NewEntry::BranchSummary {
                from: from.unwrap_or_else(|| "root".to_owned()),
                summary: summary.text,
                details: summary.details,
                from_hook: summary.from_extension,
                usage: summary.usage,
            })
        });
        if let Some(label) = label.filter(|label| !label.is_empty()) {
            let target = summary.as_deref().unwrap_or(&target).to_owned();
            self.append(NewEntry::Label { target, label: Some(label) });
        }
        let tree = self.store.session.tree();
        let written = summary.as_deref().and_then(|id| tree.get(id));
        let event = TreeHook {
            new_leaf_id: tree.leaf_id().map(ToString::to_string),
            old_leaf_id,
            summary_entry: written.and_then(object),
            from_extension: from_extension.filter(|_| summary.is_some()),
        };
        let outcome = TreeNavigation {
            cancelled: false,
            aborted: None,
            editor_text: chosen.text,
            summary_entry: written.and_then(Entry::read),
        };
        self.set_stage(call, NavigationStage::Moved(Box::new(outcome)));
        let (event, before) = (Box::new(event), Box::new(before));
        self.store.after_append(AfterAppend::Navigation { call, event, before });
    }

    /// Notifies extensions of the persisted new branch.
    pub(crate) fn on_branch_stored(&mut self, call: CallId, event: TreeHook, _: &Appended) {
        self.store.session.rebuild();
        self.series.overflowed = false;
        self.restore();
        self.send_hook(Hook::SessionTree { event, navigation: call });
    }

    /// Responds, as extensions are notified of the new branch.
    pub(crate) fn on_branch_notified(&mut self, call: CallId) {
        if let Some(Navigation { stage: NavigationStage::Moved(outcome), .. }) =
            self.requests.navigations.get(&call)
        {
            let outcome = outcome.as_ref().clone();
            self.end_navigation(call, outcome);
        }
    }

    /// Gives up each navigation whose leaf has not moved: other work begins on the session.
    pub(crate) fn abandon_navigation(&mut self) {
        self.abandon_navigations(|_, _| true);
    }

    /// Gives up the navigation of the host if its leaf has not moved.
    pub(crate) fn abandon_host_navigation(&mut self) {
        self.abandon_navigations(Self::is_of_host);
    }

    /// Whether a navigation of the host is outstanding.
    pub(crate) fn has_host_navigation(&self) -> bool {
        self.requests.navigations.values().any(|navigation| self.is_of_host(navigation))
    }

    /// Whether the host has requested a navigation, not an extension.
    fn is_of_host(&self, navigation: &Navigation) -> bool {
        self.requests.actions.command(navigation.id.as_ref()).is_none()
    }

    fn abandon_navigations(&mut self, is_meant: impl Fn(&Self, &Navigation) -> bool) {
        let calls: Vec<CallId> = self.requests.navigations.keys().copied().collect();
        for call in calls {
            let meant = self.requests.navigations.get(&call).filter(|navigation| is_meant(self, navigation));
            match meant.map(|navigation| &navigation.stage) {
                Some(NavigationStage::Hooked(hook)) => {
                    let hook = *hook;
                    self.cancel_hook(hook);
                }
                Some(NavigationStage::Summarising) => drop(self.cancel_model(call)),
                Some(NavigationStage::Between | NavigationStage::Moved(_)) | None => continue,
            }
            self.end_navigation(call, outcome(true, Some(true)));
        }
    }

    /// Responds to the command, or to the action that it was served for, with the outcome.
    fn end_navigation(&mut self, call: CallId, data: TreeNavigation) {
        if let Some(Navigation { id, .. }) = self.requests.navigations.remove(&call) {
            self.succeed(NavigateTreeResponse { id, data });
        }
    }

    /// Fails the command, or the action that it was served for.
    pub(crate) fn fail_navigation(&mut self, call: CallId, text: String) {
        if let Some(Navigation { id, .. }) = self.requests.navigations.remove(&call) {
            self.handler_failed(id, RpcCommandKind::NavigateTree, text);
        }
    }

    fn set_stage(&mut self, call: CallId, stage: NavigationStage) {
        if let Some(navigation) = self.requests.navigations.get_mut(&call) {
            navigation.stage = stage;
        }
    }
}

/// Tokens that fit into the context of a model that does not say. Source: pi source.
const UNKNOWN_WINDOW: u64 = 128_000;

/// An entry as it is kept.
fn object(entry: &Entry) -> Option<JsonObject> {
    serde_json::from_slice(entry.line()).ok()
}

/// The outcome of a navigation that has moved nothing.
const fn outcome(cancelled: bool, aborted: Option<bool>) -> TreeNavigation {
    TreeNavigation { cancelled, aborted, editor_text: None, summary_entry: None }
}
