// Asks about one teacher. .NET 8 with the package Newtonsoft.Json (dotnet add package Newtonsoft.Json), or Mono:
//   mcs -r:/usr/lib/cli/Newtonsoft.Json-5.0/Newtonsoft.Json.dll -r:System.Net.Http.dll Ask.cs
// (tested with Mono 6.8 and Newtonsoft.Json 6.0.8; Debian: apt install mono-mcs mono-runtime libnewtonsoft-json5.0-cil
// libmono-system-net-http4.0-cil).
//   API_KEY='tvs_test_...' mono Ask.exe ISSUER PURPOSE REGISTRATION_NUMBER
// Saves the answer and the keys that prove it: envelope.json, jwks.json, key-history.jose. Verify before you rely on it.
using System;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading.Tasks;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

public static class Ask
{
    /// A key is for the address that it is meant for, and not for wherever a redirect leads.
    static readonly HttpClient Client = new HttpClient(new HttpClientHandler { AllowAutoRedirect = false })
        { Timeout = TimeSpan.FromSeconds(15) };

    /// Which the API reference explains.
    static string CodeOf(HttpResponseMessage answer)
    {
        return answer.Headers.TryGetValues("X-Error-Code", out var named) ? named.Single() : "" + (int)answer.StatusCode;
    }

    /// Asks again up to three times what the service could not answer; throws what it refused.
    static async Task<HttpResponseMessage> Call(Func<HttpRequestMessage> request)
    {
        for (var attempt = 0; ; attempt++)
        {
            var status = 0;
            var body = "no answer";
            var code = "0";
            try
            {
                var answer = await Client.SendAsync(request());
                body = await answer.Content.ReadAsStringAsync();
                status = (int)answer.StatusCode;
                if (status == 200) return answer;
                code = CodeOf(answer);
            }
            catch (Exception error) when (error is HttpRequestException || error is TaskCanceledException)
            {
                body = error.Message;
            }
            var waitSeconds = status == 429 ? (int)JObject.Parse(body)["retryAfterSeconds"] : 1 << attempt;
            var mayHelp = status == 0 || status == 429 || status >= 500;
            if (!mayHelp || attempt == 3 || waitSeconds > 60) throw new Exception(code + ": " + body);
            await Task.Delay(TimeSpan.FromSeconds(waitSeconds));
        }
    }

    /// Whether this is the answer to the question: somebody on the way may have kept a genuine one to another.
    static bool IsMine(JObject envelope, HttpResponseMessage answer, string regNo, DateTime begunAt)
    {
        var result = envelope["result"];
        var asked = Regex.Replace(regNo, @"\s", "").ToUpperInvariant();
        var signedAt = ((DateTime)envelope["verifiedAt"]).ToUniversalTime();
        return (!(bool)result["found"] || (string)result.SelectToken("certificate.regNo") == asked)
            && answer.Headers.TryGetValues("X-Verification-Id", out var named)
            && named.Single() == (string)envelope["verificationId"]
            && signedAt > begunAt.AddMinutes(-1) && signedAt < DateTime.UtcNow.AddMinutes(1);
    }

    static async Task Run(string issuer, string purpose, string regNo)
    {
        var api = issuer + "/v1/inter-agency";
        var identifier = new JObject(new JProperty("regNo", regNo));
        var question = new JObject(new JProperty("identifier", identifier), new JProperty("purpose", purpose));
        var idempotencyKey = Guid.NewGuid().ToString(); // the same for each retry of one question
        var begunAt = DateTime.UtcNow;
        var answer = await Call(() =>
        {
            var request = new HttpRequestMessage(HttpMethod.Post, api + "/eligibility-check");
            request.Headers.Add("Authorization", "Bearer " + Environment.GetEnvironmentVariable("API_KEY"));
            request.Headers.Add("Idempotency-Key", idempotencyKey);
            request.Content = new StringContent(question.ToString(), Encoding.UTF8, "application/json");
            return request;
        });
        var text = await answer.Content.ReadAsStringAsync();
        var envelope = JObject.Parse(text);
        if (!IsMine(envelope, answer, regNo, begunAt)) throw new Exception("this answers another question");
        File.WriteAllText("envelope.json", text);
        foreach (var file in new[] { "jwks.json", "key-history" })
        {
            var keys = await Call(() => new HttpRequestMessage(HttpMethod.Get, api + "/.well-known/" + file));
            var name = file == "key-history" ? "key-history.jose" : file;
            File.WriteAllText(name, await keys.Content.ReadAsStringAsync());
        }
        foreach (var name in new[] { "found", "status", "eligible", "reasons" })
        {
            Console.WriteLine(name + ": " + envelope["result"][name].ToString(Formatting.None));
        }
    }

    public static int Main(string[] args)
    {
        try
        {
            Run(args[0], args[1], args[2]).GetAwaiter().GetResult();
            return 0;
        }
        catch (Exception error)
        {
            Console.Error.WriteLine(error.Message);
            return 1;
        }
    }
}
