import { test } from "bun:test";
import { playOneService } from "./one-service.ts";

test(
  "one order explains what the callers of a service of one thread saw that is killed and started again",
  () => playOneService("histories-1-thread", ["--threads", "1"]),
  7_200_000,
);
