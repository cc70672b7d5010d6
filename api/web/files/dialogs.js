// The two dialogs: breaking a lock, and the admin token.

import { byId, setText } from "./dom.js";
import { breakLock, isAdmin } from "./gateway.js";
import { breakFacts } from "./lock.js";

/** close leaves no token behind. The event "close" would come late: the dialog may be open again by then. */
function close(dialog) {
  for (const input of dialog.querySelectorAll("input")) input.value = "";
  dialog.close();
}

/** useDialog closes on its plain button and on Escape, and calls submit for its form. */
function useDialog(dialog, submit) {
  dialog.querySelector("button[value=cancel]").addEventListener("click", () => close(dialog));
  dialog.addEventListener("cancel", () => close(dialog));
  dialog.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault(); // or it would close before there is an answer
    const button = dialog.querySelector("button[type=submit]");
    button.disabled = true;
    await submit();
    button.disabled = false;
  });
}

/** The dialog keeps to the hold that was shown when it was opened: its fence is sent. */
let asked = null;

export function askToBreak(lock) {
  asked = lock;
  breakFacts(lock);
  setText(byId("break-error"), "");
  byId("break-dialog").showModal();
  if (isAdmin()) byId("break-dialog").querySelector("button[value=cancel]").focus();
}

export function useBreakDialog(broken) {
  useDialog(byId("break-dialog"), async () => {
    try {
      await breakLock(asked.name, asked.fence, byId("break-token").value.trim());
      close(byId("break-dialog"));
      broken(asked);
    } catch (err) {
      setText(byId("break-error"), err.message);
    }
  });
}

/** useAdminDialog calls follow with the token typed; it settles when that is accepted or refused. */
export function useAdminDialog(follow, forget) {
  const dialog = byId("admin-dialog");
  byId("admin").addEventListener("click", () => {
    setText(byId("admin-error"), "");
    byId("admin-forget").hidden = !isAdmin();
    dialog.showModal();
  });
  byId("admin-forget").addEventListener("click", () => {
    forget();
    close(dialog);
  });
  useDialog(dialog, async () => {
    const token = byId("admin-token").value.trim();
    if (token === "") return setText(byId("admin-error"), "Type the admin token.");
    try {
      await follow(token);
      close(dialog);
    } catch (err) {
      setText(byId("admin-error"), err.message);
    }
  });
}
