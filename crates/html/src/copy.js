"use strict";
// What the scripts of the pages share: copying. Each page has `say`, which tells screen readers what has happened.
const copy = async (text) => {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Pages without TLS from elsewhere have no clipboard but this.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  if (!isDone) throw new Error("no clipboard");
};
const copyButton = (name, label, text) => {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "copy", textContent: name });
  button.setAttribute("aria-label", label);
  button.addEventListener("click", async () => {
    let words;
    try {
      await copy(await text());
      words = "Copied";
    } catch {
      words = "Not copied";
    }
    button.textContent = words;
    say(words);
    setTimeout(() => (button.textContent = name), 2000);
  });
  return button;
};
