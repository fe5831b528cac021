/** The test language (decision D8.6): what of a page does not speak it was forgotten when sentences were moved out. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { html } from "hono/html";
import { createApp } from "../../src/app.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { goingLive } from "../../src/domain/sandbox/going-live.ts";
import { storedSite } from "../../src/domain/site.ts";
import { configureLog } from "../../src/logger.ts";
import { english } from "../../src/site/texts/en.ts";
import { englishGuide } from "../../src/site/texts/guide-en.ts";
import { inTestLanguage } from "../../src/site/texts/test-language.ts";
import { formTexts } from "../../src/site/verify-envelope/form-texts.ts";
import { known, legacy, openTestService, type TestService } from "../harness/service.ts";

const asked = "lang=en-XA";
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
let pages: ReturnType<typeof createApp>["pages"];
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
  ({ pages } = createApp(
    { ...world.service, keyKind: "test" },
    {
      publicPerMinute: 1_000,
      trustedProxies: [],
      demo: { partnerId: "demo", apiKey: "tvs_test_key" },
      tryOut: {
        keyLives: () => true,
        causeEvent: () => Promise.reject(new Error("unused")),
        readGoingLive: async () =>
          goingLive({
            partnerId: "demo",
            calls: [],
            attestations: [],
            deliveries: [],
            forgeryTrial: { refusedAll: true },
          }),
      },
    },
  ));
  for (const [path, error] of [
    ["/broken", new Error("broken")],
    ["/away", new TvsError("STORE_UNAVAILABLE", "away")],
  ] as const) {
    pages.get(path, () => {
      throw error;
    });
  }
});
afterAll(() => world.close());

const siteOf = async () => world.service.configuration.current().settings.site;

async function htmlOf(path: string, body: string | null = null): Promise<string> {
  const address = `${path}${path.includes("?") ? "&" : "?"}${asked}`;
  const headers = {
    Accept: "text/html",
    "Content-Type": "application/x-www-form-urlencoded",
    Host: "127.0.0.1",
  };
  const init = body === null ? { headers } : { headers, method: "POST", body };
  const response = await pages.request(address, init, {
    remoteAddress: "127.0.0.1",
    tls: false,
    clientCertificate: null,
  });
  expect(response.headers.get("Content-Type")).toStartWith("text/html");
  return response.text();
}

/** The texts that a page shows or reads out, but for code, its languages' names, and what says itself that it is English. */
function textsOf(html: string): string[] {
  const own = html
    .replace(/<(style|script|code|pre)\b[^>]*>.*?<\/\1>/gs, "")
    .replace(/(<nav class="codes"[^>]*>).*?<\/nav>/s, "$1")
    .replace(/<div lang="en">.*<\/div>\s*<\/main>/s, "")
    .replace(/<li lang="en">.*?<\/li>/gs, "")
    .replace(/<a [^>]*\blang="en"[^>]*>.*?<\/a>/gs, "");
  const spoken = own.matchAll(/\b(?:aria-label|alt|title|placeholder|label)="([^"]*)"/g);
  const title = /<title>(.*?) – Council Site<\/title>/.exec(own)?.[1] ?? "no title";
  const body = own.slice(own.indexOf("<body>"));
  return [title, ...[...spoken].map(([, text = ""]) => text), ...body.split(/<[^>]*>/)];
}

/** What stands outside the brackets of the test language, and is no value. */
function forgottenIn(html: string): string[] {
  return textsOf(html)
    .map((text) => {
      let left = text;
      for (let before = ""; before !== left; ) {
        before = left;
        left = left.replace(/\[[^[\]]*\]/g, "");
      }
      left = left.replace(
        /\d+ (?:January|February|March|April|May|June|July|August|September|October|November|December) \d{4}(?: at)?/g,
        "",
      );
      return values.reduce((rest, value) => rest.replaceAll(value, ""), left).trim();
    })
    .filter((text) => /\p{L}{2}/u.test(text));
}

describe("in the test language, no sentence was forgotten", () => {
  const linkTo = (regNo: string) => `/?regNo=${encodeURIComponent(regNo)}`;
  const { lookup, failures, manual } = english;
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
    ["the envelope page", "/verify-envelope", formTexts("en").title, null],
    ["its other form", "/verify-envelope?keys=pasted", formTexts("en").title, null],
    ["no such page", "/nowhere", failures[404].title, null],
    ["a fault", "/broken", failures[500].title, null],
    ["a pause", "/away", failures[503].title, null],
    ["getting started", "/v1/inter-agency/getting-started", englishGuide.title, null],
    ["getting started, in PHP", "/v1/inter-agency/getting-started?code=php", englishGuide.title, null],
    ["the manual's contents", "/v1/inter-agency/help/", manual.title, null],
  ];

  test.each(cases)("%s", async (_page, path, heading, body) => {
    const html = await htmlOf(path, body);
    expect(html).toContain('<html lang="en-XA">');
    expect(html).toContain(`${inTestLanguage(heading)}</h1>`);
    expect(forgottenIn(html)).toEqual([]);
  });

  test("a page of the manual, which is in English only and says so", async () => {
    const html = await htmlOf("/v1/inter-agency/help/keys");
    expect(html).toContain(inTestLanguage(english.shell.onlyEnglish));
    expect(forgottenIn(html)).toEqual([]);
  });

  test("a sentence that stands in the page itself is found", () => {
    const html = `<title>[x] – Council Site</title><body><p>[Ťĥé] Licensed</p><a aria-label="Go on">[x]</a></body>`;
    expect(forgottenIn(html)).toEqual(["Go on", "Licensed"]);
  });
});

describe("the test language", () => {
  test("changes every sentence, keeps every value, and is longer", () => {
    const { lookup } = inTestLanguage(english);
    expect(lookup.licensed).toBe("[Ļíçéñšéđ ~ ~]");
    expect(lookup.linkAfter.length).toBeGreaterThan(english.lookup.linkAfter.length * 1.3);
    expect(lookup.daysLeft(1)).toStartWith("[1 đàý ļéƒţ");
    expect(String(inTestLanguage(html`<p title="a">Your <code>key</code>, A &amp; B.</p>`))).toBe(
      '<p title="a">[Ýóûŕ ~] <code>key</code>[, À ~] &amp; [Ɓ. ~]</p>',
    );
    expect(lookup.licensedSummary("Ada", "7 May")).toMatch(/^\[Ada ĥóļđš .* 7 May\./);
  });

  test("is offered beside the others to who asked for it, and links keep to it", async () => {
    const html = await htmlOf("/");
    expect(html).toContain('<a href="?lang=en" lang="en" hreflang="en">English</a>');
    expect(html).toContain('href="./verify-envelope?lang=en-XA"');
    expect(html).toContain('action="./?lang=en-XA"');
  });

  test.each([
    ["a browser's wish", "/", "en-XA"],
    ["nobody's wish", "/", undefined],
  ])("is not spoken at %s", async (_, path, accepted) => {
    const headers = accepted === undefined ? {} : { "Accept-Language": accepted };
    const html = await (await pages.request(path, { headers })).text();
    expect(html).toContain('<html lang="en">');
    expect(html).not.toContain("?lang=");
  });

  test("is not spoken by a live service", async () => {
    expect(await (await world.call(`/?${asked}`)).text()).toContain('<html lang="en">');
  });
});
