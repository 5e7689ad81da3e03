import type { Asked, Run } from "./asks.js";

/** Types of a dialect; generated. */
export interface Dialect {
  /** By command: its members without `type` and `id`, and the `data` of its response. */
  readonly commands: {
    readonly prompt: { readonly fields: { readonly message: string }; readonly result: unknown };
    readonly get_state: {
      readonly fields: object;
      readonly result: { readonly isStreaming: boolean; readonly isCompacting: boolean };
    };
    readonly [command: string]: { readonly fields: object; readonly result: unknown };
  };
  /** Event or UI request of the server. */
  readonly event: { readonly type: string };
  /** Message of the conversation. */
  readonly message: { readonly role: string };
  /** Members of the session state: unknown ones are absent, null is no value. */
  readonly session: object;
  /** By method: a dialog and its response. */
  readonly dialogs: { readonly [method: string]: { readonly request: object; readonly answer: string | boolean } };
}

/** Types of the commands. */
export type CommandOf<D extends Dialect> = keyof D["commands"] & string;

/** Members of a command without `type` and `id`. */
export type Fields<C> = Omit<C, "id" | "type">;

/** Type of a member in the branches of a union that have it. */
export type MemberOf<U, M extends string> = U extends { readonly [member in M]: infer V } ? V : never;

/** Unknown event: of a newer server, or a response without a call. */
export interface UnknownEvent {
  readonly type: "unknown";
  /** The frame as received. */
  readonly frame: Readonly<Record<string, unknown>>;
}

/** Event or UI request of the server, distinguished by `type`, UI requests also by `method`. */
export type EventOf<D extends Dialect> = D["event"] | UnknownEvent;

/** Dialog callbacks, by method. Without a callback, or if it returns undefined, the dialog is cancelled. */
export type DialogHandlers<D extends Dialect> = {
  readonly [M in keyof D["dialogs"]]?: (
    request: D["dialogs"][M]["request"],
    asked: Asked,
  ) => D["dialogs"][M]["answer"] | undefined | Promise<D["dialogs"][M]["answer"] | undefined>;
};

/** Tool that this side executes; `Definition` is its description for the model. */
export type HostTool<Definition> = Definition & {
  /** Executes the tool; `args` match its parameters. An exception fails the call, with its message for the model. */
  readonly run: Run;
};

/** Outcome of a prompt. */
export interface RunOf<D extends Dialect> {
  /** Text of the last assistant message; empty if there is none. Its `stopReason` tells how it ended. */
  readonly text: string;
  /** Completed messages, in order: prompts, assistant messages and tool results. */
  readonly messages: readonly D["message"][];
}

/** Snapshot of the state of a session. Unchanged parts are the same objects as before. */
export type SnapshotOf<D extends Dialect> = Readonly<D["session"]> & {
  /** What goes on in the session, as the protocol's chart names it: `idle`, `streaming.tools` and so on. */
  readonly state: string;
  /** Whether a run is open, as in `get_state`; undefined: unknown. */
  readonly isStreaming: boolean | undefined;
  /** Whether a compaction is under way; undefined: unknown. */
  readonly isCompacting: boolean | undefined;
  /** Open dialogs, oldest first. */
  readonly dialogs: readonly D["dialogs"][keyof D["dialogs"]]["request"][];
};
