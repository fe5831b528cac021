/** The client of the partner API. With the option `verify`, it returns a signed answer only if the answer is valid. */

import type {
  EligibilityCheckRequest,
  Events,
  Health,
  Identifier,
  Me,
  PublicLookup,
  RosterRequest,
  WatchCount,
  Watched,
} from "./api-types.ts";
import { toHex } from "./bytes.ts";
import type { Answer, ClientVerifyOptions } from "./client-answers.ts";
import { createAnswerVerifier, findAnswerMismatch, findStatementMismatch } from "./client-answers.ts";
import type { ApiCall, CallInfo, Connection, ConnectionOptions, ReceivedAnswer } from "./client-calls.ts";
import { createUnusableAnswerError, sendApiCall } from "./client-calls.ts";
import type { SignedEnvelope, SignedStatement } from "./contract.ts";
import { isStatement } from "./jws.ts";
import { Refusal } from "./reasons.ts";
import { isJsonObject, type JsonObject, type JsonValue, readStrictJson } from "./strict-json.ts";
import type { StatementVerification } from "./verification.ts";
import { verifyEnvelope } from "./verify-envelope.ts";
import { verifyStatement } from "./verify-statement.ts";

export type ClientOptions = ConnectionOptions & {
  /** How the client verifies answers before it returns them. Without `verify`, answers are returned unverified. */
  readonly verify?: ClientVerifyOptions;
};

export type CallOptions = {
  /** Aborts the call and the call's retries; the call then fails with the signal's reason. */
  readonly signal?: AbortSignal;
};

export type CheckOptions = CallOptions & {
  /** Your own key, 1 to 255 characters, to repeat the call in a later process. By default each call gets a new key. */
  readonly idempotencyKey?: string;
};

/** The page of a list to get: the first page by default, or the page after the `iterator` in `after`. */
export type PageOptions = CallOptions & {
  readonly after?: string | null;
  /** The most entries of a page, from 1 to 500; 100 by default. */
  readonly limit?: number;
};

/** One answer with its signed envelope as evidence. */
export type CheckAnswer = Answer & {
  /** The envelope exactly as received. Keep this text, with which the answer can be verified years later. */
  readonly text: string;
  readonly call: CallInfo;
};

/** The answers to a batch, in the order of its items. */
export type BatchAnswer = {
  readonly answers: readonly Answer[];
  /** The whole batch response exactly as received. */
  readonly text: string;
  readonly call: CallInfo;
};

/** One statement: a signed answer about a list of teachers. */
export type StatementAnswer = {
  readonly statement: SignedStatement;
  /** The outcome of the verification; null without the option `verify`. */
  readonly verification: StatementVerification | null;
  /** The statement exactly as received. Keep this text, with which the statement can be verified years later. */
  readonly text: string;
  readonly call: CallInfo;
};

/** The calls of the partner API. Every method throws `ClientError` if it gets no reliable answer. */
export type Client = {
  checkEligibility(request: EligibilityCheckRequest, options?: CheckOptions): Promise<CheckAnswer>;
  /** Makes up to 100 eligibility checks in one call. */
  checkBatch(items: readonly EligibilityCheckRequest[], options?: CheckOptions): Promise<BatchAnswer>;
  /** Gets one signed statement over a whole list of up to 2,000 teachers. */
  stateRoster(request: RosterRequest, options?: CheckOptions): Promise<StatementAnswer>;
  lookUpByRegNo(regNo: string, options?: CallOptions): Promise<CheckAnswer>;
  lookUpByTId(tId: number, options?: CallOptions): Promise<CheckAnswer>;
  /** Sends the NIN in the request's body, never in a URL, because proxies log URLs. */
  lookUpByNin(nin: string, options?: CallOptions): Promise<CheckAnswer>;
  /** Gets your terms, your credentials, and your use of the daily quota. */
  me(options?: CallOptions): Promise<Me>;
  /** Gets a page of events. Pass its `iterator` as the next call's `after`, until `done`. On `EVENTS_GONE`, omit `after`. */
  events(page?: PageOptions): Promise<Events>;
  /** Your watch list of registration numbers. The event filter `watched` selects the events of these teachers. */
  readonly watch: {
    /** Adds up to 2,000 teachers: all of them, or none if the call fails. */
    add(regNos: string | readonly string[], options?: CallOptions): Promise<WatchCount>;
    remove(regNos: string | readonly string[], options?: CallOptions): Promise<WatchCount>;
    list(page?: PageOptions): Promise<Watched>;
  };
  /** Makes a public lookup by any search term: the answer is unsigned, and your API key is not sent. */
  verifyLicense(searchTerm: string, options?: CallOptions): Promise<PublicLookup>;
  /** Gets the service's health. A failed call is not repeated: its failure says that the service does not work. */
  getHealth(options?: CallOptions): Promise<Health>;
};

const api = "/v1/inter-agency";
const defaults = { timeoutMs: 15_000, maxRetries: 3, maxWaitSeconds: 60 };

function waitFor(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
  });
}

const thisMachine = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Checks the service's URL. @throws TypeError unless it is https, or http on this machine, and has only a path */
function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && thisMachine.has(url.hostname));
  if (url === null || !isSafe || url.username || url.password || url.search || url.hash)
    throw new TypeError("baseUrl must be an https address, or http on this machine, and nothing more");
  return url.href.replace(/\/+$/, "");
}

function connectionOf(options: ClientOptions): Connection {
  const { baseUrl, apiKey, fetch: ownFetch, wait = waitFor } = options;
  const { timeoutMs, maxRetries, maxWaitSeconds } = { ...defaults, ...options };
  if (apiKey !== undefined && !/^[!-~]+$/.test(apiKey))
    throw new TypeError("apiKey is empty, or has white space in it: give the key alone");
  if (!(timeoutMs > 0)) throw new TypeError("timeoutMs must be above 0");
  if (!(maxRetries >= 0 && maxRetries <= 3)) throw new TypeError("maxRetries must be from 0 to 3");
  if (!(maxWaitSeconds >= 0)) throw new TypeError("maxWaitSeconds must not be below 0");
  const ask = ownFetch ?? ((url: string, init: RequestInit) => fetch(url, init));
  return { baseUrl: readBaseUrl(baseUrl), apiKey, timeoutMs, maxRetries, maxWaitSeconds, fetch: ask, wait };
}

const unexpected = (message: string, received: ReceivedAnswer) =>
  createUnusableAnswerError("ANSWER_UNEXPECTED", message, received);

/** Parses an answer. @throws ClientError if the answer is not a JSON object, but for example a proxy's page */
function readObject(received: ReceivedAnswer): JsonObject {
  const value = readStrictJson(received.text);
  if (!(value instanceof Refusal) && isJsonObject(value)) return value;
  throw unexpected("the answer is no JSON object: is baseUrl the address of the service?", received);
}

function isEnvelope(value: JsonValue | undefined): value is JsonObject {
  return isJsonObject(value) && typeof value.signature === "string" && isJsonObject(value.result);
}

/** Creates the functions that make a call and check its signed answer: one envelope, a batch or a statement. */
function signedCalls(connection: Connection, options: ClientVerifyOptions | undefined) {
  const verify = options === undefined ? null : createAnswerVerifier(connection, options);
  const mismatched = (message: string, received: ReceivedAnswer) =>
    createUnusableAnswerError("ANSWER_MISMATCH", message, received);
  async function answersOf(
    envelopes: readonly JsonValue[],
    asked: readonly Identifier[],
    received: ReceivedAnswer,
  ): Promise<Answer[]> {
    const verifications = (await verify?.(envelopes, verifyEnvelope, received)) ?? [];
    const answers = envelopes.map((value, index) => {
      const [envelope, verification = null] = [value as unknown as SignedEnvelope, verifications[index]];
      return { result: verification?.result ?? envelope.result, envelope, verification };
    });
    const mismatch = findAnswerMismatch(answers, asked, received);
    if (mismatch === null) return answers;
    throw mismatched(`the answer is not one to what was asked, do not rely on it: ${mismatch}`, received);
  }
  async function one(call: ApiCall, asked: Identifier): Promise<CheckAnswer> {
    const received = await sendApiCall(connection, call);
    const envelope = readObject(received);
    if (!isEnvelope(envelope)) throw unexpected("the answer is no envelope", received);
    const [answer] = (await answersOf([envelope], [asked], received)) as [Answer];
    if (received.verificationId !== answer.envelope.verificationId)
      throw mismatched("the answer's X-Verification-Id is not that of its envelope", received);
    return { ...answer, text: received.text, call: received.info };
  }
  async function many(call: ApiCall, asked: readonly Identifier[]): Promise<BatchAnswer> {
    const received = await sendApiCall(connection, call);
    const { results } = readObject(received);
    if (!Array.isArray(results) || results.length !== asked.length || !results.every(isEnvelope))
      throw unexpected(`the answer has not one envelope for each of ${asked.length} items`, received);
    const answers = await answersOf(results, asked, received);
    return { answers, text: received.text, call: received.info };
  }
  async function statement(call: ApiCall, asked: RosterRequest): Promise<StatementAnswer> {
    const received = await sendApiCall(connection, call);
    const value = readObject(received);
    if (!isStatement(value)) throw unexpected("the answer is no statement", received);
    const [verification = null] = (await verify?.([value], verifyStatement, received)) ?? [];
    const signed = value as unknown as SignedStatement;
    const mismatch = findStatementMismatch(signed, asked, received);
    if (mismatch !== null) throw mismatched(`do not rely on the answer: ${mismatch}`, received);
    return { statement: signed, verification, text: received.text, call: received.info };
  }
  return { one, many, statement };
}

/**
 * Creates a client of the partner API (contract C14). Calls are repeated after transient failures, with the same
 * idempotency key. Each signed answer is compared with its question, and verified if `verify` is given.
 * @throws TypeError if the URL, the key or a limit is malformed
 * @example
 * ```ts
 * const client = createClient({
 *   baseUrl: "https://verify.example.org",
 *   apiKey,
 *   verify: { issuer: "https://verify.example.org", audience: "exam-board" },
 * });
 * const { result, text } = await client.checkEligibility({
 *   identifier: { regNo: "TR/2019/LA/000001" },
 *   purpose: "BODYA_INVIGILATOR_ELIGIBILITY",
 * });
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const connection = connectionOf(options);
  const { one, many, statement } = signedCalls(connection, options.verify);
  const ask = async <T>(call: Partial<ApiCall> & { path: string }, maxRetries = connection.maxRetries) =>
    readObject(await sendApiCall({ ...connection, maxRetries }, { method: "GET", ...call })) as T;
  const page = (path: string, { after, limit, signal }: PageOptions): ApiCall => {
    const given = Object.entries({ after, limit }).flatMap(([name, value]) =>
      value == null ? [] : [[name, `${value}`]],
    );
    return { method: "GET", path: `${api}${path}?${new URLSearchParams(given)}`, signal };
  };
  const watch = (body: object, { signal }: CallOptions) =>
    ask<WatchCount>({ method: "POST", path: `${api}/watch`, body, signal });
  const get = (path: string, asked: Identifier, { signal }: CallOptions) =>
    one({ method: "GET", path: `${api}${path}`, signal }, asked);
  // `crypto.randomUUID` is missing in pages without https.
  const newKey = () => toHex(crypto.getRandomValues(new Uint8Array(16)));
  const post = (path: string, body: object, { signal, idempotencyKey }: CheckOptions): ApiCall => ({
    method: "POST",
    path: `${api}${path}`,
    body,
    idempotencyKey: idempotencyKey ?? newKey(),
    isKeyGiven: idempotencyKey !== undefined,
    signal,
  });
  return {
    checkEligibility: (body, call = {}) => one(post("/eligibility-check", body, call), body.identifier),
    checkBatch(items, call = {}) {
      const asked = items.map(({ identifier }) => identifier);
      return many(post("/batch", { items }, call), asked);
    },
    stateRoster: (body, call = {}) => statement(post("/rosters", body, call), body),
    lookUpByRegNo: (regNo, call = {}) =>
      get(`/lookup/by-reg-no/${encodeURIComponent(regNo)}`, { regNo }, call),
    lookUpByTId: (tId, call = {}) => get(`/lookup/by-tid/${encodeURIComponent(tId)}`, { tId }, call),
    lookUpByNin: (nin, { signal } = {}) =>
      one({ method: "POST", path: `${api}/lookup/by-nin`, body: { nin }, signal }, { nin }),
    me: ({ signal } = {}) => ask<Me>({ path: `${api}/me`, signal }),
    async events(options = {}) {
      const received = await sendApiCall(connection, page("/events", options));
      const value = readObject(received);
      if (!Array.isArray(value.data) || !value.data.every(isJsonObject))
        throw unexpected("the answer is no page of events", received);
      return value as unknown as Events;
    },
    watch: {
      add: (regNos, call = {}) => watch({ add: [regNos].flat() }, call),
      remove: (regNos, call = {}) => watch({ remove: [regNos].flat() }, call),
      list: (options = {}) => ask<Watched>(page("/watch", options)),
    },
    verifyLicense: (term, { signal } = {}) =>
      ask({ path: `/teacher/verify-license?searchTerm=${encodeURIComponent(term)}`, isPublic: true, signal }),
    getHealth: ({ signal } = {}) => ask({ path: `${api}/health`, isPublic: true, signal }, 0),
  };
}
