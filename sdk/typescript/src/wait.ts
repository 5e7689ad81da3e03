import { TimeoutError } from "./errors.js";

/** Limits of a wait. */
export interface WaitOptions {
  /** Milliseconds until a TimeoutError; absent: the default of the client, else none. */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

/** Promise with its resolve and reject functions. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/** Creates a deferred promise whose rejection may stay unhandled. */
export function deferred<T>(): Deferred<T> {
  let resolve: Deferred<T>["resolve"] = () => {};
  let reject: Deferred<T>["reject"] = () => {};
  const promise = new Promise<T>((...ends) => ([resolve, reject] = ends));
  promise.catch(() => {});
  return { promise, resolve, reject };
}

/** Waits for `promise` within the limits. `what` is for the error message. */
export async function within<T>(promise: Promise<T>, what: string, { timeoutMs, signal }: WaitOptions): Promise<T> {
  if (timeoutMs === undefined && signal === undefined) return promise;
  const broken = deferred<never>();
  const abort = () => broken.reject(signal?.reason);
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => broken.reject(new TimeoutError(what, timeoutMs)), timeoutMs);
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted === true) abort();
  try {
    return await Promise.race([promise, broken.promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

/** Result of `promise`; undefined after the time limit. */
export async function soon<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const over = deferred<undefined>();
  const timer = setTimeout(over.resolve, ms, undefined);
  try {
    return await Promise.race([promise, over.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs `work` within the limits; its signal is aborted when they are reached. */
export async function limited<T>(
  work: (signal: AbortSignal) => Promise<T>,
  what: string,
  options: WaitOptions,
): Promise<T> {
  const over = new AbortController();
  try {
    return await within(work(over.signal), what, options);
  } finally {
    over.abort();
  }
}
