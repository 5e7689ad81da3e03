export { Client, type CallOptions, type ConnectOptions, type Options } from "./client.js";
export type * from "./dialect.js";
export * from "./errors.js";
export type { Asked, ToolCall, ToolResult } from "./asks.js";
export { SessionState, type Permission } from "./session.js";
export type { Subscription } from "./subscription.js";
export type { Connect, Receiver, Transport } from "./transport.js";
export type { WaitOptions } from "./wait.js";
export { webSocket, type WebSocketOptions } from "./websocket.js";
