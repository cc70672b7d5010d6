// Which machine and which store this is, and whom a lock keeps out.

import { byId, setText } from "./dom.js";

/** showPlace draws what /version tells; a caller from the network that is not known is told nothing. */
export function showPlace(version) {
  const line = byId("place");
  line.hidden = !version?.node;
  if (!version?.node) return;
  setText(line, `${version.node} \u00b7 ${version.store} \u00b7 locks for ${version.reach}`);
  line.classList.toggle("alone", !version.shared);
}

/** placeFacts are the same as a list. */
export const placeFacts = (version) => (version?.node ? [
  ["Machine", version.node], ["Store", version.store], ["Locks for", version.reach],
] : []);
