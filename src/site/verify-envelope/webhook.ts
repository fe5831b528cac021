/** The check of a received webhook delivery, by the partner library, and what the page shows of it. */

import {
  findSecretProblem,
  verifyWebhook,
  type WebhookVerification,
  webhookRefusalReasons,
} from "../../partner/verify-webhook.ts";
import { byId, el, fact } from "./dom.ts";
import { checkTextSize, readBytes } from "./files.ts";
import { checkLine, checksList } from "./outcome.ts";
import { writtenTime } from "./signed-values.ts";
import { type EnvelopeTexts, PageProblem } from "./texts.ts";
import { pair, verdictBox } from "./verdict-box.ts";

type Body = string | Uint8Array;

function readArrival(words: EnvelopeTexts["problems"]): Date {
  const text = byId("arrived", HTMLInputElement).value.trim();
  if (text === "") return new Date();
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text);
  const time = isTime ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw new PageProblem(words.badTime);
  return new Date(time);
}

async function readBody(file: File | null, words: EnvelopeTexts["problems"]): Promise<Body> {
  const body = file === null ? byId("body", HTMLTextAreaElement).value : await readBytes(file, words);
  if (body.length === 0) throw new PageProblem(words.empty);
  checkTextSize(body, words);
  return body;
}

/** The library's three checks, in its order; those after the one that failed were not made. */
function checkLines({ reason }: WebhookVerification, texts: EnvelopeTexts): HTMLElement[] {
  const words = texts.webhookVerdict;
  const order = [
    ["header", "SIGNATURE_HEADER_MALFORMED"],
    ["signature", "SIGNATURE_MISMATCH"],
    ["replay", "OUTSIDE_REPLAY_WINDOW"],
  ] as const;
  const failed = order.findIndex(([, failure]) => failure === reason);
  return order.map(([name, failure], index) => {
    const isReached = failed === -1 || index <= failed;
    const ok = isReached ? index !== failed : null;
    const passed = isReached ? words.details[name] : words.details.notReached;
    return checkLine(
      { name: words[name], ok, detail: ok === false ? webhookRefusalReasons[failure] : passed },
      texts,
    );
  });
}

/** What these tell of is good news; of every other event, that the delivery is genuine must not look like it. */
const goodNews: ReadonlySet<string> = new Set([
  "license.verified",
  "license.reinstated",
  "certificate.verified",
]);

function verdictsOf({ reason, event }: WebhookVerification, texts: EnvelopeTexts): HTMLElement[] {
  const words = texts.webhookVerdict;
  if (reason !== null) {
    // Its signature was found good, so it is not called "not genuine".
    const title = reason === "OUTSIDE_REPLAY_WINDOW" ? words.late : texts.verdicts.refused;
    const box = verdictBox("bad", title, webhookRefusalReasons[reason], words.advice[reason]);
    box.append(el("p", { class: "code" }, `${texts.meanings.code} ${reason}`));
    return [box];
  }
  const isGood = event !== null && goodNews.has(event.eventType);
  const tone = isGood ? "good" : "none";
  const first = verdictBox(tone, texts.verdicts.valid, words.meaning, event === null ? words.noEvent : null);
  if (event === null) return [first];
  return pair(first, verdictBox(isGood ? "good" : "bad", words.event(event.eventType)));
}

function outcome(verification: WebhookVerification, texts: EnvelopeTexts): HTMLElement {
  const words = texts.webhookVerdict;
  const { timestamp, event } = verification;
  const signedAt = timestamp === null ? null : writtenTime(new Date(timestamp * 1000).toISOString(), texts);
  const members = event === null ? [] : Object.entries({ ...event, data: undefined, ...event.data });
  const facts = members.filter(([, value]) => value !== undefined);
  return el(
    "div",
    {},
    verdictsOf(verification, texts),
    signedAt === null
      ? null
      : el(
          "dl",
          { class: "facts" },
          fact(words.signedAt, signedAt),
          facts.map(([name, value]) => fact(name, typeof value === "string" ? value : JSON.stringify(value))),
        ),
    checksList(checkLines(verification, texts), texts),
  );
}

/**
 * Checks the delivery in the form.
 *
 * @param file the body as a file, or null when it was pasted
 * @throws PageProblem when something is missing from the form
 */
export async function checkDelivery(file: File | null, texts: EnvelopeTexts): Promise<HTMLElement> {
  const words = texts.problems;
  const secret = byId("secret", HTMLInputElement).value.trim();
  const rawBody = await readBody(file, words);
  if (secret === "") throw new PageProblem(words.noSecret);
  if (findSecretProblem(secret) !== null) throw new PageProblem(words.badSecret);
  const now = readArrival(words);
  const signature = byId("signature-header", HTMLInputElement).value.trim();
  return outcome(await verifyWebhook({ rawBody, signature, secret, now }), texts);
}
