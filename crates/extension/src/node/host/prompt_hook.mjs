/** `before_agent_start`: extensions add messages and change the instructions of the run that begins. */
import { normalizeMessage } from "./actions.mjs";
import { createContext } from "./context.mjs";
import { callHandlers } from "./handlers.mjs";
import { text, typeName } from "./shapes.mjs";

/** @type {import("./hooks.mjs").HOOKS[string]} */
export async function promptHook(host, { prompt, images, systemPrompt: instructions }) {
  const { features } = host;
  const customMessages = [];
  const parts = lazyValue(() => normalizeOptions(host.query("system_prompt").options, host.cwd));
  let replaced;
  const current = () => replaced ?? instructions + addedSections(parts);

  const ctx = createContext(host, host.generation);
  if (features.instances) ctx.getSystemPrompt = current;
  await callHandlers(
    host,
    "before_agent_start",
    async (handler) => {
      const event = {
        type: "before_agent_start",
        ...(features.modern && { messageType: "user" }),
        prompt,
        images,
        get systemPrompt() {
          return current();
        },
        get systemPromptOptions() {
          return parts.value;
        },
      };
      const result = (await handler(event, ctx)) ?? {};
      if (result.message) customMessages.push(normalizeMessage(result.message));
      if (result.systemPrompt === undefined || result.systemPrompt === null) return;
      const changed = text(result.systemPrompt);
      if (changed === undefined) throw new Error(`before_agent_start: systemPrompt: expected a string, got ${typeName(result.systemPrompt)}`);
      replaced = changed;
    },
    undefined,
    ctx,
  );

  const systemPrompt = current() === instructions ? undefined : current();
  if (customMessages.length > 1) return { customMessages, systemPrompt };
  return { message: customMessages[0], systemPrompt };
}

/** A value that is made when it is first read: most handlers do not need the parts of the instructions. */
function lazyValue(make) {
  const made = {
    get value() {
      made.known ??= { now: make(), sections: undefined };
      made.known.sections ??= { ...made.known.now.sections };
      return made.known.now;
    },
  };
  return made;
}

/** The sections that handlers have added or changed in place, as text; other changes in place have no effect. */
function addedSections({ known }) {
  if (!known) return "";
  return Object.entries(known.now.sections)
    .filter(([name, text]) => text && text !== known.sections[name])
    .map(([name, text]) => `\n\n<${name}>\n${text}\n</${name}>`)
    .join("");
}

function normalizeOptions(options = {}, cwd) {
  return {
    cwd,
    selectedTools: [],
    hiddenTools: [],
    toolSnippets: {},
    toolGuidelines: {},
    promptGuidelines: [],
    appendSystemPrompt: "",
    sections: {},
    contextFiles: [],
    skills: [],
    ...options,
  };
}
