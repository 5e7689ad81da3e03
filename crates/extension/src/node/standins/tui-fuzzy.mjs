/** Finding things by some of their letters. A lower score is a better match. */

/** Whether the letters of a query come in a text in this order, and how well. */
export function fuzzyMatch(query, text) {
  const wanted = query.toLowerCase();
  const letters = text.toLowerCase();
  if (wanted.length === 0) return { matches: true, score: 0 };
  let score = 0;
  let last = -1;
  let run = 0;
  for (const letter of wanted) {
    const at = letters.indexOf(letter, last + 1);
    if (at < 0) return { matches: false, score: 0 };
    run = at === last + 1 ? run + 1 : 0;
    score +=
      at * 0.1 + (run > 0 ? -run * 5 : last >= 0 ? (at - last - 1) * 2 : 0) - (at === 0 || /[\s\-_./:]/.test(letters[at - 1]) ? 10 : 0);
    last = at;
  }
  return { matches: true, score: letters === wanted ? score - 100 : score };
}

/** The items in whose text every word of a query is found, best first. */
export function fuzzyFilter(items, query, getText) {
  const words = query.trim().split(/\s+/).filter(Boolean);
  if (words.length === 0) return items;
  return items
    .map((item) => ({ item, found: words.map((word) => fuzzyMatch(word, getText(item))) }))
    .filter(({ found }) => found.every(({ matches }) => matches))
    .map(({ item, found }) => ({ item, score: found.reduce((sum, { score }) => sum + score, 0) }))
    .sort((a, b) => a.score - b.score)
    .map(({ item }) => item);
}
