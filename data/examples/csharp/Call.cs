// .NET 8 or later, or Mono with -r:System.Net.Http.dll.
using System;
using System.Net.Http;
using System.Text;

public static class Call
{
    public static void Main()
    {
        var request = new HttpRequestMessage(new HttpMethod("METHOD"), "ADDRESS");
        request.Headers.TryAddWithoutValidation("NAME", "VALUE");
        request.Content = new StringContent(@"BODY", Encoding.UTF8, "application/json");
        var response = new HttpClient().SendAsync(request).Result;
        Console.WriteLine((int)response.StatusCode + " " + response.Content.ReadAsStringAsync().Result);
    }
}
