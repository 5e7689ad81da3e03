/** Events of a run, as extensions know them, made of those that host applications get. */
import { callHandlers } from "./handlers.mjs";
import { Snapshot } from "./snapshot.mjs";

/** What has to be kept from one event to the next. */
export class Events {
  #host;
  #turn = 0;
  #snapshot = new Snapshot();

  /** @param {import("./host.mjs").Host} host */
  constructor(host) {
    this.#host = host;
  }

  /**
   * Tells all extensions, and comes back when they have heard it.
   * @param {any} event As the host application gets it.
   */
  async emit(event) {
    const piEvent = this.#toPiEvent(event);
    if (piEvent) await callHandlers(this.#host, piEvent.type, (handler, ctx) => this.#callHandler(handler, piEvent, ctx));
    if (event.type === "turn_end") this.#turn += 1;
  }

  #toPiEvent(event) {
    const { type } = event;
    switch (type) {
      case "agent_start":
        this.#turn = 0;
        return { type };
      case "turn_start":
        return { type, turnIndex: this.#turn, timestamp: Date.now() };
      case "turn_end":
        return this.#turnEnd(event);
      case "agent_end":
        return { type, messages: event.messages };
      case "agent_settled":
        return { type, aborted: event.aborted ?? false };
      case "message_start":
        this.#snapshot.begin(event.message);
        return { type, message: event.message };
      case "message_end":
        return { type, message: event.message };
      case "message_update":
        return this.#snapshot.update(event);
      case "session_info_changed":
        return { type, name: event.name };
      case "compaction_end":
        return failedCompaction(event);
      default:
        return event;
    }
  }

  #turnEnd({ type, message, toolResults }) {
    const basic = { type, turnIndex: this.#turn, message, toolResults };
    if (!this.#host.features.modern) return basic;
    const { session } = this.#host;
    const entries = () => session.getBranch().filter((entry) => entry.type === "message");
    const idOf = (message) => entries().findLast((entry) => sameMessage(entry.message, message))?.id;
    return {
      ...basic,
      entries: [],
      continue: false,
      outcome: { aborted: "aborted", error: "error" }[message.stopReason] ?? "completed",
      get messageEntryId() {
        return idOf(message);
      },
      get toolResultEntryIds() {
        return toolResults.map(idOf).filter(Boolean);
      },
      get context() {
        const { entries: contextEntries, messages: contextMessages } = session.buildSessionProjection();
        const llmMessages = contextMessages.filter(({ role }) => LLM_ROLES.has(role));
        return { contextEntries, contextMessages, llmMessages, pendingMessages: [], canContinue: true };
      },
    };
  }

  /** Handlers of later versions may add entries at the end of a turn. */
  async #callHandler(handler, event, ctx) {
    const result = await handler(event, ctx);
    if (event.type !== "turn_end" || !this.#host.features.modern) return;
    for (const draft of result?.entries ?? []) this.#add(draft);
    if (result?.continue) throw new Error("this server does not continue a run for a handler of turn_end");
  }

  #add(draft) {
    const { type, customType, data, content, display, details } = draft;
    if (type === "custom") this.#host.act({ type: "append_entry", customType, data });
    else if (type === "custom_message") {
      const message = { customType, content, display: Boolean(display), details };
      this.#host.act({ type: "send_message", message, deliverAs: "nextTurn" });
    } else throw new Error(`this server adds no ${type} for a handler of turn_end`);
  }
}

const LLM_ROLES = new Set(["user", "assistant", "toolResult"]);

function sameMessage(stored, shown) {
  return stored.role === shown.role && stored.timestamp === shown.timestamp && stored.toolCallId === shown.toolCallId;
}

/** Host applications are told how any compaction ends, extensions by an event of its own that it has failed. */
function failedCompaction({ reason, result, errorMessage, aborted, willRetry }) {
  if (result) return undefined;
  return { type: "session_compact_failed", reason, errorMessage, aborted, willRetry, fromExtension: false };
}
