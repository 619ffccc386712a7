// Comfort only: every page works without this file.
// The list of what waits is loaded anew now and then, but never under the hand of somebody who reads or writes.
"use strict";

const seconds = Number(document.body.dataset.renew || 0);

function busy() {
  const open = document.querySelector("article details[open]");
  const typing = document.activeElement && document.activeElement.matches("textarea, input, select, summary");
  return document.hidden || open !== null || typing || String(window.getSelection()) !== "";
}

if (seconds > 0) {
  window.setInterval(() => { if (!busy()) window.location.reload(); }, seconds * 1000);
  document.addEventListener("visibilitychange", () => { if (!busy()) window.location.reload(); });
}

// A form is sent once, however often the button is pressed.
document.addEventListener("submit", (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});
