// Comfort only: without it the page reads the same, and the contents lead everywhere.
const find = document.getElementById("find");
const nav = document.querySelector("nav");
const found = nav.querySelector(".found");
const say = (text) => {
  found.textContent = text;
};
const folders = [...nav.querySelectorAll("details")];
const isOpen = new Map(folders.map((folder) => [folder, folder.open]));
let entries;

// What an entry of the contents leads to, as it is searched: read when it is first wanted.
const read = () =>
  [...nav.querySelectorAll("li")].map((item) => {
    const link = item.querySelector("a");
    const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    const isHeading = target.localName === "h2";
    const about = target.localName === "dt" ? target.nextElementSibling : target;
    return { item, name: link.textContent.toLowerCase(), text: isHeading ? "" : about.textContent.toLowerCase() };
  });

const filter = () => {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  const isSearch = words.length > 0;
  entries ??= read();
  let count = 0;
  let isNamed = false;
  for (const { item, name, text } of entries) {
    const fits = words.every((word) => name.includes(word) || text.includes(word));
    const byName = isSearch && words.every((word) => name.includes(word));
    item.hidden = isSearch && !fits;
    item.classList.toggle("named", byName);
    isNamed ||= byName;
    count += fits ? 1 : 0;
  }
  nav.classList.toggle("searching", isSearch);
  for (const folder of folders) {
    const isEmpty = isSearch && !folder.querySelector("li:not([hidden])");
    folder.hidden = isEmpty && folder !== folders[0];
    folder.open = isSearch ? !isEmpty : isOpen.get(folder);
  }
  found.textContent = isSearch ? `${count} found` : "";
};

const isRoomy = matchMedia("(min-width: 64rem)");
const settle = () => {
  isOpen.set(folders[0], isRoomy.matches);
  if (!find.value) folders[0].open = isRoomy.matches;
};

find.closest("search").hidden = false;
find.addEventListener("input", filter);
find.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    find.value = "";
    filter();
  } else if (event.key === "Enter") {
    const [named] = nav.querySelectorAll("li.named:not([hidden]) a");
    (named ?? nav.querySelector("li:not([hidden]) a"))?.click();
  }
});
addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && document.activeElement !== find) {
    event.preventDefault();
    find.focus();
    find.select();
  }
});
// Beside the reference the contents stay open; above it they fold away once they have led somewhere.
nav.addEventListener("click", (event) => {
  if (event.target.closest("a") && !isRoomy.matches) {
    find.value = "";
    filter();
    folders[0].open = false;
  }
});
isRoomy.addEventListener("change", settle);
settle();
// Not every browser opens what a link leads into.
const reveal = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let at = target.parentElement; at; at = at.parentElement) if (at.localName === "details") at.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", reveal);
if (location.hash) reveal();
// After what is searched is read, so that the names of buttons are not found in it.
setTimeout(() => {
  entries ??= read();
  for (const pre of document.querySelectorAll("main pre")) {
    const text = pre.textContent;
    pre.append(copyButton("Copy", "Copy this example", () => text));
  }
});
