/**
 * The codes of an attestation that come as links, one at a time, as a phone's camera opens them (decision D8.8): each in
 * a tab of its own, so they are kept on the device until the last one is here, or their time is over. Anybody can make
 * such a link. It is text that is looked at by its form, kept within limits, and judged like a pasted signature.
 */

import { type CodePart, type CodesReading, joinCodes, readCode } from "../../partner/envelope-codes.ts";

const place = "tvs.codes";
/** Long enough to find the second sheet; then nothing of a person's record is left on a phone that others use. */
const keptForMs = 15 * 60_000;
/** Twice what an attestation and a proof can have. */
const maxKept = 400;

/** How many codes of something are here. */
export type Count = { readonly total: number; readonly missing: readonly number[] };

/** What the codes make by now. */
export type Gathered =
  | { readonly state: "whole"; readonly jws: string; readonly proof: string | null }
  /** Null for what no code was of. */
  | { readonly state: "waiting"; readonly envelope: Count | null; readonly proof: Count | null }
  | { readonly state: "damaged" };

/** Storage that can be full, or be refused to the page: then only this tab knows. */
function attempt<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    return null;
  }
}

/** What other tabs kept, as far as it can be what this page wrote and its time is not over. */
function readKept(nowMs: number): CodePart[] {
  const text = attempt(() => localStorage.getItem(place)) ?? "";
  const stored: unknown = attempt(() => JSON.parse(text));
  if (!Array.isArray(stored)) return [];
  const [untilMs, lines]: readonly unknown[] = stored;
  if (typeof untilMs !== "number" || untilMs < nowMs || untilMs > nowMs + keptForMs) return [];
  if (!Array.isArray(lines) || lines.length > maxKept) return [];
  return lines.flatMap((line: unknown) => (typeof line === "string" ? (readCode(line) ?? []) : []));
}

/**
 * The codes that go with a new one. One of another attestation begins anew; one of another proof, or the same number
 * again, takes the place of what was there.
 */
function keptBeside(part: CodePart, kept: readonly CodePart[]): CodePart[] {
  const isSame = (one: CodePart) => one.tag === part.tag && one.total === part.total;
  const isAnother = kept.some((one) => one.of === "envelope" && part.of === "envelope" && !isSame(one));
  if (isAnother) return [];
  return kept.filter((one) => one.of !== part.of || (isSame(one) && one.number !== part.number));
}

function countOf(of: CodePart["of"], parts: readonly CodePart[]): Count | null {
  const own = parts.filter((part) => part.of === of);
  const total = own[0]?.total;
  if (total === undefined) return null;
  const numbers = Array.from({ length: total }, (_, index) => index + 1);
  return { total, missing: numbers.filter((number) => own.every((part) => part.number !== number)) };
}

function gatheredOf(reading: CodesReading, parts: readonly CodePart[]): Gathered {
  const waiting = { envelope: countOf("envelope", parts), proof: countOf("proof", parts) };
  if (!("problem" in reading)) {
    const { jws, proof } = reading;
    return jws === null ? { state: "waiting", ...waiting } : { state: "whole", jws, proof };
  }
  return reading.problem === "MISSING" ? { state: "waiting", ...waiting } : { state: "damaged" };
}

/** @param onOver told when what was gathered was forgotten because its time is over */
export function createGathering(onOver: () => void) {
  let parts: readonly CodePart[] = [];
  let isStored = true;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function forget(): void {
    parts = [];
    clearTimeout(timer);
    attempt(() => localStorage.removeItem(place));
  }

  function keep(kept: readonly CodePart[]): void {
    parts = kept;
    clearTimeout(timer);
    const lines = kept.map(({ line }) => line);
    const text = JSON.stringify([Date.now() + keptForMs, lines]);
    isStored = attempt(() => localStorage.setItem(place, text)) !== null;
    timer = setTimeout(over, keptForMs + 1000);
  }

  function over(): void {
    const isGone = attempt(() => localStorage.getItem(place)) === null;
    // Another tab has finished with them, or has begun with others since.
    if (isStored && (isGone || readKept(Date.now()).length > 0)) return;
    forget();
    onOver();
  }

  async function judge(kept: readonly CodePart[]): Promise<Gathered> {
    const gathered = gatheredOf(await joinCodes(kept.map(({ line }) => line)), kept);
    if (gathered.state === "waiting") keep(kept);
    else forget();
    return gathered;
  }

  // What is too old is not left lying until the next code comes.
  if (readKept(Date.now()).length === 0) forget();
  return {
    /** Takes one more code. What is whole or damaged is no longer kept. */
    add(part: CodePart): Promise<Gathered> {
      const kept = isStored ? readKept(Date.now()) : parts;
      return judge([...keptBeside(part, kept), part]);
    },
    /** What there is without the proof's codes. */
    withoutProof: () => judge(parts.filter(({ of }) => of === "envelope")),
    forget,
  };
}

/**
 * The code in the page's address. It is taken out of the address, so that neither the history nor a bookmark keeps it.
 *
 * @returns null when there is none; "broken" when something of it is missing
 */
export function takeCode(): CodePart | "broken" | null {
  const fragment = location.hash.slice(1);
  const isCode = /^TV[SP]\d/.test(fragment);
  if (!isCode) return null;
  history.replaceState(null, "", `${location.pathname}${location.search}`);
  // Some programs that read codes write : and / in another way.
  return readCode(attempt(() => decodeURIComponent(fragment)) ?? "") ?? "broken";
}
