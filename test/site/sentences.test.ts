/** Every sentence of a page stands in a file of its language (decision D8.6). */

import { afterAll, beforeAll, expect, test } from "bun:test";
import envelope from "../../data/texts/en/envelope.json" with { type: "json" };
import form from "../../data/texts/en/envelope-form.json" with { type: "json" };
import guide from "../../data/texts/en/guide.json" with { type: "json" };
import pageTexts from "../../data/texts/en/pages.json" with { type: "json" };
import statuses from "../../data/texts/en/statuses.json" with { type: "json" };
import { createApp } from "../../src/app.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { storedSite } from "../../src/domain/site.ts";
import { configureLog } from "../../src/logger.ts";
import { english } from "../../src/site/language.ts";
import { sentences } from "../../src/site/texts/sentences.ts";
import { known, legacy, openTestService, type TestService } from "../harness/service.ts";

const unknownNo = "XX/2000/AA/00001";
/** What the pages show that is no sentence: values of the register and of the site. */
const values = [
  "Council Site",
  "A Street",
  "help@council.example",
  "council.example",
  "https://teachers.example",
  "Ada Obi",
  "West Africa Time",
  "Africa/Lagos",
  "Lagos",
  "PRIMARY",
  known.regNo,
  legacy.regNo,
  unknownNo,
  "XX/2000/AA/000001",
  "Signing keys and the master key",
];

let world: TestService;
let app: ReturnType<typeof createApp>;
beforeAll(async () => {
  configureLog(() => {});
  world = await openTestService();
  const site = {
    name: "Council Site",
    contact: {
      email: "help@council.example",
      phone: "0",
      url: "https://council.example",
      address: "A Street",
    },
  };
  await world.operator.stores.settings.write({ site: storedSite({ ...(await siteOf()), ...site }) });
  await world.service.configuration.refresh();
  app = createApp(
    { ...world.service, keyKind: "test" },
    {
      publicPerMinute: 1_000,
      trustedProxies: [],
      demo: { partnerId: "demo", apiKey: "tvs_test_key" },
      causeEvent: () => Promise.reject(new Error("unused")),
    },
  );
  for (const [path, error] of [
    ["/broken", new Error("broken")],
    ["/away", new TvsError("STORE_UNAVAILABLE", "away")],
  ] as const) {
    app.get(path, () => {
      throw error;
    });
  }
});
afterAll(() => world.close());

const siteOf = async () => world.service.configuration.current().settings.site;

async function htmlOf(path: string, body: string | null = null): Promise<string> {
  const headers = {
    Accept: "text/html",
    "Content-Type": "application/x-www-form-urlencoded",
    Host: "127.0.0.1",
  };
  const init = body === null ? { headers } : { headers, method: "POST", body };
  const response = await app.request(path, init, {
    remoteAddress: "127.0.0.1",
    tls: false,
    clientCertificate: null,
  });
  expect(response.headers.get("Content-Type")).toStartWith("text/html");
  return response.text();
}

/** The texts that a page shows or reads out, but for code. */
function textsOf(html: string): string[] {
  const own = html
    .replace(/<(style|script|code|pre)\b[^>]*>.*?<\/\1>/gs, "")
    // Names of languages, and of made-up teachers.
    .replace(/<(nav|table) class="(?:codes|records teachers)".*?<\/\1>/gs, "");
  const spoken = own.matchAll(/\b(?:aria-label|alt|title|placeholder|label)="([^"]*)"/g);
  const title = /<title>(.*?) – Council Site<\/title>/.exec(own)?.[1] ?? "no title";
  const body = own.slice(own.indexOf("<body>"));
  return [title, ...[...spoken].map(([, text = ""]) => text), ...body.split(/<[^>]*>/)];
}

function* written(part: unknown): Generator<string> {
  if (typeof part === "string") yield part;
  else for (const inner of Object.values(part as object)) yield* written(inner);
}

const quoted = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
/** Each sentence that is written, the longest first, whatever values stand in it. */
const sentencesOfFiles = [...written([pageTexts, statuses, form, guide])]
  // What stands between tags, or beside a link to the operator, is a text by itself.
  .flatMap((sentence) => sentence.split(/<[^>]*>|\{operator\}/))
  .filter((text) => /\p{L}/u.test(text.replace(/\{\w+\}/g, "")))
  .map((text) => text.trim().replaceAll("&quot;", '"'))
  .sort((one, other) => other.length - one.length)
  .map(
    (sentence) =>
      new RegExp(
        sentence
          .split(/\{\w+\}/)
          .map(quoted)
          .join("[^]*?")
          .replace(/\[\^\]\*\?$/, ".+"),
        "g",
      ),
  );

/** What is no sentence of a file, and no value. */
function forgottenIn(html: string): string[] {
  const day =
    /\d+ (?:January|February|March|April|May|June|July|August|September|October|November|December) \d{4}(?: at)?/g;
  return textsOf(html)
    .map((text) => text.replaceAll("&#39;", "'").replaceAll("&quot;", '"').replaceAll("&amp;", "&"))
    .map((text) =>
      sentencesOfFiles.reduce((left, sentence) => left.replace(sentence, ""), text).replace(day, ""),
    )
    .map((text) => values.reduce((left, value) => left.replaceAll(value, ""), text).trim())
    .filter((text) => /\p{L}{2}/u.test(text));
}

const linkTo = (regNo: string) => `/?regNo=${encodeURIComponent(regNo)}`;
const { lookup, failures } = english;
const cases: [page: string, path: string, heading: string, body: string | null][] = [
  ["the question", "/", lookup.title, null],
  ["a licensed teacher", linkTo(known.regNo), lookup.licensed, null],
  ["an expired one", linkTo(legacy.regNo), lookup.expired, null],
  ["nobody", linkTo(unknownNo), lookup.nobody, null],
  ["a damaged link", "/?tId=x", lookup.title, null],
  ["nothing entered", "/", lookup.title, "searchTerm="],
  ["a name entered", "/", lookup.title, "searchTerm=Ada"],
  ["a wrong number", "/", lookup.title, "searchTerm=TR-2019"],
  ["half an e-mail address", "/", lookup.title, "searchTerm=ada%40"],
  ["too much", "/", lookup.title, `searchTerm=${"a".repeat(2_000)}`],
  ["somebody by phone", "/", lookup.nobody, "searchTerm=08012345678"],
  ["the envelope page", "/verify-envelope", form.title, null],
  ["its other form", "/verify-envelope?keys=pasted", form.title, null],
  ["getting started", "/v1/inter-agency/getting-started", guide.title, null],
  ["getting started, in PHP", "/v1/inter-agency/getting-started?code=php", guide.title, null],
  ["no such page", "/nowhere", failures[404].title, null],
  ["a fault", "/broken", failures[500].title, null],
  ["a pause", "/away", failures[503].title, null],
];

test.each(cases)(
  "every sentence of the page stands in the language's file: %s",
  async (_page, path, heading, body) => {
    const html = await htmlOf(path, body);
    expect(html).toContain(`${heading}</h1>`);
    expect(forgottenIn(html)).toEqual([]);
  },
);

test("a sentence that stands in the page itself is found", () => {
  const html = `<title>Licensed – Council Site</title><body><p>Licensed here</p><a aria-label="Go on">Check</a></body>`;
  expect(forgottenIn(html)).toEqual(["Go on", "here"]);
});

test("a sentence says each value where it is named, in the form for the first of them", () => {
  const said = sentences({
    "left(days, of)": { "0": "none of {of}", "1": "a day of {of}", other: "{days} of {of}, {days}" },
    "is(so)": { true: "yes", false: "no" },
    inner: { list: ["{a}"], "one(a)": "{a}" },
  });
  const { left, inner } = said;
  expect([left(0, "x"), left(1, "x"), left(2, "{days}")]).toEqual([
    "none of x",
    "a day of x",
    "2 of {days}, 2",
  ]);
  expect([said.is(true), said.is(false), inner.one("$&"), inner.list]).toEqual(["yes", "no", "$&", ["{a}"]]);
});

/** Each sentence that is written, with the values that its key names; the first may only choose the form. */
function* keyed(part: unknown, name = ""): Generator<[name: string, names: string[], texts: string[]]> {
  const [, names] = /\((.*)\)$/.exec(name) ?? [];
  if (names !== undefined || typeof part === "string")
    yield [name, names?.split(", ") ?? [], [...written(part)]];
  else for (const [key, inner] of Object.entries(part as object)) yield* keyed(inner, key);
}

test("each value that a sentence's key names stands in one form of it at least, and no other does", () => {
  for (const [name, names, texts] of keyed([pageTexts, form, guide, envelope])) {
    const used = texts.flatMap((text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, one = ""]) => one));
    const chosen = texts.length > 1 ? names.slice(0, 1) : [];
    expect([name, [...new Set([...chosen, ...used])].sort()]).toEqual([name, names.sort()]);
  }
});
