// The reference's script: search, copying, one language for all examples, and calls to try in a sandbox. The page is
// complete without it.

import { copyButton } from "../getting-started/copy-button.js";

const chapters = document.querySelector(".chapters");
const words = chapters.dataset;
const maxResults = 12;

/** An element with a text. */
function element(name, text, members = {}) {
  return Object.assign(document.createElement(name), { textContent: text, ...members });
}

/** What can be found: everything that has an address of its own, by its name and its text. */
function searchable() {
  const targets = [...chapters.querySelectorAll("h2[id], h3[id], tr[id], .members > [id], details[id]")];
  return targets.map((target) => {
    const title = (target.querySelector("dt code, th, summary") ?? target).textContent.replace(/\s*#$/, "");
    const isHeading = /^H/.test(target.tagName);
    const around = isHeading ? target.parentElement : target;
    const text = around.textContent.replace(/\s+/g, " ");
    const place = isHeading
      ? target.id
      : target.closest(".what, .shown").parentElement.querySelector("h2, h3").id;
    return { id: target.id, title: title.trim(), place, text: `${target.id} ${text}`.toLowerCase() };
  });
}

/** Those with every word of the term; names before texts. */
function find(index, term) {
  const parts = term.toLowerCase().split(/\s+/).filter(Boolean);
  if (parts.length === 0) return [];
  const rank = ({ id, title }) => {
    const name = `${title} ${id}`.toLowerCase();
    if (title.toLowerCase() === term.toLowerCase()) return 0;
    return parts.every((part) => name.includes(part)) ? 1 : 2;
  };
  return index
    .filter(({ text }) => parts.every((part) => text.includes(part)))
    .sort((one, other) => rank(one) - rank(other));
}

function startSearch() {
  const place = document.getElementById("search");
  const field = document.getElementById("term");
  const count = document.getElementById("count");
  const results = document.getElementById("results");
  let index;
  const show = () => {
    const term = field.value.trim();
    index ??= searchable();
    const found = find(index, term);
    const links = found.slice(0, maxResults).map(({ id, title, place: inPart }) => {
      const link = element("a", title, { href: `#${id}` });
      if (inPart !== id) link.append(element("small", inPart));
      const item = element("li", "");
      item.append(link);
      return item;
    });
    results.replaceChildren(...links);
    const { hint, one, many, none } = count.dataset;
    const said = found.length === 0 ? none : `${found.length} ${found.length === 1 ? one : many}`;
    count.textContent = term === "" ? hint : said;
    count.toggleAttribute("data-idle", term === "");
  };
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    const [first] = results.querySelectorAll("a");
    if (event.key === "Enter") first?.click();
    if (event.key === "Escape") {
      field.value = "";
      show();
    }
    if (event.key === "ArrowDown" && first !== undefined) {
      event.preventDefault();
      first.focus();
    }
  });
  results.addEventListener("click", () => {
    field.value = "";
    show();
  });
  results.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const links = [...results.querySelectorAll("a")];
    (links[links.indexOf(document.activeElement) + step] ?? field).focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.matches("input, textarea"))
      return;
    event.preventDefault();
    field.focus();
  });
  place.hidden = false;
}

/** A button in each box of code that copies it. */
function startCopying() {
  for (const box of chapters.querySelectorAll(".sample pre")) {
    box.prepend(copyButton(box.querySelector("code"), { name: box.getAttribute("aria-label"), words }));
  }
}

/** Whoever reads one example in a language reads the others in it too, at the next visit as well. */
function startLanguages() {
  const kept = "tvs-reference-language";
  const choose = (value) => {
    for (const input of chapters.querySelectorAll("fieldset input")) input.checked = input.value === value;
  };
  try {
    const before = localStorage.getItem(kept);
    if (chapters.querySelector(`fieldset input[value="${CSS.escape(before ?? "")}"]`)) choose(before);
  } catch {
    // A browser that keeps nothing begins with the first language.
  }
  chapters.addEventListener("change", ({ target }) => {
    if (!target.matches("fieldset input")) return;
    const { top } = target.getBoundingClientRect();
    choose(target.value);
    // Boxes above may have become longer or shorter: what is read stays where it was.
    scrollBy({ top: target.getBoundingClientRect().top - top, behavior: "instant" });
    try {
      localStorage.setItem(kept, target.value);
    } catch {
      // It is not kept, then.
    }
  });
}

/** Marks in the contents what is being read. */
function startMarking() {
  const links = new Map(
    [...document.querySelectorAll(".contents > ul a")].map((link) => [link.hash.slice(1), link]),
  );
  const headings = [...chapters.querySelectorAll("h2[id], h3[id]")].filter(({ id }) => links.has(id));
  const seen = new IntersectionObserver(
    () => {
      const line = innerHeight / 3;
      const read =
        headings.filter((heading) => heading.getBoundingClientRect().top < line).at(-1) ?? headings[0];
      for (const link of links.values()) link.removeAttribute("aria-current");
      const link = links.get(read.id);
      link.setAttribute("aria-current", "true");
      const list = link.closest(".contents");
      const { top, bottom } = link.getBoundingClientRect();
      const isBeside = getComputedStyle(list).position === "sticky";
      if (isBeside && (top < 0 || bottom > innerHeight)) list.scrollTop += top - innerHeight / 2;
    },
    { rootMargin: "0px 0px -60% 0px" },
  );
  for (const heading of headings) seen.observe(heading.closest(".part"));
}

/** Where a call goes: to where the page came from, whatever address the document names. */
function addressOf(form) {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  for (const { name, value, dataset } of form.querySelectorAll("[data-in]")) {
    if (dataset.in === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
    if (dataset.in === "query" && value !== "") query.set(name, value);
  }
  const top = new URL("../..", location.href).href.replace(/\/$/, "");
  return `${top}${path}${query.size === 0 ? "" : `?${query}`}`;
}

function headersOf(form) {
  const { key, body } = form.elements;
  const headers = new Headers();
  if (key !== undefined && key.value !== "") headers.set("Authorization", `Bearer ${key.value.trim()}`);
  if (body !== undefined) headers.set("Content-Type", "application/json");
  for (const { name, value } of form.querySelectorAll('[data-in="header"]')) {
    if (value !== "") headers.set(name, value);
  }
  return headers;
}

/** The answer as it is read: JSON with a line a member. */
function written(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

async function send(form) {
  const said = form.querySelector("[role=status]");
  const answer = form.querySelector("pre");
  answer.hidden = true;
  said.textContent = words.sending;
  const from = performance.now();
  try {
    const response = await fetch(addressOf(form), {
      method: form.dataset.method,
      headers: headersOf(form),
      body: form.elements.body?.value,
      cache: "no-store",
    });
    const text = await response.text();
    said.textContent = `${response.status} ${response.statusText} · ${Math.round(performance.now() - from)} ms`;
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`);
    answer.querySelector("code").textContent = `${headers.join("\n")}\n\n${written(text)}`;
    answer.hidden = false;
  } catch {
    said.textContent = words.unreachable;
  }
}

function startTrying() {
  for (const place of chapters.querySelectorAll(".try")) {
    const form = place.querySelector("form");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(form);
    });
    place.hidden = false;
  }
  chapters.addEventListener("input", ({ target }) => {
    if (target.name !== "key") return;
    for (const other of chapters.querySelectorAll("[name=key]")) other.value = target.value;
  });
}

/** Opens what the address names, where it is folded away. */
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.tagName === "DETAILS") target.open = true;
}

startSearch();
startCopying();
startLanguages();
startMarking();
startTrying();
openTarget();
addEventListener("hashchange", openTarget);
