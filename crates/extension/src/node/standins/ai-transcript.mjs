/** System messages within a conversation: newer versions of pi keep the instructions and the tools there. */

/** The text of a message's content. */
export function contentText(content, separator = "\n") {
  if (typeof content === "string") return content;
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(separator);
}

/** A system message as instructions: what it says, then its sections. */
export function getSystemMessageText({ content, sections = {} }) {
  return [contentText(content), ...Object.values(sections)].filter(Boolean).join("\n\n");
}

export function createInitialSystemMessage(systemPrompt, tools) {
  if (!systemPrompt && !tools?.length) return undefined;
  return { role: "system", content: systemPrompt ?? "", ...(tools?.length ? { toolsAdded: tools } : {}), timestamp: 0 };
}

/** A context whose instructions and tools are its first message. */
export function normalizeContext({ systemPrompt, tools, messages }) {
  const first = createInitialSystemMessage(systemPrompt, tools);
  return { messages: first ? [first, ...messages] : messages };
}

const systemMessages = (messages) => messages.filter(({ role }) => role === "system");
export const getInitialSystemMessage = (messages) => (messages[0]?.role === "system" ? messages[0] : undefined);
export const withoutInitialSystemMessage = (messages) => (getInitialSystemMessage(messages) ? messages.slice(1) : messages);

/** The tools after all that was added and removed. */
export function getCurrentTools(messages) {
  const tools = new Map();
  for (const { toolsRemoved = [], toolsAdded = [] } of systemMessages(messages)) {
    for (const { name } of toolsRemoved) tools.delete(name);
    for (const tool of toolsAdded) tools.set(tool.name, tool);
  }
  return [...tools.values()];
}

/** All system messages as one. */
export function getCurrentSystemMessage(messages) {
  const all = systemMessages(messages);
  if (all.length === 0) return undefined;
  const sections = new Map();
  for (const message of all) {
    for (const [name, text] of Object.entries(message.sections ?? {})) {
      if (text === null) sections.delete(name);
      else sections.set(name, text);
    }
  }
  const tools = getCurrentTools(messages);
  return {
    role: "system",
    content: all
      .map(({ content }) => contentText(content))
      .filter(Boolean)
      .join("\n\n"),
    ...(sections.size > 0 ? { sections: Object.fromEntries(sections) } : {}),
    ...(tools.length > 0 ? { toolsAdded: tools } : {}),
    timestamp: all[0].timestamp,
  };
}

export function getCurrentSystemPrompt(messages) {
  const message = getCurrentSystemMessage(messages);
  return message ? getSystemMessageText(message) : "";
}

/** A context with one system message, at its beginning. */
export function collapseSystemMessages({ messages }) {
  const first = getCurrentSystemMessage(messages);
  const others = messages.filter(({ role }) => role !== "system");
  return { messages: first ? [first, ...others] : others };
}

export const resolveTranscript = (context, keeps) => (keeps ? context : collapseSystemMessages(context));
