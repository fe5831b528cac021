import { describe, expect, test } from "bun:test";
import { shellWord } from "../src/domain/plain-text.ts";

const words = ["/srv/tvs", "it's", "a b", "$HOME", "C:\\data", "`id`", "", 'say "x"'];

describe("a word of a printed command", () => {
  test.each(words)("is taken for itself by a shell: %p", async (word) => {
    const said = Bun.spawnSync(["sh", "-c", `printf %s ${shellWord(word)}`]).stdout.toString();
    expect(said).toBe(word);
  });
});
