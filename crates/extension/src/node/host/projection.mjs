/** Derives branches, the tree and the messages of a model request from the entries of a session. */

/**
 * @param {Map<string, any>} byId
 * @param {string | null | undefined} leafId
 * @returns {any[]} The entries from the root to the leaf.
 */
export function branch(byId, leafId) {
  const path = [];
  for (let entry = byId.get(leafId); entry; entry = byId.get(entry.parentId)) path.push(entry);
  return path.reverse();
}

/**
 * @param {any[]} entries
 * @param {Map<string, any>} labels The last label of each entry.
 * @returns {any[]} The roots, each with its descendants.
 */
export function tree(entries, labels) {
  const nodes = new Map(
    entries.map((entry) => {
      const label = labels.get(entry.id);
      return [entry.id, { entry, children: [], label: label?.label, labelTimestamp: label?.timestamp }];
    }),
  );
  const roots = [];
  for (const node of nodes.values()) {
    const parent = node.entry.parentId === node.entry.id ? undefined : nodes.get(node.entry.parentId);
    (parent?.children ?? roots).push(node);
  }
  const time = ({ entry }) => new Date(entry.timestamp).getTime();
  for (const { children } of nodes.values()) children.sort((one, other) => time(one) - time(other));
  return roots;
}

/**
 * @param {any[]} path A branch.
 * @returns {any[]} The entries of the context: the last compaction, the entries that it keeps, and those after it.
 */
export function contextEntries(path) {
  const at = path.findLastIndex(({ type }) => type === "compaction");
  if (at === -1) return path;
  const compaction = path[at];
  const kept = path.findIndex(({ id }) => id === compaction.firstKeptEntryId);
  const before = kept === -1 || kept > at ? [] : path.slice(kept, at);
  return [
    compaction,
    ...before.filter((entry) => !(entry.type === "message" && entry.message.role === "system")),
    ...path.slice(at + 1),
  ];
}

/**
 * @param {any[]} path A branch.
 * @returns {{ entries: any[], messages: any[], thinkingLevel: string, model: any }} The messages of a model request, each
 *   also with its entry.
 */
export function projection(path) {
  let thinkingLevel = "off";
  let model = null;
  for (const entry of path) {
    if (entry.type === "thinking_level_change") thinkingLevel = entry.thinkingLevel;
    else if (entry.type === "model_change") model = { provider: entry.provider, modelId: entry.modelId };
    else if (entry.type === "message" && entry.message.role === "assistant") {
      model = { provider: entry.message.provider, modelId: entry.message.model };
    }
  }
  const counted = contextEntries(path);
  const edits = new Map(counted.filter(({ type }) => type === "context_edit").map((edit) => [edit.targetId, edit]));
  const entries = counted.map((sourceEntry, index) => ({
    sourceEntry,
    // An older compaction among the kept entries gives no message.
    messages: sourceEntry.type === "compaction" && index > 0 ? [] : applyEdit(sourceEntry, edits.get(sourceEntry.id)),
  }));
  return { entries, messages: entries.flatMap(({ messages }) => messages), thinkingLevel, model };
}

const EDITABLE = new Set(["user", "assistant", "toolResult", "custom"]);

function applyEdit(entry, edit) {
  const messages = messagesOf(entry);
  if (!edit) return messages;
  if (edit.replacement === null) return [];
  const { content } = edit.replacement;
  return messages.map((message) => {
    if (!EDITABLE.has(message.role)) return message;
    const blocks = typeof content === "string" && (message.role === "assistant" || message.role === "toolResult");
    return { ...message, content: blocks ? [{ type: "text", text: content }] : content };
  });
}

function messagesOf(entry) {
  const timestamp = new Date(entry.timestamp).getTime();
  switch (entry.type) {
    case "message":
      return [entry.message];
    case "custom_message": {
      const { customType, content, display, details } = entry;
      return [{ role: "custom", customType, content, display, details, timestamp }];
    }
    case "branch_summary": {
      const { summary, fromId } = entry;
      return summary ? [{ role: "branchSummary", summary, fromId, timestamp }] : [];
    }
    case "compaction": {
      const { summary, tokensBefore, systemMessage } = entry;
      return [...(systemMessage ? [systemMessage] : []), { role: "compactionSummary", summary, tokensBefore, timestamp }];
    }
    default:
      return [];
  }
}
