// Verifies one envelope offline. Java 17 or later and Jackson 2, com.fasterxml.jackson.core:jackson-databind (tested with
// Java 17, Jackson 2.14; Debian: apt install libjackson2-databind-java, whose files are in /usr/share/java).
//   java -cp "/usr/share/java/*" Verify.java envelope.json jwks.json key-history.jose ISSUER YOUR_PARTNER_ID [offline-pack.json]
// Prints "valid" and exits 0, or prints the reason: 1 is refused, 2 cannot be decided with these files.
// Of a batch response, each member of "results" is an envelope. Fetch the key files from the service yourself.
// A sixth word, the service's offline pack or a status list, tells whether the answer was withdrawn since.
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.Signature;
import java.security.spec.RSAPublicKeySpec;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.zip.InflaterInputStream;

public class Verify {
    static final List<String> UNDECIDABLE = List.of("NOT_AN_ENVELOPE", "TEXT_DAMAGED", "KID_UNKNOWN", "KEY_SET_UNREADABLE",
        "KEY_HISTORY_UNREADABLE", "FILE_UNREADABLE", "STATUS_LIST_UNUSABLE", "STATUS_LIST_STALE");
    static final long MAX_LIST_AGE = 7 * 86400;
    static final List<String> STATUSES = List.of("VALID", "EXPIRED", "NOT_FOUND", "REVOKED");
    static final Pattern COMPACT_JWS = Pattern.compile("[\\w-]+\\.[\\w-]+\\.[\\w-]*");
    static final Pattern UTC_TIME = Pattern.compile("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z");
    static final String CLOCK = "(?:[01]\\d|2[0-3]):[0-5]\\d";
    static final Pattern ANY_TIME =
        Pattern.compile("\\d{4}-\\d\\d-\\d\\dT" + CLOCK + ":[0-5]\\d(\\.\\d{1,9})?(Z|[+-]" + CLOCK + ")");
    static final Pattern MARKS = Pattern.compile(
        "eyJ[\\w-]{8}|\"(signature|signatureKid|result|verificationId)\"\\s*:|\\\\u00[4-7]", Pattern.CASE_INSENSITIVE);
    static final Pattern OTHER_TEXT = Pattern.compile("[\\s\\x80-\\x{ffff}<>\"'(),:;\\[\\]{}]");
    static final Pattern JWS = Pattern.compile("\\.eyJ[\\w-]*+\\.[\\w-]{100}");
    static final Pattern DAMAGE = Pattern.compile("eyJ[\\w.-]*+\\s|=3D|=\\r?\\n|&quot;|\\xe2\\x80|\\xc2\\xa0");
    static final Map<String, String> OWN_TIMES =
        Map.of("active", "activatedAt", "retired", "retiredAt", "compromised", "compromisedSince");
    /** By default Jackson accepts two members with one name, and text after the value. */
    static final ObjectMapper JSON = new ObjectMapper()
        .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

    static class Refused extends RuntimeException {
        Refused(String reason) {
            super(reason);
        }
    }

    record StatusList(String uri, long iat, double exp, int bits, byte[] places) {
        /** The value at a place; -1 where the list has no such place. */
        int valueAt(long idx) {
            long bit = idx * bits;
            if (bit / 8 >= places.length) return -1;
            return places[(int) (bit / 8)] >> (bit % 8) & ((1 << bits) - 1);
        }

        /** Of two lists of one second the one that tells of more counts, whichever was given first. */
        boolean isNewer(StatusList other, long idx) {
            return iat == other.iat ? valueAt(idx) > other.valueAt(idx) : iat > other.iat;
        }
    }

    record Token(JsonNode header, byte[] payload, byte[] signature, byte[] signed) {}

    static void require(boolean condition, String reason) {
        if (!condition) throw new Refused(reason);
    }

    /** The member, or "" when it is no text. */
    static String text(JsonNode value, String name) {
        return value.path(name).isTextual() ? value.path(name).textValue() : "";
    }

    static JsonNode readObject(byte[] data, String reason) {
        try {
            JsonNode value = JSON.readTree(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data)).toString());
            require(value.isObject(), reason);
            return value;
        } catch (IOException error) {
            boolean isDuplicate = String.valueOf(error.getMessage()).startsWith("Duplicate field");
            throw new Refused(isDuplicate ? "JSON_DUPLICATE_MEMBER" : reason);
        }
    }

    /** One text for each signature: decoders also accept padding and spare bits. */
    static byte[] decode(String part) {
        try {
            byte[] data = Base64.getUrlDecoder().decode(part);
            require(Base64.getUrlEncoder().withoutPadding().encodeToString(data).equals(part), "BASE64URL_NOT_CANONICAL");
            return data;
        } catch (IllegalArgumentException error) {
            throw new Refused("BASE64URL_NOT_CANONICAL");
        }
    }

    /** The header, which must not steer anything: RS256 alone, no extensions, no key of its own. */
    static Token openJws(String jws) {
        String[] parts = jws.split("\\.", -1);
        require(parts.length == 3, "JWS_MALFORMED");
        JsonNode header = readObject(decode(parts[0]), "JWS_MALFORMED");
        require(text(header, "alg").equals("RS256"), "HEADER_ALG");
        require(!header.has("crit") && !header.has("b64"), "HEADER_CRIT");
        for (String name : List.of("jwk", "jku", "x5u", "x5c")) require(!header.has(name), "HEADER_KEY");
        require(!header.has("typ") || !text(header, "typ").isEmpty(), "HEADER_TYP");
        require(!text(header, "kid").isEmpty(), "HEADER_KID");
        byte[] signed = (parts[0] + "." + parts[1]).getBytes(StandardCharsets.US_ASCII);
        return new Token(header, decode(parts[1]), decode(parts[2]), signed);
    }

    static BigInteger number(JsonNode jwk, String name) {
        return new BigInteger(1, decode(text(jwk, name)));
    }

    static void verifySignature(Token token, JsonNode jwk, String reason) {
        try {
            Signature verifier = Signature.getInstance("SHA256withRSA");
            RSAPublicKeySpec key = new RSAPublicKeySpec(number(jwk, "n"), number(jwk, "e"));
            verifier.initVerify(KeyFactory.getInstance("RSA").generatePublic(key));
            verifier.update(token.signed());
            require(verifier.verify(token.signature()), reason);
        } catch (GeneralSecurityException error) {
            throw new Refused(reason); // for example a signature of another length
        }
    }

    /** One secret or weak key in a set, and nothing in the set can be trusted. */
    static boolean vetKey(JsonNode jwk) {
        require(!text(jwk, "kty").isEmpty(), "KEY_SET_KEY_MALFORMED");
        for (String secret : List.of("k", "d", "p", "q", "dp", "dq", "qi", "oth")) {
            require(!jwk.has(secret), "KEY_SET_PRIVATE_KEY");
        }
        if (!text(jwk, "kty").equals("RSA")) return false;
        require(!text(jwk, "kid").isEmpty(), "KEY_SET_KID_MISSING");
        require(!jwk.has("use") || text(jwk, "use").equals("sig"), "KEY_SET_KEY_MALFORMED");
        require(!jwk.has("alg") || text(jwk, "alg").equals("RS256"), "KEY_SET_KEY_MALFORMED");
        byte[] n = decode(text(jwk, "n"));
        byte[] e = decode(text(jwk, "e"));
        require(n.length > 0 && n[0] != 0 && n[n.length - 1] % 2 != 0, "KEY_SET_KEY_MALFORMED");
        int bits = new BigInteger(1, n).bitLength();
        require(bits >= 2048 && bits <= 8192, "KEY_SET_MODULUS_SIZE");
        require(e.length > 0 && e.length <= 4 && e[0] != 0, "KEY_SET_EXPONENT");
        require(e[e.length - 1] % 2 != 0 && (e.length > 1 || e[0] != 1), "KEY_SET_EXPONENT");
        return true;
    }

    static ObjectNode keyAlone(JsonNode jwk) {
        return JsonNodeFactory.instance.objectNode().set("jwk", jwk);
    }

    static Map<String, JsonNode> readKeySet(byte[] data) {
        JsonNode keys = readObject(data, "KEY_SET_UNREADABLE").path("keys");
        require(keys.isArray(), "KEY_SET_UNREADABLE");
        Map<String, JsonNode> known = new HashMap<>();
        Set<String> kids = new HashSet<>();
        for (JsonNode jwk : keys) {
            boolean isUsable = vetKey(jwk);
            require(kids.add(text(jwk, "kid")) || !jwk.has("kid"), "KEY_SET_DUPLICATE_KID");
            if (isUsable) known.put(text(jwk, "kid"), keyAlone(jwk));
        }
        return known;
    }

    /** Adds to each key when it was in use, as the history says that a key of the set has signed. */
    static void addHistory(Map<String, JsonNode> keys, byte[] data, String issuer) {
        String trimmed = new String(data, StandardCharsets.ISO_8859_1).trim();
        require(COMPACT_JWS.matcher(trimmed).matches(), "KEY_HISTORY_UNREADABLE");
        Token token = openJws(trimmed);
        String signer = text(token.header(), "kid");
        require(text(token.header(), "typ").equals("key-history+jwt"), "KEY_HISTORY_MALFORMED");
        require(keys.containsKey(signer), "KEY_HISTORY_NOT_ANCHORED");
        verifySignature(token, keys.get(signer).get("jwk"), "KEY_HISTORY_SIGNATURE_INVALID");
        JsonNode history = readObject(token.payload(), "KEY_HISTORY_MALFORMED");
        require(history.path("keys").isArray(), "KEY_HISTORY_MALFORMED");
        require(text(history, "iss").equals(issuer), "KEY_HISTORY_ISSUER_MISMATCH");
        Map<String, JsonNode> historic = new HashMap<>();
        for (JsonNode entry : history.get("keys")) {
            String kid = vetEntry(entry);
            require(historic.put(kid, entry) == null, "KEY_SET_DUPLICATE_KID");
            JsonNode jwk = entry.get("jwk");
            JsonNode other = keys.getOrDefault(kid, entry).get("jwk");
            boolean isSame = other.get("n").equals(jwk.get("n")) && other.get("e").equals(jwk.get("e"));
            require(isSame, "KEY_SET_CONFLICT");
            // A key that the set no longer has was taken out for a reason; it comes back only to be refused.
            if (keys.containsKey(kid) || !entry.get("compromisedSince").isNull()) keys.put(kid, entry);
        }
        require(historic.containsKey(signer), "KEY_HISTORY_KID_UNKNOWN");
        String at = timeOf(history.path("iat"), "KEY_HISTORY_MALFORMED");
        require(!isCompromised(historic.get(signer), at), "KEY_HISTORY_KEY_COMPROMISED");
    }

    static String vetEntry(JsonNode entry) {
        JsonNode jwk = entry.path("jwk");
        require(vetKey(jwk), "KEY_HISTORY_MALFORMED");
        for (String name : OWN_TIMES.values()) {
            boolean isTime = entry.path(name).isNull() || UTC_TIME.matcher(text(entry, name)).matches();
            require(isTime, "KEY_HISTORY_MALFORMED");
        }
        String state = text(entry, "state");
        boolean hasOwnTime = OWN_TIMES.containsKey(state) && !text(entry, OWN_TIMES.get(state)).isEmpty();
        require(state.equals("pending") || hasOwnTime, "KEY_HISTORY_MALFORMED");
        require(text(entry, "kid").equals(text(jwk, "kid")), "KEY_HISTORY_MALFORMED");
        return text(jwk, "kid");
    }

    /** UTC to the second, for example 2026-03-01T09:30:00: such texts sort as the times do. */
    static String timeOf(JsonNode seconds, String reason) {
        require(seconds.isIntegralNumber() && seconds.canConvertToLong(), reason);
        require(seconds.longValue() >= 0 && seconds.longValue() < 253402300800L, reason);
        return Instant.ofEpochSecond(seconds.longValue()).toString().substring(0, 19);
    }

    static boolean isBefore(String at, String time) {
        return at.compareTo(time.substring(0, 19)) < 0;
    }

    static boolean isCompromised(JsonNode key, String at) {
        String since = text(key, "compromisedSince");
        return !since.isEmpty() && !isBefore(at, since);
    }

    /** Who has a compromised key can sign anything, and no key signs before or after its time. */
    static void checkKeyAt(JsonNode key, String at) {
        if (!key.has("state")) return; // newer than the history
        require(!isCompromised(key, at), "KEY_COMPROMISED");
        String activated = text(key, "activatedAt");
        String retired = text(key, "retiredAt");
        require(!activated.isEmpty() && !isBefore(at, activated), "KEY_OUTSIDE_WINDOW");
        boolean isOver = !retired.isEmpty() && at.compareTo(retired.substring(0, 19)) > 0;
        require(!isOver, "KEY_OUTSIDE_WINDOW");
    }

    static void checkClaims(JsonNode claims, String issuer, String audience) {
        require(!claims.path("aud").isArray(), "AUDIENCE_NOT_SINGLE");
        for (String name : List.of("iss", "aud", "sub")) require(!text(claims, name).isEmpty(), "CLAIM_TYPE");
        for (String name : List.of("exp", "nbf")) {
            require(!claims.has(name) || claims.get(name).isNumber(), "CLAIM_TYPE");
        }
        require(text(claims, "iss").equals(issuer), "ISSUER_MISMATCH");
        require(text(claims, "aud").equals(audience), "AUDIENCE_MISMATCH");
        double now = System.currentTimeMillis() / 1000.0;
        require(claims.get("iat").longValue() <= now + 60, "ISSUED_IN_FUTURE");
        require(claims.path("exp").asDouble(now) > now - 60, "TOKEN_EXPIRED");
        require(claims.path("nbf").asDouble(now) <= now + 60, "TOKEN_NOT_YET_VALID");
    }

    /** The answer's place in a status list; null for an answer that names none. */
    static JsonNode placeOf(JsonNode claims) {
        if (!claims.has("status")) return null;
        JsonNode place = claims.get("status").path("status_list");
        JsonNode idx = place.path("idx");
        boolean isPlace = idx.isIntegralNumber() && idx.canConvertToLong() && idx.longValue() >= 0;
        require(isPlace && idx.longValue() < 1L << 53 && !text(place, "uri").isEmpty(), "CLAIM_TYPE");
        return place;
    }

    /** A list with a good signature of a key that was never compromised, unpacked to its bits and no further. */
    static StatusList openList(String jws, Map<String, JsonNode> keys) {
        Token token = openJws(jws.trim());
        JsonNode key = keys.get(text(token.header(), "kid"));
        boolean isList = text(token.header(), "typ").equals("statuslist+jwt");
        require(isList && key != null && text(key, "compromisedSince").isEmpty(), "STATUS_LIST_UNUSABLE");
        verifySignature(token, key.get("jwk"), "STATUS_LIST_UNUSABLE");
        JsonNode claims = readObject(token.payload(), "STATUS_LIST_UNUSABLE");
        checkKeyAt(key, timeOf(claims.path("iat"), "STATUS_LIST_UNUSABLE"));
        require(!claims.has("exp") || claims.get("exp").isNumber(), "STATUS_LIST_UNUSABLE");
        int bits = claims.path("status_list").path("bits").asInt();
        require(List.of(1, 2, 4, 8).contains(bits), "STATUS_LIST_UNUSABLE");
        byte[] packed = decode(text(claims.get("status_list"), "lst"));
        int most = (1 << 17) * bits;
        try (InflaterInputStream unpacked = new InflaterInputStream(new ByteArrayInputStream(packed))) {
            byte[] places = unpacked.readNBytes(most + 1);
            require(places.length <= most, "STATUS_LIST_UNUSABLE");
            double exp = claims.path("exp").asDouble(Double.MAX_VALUE);
            return new StatusList(text(claims, "sub"), claims.get("iat").longValue(), exp, bits, places);
        } catch (IOException error) {
            throw new Refused("STATUS_LIST_UNUSABLE");
        }
    }

    /** What a list cannot tell is not known: that it was not withdrawn, only a list says that counts. */
    static void checkStatus(JsonNode claims, List<String> lists, Map<String, JsonNode> keys, String issuer) {
        String uri = text(placeOf(claims), "uri");
        long idx = placeOf(claims).get("idx").longValue();
        StatusList list = null;
        for (String jws : lists) {
            try {
                StatusList opened = openList(jws, keys);
                if (opened.uri().equals(uri) && (list == null || opened.isNewer(list, idx))) list = opened;
            } catch (Refused refused) {
                // Another one may count.
            }
        }
        long now = System.currentTimeMillis() / 1000;
        boolean isOurs = list != null && uri.startsWith(issuer + "/v1/inter-agency/status/");
        require(isOurs && list.iat() <= now + 60, "STATUS_LIST_UNUSABLE");
        require(now - list.iat() <= MAX_LIST_AGE && now < list.exp(), "STATUS_LIST_STALE");
        require(list.valueAt(idx) >= 0, "STATUS_LIST_UNUSABLE");
        // Only a yes can be withdrawn: eligible, or a licence that was VALID.
        JsonNode result = claims.get("result");
        boolean isLicensed = result.path("license").path("status").asText().equals("VALID");
        if (list.valueAt(idx) == 0 || !(result.get("eligible").booleanValue() || isLicensed)) return;
        // What was withdrawn before the answer had been lifted when it was signed.
        require(list.iat() >= claims.get("iat").longValue() - 60, "STATUS_LIST_STALE");
        require(false, "WITHDRAWN_SINCE");
    }

    /** The lists of an offline pack, or the one that the file is. */
    static List<String> readLists(byte[] data) {
        String plain = new String(data, StandardCharsets.ISO_8859_1);
        if (!plain.stripLeading().startsWith("{")) return List.of(plain);
        JsonNode members = readObject(data, "STATUS_LIST_UNUSABLE").path("statusLists");
        require(members.isArray(), "STATUS_LIST_UNUSABLE");
        List<String> lists = new ArrayList<>();
        for (JsonNode member : members) {
            require(member.isTextual(), "STATUS_LIST_UNUSABLE");
            lists.add(member.textValue());
        }
        return lists;
    }

    /** The answer must not contradict itself, or who reads one member of it is misled. */
    static void checkResult(JsonNode result) {
        boolean isFlags = result.path("found").isBoolean() && result.path("eligible").isBoolean();
        String status = text(result, "status");
        require(isFlags && result.path("reasons").isArray() && STATUSES.contains(status), "RESULT_MALFORMED");
        for (JsonNode reason : result.get("reasons")) require(reason.isTextual(), "RESULT_MALFORMED");
        boolean found = result.get("found").booleanValue();
        boolean isEntitled = found && status.equals("VALID");
        require(!result.get("eligible").booleanValue() || isEntitled, "RESULT_MALFORMED");
        boolean isDescribed = result.hasNonNull("teacher") || result.hasNonNull("license") || result.hasNonNull("certificate");
        require(found || (status.equals("NOT_FOUND") && !isDescribed), "RESULT_MALFORMED");
    }

    /** Everything outside the signature is a copy that anybody can change. */
    static void checkCopy(JsonNode envelope, JsonNode claims, String kid) {
        require(envelope.get("result").equals(claims.get("result")), "OUTER_RESULT_DIFFERS");
        require(envelope.get("issuer").equals(claims.get("iss")), "OUTER_ISSUER_DIFFERS");
        require(envelope.get("audience").equals(claims.get("aud")), "OUTER_AUDIENCE_DIFFERS");
        require(text(envelope, "signatureKid").equals(kid), "OUTER_KID_DIFFERS");
        require(envelope.get("verificationId").equals(claims.get("sub")), "OUTER_VERIFICATION_ID_DIFFERS");
        require(secondsOf(text(envelope, "verifiedAt")) == claims.get("iat").longValue(), "OUTER_VERIFIED_AT_DIFFERS");
    }

    static long secondsOf(String time) {
        try {
            // The parser also takes small letters, and times without seconds.
            return ANY_TIME.matcher(time).matches() ? OffsetDateTime.parse(time).toEpochSecond() : -1;
        } catch (DateTimeException error) {
            return -1;
        }
    }

    /** The signed claims, to decide by; throws Refused, whose message is the reason. The lists may be null. */
    static JsonNode verifyEnvelope(
        byte[] data, byte[] jwks, byte[] keyHistory, byte[] lists, String issuer, String audience) {
        // A web page or an error answer is not a forgery: a text without any part of an envelope is undecided.
        String plain = new String(data, StandardCharsets.ISO_8859_1);
        require(MARKS.matcher(plain.replace("\0", "")).find(), "NOT_AN_ENVELOPE");
        boolean isJson = plain.stripLeading().matches("(?s)[\\[{\"].*");
        JsonNode envelope = isJson ? readObject(data, isDamaged(data) ? "TEXT_DAMAGED" : "JSON_MALFORMED") : null;
        String jws = isJson ? signatureOf(envelope) : plain.replaceFirst("[\r\n]+$", "");
        require(!isFolded(jws), "TEXT_DAMAGED");
        Token token = openJws(jws);
        String kid = text(token.header(), "kid");
        // Statements, key histories and status lists are signed with the same keys, and have types of their own.
        require(!token.header().has("typ") || text(token.header(), "typ").equals("JWT"), "HEADER_TYP");
        Map<String, JsonNode> keys = readKeySet(jwks);
        addHistory(keys, keyHistory, issuer);
        require(keys.containsKey(kid), "KID_UNKNOWN");
        verifySignature(token, keys.get(kid).get("jwk"), "SIGNATURE_INVALID");
        JsonNode claims = readObject(token.payload(), "JWS_MALFORMED");
        checkKeyAt(keys.get(kid), timeOf(claims.path("iat"), "CLAIM_TYPE"));
        require(claims.path("result").isObject(), "CLAIM_MISSING");
        checkClaims(claims, issuer, audience);
        checkResult(claims.get("result"));
        JsonNode place = placeOf(claims);
        if (envelope != null) checkCopy(envelope, claims, kid);
        if (lists != null && place != null) checkStatus(claims, readLists(lists), keys, issuer);
        return claims;
    }

    /** Whether mail has folded, quoted or framed a signature: that forges nothing, and proves nothing. */
    static boolean isFolded(String text) {
        return OTHER_TEXT.matcher(text).find() && JWS.matcher(text.replaceAll("[^\\w.-]+", "")).find();
    }

    /** The same of JSON: cut off, folded, quoted-printable, in HTML, or with curly quotation marks and hard spaces. */
    static boolean isDamaged(byte[] data) {
        String text = new String(data, StandardCharsets.ISO_8859_1);
        boolean isWhole = text.stripTrailing().endsWith("}") || text.stripTrailing().endsWith("]");
        boolean isUtf8 = Arrays.equals(new String(data, StandardCharsets.UTF_8).getBytes(StandardCharsets.UTF_8), data);
        return (!isWhole || !isUtf8 || DAMAGE.matcher(text).find()) && isFolded(text);
    }

    static String signatureOf(JsonNode envelope) {
        for (String name : List.of("verificationId", "verifiedAt", "issuer", "audience", "signature", "signatureKid")) {
            require(envelope.path(name).isTextual(), "ENVELOPE_MALFORMED");
        }
        require(envelope.path("result").isObject(), "ENVELOPE_MALFORMED");
        return text(envelope, "signature");
    }

    static byte[] readFile(String name) {
        try {
            return inUtf8(Files.readAllBytes(Path.of(name)));
        } catch (IOException error) {
            throw new Refused("FILE_UNREADABLE");
        }
    }

    /** Editors and shells save UTF-16, or put a mark before UTF-8. */
    static byte[] inUtf8(byte[] data) {
        String head = new String(data, 0, Math.min(4, data.length), StandardCharsets.ISO_8859_1);
        Charset charset = head.matches("(?s)\\xff\\xfe.*|[^\\x00]\\x00[^\\x00]\\x00") ? StandardCharsets.UTF_16LE
            : head.matches("(?s)\\xfe\\xff.*|\\x00[^\\x00]\\x00[^\\x00]") ? StandardCharsets.UTF_16BE : null;
        if (charset != null) data = new String(data, charset).getBytes(StandardCharsets.UTF_8);
        boolean isMarked = data.length > 2 && data[0] == (byte) 0xef && data[1] == (byte) 0xbb && data[2] == (byte) 0xbf;
        return isMarked ? Arrays.copyOfRange(data, 3, data.length) : data;
    }

    public static void main(String[] args) {
        try {
            byte[] lists = args.length > 5 ? readFile(args[5]) : null;
            verifyEnvelope(readFile(args[0]), readFile(args[1]), readFile(args[2]), lists, args[3], args[4]);
            System.out.println("valid");
        } catch (Refused refused) {
            System.out.println(refused.getMessage());
            System.exit(UNDECIDABLE.contains(refused.getMessage()) ? 2 : 1);
        }
    }
}
