// Making and changing elements.

export const byId = (id) => document.getElementById(id);

/** el makes an element: el("a", {href: "#"}, "text", other). Keys with a dash are attributes. */
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role") node.setAttribute(key, value);
    else node[key] = value;
  }
  node.append(...children);
  return node;
}

/** setText changes a text only if it differs, so that selections and screen readers are not disturbed. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** setChildren replaces what is in node if key has changed. */
export function setChildren(node, key, make) {
  if (node.dataset.key === key) return;
  node.dataset.key = key;
  node.replaceChildren(...make());
}

/** mark shows a state as a shape, beside the word that says it. */
export function mark(state) {
  const node = el("span", { className: "mark", "aria-hidden": "true" });
  node.dataset.state = state;
  return node;
}

/** cell is a cell of a table; on a phone its label stands above it. */
export function cell(label, className = "", ...children) {
  const node = el("td", { className, role: "cell" }, ...children);
  node.dataset.label = label;
  return node;
}

/**
 * rows keeps the rows of a table body in step with items. A row that stays is
 * changed in place, so that the focus stays where it is; what goes is removed first,
 * or those after it would be moved, which an older browser does by losing the focus.
 */
export function rows(body, items, keyOf, make, update) {
  const keys = new Set(items.map(keyOf));
  for (const row of [...body.rows]) if (!keys.has(row.dataset.of)) row.remove();
  const old = new Map([...body.rows].map((row) => [row.dataset.of, row]));
  let at = body.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let row = old.get(key);
    if (!row) {
      row = make(item);
      row.dataset.of = key;
      row.setAttribute("role", "row");
    }
    update(row, item);
    if (row === at) at = at.nextElementSibling;
    else if (old.has(key) && body.moveBefore) body.moveBefore(row, at);
    else body.insertBefore(row, at);
  }
}

/** facts fills a list of terms and values; a value is a text or an element. */
export function facts(list, pairs) {
  list.replaceChildren(...pairs.filter(([, value]) => value !== "").flatMap(([term, value]) => [
    el("dt", {}, term), el("dd", {}, value),
  ]));
}
