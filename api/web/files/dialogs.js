// The two dialogs: what an administrator does to others has to be confirmed, and the admin token.

import { byId, facts, setText } from "./dom.js";
import { isAdmin } from "./gateway.js";

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

/** The dialog keeps what was shown when it was opened. */
let asked = null;

/**
 * confirm asks about something that is done to others: {title, about, warning, verb, hasToken, act, done}. about
 * are the facts, hasToken is false if the gateway has no admin token, act does it with the token that was typed,
 * done is called when it was done.
 */
export function confirm(question) {
  asked = question;
  const dialog = byId("confirm-dialog");
  setText(byId("confirm-title"), question.title);
  facts(byId("confirm-facts"), question.about);
  setText(byId("confirm-warning"), question.warning);
  setText(dialog.querySelector("button[type=submit]"), question.verb);
  setText(byId("confirm-error"), "");
  byId("confirm-token-label").hidden = isAdmin() || question.hasToken === false;
  dialog.querySelector("button[type=submit]").disabled = !isAdmin() && question.hasToken === false;
  sayNone("confirm-none", !isAdmin() && question.hasToken === false);
  dialog.showModal();
  if (isAdmin()) dialog.querySelector("button[value=cancel]").focus();
}

export function useConfirmDialog() {
  const dialog = byId("confirm-dialog");
  useDialog(dialog, async () => {
    const { act, done } = asked;
    try {
      const answer = await act(byId("confirm-token").value.trim());
      close(dialog);
      done(answer);
    } catch (err) {
      setText(byId("confirm-error"), err.message);
    }
  });
}

/** sayNone says that there is no admin token. */
function sayNone(id, none) {
  byId(id).hidden = !none;
  setText(byId(id), none ? "This gateway has no admin token: admin.token_file is not set in its configuration."
    + " Without one, root and the gateway's own user administer it on the machine itself, as by lockgw break." : "");
}

/**
 * useAdminDialog calls follow with the token typed; it settles when that is accepted or refused. hasToken tells
 * whether the gateway has an admin token.
 */
export function useAdminDialog(follow, forget, hasToken) {
  const dialog = byId("admin-dialog");
  byId("admin").addEventListener("click", () => {
    setText(byId("admin-error"), "");
    byId("admin-forget").hidden = !isAdmin();
    const none = hasToken() === false;
    sayNone("admin-none", none);
    byId("admin-token-label").hidden = none;
    dialog.querySelector("button[type=submit]").hidden = none;
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
