// Fetches the events that are new, a line for each. Node 20 or later, nothing to install (tested with Node 20.20).
//   API_KEY='tvs_test_...' node events.mjs ISSUER
// Run it every minute. The file events.iterator says how far it has come; what fails comes the next time, so a line can
// come twice, and none is left out.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { argv, env, exit } from "node:process";

const place = "events.iterator";
for (let isDone = false; !isDone; ) {
  const query = existsSync(place) ? `?after=${encodeURIComponent(readFileSync(place, "utf8"))}` : "";
  const answer = await fetch(`${argv[2]}/v1/inter-agency/events${query}`, {
    headers: { Authorization: `Bearer ${env.API_KEY}` },
    redirect: "manual", // the key is for this address, and not for wherever a redirect leads
    signal: AbortSignal.timeout(15_000),
  });
  const text = await answer.text();
  if (!answer.ok) {
    console.error(`${answer.headers.get("X-Error-Code")}: ${text}`);
    exit(1);
  }
  const { data: events, iterator, done } = JSON.parse(text);
  for (const { eventId, eventType, data } of events) console.log(eventId, eventType, data.regNo);
  if (iterator !== null) {
    writeFileSync(`${place}.new`, iterator);
    renameSync(`${place}.new`, place);
  }
  isDone = done;
}
