// What the automated checkers look for first (WCAG 2.2, level AA), in a few lines.
(() => {
  const complaints = [];
  const seen = (node) => node.checkVisibility({ visibilityProperty: true }) && node.getClientRects().length > 0;
  const name = (node) => node.outerHTML.slice(0, 90);
  const all = (selector) => [...document.querySelectorAll(selector)].filter(seen);

  if (!document.documentElement.lang) complaints.push("the page says no language");
  if (!document.title) complaints.push("the page has no title");
  if (all("h1").length !== 1) complaints.push(`${all("h1").length} headings of the first level, want 1`);
  if (all("main").length !== 1) complaints.push("want one main");
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of ids.filter((id, i) => ids.indexOf(id) !== i)) complaints.push(`id ${id} is there twice`);
  for (const node of all("input, select")) if (node.labels.length === 0) complaints.push(`no label: ${name(node)}`);
  for (const node of all("a, button")) {
    if (!(node.innerText.trim() || node.getAttribute("aria-label"))) complaints.push(`no name: ${name(node)}`);
  }
  for (const node of all("img")) if (!node.hasAttribute("alt")) complaints.push(`no alt: ${name(node)}`);
  for (const node of all("progress")) if (!node.getAttribute("aria-label")) complaints.push(`no name: ${name(node)}`);
  for (const node of all("dialog[open], section, nav")) {
    const by = node.getAttribute("aria-labelledby");
    if (by && !document.getElementById(by)) complaints.push(`${by} names nothing`);
  }
  let level = 1;
  for (const node of all("h1, h2, h3, h4")) {
    const now = Number(node.tagName[1]);
    if (now > level + 1 && !node.closest("dialog")) complaints.push(`a heading of level ${now} after one of ${level}: ${name(node)}`);
    level = now;
  }
  for (const node of all("button, input, select, nav a")) {
    const box = node.getBoundingClientRect();
    if (box.height < 24) complaints.push(`only ${box.height} px high: ${name(node)}`);
  }

  const parse = (color) => {
    const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
    return { rgb: [r, g, b], a };
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const color = parse(getComputedStyle(node).backgroundColor);
      if (color.a === 1) return color.rgb;
    }
    return [255, 255, 255];
  };
  for (const node of all("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || node.disabled || node.matches(".unseen, .unseen *, .skip, option")) continue;
    const [x, y] = [light(parse(getComputedStyle(node).color).rgb), light(ground(node))];
    const contrast = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
    if (contrast < 4.5) complaints.push(`contrast ${contrast.toFixed(1)}, want 4.5: ${name(node)}`);
  }
  return complaints;
})()
