/** Loaded before the tests by test/run.ts: adds the file of each finished test to a list, for the progress. */
import { afterEach } from "bun:test";
import { appendFileSync } from "node:fs";

const { TVS_TESTS_DONE: file } = process.env;

if (file !== undefined) afterEach(() => appendFileSync(file, `${Bun.main}\n`));
