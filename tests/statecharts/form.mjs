// Checks the form of the exported SCXML: interpreters ignore elements and attributes that they do not know. The rules are those of
// the W3C's XML Schema for the elements that the export has; no registry has a package with that schema.
import { createRequire } from "node:module";

const sax = createRequire(import.meta.url)("@scion-scxml/sax");

const NAMESPACE = "http://www.w3.org/2005/07/scxml";
const NAME = /^[\p{L}_][\p{L}\d_.-]*$/u;
const TOKEN = /^[\p{L}\d_:.-]+$/u;
const EVENT = /^[\p{L}\d_:-]+(\.[\p{L}\d_:-]+)*$/u;

const list = (item) => (value) => value.split(" ").every((part) => item.test(part));
const one = (item) => (value) => item.test(value);
const only = (expected) => (value) => value === expected;

/** By element: its attributes, those that it must have, and the elements that may be in it. */
const ELEMENTS = {
  scxml: {
    attributes: { xmlns: only(NAMESPACE), version: only("1.0"), name: one(TOKEN), datamodel: one(TOKEN), initial: list(NAME) },
    required: ["xmlns", "version"],
    content: ["state", "parallel"],
  },
  parallel: { attributes: { id: one(NAME) }, required: [], content: ["transition", "state", "parallel"] },
  state: { attributes: { id: one(NAME), initial: list(NAME) }, required: [], content: ["transition", "state", "parallel"] },
  transition: { attributes: { event: list(EVENT), target: list(NAME) }, required: [], content: [] },
};

/** What is wrong with the form of a document, a sentence each. */
export function formErrors(document) {
  const errors = [];
  const ids = new Set();
  const named = [];
  const open = [];
  const parser = sax.parser(true);
  parser.onerror = (error) => {
    throw error;
  };
  parser.onopentag = ({ name, attributes }) => {
    const parent = open.at(-1);
    open.push(name);
    const expected = parent === undefined ? ["scxml"] : (ELEMENTS[parent]?.content ?? []);
    if (!expected.includes(name)) return errors.push(`<${name}> in ${parent}: expected ${expected.join(", ") || "nothing"}`);
    const rules = ELEMENTS[name];
    for (const [key, value] of Object.entries(attributes)) {
      if (!rules.attributes[key]?.(value)) errors.push(`<${name}>: ${key}="${value}" is not allowed`);
    }
    for (const key of rules.required) if (!(key in attributes)) errors.push(`<${name}>: no ${key}`);
    const { id, initial = "", target = "" } = attributes;
    if (ids.has(id)) errors.push(`${id}: the id of two elements`);
    if (id) ids.add(id);
    named.push(...`${initial} ${target}`.split(" ").filter(Boolean));
  };
  parser.onclosetag = () => open.pop();
  parser.write(document).close();
  errors.push(...named.filter((id) => !ids.has(id)).map((id) => `${id}: no element has this id`));
  return errors;
}

/** Changes that the W3C's schema refuses: what is replaced, and by what. */
export const FORM_FAULTS = [
  ['<parallel id="session">', '<parallel id="session"><stat id="x"/>'],
  ['<state id="flow"', '<state ident="1" id="flow"'],
  ['<parallel id="session">', '<parallel id="session" initial="flow">'],
  ['datamodel="null"', 'datamodel="a b"'],
  ['version="1.0" name', 'version="2.0" name'],
  ['version="1.0" name', "name"],
  ['<state id="flow"', '<state id="a b"'],
  [/ name="[^"]*"/, ' name="pi@1"'],
  [/target="[^"]*"/, 'target="1 2"'],
  [/target="[^"]*"/, 'target="nowhere"'],
  [/event="[^"]*"/, 'event="a,b"'],
  ["2005/07", "2005/08"],
  ['<state id="flow"', '<state id="session"'],
];
