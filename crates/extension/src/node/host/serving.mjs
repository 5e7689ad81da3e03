/** Modules that are needed only once extensions are loaded; they are imported while the server reads the registration. */
export { callModel } from "./model_call.mjs";
export { runCommand, runTool } from "./calls.mjs";
export { Events } from "./events.mjs";
export { callHandlers } from "./handlers.mjs";
export { HOOKS } from "./hooks.mjs";
export { ModelRegistry } from "./models.mjs";
export { SessionView } from "./session.mjs";
export { SESSION_HOOKS } from "./sessions.mjs";
export { toolsAsPi } from "./tools.mjs";
export { UserInterface } from "./ui.mjs";
