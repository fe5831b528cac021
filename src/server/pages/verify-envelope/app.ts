/** The first script of the page: its forms, and what they show. Everything happens here, in the browser. */

import { certificateOf } from "./certificate.ts";
import { byId, el } from "./dom.ts";
import { checkTextSize, type Given, readFiles } from "./files.ts";
import { type Judged, judge } from "./judge.ts";
import { keySource } from "./keys.ts";
import { listOf, outcomeOf, verdictBox } from "./outcome.ts";
import { envelopeTexts, PageProblem } from "./texts.ts";
import { checkDelivery } from "./webhook.ts";

/** More envelopes than a person looks through. */
const maxShown = 200;

const texts = envelopeTexts(document.documentElement.lang);
const tool = byId("tool", HTMLElement);
const outcome = byId("outcome", HTMLElement);
const progress = byId("progress", HTMLElement);

/** Addresses that the page was served with, relative to it. */
function address(name: string): string {
  return tool.dataset[name] ?? "";
}

const scripts = { scanner: address("scanner"), pdf: address("pdf") };
const keys = keySource({ jwks: address("jwks"), history: address("history") }, texts.problems);

/** Only the last check that was started may show its outcome. */
let turn = 0;

function show(...parts: Node[]): void {
  outcome.replaceChildren(...parts);
  progress.textContent = "";
  outcome.querySelector("h2")?.focus();
  outcome.scrollIntoView({ block: "start" });
}

/** Runs one check, and says in plain words why it could not be made. */
async function run(words: string, check: () => Promise<Node[]>): Promise<void> {
  const mine = ++turn;
  outcome.classList.remove("screen");
  outcome.replaceChildren();
  progress.textContent = words;
  // Lets the browser write the words before a long computation.
  await new Promise((resolve) => setTimeout(resolve));
  try {
    const parts = await check();
    if (mine === turn) show(...parts);
  } catch (error) {
    const { title, unexpected } = texts.problems;
    if (!(error instanceof PageProblem)) console.error(error);
    const message = error instanceof PageProblem ? error.message : unexpected;
    if (mine === turn) show(verdictBox("warn", title, message));
  }
}

function certificateButton({ verification, jws }: Judged): Node[] {
  if (!verification.valid || jws === null) return [];
  const words = texts.certificate;
  const place = el("div");
  const make = el("button", { type: "button", class: "screen" }, words.make);
  make.addEventListener("click", async () => {
    const { source } = keys;
    const made = await certificateOf({ verification, jws, source, now: new Date() }, texts);
    const print = el("button", { type: "button", class: "screen" }, words.print);
    print.addEventListener("click", () => window.print());
    place.replaceChildren(print, made);
    // From now on only the certificate is printed.
    for (const part of outcome.children) part.classList.toggle("screen", part !== place);
    made.querySelector("h2")?.focus();
  });
  return [make, place];
}

async function judgeAll(given: readonly Given[]): Promise<Node[]> {
  const expected = {
    issuer: byId("issuer", HTMLInputElement).value.trim(),
    audience: byId("audience", HTMLInputElement).value.trim(),
  };
  const keySet = await keys.load();
  const all: Judged[] = [];
  for (const one of given) {
    for await (const judged of judge(one, expected, keySet)) {
      if (all.length === maxShown) {
        return [listOf(all, texts, keys.source), el("p", {}, texts.tooMany(maxShown))];
      }
      all.push(judged);
    }
  }
  const [first, second] = all;
  if (first === undefined) throw new PageProblem(texts.problems.noEnvelope);
  if (second !== undefined) return [listOf(all, texts, keys.source)];
  return [outcomeOf(first, texts, keys.source), ...certificateButton(first)];
}

function pasted(): Given[] {
  const content = byId("envelope", HTMLTextAreaElement).value;
  if (content.trim() === "") throw new PageProblem(texts.problems.empty);
  checkTextSize(content, texts.problems);
  return [{ name: null, content }];
}

function verifyFiles(files: readonly File[]): Promise<void> {
  const words = texts.problems;
  return run(texts.reading, async () => judgeAll(await readFiles(files, { words, scripts })));
}

/** A file input inside an area that takes dropped files as well. */
function onFiles(id: string, act: (files: readonly File[]) => void): void {
  const input = byId(id, HTMLInputElement);
  const area = input.closest(".drop") ?? input;
  input.addEventListener("change", () => {
    const files = [...(input.files ?? [])];
    // The same file can then be opened again, once it was mended.
    input.value = "";
    if (files.length > 0) act(files);
  });
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    area.classList.remove("over");
    const files = [...((event as DragEvent).dataTransfer?.files ?? [])];
    if (files.length > 0) act(files);
  });
  area.addEventListener("dragover", () => area.classList.add("over"));
  area.addEventListener("dragleave", () => area.classList.remove("over"));
}

function onSubmit(id: string, act: () => void): void {
  byId(id, HTMLFormElement).addEventListener("submit", (event) => {
    event.preventDefault();
    act();
  });
}

/** A file that misses the area must not make the browser leave the page and show it. */
function keepDropsInside(): void {
  for (const name of ["dragover", "drop"]) {
    window.addEventListener(name, (event) => event.preventDefault());
  }
}

function chooseKind(): void {
  const isWebhook = byId("kind-webhook", HTMLInputElement).checked;
  byId("envelope-form", HTMLFormElement).hidden = isWebhook;
  byId("webhook-form", HTMLFormElement).hidden = !isWebhook;
  const keysPart = document.getElementById("keys");
  // A delivery is checked with its secret, not with public keys.
  if (keysPart !== null) keysPart.hidden = isWebhook;
}

function start(): void {
  const checkBody = (file: File | null) => run(texts.busy, async () => [await checkDelivery(file, texts)]);
  let body: File | null = null;
  const bodyText = byId("body", HTMLTextAreaElement);
  const bodyName = byId("body-name", HTMLElement);
  const takeBody = (file: File | null) => {
    body = file;
    bodyName.textContent = file === null ? "" : texts.fromFile(file.name);
    if (file !== null) bodyText.value = "";
  };
  onSubmit("envelope-form", () => run(texts.busy, async () => judgeAll(pasted())));
  onSubmit("webhook-form", () => checkBody(body));
  onFiles("files", (files) => verifyFiles(files));
  onFiles("body-file", ([file]) => takeBody(file ?? null));
  bodyText.addEventListener("input", () => takeBody(null));
  for (const id of ["kind-envelope", "kind-webhook"]) {
    byId(id, HTMLInputElement).addEventListener("change", chooseKind);
  }
  keepDropsInside();
  chooseKind();
  byId("needs-script", HTMLElement).hidden = true;
  tool.hidden = false;
}

// Without it the page would call every envelope undecidable; say why, and leave the note on `tvs verify`.
if (globalThis.crypto?.subtle === undefined) byId("why", HTMLElement).textContent = texts.insecure;
else start();
