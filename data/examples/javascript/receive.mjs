// Receives webhooks. Node 20 or later, nothing to install (tested with Node 20.20).
//   TVS_WEBHOOK_SECRET='whsec_...' PORT=9876 node receive.mjs
// One delivery that you kept: node receive.mjs --check BODY_FILE SIGNATURE UNIX_SECONDS (exit 0 genuine, 1 not)
import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { argv, env, exit } from "node:process";

const secret = env.TVS_WEBHOOK_SECRET ?? ""; // the whole text, whsec_ included
const headerPattern = /^t=(0|[1-9][0-9]{0,11}),v1=([0-9a-f]{64})(?:,v1=([0-9a-f]{64}))?$/;
const maxBodyBytes = 64 * 1024; // the service's deliveries have some hundred bytes
const handled = new Set(); // a real receiver keeps these in its database

/** "valid", or why not. The body is the bytes as they came, before anything parses them. */
function verify(rawBody, header, nowSeconds) {
  const [, time, ...digests] = headerPattern.exec(header) ?? [];
  if (time === undefined) return "SIGNATURE_HEADER_MALFORMED";
  const expected = createHmac("sha256", secret).update(`${time}.`).update(rawBody).digest();
  const isGenuine = digests.some((hex) => hex && timingSafeEqual(Buffer.from(hex, "hex"), expected));
  if (!isGenuine) return "SIGNATURE_MISMATCH";
  return Math.abs(nowSeconds - Number(time)) > 300 ? "OUTSIDE_REPLAY_WINDOW" : "valid";
}

async function receive(request, response) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > maxBodyBytes) break;
    chunks.push(chunk);
  }
  // What is left of the body is not read.
  if (size > maxBodyBytes) return response.writeHead(413, { Connection: "close" }).end();
  const rawBody = Buffer.concat(chunks);
  const verdict = verify(rawBody, request.headers["x-agency-signature"] ?? "", Date.now() / 1000);
  if (verdict === "valid") {
    // Answer first and work afterwards; an event can come twice, and then has the same eventId.
    const event = JSON.parse(rawBody);
    if (!handled.has(event.eventId)) console.log(event.eventType, event.data.regNo);
    handled.add(event.eventId);
  }
  response.writeHead(verdict === "valid" ? 204 : 400).end();
}

if (!/^[\x21-\x7e]+$/.test(secret)) {
  console.error("set TVS_WEBHOOK_SECRET to the secret alone: no spaces, line ends or byte order mark");
  exit(2);
}
if (argv[2] === "--check") {
  const verdict = verify(readFileSync(argv[3]), argv[4], Number(argv[5]));
  console.log(verdict);
  exit(verdict === "valid" ? 0 : 1);
}
createServer(receive).listen(Number(env.PORT ?? 9876), "127.0.0.1");
