/** `user_bash`: an extension may run a shell command of the host application itself. */
import { callHandlers, STOP } from "./handlers.mjs";
import { asText as textOf, isRecord, text } from "./shapes.mjs";

/** @type {import("./hooks.mjs").HOOKS[string]} */
export async function userBashHook(host, { command, excludeFromContext, cwd }, signal) {
  const event = { type: "user_bash", command, excludeFromContext, cwd };
  let result;
  // Later versions do not run the command at all when a handler fails.
  const failed = host.features.modern
    ? (error, member) => {
        host.reportError(member.path, "user_bash", error);
        throw error;
      }
    : undefined;
  await callHandlers(
    host,
    "user_bash",
    async (handler, ctx) => {
      const outcome = await handler(event, ctx);
      if (!outcome) return undefined;
      if (typeof outcome.operations?.exec !== "function" && !isRecord(outcome.result)) {
        throw new Error("user_bash: expected operations, a result or nothing from the handler");
      }
      result = outcome;
      return STOP;
    },
    failed,
  );
  if (!result) return undefined;
  if (!result.operations) return { bash: bashResult(result.result) };
  return { bash: await runOperations(result.operations, command, cwd, signal) };
}

function bashResult({ output = "", exitCode, cancelled = false, truncated = false, fullOutputPath }) {
  return {
    output: textOf(output),
    exitCode: Number.isInteger(exitCode) ? exitCode : undefined,
    cancelled: Boolean(cancelled),
    truncated: Boolean(truncated),
    fullOutputPath: text(fullOutputPath),
  };
}

async function runOperations(operations, command, cwd, signal) {
  const pieces = [];
  try {
    const { exitCode } = await operations.exec(command, cwd, {
      onData: (piece) => pieces.push(Buffer.from(piece)),
      signal,
    });
    return bashResult({ output: Buffer.concat(pieces).toString(), exitCode, cancelled: signal.aborted });
  } catch (error) {
    if (!signal.aborted) throw error;
    return bashResult({ output: Buffer.concat(pieces).toString(), cancelled: true });
  }
}
