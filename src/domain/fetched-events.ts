/** The events that partners fetch, a page at a time, each with a signed token (RFC 8417) by which they prove what they were told. */

import { eventTokenType, eventUrn, type WebhookEvent } from "../partner/contract.ts";
import { type Configuration, type Snapshot, unlessRotated } from "./configuration.ts";
import { base64url, type Signer } from "./envelopes.ts";
import { TvsError } from "./errors.ts";
import type { Iterators } from "./iterators.ts";
import { actAndRest, createSerials } from "./serial.ts";
import type { ToldEvent, ToldStore } from "./told.ts";
import type { Admitted } from "./verification.ts";

/** Behind which event a reader is: its place in the order, and its id, by which another one in its place is told. */
export type EventPlace = readonly [event: number, eventId: string];

type FetchedEvent = WebhookEvent & { readonly set: string };
type FetchedPage = {
  readonly data: readonly FetchedEvent[];
  readonly end: EventPlace | null;
  readonly done: boolean;
};

/** By which the iterators of this list are told from others'. */
export const eventsList = "events";
const beforeAll: EventPlace = [0, ""];
/** Pages of one partner that a thread has in hand, each with its five hundred events. */
const pagesAtOnce = 8;
/** As many as are asked of the signer at once: what others ask for goes between. */
const signedAtOnce = 16;

export function createFetchedEvents({
  told,
  signer,
  configuration,
  iterators,
}: {
  readonly told: Pick<ToldStore, "page">;
  readonly signer: Signer;
  readonly configuration: Configuration;
  readonly iterators: Iterators;
}) {
  /** One page of a partner is signed at a time, however many it asks for. */
  const inTurn = createSerials(pagesAtOnce);

  return {
    /**
     * The events behind a place, in the order of their commits. The key that signs was active when they were read, so
     * none was committed after the key's end.
     * @returns null when what the caller was judged by has changed meanwhile
     * @throws TvsError EVENTS_GONE when that place is not, or no more, one of this partner's; OVERLOADED, SIGNER_UNAVAILABLE
     */
    async page(
      { snapshot, authenticated }: Admitted,
      { after, limit }: { readonly after: EventPlace | null; readonly limit: number },
    ): Promise<FetchedPage | null> {
      const { partnerId } = authenticated.partner;
      const [from, fromId] = after ?? beforeAll;
      const isBegun = from > 0;
      const { revision, events } = await told.page(partnerId, { from, limit: limit + (isBegun ? 2 : 1) });
      if (revision !== snapshot.revision) return null;
      if (isBegun && (events[0]?.event !== from || events[0].eventId !== fromId)) {
        const oldest = iterators.seal(partnerId, eventsList, beforeAll);
        throw new TvsError("EVENTS_GONE", "what follows this iterator is no longer kept; go on from oldest", {
          members: { oldest },
        });
      }
      const behind = isBegun ? events.slice(1) : events;
      const shown = behind.slice(0, limit);
      const sign = () => seal(shown, { snapshot, audience: partnerId, signer });
      const data =
        shown.length === 0 ? [] : await inTurn(partnerId, () => unlessRotated(configuration, snapshot, sign));
      if (data === null) return null;
      const last = shown.at(-1);
      const end = last === undefined ? null : ([last.event, last.eventId] as const);
      return { data, end, done: behind.length <= limit };
    },
  };
}

/** Each with its token, some at a time, with rests between: a long page takes half of a thread at most. */
async function seal(
  events: readonly ToldEvent[],
  { snapshot, audience, signer }: { snapshot: Snapshot; audience: string; signer: Signer },
): Promise<FetchedEvent[]> {
  const { kid } = snapshot.keys.active;
  const header = base64url(JSON.stringify({ alg: "RS256", kid, typ: eventTokenType }));
  const sealed: FetchedEvent[] = [];
  for (let from = 0; from < events.length; from += signedAtOnce) {
    const some = events.slice(from, from + signedAtOnce).map(({ content, toldAt }) => {
      const event = JSON.parse(content) as WebhookEvent;
      const claims = {
        ...{
          iss: snapshot.settings.issuer,
          aud: audience,
          iat: Math.floor(toldAt / 1000),
          jti: event.eventId,
        },
        sub_id: { format: "opaque", id: event.data.regNo },
        events: { [`${eventUrn}${event.eventType}`]: event.data },
      };
      return { event, input: `${header}.${base64url(JSON.stringify(claims))}` };
    });
    const inputs = some.map(({ input }) => input);
    const sign = () => signer.sign(kid, inputs, { bulk: true });
    const isLast = from + signedAtOnce >= events.length;
    const signatures = await (isLast ? sign() : actAndRest(sign));
    for (const [index, { event, input }] of some.entries())
      sealed.push({ ...event, set: `${input}.${signatures[index]}` });
  }
  return sealed;
}
