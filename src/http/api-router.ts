/**
 * The calls of the API, found by their address and answered. They go from the socket's request to the handler and back
 * without the Request, Response and stream objects of the pages' way, which would cost more than a look-up does
 * (test/bench/README.md has the factors).
 */
import type { IncomingMessage } from "node:http";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { getPath, getQueryParam } from "hono/utils/url";
import type { CallObserver } from "../domain/calls.ts";
import { TvsError } from "../domain/errors.ts";
import { beginTrace, endTrace, type Handler, type HttpCall } from "./http-call.ts";
import { replyTo } from "./problem.ts";

type ApiRoute = {
  readonly method: string;
  /** The pattern under which its calls are counted. */
  readonly path: string;
  /** The same as Hono's router writes it. */
  readonly routerPath: string;
  readonly handler: Handler;
};

/** What the address of a call does not say of it. */
type Caller = Pick<HttpCall, "connection" | "header" | "body">;

export type Api = ReturnType<typeof createApi>;

/**
 * @param issuer the service's own address
 * @param observe told of each call that was answered here
 */
export function createApi(
  routes: readonly ApiRoute[],
  { issuer, observe }: { issuer: () => string; observe?: CallObserver | undefined },
) {
  const router = new RegExpRouter<ApiRoute>();
  for (const route of routes) router.add(route.method, route.routerPath, route);
  return {
    /**
     * Finds what answers a request.
     * @returns null where it is no call of the API: the pages' way tells what is wrong with it, if it is no page
     */
    find({ method = "", url = "", headers: { host } }: Pick<IncomingMessage, "method" | "url" | "headers">) {
      const target = targetOf(url, host);
      if (target === null) return null;
      const [[first], parts] = router.match(method === "HEAD" ? "GET" : method, target.path);
      if (first === undefined) return null;
      const [route, places] = first;
      const address = {
        query: (name: string) => getQueryParam(target.url, name) as string | undefined,
        pathPart: (name: string) => decodedPart(name, parts?.[places[name] as number] ?? "", target.url),
      };
      return async (caller: Caller) => {
        const trace = beginTrace(method, route.path);
        const reply = await replyTo(route.handler, { ...caller, ...address, trace, issuer });
        endTrace(trace, reply.status, observe);
        return reply;
      };
    },
  };
}

/** Characters of a plain authority (RFC 3986, 3.2.2): what is wrong with others, the pages' way finds out. */
const plainHost = /^[\w.:[\]~!$&'()*+,;=-]+$/;

/**
 * Characters of a plain path: what they mean does not depend on who decodes it, in which order, or which segments it
 * takes for `.` and `..`. Registration numbers come with encoded slashes.
 */
const plainPath = /^(?:[\w/~-]|%2F)+$/i;

type Target = {
  /** Decoded where a router may look at it: an encoded slash stays. */
  readonly path: string;
  /** The whole, still encoded. */
  readonly url: string;
};

/** What a request asks for. @returns null for what is no URL, and for a path that others read in another way */
function targetOf(url: string, host: string | undefined): Target | null {
  if (host !== undefined && !plainHost.test(host)) return null;
  const queryAt = url.indexOf("?");
  const path = queryAt < 0 ? url : url.slice(0, queryAt);
  if (plainPath.test(path) && !url.includes("#")) return { path, url };
  if (path.includes("\\")) return null;
  const whole = url.startsWith("/") ? `http://localhost${url}` : url;
  const parsed = /^https?:/.test(whole) ? URL.parse(whole) : null;
  return parsed && { path: getPath({ url: parsed.href } as Request), url: parsed.href };
}

/** A part of the path. What cannot be decoded would be handed on as it is, and attested as a number that nobody has. */
function decodedPart(name: string, part: string, url: string): string {
  try {
    // What the router's own decoding has left out or mended is refused too.
    decodeURIComponent(url.replace(/[?#].*/s, ""));
    return decodeURIComponent(part);
  } catch {
    throw new TvsError("REQUEST_INVALID", `${name} must be percent-encoded UTF-8`);
  }
}
