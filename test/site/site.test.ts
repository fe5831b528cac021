import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { gunzipSync } from "node:zlib";
import { defaultSite, type SiteDetails } from "../../src/domain/site.ts";
import { manualTopics } from "../../src/manual.ts";
import { englishTexts } from "../../src/site/language.ts";
import { knownTeacher, sharedTestService } from "../harness/service.ts";

const picture = "the bytes of a PNG";
const council: SiteDetails = {
  name: "Council of Teachers & Schools",
  logo: { type: "image/png", data: Buffer.from(picture).toString("base64") },
  accent: "#0b4f9c",
  contact: {
    email: "help@council.example",
    phone: "+234 9 000 0000",
    url: "https://council.example/",
    address: "1 Road, Abuja",
  },
  privacyUrl: "https://council.example/privacy",
  accessibilityUrl: "https://council.example/accessibility",
  reportUrl: "https://council.example/report",
};

const world = sharedTestService();

async function remember(site: SiteDetails): Promise<void> {
  await world.operator.stores.settings.write({ site: JSON.stringify(site) });
  await world.service.configuration.refresh();
}

const browser = { headers: { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" } };
const pageOf = async (path: string) => (await world.call(path, browser)).text();
const pages = [
  "/",
  "/verify-envelope",
  "/v1/inter-agency/getting-started",
  "/v1/inter-agency/help/",
  "/v1/inter-agency/help/keys",
  "/nowhere/at/all",
];

test.each(pages)("the page %s shows the operator's new name and contact immediately", async (path) => {
  await remember(council);
  const html = await pageOf(path);
  const top = "../".repeat(path.split("/").length - 2) || "./";
  expect(html).toContain("<span>Council of Teachers &amp; Schools</span>");
  expect(html).toMatch(/<title>[^<]+ – Council of Teachers &amp; Schools<\/title>/);
  expect(html).toContain(`<img class="logo" src="${top}logo" alt="">`);
  expect(html).toContain(`href="${top}site.css?0b4f9c"`);
  for (const part of [
    "mailto:help@council.example",
    "tel:+23490000000",
    ">council.example<",
    "1 Road, Abuja",
  ])
    expect([part, html.includes(part)]).toEqual([part, true]);
  for (const link of [council.privacyUrl, council.accessibilityUrl, council.reportUrl])
    expect([link, html.includes(`href="${link}"`)]).toEqual([link, true]);

  await remember({ ...council, name: "Another Council" });
  expect(await pageOf(path)).toContain("Another Council");
  await remember(defaultSite);
  const plain = await pageOf(path);
  expect(plain).not.toContain("Council");
  expect(plain).toContain(englishTexts.service);
});

/** Returns the links of a page to this service, and the URLs in Scalar's options. */
function linksOf(html: string, path: string): URL[] {
  const names = [...html.matchAll(/(?:src|href|"url")(?:=|: )"([^"]+)"/g)].map(([, name = ""]) => name);
  const links = names.map((name) => new URL(name, `http://service.test${path}`));
  return links.filter(({ host }) => host === "service.test");
}

const docs = "/v1/inter-agency/docs";
const manual = manualTopics.map(({ name }) => `/v1/inter-agency/help/${name}`);

test.each([...pages, docs, ...manual])(
  "every link of the page %s leads to a page, a file or a heading that exists, and one leads to getting started",
  async (path) => {
    const links = linksOf(await pageOf(path), path);
    for (const { pathname, search } of links.filter((link) => link.pathname !== path))
      expect([pathname, (await world.call(`${pathname}${search}`)).status]).toEqual([pathname, 200]);
    for (const { pathname, hash } of links)
      if (hash !== "" && pathname !== docs)
        expect([hash, (await pageOf(pathname)).includes(`id="${hash.slice(1)}"`)]).toEqual([hash, true]);
    expect(links.map(({ pathname }) => pathname)).toContain("/v1/inter-agency/getting-started");
  },
);

test("the logo is sent with a content security policy that forbids everything", async () => {
  await remember(council);
  const response = await world.call("/logo");
  expect(await response.text()).toBe(picture);
  expect(response.headers.get("Content-Type")).toBe("image/png");
  expect(response.headers.get("Content-Security-Policy")).toContain("default-src 'none'");
  expect(response.headers.get("Content-Security-Policy")).toContain("sandbox");
  await remember(defaultSite);
  expect((await world.call("/logo")).status).toBe(404);
});

test("the public page says where to report a wrong record", async () => {
  const answer = `/?regNo=${encodeURIComponent(knownTeacher.regNo)}`;
  await remember(council);
  expect(await pageOf(answer)).toContain(
    `<a href="${council.reportUrl}">${englishTexts.lookup.wrongReport}</a>`,
  );
  await remember({ ...council, reportUrl: null });
  expect(await pageOf(answer)).toContain(englishTexts.lookup.wrongEmail("help@council.example"));
  await remember(defaultSite);
  expect(await pageOf(answer)).not.toContain(englishTexts.lookup.wrong);
});

test("the OpenAPI document names the service's operator and contact", async () => {
  const infoOf = async () => (await (await world.call("/v1/inter-agency/openapi.json")).json()).info;
  await remember(council);
  const { email, url } = council.contact;
  expect(await infoOf()).toMatchObject({
    title: `${englishTexts.service} – ${council.name}`,
    contact: { name: council.name, email, url },
  });
  await remember(defaultSite);
  const info = await infoOf();
  expect([info.title, info.contact]).toEqual([englishTexts.service, undefined]);
});

test.each([...pages.filter((path) => path !== "/nowhere/at/all"), docs])(
  "the page %s has a one-sentence description for search engines, and is sent compressed",
  async (path) => {
    const response = await world.call(path, { headers: { "Accept-Encoding": "gzip" } });
    expect(response.headers.get("Content-Encoding")).toBe("gzip");
    expect(response.headers.get("Vary")).toContain("Accept-Encoding");
    const html = gunzipSync(await response.arrayBuffer()).toString();
    expect(html).not.toContain("noindex");
    const [, description = ""] = /<meta name="description" content="([^"]*)">/.exec(html) ?? [];
    expect(description).toMatch(/^[A-Z].{30,190}\.?$/);
    expect(html).toContain(`<meta property="og:description" content="${description}">`);
  },
);

test("the answer about a person and the error page forbid search engines to index them, and are sent compressed", async () => {
  for (const path of [`/?regNo=${encodeURIComponent(knownTeacher.regNo)}`, "/nowhere"]) {
    const headers = { ...browser.headers, "Accept-Encoding": "gzip" };
    const response = await world.call(path, { headers });
    const html = gunzipSync(await response.arrayBuffer()).toString();
    expect(html).toContain('<meta name="robots" content="noindex, nofollow">');
    expect(html).not.toContain('name="description"');
  }
});

test("security.txt names the site's contact and expires after half a year, and is a 404 without a contact", async () => {
  const path = "/.well-known/security.txt";
  await remember(council);
  const response = await world.call(path);
  expect(response.headers.get("Content-Type")).toBe("text/plain; charset=utf-8");
  expect((await response.text()).split("\n")).toEqual([
    "Contact: mailto:help@council.example",
    "Contact: https://council.example/",
    "Contact: tel:+23490000000",
    "Expires: 2026-08-28T00:00:00Z",
    "Preferred-Languages: en",
    "Canonical: https://teachers.example/.well-known/security.txt",
    "",
  ]);
  for (const contact of [{}, { address: "1 Road, Abuja", url: "http://council.example/" }]) {
    await remember({ ...council, contact });
    expect((await world.call(path)).status).toBe(404);
  }
  await remember(defaultSite);
});

test("robots.txt of a live service excludes crawlers from the API's lookup", async () => {
  expect(await (await world.call("/robots.txt")).text()).toContain("Disallow: /teacher/");
});

test.each([
  ["/docs", "v1/inter-agency/docs"],
  ["/v1/inter-agency", "inter-agency/docs"],
  ["/v1/inter-agency/", "docs"],
])("%s redirects to the API reference", async (path, way) => {
  const response = await world.call(path);
  expect([response.status, response.headers.get("Location")]).toEqual([302, way]);
});
