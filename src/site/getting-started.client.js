// Puts a button beside each listing that copies it, and in a sandbox makes calls of its own. Without this script everything
// is there but the buttons.

import { copyButton } from "./copy-button.js";

const guide = document.querySelector("[data-copy]");
const said = document.getElementById("copied");

function tell(words) {
  said.textContent = words;
}

for (const listing of guide.querySelectorAll(".listing:not(.try .listing) pre")) {
  const name = listing.closest("figure").getAttribute("aria-label");
  listing.previousElementSibling.append(copyButton(listing, { name, words: guide.dataset, tell }));
}

/** The key in use, and how far the events were fetched: kept while this tab is open, and for the key that it was given. */
function openMemory(given) {
  const name = "tvs-try";
  let kept = { given, key: given, after: null };
  try {
    const before = JSON.parse(sessionStorage.getItem(name));
    if (before?.given === given) kept = before;
  } catch {
    // A browser that keeps nothing begins anew.
  }
  const keep = (changes) => {
    kept = { ...kept, ...changes };
    try {
      sessionStorage.setItem(name, JSON.stringify(kept));
    } catch {
      // It is not kept, then.
    }
  };
  return { now: () => kept, keep };
}

function startTrying(place) {
  const words = place.dataset;
  const status = place.querySelector("[role=status]");
  const figure = place.querySelector("figure");
  const memory = openMemory(words.key);
  const command = document.querySelector("#run-key code");

  /** The commands below go on with the key that lives. */
  const showKey = (before) => {
    command.textContent = command.textContent.replace(before, memory.now().key);
  };

  async function call(method, path, body) {
    const headers = { Authorization: `Bearer ${memory.now().key}` };
    if (body) headers["Content-Type"] = "application/json";
    const answer = await fetch(path, { method, headers, body: body || undefined, cache: "no-store" });
    const text = await answer.text();
    return { answer, value: text === "" ? null : JSON.parse(text) };
  }

  /** The key that is to go: another one than that which asks, where there is one. */
  async function oldKey() {
    const { value } = await call("GET", "me");
    const asking = value?.credential?.keyId ?? "";
    return value?.credentials?.find(({ keyId }) => keyId !== undefined && keyId !== asking)?.keyId ?? asking;
  }

  async function press({ id, dataset: { method, path, body } }) {
    status.textContent = words.calling;
    figure.hidden = true;
    const { after } = memory.now();
    let asked = path;
    if (path.includes("{keyId}")) asked = path.replace("{keyId}", encodeURIComponent(await oldKey()));
    if (id === "try-events" && after !== null) asked += `?after=${encodeURIComponent(after)}`;
    const { answer, value } = await call(method, asked, body);
    const code = answer.headers.get("X-Error-Code");
    const notes = [`${method} /${asked}: ${answer.status}`, code];
    if (answer.ok && id === "try-events") memory.keep({ after: value.iterator });
    if (answer.ok && id === "try-makeKey") {
      const before = memory.now().key;
      memory.keep({ key: value.apiKey });
      showKey(before);
      notes.push(words.rotated);
    }
    status.textContent = notes.filter(Boolean).join(" · ");
    figure.querySelector("code").textContent = JSON.stringify(value, null, 2);
    figure.hidden = value === null;
  }

  for (const button of place.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      press(button).catch(() => {
        status.textContent = words.unreachable;
      });
    });
  }
  showKey(words.key);
  place.hidden = false;
}

const place = document.getElementById("try");
if (place !== null) startTrying(place);
