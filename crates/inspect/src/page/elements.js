// Builds elements from names, attributes and text. Text only ever becomes text nodes; nothing here reads markup.

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {string | number | boolean | null | undefined | EventListener} Attribute */

/**
 * Creates an element. Attributes that are functions become listeners (`onclick`), `true` an empty attribute; `false`, `null` and
 * `undefined` are left out.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, Attribute>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, attributes = {}, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") created.addEventListener(key.slice(2), value);
    else if (typeof value === "boolean" && key.startsWith("aria-")) created.setAttribute(key, String(value));
    else if (value === true) created.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) created.setAttribute(key, String(value));
  }
  append(created, children);
  return created;
}

/**
 * Appends children; strings and numbers become text nodes.
 * @param {Node} parent
 * @param {Child[]} children
 */
export function append(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/**
 * Replaces the children of an element.
 * @param {Element} parent
 * @param {...Child} children
 */
export function replace(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

/**
 * The element with this id, which `index.html` has.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no element #${id}`);
  return found;
}

/**
 * The element with this id, as an instance of `type`.
 * @template {HTMLElement} Type
 * @param {string} id
 * @param {new () => Type} type
 * @returns {Type}
 */
export function typedById(id, type) {
  const found = byId(id);
  if (!(found instanceof type)) throw new Error(`#${id} in index.html is no ${type.name}`);
  return found;
}

/**
 * A button with a text and an action.
 * @param {string} label
 * @param {(event: Event) => void} action
 * @param {Record<string, Attribute>} [attributes]
 */
export function button(label, action, attributes = {}) {
  return element("button", { type: "button", onclick: action, ...attributes }, label);
}

/**
 * Runs `work` in the next animation frame, once, however often the returned function is called before it.
 * @param {() => void} work
 * @returns {() => void}
 */
export function onNextFrame(work) {
  let isScheduled = false;
  return () => {
    if (isScheduled) return;
    isScheduled = true;
    requestAnimationFrame(() => {
      isScheduled = false;
      work();
    });
  };
}

/** Number of the latest id. */
let latestId = 0;

/**
 * An id for an element, unlike all others of the page.
 * @param {string} prefix
 */
export function freshId(prefix) {
  latestId += 1;
  return `${prefix}-${latestId}`;
}
