// Fetches the events that are new, a line for each. Java 17 or later and Jackson 2,
// com.fasterxml.jackson.core:jackson-databind (tested with Java 17, Jackson 2.14; Debian: apt install
// libjackson2-databind-java, whose files are in /usr/share/java).
//   API_KEY='tvs_test_...' java -cp "/usr/share/java/*" Events.java ISSUER
// Run it every minute. The file events.iterator says how far it has come; what fails comes the next time, so a line can
// come twice, and none is left out.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;

public class Events {
    public static void main(String[] args) throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        Path place = Path.of("events.iterator");
        for (boolean isDone = false; !isDone; ) {
            String after = Files.exists(place) ? Files.readString(place) : null;
            String query = after == null ? "" : "?after=" + URLEncoder.encode(after, StandardCharsets.UTF_8);
            HttpResponse<String> answer = client.send(
                HttpRequest.newBuilder(URI.create(args[0] + "/v1/inter-agency/events" + query))
                    .timeout(Duration.ofSeconds(15))
                    .header("Authorization", "Bearer " + System.getenv("API_KEY"))
                    .build(),
                HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() != 200) {
                System.err.println(answer.headers().firstValue("X-Error-Code").orElse("?") + ": " + answer.body());
                System.exit(1);
            }
            JsonNode page = new ObjectMapper().readTree(answer.body());
            for (JsonNode event : page.get("data")) {
                System.out.println(event.get("eventId").asText() + " " + event.get("eventType").asText() + " "
                    + event.at("/data/regNo").asText());
            }
            if (!page.get("iterator").isNull()) {
                Path next = Files.writeString(Path.of("events.iterator.new"), page.get("iterator").asText());
                Files.move(next, place, StandardCopyOption.REPLACE_EXISTING);
            }
            isDone = page.get("done").asBoolean();
        }
    }
}
