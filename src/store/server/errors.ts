import { type ErrorCode, TvsError } from "../../domain/errors.ts";

/** Collects the text and HTTP status of an error and its causes, which Bun, Deno and the client place differently. */
function factsOf(error: unknown): { text: string; status: number | undefined } {
  if (!(error instanceof Error)) return { text: String(error), status: undefined };
  const { code, status } = error as { code?: unknown; status?: unknown };
  const cause = error.cause === undefined ? undefined : factsOf(error.cause);
  return {
    text: `${error.name} ${String(code ?? "")} ${error.message} ${cause?.text ?? ""}`.trimEnd(),
    status: typeof status === "number" ? status : cause?.status,
  };
}

export const isTimeout = (error: unknown) =>
  error instanceof Error && (error.name === "TimeoutError" || error.name === "AbortError");

/** Returns true if the server ran a statement and refused it. The connection itself is fine then. */
export function isRefusedStatement(error: unknown): error is Error {
  return error instanceof Error && error.cause instanceof Error && error.cause.name === "ResponseError";
}

/** Returns true if the error comes from a replica, which forwards writes to its primary. */
export const isReplicaError = (error: unknown) => factsOf(error).text.includes("PROXY_ERROR");

const option = "--database (TVS_DATABASE)";
const token = "TVS_DATABASE_TOKEN";

function explain(error: unknown, hasToken: boolean): readonly [code: ErrorCode, words: string] {
  const { text, status } = factsOf(error);
  if (status === 401 && !hasToken) return ["CONFIG_INVALID", `asks for a token; give it in ${token}`];
  if (status === 401) return ["CONFIG_INVALID", `does not accept the token in ${token}`];
  if (status === 403)
    return ["CONFIG_INVALID", `lets the token in ${token} only read; it must be able to write`];
  if (status !== undefined && status >= 300 && status < 400)
    return ["CONFIG_INVALID", `sends elsewhere, which is not followed; ${option} must be the server itself`];
  if (/EPROTO|wrong version number|InvalidContentType|received corrupt message/i.test(text))
    return ["CONFIG_INVALID", `does not speak TLS; ${option} must begin with http://, or name another port`];
  if (/CERT|certificate|UNABLE_TO_VERIFY|SELF_SIGNED/i.test(text)) {
    const words = "has a certificate that is not trusted for that name";
    return ["CONFIG_INVALID", `${words}; NODE_EXTRA_CA_CERTS names a file of further authorities`];
  }
  const isGarbage = error instanceof TvsError || error instanceof SyntaxError || protocolErrors.test(text);
  if (status === undefined ? isGarbage : status < 500)
    return ["CONFIG_INVALID", `is no libSQL server; ${option} must be the address of one`];
  return ["STORE_UNAVAILABLE", `does not answer; start the server, or correct ${option}`];
}

const protocolErrors = /ProtoError|Malformed|JSON|invalid HTTP|InvalidHTTP/i;

/** Makes the error for a failed connection to a database server. `url` has no user name and no token (`config.ts`). */
export function serverOpenError(error: unknown, url: string, hasToken: boolean): TvsError {
  const [code, words] = explain(error, hasToken);
  return new TvsError(code, `the database at ${url} ${words}`, {
    detail: factsOf(error).text.trim(),
    cause: error,
  });
}

/** Makes the error for a replica. A replica forwards writes, and may still lack them in its own rows. */
export const replicaError = (url: string) =>
  new TvsError("CONFIG_INVALID", `the database at ${url} is a replica; ${option} must be the primary`);
