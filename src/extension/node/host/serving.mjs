/** What is needed when extensions are loaded, and not before: it is loaded while the server reads what they add. */
export { callModel } from "./model_call.mjs";
export { runCommand, runTool } from "./calls.mjs";
export { Events } from "./events.mjs";
export { callHandlers } from "./handlers.mjs";
export { HOOKS } from "./hooks.mjs";
export { ModelRegistry } from "./models.mjs";
export { SessionView } from "./session.mjs";
export { toolsAsPi } from "./tools.mjs";
export { UserInterface } from "./ui.mjs";
