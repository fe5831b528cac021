import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { metricFamilies } from "../../src/metrics/counters.ts";
import { routes } from "../../src/routes.ts";
import { createImportStore } from "../../src/store/imports.ts";
import { sharedTestConsole } from "../harness/console.ts";
import { beginImport } from "../harness/imports.ts";
import { anApiKey, aPartner, aTeacherWrite } from "../harness/samples.ts";
import { type ParsedFamily, parseExposition } from "./exposition-parser.ts";

const root = join(import.meta.dir, "../..");
const read = (name: string) => readFileSync(join(root, name), "utf8");

const [partner, lookup] = ["exam-body-a", { route: "/teacher/verify-license", method: "GET" }];
const world = sharedTestConsole();
let scraped: Map<string, ParsedFamily>;
beforeAll(async () => {
  const { operator } = world;
  // Stored before the endpoint exists, so that the endpoint has no deliveries of their events.
  await operator.stores.teachers.apply([
    aTeacherWrite("V/A/L/1"),
    aTeacherWrite("N/O/N/1", { licenseExpiryDate: null }),
    aTeacherWrite("D/E/A/1", { active: false }),
  ]);
  await operator.stores.partners.add(aPartner(partner), anApiKey(partner, "key-1"));
  const endpoint = { partnerId: partner, url: "https://hooks.example/", secret: new Uint8Array(8), at: 1 };
  await operator.stores.webhooks.set(endpoint);
  const imports = createImportStore(operator.driver, world.folder);
  const run = await beginImport(imports, { unchanged: 3 });
  const end = { rows: 4, rejections: null, rejected: 1, warnings: 0, codes: [], fields: [] };
  await imports.finish(run, { ...end, at: Date.parse("2026-03-01T09:00:00Z") });
  const refused = await beginImport(imports);
  await imports.finish(refused, { ...end, at: operator.clock.now() });
  await world.ask(`${lookup.route}?searchTerm=1`);
  await world.ask(lookup.route);
  await world.ask("/v1/inter-agency/health");
  scraped = parseExposition((await world.call("/metrics")).text);
});

const samplesOf = (name: string) => scraped.get(name)?.samples ?? [];
const figureOf = (name: string, labels: Record<string, string> = {}) =>
  samplesOf(name).find((one) => Object.entries(labels).every(([label, value]) => one.labels[label] === value))
    ?.value;

test("/metrics is Prometheus text with exactly the metrics of the manual", () => {
  expect([...scraped.keys()].sort()).toEqual(metricFamilies.map(({ name }) => name).sort());
  for (const { name, help, type } of metricFamilies) expect(scraped.get(name)).toMatchObject({ help, type });
});

test("each sample of /metrics has only labels that the manual names, except the label le of histograms", () => {
  for (const { name, labelNames } of metricFamilies) {
    const labels = samplesOf(name).flatMap((one) => Object.keys(one.labels));
    const others = labels.filter((label) => label !== "le" && !labelNames.includes(label));
    expect([name, others]).toEqual([name, []]);
  }
});

const at = Date.parse("2026-03-01T09:00:00Z") / 1000;
const startedAt = at + 1_800;
// biome-ignore format: a table reads better in rows
test.each<[string, Record<string, string>, number | undefined]>([
  ["tvs_http_requests_total", { ...lookup, status: "200" }, 1],
  ["tvs_http_requests_total", { ...lookup, status: "400" }, 1],
  ["tvs_answers_total", { operation: "public-lookup", status: "NOT_FOUND" }, 1],
  ["tvs_quota_limit", { partner, window: "minute" }, 10],
  ["tvs_quota_used", { partner, window: "day" }, 0],
  ["tvs_webhook_endpoint_failing", { partner }, 0],
  ["tvs_key_age_seconds", { state: "active" }, 0],
  ["tvs_key_rotation_due", {}, 0],
  ["tvs_store_up", {}, 1],
  ["tvs_build_info", { environment: "live" }, 1],
  ["tvs_clock_ahead_seconds", {}, 0],
  ["tvs_log_leaves", { state: "sequenced" }, 0],
  ["tvs_log_leaves", { state: "waiting" }, 0],
  ["tvs_log_uncovered_seconds", {}, 0],
  ["tvs_log_checkpoint_leaves", {}, 0],
  ["tvs_log_checkpoint_timestamp_seconds", {}, undefined],
  ["process_start_time_seconds", {}, startedAt],
  ["tvs_import_last_finished_timestamp_seconds", {}, at],
])("the sample of %s with the labels %j in /metrics is %p", (name, labels, figure) => {
  expect(figureOf(name, labels)).toBe(figure);
});

test("/metrics has the durations by route, and the processor time and memory of the process", () => {
  const all = samplesOf("tvs_http_request_duration_seconds");
  const durations = all.filter(({ labels }) => labels.route === lookup.route);
  const counted = durations.filter(({ name }) => name.endsWith("_count"));
  expect(counted.map(({ value }) => value)).toEqual([2]);
  const bounds = durations.map(({ labels }) => labels.le);
  const exact = Array.from({ length: 17 }, (_, step) => String((0.125 * 2 ** step) / 1000));
  expect(bounds.slice(0, 18)).toEqual([...exact, "+Inf"]);
  expect(figureOf("process_cpu_seconds_total")).toBeGreaterThan(0);
  expect(figureOf("process_resident_memory_bytes")).toBeGreaterThan(1e6);
});

test("/metrics counts the active teachers by licence status", () => {
  const samples = samplesOf("tvs_teachers").map(({ labels, value }) => [labels.status, value]);
  expect(Object.fromEntries(samples)).toEqual({ VALID: 1, EXPIRED: 0, NOT_FOUND: 1, REVOKED: 0 });
});

test("every route has its own counts, except the routes of scripts, styles and images", () => {
  const isFile = (path: string) => /\/(?:\{file\}|[^/]+\.(?:js|css|svg|txt)|logo)$/.test(path);
  const expected = routes.map(({ path }) => path).filter((path) => !isFile(path));
  expect(expected.length).toBeGreaterThan(10);
  expect([...world.metrics.counters.routes.keys()]).toEqual(["other", ...new Set(expected)]);
});

test("the Grafana dashboard uses exactly the metrics of the service", () => {
  const asked = [...read("data/grafana-dashboard.json").matchAll(/\b(?:tvs|process)_[a-z_]+/g)].map(
    ([name]) => name,
  );
  const series = metricFamilies.flatMap(({ name, type }) =>
    type === "histogram" ? ["_bucket", "_sum", "_count"].map((suffix) => name + suffix) : [name],
  );
  expect([...new Set(asked)].filter((name) => !series.includes(name))).toEqual([]);
  expect(series.filter((name) => !asked.includes(name))).toEqual([]);
});

test("the alert rules use only metrics that the service has", () => {
  const asked = [...read("data/alerts.yml").matchAll(/\b(?:tvs|process)_[a-z_]+/g)].map(([name]) => name);
  expect([...new Set(asked)].filter((name) => !scraped.has(name))).toEqual([]);
});
