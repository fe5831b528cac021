import { expect, test } from "bun:test";
import type { Configuration, Snapshot } from "../../src/domain/configuration.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { createEvent } from "../../src/domain/events.ts";
import { createFetchedEvents } from "../../src/domain/fetched-events.ts";
import { createIterators } from "../../src/domain/iterators.ts";
import type { Admitted } from "../../src/domain/verification.ts";
import { secrets } from "../harness/samples.ts";

const statuses = { license: "VALID", certificate: "VERIFIED", active: true } as const;
const facts = { tId: 1, regNo: "A/1/B/1", occurredAt: 1, statuses, previousStatus: "EXPIRED" } as const;
const rows = Array.from({ length: 100 }, (_, n) => {
  const { eventId, body } = createEvent("license.reinstated", facts);
  return { event: n + 1, toldAt: 1, eventId, content: body };
});

const snapshotOf = (kid: string) =>
  ({
    revision: 7,
    settings: { issuer: "https://x.example" },
    keys: { active: { kid } },
  }) as unknown as Snapshot;
const asked = (partnerId: string): Admitted =>
  ({ snapshot: snapshotOf("old"), authenticated: { partner: { partnerId } } }) as unknown as Admitted;

/** Pages of a store at some revision, by a signer that is told of each call. */
function openPages(
  sign: (inputs: readonly string[]) => Promise<string[]>,
  { revision = 7, kid = "old" } = {},
) {
  const configuration = { refresh: async () => snapshotOf(kid) } as unknown as Configuration;
  return createFetchedEvents({
    told: { page: async (_, { limit }) => ({ revision, events: rows.slice(0, limit) }) },
    signer: { sign: (_, inputs) => sign(inputs) },
    configuration,
    iterators: createIterators(secrets),
  });
}

const page = { after: null, limit: 100 };

test("a page is signed a few at a time, and one page of a partner at a time", async () => {
  const atOnce = new Map<string, number>();
  let [most, largest, all] = [0, 0, 0];
  const pages = openPages(async (inputs) => {
    const { aud } = JSON.parse(Buffer.from(inputs[0]?.split(".")[1] ?? "", "base64url").toString());
    atOnce.set(aud, (atOnce.get(aud) ?? 0) + 1);
    most = Math.max(most, atOnce.get(aud) ?? 0);
    all = Math.max(
      all,
      [...atOnce.values()].reduce((sum, one) => sum + one),
    );
    largest = Math.max(largest, inputs.length);
    await new Promise((resolve) => setImmediate(resolve));
    atOnce.set(aud, (atOnce.get(aud) ?? 0) - 1);
    return inputs.map(() => "s");
  });
  const got = await Promise.all(["a", "a", "a", "b"].map((partnerId) => pages.page(asked(partnerId), page)));
  expect(got.map((one) => [one?.data.length, one?.done])).toEqual(Array(4).fill([100, true]));
  expect({ most, all, largest }).toEqual({ most: 1, all: 2, largest: 16 });
});

test("a page that a change or a rotation has overtaken is made anew, and one that cannot be signed fails", async () => {
  const gone = () => Promise.reject(new TvsError("SIGNER_UNAVAILABLE", "no such key"));
  const good = async (inputs: readonly string[]) => inputs.map(() => "s");
  expect(await openPages(good, { revision: 8 }).page(asked("a"), page)).toBeNull();
  expect(await openPages(gone, { kid: "new" }).page(asked("a"), page)).toBeNull();
  await expect(openPages(gone).page(asked("a"), page)).rejects.toMatchObject({ code: "SIGNER_UNAVAILABLE" });
});
