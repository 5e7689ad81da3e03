export { Client, type CallOptions, type Options } from "./client.js";
export type * from "./dialect.js";
export * from "./errors.js";
export type { Asked, ToolCall, ToolResult } from "./asks.js";
export { SessionState, type Permission } from "./session.js";
export type { Subscription } from "./subscription.js";
export type { WaitOptions } from "./wait.js";
