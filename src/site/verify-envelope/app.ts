/** The page's script: the form and its actions. The browser verifies, and uploads nothing. */

import { openLogProof } from "../../partner/log-proof.ts";
import { type CheckedItem, checkEnvelopes } from "./check.ts";
import type { InputProof, InputText, VerifyInput } from "./files.ts";
import { checkTextSize, isProofText, listenForFiles, readInputFiles } from "./files.ts";
import { loadKeys, loadLogKeys } from "./keys.ts";
import { isProofRefused, makeOutcome, makeOutcomeList } from "./outcome.ts";
import { makePrintedAttestation, makeStatementSheet } from "./printout.ts";
import { formatTime } from "./values.ts";
import {
  createPageView,
  el,
  keySource,
  makeActionButton,
  makeActionRow,
  makeVerdictBox,
  ownIssuer,
  type PageContent,
  PageError,
  readPageData,
  requireElement,
  texts,
} from "./view.ts";

/** The maximum number of envelopes in a result. A person looks through no more. */
const maxShown = 200;

const proof = proofField();
const view = createPageView();

/** The last verified input; null before the first input. If the user then adds a proof, this input is verified again. */
let last: readonly InputText[] | null = null;

/** The number of the check that started last. An earlier check that ends later does not show its outcome. */
let turn = 0;

/** Runs a check and shows its outcome, or shows why the check could not be made. */
async function run(words: string, check: () => Promise<PageContent>): Promise<void> {
  const mine = ++turn;
  view.busy(words);
  // Lets the browser paint the message before a long computation blocks it.
  await new Promise((resolve) => setTimeout(resolve));
  const shown = await check().catch((error) => {
    if (!(error instanceof PageError)) console.error(error);
    const message = error instanceof PageError ? error.message : texts.problems.unexpected;
    return { kind: "note", parts: [makeVerdictBox("warn", texts.problems.title, message)] } as const;
  });
  if (mine === turn) view.show(shown);
}

function begin(): void {
  turn++;
  last = null;
  proof.take(null);
  requireElement("envelope", HTMLTextAreaElement).value = "";
  view.begin();
}

function actionsAfter(...actions: (Node | null)[]): HTMLElement {
  return makeActionRow(
    ...actions,
    makeActionButton(texts.again, begin, { id: "again", class: "quiet" }),
    makeActionButton(texts.change, view.openSettings, { id: "change", class: "quiet" }),
  );
}

function showPrinted(made: HTMLElement, name: string, back: () => PageContent): void {
  const words = texts.certificate;
  view.showCertificate(made, name, [
    makeActionButton(words.print, () => window.print()),
    makeActionButton(words.back, () => view.show(back()), { class: "quiet" }),
    makeActionButton(texts.again, begin, { id: "again", class: "quiet" }),
  ]);
}

/** Marks the page if the keys were pasted or the issuer is another service: the service's header is then not printed. */
function markForeign({ verification }: CheckedItem): void {
  document.body.classList.toggle("foreign", verification.issuer !== ownIssuer);
}

/** Makes the button that prints a genuine answer or statement; null if the envelope is not genuine. */
function printButton(checked: CheckedItem, back: () => PageContent): HTMLElement | null {
  const { verification, statement, jws } = checked;
  const { valid, result, verificationId } = verification;
  const day = (verification.verifiedAt ?? "").slice(0, 10);
  const { certificate, statement: words } = texts;
  if (statement !== null)
    return makeActionButton(words.make, () => {
      markForeign(checked);
      showPrinted(
        makeStatementSheet(statement, checked),
        words.sheet.fileTitle(statement.list.name, day),
        back,
      );
    });
  if (!valid || jws === null) return null;
  return makeActionButton(certificate.make, async () => {
    markForeign(checked);
    const name = certificate.fileTitle(result?.certificate?.regNo ?? verificationId ?? "", day);
    showPrinted(await makePrintedAttestation(checked), name, back);
  });
}

async function checkWith(proof: InputProof | null, given: readonly InputText[]): Promise<CheckedItem[]> {
  const expected = {
    issuer: requireElement("issuer", HTMLInputElement).value.trim(),
    audience: requireElement("audience", HTMLInputElement).value.trim(),
  };
  const trusted = await loadKeys();
  const opened = proof === null ? null : await openLogProof(proof.text, { logKeys: await loadLogKeys() });
  const options = { expected, ...trusted, proof: opened };
  const all: CheckedItem[] = [];
  for (const one of given) {
    for await (const checked of checkEnvelopes(one, options)) {
      all.push(checked);
      if (all.length > maxShown) return all;
    }
  }
  return all;
}

function isOfAnother({ verification }: CheckedItem): boolean {
  return verification.reason === "PROOF_OF_ANOTHER_ENVELOPE";
}

async function outcomeOfMany(all: readonly CheckedItem[]): Promise<PageContent> {
  // The proof belongs to one envelope. The other envelopes are verified without a proof.
  const alone = all.slice(0, maxShown).map((one) => (isOfAnother(one) ? one.withoutProof() : one));
  const list = makeOutcomeList(await Promise.all(alone), actionsAfter());
  const notes = [
    all.length > maxShown ? texts.tooMany(maxShown) : null,
    all.every(isOfAnother) ? texts.log.fitsNone : null,
  ];
  list.append(...notes.flatMap((words) => (words === null ? [] : [el("p", {}, words)])));
  return { kind: "result", parts: [list] };
}

/** Makes the button that verifies without a refused proof, because the envelope may be good; null if no proof was refused. */
function withoutProofButton({ verification }: CheckedItem): HTMLElement | null {
  if (!isProofRefused(verification)) return null;
  return makeActionButton(texts.log.without, () => {
    proof.take(null);
    run(texts.busy, checkForm);
  });
}

async function checkAgain(given: readonly InputText[]): Promise<PageContent> {
  const all = await checkWith(proof.current(), given);
  if (all.some(({ verification }) => !isProofRefused(verification))) proof.used();
  const [first, second] = all;
  if (first === undefined) throw new PageError(texts.problems.noEnvelope);
  return second === undefined ? resultOf(first) : outcomeOfMany(all);
}

function resultOf(checked: CheckedItem): PageContent {
  const print = printButton(checked, () => resultOf(checked));
  const actions = actionsAfter(withoutProofButton(checked), print);
  return { kind: "result", parts: [makeOutcome(checked, actions)] };
}

/** Sets the input to verify, and drops a proof that was used for another envelope. */
function takeEnvelope(given: readonly InputText[]): void {
  const isSame = given.length === 1 && given[0]?.content === last?.[0]?.content;
  if (!isSame) proof.dropUsed();
  last = given;
}

/** Reads the pasted envelope; null if the field is empty. A proof in the envelope's field is moved to the proof's field. */
function pasted(): InputText[] | null {
  const area = requireElement("envelope", HTMLTextAreaElement);
  const content = area.value;
  checkTextSize(content);
  if (isProofText(content)) {
    proof.paste(content);
    area.value = "";
    return null;
  }
  return content.trim() === "" ? null : [{ name: null, content }];
}

/** Verifies the pasted envelope. If the field is empty, verifies the last input again with the form's proof and issuer. */
async function checkForm(): Promise<PageContent> {
  const text = pasted();
  if (text !== null) takeEnvelope(text);
  if (last !== null) return checkAgain(last);
  if (proof.current() === null) throw new PageError(texts.problems.empty);
  return { kind: "note", parts: [makeVerdictBox("none", texts.log.kept, texts.log.keptNext)] };
}

function checkInput(input: VerifyInput): Promise<PageContent> {
  if (input.given.length > 0) {
    takeEnvelope(input.given);
    requireElement("envelope", HTMLTextAreaElement).value = "";
  }
  if (input.proof !== null) proof.take(input.proof);
  return checkForm();
}

/** Matches a compact JWS of plausible length, because a link may be cut off on its way. */
const wholeSignature = /^eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{100,}$/;

/**
 * Verifies the signature in the URL's fragment, which comes from the link of a QR code (decision D8.8). The signature is
 * removed from the URL, so that history and bookmarks do not contain it. Any other fragment is left to the browser.
 */
function readAddress(): void {
  const signature = location.hash.slice(1);
  if (!signature.startsWith("eyJ")) return;
  history.replaceState(null, "", `${location.pathname}${location.search}`);
  run(texts.busy, async () => {
    checkTextSize(signature);
    if (!wholeSignature.test(signature)) throw new PageError(texts.problems.brokenLink);
    return checkInput({ given: [{ name: null, content: signature }], proof: null });
  });
}

/** Stores the page and its keys on this device, for use without a network. If the browser stored all files, the page says so. */
async function showKept(): Promise<void> {
  if (keySource === "pasted") return;
  const isKept = await keepOnDevice();
  const { madeAt } = await loadKeys();
  if (isKept) requireElement("kept", HTMLElement).textContent = texts.kept(formatTime(madeAt));
}

function start(): void {
  requireElement("envelope-form", HTMLFormElement).addEventListener("submit", (event) => {
    event.preventDefault();
    run(texts.busy, checkForm);
  });
  listenForFiles((files) => run(texts.busy, async () => checkInput(await readInputFiles(files))));
  requireElement("needs-script", HTMLElement).hidden = true;
  requireElement("tool", HTMLElement).hidden = false;
  window.addEventListener("hashchange", readAddress);
  readAddress();
  // An error is ignored here. If the keys cannot be fetched, the next check says why.
  showKept().catch(() => undefined);
}

/** The page's Content-Security-Policy accepts script URLs only from a Trusted Types policy. */
type ScriptRules = { createScriptURL(url: string): string };
type TrustedTypes = { createPolicy(name: string, rules: ScriptRules): ScriptRules };

const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
const policy = trustedTypes?.createPolicy("tvs-worker", { createScriptURL: (url) => url });

/** Lists the URLs to cache: the page's own URL, the page without a query (as in a QR code), the page's files, and the pack. */
function partsOfPage(): string[] {
  const parts = document.querySelectorAll("link[href], script[src], img[src]");
  const addresses = [...parts].map((part) => part.getAttribute("href") ?? part.getAttribute("src") ?? "");
  const { pathname, search } = location;
  const all = [pathname, pathname + search, ...addresses, readPageData("pack")];
  return [...new Set(all.map((each) => new URL(each, document.baseURI).href))];
}

/** Caches the page's files and the pack, and deletes old files. @returns false if the browser has no room or no cache */
async function keepOnDevice(): Promise<boolean> {
  const worker = readPageData("worker");
  try {
    await navigator.serviceWorker.register(policy?.createScriptURL(worker) ?? worker, {
      scope: location.pathname,
    });
    const cache = await caches.open("verify-envelope");
    const wanted = partsOfPage();
    await cache.addAll(wanted.map((href) => new Request(href, { cache: "no-cache", credentials: "omit" })));
    const left = (await cache.keys()).filter(({ url }) => !wanted.includes(url));
    await Promise.all(left.map((request) => cache.delete(request)));
    return true;
  } catch {
    return false;
  }
}

/** Controls the field for a proof. The text of a proof's file is kept unchanged, and the page shows only the file's name. */
function proofField() {
  const { log } = texts;
  const area = requireElement("proof", HTMLTextAreaElement);
  const remove = requireElement("proof-remove", HTMLButtonElement);
  const name = requireElement("proof-name", HTMLElement);
  let proof: InputProof | null = null;
  let isUsed = false;

  function set(given: InputProof | null, text: string, words: string): void {
    proof = given;
    isUsed = false;
    area.value = text;
    name.textContent = words;
    remove.hidden = given === null;
  }

  function take(given: InputProof | null): void {
    set(given, "", given === null ? "" : log.file(given.name ?? ""));
  }

  function paste(text: string): void {
    // White space around a pasted proof is removed, and the line feed that ends every proof is added.
    const pasted = text.trim();
    if (pasted === "") set(null, text, "");
    else set({ name: null, text: `${pasted}\n` }, text, log.pasted);
  }

  area.addEventListener("input", () => paste(area.value));
  remove.addEventListener("click", () => {
    take(null);
    requireElement("files", HTMLInputElement).focus();
  });
  return {
    current: () => proof,
    take,
    paste,
    /** Records that the proof was used for an envelope. */
    used(): void {
      isUsed = true;
    },
    /** Drops a proof that was used for another envelope. */
    dropUsed(): void {
      if (isUsed) take(null);
    },
  };
}

// Without WebCrypto, no envelope can be verified. The page then only explains why, and names `tvs verify`.
if (globalThis.crypto?.subtle === undefined) requireElement("why", HTMLElement).textContent = texts.insecure;
else start();
