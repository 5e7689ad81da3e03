// Reads the dialect's JSON Schema: references, alternatives, and what may stand at a place of a value.

/** @typedef {Record<string, any>} Schema A JSON Schema, as far as the exporter of `pi-rpc schema` writes it. */
/** @typedef {Record<string, Schema>} Definitions */
/** @typedef {(string | number)[]} Path Names and indexes from the outermost value inwards. */

/** References that are followed before a schema counts as circular. */
const DEEPEST = 20;

/**
 * Follows references.
 * @param {Schema | undefined} schema
 * @param {Definitions} definitions
 * @returns {Schema}
 */
export function resolve(schema, definitions) {
  let found = schema ?? {};
  for (let depth = 0; typeof found["$ref"] === "string" && depth < DEEPEST; depth += 1) {
    const { $ref, ...own } = found;
    found = { ...definitions[String($ref).replace("#/$defs/", "")], ...own };
  }
  return found;
}

/**
 * The alternatives of a schema; one if it has none.
 * @param {Schema} schema
 * @param {Definitions} definitions
 * @returns {Schema[]}
 */
export function alternatives(schema, definitions) {
  const resolved = resolve(schema, definitions);
  const list = resolved["oneOf"] ?? resolved["anyOf"];
  return Array.isArray(list) ? list.flatMap((it) => alternatives(it, definitions)) : [resolved];
}

/**
 * The values that a schema lists; none if it lists none.
 * @param {Schema} schema
 * @returns {unknown[] | undefined}
 */
export function listedValues(schema) {
  if ("const" in schema) return [schema["const"]];
  return Array.isArray(schema["enum"]) ? schema["enum"] : undefined;
}

/**
 * A name for one of several alternatives.
 * @param {Schema} schema
 */
export function alternativeName(schema) {
  const values = listedValues(schema);
  if (values) return values.map((value) => JSON.stringify(value)).join(" or ");
  return String(schema["title"] ?? schema["type"] ?? "any value");
}

/**
 * Whether a value has the type of a schema, and of its constant members.
 * @param {unknown} value
 * @param {Schema} schema
 * @param {Definitions} definitions
 * @returns {boolean}
 */
export function isLike(value, schema, definitions) {
  const values = listedValues(schema);
  if (values) return values.includes(value);
  if (schema["type"] === undefined) return true;
  if (schema["type"] !== typeOf(value) && !(schema["type"] === "number" && typeOf(value) === "integer")) return false;
  if (typeOf(value) !== "object") return true;
  const members = Object.entries(/** @type {Record<string, Schema>} */ (schema["properties"] ?? {}));
  return members.every(([name, member]) => {
    const wanted = listedValues(resolve(member, definitions));
    const has = /** @type {Record<string, unknown>} */ (value)[name];
    return !wanted || has === undefined || wanted.includes(has);
  });
}

/**
 * The type of a value as JSON Schema calls it.
 * @param {unknown} value
 */
export function typeOf(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

/**
 * A value to begin with: required members, each empty.
 * @param {Schema} schema
 * @param {Definitions} definitions
 * @param {number} [depth]
 * @returns {unknown}
 */
export function blank(schema, definitions, depth = 0) {
  const first = alternatives(schema, definitions)[0] ?? {};
  const values = listedValues(first);
  if (values) return values[0];
  switch (first["type"]) {
    case "object": {
      if (depth > DEEPEST) return {};
      const required = /** @type {string[]} */ (first["required"] ?? []);
      return Object.fromEntries(required.map((name) => [name, blank(first["properties"]?.[name], definitions, depth + 1)]));
    }
    case "array":
      return [];
    case "boolean":
      return false;
    case "integer":
    case "number":
      return 0;
    case "null":
      return null;
    default:
      return "";
  }
}

/**
 * The schemas that apply at a place within a value.
 * @param {Schema} schema
 * @param {Definitions} definitions
 * @param {Path} path
 * @param {unknown} value The whole value as far as it is known; it tells alternatives apart.
 * @returns {Schema[]}
 */
export function schemasAt(schema, definitions, path, value) {
  const all = alternatives(schema, definitions);
  const fitting = all.filter((it) => isLike(value, it, definitions));
  const candidates = fitting.length > 0 ? fitting : all;
  const [step, ...rest] = path;
  if (step === undefined) return candidates;
  return candidates.flatMap((it) => {
    const below = typeof step === "number" ? it["items"] : (it["properties"]?.[step] ?? it["additionalProperties"]);
    if (!below || typeof below !== "object") return [];
    const inner = /** @type {any} */ (value)?.[step];
    return schemasAt(below, definitions, rest, inner);
  });
}
