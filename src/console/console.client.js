// Fetches the console's sections every two seconds and replaces those that changed. Their HTML may be inserted as it is,
// because the service has escaped all values in it.
import { createCopyButton } from "./copy-button.js";

const pollMs = 2000;
const timeoutMs = 8000;
const freshness = document.getElementById("freshness");
const freshnessText = freshness.querySelector("[data-text]");

// The service's time zone, which the tables use too, and not the browser's.
const { timeZone } = document.querySelector("main").dataset;
const digits = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const toSecond = new Intl.DateTimeFormat("en-NG", { timeZone, ...digits, timeZoneName: "short" });
let lastAnswer = new Date();

const words = { copy: "Copy", copied: "Copied", copyFailed: "Not copied" };
function addCopyButtons(parent) {
  for (const command of parent.querySelectorAll(".command"))
    command.after(createCopyButton(command, { name: command.textContent, words }));
}

const shown = {};
function showSection(name, markup) {
  const section = document.querySelector(`[data-section="${name}"]`);
  // A section that has the focus or a selection is not replaced, because the reader is using it.
  const isHeld = section?.contains(document.activeElement) || holdsSelection(section);
  if (!section || isHeld || shown[name] === markup) return;
  shown[name] = markup;
  const scrolled = section.querySelector(".scroll")?.scrollLeft ?? 0;
  section.innerHTML = markup;
  addCopyButtons(section);
  const scroller = section.querySelector(".scroll");
  if (scroller) scroller.scrollLeft = scrolled;
}

function holdsSelection(section) {
  const selection = getSelection();
  return Boolean(section && selection && !selection.isCollapsed && section.contains(selection.anchorNode));
}

function tell(state, words) {
  if (freshness.className !== state) freshness.className = state;
  if (freshnessText.textContent !== words) freshnessText.textContent = words;
}

async function poll() {
  try {
    const response = await fetch("./live.json", { signal: AbortSignal.timeout(timeoutMs) });
    const answer = await response.json();
    if (response.status === 401) {
      tell("is-lost", answer.message);
      return;
    }
    if (!response.ok) throw new Error(answer.message);
    for (const [name, markup] of Object.entries(answer.sections)) showSection(name, markup);
    tell("is-live", "live, every two seconds");
    lastAnswer = new Date();
  } catch {
    tell("is-lost", `no answer from the service since ${toSecond.format(lastAnswer)}; these figures are old`);
  }
  setTimeout(poll, pollMs);
}

addCopyButtons(document);
poll();
