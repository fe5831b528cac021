// Adds a copy button to each listing. In a sandbox, it also enables the buttons that call the API. Without this script the
// page is complete except for these buttons.

import { createCopyButton } from "./copy-button.js";

const guide = document.querySelector("[data-copy]");
const said = document.getElementById("copied");

function tell(words) {
  said.textContent = words;
}

for (const listing of guide.querySelectorAll(".listing:not(.try .listing) pre")) {
  const name = listing.closest("figure").getAttribute("aria-label");
  listing.previousElementSibling.append(createCopyButton(listing, { name, words: guide.dataset, tell }));
}

/** Opens the cursor of the last page of events that was fetched with a key. The browser's tab stores the cursor. */
function openMemory(key) {
  const name = "tvs-try";
  let after = null;
  try {
    const before = JSON.parse(sessionStorage.getItem(name));
    if (before?.key === key) after = before.after;
  } catch {
    // Without session storage, each load of the page begins with the oldest event.
  }
  const keep = (newest) => {
    after = newest;
    try {
      sessionStorage.setItem(name, JSON.stringify({ key, after }));
    } catch {
      // Without session storage, the cursor lasts until the page is closed.
    }
  };
  return { after: () => after, keep };
}

function startTrying(panel) {
  const words = panel.dataset;
  const status = panel.querySelector("[role=status]");
  const figure = panel.querySelector("figure");
  const memory = openMemory(words.key);

  async function press({ id, dataset: { method, path } }) {
    status.textContent = words.calling;
    figure.hidden = true;
    const isEvents = id === "try-events";
    const after = memory.after();
    const asked = isEvents && after !== null ? `${path}?after=${after}` : path;
    const headers = { Authorization: `Bearer ${words.key}` };
    const answer = await fetch(asked, { method, headers, cache: "no-store" });
    const text = await answer.text();
    const value = text === "" ? null : JSON.parse(text);
    if (answer.ok && isEvents) memory.keep(value.iterator);
    const notes = [`${method} /${asked}: ${answer.status}`, answer.headers.get("X-Error-Code")];
    status.textContent = notes.filter(Boolean).join(" · ");
    figure.querySelector("code").textContent = JSON.stringify(value, null, 2);
    figure.hidden = value === null;
  }

  for (const button of panel.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      press(button).catch(() => {
        status.textContent = words.unreachable;
      });
    });
    button.disabled = false;
  }
}

const panel = document.getElementById("try");
if (panel !== null) startTrying(panel);
