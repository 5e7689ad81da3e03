/**
 * Stand-in for typebox: builders of JSON Schema. Types for TypeScript, and what only they need, are none of its business.
 *
 * Before 0.73, pi gives extensions another version of typebox, which writes options first and some types differently.
 * The order of names is seen by host applications, as schemas of tools are shown to them.
 */
const api = globalThis[Symbol.for("pi-rpc.host")]?.api ?? "1.5";
const old = api === "0.52" || api === "0.58";

export const Kind = Symbol.for("TypeBox.Kind");
export const OptionalKind = Symbol.for("TypeBox.Optional");
export const ReadonlyKind = Symbol.for("TypeBox.Readonly");
export const Hint = Symbol.for("TypeBox.Hint");

/** A schema of a kind; what it is goes before or behind the options, by version. */
function made(kind, own, options) {
  return marked(old ? { ...options, ...own } : { ...own, ...options }, "kind", kind);
}

/** Marks are not part of a schema: symbols in the old version, names that are not enumerated in the new one. */
function marked(schema, mark, value) {
  if (old) schema[{ kind: Kind, optional: OptionalKind, readonly: ReadonlyKind }[mark]] = value;
  else Object.defineProperty(schema, `~${mark}`, { value, configurable: true, writable: true });
  return schema;
}

function markOf(schema, mark) {
  return schema?.[{ kind: Kind, optional: OptionalKind, readonly: ReadonlyKind }[mark]] ?? schema?.[`~${mark}`];
}

/** A copy with its marks, without those that are named. */
function copied(schema, ...without) {
  const copy = { ...schema };
  for (const mark of ["kind", "optional", "readonly"]) {
    const value = markOf(schema, mark);
    if (without.includes(mark)) delete copy[{ optional: OptionalKind, readonly: ReadonlyKind }[mark]];
    else if (value !== undefined) marked(copy, mark, value);
  }
  return copy;
}

const isOptional = (schema) => markOf(schema, "optional") !== undefined;

const plain = (kind, type) => (options) => made(kind, type === undefined ? {} : { type }, options);
const Any = plain("Any");
const Unknown = plain("Unknown");
const String = plain("String", "string");
const Number = plain("Number", "number");
const Integer = plain("Integer", "integer");
const Boolean = plain("Boolean", "boolean");
const Null = plain("Null", "null");
const Undefined = plain("Undefined", "undefined");
const Void = plain("Void", "void");
const BigInt = plain("BigInt", "bigint");
const Symbol_ = plain("Symbol", "symbol");
const Date = plain("Date", "Date");
const Uint8Array = plain("Uint8Array", "Uint8Array");
const Never = (options) => made("Never", { not: {} }, options);
const Unsafe = (schema = {}) => made("Unsafe", schema);
const Literal = (value, options) =>
  made("Literal", old ? { const: value, type: typeof value } : { type: typeof value, const: value }, options);
const Array_ = (items, options) => made("Array", { type: "array", items }, options);
const Not = (schema, options) => made("Not", { not: schema }, options);
const Ref = (to, options) => made("Ref", { $ref: typeof to === "string" ? to : to.$id }, options);
const RegExp = (pattern, options) =>
  made("RegExp", { type: "RegExp", source: pattern.source ?? pattern, flags: pattern.flags ?? "" }, options);
const Promise_ = (item, options) => made("Promise", { type: "Promise", item }, options);
const Function_ = (parameters, returns, options) =>
  made("Function", old ? { type: "Function", parameters, returns } : { type: "function", parameters, returnType: returns }, options);

const Object_ = (properties, options) => {
  const required = Object.keys(properties).filter((name) => !isOptional(properties[name]));
  return made("Object", { type: "object", ...(required.length > 0 ? { required } : {}), properties }, options);
};

const Tuple = (items, options) => {
  const count = { minItems: items.length };
  if (!old) return made("Tuple", { type: "array", additionalItems: false, items, ...count }, options);
  return made(
    "Tuple",
    { type: "array", ...(items.length > 0 ? { items, additionalItems: false } : {}), ...count, maxItems: items.length },
    options,
  );
};

const Union = (schemas, options) => {
  if (old && schemas.length === 0) return Never(options);
  if (old && schemas.length === 1) return Object.assign({}, options, copied(schemas[0]));
  const union = made("Union", { anyOf: schemas.map((schema) => (old ? copied(schema, "optional") : schema)) }, options);
  return old && schemas.some(isOptional) ? Optional(union) : union;
};

const Intersect = (schemas, options) => {
  if (old && schemas.length === 1) return Object.assign({}, options, copied(schemas[0]));
  const objects = old && schemas.length > 0 && schemas.every((schema) => schema.type === "object");
  return made("Intersect", { ...(objects ? { type: "object" } : {}), allOf: schemas }, options);
};

/** The values of a TypeScript enum, which has numbers both ways round, or of a list. */
const Enum = (values, options) => {
  const listed = Array.isArray(values)
    ? values
    : Object.keys(values)
        .filter((name) => !/^\d+$/.test(name))
        .map((name) => values[name]);
  const distinct = [...new Set(listed)];
  return old
    ? Union(
        distinct.map((value) => Literal(value)),
        options,
      )
    : made("Enum", { enum: distinct }, options);
};

const Record = (key, value, options) => {
  const names = literalsOf(key);
  if (names) return Object_(Object.fromEntries(names.map((name) => [name, value])), options);
  const numbers = old ? "^(0|[1-9][0-9]*)$" : "^-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?$";
  const pattern = key.pattern ?? (key.type === "number" || key.type === "integer" ? numbers : old ? "^(.*)$" : "^.*$");
  return made("Record", { type: "object", patternProperties: { [pattern]: value } }, options);
};

function Optional(schema, enable = true) {
  const copy = copied(schema, "optional");
  return enable || !old ? marked(copy, "optional", old ? "Optional" : true) : copy;
}
const Readonly = (schema) => marked(copied(schema, "readonly"), "readonly", old ? "Readonly" : true);
const ReadonlyOptional = (schema) => Readonly(Optional(schema));

/** The names that a schema of literals, or a list of names, stands for; `undefined` for others. */
function literalsOf(keys) {
  if (Array.isArray(keys)) return keys.map(globalThis.String);
  if (keys?.const !== undefined) return [globalThis.String(keys.const)];
  if (keys?.enum) return keys.enum.map(globalThis.String);
  if (!keys?.anyOf?.every((one) => one.const !== undefined)) return undefined;
  return keys.anyOf.map((one) => globalThis.String(one.const));
}

/** The object that an intersection of objects amounts to. */
function merged(schema) {
  if (!schema.allOf) return schema;
  const properties = {};
  for (const part of schema.allOf.map(merged)) {
    for (const [name, value] of Object.entries(part.properties ?? {}))
      properties[name] = properties[name] ? Intersect([properties[name], value]) : value;
  }
  return Object_(properties);
}

/** An object of other properties. The old version takes the options of the first over. */
function changed(schema, properties, options) {
  const { type: _type, required: _required, properties: _properties, allOf: _allOf, ...kept } = schema;
  return Object_(properties, { ...(old ? kept : {}), ...options });
}

const propertiesOf = (schema) => Object.entries(merged(schema).properties ?? {});
const from = (entries) => Object.fromEntries(entries);
const Partial = (schema, options) => changed(schema, from(propertiesOf(schema).map(([name, value]) => [name, Optional(value)])), options);
const Required = (schema, options) =>
  changed(schema, from(propertiesOf(schema).map(([name, value]) => [name, copied(value, "optional")])), options);
const Pick = (schema, keys, options) =>
  changed(schema, from(propertiesOf(schema).filter(([name]) => literalsOf(keys)?.includes(name))), options);
const Omit = (schema, keys, options) =>
  changed(schema, from(propertiesOf(schema).filter(([name]) => !literalsOf(keys)?.includes(name))), options);
const Composite = (schemas, options) => Object_(from(schemas.flatMap(propertiesOf)), options);
const Evaluate = (schema) => merged(schema);
const Interface = (bases, properties, options) => Object_({ ...from(bases.flatMap(propertiesOf)), ...properties }, options);
const KeyOf = (schema, options) =>
  Union(
    propertiesOf(schema).map(([name]) => Literal(name)),
    options,
  );
const Index = (schema, keys) => {
  const found = propertiesOf(schema)
    .filter(([name]) => literalsOf(keys)?.includes(name))
    .map(([, value]) => value);
  return found.length === 1 ? found[0] : Union(found);
};

const membersOf = (schema) => schema.anyOf ?? [schema];
const among = (schema, others) =>
  membersOf(others).some((other) => other.type === schema.type && (other.const === undefined || other.const === schema.const));
const oneOf = (members) => (members.length === 1 ? members[0] : members.length === 0 ? Never() : Union(members));
const Extract = (schema, others) => oneOf(membersOf(schema).filter((one) => among(one, others)));
const Exclude = (schema, others) => oneOf(membersOf(schema).filter((one) => !among(one, others)));
const NonNullable = (schema) => Exclude(schema, Union([Null(), Undefined()]));

const Const = (value) => {
  if (Array.isArray(value)) return Tuple(value.map(Const));
  if (value && typeof value === "object") return Object_(from(Object.entries(value).map(([name, one]) => [name, Const(one)])));
  return value === null ? Null() : Literal(value);
};

let recursions = 0;
const Recursive = (build, options = {}) => {
  const { $id = `T${recursions++}`, ...rest } = options;
  const body = build(made("This", { $ref: $id }));
  return made("Object", { $id, ...body }, rest);
};
const Cyclic = (definitions, name, options) => {
  const $defs = from(Object.entries(definitions).map(([id, schema]) => [id, { ...schema, $id: id }]));
  return made("Cyclic", { $defs, $ref: name }, options);
};

const cased = (change) => (schema, options) => {
  if (schema.anyOf)
    return Union(
      schema.anyOf.map((one) => cased(change)(one)),
      options,
    );
  return schema.const === undefined ? schema : Literal(change(globalThis.String(schema.const)), options);
};
const Uppercase = cased((text) => text.toUpperCase());
const Lowercase = cased((text) => text.toLowerCase());
const Capitalize = cased((text) => text.slice(0, 1).toUpperCase() + text.slice(1));
const Uncapitalize = cased((text) => text.slice(0, 1).toLowerCase() + text.slice(1));

const Clone = (schema) => copied(schema);
/** Names for schemas, which refer to each other by `Ref`. */
const Module = (definitions) => ({ ...definitions, Import: (name, options) => Cyclic(definitions, name, options) });

const both = {
  Any,
  Unknown,
  String,
  Number,
  Integer,
  Boolean,
  Null,
  Undefined,
  Void,
  BigInt,
  Symbol: Symbol_,
  Never,
  Unsafe,
  Literal,
  Array: Array_,
  Object: Object_,
  Tuple,
  Union,
  Intersect,
  Enum,
  Record,
  Optional,
  Readonly,
  Partial,
  Required,
  Pick,
  Omit,
  KeyOf,
  Index,
  Extract,
  Exclude,
  Ref,
  Interface,
  Module,
  Function: Function_,
  Uppercase,
  Lowercase,
  Capitalize,
  Uncapitalize,
};
const older = { Not, Const, Composite, Recursive, ReadonlyOptional, Date, Uint8Array, RegExp, Promise: Promise_ };
const newer = { Evaluate, Cyclic, NonNullable };

/** The builders, as extensions know them. */
export const Type = { ...both, ...(old ? older : newer) };
export default Type;
export {
  Any,
  Unknown,
  String,
  Number,
  Integer,
  Boolean,
  Null,
  Undefined,
  Void,
  BigInt,
  Symbol_ as Symbol,
  Never,
  Unsafe,
  Literal,
  Array_ as Array,
  Object_ as Object,
  Tuple,
  Union,
  Intersect,
  Enum,
  Record,
  Optional,
  Readonly,
  Partial,
  Required,
  Pick,
  Omit,
  KeyOf,
  Index,
  Extract,
  Exclude,
  Ref,
  Interface,
  Module,
  Clone,
  Function_ as Function,
  Uppercase,
  Lowercase,
  Capitalize,
  Uncapitalize,
  Not,
  Const,
  Composite,
  Recursive,
  ReadonlyOptional,
  Date,
  Uint8Array,
  RegExp,
  Promise_ as Promise,
  Evaluate,
  Cyclic,
  NonNullable,
};

const is =
  (...kinds) =>
  (schema) =>
    kinds.includes(markOf(schema, "kind"));
export const IsString = is("String");
export const IsNumber = is("Number");
export const IsInteger = is("Integer");
export const IsBoolean = is("Boolean");
export const IsArray = is("Array");
export const IsObject = is("Object");
export const IsUnion = is("Union");
export const IsLiteral = is("Literal");
export const IsEnum = is("Enum");
export const IsRecord = is("Record");
export const IsTuple = is("Tuple");
export const IsIntersect = is("Intersect");
export const IsNull = is("Null");
export const IsAny = is("Any");
export const IsUnknown = is("Unknown");
export const IsUnsafe = is("Unsafe");
export const IsNever = is("Never");
export { isOptional as IsOptional };
export const IsSchema = (schema) => schema !== null && typeof schema === "object" && markOf(schema, "kind") !== undefined;
