/** What `tvs doctor` says of what the database remembers: settings that work, and that nobody may have meant. */

import type { Config } from "../../src/config.ts";
import { isIssuerTold } from "../../src/domain/live.ts";
import { issuerFlaw } from "../../src/domain/networks.ts";
import { keepForever, retentionSetting } from "../../src/domain/retention.ts";
import { holdWebhooksName } from "../../src/store/driver/restore.ts";
import { type Check, ok, warn } from "./check.ts";

type Remembered = { readonly stored: ReadonlyMap<string, string>; readonly isEmpty: boolean };

export function checkSettings({ stored, isEmpty }: Remembered, config: Config): Check[] {
  const isLive = stored.get("environment") !== "sandbox";
  return [
    checkRegister(isEmpty),
    isLive ? checkIssuer(stored, config) : ok("issuer", "a sandbox needs none"),
    checkHeld(stored),
    // It deletes evidence, and goes on after the start that asked for it.
    ok("retention", `attestations are kept: ${stored.get(retentionSetting) ?? keepForever}`),
    isLive ? checkPrivateWebhooks(stored) : ok("private-webhooks", "a sandbox may send anywhere"),
  ];
}

function checkRegister(isEmpty: boolean): Check {
  const name = "register";
  if (!isEmpty) return ok(name, "it has teachers");
  return warn(
    name,
    "it is empty: every teacher would be answered as not found",
    "tvs teachers import; if there should be teachers, look where --data points",
  );
}

const flaws = {
  wildcard: "no address that anybody can reach",
  loopback: "an address of this machine alone",
  http: "http: whoever fetches the keys from there cannot know whose they are",
} as const;

/** Envelopes name it for ever: it must be the service's own, and others must reach it. */
function checkIssuer(stored: ReadonlyMap<string, string>, config: Config): Check {
  const name = "issuer";
  const issuer = config.issuer ?? stored.get("issuer");
  const advice = "start tvs serve with --issuer https://…, the public address; it is remembered";
  if (issuer === undefined) return warn(name, "none yet", advice);
  const flaw = issuerFlaw(issuer);
  if (flaw !== null) return warn(name, `${issuer} is ${flaws[flaw]}`, advice);
  if (config.issuer === undefined && !isIssuerTold(stored))
    return warn(name, `nobody chose ${issuer}: the service listened there`, advice);
  return ok(name, issuer);
}

function checkHeld(stored: ReadonlyMap<string, string>): Check {
  const name = "webhooks-held";
  if (stored.get(holdWebhooksName) !== "true") return ok(name, "nothing is held since a restore");
  return warn(
    name,
    "no webhook has been sent since the restore with --hold-webhooks",
    "look at tvs webhooks list --state pending, then tvs webhooks release",
  );
}

/** A switch for tests, which is remembered like the others. */
function checkPrivateWebhooks(stored: ReadonlyMap<string, string>): Check {
  const name = "private-webhooks";
  if (stored.get("allow_private_webhooks") !== "true")
    return ok(name, "webhooks go to public addresses only");
  return warn(
    name,
    "webhooks may go to private addresses and over http",
    "restart tvs serve with TVS_ALLOW_PRIVATE_WEBHOOKS=false, unless this is a test",
  );
}
