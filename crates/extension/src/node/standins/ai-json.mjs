/** JSON that is still coming, as arguments of a tool call do. */

/** What there is of an object so far; `{}` if nothing can be read. */
export function parseStreamingJson(text) {
  if (!text?.trim()) return {};
  for (const candidate of [text, closed(text, true), closed(text, false)]) {
    try {
      return JSON.parse(candidate) ?? {};
    } catch {
      // Cut at an odd place: the next candidate leaves the last part out.
    }
  }
  return {};
}

/** Closes what is open; without the last part, which may be half of a name or of a word, unless it is kept. */
function closed(text, keep) {
  const open = [];
  let inString = false;
  let whole = 0;
  let openWhenWhole = [];
  for (let at = 0; at < text.length; at += 1) {
    const c = text[at];
    if (inString) {
      if (c === "\\") at += 1;
      else if (c === '"') inString = false;
    } else if (c === '"') inString = true;
    else if (c === "{" || c === "[") open.push(c === "{" ? "}" : "]");
    else if (c === "}" || c === "]") open.pop();
    if (!inString && (c === "," || c === "{" || c === "[")) {
      whole = c === "," ? at : at + 1;
      openWhenWhole = [...open];
    }
  }
  if (!keep) return text.slice(0, whole) + openWhenWhole.reverse().join("");
  const tail = inString ? text.replace(/\\(u[\da-fA-F]{0,3})?$/, "") + '"' : text.replace(/[,\s]+$/, "");
  return tail + open.reverse().join("");
}

/** The arguments of a tool call while they come. */
export class ToolCallArgumentsStream {
  #text = "";

  get text() {
    return this.#text;
  }

  append(delta) {
    this.#text += delta;
    return parseStreamingJson(this.#text);
  }

  replace(text) {
    const delta = text.startsWith(this.#text) ? text.slice(this.#text.length) : undefined;
    this.#text = text;
    return { delta, arguments: parseStreamingJson(text) };
  }

  finish() {
    return parseToolCallArguments(this.#text);
  }
}

/** The arguments of a finished tool call, and what is wrong with them. */
export function parseToolCallArguments(text) {
  if (!text?.trim()) return { arguments: {} };
  try {
    return { arguments: JSON.parse(text) };
  } catch (error) {
    return { arguments: parseStreamingJson(text), argumentsError: error.message };
  }
}

export const parseJsonWithRepair = (text) => JSON.parse(text);
