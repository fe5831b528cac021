/** Tells the launcher, which says it aloud, the file of each test that is done. It is loaded before the tests. */
import { afterEach } from "bun:test";
import { appendFileSync } from "node:fs";

const { TVS_TESTS_DONE: file } = process.env;

if (file !== undefined) afterEach(() => appendFileSync(file, `${Bun.main}\n`));
