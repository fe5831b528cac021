// Java 17 or later, nothing to install.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;

public class Call {
    public static void main(String[] args) throws Exception {
        var request = HttpRequest.newBuilder(URI.create("ADDRESS"))
            .header("NAME", "VALUE")
            .method("METHOD", BodyPublishers.ofString("""
BODY_IF_ANY"""));
        var response = HttpClient.newHttpClient().send(request.build(), BodyHandlers.ofString());
        System.out.println(response.statusCode() + " " + response.body());
    }
}
