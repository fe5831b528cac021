// Receives webhooks. .NET 8, or Mono: mcs Receive.cs (tested with Mono 6.8; Debian: apt install mono-mcs mono-runtime).
//   TVS_WEBHOOK_SECRET='whsec_...' PORT=9876 mono Receive.exe
// One delivery that you kept: mono Receive.exe --check BODY_FILE SIGNATURE UNIX_SECONDS (exit 0 genuine, 1 not)
using System;
using System.IO;
using System.Linq;
using System.Net;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;

public static class Receive
{
    static readonly string Secret = Environment.GetEnvironmentVariable("TVS_WEBHOOK_SECRET") ?? ""; // whsec_ included
    static readonly Regex Header = new Regex(@"^t=(0|[1-9][0-9]{0,11}),v1=([0-9a-f]{64})(?:,v1=([0-9a-f]{64}))?\z");

    /// Looks at every character whatever it finds, so that the time taken tells nothing about the right digest.
    static bool IsSame(string one, string other)
    {
        var difference = one.Length ^ other.Length;
        for (var index = 0; index < Math.Min(one.Length, other.Length); index++) difference |= one[index] ^ other[index];
        return difference == 0;
    }

    /// "valid", or why not. The body is the bytes as they came, before anything parses them.
    static string Judge(byte[] rawBody, string header, long nowSeconds)
    {
        var match = Header.Match(header);
        if (!match.Success) return "SIGNATURE_HEADER_MALFORMED";
        var time = match.Groups[1].Value;
        string expected;
        using (var hmac = new HMACSHA256(Encoding.UTF8.GetBytes(Secret)))
        {
            var digest = hmac.ComputeHash(Encoding.ASCII.GetBytes(time + ".").Concat(rawBody).ToArray());
            expected = BitConverter.ToString(digest).Replace("-", "").ToLowerInvariant();
        }
        var isGenuine = IsSame(expected, match.Groups[2].Value) | IsSame(expected, match.Groups[3].Value);
        if (!isGenuine) return "SIGNATURE_MISMATCH";
        return Math.Abs(nowSeconds - long.Parse(time)) > 300 ? "OUTSIDE_REPLAY_WINDOW" : "valid";
    }

    static void Answer(HttpListenerContext context)
    {
        var body = new MemoryStream();
        context.Request.InputStream.CopyTo(body);
        var header = context.Request.Headers["X-AGENCY-Signature"] ?? "";
        var verdict = Judge(body.ToArray(), header, DateTimeOffset.UtcNow.ToUnixTimeSeconds());
        context.Response.StatusCode = verdict == "valid" ? 204 : 400;
        context.Response.Close();
        // Keep the event's eventId in your database and work now: an event can come twice, and then has the same one.
        if (verdict == "valid") Console.WriteLine(Encoding.UTF8.GetString(body.ToArray()));
    }

    public static int Main(string[] args)
    {
        if (Secret == "")
        {
            Console.Error.WriteLine("set TVS_WEBHOOK_SECRET");
            return 2;
        }
        if (args.Length == 4 && args[0] == "--check")
        {
            var verdict = Judge(File.ReadAllBytes(args[1]), args[2], long.Parse(args[3]));
            Console.WriteLine(verdict);
            return verdict == "valid" ? 0 : 1;
        }
        var listener = new HttpListener();
        listener.Prefixes.Add("http://127.0.0.1:" + (Environment.GetEnvironmentVariable("PORT") ?? "9876") + "/");
        listener.Start();
        while (true) Answer(listener.GetContext());
    }
}
