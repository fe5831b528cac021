import { expect, test } from "bun:test";
import { shellWord } from "../src/domain/plain-text.ts";

const words = ["/srv/tvs", "it's", "a b", "$HOME", "C:\\data", "`id`", "", 'say "x"'];

test.each(words)("sh reads the quoted word %p unchanged", async (word) => {
  const said = Bun.spawnSync(["sh", "-c", `printf %s ${shellWord(word)}`]).stdout.toString();
  expect(said).toBe(word);
});
