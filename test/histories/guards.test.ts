import { driverKinds } from "../harness/drivers.ts";
import { describeGuards } from "./guards.ts";

const kinds = driverKinds.filter(({ name }) => name === "embedded, serving");
describeGuards("histories-guards", kinds, 3);
