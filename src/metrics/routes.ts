const prefix = "/v1/inter-agency";

/** Which of the three kinds of traffic a route is. */
export type Traffic = "public" | "partner" | "other";

/**
 * The routes by the name under which they are counted: the pattern, never the path, in which partners put numbers.
 * The first one is for everything else: unknown addresses, and the files of the pages.
 */
export const routes = [
  { route: "other", traffic: "other" },
  { route: "/teacher/verify-license", traffic: "public" },
  { route: `${prefix}/eligibility-check`, traffic: "partner" },
  { route: `${prefix}/lookup/by-reg-no/{regNo}`, traffic: "partner" },
  { route: `${prefix}/lookup/by-tid/{tId}`, traffic: "partner" },
  { route: `${prefix}/lookup/by-nin`, traffic: "partner" },
  { route: `${prefix}/batch`, traffic: "partner" },
  { route: `${prefix}/.well-known/jwks.json`, traffic: "other" },
  { route: `${prefix}/.well-known/key-history`, traffic: "other" },
  { route: `${prefix}/health`, traffic: "other" },
  { route: `${prefix}/openapi.json`, traffic: "other" },
  { route: `${prefix}/docs`, traffic: "other" },
  { route: `${prefix}/getting-started`, traffic: "other" },
  { route: "/", traffic: "other" },
  { route: "/verify-envelope", traffic: "other" },
] as const satisfies readonly { route: string; traffic: Traffic }[];

const exact = new Map<string, number>(routes.map(({ route }, index) => [route, index]));

/** The index in {@link routes} of a pattern. */
export function routeOf(pattern: string): number {
  return exact.get(pattern) ?? 0;
}

export const methods = ["GET", "POST", "HEAD", "OPTIONS", "other"] as const;

/** The index in {@link methods}. */
export function methodOf(method: string): number {
  switch (method) {
    case "GET":
      return 0;
    case "POST":
      return 1;
    case "HEAD":
      return 2;
    case "OPTIONS":
      return 3;
    default:
      return 4;
  }
}
