/** A server with an empty answer: it shows how much time the runtime alone needs for an answer. */
const headers = { "Content-Type": "application/json" };
const { port } = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: () => new Response("{}", { headers }),
});
process.stdout.write(`${port}\n`);
