import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const folder = join(root, "data/receivers");
const vectorsFile = join(root, "test/fixtures/webhooks/vectors.json");

type Vector = {
  name: string;
  secret: string;
  now: string;
  body: string;
  signature: string;
  valid: boolean;
};
const vectors: Vector[] = JSON.parse(await readFile(vectorsFile, "utf8"));

/** How each receiver is started, and how its `genuine` is asked about the lines of a file. */
type Language = {
  readonly file: string;
  readonly needs: string;
  start(receiver: string, port: string): string[];
  /** Cuts off what would start a server, where that is not told apart by the language. */
  readonly functionOf?: (source: string) => string;
  readonly asking: { readonly file: string; readonly source: string };
  ask(): string[];
};

/** The vectors as every language reads them easily: `now`, then header and body in hexadecimal. */
function linesFor(secret: string): { names: string[]; expected: boolean[]; text: string } {
  const asked = vectors.filter((vector) => vector.secret === secret);
  const hex = (text: string) => Buffer.from(text).toString("hex");
  const lines = asked.map(({ now, signature, body }) =>
    [Date.parse(now) / 1000, hex(signature), hex(body)].join(" "),
  );
  return {
    names: asked.map(({ name }) => name),
    expected: asked.map(({ valid }) => valid),
    text: `${lines.join("\n")}\n`,
  };
}

const languages: Readonly<Record<string, Language>> = {
  JavaScript: {
    file: "receiver.mjs",
    needs: "node",
    start: (receiver) => ["node", receiver],
    functionOf: (source) => `${source.split("createServer(async")[0]}\nexport { genuine };\n`,
    asking: {
      file: "ask.mjs",
      source: `import { readFileSync } from "node:fs";
import { genuine } from "./receiver.mjs";
const text = (hex) => Buffer.from(hex ?? "", "hex");
for (const line of readFileSync("vectors.txt", "utf8").trimEnd().split("\\n")) {
  const [now, header, body] = line.split(" ");
  console.log(genuine(text(header).toString(), text(body), Number(now)));
}`,
    },
    ask: () => ["node", "ask.mjs"],
  },
  Python: {
    file: "receiver.py",
    needs: "python3",
    start: (receiver) => ["python3", receiver],
    asking: {
      file: "ask.py",
      source: `from receiver import genuine
for line in open("vectors.txt"):
    now, header, body = line.rstrip("\\n").split(" ")
    print(str(genuine(bytes.fromhex(header).decode(), bytes.fromhex(body), int(now))).lower())`,
    },
    ask: () => ["python3", "ask.py"],
  },
  PHP: {
    file: "receiver.php",
    needs: "php",
    start: (receiver, port) => ["php", "-S", `127.0.0.1:${port}`, receiver],
    functionOf: (source) => String(source.split("$rawBody = file_get_contents")[0]),
    asking: {
      file: "ask.php",
      source: `<?php
require 'receiver.php';
foreach (file('vectors.txt', FILE_IGNORE_NEW_LINES) as $line) {
    [$now, $header, $body] = explode(' ', $line);
    echo genuine(hex2bin($header), hex2bin($body), (int) $now) ? "true\\n" : "false\\n";
}`,
    },
    ask: () => ["php", "ask.php"],
  },
  Java: {
    file: "Receiver.java",
    needs: "javac",
    start: (receiver) => ["java", receiver],
    asking: {
      file: "Ask.java",
      source: `import java.nio.file.*;
import java.util.HexFormat;
public class Ask {
    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of("vectors.txt"))) {
            String[] part = line.split(" ", -1);
            byte[] header = HexFormat.of().parseHex(part[1]);
            System.out.println(Receiver.genuine(new String(header, "UTF-8"), HexFormat.of().parseHex(part[2]), Long.parseLong(part[0])));
        }
    }
}`,
    },
    ask: () => ["sh", "-c", "javac -encoding UTF-8 -d . Receiver.java Ask.java && java -cp . Ask"],
  },
  Go: {
    file: "receiver.go",
    needs: "go",
    // Built first: `go run` would leave the receiver behind when it is ended itself.
    start: (receiver) => ["sh", "-c", 'go build -o receiver "$0" && exec ./receiver', receiver],
    functionOf: (source) => source.replace("func main() {", "func serve() {"),
    asking: {
      file: "ask.go",
      source: `package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

func main() {
	text, _ := os.ReadFile("vectors.txt")
	for _, line := range strings.Split(strings.TrimRight(string(text), "\\n"), "\\n") {
		part := strings.Split(line, " ")
		var now int64
		fmt.Sscan(part[0], &now)
		header, _ := hex.DecodeString(part[1])
		body, _ := hex.DecodeString(part[2])
		fmt.Println(genuine(string(header), body, now))
	}
}`,
    },
    ask: () => ["go", "run", "receiver.go", "ask.go"],
  },
};

let temp: string;
beforeAll(async () => {
  temp = await mkdtemp(join(tmpdir(), "tvs-receivers-"));
});
afterAll(() => rm(temp, { recursive: true, force: true }));

/** What languages keep for their next run, they keep in the folder that is removed. */
function environment(secret: string): Record<string, string | undefined> {
  return { ...process.env, HOME: temp, WEBHOOK_SECRET: secret, PYTHONDONTWRITEBYTECODE: "1" };
}

async function run(words: string[], cwd: string, secret: string): Promise<string> {
  const env = environment(secret);
  const child = Bun.spawn(words, { cwd, env, stdout: "pipe", stderr: "inherit" });
  const output = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return output;
}

/** A port that nothing listens on. */
async function freePort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return String(port);
}

/** Asks again until the receiver listens. */
async function statusOf(url: string, request: RequestInit): Promise<number> {
  const giveUpMs = performance.now() + 30_000;
  for (;;) {
    const answer = await fetch(url, request).catch(() => null);
    if (answer !== null) return answer.status;
    if (performance.now() > giveUpMs) throw new Error(`nothing listens at ${url}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe.each(Object.entries(languages))("the receiver in %s", (_, language) => {
  const isHere = Bun.which(language.needs) !== null;

  test.skipIf(!isHere)(
    "judges every vector as its fixture says",
    async () => {
      const source = await readFile(join(folder, language.file), "utf8");
      await writeFile(join(temp, language.file), language.functionOf?.(source) ?? source);
      await writeFile(join(temp, language.asking.file), language.asking.source);
      const secrets = [...new Set(vectors.map(({ secret }) => secret))];
      for (const secret of secrets) {
        const { names, expected, text } = linesFor(secret);
        await writeFile(join(temp, "vectors.txt"), text);
        const said = (await run(language.ask(), temp, secret)).trim().split("\n");
        expect(names.map((name, index) => [name, said[index]])).toEqual(
          names.map((name, index) => [name, String(expected[index])]),
        );
      }
    },
    60_000,
  );

  test.skipIf(!isHere)(
    "answers 204 to a genuine delivery and 400 to a forged one",
    async () => {
      const [secret, port] = ["whsec_receiver", await freePort()];
      const env = { ...environment(secret), PORT: port };
      const receiver = join(folder, language.file);
      const child = Bun.spawn(language.start(receiver, port), {
        cwd: temp,
        env,
        stdout: "ignore",
        stderr: "ignore",
      });
      try {
        const body = JSON.stringify({ eventId: "1", eventType: "license.revoked", data: { regNo: "A" } });
        const time = Math.floor(Date.now() / 1000);
        const digest = createHmac("sha256", secret).update(`${time}.${body}`).digest("hex");
        const deliver = (header: string) =>
          statusOf(`http://127.0.0.1:${port}/`, {
            method: "POST",
            body,
            headers: { "X-AGENCY-Signature": header },
          });
        expect(await deliver(`t=${time},v1=${digest}`)).toBe(204);
        expect(await deliver(`t=${time},v1=${"0".repeat(64)},v1=${digest}`)).toBe(204);
        expect(await deliver(`t=${time},v1=${"0".repeat(64)}`)).toBe(400);
        expect(await deliver("")).toBe(400);
      } finally {
        child.kill();
        await child.exited;
      }
    },
    60_000,
  );

  test("takes the header by the same pattern as all others, also where the language is not at hand", async () => {
    const source = await readFile(join(folder, language.file), "utf8");
    expect(source).toContain("t=(0|[1-9][0-9]{0,11}),v1=([0-9a-f]{64})(?:,v1=([0-9a-f]{64}))?");
  });
});
