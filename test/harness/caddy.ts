/** Caddy, as Debian brings it, before several nodes: a node that is not healthy gets nothing. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { until } from "./eventually.ts";
import { makeFolder } from "./folder.ts";
import { freePort } from "./sqld.ts";

/** Why there is no proxy to test with, or undefined when there is one. */
export const noCaddy =
  spawnSync("caddy", ["version"]).status === 0 ? undefined : "the Debian package caddy is not installed";

export type Caddy = { readonly url: string; stop(): Promise<void> };

/** Starts it before these addresses and waits until it takes connections. It is killed with this process at the latest. */
export async function startCaddy(nodes: readonly string[]): Promise<Caddy> {
  const folder = await makeFolder();
  const port = await freePort();
  const file = join(folder.path, "Caddyfile");
  await writeFile(file, caddyfile(port, nodes));
  const child = spawn("caddy", ["run", "--config", file, "--adapter", "caddyfile"], {
    stdio: "ignore",
    env: { PATH: process.env.PATH, HOME: folder.path },
  });
  const killNow = () => child.kill("SIGKILL");
  process.on("exit", killNow);
  await untilListening(child, port);
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      const ended = new Promise((done) => child.once("exit", done));
      killNow();
      await ended;
      process.off("exit", killNow);
      await folder.remove();
    },
  };
}

/**
 * What could not be connected to goes to another node; what a node may have heard goes to no other, except a GET. That
 * is how Caddy 2.6 retries by itself, and `lb_try_duration` is what makes it try at all.
 */
function caddyfile(port: number, nodes: readonly string[]): string {
  const upstreams = nodes.map((url) => new URL(url).host).join(" ");
  return `{
	admin off
	auto_https off
}
http://127.0.0.1:${port} {
	bind 127.0.0.1
	reverse_proxy ${upstreams} {
		lb_policy round_robin
		lb_try_duration 5s
		lb_try_interval 50ms
		fail_duration 1s
		health_uri /v1/inter-agency/health
		health_interval 500ms
		health_timeout 2s
		header_up -Client-Cert
	}
}
`;
}

async function untilListening(child: ChildProcess, port: number): Promise<void> {
  await until(() => {
    if (child.exitCode !== null) throw new Error(`caddy ended with ${child.exitCode}`);
    return new Promise((done) => {
      const socket = connect(port, "127.0.0.1", () => done(true));
      socket.on("connect", () => socket.destroy()).on("error", () => done(false));
    });
  });
}
