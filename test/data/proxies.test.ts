/** The proxies' configurations that operators copy, loaded by the real proxies before a real service. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { teachers } from "../blackbox/registry.ts";
import { api, createWorld, fetchOverTls, type Partner, type World } from "../blackbox/world.ts";
import { makeCertificate, type TestCertificate } from "../harness/certificates.ts";
import { until } from "../harness/eventually.ts";
import { sharedFolder } from "../harness/folder.ts";
import { freePort } from "../harness/free-port.ts";
import { testTimeoutMs } from "../harness/program.ts";

setDefaultTimeout(testTimeoutMs);

const configurations = join(import.meta.dir, "../../data/proxies");
const folder = sharedFolder();
const here = (name: string) => join(folder, name);

/** A proxy, with the files and texts of its configuration, and its command. */
type Proxy = {
  readonly file: string;
  /** Files that the proxy needs. */
  readonly needs: readonly string[];
  /** Whether a POST goes to the next node if a node refuses connections; false: only if that node is known as down. */
  readonly repeatsPosts: boolean;
  /** Texts that the test replaces, in addition to nodes, folder and port. */
  own(port: number): Readonly<Record<string, string>>;
  words(config: string): Promise<string[]>;
};

const proxies: Readonly<Record<string, Proxy>> = {
  caddy: {
    file: "Caddyfile",
    needs: [],
    repeatsPosts: false,
    own: (port) => ({ "verify.example.org {": `https://localhost:${port} {` }),
    async words(config) {
      await writeFile(config, `{\n\tadmin off\n\tauto_https off\n}\n${await readFile(config, "utf8")}`);
      return ["caddy", "run", "--adapter", "caddyfile", "--config", config];
    },
  },
  nginx: {
    file: "nginx.conf",
    needs: ["/usr/lib/nginx/modules/ngx_http_js_module.so"],
    repeatsPosts: true,
    own: (port) => ({
      "listen 443": `listen 127.0.0.1:${port}`,
      "/etc/nginx/client-cert.js": here("client-cert.js"),
    }),
    async words(config) {
      await copyFile(join(configurations, "client-cert.js"), here("client-cert.js"));
      const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
        (name) => `${name}_temp_path ${here(name)};`,
      );
      const http = `access_log off; ${temporary.join(" ")} include ${config};`;
      const main = `daemon off; master_process off; pid ${here("nginx.pid")}; error_log stderr;`;
      const text = `${main}\ninclude /etc/nginx/modules-enabled/*.conf;\nevents {}\nhttp { ${http} }\n`;
      await writeFile(here("main.conf"), text);
      return ["nginx", "-c", here("main.conf")];
    },
  },
};

const isHere = ([name, { needs }]: [string, Proxy]) =>
  Bun.which(name) !== null && needs.every((path) => existsSync(path));
const installed = Object.entries(proxies).filter(isHere);

let world: World;
let partner: Partner;
let known: TestCertificate;

beforeAll(async () => {
  if (installed.length === 0) return;
  const args = ["--trusted-proxy", "127.0.0.1", "--client-cert-from", "127.0.0.1"];
  world = await createWorld({ rows: [teachers.valid], args });
  partner = await world.partner();
  known = await makeCertificate({ commonName: "agency" });
  await world.addCertificate(partner, known);
  const { certPem, keyPem } = await makeCertificate({ commonName: "localhost" });
  await mkdir(here("tls"));
  await writeFile(here("tls/chain.pem"), certPem);
  await writeFile(here("tls/key.pem"), keyPem);
});
afterAll(() => world?.end());

/** Starts a proxy before the service and two nodes that are down. */
async function startProxy(name: string) {
  const { file, own, words } = proxies[name] as Proxy;
  const [port, second, third] = [await freePort(), await freePort(), await freePort()];
  const replaced = {
    "10.0.0.11:8080": new URL(world.service().url).host,
    "10.0.0.12:8080": `127.0.0.1:${second}`,
    "10.0.0.13:8080": `127.0.0.1:${third}`,
    "/etc/tvs/": `${here("tls")}/`,
    ...own(port),
  };
  const printed = await readFile(join(configurations, file), "utf8");
  const text = Object.entries(replaced).reduce((left, [from, to]) => {
    expect(left).toContain(from);
    return left.replaceAll(from, to);
  }, printed);
  await writeFile(here(file), text);
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const child = Bun.spawn(await words(here(file)), { stdout: "ignore", stderr: "pipe", env });
  const said = new Response(child.stderr).text();
  const call = (
    headers: Record<string, string>,
    certificate?: TestCertificate,
    init: Pick<RequestInit, "method" | "body"> = {},
  ) => {
    const path = init.method === "POST" ? "eligibility-check" : `lookup/by-tid/${teachers.valid.t_id}`;
    return fetchOverTls(`https://localhost:${port}${api}/${path}`, certificate, { ...init, headers });
  };
  const isUp = async () => (await call({}).catch(() => null))?.status === 401;
  try {
    await until(async () => child.exitCode !== null || (await isUp()));
    if (child.exitCode !== null) throw new Error(`${name}: ${await said}`);
  } catch (error) {
    child.kill();
    throw error;
  }
  return {
    call,
    async end() {
      child.kill();
      await child.exited;
    },
  };
}

for (const name of Object.keys(proxies)) {
  describe.skipIf(!installed.some(([here]) => here === name))(name, () => {
    let proxy: Awaited<ReturnType<typeof startProxy>>;
    beforeAll(async () => {
      proxy = await startProxy(name);
    });
    afterAll(() => proxy?.end());

    const forged = () => ({ "Client-Cert": `:${Buffer.from(known.der).toString("base64")}:` });

    test("the proxy forwards the caller's certificate", async () => {
      const response = await proxy.call({}, known);
      expect(response.status).toBe(200);
      expect(((await response.json()) as { audience: string }).audience).toBe(partner.id);
    });

    test("the proxy deletes the Client-Cert header that a caller sends", async () => {
      const stranger = await makeCertificate({ commonName: "stranger" });
      expect((await proxy.call(forged())).status).toBe(401);
      expect((await proxy.call(forged(), stranger)).status).toBe(401);
      expect((await proxy.call({ "Client-Cert": "::" }, known)).status).toBe(200);
    });

    const round = async () => {
      const body = JSON.stringify({
        identifier: { regNo: teachers.valid.reg_no },
        purpose: "BODYA_INVIGILATOR_ELIGIBILITY",
      });
      const calls = Array.from({ length: 20 }, () => proxy.call({}, known, { method: "POST", body }));
      return (await Promise.all(calls)).filter(({ status }) => status !== 200).length;
    };

    test("the proxy loses no call while two of three nodes are down", async () => {
      if (proxies[name]?.repeatsPosts) expect(await round()).toBe(0);
      else await until(async () => (await round()) === 0);
    });
  });
}
