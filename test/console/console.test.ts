import { beforeAll, expect, test } from "bun:test";
import { logWriterOf } from "../../cli/evidence/open-evidence.ts";
import { openTestConsole, sharedTestConsole } from "../harness/console.ts";
import { waitForAnswer } from "../harness/eventually.ts";
import { attest, storeQuotaUse } from "../harness/evidence.ts";
import { anAttestation, aTeacherWrite } from "../harness/samples.ts";
import { addPartner } from "../harness/service.ts";

const world = sharedTestConsole();
beforeAll(() => addPartner(world.operator, "exam-body-a", { perMinute: 600, perDay: 1_000 }));

const pageWith = async (text: string) => {
  const session = await world.signIn();
  const read = () => session.get("/").then((one) => one.text);
  // The console shows the same readings for a second and a half.
  return waitForAnswer(read, (page) => page.includes(text));
};

test("the console shows quotas, keys and imports, with commands to copy", async () => {
  const { operator } = world;
  const at = operator.clock.now();
  await storeQuotaUse(operator.driver, {
    partnerId: "exam-body-a",
    kind: "day",
    startsAt: Math.floor(at / 86_400_000) * 86_400_000,
    used: 950,
  });
  const page = await pageWith("950 of 1,000");

  expect(page).toContain("exam-body-a has used 95 % of today&#39;s quota (UTC).");
  expect(page).toContain(`tvs partners set exam-body-a --per-day 2000 --data ${world.folder}`);
  const { active, pending } = world.service.configuration.current().keys;
  expect(page).toContain(active.kid);
  expect(page).toContain(pending.kid);
  expect(page).toContain(`tvs keys rotate --data ${world.folder}`);
  const { issuer } = world.service.configuration.current().settings;
  expect(page).toMatch(/(\d) of \1 active teachers have a licence\. No extract was applied yet\./);
  expect(page).toContain(`<a href="${issuer}/v1/inter-agency/help/">The operator’s manual</a>`);
});

test("the console shows the evidence log with its newest checkpoint", async () => {
  const { driver, clock } = world.operator;
  const issuedAt = Math.floor(clock.now() / 1_000);
  await attest(driver, [
    anAttestation(1, { kid: world.service.configuration.current().keys.active.kid, issuedAt }),
  ]);
  await logWriterOf(world.operator, world.operator.stores.evidence).checkpoint();
  const page = await pageWith("WAT, 0 s ago");
  const row = /<th scope="row">teachers\.example\/log<.*?<\/tr>/.exec(page)?.[0] ?? "";
  expect(row).toMatch(/badge good">covered<.*2026-\d\d-\d\d \d\d:\d\d WAT, 0 s ago/);
  expect(page).toContain(`tvs log audit --data ${world.folder}`);
});

test("the console shows only the host of a webhook endpoint's URL, and the endpoint's last error", async () => {
  const { operator } = world;
  await operator.stores.webhooks.set({
    partnerId: "exam-body-a",
    url: "https://hooks.example/secret-path?key=swordfish",
    secret: new Uint8Array(8),
    at: 1,
  });
  await operator.driver.batch([
    {
      sql: "UPDATE webhook_endpoints SET failing_since = ?, last_error = 'BAD_STATUS 503'",
      args: [operator.clock.now() - 3 * 3_600_000],
    },
  ]);
  const page = await pageWith("hooks.example");
  expect(page).not.toContain("secret-path");
  expect(page).not.toContain("swordfish");
  expect(page).toContain("failing for 3 h");
  expect(page).toContain("BAD_STATUS 503. The endpoint answered with a status that is not 2xx.");
});

test("neither the console nor the metrics show a search term", async () => {
  await world.operator.stores.teachers.apply([aTeacherWrite("LA/2019/PRI/04417", { tId: 204417 })]);
  const asked = ["12345678901", "amina@example.org", "+2348031234567", "LA/2019/PRI/04417"];
  for (const term of asked) {
    await world.ask(`/teacher/verify-license?searchTerm=${encodeURIComponent(term)}`);
    await world.ask(`/${encodeURIComponent(term)}`);
    await world.ask(`/v1/inter-agency/lookup/by-reg-no/${encodeURIComponent(term)}`);
  }
  const session = await world.signIn();
  const shown = [await session.get("/"), await session.get("/live.json"), await world.call("/metrics")];
  for (const { status, text } of shown) {
    expect(status).toBe(200);
    for (const term of asked) {
      expect(text).not.toContain(term);
      expect(text).not.toContain(encodeURIComponent(term));
    }
  }
});

test("the console counts refused calls by partner and key", async () => {
  const { text: key, keyId } = await addPartner(world.operator, "refused-often", { scopes: ["batch"] });
  await world.service.configuration.refresh();
  const call = (path: string, credential: string) =>
    world.ask(`/v1/inter-agency/${path}`, {
      method: "POST",
      body: "{}",
      headers: { Authorization: `Bearer ${credential}` },
    });
  const section = async () => {
    const session = await world.signIn();
    const { sections } = JSON.parse((await session.get("/live.json")).text);
    return sections.refusals.replace(/<[^>]+>/g, " ").replace(/\s+/g, " ");
  };
  await call("eligibility-check", key);
  await call("eligibility-check", key);
  await call("batch", key);
  await call("batch", "nobody's");
  const shown = await section();
  expect(shown).toContain(
    `refused-often REQUEST_INVALID: 1, SCOPE_MISSING: 2 REQUEST_INVALID: 1, SCOPE_MISSING: 2 ${keyId} `,
  );
  expect(shown).toMatch(/no valid credential .*?CREDENTIAL_MISTYPED: [1-9].*? – /);
});

test("the console's live data has every section of the page, with a line for each chart", async () => {
  await world.ask("/teacher/verify-license?searchTerm=1");
  const session = await world.signIn();
  const read = async () => JSON.parse((await session.get("/live.json")).text).sections;
  const sections: Record<string, string> = await waitForAnswer(read, ({ charts }) =>
    /peak .+ at \d\d:\d\d WAT/.test(charts),
  );
  expect(Object.keys(sections).sort().join(" ")).toBe(
    "answers attention charts figures imports keys log quotas refusals statuses webhooks",
  );
  expect(sections.statuses).toContain("/teacher/verify-license");
  expect(sections.charts?.match(/<polyline class="s\d" points="[-\d., ]+"/g)?.length).toBeGreaterThanOrEqual(
    6,
  );
});

test("the console's page is compressed for a browser that accepts gzip", async () => {
  const { home, cookie } = await world.signIn();
  const { headers } = await world.call(home, { headers: { Cookie: cookie, "Accept-Encoding": "gzip" } });
  expect(headers["content-encoding"]).toBe("gzip");
});

test("the console says that the database does not answer, and still shows the last figures", async () => {
  const broken = await openTestConsole();
  try {
    const session = await broken.signIn();
    await session.get("/");
    await broken.operator.driver.batch([{ sql: "ALTER TABLE imports RENAME TO gone", args: [] }]);
    const read = () => session.get("/").then(({ text }) => text);
    const page = await waitForAnswer(read, (text) => text.includes("The database does not answer"));
    expect(page).toContain("tvs doctor --data");
    expect((await broken.call("/metrics")).text).toContain("\ntvs_store_up 0\n");
  } finally {
    await broken.close();
  }
});
