/** Events of the begin and the end of a session, as each version of pi has them. */
import { callHandlers } from "./handlers.mjs";

/** @type {import("./hooks.mjs").HOOKS[string]} */
async function sessionStart(host, { reason, previousSessionFile }) {
  const { features } = host;
  if (features.instances && reason !== "startup") await host.replace(reason === "reload" || !features.cachedModules);
  if (features.reasons) {
    await notify(host, { type: "session_start", reason, ...(previousSessionFile && { previousSessionFile }) });
  } else if (reason === "fork") {
    await notify(host, { type: "session_fork", previousSessionFile });
  } else if (reason === "new" || reason === "resume") {
    await notify(host, { type: "session_switch", reason, previousSessionFile });
  } else {
    await notify(host, { type: "session_start" });
  }
}

/** @type {import("./hooks.mjs").HOOKS[string]} */
async function sessionShutdown(host, { reason = "quit", targetSessionFile }) {
  const { features } = host;
  if (features.reasons) {
    await notify(host, { type: "session_shutdown", reason, ...(targetSessionFile && { targetSessionFile }) });
  } else if (reason === "quit" || reason === "reload") {
    await notify(host, { type: "session_shutdown" });
  }
  if (features.instances && reason !== "quit") {
    host.generation.invalidate();
    host.holdHooks();
  }
}

/** Hooks that replace one generation of extensions by another. */
export const SESSION_HOOKS = { session_start: sessionStart, session_shutdown: sessionShutdown };

function notify(host, event) {
  return callHandlers(host, event.type, (handler, ctx) => handler(event, ctx));
}
