// Asks about one teacher. Java 17 or later and Jackson 2, com.fasterxml.jackson.core:jackson-databind (tested with Java 17,
// Jackson 2.14; Debian: apt install libjackson2-databind-java, whose files are in /usr/share/java).
//   API_KEY='tvs_test_...' java -cp "/usr/share/java/*" Ask.java ISSUER PURPOSE REGISTRATION_NUMBER
// Saves the answer and the keys that prove it: envelope.json, jwks.json, key-history.jose. Verify before you rely on it.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.UUID;

public class Ask {
    static final ObjectMapper JSON = new ObjectMapper();
    static final HttpClient CLIENT = HttpClient.newHttpClient();

    /** Asks again up to three times what the service could not answer; ends with what it refused. */
    static HttpResponse<byte[]> call(HttpRequest request) throws InterruptedException, IOException {
        for (int attempt = 0; ; attempt++) {
            int status = 0;
            String message = "no answer";
            long waitSeconds = 1L << attempt;
            try {
                HttpResponse<byte[]> answer = CLIENT.send(request, HttpResponse.BodyHandlers.ofByteArray());
                status = answer.statusCode();
                if (status == 200) return answer;
                String code = answer.headers().firstValue("X-Error-Code").orElse(String.valueOf(status));
                message = code + ": " + new String(answer.body(), "UTF-8");
                if (status == 429) waitSeconds = JSON.readTree(answer.body()).path("retryAfterSeconds").asLong(1);
            } catch (IOException error) {
                message = String.valueOf(error);
            }
            boolean mayHelp = status == 0 || status == 429 || status >= 500;
            if (!mayHelp || attempt == 3 || waitSeconds > 60) {
                System.err.println(message);
                System.exit(1);
            }
            Thread.sleep(waitSeconds * 1000);
        }
    }

    static HttpRequest.Builder to(String url) {
        return HttpRequest.newBuilder(URI.create(url)).timeout(Duration.ofSeconds(15));
    }

    /** Whether this is the answer to the question: somebody on the way may have kept a genuine one to another. */
    static boolean isMine(JsonNode envelope, HttpResponse<byte[]> answer, String regNo, Instant begunAt) {
        JsonNode result = envelope.get("result");
        String asked = regNo.replaceAll("\\s", "").toUpperCase();
        Instant signedAt = Instant.parse(envelope.get("verifiedAt").asText());
        String named = answer.headers().firstValue("X-Verification-Id").orElse("");
        return (!result.get("found").asBoolean() || result.at("/certificate/regNo").asText().equals(asked))
            && envelope.get("verificationId").asText().equals(named)
            && signedAt.isAfter(begunAt.minusSeconds(60)) && signedAt.isBefore(Instant.now().plusSeconds(60));
    }

    public static void main(String[] args) throws Exception {
        Instant begunAt = Instant.now();
        String api = args[0] + "/v1/inter-agency";
        Map<String, Object> question = Map.of("identifier", Map.of("regNo", args[2]), "purpose", args[1]);
        HttpResponse<byte[]> answer = call(to(api + "/eligibility-check")
            .header("Authorization", "Bearer " + System.getenv("API_KEY"))
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", UUID.randomUUID().toString()) // the same for each retry of one question
            .POST(HttpRequest.BodyPublishers.ofByteArray(JSON.writeValueAsBytes(question)))
            .build());
        JsonNode envelope = JSON.readTree(answer.body());
        if (!isMine(envelope, answer, args[2], begunAt)) {
            System.err.println("this answers another question");
            System.exit(1);
        }
        Files.write(Path.of("envelope.json"), answer.body());
        Files.write(Path.of("jwks.json"), call(to(api + "/.well-known/jwks.json").build()).body());
        Files.write(Path.of("key-history.jose"), call(to(api + "/.well-known/key-history").build()).body());
        JsonNode result = envelope.get("result");
        for (String name : List.of("found", "status", "eligible", "reasons")) {
            System.out.println(name + ": " + result.get(name));
        }
    }
}
