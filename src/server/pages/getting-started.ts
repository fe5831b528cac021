import { html } from "hono/html";
import { reasons } from "../../partner/contract.ts";
import type { PageHandler } from "../http/hono-call.ts";
import type { DemoOffer } from "../local-caller.ts";
import type { Service } from "../service.ts";
import * as steps from "./getting-started-steps.ts";
import { type Markup, pageFrame, protectPage } from "./shell.ts";
import { english } from "./texts-en.ts";

const path = "/v1/inter-agency/getting-started";

/**
 * How a partner's engineer gets from a key to going live, with commands for this very server (decision
 * D2.7). It is written for engineers, and in English only.
 */
export function gettingStarted(service: Service, offer: DemoOffer): PageHandler {
  const sandbox = service.keyKind === "test";
  return (c) => {
    const demo = offer(c);
    const at: steps.Surroundings = {
      issuer: service.live.current().settings.issuer,
      sandbox,
      apiKey: demo?.apiKey ?? (sandbox ? "tvs_test_YOUR_KEY" : "tvs_live_YOUR_KEY"),
      partnerId: demo?.partnerId ?? "YOUR_PARTNER_ID",
    };
    protectPage(c);
    // With a key in it, it is for one reader; and the issuer may change.
    c.header("Cache-Control", "no-store");
    const title = "Getting started for partner agencies";
    const language = { tag: "en", texts: english };
    return c.html(
      pageFrame({
        language,
        path,
        title,
        main: guide(at, demo !== null),
        sandbox,
        languages: false,
      }),
    );
  };
}

function commands(step: steps.Commands, at: steps.Surroundings): Markup {
  const label = `Commands: ${step.id.replaceAll("-", " ")}`;
  return html`<pre id="run-${step.id}" tabindex="0" role="region" aria-label="${label}"><code>${step.lines(at)}</code></pre>`;
}

/** A text to read, which scrolls by itself where it is wider than the page. */
function listing(label: string, text: string): Markup {
  return html`<pre tabindex="0" role="region" aria-label="${label}"><code>${text.trimEnd()}</code></pre>`;
}

function guide(at: steps.Surroundings, offered: boolean): Markup {
  const run = (step: steps.Commands) => commands(step, at);
  return html`<h1>Getting started for partner agencies</h1>
<p class="lead">From your key to a verified envelope in five minutes, then webhooks, then going live.</p>
<p>The commands are written for this server, <code>${at.issuer}</code>, and for one shell: paste them one after the
other into an empty folder. You need <code>curl</code> 7.76 or later, and Node 20 or later for
the scripts. A call that is refused prints why.</p>
${place(at)}
${gettingKey(at, offered, run)}
${calling(at, run)}
${verifying(at, run)}
${keeping(at)}
${webhooks(run)}
${live}`;
}

type Run = (step: steps.Commands) => Markup;

function place({ sandbox }: steps.Surroundings): Markup {
  return sandbox
    ? html`<p>This is a <strong>sandbox</strong>: the same program as the live service, with made-up teachers and test
keys. Nothing you do here touches anything real.</p>`
    : html`<div class="notice warn"><p><strong>This is the live service.</strong> Every partner call counts against your
quota and is kept as evidence of what was attested to you. Integrate against a sandbox first: ask the operator
for one, or run your own with <code>tvs serve --sandbox</code> and open this page there.</p></div>`;
}

function gettingKey({ sandbox }: steps.Surroundings, offered: boolean, run: Run): Markup {
  return html`<h2 id="key">1. Your key</h2>
<p>The operator makes your partner record and hands you a partner id and an API key. The key is shown once: keep it
where you keep passwords, never in code, a link or a log.
${
  offered
    ? html`This sandbox has made one for you. It is shown because your browser runs on the same machine.`
    : html`Put yours in place of the words in capitals.`
}</p>
${run(steps.key)}
<p>Healthy is <code>"status":"ok"</code>. ${
    sandbox ? html`A <code>tvs_test_</code> key opens nothing that is live.` : ""
  }</p>`;
}

function calling({ sandbox }: steps.Surroundings, run: Run): Markup {
  return html`<h2 id="call">2. Your first call</h2>
<p>Is this teacher eligible for a purpose? ${
    sandbox
      ? ""
      : html`Put a registration number that you know and one of your purposes in place of those below; with a number that
nobody has, you get <code>"found":false</code>, which is an answer and no error.`
  }</p>
${run(steps.firstCall)}
<p>What comes back is an <strong>envelope</strong>. <code>result</code> is for reading; <code>signature</code> is the
proof. Send a new <code>Idempotency-Key</code> with each new question and the same one with each retry: a retry gets the
first answer again and costs no day quota.</p>
<h3>The other lookups, and a batch</h3>
${run(steps.otherCalls)}
<p>A lookup is judged by the purpose <code>GENERAL_PUBLIC_VERIFICATION</code>. A NIN goes in the body, never in a URL. A batch
has up to 100 items, and an answer for each or none at all. Instead of <code>Authorization: Bearer</code> you can send the
header <code>x-agency-api-key</code>, or use a client certificate that the operator has registered.</p>
<p><code>"eligible":false</code> says why in <code>reasons</code>. The codes are stable and never change their meaning:
${reasons.map((reason, index) => html`${index === 0 ? "" : ", "}<code>${reason}</code>`)}.</p>
${sandbox ? teacherTable : ""}`;
}

const teacherTable = html`<h3>Teachers to try</h3>
<div class="scroll" tabindex="0" role="region" aria-label="Teachers to try"><table>
<thead><tr><th scope="col">Registration number</th><th scope="col">Teacher id</th><th scope="col">NIN</th><th scope="col">Shows</th></tr></thead>
<tbody>${steps.teachers.map(
  ({ regNo, tId, nin, shows }) =>
    html`<tr><td><code>${regNo}</code></td><td><code>${tId}</code></td><td><code>${nin}</code></td><td>${shows}</td></tr>
`,
)}</tbody></table></div>`;

function verifying(at: steps.Surroundings, run: Run): Markup {
  return html`<h2 id="verify">3. Verify it</h2>
<p>Verify every envelope you rely on, and read only what is signed. Save the public keys; verifying needs no network
after that.</p>
${run(steps.keep)}
<p>Nothing to install: open <code>envelope.json</code> on the page <a href="../../verify-envelope">Verify an envelope</a>,
which checks it in your browser. Or with the service’s own program, <code>tvs</code>, one file that the operator can give
you; it needs no service of its own and no network:</p>
${run(steps.verifyWithTvs)}
<p>Its exit code is 0 when everything is valid, 1 when anything is refused, else 2 when anything could not be judged: an
unknown key, an unreadable file, or a text that is no envelope. <code>valid</code> means genuine, not licensed: the
<code>answer</code> line says what was answered.</p>
<p>With any library for JWS (RFC 7515), for example <code>jose</code>:</p>
${run(steps.installJose)}
${run(steps.verifyWithJose)}
<p>Whatever you use, check all of this:</p>
<ul>
<li>The header’s <code>alg</code> is <code>RS256</code>, set by you and not taken from the token; refuse <code>crit</code>, <code>jwk</code>, <code>jku</code>, <code>x5u</code> and <code>x5c</code>.</li>
<li>The header’s <code>kid</code> is in the key set of this service. Unknown: fetch the key set again, once, then refuse.</li>
<li>The signature is good for that key.</li>
<li><code>iss</code> is this service and <code>aud</code> is your partner id, exactly.</li>
<li><code>sub</code> is the envelope’s <code>verificationId</code>, and <code>iat</code> is not in the future.</li>
<li>Decide by the signed <code>result</code>. If the one outside differs, someone has changed it.</li>
<li>For an old envelope: its key was not compromised when it signed. The signed key history says so; <code>tvs verify</code> checks it.</li>
</ul>
<details><summary>In TypeScript, with the library that <code>tvs verify</code> uses</summary>
<p>It lies in the service’s source under <code>src/partner</code>, needs neither Node nor a package, and runs in browsers too.</p>
${listing("Verifying in TypeScript", steps.verifyWithLibrary(at))}
</details>`;
}

function keeping(at: steps.Surroundings): Markup {
  return html`<h3 id="keep">Keep it for years</h3>
<p>Keep the envelope together with the key set and the key history. They suffice to prove, years later, what was
attested to you. Fetch both from this service yourself: a key history that comes with an envelope from somebody else
proves nothing, because who forges the one can forge the other.</p>
<ul>
<li>With both files given, the key history counts only when the key that signed it is in the key set; else everything is
refused with <code>KEY_HISTORY_NOT_ANCHORED</code>. That says nothing about the envelope: fetch both files again.</li>
<li>With <code>--key-history</code> alone, trust rests on that file, and <code>tvs verify</code> says so. A compromise that
came later is not in it.</li>
<li><code>--anchor KID</code> accepts a key history only from that key. Its id is the <code>activeKid</code> of the health
document.</li>
<li>Whoever steals a signing key can write any date into an envelope. A proof of the service’s evidence log shows that yours
was there before: <a href="help/evidence">how to get one, keep it and verify with it</a>.</li>
</ul>
<p>The page <a href="../../verify-envelope">Verify an envelope</a> prints a genuine answer as a <strong>certificate</strong>, with the
signature in QR codes. Only the codes prove anything, so read them back: open the PDF, a screenshot or photographs of all
codes on the same page, or</p>
${listing("Reading a certificate back", steps.verifyCertificate(at))}
<p>PNG, JPEG and PDF are read, up to 20 MiB and 40 million pixels (120 million in the pictures of a PDF), for at most
30 seconds and 512 MiB of memory. Each code holds one line, <code>TVS1:number/total:tag:part</code>; the parts in order, from
1, are the compact JWS. The tag, the first 8 characters of the base64url of its SHA-256, keeps the codes of two
certificates apart. With <code>TVP1</code> they carry a proof of the evidence log, as base64url of its file.</p>`;
}

function webhooks(run: Run): Markup {
  return html`<h2 id="webhook">4. Webhooks</h2>
<p>When a licence or certificate changes, the service POSTs an event to you. Ask the operator to set your endpoint
(<code>https</code>, a public address); you get a secret, <code>whsec_…</code>, shown once. A receiver without any
package:</p>
${run(steps.receiver)}
${steps.receivers.map(
  ({ language, source }) => html`<details><summary>The same receiver in ${language}</summary>
${listing(`A receiver in ${language}`, source)}
</details>
`,
)}
<p>Try it with a delivery that you sign yourself. It prints 204 for the genuine one and 400 for the forged one:</p>
${run(steps.delivery)}
<ul>
<li>The header <code>X-AGENCY-Signature</code> is <code>t=…,v1=…</code>: the time in seconds, and the HMAC-SHA256 of that time, a
dot and the body, in lower-case hexadecimal, keyed with the whole text of the secret.</li>
<li>Compute it over the bytes as they came, before anything parses them; compare in constant time; refuse a time more than 300
seconds away. While the secret is rotated there are two <code>v1</code>, never more: one that matches suffices.</li>
<li>Answer 2xx within 15 seconds, and work afterwards. Anything else, a redirect too, is tried again after
${steps.retryWaits} (up to 20 % later), then given up until the operator retries it. <code>Retry-After</code> is honoured up
to twice the wait; 410 switches the endpoint off.</li>
<li>An event comes at least once, and not always in order: remember each <code>eventId</code>, and go by <code>occurredAt</code>.</li>
</ul>
<p><code>tvs verify-webhook body.json --secret @secret.txt --signature "t=…,v1=…"</code> checks a delivery that you kept, and so
does the page <a href="../../verify-envelope">Verify an envelope</a>. Test vectors for your own code are in the service’s source,
in <code>test/fixtures/webhooks/vectors.json</code>.</p>`;
}

const live = html`<h2 id="live">5. Going live</h2>
<ol>
<li>Ask the operator for your live record: scopes, purposes, quotas, and a key that begins with <code>tvs_live_</code>, or register a client certificate.</li>
<li>Change the base address, the expected <code>iss</code> and <code>aud</code>, and the key. Nothing else differs.</li>
<li>Cache the key set for at most a day, and fetch it again, once, for a
<code>kid</code> you have not seen. A new key is in the set a day before it signs, unless it is needed sooner.</li>
<li>Retry 5xx after 1 second, doubling, three times at most, with the same <code>Idempotency-Key</code>. On 429 wait <code>retryAfterSeconds</code>.</li>
<li>A 401 says what is wrong with a key that is missing, mistyped or of the other service. One that is well formed and refused has been revoked, has ended, or was never issued: ask the operator.</li>
<li>Treat a failure as no answer. Only a signed <code>"found":false</code> says that nobody was found.</li>
<li>Keep your clock right: webhook signatures are good for 300 seconds.</li>
<li>If a key or secret may be known to others, tell the operator at once. Two keys can be live while you change over.</li>
</ol>
<p>Everything else is in the <a href="docs">API reference</a> (as <a href="openapi.json">OpenAPI (JSON)</a>).</p>`;
