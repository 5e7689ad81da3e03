/** Actions of extensions, with fields of the types that the schema has: extensions without types pass anything. */
import { ACTION_BOOLEANS, ACTION_STRINGS } from "./schema.mjs";
import { isRecord, messageContent, plain, text, typeName } from "./shapes.mjs";

/**
 * @param {any} frame An action.
 * @returns {any} The action with fields of the right types.
 * @throws when a required field is missing, or a field is no string.
 */
export function normalizeAction(frame) {
  const made = { ...frame };
  for (const marked of ACTION_STRINGS[frame.type] ?? []) {
    const field = marked.replace("!", "");
    const given = frame[field] ?? undefined;
    made[field] = text(given);
    if (made[field] === undefined && (given !== undefined || field !== marked)) {
      throw new Error(`${frame.type}.${field}: expected a string, got ${typeName(given)}`);
    }
  }
  for (const field of ACTION_BOOLEANS[frame.type] ?? []) if (made[field] !== undefined) made[field] = Boolean(made[field]);
  if (frame.type === "set_active_tools") made.names = frame.names.map(text).filter((name) => name !== undefined);
  if (frame.type === "send_message") made.message = normalizeMessage(frame.message);
  if (frame.type === "send_user_message") made.content = messageContent(frame.content);
  if (frame.type === "run_tool" && !isRecord(frame.arguments)) made.arguments = {};
  return made;
}

/**
 * @param {any} message A message of an extension, of any shape.
 * @returns {any} The message as the schema has it.
 */
export function normalizeMessage(message) {
  if (!isRecord(message)) throw new Error(`message: expected an object, got ${typeName(message)}`);
  const { customType, content, display, details } = message;
  return {
    customType: text(customType) ?? "",
    content: messageContent(content),
    display: Boolean(display),
    details: plain(details, "message.details"),
  };
}
