// Comfort only: without it the page reads the same, every branch below the conversation, and everything opens by hand.
const main = document.getElementById("main");
const contents = document.querySelector("nav details");
const search = document.querySelector(".find");
const input = document.getElementById("find");
const found = document.querySelector(".found");

// Parts. In long sessions a part is a text until it comes near: then its elements are made.
const parts = [...document.querySelectorAll(".part")];
const ENTRY_HEIGHT = 96;
const texts = new Map();
let folding;

const htmlOf = (part) => {
  if (!texts.has(part)) texts.set(part, part.firstElementChild.textContent);
  return texts.get(part);
};
const isFilled = (part) => part.firstElementChild?.localName !== "noscript";
const fill = (part) => {
  if (isFilled(part)) return;
  // The markup was made by the program that wrote the page, as that of short sessions; the page's policy holds for it.
  part.innerHTML = htmlOf(part);
  part.style.minHeight = "";
  near.unobserve(part);
  finish(part);
};
const finish = (part) => {
  if (!main.contains(part)) return markContents();
  if (folding !== undefined) for (const details of part.querySelectorAll("details")) details.open = folding;
  addCopyButtons(part);
  markFork(part);
  paint();
};
const near = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) if (isIntersecting) fill(target);
}, { rootMargin: "1500px" });

// Branches. Shown is a way from the root: of each segment on it all up to where the next one leaves.
const sections = [...document.querySelectorAll("main > section")];
const sectionOf = (part) => part.closest("section");
const cutOf = (section) => section.dataset.after && document.getElementById(section.dataset.after);
let way = [];

const showWay = (section) => {
  way = [];
  const cuts = new Map();
  for (let at = section; at; ) {
    way.unshift(at);
    const cut = cutOf(at);
    at = cut && sectionOf(cut);
    if (at) cuts.set(at, cut);
  }
  for (const section of sections) section.hidden = !way.includes(section);
  for (const section of way) {
    let isAfter = false;
    for (const child of section.children) {
      child.hidden = isAfter;
      isAfter ||= child === cuts.get(section);
    }
  }
  for (const part of parts) if (isFilled(part)) markFork(part);
  markContents();
};
const markContents = () => {
  for (const link of contents.querySelectorAll("[aria-current]")) link.removeAttribute("aria-current");
  for (const link of contents.querySelectorAll('a[href^="#b"]')) {
    if (link.hash.slice(1) === way.at(-1)?.firstElementChild.id) link.setAttribute("aria-current", "true");
  }
};
const markFork = (part) => {
  const links = [...part.querySelectorAll(".fork a")];
  const taken = links.filter((link) => way.some((section) => section.firstElementChild.id === link.hash.slice(1)));
  for (const link of links) {
    const isTaken = taken.length ? taken.includes(link) : link.classList.contains("own");
    if (isTaken) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
};

// Anchors.
const partWith = (id) => parts.find((part) => !isFilled(part) && htmlOf(part).includes(` id="${id}"`));
let current;
const reveal = (id) => {
  if (!/^[eb]\d+$/.test(id)) return;
  const hidden = id[0] === "e" && !document.getElementById(id) && partWith(id);
  if (hidden) fill(hidden);
  const target = document.getElementById(id);
  if (!target || !main.contains(target)) return;
  const section = target.closest("section");
  const part = target.closest(".part");
  if (!way.includes(section) || part?.hidden) {
    showWay(section);
    say(`${section.firstElementChild.textContent.trim()} is shown`);
  } else if (id[0] === "b") {
    showWay(section);
  }
  for (const beside of [part?.previousElementSibling, part?.nextElementSibling, section.querySelector(".part")]) {
    if (beside?.matches(".part:not([hidden])")) fill(beside);
  }
  for (let at = target; at; at = at.parentElement) if (at.localName === "details") at.open = true;
  current?.classList.remove("current");
  current = target;
  current.classList.add("current");
  target.scrollIntoView();
};
const say = (text) => {
  found.textContent = text;
};

// Kinds.
const kinds = [...document.querySelectorAll(".kinds input")];
const choose = () => {
  main.classList.toggle("filtered", kinds.some((kind) => !kind.checked));
  for (const kind of kinds) main.classList.toggle(`show-${kind.value}`, kind.checked);
  if (input.value) find();
};
const isShown = (classes) => kinds.some((kind) => kind.checked && classes.includes(`with-${kind.value}`));

// Search, in texts that are read once, part by part, so that the page stays quick meanwhile.
const INLINE = /<\/?(?:a|b|bdi|code|del|em|ins|s|span|strong|sub|sup|time)\b[^>]*>/g;
const SIGNS = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"' };
const plain = (html) =>
  html.replace(INLINE, "").replace(/<[^>]*>/g, "\n").replace(/&(?:amp|lt|gt|quot);/g, (sign) => SIGNS[sign]).toLowerCase();
const ENTRY = /<(?:article|p|details) class="([^"]*)" id="(e\d+)"/g;
const units = new Map();
const read = (part) => {
  let entries = units.get(part);
  if (entries) return entries;
  if (isFilled(part) && !texts.has(part)) {
    entries = [...part.children].filter((child) => child.id).map((child) => ({
      id: child.id, classes: child.className, text: plain(child.outerHTML),
    }));
  } else {
    const html = htmlOf(part);
    const starts = [...html.matchAll(ENTRY)];
    entries = starts.map((start, at) => ({
      id: start[2], classes: start[1], text: plain(html.slice(start.index, starts[at + 1]?.index)),
    }));
  }
  units.set(part, entries);
  return entries;
};
let matches = [];
let at = -1;
let searches = 0;
const find = async () => {
  const words = input.value.trim().toLowerCase();
  const number = ++searches;
  [matches, at] = [[], -1];
  paint();
  if (!words) return say("");
  let since = performance.now();
  for (const part of parts) {
    if (!main.contains(part)) continue;
    for (const entry of read(part)) {
      if (isShown(entry.classes) && entry.text.includes(words)) matches.push(entry.id);
    }
    if (performance.now() - since > 12) {
      say(`${matches.length} found so far`);
      await new Promise((resume) => setTimeout(resume));
      if (number !== searches) return;
      since = performance.now();
    }
  }
  say(matches.length ? `${matches.length} found` : "nothing found");
  paint();
};
const step = (by) => {
  if (!matches.length) return;
  at = at < 0 ? (by > 0 ? 0 : matches.length - 1) : (at + by + matches.length) % matches.length;
  reveal(matches[at]);
  // The words may stand in what is folded.
  const words = input.value.trim().toLowerCase();
  for (const details of current.querySelectorAll("details")) {
    if (details.textContent.toLowerCase().includes(words)) details.open = true;
  }
  say(`${at + 1} of ${matches.length}`);
  paint();
};

// Marks what was searched for, where the browser can do so without touching the elements.
const MARKS = 2000;
let painting;
const paint = () => {
  painting ??= requestAnimationFrame(() => {
    painting = undefined;
    if (!CSS.highlights) return;
    const words = input.value.trim().toLowerCase();
    const marks = new Highlight();
    for (const id of words ? matches : []) {
      const entry = document.getElementById(id);
      if (!entry || marks.size >= MARKS) continue;
      const walk = document.createTreeWalker(entry, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) {
        const text = walk.currentNode.data.toLowerCase();
        if (text.length !== walk.currentNode.data.length) continue;
        for (let from = text.indexOf(words); from >= 0 && marks.size < MARKS; from = text.indexOf(words, from + words.length)) {
          const range = new Range();
          range.setStart(walk.currentNode, from);
          range.setEnd(walk.currentNode, from + words.length);
          marks.add(range);
        }
      }
    }
    CSS.highlights.set("found", marks);
  });
};

// The session file, and what is copied from it: texts as they were written, not as they are shown.
const file = document.getElementById("session-file");
const bytes = async () => {
  const packed = Uint8Array.from(atob(file.textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).blob();
};
let lines;
const lineOf = async (entry) => {
  lines ??= bytes().then(async (blob) => (await blob.text()).split("\n"));
  return (await lines)[Number(entry.dataset.line)];
};
const written = (entry) => {
  const message = entry.message ?? entry;
  if (typeof message.content === "string") return message.content;
  const texts = (message.content ?? []).map((block) => block.text ?? block.thinking ?? (block.name ? JSON.stringify(block.arguments, null, 2) : ""));
  const other = message.summary ?? message.command ?? message.code;
  return texts.filter(Boolean).join("\n\n") || other || JSON.stringify(entry, null, 2);
};
const addCopyButtons = (part) => {
  for (const pre of part.querySelectorAll("pre")) {
    const code = pre.querySelector("code") ?? pre;
    const text = code.textContent;
    pre.append(copyButton("Copy", "Copy this text", () => text));
  }
  if (!file || !globalThis.DecompressionStream) return;
  for (const entry of part.querySelectorAll("article[data-line]")) {
    const who = entry.querySelector("h3").textContent.trim();
    entry.querySelector("header").append(
      copyButton("Copy", `Copy: ${who}`, async () => written(JSON.parse(await lineOf(entry)))),
      copyButton("JSON", `Copy as JSON: ${who}`, () => lineOf(entry)),
    );
  }
};

// The page as it begins.
for (const part of parts) {
  if (isFilled(part)) {
    read(part);
    finish(part);
  } else {
    part.style.minHeight = `${part.dataset.entries * (main.contains(part) ? ENTRY_HEIGHT : 28)}px`;
    near.observe(part);
  }
}
showWay(sections[0]);
const actions = document.querySelector(".actions");
actions.hidden = false;
search.hidden = false;
// Where there is room beside the conversation, what is above and beside it is open; on a phone it begins on the first screen.
for (const details of [contents, actions, document.querySelector(".facts")]) details.open = matchMedia("(min-width: 64rem)").matches;

for (const [id, isOpen] of [["unfold", true], ["fold", false]]) {
  document.getElementById(id).addEventListener("click", () => {
    folding = isOpen;
    for (const details of main.querySelectorAll("details")) details.open = isOpen;
  });
}
for (const kind of kinds) kind.addEventListener("change", choose);
choose();
let typing;
input.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(find, 120);
});
input.addEventListener("keydown", async (event) => {
  if (event.key === "Escape") {
    input.value = "";
    find();
  } else if (event.key === "Enter") {
    event.preventDefault();
    if (!matches.length) {
      clearTimeout(typing);
      await find();
    }
    step(event.shiftKey ? -1 : 1);
  }
});
document.getElementById("next").addEventListener("click", () => step(1));
document.getElementById("previous").addEventListener("click", () => step(-1));
addEventListener("keydown", (event) => {
  const isTyping = /^(?:input|textarea)$/.test(document.activeElement?.localName) && document.activeElement.type !== "checkbox";
  if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping) {
    event.preventDefault();
    input.focus();
    input.select();
  }
});
const download = document.getElementById("download");
if (download && !globalThis.DecompressionStream) download.hidden = true;
download?.addEventListener("click", async () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await bytes());
  link.download = file.dataset.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
});
// A link to where one already is leads there again.
addEventListener("click", (event) => {
  const link = event.target.closest?.('a[href^="#"]');
  if (link && link.hash === location.hash) follow();
});
// The keyboard goes on from there.
const follow = () => {
  reveal(location.hash.slice(1));
  if (!current) return;
  current.tabIndex = -1;
  current.focus({ preventScroll: true });
};
addEventListener("hashchange", follow);
addEventListener("beforeprint", () => parts.filter((part) => !part.closest("[hidden]")).forEach(fill));
if (location.hash) reveal(location.hash.slice(1));
