"use strict";
// Comfort only: without it the page reads the same, and everything opens by hand.
const folding = document.querySelector(".folding");
folding.hidden = false;
folding.querySelectorAll("button").forEach((button, isFold) => {
  button.addEventListener("click", () => {
    for (const details of document.querySelectorAll("main details")) details.open = !isFold;
  });
});
// Where there is room beside the conversation, its contents are open.
document.querySelector("nav details").open = matchMedia("(min-width: 64rem)").matches;
// Not every browser opens what a link leads into.
const reveal = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (!target) return;
  for (let at = target; at; at = at.parentElement) if (at.localName === "details") at.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
