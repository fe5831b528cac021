/** The first script of the page: its forms, and what is done with them. Everything happens here, in the browser. */

import { openLogProof } from "../../partner/log-proof.ts";
import {
  checkTextSize,
  type Given,
  type GivenProof,
  type Input,
  isProofText,
  onFiles,
  readFiles,
} from "./files.ts";
import { type Judged, judge, onDemand, type ShownStatement } from "./judge.ts";
import { keySource } from "./keys.ts";
import { listOf, outcomeOf } from "./outcome.ts";
import { writtenTime } from "./signed-values.ts";
import { isAboutProof, verdictBox } from "./verdicts.ts";
import {
  actionButton,
  actionsRow,
  byId,
  createView,
  type EnvelopeTexts,
  el,
  envelopeTexts,
  PageProblem,
  type Shown,
} from "./view.ts";

/** More envelopes than a person looks through. */
const maxShown = 200;

const texts = envelopeTexts(document.documentElement.lang);
const tool = byId("tool", HTMLElement);

/** Addresses that the page was served with, relative to it; and whose service it is. */
function served(name: string): string {
  return tool.dataset[name] ?? "";
}

const keys = keySource({ pack: served("pack"), log: served("logKey") }, texts.problems);
const loadExtras = onDemand(served("extras"));
const proof = proofField(texts);
const view = createView(texts);

/** Only the last check that was started may show its outcome. */
let turn = 0;

/** Runs one check, and says in plain words why it could not be made. */
async function run(words: string, check: () => Promise<Shown>): Promise<void> {
  const mine = ++turn;
  view.busy(words);
  // Lets the browser write the words before a long computation.
  await new Promise((resolve) => setTimeout(resolve));
  const shown = await check().catch((error) => {
    if (!(error instanceof PageProblem)) console.error(error);
    const message = error instanceof PageProblem ? error.message : texts.problems.unexpected;
    return { kind: "note", parts: [verdictBox("warn", texts.problems.title, message)] } as const;
  });
  if (mine === turn) view.show(shown);
}

/** Everything from the beginning, but for the settings. */
function begin(): void {
  turn++;
  last = null;
  proof.take(null);
  byId("envelope", HTMLTextAreaElement).value = "";
  view.begin();
}

/** The result, with what can be done next right below its verdicts. */
function result(shown: HTMLElement, ...actions: (Node | null)[]): Shown {
  const row = actionsRow(
    ...actions,
    actionButton(texts.again, begin, { id: "again", class: "quiet" }),
    actionButton(texts.change, view.openSettings, { id: "change", class: "quiet" }),
  );
  const verdicts = [...shown.children].filter((part) =>
    part.matches(".verdict, .since, .evidence, .standing"),
  );
  const lastVerdict = verdicts.at(-1);
  if (lastVerdict === undefined) shown.prepend(row);
  else lastVerdict.after(row);
  return { kind: "result", parts: [shown] };
}

/** What is shown alone to be printed, with a way back. */
function showPrinted(made: HTMLElement, name: string, back: () => Shown): void {
  const words = texts.certificate;
  view.showCertificate(made, name, [
    actionButton(words.print, () => window.print()),
    actionButton(words.back, () => view.show(back()), { class: "quiet" }),
    actionButton(texts.again, begin, { id: "again", class: "quiet" }),
  ]);
}

/** With keys from elsewhere, nobody but who pasted them says whose answer it is. */
function markForeign({ verification }: Judged): void {
  const isOwn = keys.source === "fetched" && verification.issuer === served("issuer");
  document.body.classList.toggle("foreign", !isOwn);
}

function sheetButton({ stated, draw }: ShownStatement, judged: Judged, back: () => Shown) {
  const words = texts.statement;
  return actionButton(words.make, () => {
    markForeign(judged);
    const day = (judged.verification.verifiedAt ?? "").slice(0, 10);
    showPrinted(draw.sheetOf(stated, judged, texts), words.sheet.fileTitle(stated.list.name, day), back);
  });
}

/** An attestation of what is shown; from it there is a way back. */
function certificateButton(judged: Judged, back: () => Shown): HTMLElement | null {
  const { verification, jws } = judged;
  if (judged.statement !== null) return sheetButton(judged.statement, judged, back);
  if (!verification.valid || jws === null) return null;
  const words = texts.certificate;
  const hasProof = verification.log !== null;
  return actionButton(words.make, async () => {
    const { source } = keys;
    markForeign(judged);
    const { certificateOf } = await loadExtras();
    const made = await certificateOf({ judged, jws, hasProof, source, now: new Date() }, texts);
    const about = verification.result?.certificate?.regNo ?? verification.verificationId ?? "";
    const day = (verification.verifiedAt ?? "").slice(0, 10);
    showPrinted(made, words.fileTitle(about, day), back);
  });
}

/** What was judged last: a proof that comes later is judged with it. */
let last: readonly Given[] | null = null;

async function judgeWith(proof: GivenProof | null, given: readonly Given[]): Promise<Judged[]> {
  const expected = {
    issuer: byId("issuer", HTMLInputElement).value.trim(),
    audience: byId("audience", HTMLInputElement).value.trim(),
  };
  const trusted = await keys.load();
  const opened = proof === null ? null : await openLogProof(proof.text, { logKeys: await keys.loadLog() });
  const ownIssuer = keys.source === "fetched" ? served("issuer") : null;
  const registry = served("registry") || null;
  const judging = { expected, ...trusted, proof: opened, ownIssuer, registry, loadExtras };
  const all: Judged[] = [];
  for (const one of given) {
    for await (const judged of judge(one, judging)) {
      all.push(judged);
      if (all.length > maxShown) return all;
    }
  }
  return all;
}

function isOfAnother({ verification }: Judged): boolean {
  return verification.reason === "PROOF_OF_ANOTHER_ENVELOPE";
}

async function outcomeOfMany(all: readonly Judged[]): Promise<Shown> {
  // The proof of one envelope says nothing about the others that it came with.
  const alone = all.slice(0, maxShown).map((one) => (isOfAnother(one) ? one.withoutProof() : one));
  const list = listOf(await Promise.all(alone), texts, keys.source);
  const notes = [
    all.length > maxShown ? texts.tooMany(maxShown) : null,
    all.every(isOfAnother) ? texts.log.fitsNone : null,
  ];
  list.append(...notes.flatMap((words) => (words === null ? [] : [el("p", {}, words)])));
  return result(list);
}

/** One press away: a wrong proof must not keep anybody from verifying a good envelope. */
function withoutProofButton({ verification }: Judged): HTMLElement | null {
  if (!isAboutProof(verification)) return null;
  return actionButton(texts.log.without, () => {
    proof.take(null);
    run(texts.busy, judgeForm);
  });
}

async function judgeAgain(given: readonly Given[]): Promise<Shown> {
  const all = await judgeWith(proof.current(), given);
  if (all.some(({ verification }) => !isAboutProof(verification))) proof.used();
  const [first, second] = all;
  if (first === undefined) throw new PageProblem(texts.problems.noEnvelope);
  if (second !== undefined) return outcomeOfMany(all);
  return resultOf(first);
}

function resultOf(judged: Judged): Shown {
  const shown = outcomeOf(judged, texts, keys.source);
  return result(
    shown,
    withoutProofButton(judged),
    certificateButton(judged, () => resultOf(judged)),
  );
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
async function judgeForm(): Promise<Shown> {
  const text = pasted();
  if (text !== null) takeEnvelope(text);
  if (last !== null) return judgeAgain(last);
  if (proof.current() === null) throw new PageProblem(texts.problems.empty);
  return { kind: "note", parts: [verdictBox("none", texts.log.kept, texts.log.keptNext)] };
}

/** What came as files, judged together with what the form holds besides. */
function judgeInput(input: Input): Promise<Shown> {
  if (input.given.length > 0) {
    takeEnvelope(input.given);
    byId("envelope", HTMLTextAreaElement).value = "";
  }
  if (input.proof !== null) proof.take(input.proof);
  return judgeForm();
}

/** A compact JWS; what is shorter was cut off on its way. */
const wholeSignature = /^eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{100,}$/;

/**
 * The signature in the page's address, which a phone's camera opened (decision D8.8). It is taken out of the address, so
 * that neither the history nor a bookmark keeps it. Every other fragment is the browser's own business.
 */
function readAddress(): void {
  const signature = location.hash.slice(1);
  if (!signature.startsWith("eyJ")) return;
  history.replaceState(null, "", `${location.pathname}${location.search}`);
  run(texts.busy, async () => {
    checkTextSize(signature, texts.problems);
    if (!wholeSignature.test(signature)) throw new PageProblem(texts.problems.brokenLink);
    return judgeInput({ given: [{ name: null, content: signature }], proof: null });
  });
}

/** Says what this device has now, whether it came just now or long ago. */
async function tellOfDevice(): Promise<void> {
  if (keys.source === "pasted") return;
  const isKept = await keepOnDevice(served("worker"), [served("extras"), served("pack")]);
  const { madeAt } = await keys.load();
  if (isKept) byId("kept", HTMLElement).textContent = texts.kept(writtenTime(madeAt ?? "", texts));
}

function start(): void {
  byId("envelope-form", HTMLFormElement).addEventListener("submit", (event) => {
    event.preventDefault();
    run(texts.busy, judgeForm);
  });
  onFiles((files) => run(texts.busy, async () => judgeInput(await readFiles(files, texts.problems))));
  byId("needs-script", HTMLElement).hidden = true;
  tool.hidden = false;
  window.addEventListener("hashchange", readAddress);
  readAddress();
  // Whoever checks something is told there why nothing could be fetched.
  tellOfDevice().catch(() => undefined);
}

/** The page insists on addresses of scripts that a policy has seen; this one is the page's own. */
type TrustedTypes = {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): {
    createScriptURL(url: string): string;
  };
};

const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
const policy = trustedTypes?.createPolicy("tvs-worker", { createScriptURL: (url) => url });

/** The page as it is opened now and as a code's link opens it, and all that it consists of. */
function partsOfPage(others: readonly string[]): URL[] {
  const parts = document.querySelectorAll("link[href], script[src], img[src]");
  const addresses = [...parts].map((part) => part.getAttribute("href") ?? part.getAttribute("src") ?? "");
  const { pathname, search } = location;
  return [pathname, pathname + search, ...addresses, ...others].map(
    (each) => new URL(each, document.baseURI),
  );
}

/**
 * Keeps what is needed, and deletes what is no longer named.
 * @param others what the page loads besides: the pack, and the scripts that are loaded when they are needed
 * @returns whether it is all kept; a browser may have no place for it, or allow none
 */
async function keepOnDevice(worker: string, others: readonly string[]): Promise<boolean> {
  try {
    await navigator.serviceWorker.register(policy?.createScriptURL(worker) ?? worker, {
      scope: location.pathname,
    });
    const cache = await caches.open("verify-envelope");
    const wanted = [...new Set(partsOfPage(others).map(({ href }) => href))];
    await cache.addAll(wanted.map((href) => new Request(href, { cache: "no-cache", credentials: "omit" })));
    const left = (await cache.keys()).filter(({ url }) => !wanted.includes(url));
    await Promise.all(left.map((request) => cache.delete(request)));
    return true;
  } catch {
    return false;
  }
}

/** The field of the form. What came as a file is kept as it is, byte for byte, and only named there. */
function proofField({ log }: EnvelopeTexts) {
  const area = byId("proof", HTMLTextAreaElement);
  const remove = byId("proof-remove", HTMLButtonElement);
  const name = byId("proof-name", HTMLElement);
  let proof: GivenProof | null = null;
  let isUsed = false;

  function describe(words: string | null): void {
    name.textContent = words ?? "";
    remove.hidden = words === null;
  }

  function take(given: GivenProof | null): void {
    proof = given;
    isUsed = false;
    area.value = "";
    describe(given === null ? null : log.file(given.name ?? ""));
  }

  function paste(text: string): void {
    // White space around it came with the pasting; its last line ends.
    const pasted = text.trim();
    proof = pasted === "" ? null : { name: null, text: `${pasted}\n` };
    isUsed = false;
    area.value = text;
    describe(proof === null ? null : log.pasted);
  }

  area.addEventListener("input", () => paste(area.value));
  remove.addEventListener("click", () => {
    take(null);
    byId("files", HTMLInputElement).focus();
  });
  return {
    current: () => proof,
    take,
    paste,
    /** Told when the proof was judged: it then belongs to that envelope, and the next file comes without it. */
    used(): void {
      isUsed = proof !== null;
    },
    get isUsed() {
      return isUsed;
    },
  };
}

// Without it the page would call every envelope undecidable; say why, and leave the note on `tvs verify`.
if (globalThis.crypto?.subtle === undefined) byId("why", HTMLElement).textContent = texts.insecure;
else start();
