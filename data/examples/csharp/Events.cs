// Fetches the events that are new, a line for each. .NET 8 with the package Newtonsoft.Json (dotnet add package
// Newtonsoft.Json), or Mono:
//   mcs -r:/usr/lib/cli/Newtonsoft.Json-5.0/Newtonsoft.Json.dll -r:System.Net.Http.dll Events.cs
// (tested with Mono 6.8 and Newtonsoft.Json 6.0.8; Debian: apt install mono-mcs mono-runtime libnewtonsoft-json5.0-cil
// libmono-system-net-http4.0-cil).
//   API_KEY='tvs_test_...' mono Events.exe ISSUER
// Run it every minute. The file events.iterator says how far it has come; what fails comes the next time, so a line can
// come twice, and none is left out.
using System;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

public static class Events
{
    const string Place = "events.iterator";

    static async Task Run(string issuer)
    {
        // A key is for the address that it is meant for, and not for wherever a redirect leads.
        var client = new HttpClient(new HttpClientHandler { AllowAutoRedirect = false }) { Timeout = TimeSpan.FromSeconds(15) };
        client.DefaultRequestHeaders.Add("Authorization", "Bearer " + Environment.GetEnvironmentVariable("API_KEY"));
        for (var isDone = false; !isDone; )
        {
            var query = File.Exists(Place) ? "?after=" + Uri.EscapeDataString(File.ReadAllText(Place)) : "";
            var answer = await client.GetAsync(issuer + "/v1/inter-agency/events" + query);
            var body = await answer.Content.ReadAsStringAsync();
            if (!answer.IsSuccessStatusCode)
            {
                var code = answer.Headers.TryGetValues("X-Error-Code", out var named) ? named.Single() : "?";
                throw new Exception(code + ": " + body);
            }
            var page = JObject.Parse(body);
            foreach (var told in page["data"]) // keep its set: it proves later what you were told
            {
                Console.WriteLine("{0} {1} {2}", told["eventId"], told["eventType"], told["data"]["regNo"]);
            }
            var iterator = (string)page["iterator"];
            if (iterator != null)
            {
                File.WriteAllText(Place + ".new", iterator);
                if (File.Exists(Place)) File.Replace(Place + ".new", Place, null);
                else File.Move(Place + ".new", Place);
            }
            isDone = (bool)page["done"];
        }
    }

    public static int Main(string[] args)
    {
        try
        {
            Run(args[0]).GetAwaiter().GetResult();
            return 0;
        }
        catch (Exception error)
        {
            Console.Error.WriteLine(error.Message);
            return 1;
        }
    }
}
