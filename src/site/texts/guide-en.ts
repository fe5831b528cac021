/** Every sentence of the getting-started page in English. */

import { html } from "hono/html";
import type { GoingLiveStep } from "../../domain/sandbox/going-live.ts";
import { sandboxTeachers } from "../../domain/sandbox/teachers.ts";
import { retryStepsMs } from "../../domain/webhook-schedule.ts";
import type { Surroundings } from "../getting-started-steps.ts";
import type { Markup } from "../markup.ts";

/** Whoever the reader has to turn to, with the way there where the page knows it. */
const operator = ({ hasContact }: Surroundings) =>
  hasContact ? html`<a href="#contact">the operator</a>` : "the operator";

function durationText(ms: number): string {
  const [seconds, minutes] = [ms / 1000, ms / 60_000];
  if (seconds < 60) return `${seconds} s`;
  return minutes < 60 ? `${minutes} min` : `${minutes / 60} h`;
}

/** The waits between the attempts of a delivery. */
const retryWaits = retryStepsMs
  .map(durationText)
  .join(", ")
  .replace(/, ([^,]+)$/, " and $1");

/** What each teacher to try shows, by its registration number: as pairs, because `Object.fromEntries` takes anything. */
const shown: readonly (readonly [regNo: string, shows: string])[] = sandboxTeachers.map(
  ({ regNo, shows }) => [regNo, shows],
);

export const englishGuide = {
  title: "Getting started for partner agencies",
  lead: "From your key to a verified envelope in ten minutes, then webhooks, then going live.",
  menu: "On this page",
  codes: "Show the examples in",
  copy: "Copy",
  copied: "Copied",
  copyFailed: "Select it and copy",
  shell: "Shell",
  commands: (what: string) => `Commands: ${what}`,
  prepare: (language: string) => `What the examples in ${language} need:`,
  whatIsIn: (file: string) => `What stands in ${file}`,
  listening: "Commands: the sandbox’s events",
  sections: {
    key: "1. Your key",
    call: "2. Your first call",
    verify: "3. Verify the answer",
    keep: "4. Keep it for years",
    webhook: "5. Webhooks",
    live: "6. Going live",
  },

  about: ({
    issuer,
  }: Surroundings) => html`<p>The commands are written for this server, <code>${issuer}</code>, and for one shell:
paste them one after the other into an empty folder. You need <code>curl</code> 7.76 or later and the language that you
choose. A call that is refused prints why.</p>`,
  place: (at: Surroundings) =>
    at.sandbox
      ? html`<p>This is a <strong>sandbox</strong>: the same program as the live service, with made-up teachers and test
keys. Nothing you do here touches anything real.</p>`
      : html`<div class="notice warn"><p><strong>This is the live service.</strong> Every partner call counts against your
quota and is kept as evidence of what was attested to you. Integrate against a sandbox first: ask ${operator(at)}
for one, or run your own with <code>tvs serve --sandbox</code> and open this page there. <code>tvs</code> is one file, which the
operator can give you; in a clone of its source, <code>npm start</code> runs a sandbox without it.</p></div>`,

  key: (
    at: Surroundings,
  ) => html`<p>Your partner record, a partner id and an API key come from ${operator(at)}. The key is shown
once: keep it where you keep passwords, never in code, a link or a log.
${
  at.offered
    ? "This sandbox has made one for you. It is shown because your browser runs on the same machine."
    : at.sandbox
      ? "The sandbox’s own partner is called demo; its key is printed where the sandbox was started. Put it in place of the words in capitals."
      : "Put yours in place of the words in capitals."
}</p>`,
  health: ({ sandbox }: Surroundings) =>
    html`<p>Healthy is <code>"status":"ok"</code>.${
      sandbox ? html` A <code>tvs_test_</code> key opens nothing that is live.` : ""
    }</p>`,

  call: ({ sandbox }: Surroundings) =>
    html`<p>Is this teacher eligible for a purpose? ${
      sandbox
        ? ""
        : html`Put a registration number that you know and one of your purposes in place of those below; with a number that
nobody has, you get <code>"found":false</code>, which is an answer and no error.`
    }</p>`,
  envelope: html`<p>What comes back is an <strong>envelope</strong>. <code>result</code> is for reading;
<code>signature</code> is the proof. Send a new <code>Idempotency-Key</code> with each new question and the same one with
each retry: a retry gets the first answer again, with the same <code>verificationId</code>, and costs no day quota:</p>`,
  otherCalls: "The other lookups, and a batch",
  lookups: ({
    query,
  }: Surroundings) => html`<p>A lookup is judged by the purpose <code>GENERAL_PUBLIC_VERIFICATION</code>. A NIN goes in the body, never
in a URL. A batch has up to 100 items, and an answer for each or none at all. Instead of
<code>Authorization: Bearer</code> you can send the header <code>x-agency-api-key</code>, or use a client certificate that
the operator has registered.</p>
<p><code>"eligible":false</code> says why in <code>reasons</code>. <a href="docs${query}#Reason">What each reason means</a>.</p>`,
  teachers: {
    title: "Teachers to try",
    traps: "What programs stumble over: more teachers",
    regNo: "Registration number",
    tId: "Teacher id",
    nin: "NIN",
    shows: "Shows",
    /** By the registration number. */
    each: Object.fromEntries(shown),
  },

  verify: html`<p>Verify every envelope you rely on, and read only what is signed. The first call has saved the public keys and
their history beside the envelope; verifying needs no network after that. This file checks all that is listed below, and
prints <code>valid</code>, or one reason: then its exit code is 1, or 2 when it cannot be decided with these files.</p>`,
  exitCodes: html`<p>Its exit code is 0 when everything is valid, 1 when anything is refused, else 2 when anything could not
be judged: an unknown key, an unreadable file, or a text that is no envelope. <code>valid</code> means genuine, not
licensed: the line below it says what was answered, and on which day.</p>`,
  rulesTitle: "What must be checked, whatever you use",
  rules: [
    html`The header’s <code>alg</code> is <code>RS256</code>, set by you and not taken from the token; refuse
<code>crit</code>, <code>jwk</code>, <code>jku</code>, <code>x5u</code> and <code>x5c</code>.`,
    html`The header’s <code>kid</code> is in the key set of this service. Unknown: fetch the key set again, once; then it
cannot be decided.`,
    html`The signature is good for that key.`,
    html`<code>iss</code> is this service and <code>aud</code> is your partner id, exactly, and no list.`,
    html`<code>sub</code> is the envelope’s <code>verificationId</code>, and <code>iat</code> is not in the future.`,
    html`Decide by the signed <code>result</code>. If the one outside differs, someone has changed it.`,
    html`The key was not compromised when it signed, and it signed within its window. The signed key history says so.`,
  ],
  librariesLeaveOut: html`<p>Ordinary JWT libraries check the first four. The rest is why each example has more lines than a
call of the library.</p>`,
  ready: {
    title: "Or with what is ready",
    page: ({ query }: Surroundings) => html`<p>Nothing to install: open <code>envelope.json</code> on the page
<a href="../../verify-envelope${query}">Check a signed answer</a>, which checks it in your browser. With the service’s own program,
<code>tvs</code>, one file that the operator can give you; it needs no service of its own and no network. Without it, leave this out; from a
clone of its source, <code>npm --prefix FOLDER run tvs --</code> stands for <code>tvs</code>:</p>`,
    library: html`<p>For JavaScript and TypeScript the service hands out the same verifier as one file, without dependencies,
for Node 20 and later, Bun, Deno and browsers. As a package, with a typed client and the command <code>tvs-verify</code>,
the operator can give it to you (<code>tvs-partner</code>).</p>`,
  },

  keep: html`<p>Keep the envelope together with the key set and the key history. They suffice to prove, years later, what was
attested to you. Fetch both from this service yourself: a key history that comes with an envelope from somebody else
proves nothing, because who forges the one can forge the other.</p>`,
  keepRules: ({ query }: Surroundings) => html`<ul>
<li>With both files given, the key history counts only when the key that signed it is in the key set; else everything is
refused with <code>KEY_HISTORY_NOT_ANCHORED</code>. That says nothing about the envelope: fetch both files again.</li>
<li>With <code>--key-history</code> alone, trust rests on that file, and <code>tvs verify</code> says so. A compromise that
came later is not in it.</li>
<li><code>--anchor KID</code> accepts a key history only from that key. Its id is the <code>activeKid</code> of the health
document.</li>
<li>Whoever steals a signing key can write any date into an envelope. A proof of the service’s evidence log shows that yours
was there before: <a href="help/evidence${query}">how to get one, keep it and verify with it</a>.</li>
<li>Whether it was withdrawn since, this service’s <a href="offline-pack"><code>offline-pack</code></a> says, one file for
all: a sixth word of the program above, or <code>tvs verify --pack</code>. No list that counts, and it is undecidable.</li>
</ul>
<p>The page <a href="../../verify-envelope${query}">Check a signed answer</a> prints a genuine answer as an <strong>attestation</strong>,
with the signature in QR codes. Only the codes prove anything, so read them back: point a phone’s camera at them, open the
PDF, a screenshot or photographs of all codes on the same page. Nothing of them leaves it.</p>`,
  codesFormat: html`<p>PNG, JPEG and PDF are read, up to 20 MiB and 40 million pixels (120 million in the pictures of a PDF),
for at most 30 seconds. Each code holds a link to that page whose fragment is
<code>TVS1:number/total:tag:part</code>; the parts in order, from 1, are the compact JWS. The tag, the first 8 characters
of the base64url of its SHA-256, keeps the codes of two attestations apart. With <code>TVP1</code> they carry a proof of the
evidence log, as base64url of its file.</p>`,

  webhook: (
    at: Surroundings,
  ) => html`<p>When a licence or certificate changes, the service POSTs an event to you. Ask ${operator(at)} to set your
endpoint (<code>https</code>, a public address); you get a secret, <code>whsec_…</code>, shown once. A receiver:</p>`,
  tryDelivery: html`<p>Try it with a delivery that you sign yourself. It prints 204 for the genuine one and 400 for the
forged one:</p>`,
  tryKept: html`<p>A shell is no server: this one judges a delivery that you kept. Try it with one that you sign yourself; it
says <code>valid</code> to the genuine one, and why not to the forged one:</p>`,
  sandboxDelivery: ({
    query,
  }: Surroundings) => html`<p>In a sandbox on your own machine, its real events come to your receiver, too: the first command
prints the secret to start the receiver with, the second, in another terminal, revokes a made-up licence, and the third
sends forgeries. From a clone of the source, write <code>npm run tvs --</code> in its folder for <code>tvs</code>.
<a href="help/sandbox${query}">More of that</a>.</p>`,
  webhookRules: ({ query }: Surroundings) => html`<ul>
<li>The header <code>X-AGENCY-Signature</code> is <code>t=…,v1=…</code>: the time in seconds, and the HMAC-SHA256 of that
time, a dot and the body, in lower-case hexadecimal, keyed with the whole text of the secret.</li>
<li>Compute it over the bytes as they came, before anything parses them; compare in constant time; refuse a time more than
300 seconds away. While the secret is rotated there are two <code>v1</code>, never more: one that matches suffices.</li>
<li>Or let a library for <a href="https://www.standardwebhooks.com">Standard Webhooks</a> do that: each delivery has its
headers as well, and it takes the same secret.</li>
<li>Answer 2xx within 15 seconds, and work afterwards. Anything else, a redirect too, is tried again after
${retryWaits} (up to 20 % later), then given up until the operator retries it. <code>Retry-After</code> is honoured up
to twice the wait; 410 switches the endpoint off.</li>
<li>An event comes at least once, and not always in order: remember each <code>eventId</code>, and go by
<code>occurredAt</code>.</li>
</ul>
<p><code>tvs verify-webhook body.json --secret @secret.txt --signature "t=…,v1=…"</code> checks a delivery that you kept,
and so does the page <a href="../../verify-envelope${query}">Check a signed answer</a>.</p>`,

  checklist: {
    title: "What this sandbox has seen of you",
    how: "Each line is ticked off by what the sandbox has seen of its demo partner. Load the page again after trying.",
    done: "Done",
    open: "Not yet",
    steps: {
      asked: html`Asked whether a teacher is eligible, with <code>eligibility-check</code>.`,
      notEligible: html`Got an answer that says no: try <code>TR/2019/LA/000003</code>, or a number that nobody has.`,
      batch: html`Asked for several at once, with <code>batch</code>.`,
      retried: html`Sent a call again with the same <code>Idempotency-Key</code>, and got the same answer.`,
      keySet: html`Fetched the key set.`,
      keyHistory: html`Fetched the key history.`,
      acknowledged: html`Received an event and answered 2xx: <code>tvs listen</code>, <code>tvs trigger license.revoked</code>.`,
      refusedForgery: html`Refused a delivery with a wrong signature: <code>tvs trigger forged</code>.`,
    } satisfies Record<GoingLiveStep, Markup>,
  },
  live: (at: Surroundings) => html`<ol>
<li>Ask ${operator(at)} for your live record: scopes, purposes, quotas, and a key that begins with <code>tvs_live_</code>, or
register a client certificate.</li>
<li>Change the base address, the expected <code>iss</code> and <code>aud</code>, and the key. Nothing else differs.</li>
<li>Cache the key set for at most a day, and fetch it again, once, for a
<code>kid</code> you have not seen. A new key is in the set a day before it signs, unless it is needed sooner.</li>
<li>Retry 5xx after 1 second, doubling, three times at most, with the same <code>Idempotency-Key</code>. On 429 wait
<code>retryAfterSeconds</code>.</li>
<li>A 401 says what is wrong with a key that is missing, mistyped or of the other service. One that is well formed and
refused has been revoked, has ended, or was never issued: ask ${operator(at)}.</li>
<li>Treat a failure as no answer. Only a signed <code>"found":false</code> says that nobody was found.</li>
<li>Keep your clock right: webhook signatures are good for 300 seconds.</li>
<li>If a key or secret may be known to others, tell ${operator(at)} at once. Two keys can be live while you change over.</li>
</ol>
<p>Everything else is in the <a href="docs${at.query}">API reference</a> (as <a href="openapi.json">OpenAPI (JSON)</a>).</p>`,
};

/** What the page has to say in each language. */
export type GuideTexts = typeof englishGuide;
