/** The alert rules, evaluated by promtool over the service's metrics. */

import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { manualTopics } from "../../src/manual.ts";
import { formatExposition, type MetricsSources } from "../../src/metrics/exposition.ts";
import { openTestConsole, type TestConsole } from "../harness/console.ts";
import { sharedFolder } from "../harness/folder.ts";
import { testTimeoutMs } from "../harness/program.ts";
import { type Change, checkInput, everythingWrong, hourMs, now } from "../harness/readings.ts";
import { anApiKey, aPartner } from "../harness/samples.ts";
import { parseExposition } from "../metrics/exposition-parser.ts";

setDefaultTimeout(testTimeoutMs);

const promtool = Bun.which("promtool");
const folder = sharedFolder();
const rulesFile = join(import.meta.dir, "../../data/alerts.yml");
type Rule = { alert: string; expr: string; labels: object; annotations: { summary: string; page: string } };
const { groups } = parse(readFileSync(rulesFile, "utf8")) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

/** The time of evaluation, in seconds: twenty scrapes after the first. */
const evaluatedAt = 600;
const scrapeSeconds = 30;

type Series = { series: string; values: string };
const steps = evaluatedAt / scrapeSeconds;
const steady = (series: string, value: number): Series => ({ series, values: `${value}+0x${steps}` });

/** Parses the series of an exposition, and moves their times to the time of evaluation. */
function seriesIn(text: string, at: number): Series[] {
  return [...parseExposition(text).values()].flatMap(({ samples }) =>
    samples.map(({ name, labels, value }) => {
      const since = name.endsWith("_timestamp_seconds") ? at / 1000 - evaluatedAt : 0;
      return steady(seriesName(name, labels), value - since);
    }),
  );
}

/** Makes the metrics of a service with these readings. */
async function scrape(world: TestConsole, change: Change, own: Partial<MetricsSources>): Promise<Series[]> {
  const { readings, keys, credentials } = checkInput(change);
  const current = () => ({ ...world.service.configuration.current(), keys, credentials });
  const text = await formatExposition({
    ...world.metrics,
    ...{ configuration: { current }, clock: { now: () => now }, startedAt: now },
    readings: async () => ({ readings, hasFailed: false }),
    history: { points: () => [] } as unknown as MetricsSources["history"],
    signingEngine: () => "any",
    signers: () => ({ running: 1, deaths: 0, lastDeathAt: null }),
    clockAheadMs: () => 0,
    isDiskRefusing: () => false,
    build: { version: "1", runtime: "any", environment: "live" },
    ...own,
  });
  return seriesIn(text, now);
}

function seriesName(name: string, labels: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries({ job: "tvs", instance: "one", ...labels });
  return `${name}{${pairs.map(([label, word]) => `${label}=${JSON.stringify(word)}`).join(",")}}`;
}

/** Evaluates the rules over series with promtool. @returns its complaint; empty if the expectation holds */
function evaluate(series: readonly Series[], expected: object): string {
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
      eval_time: `${evaluatedAt}s`,
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

/** A real service's scrape, some days after a partner got a certificate that lasts 100 days. */
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

test("each alert has a summary, a severity and a page of the manual", () => {
  const matching = (pattern: RegExp) => expect.stringMatching(pattern);
  const pages = new RegExp(`^(${manualTopics.map(({ name }) => name).join("|")})$`);
  for (const { alert, labels, annotations } of rules)
    expect([alert, labels, annotations]).toEqual([
      matching(/^Tvs[A-Z]\w+$/),
      { severity: matching(/^(critical|warning)$/) },
      { summary: matching(/^.{30,200}$/), page: matching(pages) },
    ]);
});

test("the manual lists every alert and no other", () => {
  const { text = "" } = manualTopics.find(({ name }) => name === "metrics") ?? {};
  const documented = [...text.matchAll(/^\| `(Tvs\w+)`/gm)].map(([, name]) => name);
  expect(documented).toEqual(rules.map(({ alert }) => alert));
});

const testWithPromtool = test.skipIf(promtool === null);

testWithPromtool("promtool accepts the alert rules, and no alert fires for a healthy service", () => {
  const { exitCode, stderr } = Bun.spawnSync([promtool ?? "", "check", "rules", rulesFile]);
  expect([exitCode, String(stderr)]).toEqual([0, ""]);
  for (const series of [calm, atFirst]) expect(evaluate(series, firing([]))).toBe("");
});

testWithPromtool(
  "the alerts about a credential's end and a due key rotation fire after a quarter of a year",
  () => {
    expect(evaluate(quarterLater, firing(["TvsCredentialEnds", "TvsKeyRotationDue"]))).toBe("");
  },
);

testWithPromtool("each alert fires for a service that fails or does not answer", () => {
  // The service gives its first 5xx after some scrapes, restarts, and is down in the last minutes.
  const failing = wrong
    .filter(({ series }) => !/^process_(start|open|max)/.test(series))
    .map((one) => (one.series.includes('status="503"') ? { ...one, values: `_x${steps - 6} 1+0x6` } : one));
  const process = [
    { series: seriesName("process_start_time_seconds"), values: `0+30x${steps}` },
    steady(seriesName("process_open_fds"), 81),
    steady(seriesName("process_max_fds"), 100),
    { series: seriesName("up"), values: `1+0x${steps - 4} 0+0x3` },
  ];
  const all = rules.map(({ alert }) => alert);
  expect(evaluate([...failing, ...process], firing(all.toSorted()))).toBe("");
});

testWithPromtool("an alert fires once for a failure that several nodes report", () => {
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
      eval_time: `${evaluatedAt}s`,
      exp_samples: [{ labels, value: 1 }],
    })),
  };
  expect(evaluate([...wrong, ...second], expected)).toBe("");
});
