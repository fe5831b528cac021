import type { LoadPlan } from "./load.ts";

/**
 * What is asked for: a check, a batch of them, a public look-up, a partner about itself, documents by their paths, the health probe, or `/` of a
 * bare server.
 */
export type Kind = "check" | "batch" | "lookup" | "self" | "document" | "health" | "empty";

/** So many different requests are made before a load begins, and then sent again and again. */
const differentItems = 20_000;
const mostRequests = 20_000;
const fewestRequests = 100;

/** Requests about teachers at random, as the bytes that go over a connection that stays open. */
export function makeRequests(
  plan: Pick<LoadPlan, "url" | "kind" | "items" | "paths" | "teachers" | "apiKey">,
): Buffer[] {
  const { items = 1 } = plan;
  const count = Math.min(mostRequests, Math.max(fewestRequests, Math.ceil(differentItems / items)));
  return Array.from({ length: count }, () => Buffer.from(requestText(plan)));
}

function requestText({
  url,
  kind,
  items = 1,
  paths = [],
  teachers,
  apiKey,
}: Parameters<typeof makeRequests>[0]): string {
  const regNo = () => `TR/2020/LA/${String(1 + Math.floor(Math.random() * teachers)).padStart(6, "0")}`;
  const check = () => ({ identifier: { regNo: regNo() }, purpose: "GENERAL_PUBLIC_VERIFICATION" });
  const host = new URL(url).host;
  const get = (path: string, header = "") => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${header}\r\n`;
  const post = (path: string, body: string) =>
    `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${apiKey}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  switch (kind) {
    case "empty":
      return get("/");
    case "health":
      return get("/v1/inter-agency/health");
    case "document":
      return get(paths[Math.floor(Math.random() * paths.length)] ?? "/");
    case "self":
      return get("/v1/inter-agency/me", `Authorization: Bearer ${apiKey}\r\n`);
    case "lookup":
      return get(`/teacher/verify-license?searchTerm=${regNo()}`);
    case "check":
      return post("/v1/inter-agency/eligibility-check", JSON.stringify(check()));
    case "batch":
      return post("/v1/inter-agency/batch", JSON.stringify({ items: Array.from({ length: items }, check) }));
  }
}
