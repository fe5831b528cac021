/** The checks of `tvs doctor` on the service: settings, signing, trusted proxies and webhook receivers. */

import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { Config, ServeConfig } from "../../src/config.ts";
import { type Finding, fail, type NamedFinding, nameChecks, ok, warn } from "../../src/domain/checks.ts";
import { resolvesWithin } from "../../src/domain/deadline.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import { generateSigningKey } from "../../src/domain/keys.ts";
import { findIssuerFlaw, isLoopbackHost } from "../../src/domain/networks.ts";
import { deriveSecrets, generateMasterKey } from "../../src/domain/secrets.ts";
import { isIssuerSet, isSandbox } from "../../src/domain/settings.ts";
import { readStoredSite } from "../../src/domain/site.ts";
import { openSigner, type ServiceSigner } from "../../src/signing/signer.ts";
import { checkAttestationRetention } from "./log.ts";

/** How long to wait for DNS, in ms; the resolver's own timeout is longer. */
const lookupMs = 5_000;
const namesInOneLine = 5;
/** The shortest prefix of a trusted network, in bits, without a warning. A shorter prefix covers a large part of the Internet. */
const widestPrefix = { ipv4: 8, ipv6: 16 } as const;
const measureMs = 200;
const inFlight = 64;
/** With fewer signatures a second than this, a batch of 100 takes longer than a caller waits. */
const slowPerSecond = 100;

type StoredSettings = ReadonlyMap<string, string>;
type RetentionFacts = Parameters<typeof checkAttestationRetention>[2];

export function checkSettings(stored: StoredSettings, config: Config, kept: RetentionFacts): NamedFinding[] {
  const isLive = !isSandbox(stored);
  return nameChecks({
    issuer: isLive ? checkIssuer(stored, config) : ok("a sandbox needs none"),
    site: isLive ? checkSite(stored) : ok("a sandbox needs none"),
    retention: checkAttestationRetention(stored, config, kept),
    "private-webhooks": isLive ? checkPrivateWebhooks(stored) : ok("a sandbox may send anywhere"),
  });
}

const flaws = {
  wildcard: "not a URL that anybody can reach",
  loopback: "a URL of this machine only",
  http: "http: whoever fetches the keys from there cannot know whose they are",
} as const;

/** Checks that the issuer was set, and is an https URL that other machines can reach. Every envelope names the issuer. */
function checkIssuer(stored: StoredSettings, config: Config): Finding {
  const issuer = config.issuer ?? stored.get("issuer");
  const advice = "start tvs serve with --issuer https://…, its public address, which is remembered";
  if (issuer === undefined) return warn("none yet", advice);
  const flaw = findIssuerFlaw(issuer);
  if (flaw !== null) return warn(`${issuer} is ${flaws[flaw]}`, advice);
  if (config.issuer === undefined && !isIssuerSet(stored))
    return warn(`${issuer} was never set: it is where the service listened`, advice);
  return ok(issuer);
}

function checkSite(stored: StoredSettings): Finding {
  const { name: registry, contact, reportUrl } = readStoredSite(stored.get("site") ?? "{}");
  const advice = "start tvs serve with --site FILE, which is remembered; tvs help service";
  if (registry === null) return warn("no page says whose service this is", advice);
  if (Object.keys(contact).length === 0 && reportUrl === null)
    return warn(`${registry}, but no page says whom to write to`, advice);
  return ok(registry);
}

function checkPrivateWebhooks(stored: StoredSettings): Finding {
  if (stored.get("allow_private_webhooks") !== "on") return ok("webhooks go to public IP addresses only");
  return warn(
    "webhooks may go to private addresses and over http",
    "restart tvs serve with TVS_ALLOW_PRIVATE_WEBHOOKS=false, unless this is a test",
  );
}

/** Checks the signing engine that `serve` would use, and measures its speed with a new key. */
export async function checkSigning({ signingEngine, cryptoMbFile }: Config): Promise<Finding> {
  let signer: ServiceSigner | undefined;
  try {
    const secrets = deriveSecrets(generateMasterKey());
    const key = await generateSigningKey(secrets, 2048, Date.now());
    signer = await openSigner({ secrets, engine: signingEngine, cryptoMbFile });
    await signer.load({ keys: [key], active: key, pending: key });
    return makeSigningFinding(signer, await measure(signer, key.kid));
  } catch (error) {
    if (isTvsError(error, "CONFIG_INVALID")) return fail("`tvs serve` would not start", error.message);
    return fail("this runtime cannot sign with RSA", "use the tvs executable, or a current Bun or Deno");
  } finally {
    await signer?.close();
  }
}

/** Describes a signing engine, with a warning if it is slow. @param perSecond the engine's signatures a second */
export function makeSigningFinding(
  signer: Pick<ServiceSigner, "engine" | "reason" | "lacksCryptoMb">,
  perSecond: number,
): Finding {
  const { engine, reason } = signer;
  const instead = reason === null ? "" : ` (instead of OpenSSL: ${reason})`;
  const more = signer.lacksCryptoMb ? "; this processor can sign eight at once, with libcrypto-mb11" : "";
  const found = `${engine.description}, ${perSecond} RSA-2048 signatures a second${instead}${more}`;
  return perSecond < slowPerSecond ? warn(found, "give the service more processor time") : ok(found);
}

async function measure(signer: ServiceSigner, kid: string): Promise<number> {
  let count = 0;
  const startedAt = performance.now();
  const elapsedMs = () => performance.now() - startedAt;
  const signOn = async () => {
    for (; elapsedMs() < measureMs; count++) await signer.sign(kid, ["probe"]);
  };
  await Promise.all(Array.from({ length: inFlight }, signOn));
  return Math.round((count * 1000) / elapsedMs());
}

type ListenSettings = Pick<ServeConfig, "host" | "trustedProxies" | "tls">;

export function checkTrustedProxies({ host, trustedProxies, tls }: ListenSettings): Finding {
  const isLocal = isLoopbackHost(host);
  const world = trustedProxies.find(isWorld);
  if (world !== undefined)
    return warn(
      `${world} is trusted as a proxy`,
      "anybody could claim any IP address: trust only the proxy (--trusted-proxy 10.0.0.5/32)",
    );
  if (!isLocal && trustedProxies.length === 0 && tls === undefined)
    return warn(
      `the service listens on ${host} without TLS and without a trusted proxy`,
      "API keys would be sent in clear text: give --tls-port, or put a proxy in front and name it with --trusted-proxy",
    );
  const foreign = trustedProxies.filter((one) => !isLoopbackHost(one.replace(/\/\d+$/, "")));
  if (isLocal && foreign.length > 0 && foreign.length === trustedProxies.length)
    return warn(
      `${foreign.join(", ")} is trusted, but only this machine reaches ${host}`,
      "trust 127.0.0.1/32 when the proxy runs here, or listen where the proxy can reach it (--host)",
    );
  const heard = trustedProxies.length === 0 ? "no proxy is trusted" : `trusted: ${trustedProxies.join(", ")}`;
  return ok(`listens on ${host}, ${heard}`);
}

type CertificateSettings = Pick<ServeConfig, "clientCertFrom" | "trustedProxies" | "tls">;
export type ClientCertificateFacts = {
  readonly certificates?: number;
  /** The last time (ISO 8601) at which the service could not read a proxy's `Client-Cert` header; null if never. */
  readonly unreadableAt?: string | null;
};
const reportedMs = 24 * 3_600_000;

/** Checks that `Client-Cert` is accepted from proxies only. A partner's certificate is public, so anybody could send it. */
export function checkClientCertificates(
  { clientCertFrom, trustedProxies, tls }: CertificateSettings,
  { certificates: registered = 0, unreadableAt = null, now }: ClientCertificateFacts & { now: number },
): Finding {
  if (clientCertFrom.length === 0) {
    if (registered > 0 && trustedProxies.length > 0 && tls === undefined)
      return warn(
        `${registered} registered, but Client-Cert is not believed from ${trustedProxies.join(", ")}`,
        "--trusted-proxy is for X-Forwarded-For alone: let the proxy set or delete Client-Cert on every request, and " +
          "name it with --client-cert-from; or speak TLS here (--tls-port)",
      );
    const where = "they are accepted at --tls-port, or from --client-cert-from";
    return ok(registered === 0 ? "none is registered" : `${registered} registered: ${where}`);
  }
  const named = clientCertFrom.join(", ");
  const world = clientCertFrom.find(isWorld);
  if (world !== undefined)
    return warn(
      `Client-Cert is trusted from ${world}`,
      "anybody there can call as any partner whose certificate they have seen: name only the proxy (--client-cert-from 10.0.0.5/32)",
    );
  if (unreadableAt !== null && now - Date.parse(unreadableAt) < reportedMs)
    return warn(
      `a Client-Cert from ${named} could not be read at ${unreadableAt}: its calls count as calls without a certificate`,
      "let the proxy send the DER in base64 between two colons (RFC 9440), not PEM: tvs help proxy",
    );
  if (registered === 0)
    return warn(
      `Client-Cert is trusted from ${named}, and no certificate is registered`,
      "leave --client-cert-from (TVS_CLIENT_CERT_FROM) out until a partner calls with one",
    );
  return warn(
    `Client-Cert is trusted from ${named}, which must overwrite or delete what callers send`,
    'try it from outside, without the key: curl -H "Client-Cert: :$(openssl x509 -in partner.pem -outform der | ' +
      'base64 -w0):" https://ADDRESS/v1/inter-agency/lookup/by-tid/1 must be 401; where the proxy sets none, ' +
      'nginx: proxy_set_header Client-Cert ""; Caddy: header_up -Client-Cert',
  );
}

function isWorld(network: string): boolean {
  if (!network.includes("/") || !ipaddr.isValidCIDR(network)) return false;
  const [address, prefix] = ipaddr.parseCIDR(network);
  return prefix < widestPrefix[address.kind()];
}

type EndpointUrl = { readonly partnerId: string; readonly url: string };

export async function checkWebhookReceivers(endpoints: readonly EndpointUrl[]): Promise<Finding> {
  if (endpoints.length === 0) return ok("no endpoint is enabled");
  const hostOf = ({ url }: EndpointUrl) => new URL(url).hostname.replace(/^\[|\]$/g, "");
  const hosts = [...new Set(endpoints.map(hostOf))];
  const isFound = await Promise.all(
    hosts.map(async (host) => isIP(host) !== 0 || (await resolvesWithin(lookupMs, lookup(host)))),
  );
  const lost = endpoints.filter((one) => !isFound[hosts.indexOf(hostOf(one))]);
  if (lost.length === 0) return ok(`every host name has an IP address (${hosts.length})`);
  const shown = lost.slice(0, namesInOneLine).map((one) => `${hostOf(one)} of ${one.partnerId}`);
  const more = lost.length > namesInOneLine ? ` and ${lost.length - namesInOneLine} more` : "";
  const found = `no IP address for ${shown.join(", ")}${more}`;
  if (lost.length === endpoints.length)
    return warn(found, "check this machine's resolver (/etc/resolv.conf) first");
  return warn(found, "ask the partner for a URL that works: tvs partners webhook set PARTNER URL");
}
