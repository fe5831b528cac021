/** Caddy, as Debian brings it, before several nodes: a node that is not healthy gets nothing. */
import { type ChildProcess, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import type { Front } from "./balancer.ts";
import { until } from "./eventually.ts";
import { makeFolder } from "./folder.ts";
import { freePort } from "./free-port.ts";

/** The server certificate of a proxy that ends TLS. */
export type ProxyTls = { readonly certFile: string; readonly keyFile: string };

/**
 * Starts it before these addresses and waits until it takes connections. It is killed with this process at the latest.
 * @param tls with it, it listens with TLS too, asks for client certificates, and hands them on in `Client-Cert`
 */
export async function startCaddy(nodes: readonly string[], tls?: ProxyTls): Promise<Front> {
  const folder = await makeFolder();
  const [port, tlsPort] = [await freePort(), await freePort()];
  const file = join(folder.path, "Caddyfile");
  const secure = tls === undefined ? "" : site(`https://:${tlsPort}`, nodes, tls);
  await writeFile(file, `${globalOptions}${site(`http://:${port}`, nodes)}${secure}`);
  const child = spawn("caddy", ["run", "--config", file, "--adapter", "caddyfile"], {
    stdio: "ignore",
    env: { PATH: process.env.PATH, HOME: folder.path },
  });
  const killNow = () => child.kill("SIGKILL");
  process.on("exit", killNow);
  for (const one of tls === undefined ? [port] : [port, tlsPort]) await untilListening(child, one);
  return {
    url: `http://127.0.0.1:${port}`,
    tlsUrl: tls === undefined ? "" : `https://127.0.0.1:${tlsPort}`,
    async stop() {
      const ended = new Promise((done) => child.once("exit", done));
      killNow();
      await ended;
      process.off("exit", killNow);
      await folder.remove();
    },
  };
}

const globalOptions = `{
	admin off
	auto_https off
	servers {
		# The tests call it by its number, which no name in TLS can be.
		strict_sni_host insecure_off
	}
}
`;

/**
 * As `data/proxies/Caddyfile` has it, but that it takes the nodes in turn, so that a test meets all of them, and counts
 * the tests as a proxy before it, so that they can come from many addresses. Outside a `route`, Caddy itself orders the directives, and
 * would remove the header after it was set.
 */
function site(address: string, nodes: readonly string[], tls?: ProxyTls): string {
  const upstreams = nodes.map((url) => new URL(url).host).join(" ");
  return `${address} {
	bind 127.0.0.1
	${tls === undefined ? "" : askForCertificates(tls)}
	route {
		request_header -Client-Cert
		${tls === undefined ? "" : handCertificateOn}
		reverse_proxy ${upstreams} {
			lb_policy round_robin
			health_uri /v1/inter-agency/health
			health_interval 1s
			health_timeout 2s
			fail_duration 2s
			transport http {
				dial_timeout 1s
			}
			trusted_proxies 127.0.0.0/8
		}
	}
}
`;
}

function askForCertificates({ certFile, keyFile }: ProxyTls): string {
  return `tls ${certFile} ${keyFile} {
		client_auth {
			mode request
		}
	}`;
}

/** Without the matcher, a caller without a certificate would be said to have an empty one. */
const handCertificateOn = `@certified expression \`{http.request.tls.client.certificate_der_base64} != ""\`
		request_header @certified Client-Cert ":{http.request.tls.client.certificate_der_base64}:"`;

async function untilListening(child: ChildProcess, port: number): Promise<void> {
  await until(() => {
    if (child.exitCode !== null) throw new Error(`caddy ended with ${child.exitCode}`);
    return new Promise((done) => {
      const socket = connect(port, "127.0.0.1", () => done(true));
      socket.on("connect", () => socket.destroy()).on("error", () => done(false));
    });
  });
}
