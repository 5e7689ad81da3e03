/** Stand-in for typebox's `Value` and its compilers: checks and changes values by their JSON Schema. Compiling gains nothing here. */

/**
 * @typedef {{ path: string, message: string, value: unknown, schema: any, instancePath: string, keyword: string }} Fault
 */

/** Whether a value is what a schema describes. */
export function Check(...args) {
  const [schema, value] = parted(args);
  return faultsOf(schema, value, "", schema).next().done === true;
}

/** What is wrong with a value, as a list that has `First()` as well. */
export function Errors(...args) {
  const [schema, value] = parted(args);
  const faults = [...faultsOf(schema, value, "", schema)];
  return Object.assign(faults, { First: () => faults[0] });
}

/** Throws for a value that a schema does not describe. */
export function Assert(...args) {
  const [first] = Errors(...args);
  if (first) throw new Error(`${first.path || "the value"}: ${first.message}`);
}

/** A value with its defaults, without what is not described, converted and checked. */
export function Parse(...args) {
  const [schema, value] = parted(args);
  const parsed = Convert(schema, Clean(schema, Default(schema, Clone(value))));
  Assert(schema, parsed);
  return parsed;
}
export { Parse as Decode, Parse as Encode };

export const Clone = (value) => structuredClone(value);

export function Equal(a, b) {
  if (Object.is(a, b)) return true;
  if (!a || !b || typeof a !== "object" || typeof b !== "object" || Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => name in b && Equal(a[name], b[name]));
}

/** Gives what is absent its default. */
export function Default(...args) {
  const [schema, value] = parted(args);
  if (value === undefined && schema.default !== undefined) return Clone(schema.default);
  return within(schema, value, (inner, one) => Default(inner, one), true);
}

/** Takes away properties that the schema does not describe. */
export function Clean(...args) {
  const [schema, value] = parted(args);
  if (isObject(value) && schema.properties && !schema.additionalProperties && !schema.patternProperties) {
    for (const name of Object.keys(value)) if (!(name in schema.properties)) delete value[name];
  }
  return within(schema, value, (inner, one) => Clean(inner, one), false);
}

/** Reads numbers, booleans and null where they came as strings, and the other way round. */
export function Convert(...args) {
  const [schema, value] = parted(args);
  if (schema.anyOf && !Check(schema, value)) {
    for (const one of schema.anyOf) {
      const converted = Convert(one, Clone(value));
      if (Check(one, converted)) return converted;
    }
    return value;
  }
  if (
    (schema.type === "number" || schema.type === "integer") &&
    typeof value === "string" &&
    value.trim() !== "" &&
    Number.isFinite(Number(value))
  )
    return Number(value);
  if (schema.type === "boolean" && /^(true|1)$/i.test(String(value))) return true;
  if (schema.type === "boolean" && /^(false|0)$/i.test(String(value))) return false;
  if (schema.type === "string" && ["number", "boolean", "bigint"].includes(typeof value)) return String(value);
  if (schema.type === "null" && value === "null") return null;
  return within(schema, value, (inner, one) => Convert(inner, one), false);
}

/** The plainest value that a schema describes. */
export function Create(schema) {
  if (schema.default !== undefined) return Clone(schema.default);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return Create(schema.anyOf[0]);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((one) => Create(one)));
  switch (schema.type) {
    case "string":
      return "";
    case "number":
    case "integer":
      return Math.max(schema.minimum ?? 0, 0);
    case "boolean":
      return false;
    case "null":
      return null;
    case "array":
      return Array.isArray(schema.items)
        ? schema.items.map((one) => Create(one))
        : Array.from({ length: schema.minItems ?? 0 }, () => Create(schema.items));
    case "object":
      return Object.fromEntries((schema.required ?? []).map((name) => [name, Create(schema.properties[name])]));
    default:
      return schema.type === undefined ? {} : undefined;
  }
}

/** A schema with its checks: what `Compile` of either version gives. */
export function Compile(...args) {
  const schema = args.length > 1 ? { $defs: args[0], ...args[1] } : args[0];
  return {
    Schema: () => schema,
    Check: (value) => Check(schema, value),
    Errors: (value) => Errors(schema, value),
    Parse: (value) => Parse(schema, value),
    Decode: (value) => Parse(schema, value),
    Encode: (value) => Parse(schema, value),
    Clean: (value) => Clean(schema, value),
    Convert: (value) => Convert(schema, value),
    Create: () => Create(schema),
    Default: (value) => Default(schema, value),
  };
}
export const TypeCompiler = { Compile };
export const Value = { Check, Errors, Assert, Parse, Decode: Parse, Encode: Parse, Clone, Equal, Default, Clean, Convert, Create };
export default Value;

/** Definitions may stand before the schema. */
function parted(args) {
  return args.length > 2 ? [{ $defs: args[0], ...args[1] }, args[2]] : args;
}

/** Does something to the parts of a value, in place. */
function within(schema, value, change, alsoAbsent) {
  for (const one of schema.allOf ?? []) value = change(one, value);
  if (isObject(value)) {
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
      const made = name in value || alsoAbsent ? change(inner, value[name]) : undefined;
      if (made !== undefined) value[name] = made;
    }
  }
  if (Array.isArray(value) && schema.items) {
    value.forEach((one, index) => {
      const inner = Array.isArray(schema.items) ? schema.items[index] : schema.items;
      if (inner) value[index] = change(inner, one);
    });
  }
  return value;
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

const TYPES = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number" && Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: isObject,
  undefined: (value) => value === undefined,
  void: (value) => value === undefined,
  bigint: (value) => typeof value === "bigint",
  symbol: (value) => typeof value === "symbol",
  function: (value) => typeof value === "function",
  Function: (value) => typeof value === "function",
  Date: (value) => value instanceof Date,
  Uint8Array: (value) => value instanceof Uint8Array,
};

/** @returns {Generator<Fault>} */
function* faultsOf(schema, value, path, root) {
  if (schema === true || schema === undefined) return;
  const fault = (keyword, message) => ({ path, instancePath: path, keyword, message, value, schema });
  if (schema === false) return yield fault("boolean", "schema is false");
  if (schema.$ref !== undefined) {
    const target = definitionOf(root, schema.$ref);
    return yield* target ? faultsOf(target, value, path, root) : [fault("$ref", `must be known: ${schema.$ref}`)];
  }
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.some((type) => TYPES[type]?.(value) ?? true)) return yield fault("type", `must be ${types.join(" or ")}`);
  if (schema.const !== undefined && !Equal(schema.const, value)) yield fault("const", "must be equal to constant");
  if (schema.enum && !schema.enum.some((one) => Equal(one, value))) yield fault("enum", "must be equal to one of the allowed values");
  if (schema.anyOf && !schema.anyOf.some((one) => passes(one, value, root))) yield fault("anyOf", "must match a schema in anyOf");
  if (schema.oneOf && schema.oneOf.filter((one) => passes(one, value, root)).length !== 1)
    yield fault("oneOf", "must match exactly one schema in oneOf");
  if (schema.not && passes(schema.not, value, root)) yield fault("not", "must not be valid");
  for (const one of schema.allOf ?? []) yield* faultsOf(one, value, path, root);
  if (typeof value === "string") yield* ofString(schema, value, fault);
  if (typeof value === "number") yield* ofNumber(schema, value, fault);
  if (Array.isArray(value)) yield* ofArray(schema, value, path, root, fault);
  else if (isObject(value)) yield* ofObject(schema, value, path, root, fault);
}

const passes = (schema, value, root) => faultsOf(schema, value, "", root).next().done === true;

function* ofString(schema, value, fault) {
  const length = [...value].length;
  if (length < schema.minLength) yield fault("minLength", `must not have fewer than ${schema.minLength} characters`);
  if (length > schema.maxLength) yield fault("maxLength", `must not have more than ${schema.maxLength} characters`);
  if (schema.pattern !== undefined && !new RegExp(schema.pattern, "u").test(value))
    yield fault("pattern", `must match pattern "${schema.pattern}"`);
}

function* ofNumber(schema, value, fault) {
  if (value < schema.minimum) yield fault("minimum", `must be >= ${schema.minimum}`);
  if (value > schema.maximum) yield fault("maximum", `must be <= ${schema.maximum}`);
  if (value <= schema.exclusiveMinimum) yield fault("exclusiveMinimum", `must be > ${schema.exclusiveMinimum}`);
  if (value >= schema.exclusiveMaximum) yield fault("exclusiveMaximum", `must be < ${schema.exclusiveMaximum}`);
  if (schema.multipleOf && !Number.isInteger(value / schema.multipleOf))
    yield fault("multipleOf", `must be multiple of ${schema.multipleOf}`);
}

function* ofArray(schema, value, path, root, fault) {
  if (value.length < schema.minItems) yield fault("minItems", `must not have fewer than ${schema.minItems} items`);
  const most = Array.isArray(schema.items) && schema.additionalItems === false ? schema.items.length : schema.maxItems;
  if (value.length > most) yield fault("maxItems", `must not have more than ${most} items`);
  if (schema.uniqueItems && value.some((one, index) => value.slice(0, index).some((other) => Equal(one, other))))
    yield fault("uniqueItems", "must not have duplicate items");
  for (const [index, one] of value.entries()) {
    const inner = Array.isArray(schema.items) ? schema.items[index] : schema.items;
    yield* faultsOf(inner, one, `${path}/${index}`, root);
  }
}

function* ofObject(schema, value, path, root, fault) {
  for (const name of schema.required ?? [])
    if (!(name in value)) yield { ...fault("required", `must have required properties ${name}`), path: `${path}/${name}` };
  const count = Object.keys(value).length;
  if (count < schema.minProperties) yield fault("minProperties", `must not have fewer than ${schema.minProperties} properties`);
  if (count > schema.maxProperties) yield fault("maxProperties", `must not have more than ${schema.maxProperties} properties`);
  for (const [name, one] of Object.entries(value)) {
    const patterns = Object.entries(schema.patternProperties ?? {}).filter(([pattern]) => new RegExp(pattern, "u").test(name));
    const known = Object.hasOwn(schema.properties ?? {}, name);
    // An optional property that is `undefined` is as good as absent.
    if (known && !(one === undefined && !schema.required?.includes(name)))
      yield* faultsOf(schema.properties[name], one, `${path}/${name}`, root);
    for (const [, inner] of patterns) yield* faultsOf(inner, one, `${path}/${name}`, root);
    if (known || patterns.length > 0 || schema.additionalProperties === undefined) continue;
    if (schema.additionalProperties === false)
      yield { ...fault("additionalProperties", "must not have additional properties"), path: `${path}/${name}` };
    else yield* faultsOf(schema.additionalProperties, one, `${path}/${name}`, root);
  }
}

function definitionOf(root, ref) {
  const name = ref.replace(/^#\/\$defs\//, "");
  return root.$defs?.[name] ?? (root.$id === ref || ref === "#" ? root : undefined);
}
