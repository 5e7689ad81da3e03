// Made by generate.mjs. Do not edit.

import { Client, type CallOptions, type ConnectOptions, type Options } from "../client.js";
import type { Fields, HostTool, MemberOf } from "../dialect.js";
import type { Connect } from "../transport.js";
import { TABLES } from "./omp.session.js";
import type * as T from "./omp.types.js";

export type * from "./omp.types.js";

/** The types of the dialect omp: omp. */
export type Omp = {
  commands: {
    prompt: { fields: Fields<T.PromptCommand>; result: T.PromptOutcome | undefined };
    steer: { fields: Fields<T.SteerCommand>; result: void };
    follow_up: { fields: Fields<T.FollowUpCommand>; result: void };
    abort: { fields: Fields<T.AbortCommand>; result: void };
    abort_and_prompt: { fields: Fields<T.AbortAndPromptCommand>; result: void };
    new_session: { fields: Fields<T.NewSessionCommand>; result: T.SessionChange };
    get_state: { fields: Fields<T.GetStateCommand>; result: T.SessionState };
    set_todos: { fields: Fields<T.SetTodosCommand>; result: T.TodoList };
    set_host_tools: { fields: Fields<T.SetHostToolsCommand>; result: T.HostToolNames };
    set_model: { fields: Fields<T.SetModelCommand>; result: T.Model };
    cycle_model: { fields: Fields<T.CycleModelCommand>; result: T.ModelCycle | null };
    get_available_models: { fields: Fields<T.GetAvailableModelsCommand>; result: T.ModelList };
    set_thinking_level: { fields: Fields<T.SetThinkingLevelCommand>; result: void };
    cycle_thinking_level: { fields: Fields<T.CycleThinkingLevelCommand>; result: T.ThinkingLevelChange | null };
    set_steering_mode: { fields: Fields<T.SetSteeringModeCommand>; result: void };
    set_follow_up_mode: { fields: Fields<T.SetFollowUpModeCommand>; result: void };
    set_interrupt_mode: { fields: Fields<T.SetInterruptModeCommand>; result: void };
    compact: { fields: Fields<T.CompactCommand>; result: T.CompactionResult };
    set_auto_compaction: { fields: Fields<T.SetAutoCompactionCommand>; result: void };
    set_auto_retry: { fields: Fields<T.SetAutoRetryCommand>; result: void };
    abort_retry: { fields: Fields<T.AbortRetryCommand>; result: void };
    bash: { fields: Fields<T.BashCommand>; result: T.BashResult };
    abort_bash: { fields: Fields<T.AbortBashCommand>; result: void };
    get_session_stats: { fields: Fields<T.GetSessionStatsCommand>; result: T.SessionStats };
    export_html: { fields: Fields<T.ExportHtmlCommand>; result: T.ExportedFile };
    switch_session: { fields: Fields<T.SwitchSessionCommand>; result: T.SessionChange };
    branch: { fields: Fields<T.BranchCommand>; result: T.ForkResult };
    get_branch_messages: { fields: Fields<T.GetBranchMessagesCommand>; result: T.ForkMessages };
    get_last_assistant_text: { fields: Fields<T.GetLastAssistantTextCommand>; result: T.LastAssistantText };
    set_session_name: { fields: Fields<T.SetSessionNameCommand>; result: void };
    get_messages: { fields: Fields<T.GetMessagesCommand>; result: T.MessageList };
    get_login_providers: { fields: Fields<T.GetLoginProvidersCommand>; result: T.LoginProviderList };
    login: { fields: Fields<T.LoginCommand>; result: T.LoginResult };
    negotiate_protocol: { fields: Fields<T.NegotiateProtocolCommand>; result: T.NegotiatedProtocol };
    handoff: { fields: Fields<T.HandoffCommand>; result: T.HandoffResult | null | undefined };
    get_messages_page: { fields: Fields<T.GetMessagesPageCommand>; result: T.MessagePage };
    get_available_commands: { fields: Fields<T.GetAvailableCommandsCommand>; result: T.AvailableCommandList };
    set_host_uri_schemes: { fields: Fields<T.SetHostUriSchemesCommand>; result: T.HostUriSchemeNames };
    set_subagent_subscription: { fields: Fields<T.SetSubagentSubscriptionCommand>; result: T.SubagentSubscriptionLevel };
    get_subagents: { fields: Fields<T.GetSubagentsCommand>; result: T.SubagentList };
    get_subagent_messages: { fields: Fields<T.GetSubagentMessagesCommand>; result: T.SubagentMessages };
    set_fast_mode: { fields: Fields<T.SetFastModeCommand>; result: T.FastMode };
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
    /** Effect of a steering message on the tool calls of a turn. */
    interruptMode?: T.InterruptMode;
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
    /** Todos, by phase. */
    todoPhases?: readonly T.TodoPhase[];
    /** Names of the host tools, in the order in which the host registered them. */
    hostTools?: readonly string[];
    /** Texts of the waiting steering messages, in order. */
    steering?: readonly string[];
    /** Texts of the waiting follow-up messages, in order. */
    followUp?: readonly string[];
    /** Messages of the conversation, as `get_messages` lists them. */
    messages?: readonly T.AgentMessage[];
    /** Tokens and cost, as `get_session_stats` adds them up. */
    usage?: T.TokenTotals;
  };
};

/** Client of a server that speaks omp. The dialect of oh-my-pi 18.2: that of xcsh, which branched off earlier, with versions of the protocol that are negotiated, frames in chunks, messages in pages, and one end for a run and all that follows it by itself. */
export class OmpClient extends Client<Omp> {
  /** Starts a server, and waits until it accepts commands. */
  static async spawn(options: Options<Omp> = {}): Promise<OmpClient> {
    return new OmpClient(TABLES, options).ready();
  }

  /** Connects to a session of a `pi-rpc host`: `webSocket(url, { token })`. Needs no Node.js. */
  static async connect(to: Connect, options: ConnectOptions<Omp> = {}): Promise<OmpClient> {
    return new OmpClient(TABLES, options, to).ready();
  }

  /** Sends the agent a user message and starts a run. While a run is open, `streamingBehavior` is required and the message is queued instead. A message that begins with `/` may name a command of an extension, a prompt template or a skill. */
  sendPrompt(fields: Fields<T.PromptCommand>, options?: CallOptions): Promise<T.PromptOutcome | undefined> {
    return this.call("prompt", fields, options);
  }

  /** Queues a message that redirects the agent as soon as possible. Allowed in every state; without an open run the message waits for the next one, in omp it starts one. */
  steer(fields: Fields<T.SteerCommand>, options?: CallOptions): Promise<void> {
    return this.call("steer", fields, options);
  }

  /** Queues a message that is delivered when the agent would otherwise stop. Allowed in every state; without an open run the message waits for the end of the next one, in omp it starts one. */
  followUp(fields: Fields<T.FollowUpCommand>, options?: CallOptions): Promise<void> {
    return this.call("follow_up", fields, options);
  }

  /** Aborts the open run, the wait before a retry, or a compaction begun by `compact` (in pi 1 and omp, any compaction). The response follows once that has ended. Queued messages and bash commands are not affected, nor, in the other dialects, automatic compactions. In omp bash commands are aborted, too, and queued messages start a run. */
  abort(options?: CallOptions): Promise<void> {
    return this.call("abort", {}, options);
  }

  /** Aborts the open run as `abort` does, and any compaction, then starts a new run as `prompt` does. */
  abortAndPrompt(fields: Fields<T.AbortAndPromptCommand>, options?: CallOptions): Promise<void> {
    return this.call("abort_and_prompt", fields, options);
  }

  /** Leaves the current session and starts an empty one. An extension may veto this. */
  newSession(fields: Fields<T.NewSessionCommand> = {}, options?: CallOptions): Promise<T.SessionChange> {
    return this.call("new_session", fields, options);
  }

  /** Reads the state of the session: model, modes, queue length, activity. */
  getState(options?: CallOptions): Promise<T.SessionState> {
    return this.call("get_state", {}, options);
  }

  /** Replaces the list of todos. The list is held in memory only. */
  setTodos(fields: Fields<T.SetTodosCommand>, options?: CallOptions): Promise<T.TodoList> {
    return this.call("set_todos", fields, options);
  }

  /** Replaces the set of tools that the host executes. The model can call them from its next request on. */
  setHostTools(fields: Fields<T.SetHostToolsCommand>, options?: CallOptions): Promise<T.HostToolNames> {
    return this.call("set_host_tools", fields, options);
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

  /** Sets how many steering messages are delivered at a time. */
  setSteeringMode(fields: Fields<T.SetSteeringModeCommand>, options?: CallOptions): Promise<void> {
    return this.call("set_steering_mode", fields, options);
  }

  /** Sets how many follow-up messages are delivered at a time. */
  setFollowUpMode(fields: Fields<T.SetFollowUpModeCommand>, options?: CallOptions): Promise<void> {
    return this.call("set_follow_up_mode", fields, options);
  }

  /** Sets whether a steering message interrupts the tool calls of the open turn. Takes effect with the next run. */
  setInterruptMode(fields: Fields<T.SetInterruptModeCommand>, options?: CallOptions): Promise<void> {
    return this.call("set_interrupt_mode", fields, options);
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
  branch(fields: Fields<T.BranchCommand>, options?: CallOptions): Promise<T.ForkResult> {
    return this.call("branch", fields, options);
  }

  /** Lists the user messages that `branch` accepts. */
  getBranchMessages(options?: CallOptions): Promise<T.ForkMessages> {
    return this.call("get_branch_messages", {}, options);
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

  /** Lists the providers that can be logged in to, each with the state of its login. */
  getLoginProviders(options?: CallOptions): Promise<T.LoginProviderList> {
    return this.call("get_login_providers", {}, options);
  }

  /** Logs in at a provider. `open_url` names the page for the user; the response comes at the end of the login. One login is open at a time. */
  login(fields: Fields<T.LoginCommand>, options?: CallOptions): Promise<T.LoginResult> {
    return this.call("login", fields, options);
  }

  /** Selects a version of the protocol, from the next frame on. There is no way back to version 1. */
  negotiateProtocol(fields: Fields<T.NegotiateProtocolCommand>, options?: CallOptions): Promise<T.NegotiatedProtocol> {
    return this.call("negotiate_protocol", fields, options);
  }

  /** Replaces the conversation by a summary that a model writes for a successor. Refused while a run is open. `pi-rpc serve` does not do it and answers that it is not implemented. */
  handoff(fields: Fields<T.HandoffCommand> = {}, options?: CallOptions): Promise<T.HandoffResult | null | undefined> {
    return this.call("handoff", fields, options);
  }

  /** Lists a part of the messages of the conversation, as `get_messages` lists all. Refused while a run or a compaction is under way. */
  getMessagesPage(fields: Fields<T.GetMessagesPageCommand> = {}, options?: CallOptions): Promise<T.MessagePage> {
    return this.call("get_messages_page", fields, options);
  }

  /** Lists the slash commands. */
  getAvailableCommands(options?: CallOptions): Promise<T.AvailableCommandList> {
    return this.call("get_available_commands", {}, options);
  }

  /** Replaces the set of schemes of addresses that the host reads and writes. `pi-rpc serve` does not do it and answers that it is not implemented. */
  setHostUriSchemes(fields: Fields<T.SetHostUriSchemesCommand>, options?: CallOptions): Promise<T.HostUriSchemeNames> {
    return this.call("set_host_uri_schemes", fields, options);
  }

  /** Selects the events about subagents that the host gets. At the start it gets none. */
  setSubagentSubscription(fields: Fields<T.SetSubagentSubscriptionCommand>, options?: CallOptions): Promise<T.SubagentSubscriptionLevel> {
    return this.call("set_subagent_subscription", fields, options);
  }

  /** Lists the running subagents. */
  getSubagents(options?: CallOptions): Promise<T.SubagentList> {
    return this.call("get_subagents", {}, options);
  }

  /** Reads what the session file of a subagent holds from a byte on. `pi-rpc serve` does not do it and answers that it is not implemented. */
  getSubagentMessages(fields: Fields<T.GetSubagentMessagesCommand> = {}, options?: CallOptions): Promise<T.SubagentMessages> {
    return this.call("get_subagent_messages", fields, options);
  }

  /** Switches the fast mode on or off: requests with a priority that costs more. Refused for a model without it. */
  setFastMode(fields: Fields<T.SetFastModeCommand>, options?: CallOptions): Promise<T.FastMode> {
    return this.call("set_fast_mode", fields, options);
  }

  /** Registers host tools, and replaces earlier ones: the model calls them, this side executes them. */
  async lendTools(tools: HostTool<T.SetHostToolsCommand["tools"][number]>[], options?: CallOptions): Promise<void> {
    await this.lend(tools, (tools) => this.setHostTools({ tools }, options));
  }

  /** Messages of the conversation, oldest first, read page by page. Fails with the code `stale_cursor` if they change meanwhile. */
  async *readMessages(options: CallOptions & { readonly pageSize?: number } = {}): AsyncGenerator<T.AgentMessage, void> {
    const { pageSize, ...rest } = options;
    const fields = pageSize === undefined ? {} : { limit: pageSize };
    for (let cursor: string | undefined; ; ) {
      const page = await this.getMessagesPage({ ...fields, ...(cursor === undefined ? {} : { cursor }) }, rest);
      yield* page.messages;
      cursor = page.nextCursor;
      if (cursor === undefined) return;
    }
  }
}
