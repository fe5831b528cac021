/** The rules that operators copy, judged by Prometheus's own tool over what the service's metrics say. */

import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { topics } from "../../src/manual.ts";
import { createExposition, type Sources } from "../../src/metrics/exposition.ts";
import { openTestConsole, type TestConsole } from "../harness/console.ts";
import { withTempDir } from "../harness/folder.ts";
import { patienceMs } from "../harness/program.ts";
import { type Change, checkInput, everythingWrong, hourMs, now } from "../harness/readings.ts";
import { anApiKey, aPartner } from "../harness/samples.ts";
import { parseExposition } from "../metrics/exposition-parser.ts";

setDefaultTimeout(patienceMs);

const promtool = Bun.which("promtool");
const rulesFile = join(import.meta.dir, "../../data/alerts.yml");
type Rule = { alert: string; expr: string; labels: object; annotations: { summary: string; page: string } };
const { groups } = parse(readFileSync(rulesFile, "utf8")) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

/** When the rules are judged, in seconds: twenty scrapes after the first. */
const judgedAt = 600;
const scrapeSeconds = 30;

type Series = { series: string; values: string };
const steady = (series: string, value: number): Series => ({
  series,
  values: `${value}+0x${judgedAt / scrapeSeconds}`,
});

/** The series of an exposition, its times moved so that it is now when the rules are judged. */
function seriesIn(text: string, at: number): Series[] {
  return [...parseExposition(text).values()].flatMap(({ samples }) =>
    samples.map(({ name, labels, value }) => {
      const since = name.endsWith("_timestamp_seconds") ? at / 1000 - judgedAt : 0;
      return steady(seriesName(name, labels), value - since);
    }),
  );
}

/** What a service tells that is as the readings say. */
async function scrape(world: TestConsole, change: Change, own: Partial<Sources>): Promise<Series[]> {
  const { readings, keys, credentials } = checkInput(change);
  const current = () => ({ ...world.service.configuration.current(), keys, credentials });
  const { text } = createExposition({
    ...world.metrics,
    ...{ configuration: { current }, clock: { now: () => now }, startedAt: now },
    readings: async () => ({ readings, hasFailed: false }),
    history: { points: () => [] } as unknown as Sources["history"],
    signingEngine: () => "any",
    signers: () => ({ running: 1, deaths: 0, lastDeathAt: null }),
    clockAheadMs: () => 0,
    isDiskRefusing: () => false,
    build: { version: "1", runtime: "any", environment: "live" },
    ...own,
  });
  return seriesIn(await text(), now);
}

function seriesName(name: string, labels: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries({ job: "tvs", instance: "one", ...labels });
  return `${name}{${pairs.map(([label, word]) => `${label}=${JSON.stringify(word)}`).join(",")}}`;
}

/** Runs promtool on rules and series. @returns what it has said; empty when it agrees with what is expected */
function judgeRules(folder: string, series: readonly Series[], expected: object): string {
  const file = join(folder, "cases.yml");
  const one = { interval: `${scrapeSeconds}s`, input_series: series, ...expected };
  writeFileSync(file, JSON.stringify({ rule_files: [rulesFile], evaluation_interval: "30s", tests: [one] }));
  const { exitCode, stdout, stderr } = Bun.spawnSync([promtool ?? "", "test", "rules", file]);
  return exitCode === 0 ? "" : `${stdout}${stderr}`;
}

const firing = (names: readonly string[]) => ({
  promql_expr_test: [
    {
      expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
      eval_time: `${judgedAt}s`,
      exp_samples: names.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
    },
  ],
});

const body = "exam-body-a";
const certificate = { partnerId: body, fingerprint: "ab", subject: "CN=a", validFrom: 0, addedAt: 0 };
const credentials = (endsInDays: number) => ({
  partners: new Map([[body, aPartner(body)]]),
  apiKeys: new Map(),
  certificates: new Map([["ab", { ...certificate, validTo: now + endsInDays * 24 * hourMs }]]),
});

/** A real service's own scrape, some days after a partner was given a certificate that lasts a hundred. */
async function scrapeAfter(world: TestConsole, days: number): Promise<Series[]> {
  world.forward(days * 24 * hourMs);
  const { text } = await world.call("/metrics");
  world.forward(-days * 24 * hourMs);
  return seriesIn(text, now + days * 24 * hourMs);
}

let atFirst: Series[];
let quarterLater: Series[];
let calm: Series[];
let wrong: Series[];
beforeAll(async () => {
  const world = await openTestConsole();
  await world.ask("/v1/inter-agency/health");
  const { partners } = world.operator.stores;
  await partners.add(aPartner(body), anApiKey(body, "key"));
  await partners.addCertificate({ ...certificate, validTo: now + 100 * 24 * hourMs });
  await world.service.configuration.refresh();
  [atFirst, quarterLater] = [await scrapeAfter(world, 0), await scrapeAfter(world, 91)];
  calm = await scrape(world, { credentials: credentials(15) }, {});
  calm.push(steady(seriesName("up"), 1));
  world.metrics.counters.requested("/v1/inter-agency/eligibility-check", "POST", 503, 1);
  const change = { ...everythingWrong, appliedAt: now - 36 * 24 * hourMs, credentials: credentials(13) };
  const { readings } = checkInput(change);
  const hasFailed = async () => ({ readings, hasFailed: true });
  const failed = { readings: hasFailed, isDiskRefusing: () => true, clockAheadMs: () => 3_000 };
  wrong = await scrape(world, change, failed);
  await world.close();
});

test("the alerts each say what to do, how bad it is, and which page of the manual says more", () => {
  const pages = topics.map(({ name }) => name).join("|");
  for (const { alert, labels, annotations } of rules) {
    expect([alert, labels, annotations]).toEqual([
      expect.stringMatching(/^Tvs[A-Z]\w+$/),
      { severity: expect.stringMatching(/^(critical|warning)$/) },
      {
        summary: expect.stringMatching(/^.{30,200}$/),
        page: expect.stringMatching(new RegExp(`^(${pages})$`)),
      },
    ]);
  }
});

test("the alerts stand in the manual, every one and no other", () => {
  const { text = "" } = topics.find(({ name }) => name === "metrics") ?? {};
  const documented = [...text.matchAll(/^\| `(Tvs\w+)`/gm)].map(([, name]) => name);
  expect(documented).toEqual(rules.map(({ alert }) => alert));
});

test.skipIf(promtool === null)("the alerts are rules, by promtool's own judgement", () => {
  const { exitCode, stderr } = Bun.spawnSync([promtool ?? "", "check", "rules", rulesFile]);
  expect([exitCode, String(stderr)]).toEqual([0, ""]);
});

test.skipIf(promtool === null)("the alerts are silent over a service that is as it should be", () =>
  withTempDir(async (folder) => {
    for (const series of [calm, atFirst]) expect(judgeRules(folder, series, firing([]))).toBe("");
  }),
);

test.skipIf(promtool === null)(
  "the alerts say after a quarter that the key and a certificate of a real service are due",
  () =>
    withTempDir(async (folder) => {
      expect(judgeRules(folder, quarterLater, firing(["TvsCredentialEnds", "TvsKeyRotationDue"]))).toBe("");
    }),
);

test.skipIf(promtool === null)("each alert fires over a service that fails or is silent", () =>
  withTempDir(async (folder) => {
    const steps = judgedAt / scrapeSeconds;
    // Its first 5xx comes after the service was scraped for a while; it is restarted, and gone for the last minutes.
    const told = wrong
      .filter(({ series }) => !/^process_(start|open|max)/.test(series))
      .map((one) => (one.series.includes('status="503"') ? { ...one, values: `_x${steps - 6} 1+0x6` } : one));
    const process = [
      { series: seriesName("process_start_time_seconds"), values: `0+30x${steps}` },
      steady(seriesName("process_open_fds"), 81),
      steady(seriesName("process_max_fds"), 100),
      { series: seriesName("up"), values: `1+0x${steps - 4} 0+0x3` },
    ];
    const all = rules.map(({ alert }) => alert);
    expect(judgeRules(folder, [...told, ...process], firing(all.toSorted()))).toBe("");
  }),
);

test.skipIf(promtool === null)("the alerts fire once for a failure of several nodes", () =>
  withTempDir(async (folder) => {
    const second = wrong.map(({ series, values }) => ({
      series: series.replace('instance="one"', 'instance="two"'),
      values: series.includes('status="503"') ? "0+1x20" : values,
    }));
    const expected = {
      promql_expr_test: [
        ["TvsServerErrors", '{instance="two"}'],
        ["TvsWebhooksDead", '{partner="failing"}'],
        ["TvsWebhooksLate", '{partner="failing"}'],
        ["TvsCredentialEnds", '{partner="exam-body-a"}'],
      ].map(([name, labels]) => ({
        expr: `count by (instance, partner) (ALERTS{alertname="${name}"})`,
        eval_time: `${judgedAt}s`,
        exp_samples: [{ labels, value: 1 }],
      })),
    };
    expect(judgeRules(folder, [...wrong, ...second], expected)).toBe("");
  }),
);
