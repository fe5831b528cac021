// Receives webhooks. Java 17 or later, nothing to install (tested with Java 17).
//   TVS_WEBHOOK_SECRET='whsec_...' PORT=9876 java Receive.java
// One delivery that you kept: java Receive.java --check BODY_FILE SIGNATURE UNIX_SECONDS (exit 0 genuine, 1 not)
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Receive {
    static final String SECRET = System.getenv().getOrDefault("TVS_WEBHOOK_SECRET", ""); // the whole text, whsec_ included
    static final Pattern HEADER = Pattern.compile("t=(0|[1-9][0-9]{0,11}),v1=([0-9a-f]{64})(?:,v1=([0-9a-f]{64}))?");

    static final int MAX_BODY_BYTES = 64 * 1024; // the service's deliveries have some hundred bytes

    /** "valid", or why not. The body is the bytes as they came, before anything parses them. */
    static String verify(byte[] rawBody, String header, long nowSeconds) throws GeneralSecurityException {
        Matcher match = HEADER.matcher(header);
        if (!match.matches()) return "SIGNATURE_HEADER_MALFORMED";
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(SECRET.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
        mac.update((match.group(1) + ".").getBytes(StandardCharsets.US_ASCII));
        byte[] expected = mac.doFinal(rawBody);
        boolean isGenuine = false;
        for (int group = 2; group <= 3; group++) {
            String hex = match.group(group);
            if (hex != null) isGenuine |= MessageDigest.isEqual(expected, HexFormat.of().parseHex(hex));
        }
        if (!isGenuine) return "SIGNATURE_MISMATCH";
        return Math.abs(nowSeconds - Long.parseLong(match.group(1))) > 300 ? "OUTSIDE_REPLAY_WINDOW" : "valid";
    }

    static void receive(HttpExchange exchange) throws IOException {
        byte[] rawBody = exchange.getRequestBody().readNBytes(MAX_BODY_BYTES + 1);
        if (rawBody.length > MAX_BODY_BYTES) {
            exchange.getResponseHeaders().set("Connection", "close");
            exchange.sendResponseHeaders(413, -1);
            exchange.close();
            return;
        }
        String header = String.valueOf(exchange.getRequestHeaders().getFirst("X-AGENCY-Signature"));
        int status = 500;
        try {
            status = verify(rawBody, header, System.currentTimeMillis() / 1000).equals("valid") ? 204 : 400;
        } catch (GeneralSecurityException error) {
            error.printStackTrace();
        }
        exchange.sendResponseHeaders(status, -1);
        exchange.close();
        // Keep the event's eventId in your database and work now: an event can come twice, and then has the same one.
        if (status == 204) System.out.println(new String(rawBody, StandardCharsets.UTF_8));
    }

    public static void main(String[] args) throws Exception {
        if (!SECRET.matches("[\\x21-\\x7e]+")) {
            System.err.println("set TVS_WEBHOOK_SECRET to the secret alone: no spaces, line ends or byte order mark");
            System.exit(2);
        }
        if (args.length == 4 && args[0].equals("--check")) {
            String verdict = verify(Files.readAllBytes(Path.of(args[1])), args[2], Long.parseLong(args[3]));
            System.out.println(verdict);
            System.exit(verdict.equals("valid") ? 0 : 1);
        }
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "9876"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.createContext("/", Receive::receive);
        server.start();
    }
}
