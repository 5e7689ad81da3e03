// A form for a value of a JSON Schema: a field per member, with its description, and errors at the field.

import { append, button, element, freshId, replace } from "./elements.js";
import { pointerOf } from "./json_text.js";
import { alternativeName, alternatives, blank, isLike, listedValues, resolve } from "./schema.js";
import { inline } from "./markdown.js";
import { visiblePlainText } from "./visible_text.js";

/** @import {Definitions, Path, Schema} from "./schema.js" */
/** @import {Problem} from "./contract" */
/** @typedef {(value: unknown) => void} Change Takes the new value; `undefined`: the member is absent. */

/**
 * @typedef {object} Field A place of the value.
 * @property {Schema} schema
 * @property {unknown} value
 * @property {Path} path
 * @property {string} label
 * @property {boolean} isRequired
 * @property {Change} change
 */

/** Values nested deeper are written as JSON. */
const DEEPEST = 6;

/** The form of one value. */
export class SchemaForm {
  /**
   * @param {HTMLElement} box
   * @param {(value: unknown) => void} changed Is called after each change by the user.
   */
  constructor(box, changed) {
    this.box = box;
    this.changed = changed;
    /** @type {Definitions} */
    this.definitions = {};
    /** Places of errors by the pointer of their value. @type {Map<string, { control: HTMLElement | undefined, error: HTMLElement }>} */
    this.places = new Map();
  }

  /**
   * Shows a value of a schema.
   * @param {Schema} schema
   * @param {unknown} value
   * @param {Definitions} definitions
   */
  show(schema, value, definitions) {
    this.definitions = definitions;
    this.places.clear();
    const change = (/** @type {unknown} */ changed) => this.changed(changed);
    replace(this.box, this.field({ schema, value, path: [], label: "", isRequired: true, change }));
  }

  /**
   * Shows errors at their fields; those of members without a field at the value around them.
   * @param {Problem[]} problems
   */
  showProblems(problems) {
    for (const { control, error } of this.places.values()) {
      replace(error);
      control?.removeAttribute("aria-invalid");
    }
    for (const { pointer, text } of problems) {
      let at = pointer;
      while (at !== "" && !this.places.has(at)) at = at.slice(0, at.lastIndexOf("/"));
      const place = this.places.get(at);
      if (!place) continue;
      const inner = pointer.slice(at.length);
      append(place.error, [element("span", {}, visiblePlainText(inner === "" ? text : `${inner}: ${text}`))]);
      place.control?.setAttribute("aria-invalid", "true");
    }
  }

  /**
   * @param {Field} field
   * @returns {HTMLElement}
   */
  field(field) {
    const options = alternatives(field.schema, this.definitions);
    const own = { ...(options[0] ?? {}), ...withoutReference(field.schema) };
    if (options.length > 1) {
      if (options.every((it) => listedValues(it))) return this.choice(field, options.flatMap((it) => listedValues(it) ?? []));
      return this.alternatives(field, options);
    }
    const values = listedValues(own);
    if (values) return this.choice(field, values);
    if (field.path.length < DEEPEST) {
      if (own["type"] === "object" && own["properties"]) return this.object(field, own);
      if (own["type"] === "array" && own["items"]) return this.array(field, own);
    }
    switch (own["type"]) {
      case "string":
        return this.text(field);
      case "boolean":
        return this.choice(field, [true, false]);
      case "integer":
      case "number":
        return this.number(field, own);
      default:
        return this.json(field);
    }
  }

  /**
   * A labelled control with its description and its errors.
   * @param {Field} field
   * @param {HTMLElement} control
   * @param {...HTMLElement} beside
   */
  labelled(field, control, ...beside) {
    const [id, about, error] = [freshId("field"), freshId("about"), freshId("error")];
    control.id = id;
    control.setAttribute("aria-describedby", `${about} ${error}`);
    if (field.isRequired) control.setAttribute("aria-required", "true");
    const place = element("p", { class: "error", id: error });
    this.places.set(pointerOf(field.path), { control, error: place });
    const name = String(field.label === "" ? "value" : field.label);
    return element("div", { class: "field" },
      element("label", { for: id }, element("code", {}, visiblePlainText(name)), field.isRequired ? element("span", { class: "faint" }, " required") : null),
      control, ...beside, element("p", { class: "about", id: about }, describe(field.schema, this.definitions)), place);
  }

  /** @param {Field} field */
  text(field) {
    const control = element("textarea", { rows: 1, spellcheck: false, autocomplete: "off" });
    control.value = typeof field.value === "string" ? field.value : "";
    control.addEventListener("input", () => field.change(control.value === "" && !field.isRequired ? undefined : control.value));
    return this.labelled(field, control);
  }

  /**
   * @param {Field} field
   * @param {Schema} schema
   */
  number(field, schema) {
    const control = element("input", { type: "number", step: schema["type"] === "integer" ? 1 : "any", min: schema["minimum"], max: schema["maximum"] });
    control.value = typeof field.value === "number" ? String(field.value) : "";
    control.addEventListener("input", () => {
      if (control.value === "") field.change(field.isRequired ? null : undefined);
      else field.change(Number(control.value));
    });
    return this.labelled(field, control);
  }

  /**
   * @param {Field} field
   * @param {unknown[]} values
   */
  choice(field, values) {
    const control = element("select", {});
    const isKnown = values.includes(field.value);
    if (!field.isRequired) control.append(element("option", { value: "-1" }, "absent"));
    else if (!isKnown) control.append(element("option", { value: "-2" }, visiblePlainText(JSON.stringify(field.value) ?? "absent").slice(0, 80)));
    values.forEach((value, at) => control.append(element("option", { value: at }, typeof value === "string" ? value : JSON.stringify(value))));
    control.value = isKnown ? String(values.indexOf(field.value)) : field.isRequired ? "-2" : "-1";
    control.addEventListener("change", () => field.change(Number(control.value) < 0 ? undefined : values[Number(control.value)]));
    return this.labelled(field, control);
  }

  /** @param {Field} field */
  json(field) {
    const control = element("textarea", { rows: 1, spellcheck: false, autocomplete: "off", placeholder: "JSON" });
    control.value = field.value === undefined ? "" : JSON.stringify(field.value);
    control.addEventListener("input", () => {
      if (control.value === "") {
        field.change(undefined);
        return;
      }
      try {
        field.change(JSON.parse(control.value));
      } catch {
        // What is typed is no JSON yet; the value stays as it was.
        const place = this.places.get(pointerOf(field.path));
        if (place) replace(place.error, "expected JSON");
      }
    });
    return this.labelled(field, control);
  }

  /**
   * A group that can be absent.
   * @param {Field} field
   * @param {() => Node[]} content
   */
  group(field, content) {
    const error = element("p", { class: "error" });
    this.places.set(pointerOf(field.path), { control: undefined, error });
    if (field.label === "") return element("div", { class: "fields" }, ...content(), error);
    const about = element("p", { class: "about" }, describe(field.schema, this.definitions));
    const legend = element("legend", {}, element("code", {}, visiblePlainText(field.label)));
    if (field.value === undefined && !field.isRequired) {
      const add = button(`Add ${field.label}`, () => this.rebuild(box, { ...field, value: blank(field.schema, this.definitions) }));
      const box = element("fieldset", {}, legend, add, about, error);
      return box;
    }
    const remove = field.isRequired ? null : button(`Remove ${field.label}`, () => this.rebuild(box, { ...field, value: undefined }));
    const box = element("fieldset", {}, legend, about, ...content(), remove, error);
    return box;
  }

  /**
   * Puts another value into a place and draws it anew.
   * @param {HTMLElement} box
   * @param {Field} field
   */
  rebuild(box, field) {
    const drawn = this.field(field);
    box.replaceWith(drawn);
    field.change(field.value);
    const first = drawn.querySelector("textarea, input, select, button");
    if (first instanceof HTMLElement) first.focus();
  }

  /**
   * @param {Field} field
   * @param {Schema} schema
   */
  object(field, schema) {
    const members = { .../** @type {Record<string, unknown>} */ (field.value ?? {}) };
    const required = new Set(/** @type {string[]} */ (schema["required"] ?? []));
    const names = Object.keys(schema["properties"]);
    const set = (/** @type {string} */ name, /** @type {unknown} */ value) => {
      if (value === undefined) delete members[name];
      else members[name] = value;
      field.change({ ...members });
    };
    return this.group(field, () => {
      const fields = names
        // What can have one value only is not asked for.
        .filter((name) => !(required.has(name) && (listedValues(resolve(schema["properties"][name], this.definitions))?.length ?? 0) === 1))
        .sort((one, other) => Number(required.has(other)) - Number(required.has(one)))
        .map((name) => this.field({
          schema: schema["properties"][name], value: members[name], path: [...field.path, name], label: name,
          isRequired: required.has(name), change: (value) => set(name, value),
        }));
      if (isImage(schema)) fields.push(imagePicker((data, mimeType) => {
        Object.assign(members, { data, mimeType });
        field.change({ ...members });
      }));
      return fields.length > 0 ? fields : [element("p", { class: "faint" }, "It has no members to fill in.")];
    });
  }

  /**
   * @param {Field} field
   * @param {Schema} schema
   */
  array(field, schema) {
    const elements = Array.isArray(field.value) ? [...field.value] : [];
    return this.group(field, () => {
      const list = element("div", { class: "elements" });
      const draw = () => replace(list, ...elements.map((value, at) => element("div", {},
        this.field({ schema: schema["items"], value, path: [...field.path, at], label: `${field.label}[${at}]`, isRequired: true, change: (changed) => {
          elements[at] = changed;
          field.change([...elements]);
        } }),
        button(`Remove ${field.label}[${at}]`, () => {
          elements.splice(at, 1);
          field.change([...elements]);
          draw();
        }))));
      draw();
      return [list, button(`Add to ${field.label}`, () => {
        elements.push(blank(schema["items"], this.definitions));
        field.change([...elements]);
        draw();
      })];
    });
  }

  /**
   * @param {Field} field
   * @param {Schema[]} options
   */
  alternatives(field, options) {
    return this.group(field, () => {
      const fitting = options.findIndex((it) => isLike(field.value, it, this.definitions));
      const select = element("select", { "aria-label": `Kind of ${field.label || "value"}` },
        ...options.map((option, at) => element("option", { value: at }, alternativeName(option))));
      select.value = String(Math.max(0, fitting));
      const inner = element("div", {});
      const draw = (/** @type {unknown} */ value) => {
        const schema = options[Number(select.value)] ?? {};
        replace(inner, this.field({ ...field, schema, value, label: "", isRequired: true }));
      };
      select.addEventListener("change", () => {
        const value = blank(options[Number(select.value)] ?? {}, this.definitions);
        draw(value);
        field.change(value);
      });
      draw(field.value);
      return [select, inner];
    });
  }
}

/** @param {Schema} schema */
function withoutReference(schema) {
  const { $ref, oneOf, ...own } = schema;
  return own;
}

/**
 * @param {Schema} schema
 * @param {Definitions} definitions
 */
function describe(schema, definitions) {
  return inline(String(schema["description"] ?? resolve(schema, definitions)["description"] ?? ""));
}

/** @param {Schema} schema */
function isImage(schema) {
  return schema["properties"]?.data && schema["properties"]?.mimeType;
}

/**
 * A field for a file whose bytes and media type become members.
 * @param {(data: string, mimeType: string) => void} take
 */
function imagePicker(take) {
  const picker = element("input", { type: "file", accept: "image/png,image/jpeg,image/gif,image/webp", "aria-label": "Take both from a file" });
  picker.addEventListener("change", async () => {
    const file = picker.files?.[0];
    if (!file) return;
    const bytes = new Uint8Array(await file.arrayBuffer());
    let binary = "";
    for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    take(btoa(binary), file.type);
  });
  return element("div", { class: "field" }, picker);
}
