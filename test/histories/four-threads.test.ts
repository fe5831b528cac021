import { test } from "bun:test";
import { playOneService } from "./one-service.ts";

test(
  "one order explains what the callers of a service of four threads saw that is killed and started again",
  () => playOneService("histories-4-threads", ["--threads", "4", "--spread", "always"]),
  7_200_000,
);
