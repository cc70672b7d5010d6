// Whether locks can be had here, and if not why not.

import { byId, el, facts, mark, setChildren, setText } from "./dom.js";
import { placeFacts } from "./place.js";

/** showHealth draws an answer of /readyz; null: there was none. */
export function showHealth(ready, version) {
  const state = ready === null ? "unknown" : ready.status === "ready" ? "good" : "bad";
  const word = { unknown: "no answer", good: "ready", bad: "not ready" }[state];
  setChildren(byId("health-state"), state, () => [mark(state), word]);
  const place = placeFacts(version);
  setChildren(byId("health-place"), JSON.stringify(place), () => {
    const list = el("dl");
    facts(list, place);
    return [...list.children];
  });
  const checks = ready?.checks ?? [];
  setChildren(byId("health-checks"), JSON.stringify(checks), () => {
    const list = el("dl");
    facts(list, checks.map((check) => [check.name, checkText(check)]));
    return [...list.children];
  });
  setText(byId("health-version"), version ? `lockgw ${version.version}, ${version.go_version}` : "");
}

// A check that passes with a detail is limited: some names cannot be locked, or the journal cannot be written.
function checkText(check) {
  const [state, word] = !check.ok ? ["bad", "failed"] : check.detail ? ["jeopardy", "limited"] : ["good", "good"];
  return el("span", {}, mark(state), word + (check.detail ? `: ${check.detail}` : ""));
}
