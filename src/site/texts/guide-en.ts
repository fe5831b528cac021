/** Every sentence of the getting-started page in English. */

import { html } from "hono/html";
import type { GoingLiveStep } from "../../domain/sandbox/going-live.ts";
import { sandboxTeachers } from "../../domain/sandbox/teachers.ts";
import type { Surroundings, TryStep } from "../getting-started-steps.ts";
import type { Markup } from "../markup.ts";

/** Whoever the reader has to turn to, with the way there where the page knows it. */
const operator = ({ hasContact }: Surroundings) =>
  hasContact ? html`<a href="#contact">the operator</a>` : "the operator";

/** What each teacher to try shows, by its registration number: as pairs, because `Object.fromEntries` takes anything. */
const shown: readonly (readonly [regNo: string, shows: string])[] = sandboxTeachers.map(
  ({ regNo, shows }) => [regNo, shows],
);

export const englishGuide = {
  title: "Getting started for partner agencies",
  lead: "From your key to a verified envelope in ten minutes, then what changes, then going live.",
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
    verify: "3. Verify and keep the answer",
    events: "4. What changes",
    webhook: "5. Webhooks",
    rotate: "6. A new key",
    live: "7. Going live",
  },

  about: ({
    issuer,
    query,
  }: Surroundings) => html`<p>The commands are written for this server, <code>${issuer}</code>, and for one shell:
paste them one after the other into an empty folder. You need <code>curl</code> 7.76 or later and the language that you
choose. A call that is refused says why, and its header <code>X-Error-Code</code> says it to programs:
<a href="docs${query}#errors">what each code means, and what to do</a>.</p>`,
  place: (at: Surroundings) =>
    at.sandbox
      ? html`<p>This is a <strong>sandbox</strong>: the same program as the live service, with made-up teachers and test
keys. Nothing you do here touches anything real.</p>`
      : html`<div class="notice warn"><p><strong>This is the live service.</strong> Every partner call counts against your
quota and is kept as evidence of what was attested to you. Integrate against a sandbox first: ask ${operator(at)}
for one, or run your own with <code>tvs serve --sandbox</code> and open this page there. <code>tvs</code> is one file, which the
operator can give you; in a clone of its source, <code>npm start</code> runs a sandbox without it.</p></div>`,

  tryIt: {
    title: "Try it here",
    lead: html`Each button makes the call beside it, from this page and in the name of the sandbox’s own partner. The
numbered steps do the same from a shell.`,
    calling: "Calling…",
    unreachable: "The sandbox did not answer. Is it running?",
    first: "Nothing was asked yet.",
    buttons: {
      me: "See what was agreed",
      watch: "Watch a teacher",
      told: "Be told of whom you watch",
      cause: "Have the licence revoked",
      events: "Fetch what happened",
      makeKey: "Make a new key",
      deleteKey: "Delete the old one",
    } satisfies Record<TryStep, string>,
    rotated: "The new key is in the commands below, and in no other page.",
  },

  key: (
    at: Surroundings,
  ) => html`<p>Your partner record, a partner id and an API key come from ${operator(at)}. The key is shown
once: keep it where you keep passwords, never in code, a link or a log.
${
  at.ended
    ? "The one that this sandbox began with was deleted or has ended: go on with the one that you made, or start the sandbox again, which makes another."
    : at.offered
      ? "This sandbox has made one for you. It is shown because your browser runs on the same machine."
      : at.sandbox
        ? "The sandbox’s own partner is called demo; its key is printed where the sandbox was started. Put it in place of the words in capitals."
        : "Put yours in place of the words in capitals."
} What it opens, the service says itself:</p>`,
  agreed: ({ sandbox, query }: Surroundings) =>
    html`<p>Scopes and purposes are what you may ask, <code>quota</code> how often; with <code>selfService</code> you
change keys, webhook and what you are told of <a href="docs${query}#self-service">by yourself</a>.${
      sandbox ? html` A <code>tvs_test_</code> key opens nothing that is live.` : ""
    }</p>`,

  call: ({ sandbox }: Surroundings) =>
    html`<p>Is this teacher eligible for a purpose? ${
      sandbox
        ? ""
        : html`Put a registration number that you know and one of your purposes in place of those below; with a number that
nobody has, you get <code>"found":false</code>, which is an answer and no error.`
    }</p>`,
  envelope: ({
    query,
  }: Surroundings) => html`<p>What comes back is an <strong>envelope</strong>. <code>result</code> is for reading,
<code>signature</code> is the proof. <code>"eligible":false</code> says why in <code>reasons</code>:
<a href="docs${query}#Reason">what each means</a>. Send a new <code>Idempotency-Key</code> with each new question and the same
one with each retry: a retry gets the first answer again, and costs no day quota:</p>`,
  otherCalls: "The other lookups, and a batch",
  lookups: html`<p>A lookup is judged by the purpose <code>GENERAL_PUBLIC_VERIFICATION</code>. A NIN goes in the body, never
in a URL. A batch has up to 100 items, and an answer for each or none at all.</p>`,
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

  verify: ({
    query,
  }: Surroundings) => html`<p>Verify every envelope you rely on, and read only what is signed. The first call has saved the
public keys and their history beside it; verifying needs no network after that. This file checks
<a href="docs${query}#about-verify-what-you-rely-on">all that must be checked</a>, and prints <code>valid</code>, or one reason.</p>`,
  keep: ({
    query,
  }: Surroundings) => html`<p>Keep the envelope together with the key set and the key history, fetched from this service by
yourself. They suffice to prove, years later, what was attested to you:
<a href="help/verify${query}">how, when it was signed, and whether it still holds</a>.</p>`,
  ready: {
    title: "Or with what is ready: a page, a program, a package",
    page: ({ query }: Surroundings) => html`<p>Nothing to install: open <code>envelope.json</code> on the page
<a href="../../verify-envelope${query}">Check a signed answer</a>, which checks it in your browser. With the service’s own program,
<code>tvs</code>, one file that the operator can give you; without it, leave this out (from a
clone of its source, <code>npm --prefix FOLDER run tvs --</code> stands for <code>tvs</code>):</p>`,
    exitCodes: html`<p>Its exit code is 0 when everything is valid, 1 when anything is refused, else 2 when anything could not
be judged. <code>valid</code> means genuine, not licensed: the line below it says what was answered.</p>`,
    library: html`<p>For JavaScript and TypeScript the service hands out the same verifier as one file, for Node 20 and later,
Bun, Deno and browsers. As a package, with a typed client and the command <code>tvs-verify</code>, the operator can give it to
you (<code>tvs-partner</code>).</p>`,
  },

  events: (
    at: Surroundings,
  ) => html`<p>A licence that was valid may be revoked tomorrow. Fetch what changed, every minute or once a day: no
server of your own is needed. Watch those whom you rely on, and be told of them alone (without self-service,
${operator(at)} sets that):</p>`,
  fetch: ({ sandbox }: Surroundings) => html`<p>${
    sandbox ? html`In a sandbox, <code>tvs trigger license.revoked</code> causes a change. ` : ""
  }This fetches what is new, each event once and in order, kept for 30 days. It remembers how far it came; <code>set</code> is the
event as a signed token, to prove what you were told:</p>`,

  webhook: (
    at: Surroundings,
  ) => html`<p>Who has a server can be sent the same events. Set its address (<code>https</code>, public) with
<code>PUT /v1/inter-agency/me/webhook</code>, or ask ${operator(at)}; you get a secret, <code>whsec_…</code>, shown once. A
receiver:</p>`,
  tryDelivery: html`<p>Try it with a delivery that you sign yourself. It prints 204 for the genuine one and 400 for the
forged one:</p>`,
  tryKept: html`<p>A shell is no server: this one judges a delivery that you kept. Try it with one that you sign yourself; it
says <code>valid</code> to the genuine one, and why not to the forged one:</p>`,
  sandboxDelivery: ({
    query,
  }: Surroundings) => html`<p>In a sandbox on your own machine, its real events come to your receiver, too: the first command
prints the secret to start the receiver with, the second, in another terminal, revokes a made-up licence, and the third
sends forgeries. <a href="help/sandbox${query}">More of that</a>.</p>`,
  webhookRules: ({
    query,
  }: Surroundings) => html`<p>Check the signature over the bytes as they came, answer 2xx within 15 seconds, and work afterwards. An
event comes at least once, and not always in order: remember each <code>eventId</code>.
<a href="docs${query}#onStatusChange">Headers, signature and retries</a>. Each delivery carries the headers of Standard Webhooks too.
What became of yours, and sending one again: <a href="docs${query}#listDeliveries"><code>/me/deliveries</code></a>.</p>`,

  rotate: (
    at: Surroundings,
  ) => html`<p>Change your key every year, and at once when somebody else may know it. Two can be live while you change
over; a key cannot delete itself. With self-service you need nobody for that, else ask ${operator(at)}:</p>`,

  checklist: {
    title: "What this sandbox has seen of you",
    how: "Each line is ticked off by what the sandbox has seen of its demo partner. Load the page again after trying.",
    done: "Done",
    open: "Not yet",
    steps: {
      agreed: html`Asked what was agreed with you, with <code>/me</code>.`,
      asked: html`Asked whether a teacher is eligible, with <code>eligibility-check</code>.`,
      notEligible: html`Got an answer that says no: try <code>TR/2019/LA/000003</code>, or a number that nobody has.`,
      batch: html`Asked for several at once, with <code>batch</code>.`,
      retried: html`Sent a call again with the same <code>Idempotency-Key</code>, and got the same answer.`,
      keySet: html`Fetched the key set.`,
      keyHistory: html`Fetched the key history.`,
      watched: html`Watched a teacher.`,
      fetched: html`Fetched events, with <code>/events</code>.`,
      acknowledged: html`With webhooks: received an event and answered 2xx: <code>tvs listen</code>, <code>tvs trigger license.revoked</code>.`,
      refusedForgery: html`With webhooks: refused a delivery with a wrong signature: <code>tvs trigger forged</code>.`,
      rotated: html`Made a new key by yourself, and deleted the old one.`,
    } satisfies Record<GoingLiveStep, Markup>,
  },
  live: (at: Surroundings) => html`<ol>
<li>Ask ${operator(at)} for your live record: scopes, purposes, quotas, self-service, and a key that begins with
<code>tvs_live_</code>, or register a client certificate.</li>
<li>Change the base address, the expected <code>iss</code> and <code>aud</code>, and the key. Nothing else differs.</li>
<li>Cache the key set for at most a day, and fetch it again, once, for a <code>kid</code> you have not seen.</li>
<li>Retry 5xx after 1 second, doubling, three times at most, with the same <code>Idempotency-Key</code>. On 429 wait
<code>retryAfterSeconds</code>. Go by <code>X-Error-Code</code>, never by the words of a message.</li>
<li>Treat a failure as no answer. Only a signed <code>"found":false</code> says that nobody was found.</li>
<li>Keep your clock right: webhook signatures are good for 300 seconds.</li>
</ol>
<p>Everything else is in the <a href="docs${at.query}">API reference</a> (as <a href="openapi.json">OpenAPI (JSON)</a>).</p>`,
};

/** What the page has to say in each language. */
export type GuideTexts = typeof englishGuide;
