/** The real service with everything that requests may name, and a partner for each sequence of requests. */

import { logWriterOf } from "../../cli/evidence/open-evidence.ts";
import { leafHashOf } from "../../src/domain/evidence/tree.ts";
import { type Partner, scopes } from "../../src/domain/partners.ts";
import { queueTestEvent, setWebhook } from "../../src/domain/webhooks.ts";
import { purposes } from "../../src/partner/contract.ts";
import { sendToApp } from "../harness/answer.ts";
import { aClock } from "../harness/clock.ts";
import { addPartner, knownTeacher, openTestService } from "../harness/service.ts";
import type { CredentialKind, DrawnRequest } from "./http-requests.ts";
import type { PlaceholderKind } from "./http-values.ts";

export type FuzzedWorld = Awaited<ReturnType<typeof openFuzzedWorld>>;

export type SentRequest = Omit<DrawnRequest, "caller"> & { readonly key: string | null };

export async function openFuzzedWorld() {
  const clock = aClock("2026-03-01T09:30:00.250Z");
  const service = await openTestService({ clock });
  const { operator } = service;
  // Webhooks are held, so that no delivery is being sent while a request asks about it.
  await operator.stores.settings.write({
    allow_private_webhooks: "on",
    hold_webhooks: "true",
    status_list: "on",
  });

  async function partner(partnerId: string, terms: Partial<Partner>): Promise<string> {
    const all = { scopes, purposes: purposes.slice(1), perMinute: 10_000, perDay: 10_000 };
    return (await addPartner(operator, partnerId, { ...all, ...terms })).text;
  }
  const others: Partial<Record<CredentialKind, string | undefined>> = {
    unscoped: service.keyOf("unscoped"),
    spent: service.keyOf("spent"),
    noDay: await partner("no-day", { perDay: 0 }),
    plain: await partner("plain", { watchLimit: 1, purposes: [], batchCost: "item" }),
  };
  await service.service.configuration.refresh();
  const first = await service.call("/v1/inter-agency/lookup/by-tid/1", { as: "full" });
  const { signature } = (await first.json()) as { signature: string };
  await logWriterOf(operator, operator.stores.evidence).checkpoint();
  const leaf = Buffer.from(leafHashOf(signature)).toString("hex");
  const { webhooks, partners: records } = operator.stores;
  const hooks = { webhooks, partners: records, secrets: operator.secrets, clock };
  let partners = 0;

  /** Begins a sequence with a new partner, which has all rights and two deliveries, and remembers ids of answers. */
  async function begin() {
    const partnerId = `asker-${++partners}`;
    const own = await partner(partnerId, { watchLimit: 50 });
    await setWebhook(hooks, { partnerId, url: "https://hooks.example/", check: async () => {} });
    const sent = [await queueTestEvent(hooks, partnerId), await queueTestEvent(hooks, partnerId)];
    await service.service.configuration.refresh();
    const kept: Record<PlaceholderKind, string[]> = {
      deliveryId: sent.map(({ deliveryId }) => deliveryId),
      iterator: [],
      etag: [],
      leafHash: [leaf],
    };
    const fill = (text: string) =>
      text.replace(
        /\((deliveryId|iterator|leafHash|etag)\.(\d)\)/g,
        (all, kind: PlaceholderKind, n: string) => {
          const values = kept[kind];
          return values[Number(n) % (values.length + 1)] ?? all;
        },
      );

    function keyOf(caller: CredentialKind): string | null {
      if (caller === "none") return null;
      return caller === "cut" ? own.slice(0, -1) : (others[caller] ?? own);
    }

    function fillIn({ caller, ...asked }: DrawnRequest): SentRequest {
      const key = keyOf(caller);
      const headers: Record<string, string> = {};
      for (const [name, value] of Object.entries(asked.headers)) headers[name] = fill(value);
      if (caller === "basic") headers.Authorization = `Basic ${key}`;
      else if (caller === "inHeader") headers["x-agency-api-key"] = key ?? "";
      else if (key !== null) headers.Authorization = `Bearer ${key}`;
      if (caller === "both") headers["x-agency-api-key"] = "x";
      return { ...asked, key, url: fill(asked.url), headers };
    }

    /** Remembers an answer's ids, for later requests. */
    function learn(response: Response, text: string): void {
      const etag = response.headers.get("ETag");
      if (etag !== null) kept.etag.push(etag);
      // The examples of the document have ids that do not exist.
      if (!response.headers.has("X-RateLimit-Limit")) return;
      for (const [, kind, value] of text.matchAll(/"(deliveryId|iterator)":"([^"]+)"/g)) {
        if (!kept[kind as PlaceholderKind].includes(value as string))
          kept[kind as PlaceholderKind].push(value as string);
      }
    }
    return { fillIn, learn };
  }

  /** @returns the answer and its unpacked body */
  async function ask({ method, url, headers, body }: SentRequest): Promise<[Response, string]> {
    clock.add(20);
    const init = { method, headers, ...(body === null ? {} : { body: new Uint8Array(body) }) };
    // With a host, because a path that begins with two slashes would be read as one.
    const response = await sendToApp(service.app, `http://service.test${url}`, init);
    const bytes = new Uint8Array(await response.arrayBuffer());
    const isPacked = response.headers.get("Content-Encoding") === "gzip" && bytes.length > 0;
    return [response, new TextDecoder().decode(isPacked ? Bun.gunzipSync(bytes) : bytes)];
  }
  return { ...service, known: knownTeacher, begin, ask };
}
