import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { env } from "node:process";

const secret = env.WEBHOOK_SECRET; // the whole text, whsec_ included
const headerPattern = /^t=(0|[1-9][0-9]{0,11}),v1=([0-9a-f]{64})(?:,v1=([0-9a-f]{64}))?$/;
const handled = new Set(); // a real receiver keeps these in its database

function genuine(header, rawBody, nowSeconds) {
  const [, time, ...digests] = headerPattern.exec(header) ?? [];
  if (time === undefined || Math.abs(nowSeconds - Number(time)) > 300) return false;
  const expected = createHmac("sha256", secret).update(`${time}.`).update(rawBody).digest();
  return digests.some((digest) => digest && timingSafeEqual(Buffer.from(digest, "hex"), expected));
}

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const rawBody = Buffer.concat(chunks); // the bytes as they came, before anything parses them
  if (!genuine(String(request.headers["x-agency-signature"]), rawBody, Date.now() / 1000)) {
    response.writeHead(400).end();
    return;
  }
  const event = JSON.parse(rawBody);
  if (!handled.has(event.eventId)) console.log(event.eventType, event.data.regNo);
  handled.add(event.eventId);
  response.writeHead(204).end();
}).listen(Number(env.PORT ?? 9876), "127.0.0.1");
