/** The first script of the page: its forms, and what they show. Everything happens here, in the browser. */

import { openLogProof } from "../../../partner/log-proof.ts";
import { certificateOf } from "./certificate.ts";
import { byId, el } from "./dom.ts";
import { isAboutProof } from "./evidence.ts";
import { checkTextSize, type Given, type GivenProof, type Input, isProofText, readFiles } from "./files.ts";
import { type Judged, judge } from "./judge.ts";
import { keySource } from "./keys.ts";
import { listOf, outcomeOf, verdictBox } from "./outcome.ts";
import { proofField } from "./proof-field.ts";
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
const keys = keySource(
  { jwks: address("jwks"), history: address("history"), log: address("logKey") },
  texts.problems,
);
const proof = proofField(texts);

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

function certificateButton(judged: Judged): Node[] {
  const { verification, jws } = judged;
  if (!verification.valid || jws === null) return [];
  const proven = verification.log === null ? null : (proof.current()?.text ?? null);
  const words = texts.certificate;
  const place = el("div");
  const make = el("button", { type: "button", class: "screen" }, words.make);
  make.addEventListener("click", async () => {
    const { source } = keys;
    const made = await certificateOf({ judged, jws, proof: proven, source, now: new Date() }, texts);
    const print = el("button", { type: "button", class: "screen" }, words.print);
    print.addEventListener("click", () => window.print());
    place.replaceChildren(print, made);
    // From now on only the certificate is printed.
    for (const part of outcome.children) part.classList.toggle("screen", part !== place);
    made.querySelector("h2")?.focus();
  });
  return [make, place];
}

/** What was judged last: a proof that comes later is judged with it. */
let last: readonly Given[] | null = null;

async function judgeWith(proof: GivenProof | null, given: readonly Given[]): Promise<Judged[]> {
  const expected = {
    issuer: byId("issuer", HTMLInputElement).value.trim(),
    audience: byId("audience", HTMLInputElement).value.trim(),
  };
  const keySet = await keys.load();
  const opened = proof === null ? null : await openLogProof(proof.text, { logKeys: await keys.loadLog() });
  const judging = { expected, keys: keySet, proof: opened };
  const all: Judged[] = [];
  for (const one of given) {
    for await (const judged of judge(one, judging)) {
      all.push(judged);
      if (all.length > maxShown) return all;
    }
  }
  return all;
}

/** The proof of one envelope says nothing about the others that it came with. */
async function withoutForeignProof(all: readonly Judged[]): Promise<Judged[]> {
  return Promise.all(all.map((one) => (isOfAnother(one) ? one.withoutProof() : one)));
}

function isOfAnother({ verification }: Judged): boolean {
  return verification.reason === "PROOF_OF_ANOTHER_ENVELOPE";
}

async function outcomeOfMany(all: readonly Judged[]): Promise<Node[]> {
  const list = listOf(await withoutForeignProof(all.slice(0, maxShown)), texts, keys.source);
  const notes = [
    all.length > maxShown ? texts.tooMany(maxShown) : null,
    all.every(isOfAnother) ? texts.log.fitsNone : null,
  ];
  return [list, ...notes.flatMap((words) => (words === null ? [] : [el("p", {}, words)]))];
}

/** One press away: a wrong proof must not keep anybody from verifying a good envelope. */
function withoutProofButton({ verification }: Judged): HTMLElement | null {
  if (!isAboutProof(verification)) return null;
  const button = el("button", { type: "button", class: "screen" }, texts.log.without);
  button.addEventListener("click", () => {
    proof.take(null);
    run(texts.busy, judgeForm);
  });
  return button;
}

async function judgeAgain(given: readonly Given[]): Promise<Node[]> {
  const all = await judgeWith(proof.current(), given);
  if (all.some(({ verification }) => !isAboutProof(verification))) proof.used();
  const [first, second] = all;
  if (first === undefined) throw new PageProblem(texts.problems.noEnvelope);
  if (second !== undefined) return outcomeOfMany(all);
  const shown = outcomeOf(first, texts, keys.source);
  const without = withoutProofButton(first);
  if (without !== null) shown.querySelector(".verdict")?.after(without);
  return [shown, ...certificateButton(first)];
}

/** What is to be judged from now on. A proof that was found to be of the envelope before does not stay for it. */
function takeEnvelope(given: readonly Given[]): void {
  const isSame = given.length === 1 && given[0]?.content === last?.[0]?.content;
  if (proof.isUsed && !isSame) proof.take(null);
  last = given;
}

/** The pasted envelope; null without one, also when what was pasted there is a proof, which is then taken as such. */
function pasted(): Given[] | null {
  const area = byId("envelope", HTMLTextAreaElement);
  const content = area.value;
  checkTextSize(content, texts.problems);
  if (isProofText(content)) {
    proof.paste(content);
    area.value = "";
    return null;
  }
  return content.trim() === "" ? null : [{ name: null, content }];
}

/** What the form holds; or the file that came last, with a proof or an issuer that were typed in since. */
async function judgeForm(): Promise<Node[]> {
  const text = pasted();
  if (text !== null) takeEnvelope(text);
  if (last !== null) return judgeAgain(last);
  if (proof.current() === null) throw new PageProblem(texts.problems.empty);
  return [verdictBox("none", texts.log.kept, texts.log.keptNext)];
}

/** What came as files, judged together with what the form holds besides. */
function judgeInput(input: Input): Promise<Node[]> {
  if (input.given.length > 0) {
    takeEnvelope(input.given);
    byId("envelope", HTMLTextAreaElement).value = "";
  }
  if (input.proof !== null) proof.take(input.proof);
  return judgeForm();
}

function verifyFiles(files: readonly File[]): Promise<void> {
  const words = texts.problems;
  return run(texts.reading, async () => judgeInput(await readFiles(files, { words, scripts })));
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
  onSubmit("envelope-form", () => run(texts.busy, judgeForm));
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
