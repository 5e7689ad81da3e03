import type { Asked, Run } from "./asks.js";

/** The types of a dialect: generated, one per dialect. */
export interface Dialect {
  /** By command: its members but for `type` and `id`, and the `data` of its response. */
  readonly commands: {
    readonly prompt: { readonly fields: { readonly message: string }; readonly result: unknown };
    readonly get_state: {
      readonly fields: object;
      readonly result: { readonly isStreaming: boolean; readonly isCompacting: boolean };
    };
    readonly [command: string]: { readonly fields: object; readonly result: unknown };
  };
  /** What the server says by itself. */
  readonly event: { readonly type: string };
  /** A message of the conversation. */
  readonly message: { readonly role: string };
  /** What frames tell of the session: members that are not known are absent, null is no value. */
  readonly session: object;
  /** By method: a question to the user, and its answer. */
  readonly dialogs: { readonly [method: string]: { readonly request: object; readonly answer: string | boolean } };
}

/** The types of the commands. */
export type CommandOf<D extends Dialect> = keyof D["commands"] & string;

/** The members of a command but for `type` and `id`. */
export type Fields<C> = Omit<C, "id" | "type">;

/** The type of a member of those of a union that have it. */
export type MemberOf<U, M extends string> = U extends { readonly [member in M]: infer V } ? V : never;

/** An event that this package does not know: of a newer server, or a response that nobody waits for. */
export interface UnknownEvent {
  readonly type: "unknown";
  /** The frame as it came. */
  readonly frame: Readonly<Record<string, unknown>>;
}

/** What the server says by itself, told apart by `type`; requests of extensions further by `method`. */
export type EventOf<D extends Dialect> = D["event"] | UnknownEvent;

/** Callbacks for the dialogs, by method; undefined, or no callback: the dialog is cancelled. */
export type DialogHandlers<D extends Dialect> = {
  readonly [M in keyof D["dialogs"]]?: (
    request: D["dialogs"][M]["request"],
    asked: Asked,
  ) => D["dialogs"][M]["answer"] | undefined | Promise<D["dialogs"][M]["answer"] | undefined>;
};

/** A tool that this side carries out: `Definition` is what the model is told of it. */
export type HostTool<Definition> = Definition & {
  /** Carries it out; `args` fit the tool's parameters. What it throws is the failure that the model is told. */
  readonly run: Run;
};

/** What came of a prompt. */
export interface RunOf<D extends Dialect> {
  /** The text of the last answer; empty if there was none. How it ended is in the message's `stopReason`. */
  readonly text: string;
  /** Every message that was completed, in order: what was prompted, what was said, what tools returned. */
  readonly messages: readonly D["message"][];
}

/** The state of a session at a moment. Unchanged parts of it are the same objects as before. */
export type SnapshotOf<D extends Dialect> = Readonly<D["session"]> & {
  /** What goes on in the session, as the protocol's chart names it: `idle`, `streaming.tools` and so on. */
  readonly state: string;
  /** Whether a run is under way, as `get_state` would say; undefined: the frames leave it open. */
  readonly isStreaming: boolean | undefined;
  /** Whether a compaction is; undefined: the frames leave it open. */
  readonly isCompacting: boolean | undefined;
  /** The dialogs that wait for an answer of the user, oldest first. */
  readonly dialogs: readonly D["dialogs"][keyof D["dialogs"]]["request"][];
};
