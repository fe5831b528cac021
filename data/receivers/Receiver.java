import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Receiver {
    static final byte[] SECRET = System.getenv("WEBHOOK_SECRET").getBytes(StandardCharsets.UTF_8); // whsec_ included
    static final Pattern HEADER =
        Pattern.compile("t=(0|[1-9][0-9]{0,11}),v1=([0-9a-f]{64})(?:,v1=([0-9a-f]{64}))?");

    static boolean genuine(String header, byte[] rawBody, long nowSeconds) throws Exception {
        Matcher match = HEADER.matcher(header);
        if (!match.matches() || Math.abs(nowSeconds - Long.parseLong(match.group(1))) > 300) return false;
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(SECRET, "HmacSHA256"));
        mac.update((match.group(1) + ".").getBytes(StandardCharsets.UTF_8));
        byte[] expected = mac.doFinal(rawBody);
        for (int group = 2; group <= 3; group++) {
            String digest = match.group(group);
            if (digest != null && MessageDigest.isEqual(expected, HexFormat.of().parseHex(digest))) return true;
        }
        return false;
    }

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "9876"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.createContext("/", exchange -> {
            byte[] rawBody = exchange.getRequestBody().readAllBytes();
            String header = String.valueOf(exchange.getRequestHeaders().getFirst("X-AGENCY-Signature"));
            int status = 500;
            try {
                status = genuine(header, rawBody, System.currentTimeMillis() / 1000) ? 204 : 400;
                // Now read the event from rawBody. Its eventId may come twice: keep the ids that you have handled.
            } catch (Exception error) {
                error.printStackTrace();
            }
            exchange.sendResponseHeaders(status, -1);
            exchange.close();
        });
        server.start();
    }
}
