// Verifies one envelope offline. .NET 8 with the package Newtonsoft.Json (dotnet add package Newtonsoft.Json), or Mono:
//   mcs -r:/usr/lib/cli/Newtonsoft.Json-5.0/Newtonsoft.Json.dll Verify.cs
// (tested with Mono 6.8 and Newtonsoft.Json 6.0.8; Debian: apt install mono-mcs mono-runtime libnewtonsoft-json5.0-cil).
//   mono Verify.exe envelope.json jwks.json key-history.jose ISSUER YOUR_PARTNER_ID [offline-pack.json]
// Prints "valid" and exits 0, or prints the reason: 1 is refused, 2 cannot be decided with these files.
// Of a batch response, each member of "results" is an envelope. Fetch the key files from the service yourself.
// A sixth word, the service's offline pack or a status list, tells whether the answer was withdrawn since.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.IO.Compression;
using System.Linq;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

public class Refused : Exception
{
    public Refused(string reason) : base(reason) { }
}

public class Token
{
    public JObject Header;
    public byte[] Payload, Signature, Signed;
}

public class StatusList
{
    public string Uri;
    public long IssuedAt, Bits;
    public double Expires;
    public byte[] Places;
}

public static class Verify
{
    static readonly string[] Undecidable =
    {
        "NOT_AN_ENVELOPE", "KID_UNKNOWN", "KEY_SET_UNREADABLE", "KEY_HISTORY_UNREADABLE", "FILE_UNREADABLE",
        "STATUS_LIST_UNUSABLE", "STATUS_LIST_STALE"
    };
    const long MaxListAge = 7 * 86400;
    static readonly string[] Statuses = { "VALID", "EXPIRED", "NOT_FOUND", "REVOKED" };
    static readonly Dictionary<string, string> OwnTimes = new Dictionary<string, string>
        { { "active", "activatedAt" }, { "retired", "retiredAt" }, { "compromised", "compromisedSince" } };
    const string Time = @"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?";
    const string Clock = @"(?:[01][0-9]|2[0-3]):[0-5][0-9]";
    const string AnyTime = @"^[0-9]{4}-[0-9]{2}-[0-9]{2}T" + Clock + @":[0-5][0-9](\.[0-9]{1,9})?(Z|[+-]" + Clock + @")\z";
    const string JsonText = @"""(?:[^""\\\x00-\x1f]|\\(?:[""\\/bfnrt]|u[0-9A-Fa-f]{4}))*""(\s*:)?";
    const string JsonMark = @"[ \t\r\n{}\[\]:,]|true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.+-])";
    const string JsonGap = @"[\[{:,][ \t\r\n]*,|,[ \t\r\n]*[\]}]";
    const string Marks = @"eyJ[A-Za-z0-9_-]{8}|""(signature|signatureKid|result|verificationId)""\s*:|\\u00[4-7]";

    static void Require(bool condition, string reason)
    {
        if (!condition) throw new Refused(reason);
    }

    /// The member, or "" when it is no text.
    static string Text(JToken value, string name)
    {
        var member = value is JObject ? value[name] : null;
        return member != null && member.Type == JTokenType.String ? (string)member : "";
    }

    static bool Has(JToken value, params string[] names)
    {
        return value is JObject && names.Any(name => value[name] != null);
    }

    static bool IsNull(JToken value)
    {
        return value == null || value.Type == JTokenType.Null;
    }

    static int CountMembers(JToken value)
    {
        return (value is JObject ? value.Count() : 0) + value.Children().Sum(child =>
            CountMembers(child is JProperty ? ((JProperty)child).Value : child));
    }

    /// Json.NET keeps the last of two members with one name: then more names are written than were read. It also reads
    /// comments, other quotes and commas with nothing behind them, which are no JSON: what remains without the texts must
    /// be its marks, numbers and words.
    static JObject ReadObject(byte[] data, string reason)
    {
        try
        {
            var text = new UTF8Encoding(false, true).GetString(data);
            var bare = Regex.Replace(text, JsonText, "null$1");
            Require(Regex.IsMatch(bare, "^(?:" + JsonMark + @")*\z") && !Regex.IsMatch(bare, JsonGap), reason);
            var reader = new JsonTextReader(new StringReader(text)) { DateParseHandling = DateParseHandling.None };
            var value = JToken.ReadFrom(reader) as JObject;
            Require(value != null && !reader.Read(), reason);
            var matches = Regex.Matches(text, JsonText).Cast<Match>();
            Require(matches.Count(match => match.Groups[1].Success) == CountMembers(value), "JSON_DUPLICATE_MEMBER");
            return value;
        }
        catch (Exception error) when (error is JsonException || error is ArgumentException || error is OverflowException)
        {
            throw new Refused(reason);
        }
    }

    /// One text for each signature: decoders also accept white space and spare bits.
    static byte[] Decode(string part)
    {
        try
        {
            var padded = part.Replace('-', '+').Replace('_', '/') + new string('=', (4 - part.Length % 4) % 4);
            var data = Convert.FromBase64String(padded);
            var again = Convert.ToBase64String(data).TrimEnd('=').Replace('+', '-').Replace('/', '_');
            Require(again == part, "BASE64URL_NOT_CANONICAL");
            return data;
        }
        catch (FormatException)
        {
            throw new Refused("BASE64URL_NOT_CANONICAL");
        }
    }

    /// The header, which must not steer anything: RS256 alone, no extensions, no key of its own.
    static Token OpenJws(string jws)
    {
        var parts = jws.Split('.');
        Require(parts.Length == 3, "JWS_MALFORMED");
        var header = ReadObject(Decode(parts[0]), "JWS_MALFORMED");
        Require(Text(header, "alg") == "RS256", "HEADER_ALG");
        Require(!Has(header, "crit", "b64"), "HEADER_CRIT");
        Require(!Has(header, "jwk", "jku", "x5u", "x5c"), "HEADER_KEY");
        Require(!Has(header, "typ") || Text(header, "typ") != "", "HEADER_TYP");
        Require(Text(header, "kid") != "", "HEADER_KID");
        var signed = Encoding.ASCII.GetBytes(parts[0] + "." + parts[1]);
        return new Token { Header = header, Payload = Decode(parts[1]), Signature = Decode(parts[2]), Signed = signed };
    }

    static void VerifySignature(Token token, JToken jwk, string reason)
    {
        using (var rsa = RSA.Create())
        {
            var modulus = Decode(Text(jwk, "n"));
            Require(token.Signature.Length == modulus.Length, reason);
            rsa.ImportParameters(new RSAParameters { Modulus = modulus, Exponent = Decode(Text(jwk, "e")) });
            var isGood = rsa.VerifyData(token.Signed, token.Signature, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1);
            Require(isGood, reason);
        }
    }

    /// One secret or weak key in a set, and nothing in the set can be trusted.
    static bool VetKey(JToken jwk)
    {
        Require(Text(jwk, "kty") != "", "KEY_SET_KEY_MALFORMED");
        Require(!Has(jwk, "k", "d", "p", "q", "dp", "dq", "qi", "oth"), "KEY_SET_PRIVATE_KEY");
        if (Text(jwk, "kty") != "RSA") return false;
        Require(Text(jwk, "kid") != "", "KEY_SET_KID_MISSING");
        Require(!Has(jwk, "use") || Text(jwk, "use") == "sig", "KEY_SET_KEY_MALFORMED");
        Require(!Has(jwk, "alg") || Text(jwk, "alg") == "RS256", "KEY_SET_KEY_MALFORMED");
        byte[] n = Decode(Text(jwk, "n")), e = Decode(Text(jwk, "e"));
        Require(n.Length > 0 && n[0] != 0 && n.Last() % 2 == 1, "KEY_SET_KEY_MALFORMED");
        var isSized = n.Length <= 1024 && (n.Length > 256 || (n.Length == 256 && n[0] >= 128));
        Require(isSized, "KEY_SET_MODULUS_SIZE");
        Require(e.Length > 0 && e.Length <= 4 && e[0] != 0, "KEY_SET_EXPONENT");
        Require(e.Last() % 2 == 1 && (e.Length > 1 || e[0] != 1), "KEY_SET_EXPONENT");
        return true;
    }

    static Dictionary<string, JObject> ReadKeySet(byte[] data)
    {
        var keys = ReadObject(data, "KEY_SET_UNREADABLE")["keys"] as JArray;
        Require(keys != null, "KEY_SET_UNREADABLE");
        var known = new Dictionary<string, JObject>();
        var kids = new HashSet<string>();
        foreach (var jwk in keys)
        {
            var isUsable = VetKey(jwk);
            Require(kids.Add(Text(jwk, "kid")) || !Has(jwk, "kid"), "KEY_SET_DUPLICATE_KID");
            if (isUsable) known[Text(jwk, "kid")] = new JObject(new JProperty("jwk", jwk));
        }
        return known;
    }

    /// Adds to each key when it was in use, as the history says that a key of the set has signed.
    static void AddHistory(Dictionary<string, JObject> keys, byte[] data, string issuer)
    {
        var trimmed = Encoding.ASCII.GetString(data).Trim();
        Require(Regex.IsMatch(trimmed, @"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$"), "KEY_HISTORY_UNREADABLE");
        var token = OpenJws(trimmed);
        var signer = Text(token.Header, "kid");
        Require(Text(token.Header, "typ") == "key-history+jwt", "KEY_HISTORY_MALFORMED");
        Require(keys.ContainsKey(signer), "KEY_HISTORY_NOT_ANCHORED");
        VerifySignature(token, keys[signer]["jwk"], "KEY_HISTORY_SIGNATURE_INVALID");
        var history = ReadObject(token.Payload, "KEY_HISTORY_MALFORMED");
        Require(history["keys"] is JArray, "KEY_HISTORY_MALFORMED");
        Require(Text(history, "iss") == issuer, "KEY_HISTORY_ISSUER_MISMATCH");
        var historic = new Dictionary<string, JToken>();
        foreach (var entry in history["keys"])
        {
            var kid = VetEntry(entry);
            Require(!historic.ContainsKey(kid), "KEY_SET_DUPLICATE_KID");
            historic[kid] = entry;
            var other = keys.ContainsKey(kid) ? keys[kid]["jwk"] : entry["jwk"];
            var isSame = Text(other, "n") == Text(entry["jwk"], "n") && Text(other, "e") == Text(entry["jwk"], "e");
            Require(isSame, "KEY_SET_CONFLICT");
            // A key that the set no longer has was taken out for a reason; it comes back only to be refused.
            if (keys.ContainsKey(kid) || Text(entry, "compromisedSince") != "") keys[kid] = (JObject)entry;
        }
        Require(historic.ContainsKey(signer), "KEY_HISTORY_KID_UNKNOWN");
        var at = TimeOf(history["iat"], "KEY_HISTORY_MALFORMED");
        Require(!IsCompromised(historic[signer], at), "KEY_HISTORY_KEY_COMPROMISED");
    }

    static string VetEntry(JToken entry)
    {
        var jwk = Has(entry, "jwk") ? entry["jwk"] : null;
        Require(VetKey(jwk), "KEY_HISTORY_MALFORMED");
        foreach (var name in OwnTimes.Values)
        {
            var isTime = IsNull(entry[name]) || Regex.IsMatch(Text(entry, name), Time + @"Z\z");
            Require(Has(entry, name) && isTime, "KEY_HISTORY_MALFORMED");
        }
        var state = Text(entry, "state");
        var hasOwnTime = OwnTimes.ContainsKey(state) && Text(entry, OwnTimes[state]) != "";
        Require(state == "pending" || hasOwnTime, "KEY_HISTORY_MALFORMED");
        Require(Text(entry, "kid") == Text(jwk, "kid"), "KEY_HISTORY_MALFORMED");
        return Text(jwk, "kid");
    }

    /// UTC to the second, for example 2026-03-01T09:30:00: such texts sort as the times do.
    static string TimeOf(JToken seconds, string reason)
    {
        Require(seconds != null && seconds.Type == JTokenType.Integer, reason);
        Require((decimal)seconds >= 0 && (decimal)seconds < 253402300800, reason);
        var time = DateTimeOffset.FromUnixTimeSeconds((long)seconds);
        return time.ToString("yyyy-MM-dd'T'HH:mm:ss", CultureInfo.InvariantCulture);
    }

    static int Compare(string at, string time)
    {
        return string.CompareOrdinal(at, time.Substring(0, 19));
    }

    static bool IsCompromised(JToken key, string at)
    {
        var since = Text(key, "compromisedSince");
        return since != "" && Compare(at, since) >= 0;
    }

    /// Who has a compromised key can sign anything, and no key signs before or after its time.
    static void CheckKeyAt(JObject key, string at)
    {
        if (!Has(key, "state")) return; // newer than the history
        Require(!IsCompromised(key, at), "KEY_COMPROMISED");
        string activated = Text(key, "activatedAt"), retired = Text(key, "retiredAt");
        Require(activated != "" && Compare(at, activated) >= 0, "KEY_OUTSIDE_WINDOW");
        Require(retired == "" || Compare(at, retired) <= 0, "KEY_OUTSIDE_WINDOW");
    }

    static double Limit(JObject claims, string name, double otherwise)
    {
        if (!Has(claims, name)) return otherwise;
        Require(claims[name].Type == JTokenType.Integer || claims[name].Type == JTokenType.Float, "CLAIM_TYPE");
        return (double)claims[name];
    }

    static void CheckClaims(JObject claims, string issuer, string audience)
    {
        Require(!(claims["aud"] is JArray), "AUDIENCE_NOT_SINGLE");
        foreach (var name in new[] { "iss", "aud", "sub" }) Require(Text(claims, name) != "", "CLAIM_TYPE");
        double now = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        double expires = Limit(claims, "exp", now), begins = Limit(claims, "nbf", now);
        Require(Text(claims, "iss") == issuer, "ISSUER_MISMATCH");
        Require(Text(claims, "aud") == audience, "AUDIENCE_MISMATCH");
        Require((double)claims["iat"] <= now + 60, "ISSUED_IN_FUTURE");
        Require(expires > now - 60, "TOKEN_EXPIRED");
        Require(begins <= now + 60, "TOKEN_NOT_YET_VALID");
    }

    /// The answer's place in a status list; null for an answer that names none.
    static JToken PlaceOf(JObject claims)
    {
        if (!Has(claims, "status")) return null;
        var place = Has(claims["status"], "status_list") ? claims["status"]["status_list"] : null;
        Require(Has(place, "idx") && place["idx"].Type == JTokenType.Integer && Text(place, "uri") != "", "CLAIM_TYPE");
        Require((decimal)place["idx"] >= 0 && (decimal)place["idx"] < 1L << 53, "CLAIM_TYPE");
        return place;
    }

    /// A list with a good signature of a key that was never compromised, unpacked to its bits and no further.
    static StatusList OpenList(string jws, Dictionary<string, JObject> keys)
    {
        var token = OpenJws(jws.Trim());
        var kid = Text(token.Header, "kid");
        var isList = Text(token.Header, "typ") == "statuslist+jwt" && keys.ContainsKey(kid);
        Require(isList && Text(keys[kid], "compromisedSince") == "", "STATUS_LIST_UNUSABLE");
        VerifySignature(token, keys[kid]["jwk"], "STATUS_LIST_UNUSABLE");
        var claims = ReadObject(token.Payload, "STATUS_LIST_UNUSABLE");
        CheckKeyAt(keys[kid], TimeOf(claims["iat"], "STATUS_LIST_UNUSABLE"));
        var packed = claims["status_list"];
        Require(Has(packed, "bits") && packed["bits"].Type == JTokenType.Integer, "STATUS_LIST_UNUSABLE");
        var bits = (long)packed["bits"];
        Require(bits == 1 || bits == 2 || bits == 4 || bits == 8, "STATUS_LIST_UNUSABLE");
        return new StatusList
        {
            Uri = Text(claims, "sub"), IssuedAt = (long)claims["iat"], Expires = Limit(claims, "exp", double.MaxValue),
            Bits = bits, Places = Unpack(Decode(Text(packed, "lst")), (1 << 17) * (int)bits)
        };
    }

    /// DeflateStream reads what stands between the two bytes before and the checksum behind it.
    static byte[] Unpack(byte[] packed, int most)
    {
        Require(packed.Length > 6 && packed[0] % 16 == 8 && (packed[0] * 256 + packed[1]) % 31 == 0, "STATUS_LIST_UNUSABLE");
        var places = new byte[most + 1];
        var length = 0;
        try
        {
            using (var unpacked = new DeflateStream(new MemoryStream(packed, 2, packed.Length - 2), CompressionMode.Decompress))
            {
                for (int read = -1; read != 0 && length <= most; length += read)
                    read = unpacked.Read(places, length, places.Length - length);
            }
        }
        catch (Exception error) when (error is IOException || error is InvalidDataException)
        {
            throw new Refused("STATUS_LIST_UNUSABLE");
        }
        Require(length <= most, "STATUS_LIST_UNUSABLE");
        return places.Take(length).ToArray();
    }

    /// The value at a place; -1 where the list has no such place.
    static int ValueAt(StatusList list, long idx)
    {
        var bit = idx * list.Bits;
        if (bit / 8 >= list.Places.Length) return -1;
        return list.Places[bit / 8] >> (int)(bit % 8) & (1 << (int)list.Bits) - 1;
    }

    /// What a list cannot tell is not known: that it was not withdrawn, only a list says that counts.
    static void CheckStatus(JObject claims, IEnumerable<string> lists, Dictionary<string, JObject> keys, string issuer)
    {
        var place = PlaceOf(claims);
        var idx = (long)place["idx"];
        StatusList list = null;
        foreach (var jws in lists)
        {
            try
            {
                var opened = OpenList(jws, keys);
                // Of two lists of one second the one that tells of more counts, whichever was given first.
                var isNewer = list == null || opened.IssuedAt > list.IssuedAt ||
                    (opened.IssuedAt == list.IssuedAt && ValueAt(opened, idx) > ValueAt(list, idx));
                if (opened.Uri == Text(place, "uri") && isNewer) list = opened;
            }
            catch (Refused)
            {
                // Another one may count.
            }
        }
        var now = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        var isOurs = Text(place, "uri").StartsWith(issuer + "/v1/inter-agency/status/", StringComparison.Ordinal);
        Require(isOurs && list != null && list.IssuedAt <= now + 60, "STATUS_LIST_UNUSABLE");
        Require(now - list.IssuedAt <= MaxListAge && now < list.Expires, "STATUS_LIST_STALE");
        Require(ValueAt(list, idx) >= 0, "STATUS_LIST_UNUSABLE");
        // Only a yes can be withdrawn.
        if (ValueAt(list, idx) == 0 || !(bool)claims["result"]["eligible"]) return;
        // What was withdrawn before the answer had been lifted when it was signed.
        Require(list.IssuedAt >= (long)claims["iat"] - 60, "STATUS_LIST_STALE");
        throw new Refused("WITHDRAWN_SINCE");
    }

    /// The lists of an offline pack, or the one that the file is.
    static IEnumerable<string> ReadLists(byte[] data)
    {
        var plain = Encoding.GetEncoding("iso-8859-1").GetString(data);
        if (!plain.TrimStart().StartsWith("{", StringComparison.Ordinal)) return new[] { plain };
        var lists = ReadObject(data, "STATUS_LIST_UNUSABLE")["statusLists"] as JArray;
        Require(lists != null && lists.All(one => one.Type == JTokenType.String), "STATUS_LIST_UNUSABLE");
        return lists.Select(one => (string)one);
    }

    static bool IsFlag(JToken value)
    {
        return value != null && value.Type == JTokenType.Boolean;
    }

    /// The answer must not contradict itself, or who reads one member of it is misled.
    static void CheckResult(JToken result)
    {
        var reasons = result["reasons"] as JArray;
        Require(IsFlag(result["found"]) && IsFlag(result["eligible"]) && reasons != null, "RESULT_MALFORMED");
        Require(reasons.All(reason => reason.Type == JTokenType.String), "RESULT_MALFORMED");
        bool found = (bool)result["found"], eligible = (bool)result["eligible"];
        var status = Text(result, "status");
        Require(Statuses.Contains(status), "RESULT_MALFORMED");
        Require(!eligible || (found && status == "VALID"), "RESULT_MALFORMED");
        var isDescribed = new[] { "teacher", "license", "certificate" }.Any(name => !IsNull(result[name]));
        Require(found || (status == "NOT_FOUND" && !isDescribed), "RESULT_MALFORMED");
    }

    /// Everything outside the signature is a copy that anybody can change.
    static void CheckCopy(JObject envelope, JObject claims, string kid)
    {
        Require(JToken.DeepEquals(envelope["result"], claims["result"]), "OUTER_RESULT_DIFFERS");
        Require(Text(envelope, "issuer") == Text(claims, "iss"), "OUTER_ISSUER_DIFFERS");
        Require(Text(envelope, "audience") == Text(claims, "aud"), "OUTER_AUDIENCE_DIFFERS");
        Require(Text(envelope, "signatureKid") == kid, "OUTER_KID_DIFFERS");
        Require(Text(envelope, "verificationId") == Text(claims, "sub"), "OUTER_VERIFICATION_ID_DIFFERS");
        var at = Text(envelope, "verifiedAt");
        DateTimeOffset time;
        var isTime = DateTimeOffset.TryParse(at, CultureInfo.InvariantCulture, DateTimeStyles.None, out time)
            && Regex.IsMatch(at, AnyTime);
        Require(isTime && time.ToUnixTimeSeconds() == (long)claims["iat"], "OUTER_VERIFIED_AT_DIFFERS");
    }

    static string SignatureOf(JObject envelope)
    {
        foreach (var name in new[] { "verificationId", "verifiedAt", "issuer", "audience", "signature", "signatureKid" })
        {
            Require(Has(envelope, name) && envelope[name].Type == JTokenType.String, "ENVELOPE_MALFORMED");
        }
        Require(envelope["result"] is JObject, "ENVELOPE_MALFORMED");
        return Text(envelope, "signature");
    }

    /// The signed claims, to decide by; throws Refused, whose message is the reason. The lists may be null.
    public static JObject VerifyEnvelope(
        byte[] data, byte[] jwks, byte[] keyHistory, byte[] lists, string issuer, string audience)
    {
        // A web page or an error answer is no forgery: what has no part of an envelope is not judged as one.
        var plain = Encoding.GetEncoding("iso-8859-1").GetString(data);
        Require(Regex.IsMatch(plain.Replace("\0", ""), Marks, RegexOptions.IgnoreCase), "NOT_AN_ENVELOPE");
        var envelope = Regex.IsMatch(plain, @"^\s*[\[{""]") ? ReadObject(data, "JSON_MALFORMED") : null;
        var token = OpenJws(envelope != null ? SignatureOf(envelope) : plain.TrimEnd('\r', '\n'));
        var kid = Text(token.Header, "kid");
        var isOther = new[] { "key-history+jwt", "statuslist+jwt" }.Contains(Text(token.Header, "typ"));
        Require(!isOther, "HEADER_TYP");
        var keys = ReadKeySet(jwks);
        AddHistory(keys, keyHistory, issuer);
        Require(keys.ContainsKey(kid), "KID_UNKNOWN");
        VerifySignature(token, keys[kid]["jwk"], "SIGNATURE_INVALID");
        var claims = ReadObject(token.Payload, "JWS_MALFORMED");
        CheckKeyAt(keys[kid], TimeOf(claims["iat"], "CLAIM_TYPE"));
        Require(claims["result"] is JObject, "CLAIM_MISSING");
        CheckClaims(claims, issuer, audience);
        CheckResult(claims["result"]);
        var place = PlaceOf(claims);
        if (envelope != null) CheckCopy(envelope, claims, kid);
        if (lists != null && place != null) CheckStatus(claims, ReadLists(lists), keys, issuer);
        return claims;
    }

    static byte[] ReadFile(string name)
    {
        Require(File.Exists(name), "FILE_UNREADABLE");
        return File.ReadAllBytes(name);
    }

    public static int Main(string[] args)
    {
        try
        {
            var lists = args.Length > 5 ? ReadFile(args[5]) : null;
            VerifyEnvelope(ReadFile(args[0]), ReadFile(args[1]), ReadFile(args[2]), lists, args[3], args[4]);
            Console.WriteLine("valid");
            return 0;
        }
        catch (Refused refused)
        {
            Console.WriteLine(refused.Message);
            return Undecidable.Contains(refused.Message) ? 2 : 1;
        }
    }
}
