/** The public documents of the status lists (decision D15.1): each list, the list of lists, the offline pack. */

import { Hono } from "hono";
import { isoFromSeconds } from "../domain/clock.ts";
import { TvsError } from "../domain/errors.ts";
import { type StatusLists, statusListPath, statusListTtlSeconds } from "../domain/status-list/lists.ts";
import { type HonoEnv, readPathParameter } from "../http/context.ts";
import type { Service } from "../service.ts";
import { createOneSecondCache, type EvidenceLogDocuments, throwNotKnown } from "./evidence-api.ts";
import type { ApiHandler, HonoContext } from "./public-api.ts";
import { makeDocument, type PublicDocument, sendDocument } from "./public-document.ts";

export type StatusListDocuments = ReturnType<typeof createStatusListDocuments>;

type Sources = Pick<Service, "statusLists" | "configuration" | "isClockWrong" | "clock">;

type Pack = { readonly of: readonly unknown[]; readonly at: number; readonly document: PublicDocument };

/** Makes the status lists' documents. The database is read at most once a second. @throws TvsError NOT_KNOWN */
export function createStatusListDocuments(sources: Sources, evidence: EvidenceLogDocuments) {
  const { configuration, clock } = sources;
  let served = { lists: null as StatusLists | null, documents: new Map<string, PublicDocument>() };
  let pack: Pack | undefined;

  const newest = createOneSecondCache(async () => {
    // A wrong clock gives a list a wrong `iat`: verifiers would refuse the list, or accept it for days too long.
    if (sources.isClockWrong())
      throw new TvsError("CLOCK_WRONG", "this machine's clock is wrong; see the log");
    const lists = await sources.statusLists.newest();
    if (served.lists !== lists) served = { lists, documents: documentsOf(lists) };
    return served;
  }, clock);

  return {
    async list(number: string): Promise<PublicDocument> {
      const { documents } = await newest();
      const uri = `${configuration.current().settings.issuer}${statusListPath}/${number}`;
      return documents.get(uri) ?? throwNotKnown("there is no status list of this number");
    },
    /** Returns the URLs of all lists (draft-ietf-oauth-status-list-21, 9). */
    async aggregation(): Promise<PublicDocument> {
      const { lists } = await newest();
      if (lists === null) return throwNotKnown("this service has no status lists");
      return makeDocument(JSON.stringify({ status_lists: [...lists.tokens.keys()] }), "application/json");
    },
    /** Returns the file with which a verifier without a network checks envelopes. */
    async pack(): Promise<PublicDocument> {
      const [{ lists }, checkpoint] = await Promise.all([newest(), evidence.newest()]);
      const { settings, jwks, keyHistory } = configuration.current();
      const { issuer } = settings;
      const of = [lists, checkpoint?.body, jwks, keyHistory, issuer];
      const now = clock.now();
      const isKept =
        pack?.of.every((part, n) => part === of[n]) && Math.abs(now - pack.at) < statusListTtlSeconds * 1000;
      if (pack !== undefined && isKept) return pack.document;
      const statusLists = [...(lists?.tokens.values() ?? [])];
      const madeAt = isoFromSeconds(Math.floor(now / 1000));
      const note = checkpoint?.body ?? null;
      const content = { issuer, madeAt, jwks: JSON.parse(jwks), keyHistory, statusLists, checkpoint: note };
      pack = { of, at: now, document: makeDocument(JSON.stringify(content), "application/json") };
      return pack.document;
    },
  };
}

function documentsOf(lists: StatusLists | null): Map<string, PublicDocument> {
  const tokens = [...(lists?.tokens ?? [])];
  return new Map(tokens.map(([uri, token]) => [uri, makeDocument(token, "application/statuslist+jwt")]));
}

/** Makes the handler that sends one document. Caches may keep the document for the `ttl` of a status list. */
function createDocumentHandler(
  find: (documents: StatusListDocuments, c: HonoContext) => Promise<PublicDocument>,
): ApiHandler {
  const cacheControl = `public, max-age=${statusListTtlSeconds}`;
  return async (c) => sendDocument(c, await find(c.get("parts").statusLists, c), cacheControl);
}

const aggregation = createDocumentHandler((documents) => documents.aggregation());
const list = createDocumentHandler((documents, c) => documents.list(readPathParameter(c, "list")));
const pack = createDocumentHandler((documents) => documents.pack());

export const statusListApi = new Hono<HonoEnv>()
  .get("/status", aggregation)
  .get("/status/:list", list)
  .get("/offline-pack", pack);
