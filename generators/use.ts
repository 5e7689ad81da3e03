// How the generated types are used. tsc judges it: each @ts-expect-error is a use that it must refuse.
import type { Inbound, Outbound, PromptCommand, RpcResponse } from "./frames.js";

export function tell(frame: Outbound): string {
  switch (frame.type) {
    case "response":
      return told(frame);
    case "message_update": {
      const update = frame.assistantMessageEvent;
      return update.type === "text_delta" ? update.delta : `block ${"contentIndex" in update ? update.contentIndex : ""}`;
    }
    case "message_end":
      // @ts-expect-error only some roles have content
      frame.message.content.length;
      return frame.message.role === "assistant" ? frame.message.stopReason : frame.message.role;
    case "extension_ui_request":
      // @ts-expect-error only some dialogs have options
      frame.options.join();
      return frame.method === "select" ? frame.options.join() : frame.method;
    // @ts-expect-error there is no such event
    case "turn_begin":
      return "";
    default:
      return frame.type;
  }
}

function told(response: RpcResponse): string {
  if (!response.success) {
    const error: string = response.error;
    return `${response.command} failed: ${error}`;
  }
  // @ts-expect-error what succeeds has no error
  const none: string = response.error;
  switch (response.command) {
    case "get_state": {
      const streaming: boolean = response.data.isStreaming;
      return `${response.data.thinkingLevel ?? "no level"} ${streaming} ${none}`;
    }
    case "bash":
      // @ts-expect-error it is a text
      return response.data.output.exitCode;
    case "abort":
      // @ts-expect-error it is answered without data
      return response.data.id;
    // @ts-expect-error there is no such command
    case "promt":
      return "";
    default:
      return response.command;
  }
}

const prompt: PromptCommand = { type: "prompt", message: "hello", streamingBehavior: "steer" };
export const commands: Inbound[] = [
  prompt,
  { id: "1", type: "set_model", provider: "a", modelId: "b" },
  // @ts-expect-error a model has two names
  { id: "1", type: "set_model", provider: "a" },
  // @ts-expect-error there is no such command
  { id: "1", type: "promt", message: "hello" },
  // @ts-expect-error there is no such behaviour
  { type: "prompt", message: "hello", streamingBehavior: "later" },
  // @ts-expect-error an id is a text
  { id: 1, type: "abort" },
  // @ts-expect-error the host does not say so
  { type: "agent_start" },
];
