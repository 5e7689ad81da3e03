/** What one extension has registered. */
export class Member {
  /** @type {Map<string, Function[]>} Handlers by event, in the order of their registration. */
  handlers = new Map();
  /** @type {Map<string, any>} */
  tools = new Map();
  /** @type {Map<string, any>} */
  commands = new Map();
  /** @type {Map<string, { type: "boolean" | "string", description?: string, default?: unknown }>} */
  flags = new Map();
  /** @type {Map<string, any>} Keyboard shortcuts, which are never pressed here. */
  shortcuts = new Map();
  /** @type {(() => void)[]} Actions that are deferred until all extensions are loaded. */
  atStart = [];

  /** @param {{ path: string, sourceInfo?: any }} member */
  constructor({ path, sourceInfo }) {
    this.path = path;
    this.sourceInfo = sourceInfo ?? { path, source: "local", scope: "temporary", origin: "top-level" };
  }

  /**
   * @param {string} event
   * @param {Function} handler
   * @returns {() => void} Removes the handler.
   */
  on(event, handler) {
    const list = this.handlers.get(event) ?? [];
    // The same function may be registered twice, and each registration is removed on its own.
    const registered = (...args) => handler(...args);
    list.push(registered);
    this.handlers.set(event, list);
    return () => {
      const at = list.indexOf(registered);
      if (at === -1) return;
      list.splice(at, 1);
      if (list.length === 0) this.handlers.delete(event);
    };
  }
}

/**
 * Finds names that several extensions register.
 * @param {Member[]} members
 * @param {{ numberedCommands: boolean }} features
 * @returns {{ member: Member, error: string }[]} The later registrations.
 */
export function findConflicts(members, features) {
  const kinds = [
    ["tools", (name) => `Tool "${String(name)}"`],
    ...(features.numberedCommands ? [] : [["commands", (name) => `Command "/${String(name)}"`]]),
    ["flags", (name) => `Flag "--${String(name)}"`],
  ];
  const owners = new Map();
  return members.flatMap((member) =>
    kinds.flatMap(([kind, describe]) =>
      [...member[kind].keys()].flatMap((name) => {
        const key = `${kind} ${String(name)}`;
        if (!owners.has(key)) owners.set(key, member);
        const owner = owners.get(key);
        return owner === member ? [] : [{ member, error: `${describe(name)} conflicts with ${owner.path}` }];
      }),
    ),
  );
}

/**
 * The values of flags that the command line has: `--name`, `--name value` and `--name=value`.
 * @param {Member[]} members
 * @param {string[]} words The command line.
 * @returns {Map<string, boolean | string>}
 */
export function flagValues(members, words) {
  const types = new Map(members.flatMap((member) => [...member.flags].map(([name, flag]) => [name, flag?.type])));
  const values = new Map();
  for (let at = 0; at < words.length && words[at] !== "--"; at += 1) {
    if (!words[at].startsWith("--")) continue;
    const [name, ...value] = words[at].slice(2).split("=");
    if (types.get(name) === "boolean") values.set(name, true);
    else if (types.get(name) === "string") {
      if (value.length > 0) values.set(name, value.join("="));
      else if (at + 1 < words.length) values.set(name, words[(at += 1)]);
    }
  }
  return values;
}
