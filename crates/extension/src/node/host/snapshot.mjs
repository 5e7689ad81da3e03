/** The partial message: the server sends deltas, extensions get snapshots. */
export class Snapshot {
  #message = { role: "assistant", content: [] };

  /** @param {any} message The message of `message_start`. */
  begin(message) {
    if (message.role !== "assistant") return;
    this.#message = { ...message, content: structuredClone(message.content ?? []) };
  }

  /**
   * @param {any} event A `message_update`, with or without a snapshot.
   * @returns {any} The event with a snapshot.
   */
  update({ type, message, assistantMessageEvent: step }) {
    if (message) this.#message = message;
    else this.#add(step);
    const partial = this.#message;
    return { type, message: partial, assistantMessageEvent: { ...step, partial } };
  }

  #add(step) {
    const { contentIndex: at, delta = "" } = step;
    const { content } = this.#message;
    const block = content[at];
    switch (step.type) {
      case "text_start":
        content[at] ??= { type: "text", text: "" };
        break;
      case "text_delta":
        content[at] = { type: "text", ...block, text: (block?.text ?? "") + delta };
        break;
      case "text_end":
        content[at] = { type: "text", ...block, text: step.content ?? block?.text ?? "" };
        break;
      case "thinking_start":
        content[at] ??= { type: "thinking", thinking: "" };
        break;
      case "thinking_delta":
        content[at] = { type: "thinking", ...block, thinking: (block?.thinking ?? "") + delta };
        break;
      case "thinking_end":
        content[at] = { type: "thinking", ...block, thinking: step.content ?? block?.thinking ?? "" };
        break;
      case "toolcall_start":
        content[at] ??= { type: "toolCall", id: step.id ?? "", name: step.toolName ?? "", arguments: {} };
        break;
      case "toolcall_end":
        if (step.toolCall) content[at] = step.toolCall;
        break;
      // The arguments of a call are parsed only when they are complete.
    }
  }
}
