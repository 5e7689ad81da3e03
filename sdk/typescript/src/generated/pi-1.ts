// Made by generate.mjs. Do not edit.

import { Client, type CallOptions, type ConnectOptions, type Options } from "../client.js";
import type { Fields, MemberOf } from "../dialect.js";
import type { Connect } from "../transport.js";
import { TABLES } from "./pi-1.session.js";
import type * as T from "./pi-1.types.js";

export type * from "./pi-1.types.js";

/** The types of the dialect pi-1: pi 1.x. */
export type Pi1 = {
  commands: {
    prompt: { fields: Fields<T.PromptCommand>; result: T.PromptOutcome };
    steer: { fields: Fields<T.SteerCommand>; result: T.QueueOutcome };
    follow_up: { fields: Fields<T.FollowUpCommand>; result: T.QueueOutcome };
    abort: { fields: Fields<T.AbortCommand>; result: void };
    clear_queue: { fields: Fields<T.ClearQueueCommand>; result: T.ClearedQueue };
    new_session: { fields: Fields<T.NewSessionCommand>; result: T.SessionChange };
    get_state: { fields: Fields<T.GetStateCommand>; result: T.SessionState };
    set_model: { fields: Fields<T.SetModelCommand>; result: T.Model };
    cycle_model: { fields: Fields<T.CycleModelCommand>; result: T.ModelCycle | null };
    get_available_models: { fields: Fields<T.GetAvailableModelsCommand>; result: T.ModelList };
    set_thinking_level: { fields: Fields<T.SetThinkingLevelCommand>; result: void };
    cycle_thinking_level: { fields: Fields<T.CycleThinkingLevelCommand>; result: T.ThinkingLevelChange | null };
    get_available_thinking_levels: { fields: Fields<T.GetAvailableThinkingLevelsCommand>; result: T.ThinkingLevelList };
    set_steering_mode: { fields: Fields<T.SetSteeringModeCommand>; result: void };
    set_follow_up_mode: { fields: Fields<T.SetFollowUpModeCommand>; result: void };
    compact: { fields: Fields<T.CompactCommand>; result: T.CompactionResult };
    set_auto_compaction: { fields: Fields<T.SetAutoCompactionCommand>; result: void };
    set_auto_retry: { fields: Fields<T.SetAutoRetryCommand>; result: void };
    abort_retry: { fields: Fields<T.AbortRetryCommand>; result: void };
    bash: { fields: Fields<T.BashCommand>; result: T.BashResult };
    abort_bash: { fields: Fields<T.AbortBashCommand>; result: void };
    get_session_stats: { fields: Fields<T.GetSessionStatsCommand>; result: T.SessionStats };
    export_html: { fields: Fields<T.ExportHtmlCommand>; result: T.ExportedFile };
    switch_session: { fields: Fields<T.SwitchSessionCommand>; result: T.SessionChange };
    fork: { fields: Fields<T.ForkCommand>; result: T.ForkResult };
    clone: { fields: Fields<T.CloneCommand>; result: T.SessionChange };
    get_fork_messages: { fields: Fields<T.GetForkMessagesCommand>; result: T.ForkMessages };
    get_entries: { fields: Fields<T.GetEntriesCommand>; result: T.EntryList };
    get_tree: { fields: Fields<T.GetTreeCommand>; result: T.EntryTree };
    get_last_assistant_text: { fields: Fields<T.GetLastAssistantTextCommand>; result: T.LastAssistantText };
    set_session_name: { fields: Fields<T.SetSessionNameCommand>; result: void };
    get_messages: { fields: Fields<T.GetMessagesCommand>; result: T.MessageList };
    get_commands: { fields: Fields<T.GetCommandsCommand>; result: T.CommandList };
  };
  event: Exclude<T.Outbound, T.RpcResponse>;
  message: T.AgentMessage;
  dialogs: {
    select: { request: T.SelectRequest; answer: MemberOf<T.UIValueResponse | T.UICancelledResponse, "value"> };
    confirm: { request: T.ConfirmRequest; answer: MemberOf<T.UIConfirmedResponse | T.UICancelledResponse, "confirmed"> };
    input: { request: T.InputRequest; answer: MemberOf<T.UIValueResponse | T.UICancelledResponse, "value"> };
    editor: { request: T.EditorRequest; answer: MemberOf<T.UIValueResponse | T.UICancelledResponse, "value"> };
  };
  session: {
    /** Selected model; no value: none. */
    model?: T.Model | null;
    /** Thinking level in effect; no value: none is set. */
    thinkingLevel?: T.ThinkingLevel | null;
    /** Models that `set_model` accepts, in the order of `cycle_model`. */
    models?: readonly T.Model[];
    /** Thinking levels that the model supports, in the order of `cycle_thinking_level`. */
    thinkingLevels?: readonly T.ThinkingLevel[];
    /** Number of steering messages that are delivered at a time. */
    steeringMode?: T.QueueMode;
    /** Number of follow-up messages that are delivered at a time. */
    followUpMode?: T.QueueMode;
    /** Whether a nearly full context is compacted automatically. */
    autoCompactionEnabled?: boolean;
    /** Whether a failed run is retried automatically. */
    autoRetryEnabled?: boolean;
    /** Id of the session. */
    sessionId?: string;
    /** Path of the session file; no value: the session is held in memory only. */
    sessionFile?: string | null;
    /** Name of the session; no value: none. */
    sessionName?: string | null;
    /** Slash commands of extensions, prompt templates and skills. */
    commands?: readonly T.SlashCommand[];
    /** Texts of the waiting steering messages, in order. */
    steering?: readonly string[];
    /** Texts of the waiting follow-up messages, in order. */
    followUp?: readonly string[];
    /** Messages of the conversation, as `get_messages` lists them. */
    messages?: readonly T.AgentMessage[];
    /** Entries of the session, as `get_entries` lists them. */
    entries?: readonly T.SessionEntry[];
    /** Tokens and cost, as `get_session_stats` adds them up. */
    usage?: T.TokenTotals;
  };
};

/** Client of a server that speaks pi-1. The dialect of pi 1.6, as its documentation describes it and the program speaks it. */
export class Pi1Client extends Client<Pi1> {
  /** Starts a server, and waits until it accepts commands. */
  static async spawn(options: Options<Pi1> = {}): Promise<Pi1Client> {
    return new Pi1Client(TABLES, options).ready();
  }

  /** Connects to a session of a `pi-rpc host`: `webSocket(url, { token })`. Needs no Node.js. */
  static async connect(to: Connect, options: ConnectOptions<Pi1> = {}): Promise<Pi1Client> {
    return new Pi1Client(TABLES, options, to).ready();
  }

  /** Sends the agent a user message and starts a run. While a run is open, `streamingBehavior` is required and the message is queued instead. A message that begins with `/` may name a command of an extension, a prompt template or a skill. */
  sendPrompt(fields: Fields<T.PromptCommand>, options?: CallOptions): Promise<T.PromptOutcome> {
    return this.call("prompt", fields, options);
  }

  /** Queues a message that redirects the agent as soon as possible. Allowed in every state; without an open run the message waits for the next one, in omp it starts one. */
  steer(fields: Fields<T.SteerCommand>, options?: CallOptions): Promise<T.QueueOutcome> {
    return this.call("steer", fields, options);
  }

  /** Queues a message that is delivered when the agent would otherwise stop. Allowed in every state; without an open run the message waits for the end of the next one, in omp it starts one. */
  followUp(fields: Fields<T.FollowUpCommand>, options?: CallOptions): Promise<T.QueueOutcome> {
    return this.call("follow_up", fields, options);
  }

  /** Aborts the open run, the wait before a retry, or a compaction begun by `compact` (in pi 1 and omp, any compaction). The response follows once that has ended. Queued messages and bash commands are not affected, nor, in the other dialects, automatic compactions. In omp bash commands are aborted, too, and queued messages start a run. */
  abort(options?: CallOptions): Promise<void> {
    return this.call("abort", {}, options);
  }

  /** Removes all messages from the steering and follow-up queues and returns their texts. */
  clearQueue(options?: CallOptions): Promise<T.ClearedQueue> {
    return this.call("clear_queue", {}, options);
  }

  /** Leaves the current session and starts an empty one. An extension may veto this. */
  newSession(fields: Fields<T.NewSessionCommand> = {}, options?: CallOptions): Promise<T.SessionChange> {
    return this.call("new_session", fields, options);
  }

  /** Reads the state of the session: model, modes, queue length, activity. */
  getState(options?: CallOptions): Promise<T.SessionState> {
    return this.call("get_state", {}, options);
  }

  /** Selects a model that has credentials. An open run keeps the model that it began with. */
  setModel(fields: Fields<T.SetModelCommand>, options?: CallOptions): Promise<T.Model> {
    return this.call("set_model", fields, options);
  }

  /** Selects the next available model, as `set_model` does. */
  cycleModel(options?: CallOptions): Promise<T.ModelCycle | null> {
    return this.call("cycle_model", {}, options);
  }

  /** Lists the models that have credentials. */
  getAvailableModels(options?: CallOptions): Promise<T.ModelList> {
    return this.call("get_available_models", {}, options);
  }

  /** Sets the thinking level. A level that the model does not support is replaced by the nearest one that it does. */
  setThinkingLevel(fields: Fields<T.SetThinkingLevelCommand>, options?: CallOptions): Promise<void> {
    return this.call("set_thinking_level", fields, options);
  }

  /** Selects the next thinking level of the model; after the last comes the first. */
  cycleThinkingLevel(options?: CallOptions): Promise<T.ThinkingLevelChange | null> {
    return this.call("cycle_thinking_level", {}, options);
  }

  /** Lists the thinking levels that the model supports. */
  getAvailableThinkingLevels(options?: CallOptions): Promise<T.ThinkingLevelList> {
    return this.call("get_available_thinking_levels", {}, options);
  }

  /** Sets how many steering messages are delivered at a time. */
  setSteeringMode(fields: Fields<T.SetSteeringModeCommand>, options?: CallOptions): Promise<void> {
    return this.call("set_steering_mode", fields, options);
  }

  /** Sets how many follow-up messages are delivered at a time. */
  setFollowUpMode(fields: Fields<T.SetFollowUpModeCommand>, options?: CallOptions): Promise<void> {
    return this.call("set_follow_up_mode", fields, options);
  }

  /** Replaces the older part of the conversation by a summary. An open run is ended first. In pi and xcsh no event reports the compaction, only the response. */
  compact(fields: Fields<T.CompactCommand> = {}, options?: CallOptions): Promise<T.CompactionResult> {
    return this.call("compact", fields, options);
  }

  /** Turns the automatic compaction of a nearly full context on or off. */
  setAutoCompaction(fields: Fields<T.SetAutoCompactionCommand>, options?: CallOptions): Promise<void> {
    return this.call("set_auto_compaction", fields, options);
  }

  /** Turns the automatic retry after a transient provider error on or off. A retry that is under way continues. */
  setAutoRetry(fields: Fields<T.SetAutoRetryCommand>, options?: CallOptions): Promise<void> {
    return this.call("set_auto_retry", fields, options);
  }

  /** Cancels the wait before a retry. No effect if there is none. */
  abortRetry(options?: CallOptions): Promise<void> {
    return this.call("abort_retry", {}, options);
  }

  /** Runs a shell command in the working directory, independently of any run, and adds its output to the conversation. The response follows when the command has ended; only pi 1 reports output before that. */
  bash(fields: Fields<T.BashCommand>, options?: CallOptions): Promise<T.BashResult> {
    return this.call("bash", fields, options);
  }

  /** Ends the bash commands that the host has started. No effect if there is none. */
  abortBash(options?: CallOptions): Promise<void> {
    return this.call("abort_bash", {}, options);
  }

  /** Reads the statistics of the session: message counts, tokens and cost. */
  getSessionStats(options?: CallOptions): Promise<T.SessionStats> {
    return this.call("get_session_stats", {}, options);
  }

  /** Writes the session to a single HTML file. */
  exportHtml(fields: Fields<T.ExportHtmlCommand> = {}, options?: CallOptions): Promise<T.ExportedFile> {
    return this.call("export_html", fields, options);
  }

  /** Leaves the current session and opens another one from its file. An extension may veto this. */
  switchSession(fields: Fields<T.SwitchSessionCommand>, options?: CallOptions): Promise<T.SessionChange> {
    return this.call("switch_session", fields, options);
  }

  /** Starts a new session with the conversation before an earlier user message, without that message. An extension may veto this. */
  fork(fields: Fields<T.ForkCommand>, options?: CallOptions): Promise<T.ForkResult> {
    return this.call("fork", fields, options);
  }

  /** Starts a new session with a copy of the active branch. An extension may veto this. */
  clone(options?: CallOptions): Promise<T.SessionChange> {
    return this.call("clone", {}, options);
  }

  /** Lists the user messages that `fork` accepts. */
  getForkMessages(options?: CallOptions): Promise<T.ForkMessages> {
    return this.call("get_fork_messages", {}, options);
  }

  /** Lists the entries of the session, on all branches, in the order in which they were written, without the header. */
  getEntries(fields: Fields<T.GetEntriesCommand> = {}, options?: CallOptions): Promise<T.EntryList> {
    return this.call("get_entries", fields, options);
  }

  /** Returns the entries of the session as a tree. */
  getTree(options?: CallOptions): Promise<T.EntryTree> {
    return this.call("get_tree", {}, options);
  }

  /** Returns the text of the newest assistant message. */
  getLastAssistantText(options?: CallOptions): Promise<T.LastAssistantText> {
    return this.call("get_last_assistant_text", {}, options);
  }

  /** Sets the display name of the session. Surrounding white space is removed; an empty name is refused. */
  setSessionName(fields: Fields<T.SetSessionNameCommand>, options?: CallOptions): Promise<void> {
    return this.call("set_session_name", fields, options);
  }

  /** Lists all messages of the conversation, without a partial message. */
  getMessages(options?: CallOptions): Promise<T.MessageList> {
    return this.call("get_messages", {}, options);
  }

  /** Lists the slash commands: commands of extensions, prompt templates and skills. */
  getCommands(options?: CallOptions): Promise<T.CommandList> {
    return this.call("get_commands", {}, options);
  }
}
