import { beforeAll, expect, test } from "bun:test";
import { englishTexts } from "../../src/site/language.ts";
import { aTeacherWrite } from "../harness/samples.ts";
import { knownTeacher, legacyTeacher, openTestService, sharedTestService } from "../harness/service.ts";

const { lookup } = englishTexts;
const revokedNo = "LA/2019/PRI/00666";
const laterNo = "LA/2019/PRI/00777";
const photoNo = "LA/2019/PRI/00888";

const world = sharedTestService();
beforeAll(async () => {
  await world.operator.stores.teachers.apply([
    aTeacherWrite(revokedNo, {
      tId: 666,
      licenseRevokedOn: "2025-11-05",
      licenseRevokedReason: "misconduct",
    }),
    aTeacherWrite(laterNo, { tId: 777, licenseIssueDate: "2026-09-01", licenseExpiryDate: "2029-08-31" }),
    aTeacherWrite(photoNo, { tId: 888, photoUrl: "https://photos.example/888.jpg", name: "A & B <i>" }),
  ]);
});

const form = "application/x-www-form-urlencoded";

function ask(term: string, from = world): Promise<Response> {
  const body = new URLSearchParams({ searchTerm: term }).toString();
  return Promise.resolve(from.call("/", { method: "POST", body, headers: { "Content-Type": form } }));
}

const verdictIn = (html: string) => />([^<>]+)<\/h1>/.exec(html)?.[1];

test.each<[string, string, number]>([
  ["2026-03-01", "1 March 2026 (today is the last day)", 7001],
  ["2026-03-02", "2 March 2026 (1 day left)", 7002],
  ["2028-02-29", "29 February 2028 (730 days left)", 7003],
  ["2092-02-29", "29 February 2092 (more than 65 years left)", 7004],
])(
  "the answer about a licence that ends on %s says how many days or years are left",
  async (end, words, tId) => {
    await world.operator.stores.teachers.apply([
      aTeacherWrite(`TR/2019/LA/00${tId}`, { tId, licenseIssueDate: "2019-03-01", licenseExpiryDate: end }),
    ]);
    const html = await (await ask(String(tId))).text();
    expect(/<dt>Licence ends<\/dt><dd>([^<]*)/.exec(html)?.[1]).toBe(words);
  },
);

test("the public form is sent by POST, so that no search term becomes part of a URL", async () => {
  const response = await world.call("/");
  const html = await response.text();
  expect(response.status).toBe(200);
  expect(html).toContain('<form method="post" action="./"');
  expect(html).not.toMatch(/method="get"/i);
  expect(verdictIn(html)).toBe(lookup.title);
});

test("the public page works without a script, and loads only its icon", async () => {
  const html = await (await world.call("/")).text();
  expect(html).not.toMatch(/<script|\son\w+=|\sstyle=|@import|url\(/);
  expect(html.match(/<(link|img|iframe|object)\b[^>]*>/g)).toEqual([
    '<link rel="icon" href="./icon.svg" type="image/svg+xml">',
  ]);
  const icon = await world.call("/icon.svg");
  expect(icon.headers.get("Content-Type")).toBe("image/svg+xml");
});

test("the public page's content security policy allows only its own style sheet, by the sheet's hash", async () => {
  const response = await world.call("/");
  const policy = response.headers.get("Content-Security-Policy") ?? "";
  const style = /<style>(.*)<\/style>/s.exec(await response.text())?.[1] ?? "";
  const hash = new Bun.CryptoHasher("sha256").update(style).digest("base64");
  expect(policy.split("; ").sort()).toEqual(
    [
      "default-src 'none'",
      `style-src 'sha256-${hash}' 'self'`,
      "img-src 'self'",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].sort(),
  );
  expect(response.headers.get("Referrer-Policy")).toBe("no-referrer");
});

test("a link with the form's field `searchTerm` shows only the empty form", async () => {
  const html = await (await world.call(`/?searchTerm=${knownTeacher.nin}`)).text();
  expect(verdictIn(html)).toBe(lookup.title);
  expect(html).not.toContain(knownTeacher.nin);
});

test.each([
  ["a registration number", knownTeacher.regNo, lookup.licensed],
  ["a teacher id", String(knownTeacher.tId), lookup.licensed],
  ["a NIN", knownTeacher.nin, lookup.licensed],
  ["a NIN in groups", knownTeacher.nin.replace(/(\d{3})(\d{4})/, "$1 $2 "), lookup.licensed],
  ["an expired licence", legacyTeacher.regNo, lookup.expired],
  ["a revoked licence", revokedNo, lookup.notLicensed],
  ["a licence that begins later", laterNo, lookup.notLicensed],
  ["nobody", "XX/2019/PRI/00000", lookup.nobody],
])("the public page answers %s with the verdict", async (_, term, verdict) => {
  const response = await ask(term);
  const html = await response.text();
  expect([response.status, verdictIn(html)]).toEqual([200, verdict]);
  expect(html).toContain(`<title>${verdict} – `);
  expect(response.headers.get("Cache-Control")).toBe("no-store");
  expect(response.headers.get("Referrer-Policy")).toBe("no-referrer");
  // The page shows the time of the test's clock in the operator's time zone, and names the zone.
  expect(html).toContain('<time datetime="2026-03-01T09:30:00.250Z">1 March 2026 at 10:30:00');
  expect(html).toContain("(Africa/Lagos)");
});

test("the public page never says that a licence was revoked", async () => {
  const html = await (await ask(revokedNo)).text();
  expect(html).toContain(lookup.noLicense);
  expect(html).not.toMatch(/revok|misconduct|2025|November/i);
});

test("the public page links to the teacher's photo and does not load it, and escapes the values of the register", async () => {
  const html = await (await ask(photoNo)).text();
  expect(html).toContain('<a href="https://photos.example/888.jpg" rel="external noreferrer noopener">');
  expect(html).not.toContain("<img");
  expect(html).toContain("A &amp; B &lt;i&gt;");
  const answer = await world.call(`/teacher/verify-license?searchTerm=${encodeURIComponent(photoNo)}`);
  expect(await answer.json()).toMatchObject({ teacher: { photoUrl: "https://photos.example/888.jpg" } });
});

test("the public page never shows a personal number, in its text or in a link", async () => {
  const html = await (await ask(knownTeacher.nin)).text();
  expect(html).not.toContain(knownTeacher.nin);
  expect(html).toContain(`href="./?tId=${knownTeacher.tId}"`);
  const nobody = await (await ask("99999999999")).text();
  expect(nobody).not.toContain("99999999999");
  expect(nobody).not.toMatch(/href="[^"]*\?(?:tId|regNo)=/);
  expect(nobody).toContain(lookup.noLink);
  const shortened = await (await ask("8030000001")).text();
  expect(shortened).not.toContain("8030000001");
  expect(shortened).toContain(lookup.kinds.longNumber);
  expect(shortened).toContain(lookup.noLink);
  const address = await (await ask("nobody@example.org")).text();
  expect(address).not.toContain("nobody@example.org");
});

test("a lookup link shows the same page as the form, and a link with a personal number is refused", async () => {
  const html = await (await ask(knownTeacher.regNo)).text();
  const link = /href="\.(\/\?regNo=[^"]+)"/.exec(html)?.[1] ?? "";
  const again = await world.call(link);
  expect([again.status, verdictIn(await again.text())]).toEqual([200, lookup.licensed]);
  expect(again.headers.get("Cache-Control")).toBe("no-store");
  for (const bad of [
    `?tId=${knownTeacher.nin}`,
    `?regNo=${knownTeacher.nin}`,
    "?tId=x",
    "?regNo=",
    "?tId=a%40example.org",
  ]) {
    const response = await world.call(`/${bad}`);
    const page = await response.text();
    expect([bad, response.status]).toEqual([bad, 400]);
    expect(page).toContain(lookup.linkWrong);
    expect(page).not.toContain(knownTeacher.nin);
  }
});

const [, year = ""] = knownTeacher.regNo.split("/");

test("the public page suggests the registration number that a mistyped number probably means, and the API suggests nothing", async () => {
  const typed = knownTeacher.regNo.replace(year, year.replace("0", "O"));
  const html = await (await ask(typed)).text();
  expect(verdictIn(html)).toBe(lookup.nobody);
  const link = `<a href="./?regNo=${encodeURIComponent(knownTeacher.regNo)}">${knownTeacher.regNo}</a>?`;
  expect(html).toContain(`${lookup.didYouMean} ${link}`);
  const answer = await world.call(`/teacher/verify-license?searchTerm=${encodeURIComponent(typed)}`);
  expect(Object.keys((await answer.json()) as object)).toEqual(["found", "verifiedAt"]);
  const other = await (await ask("XX/2019/PRI/99999")).text();
  expect(other).not.toContain(lookup.didYouMean);
});

test("the public page does not repeat a refused term that may be personal, and says that the field was emptied", async () => {
  const emptied = 'aria-describedby="term-error term-hint term-emptied"';
  const name = await (await ask("Adaeze Okafor")).text();
  expect([name.includes(emptied), name.includes(lookup.emptied)]).toEqual([true, true]);
  expect(name).not.toContain("Adaeze");
  const number = await (await ask("TR/2019/1")).text();
  expect([number.includes(lookup.emptied), number.includes('value="TR/2019/1"')]).toEqual([false, true]);
  expect(await (await world.call("/")).text()).not.toContain(lookup.emptied);
});

const spoken = [lookup.licensed, lookup.expired, lookup.notLicensed, lookup.nobody];

test("the public page answers 503 if the database does not answer, and says nothing about the teacher", async () => {
  const broken = await openTestService();
  await broken.operator.driver.close();
  for (const response of [
    await ask(knownTeacher.regNo, broken),
    await broken.call(`/?tId=${knownTeacher.tId}`),
  ]) {
    const html = await response.text();
    expect([response.status, verdictIn(html)]).toEqual([503, lookup.failed]);
    expect(response.headers.get("Retry-After")).toBe("1");
    expect(response.headers.get("Cache-Control")).toBe("no-store");
    expect(response.headers.get("Content-Type")).toStartWith("text/html");
    expect(html).toContain(lookup.noAnswerFailed);
    for (const word of spoken) expect(html).not.toContain(word);
  }
  await broken.close();
});

test.each([
  ["nothing", "", lookup.empty],
  ["a name", "Adaeze Okafor", lookup.unreadable],
  ["three segments", "A/B/C", lookup.regNoWrong("TR/2019/LA/000001")],
  ["400 characters", "x".repeat(400), lookup.tooLong(320)],
  ["NUL and HTML", "\0<b>", lookup.unreadable],
])(
  "the public page answers %s with 400, and explains the fault at the field and above the form",
  async (_, term, problem) => {
    const response = await ask(term);
    const html = await response.text();
    expect(response.status).toBe(400);
    expect(html.split(problem).length).toBe(3);
    expect(html).toContain('aria-invalid="true"');
    expect(html).toContain(`<title>${englishTexts.shell.errorPrefix} `);
    expect(html).not.toContain("<b>");
  },
);

test("the public page refuses a form that is not form-encoded (415) or is too large (413)", async () => {
  const json = await world.call("/", {
    body: { searchTerm: "1" },
    headers: { "Content-Type": "application/json" },
  });
  expect([json.status, (await json.text()).includes(lookup.formWrong)]).toEqual([415, true]);
  const large = await ask("x".repeat(20_000));
  expect([large.status, (await large.text()).includes(lookup.formWrong)]).toEqual([413, true]);
});

test("every public page loads less than 30 kB in total, uncompressed", async () => {
  const icon = (await (await world.call("/icon.svg")).text()).length;
  const pages = [
    await world.call("/"),
    await ask(photoNo),
    await ask(legacyTeacher.regNo),
    await ask("XX/2019/PRI/00000"),
    await ask("Adaeze Okafor"),
  ];
  for (const page of pages) expect(Buffer.byteLength(await page.text()) + icon).toBeLessThan(30_000);
});

test("the public page keeps the requested language in its form", async () => {
  const response = await world.call('/?lang=yo"><b>');
  const html = await response.text();
  expect(html).toContain('action="./?lang=yo%22%3E%3Cb%3E"');
  expect(html).toContain('<html lang="en">');
  expect(response.headers.get("Content-Language")).toBe("en");
  expect(response.headers.get("Vary")).toContain("Accept-Language");
});
