/** What `tvs doctor` says of the machine's clock service, the proxy before the service, and partners' names. */

import { execFile } from "node:child_process";
import { lookup } from "node:dns/promises";
import { existsSync } from "node:fs";
import { isIP } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import ipaddr from "ipaddr.js";
import type { ServeConfig } from "../../src/config.ts";
import { isLoopbackHost } from "../../src/domain/networks.ts";
import { type Check, ok, warn } from "./check.ts";

/** Longer nobody waits for an answer; resolvers give up later by themselves. */
const lookupMs = 5_000;
const commandMs = 3_000;
const namesInOneLine = 5;
/** A network as large as this is no proxy, but the world. */
const widestPrefix = { ipv4: 8, ipv6: 16 } as const;

/** Quotas, expiry at midnight and `iat` go by the clock: somebody must keep it right. */
export async function checkTimeSync(): Promise<Check> {
  const name = "time-sync";
  if (existsSync("/run/systemd/timesync/synchronized")) return ok(name, "synchronised by systemd-timesyncd");
  if (!existsSync("/run/systemd/system"))
    return ok(name, "this system does not say whether its clock is synchronised");
  try {
    const args = ["show", "--property=NTPSynchronized", "--value"];
    const { stdout } = await promisify(execFile)("timedatectl", args, { timeout: commandMs });
    return stdout.trim() === "yes"
      ? ok(name, "the clock is synchronised")
      : warn(name, "the clock is not synchronised", "timedatectl set-ntp true, or start chrony");
  } catch {
    return ok(name, "timedatectl does not say whether the clock is synchronised");
  }
}

type Listening = Pick<ServeConfig, "host" | "trustedProxies" | "tls">;

/** Contradictions between where the service listens and whose headers it believes. */
export function checkProxy({ host, trustedProxies, tls }: Listening): Check {
  const name = "proxy";
  const isLocal = isLoopbackHost(host);
  const world = trustedProxies.find(isWorld);
  if (world !== undefined) {
    return warn(
      name,
      `${world} is trusted as a proxy`,
      "anybody could name any address: trust the proxy alone (--trusted-proxy 10.0.0.5/32)",
    );
  }
  if (!isLocal && trustedProxies.length === 0 && tls === undefined) {
    return warn(
      name,
      `the service listens on ${host} without TLS and without a trusted proxy`,
      "API keys would travel in clear: give --tls-port, or put a proxy before it and name it with --trusted-proxy",
    );
  }
  const foreign = trustedProxies.filter((one) => !isLoopbackHost(one.replace(/\/\d+$/, "")));
  if (isLocal && foreign.length > 0 && foreign.length === trustedProxies.length) {
    return warn(
      name,
      `${foreign.join(", ")} is trusted, but only this machine reaches ${host}`,
      "trust 127.0.0.1/32 when the proxy runs here, or listen where the proxy can reach it (--host)",
    );
  }
  const heard = trustedProxies.length === 0 ? "no proxy is trusted" : `trusted: ${trustedProxies.join(", ")}`;
  return ok(name, `listens on ${host}, ${heard}`);
}

type Certified = Pick<ServeConfig, "clientCertFrom" | "trustedProxies" | "tls">;

/**
 * Where partners' client certificates are believed from. A certificate is no secret, so one that arrives in a header is
 * only as good as the proxy that wrote the header, which cannot be seen from here.
 * @param registered partners' certificates that have not ended
 */
export function checkClientCertificates(
  { clientCertFrom, trustedProxies, tls }: Certified,
  registered: number,
): Check {
  const name = "client-certificates";
  const named = clientCertFrom.join(", ");
  const world = clientCertFrom.find(isWorld);
  if (world !== undefined) {
    return warn(
      name,
      `Client-Cert is believed from ${world}`,
      "anybody there calls as any partner whose certificate they have seen: name the proxy alone (--client-cert-from 10.0.0.5/32)",
    );
  }
  if (clientCertFrom.length > 0 && registered === 0) {
    return warn(
      name,
      `Client-Cert is believed from ${named}, and no certificate is registered`,
      "leave --client-cert-from (TVS_CLIENT_CERT_FROM) out until a partner calls with one",
    );
  }
  if (clientCertFrom.length > 0) {
    return warn(
      name,
      `Client-Cert is believed from ${named}, which must overwrite or delete what callers send`,
      'try it from outside, without the key: curl -H "Client-Cert: :$(openssl x509 -in partner.pem -outform der | ' +
        'base64 -w0):" https://ADDRESS/v1/inter-agency/lookup/by-tid/1 must be 401; where the proxy sets none, ' +
        'nginx: proxy_set_header Client-Cert ""; Caddy: header_up -Client-Cert',
    );
  }
  if (registered > 0 && trustedProxies.length > 0 && tls === undefined) {
    return warn(
      name,
      `${registered} registered, but Client-Cert is not believed from ${trustedProxies.join(", ")}`,
      "--trusted-proxy is for X-Forwarded-For alone: let the proxy set or delete Client-Cert on every request, and " +
        "name it with --client-cert-from; or speak TLS here (--tls-port)",
    );
  }
  const where = "they count at --tls-port, or from --client-cert-from";
  return ok(name, registered === 0 ? "none is registered" : `${registered} registered: ${where}`);
}

function isWorld(network: string): boolean {
  if (!network.includes("/") || !ipaddr.isValidCIDR(network)) return false;
  const [address, prefix] = ipaddr.parseCIDR(network);
  return prefix < widestPrefix[address.kind()];
}

type Named = { readonly partnerId: string; readonly url: string };

/** Whether the names of the endpoints that something is sent to have an address from here. */
export async function checkReceivers(endpoints: readonly Named[]): Promise<Check> {
  const name = "webhook-receivers";
  if (endpoints.length === 0) return ok(name, "no endpoint is enabled");
  const hosts = Map.groupBy(endpoints, ({ url }) => new URL(url).hostname.replace(/^\[|\]$/g, ""));
  const found = await Promise.all(
    [...hosts.keys()].map(async (host) => [host, await resolves(host)] as const),
  );
  const lost = found.filter(([, isFound]) => !isFound).flatMap(([host]) => hosts.get(host) ?? []);
  if (lost.length === 0) return ok(name, `every host name has an address (${hosts.size})`);
  const shown = lost
    .slice(0, namesInOneLine)
    .map(({ partnerId, url }) => `${new URL(url).hostname} of ${partnerId}`);
  const more = lost.length > namesInOneLine ? ` and ${lost.length - namesInOneLine} more` : "";
  const advice =
    lost.length === endpoints.length
      ? "see to this machine's resolver (/etc/resolv.conf) first"
      : "ask the partner for an address that works: tvs partners webhook set PARTNER URL";
  return warn(name, `no address for ${shown.join(", ")}${more}`, advice);
}

async function resolves(host: string): Promise<boolean> {
  if (isIP(host) !== 0) return true;
  const late = new AbortController();
  const answered = lookup(host).then(
    () => true,
    () => false,
  );
  const waited = sleep(lookupMs, false, { signal: late.signal }).catch(() => false);
  const result = await Promise.race([answered, waited]);
  late.abort();
  return result;
}
