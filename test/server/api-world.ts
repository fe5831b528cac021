import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openService } from "../../cli/open-service.ts";
import { readConfig } from "../../src/config.ts";
import type { Clock } from "../../src/domain/clock.ts";
import { mintApiKey } from "../../src/domain/credentials.ts";
import { type Partner, scopes } from "../../src/domain/partners.ts";
import { type Purpose, purposes } from "../../src/partner/contract.ts";
import { createApp } from "../../src/server/app.ts";
import type { AppOptions } from "../../src/server/service.ts";
import { aPartner, aTeacherWrite } from "../store/samples.ts";

/** Teachers that the world holds. */
export const known = { regNo: "LA/2019/PRI/04417", tId: 204417, nin: "12345678901" };
export const legacy = { regNo: "KN/2001/SEC/00007", tId: 7 };

/** A purpose that the partner `full` lacks. */
export const refusedPurpose: Purpose = "EMPLOYER_BACKGROUND_CHECK";

const partners: Record<string, Partial<Partner>> = {
  full: {
    scopes,
    purposes: purposes.filter((purpose) => purpose !== refusedPurpose),
    perMinute: 5_000,
    perDay: 5_000,
  },
  unscoped: { scopes: [], purposes },
  spent: { scopes, purposes, perMinute: 0 },
};

export type PartnerName = "full" | "unscoped" | "spent";
export type World = Awaited<ReturnType<typeof openWorld>>;

/**
 * The real service over a folder of its own, its clock standing still unless the test brings one, and the app that
 * `serve` listens with.
 */
export async function openWorld(options: Partial<AppOptions> & { clock?: Clock; accessLog?: boolean } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "tvs-api-"));
  const { clock = { now: () => Date.parse("2026-03-01T09:30:00.250Z") } } = options;
  const opened = await openService(
    { ...readConfig({ data: folder }, {}), accessLog: options.accessLog ?? false },
    { clock, defaultIssuer: "https://teachers.example" },
  );
  const { operator, service } = opened;
  await operator.stores.teachers.apply([
    aTeacherWrite(known.regNo, {
      tId: known.tId,
      ninIndex: operator.blindIndex.nin(known.nin),
      ninVerified: true,
    }),
    aTeacherWrite(legacy.regNo, { tId: legacy.tId, source: "legacy", licenseExpiryDate: "2020-12-31" }),
  ]);
  const keys = new Map<string, string>();
  for (const [name, changes] of Object.entries(partners)) {
    const { text, record } = mintApiKey(name, {
      kind: operator.keyKind,
      secrets: operator.secrets,
      now: clock.now(),
    });
    await operator.stores.partners.add({ ...aPartner(name), ...changes }, record);
    keys.set(name, text);
  }
  await service.live.refresh();
  const { hono: app, fastPath } = createApp(service, {
    publicPerMinute: 1_000_000,
    trustedProxies: [],
    ...options,
  });

  async function call(
    path: string,
    init: { as?: PartnerName; from?: string; method?: string; headers?: HeadersInit; body?: unknown } = {},
  ) {
    const headers = new Headers(init.headers);
    if (init.as !== undefined) headers.set("Authorization", `Bearer ${keys.get(init.as)}`);
    const body =
      init.body === undefined || typeof init.body === "string" ? init.body : JSON.stringify(init.body);
    const method = init.method ?? (body === undefined ? "GET" : "POST");
    const request = new Request(`http://service.test${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    const remoteAddress = init.from ?? "127.0.0.1";
    return app.fetch(request, { remoteAddress, tls: false, clientCertificate: null });
  }

  async function close() {
    await opened.close();
    await rm(folder, { recursive: true, force: true });
  }

  const { metrics } = opened;
  return {
    metrics,
    app,
    fastPath,
    keyOf: (name: PartnerName) => keys.get(name),
    call,
    close,
    operator,
    service,
  };
}
