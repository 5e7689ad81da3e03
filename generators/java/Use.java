import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.openapitools.client.JSON;
import org.openapitools.client.model.Inbound;
import org.openapitools.client.model.Outbound;

/** Reads `frames.jsonl` and prints a verdict for each line: the errors, and the frame as it is written again. */
public class Use {
    private static final ObjectMapper MAPPER = JSON.getDefault().getMapper();

    public static void main(String[] arguments) throws Exception {
        StringBuilder printed = new StringBuilder();
        for (String line : Files.readString(Path.of(arguments[0])).split("\n")) {
            printed.append(check(new ObjectMapper().readTree(line))).append('\n');
        }
        System.out.write(printed.toString().getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }

    private static ObjectNode check(JsonNode sample) {
        ObjectNode verdict = new ObjectMapper().createObjectNode();
        Class<?> type = sample.get("root").asText().equals("Inbound") ? Inbound.class : Outbound.class;
        try {
            Object frame = MAPPER.readValue(sample.get("frame").toString(), type);
            verdict.putArray("errors");
            verdict.set("written", new ObjectMapper().readTree(MAPPER.writeValueAsString(frame)));
        } catch (Exception error) {
            verdict.putArray("errors").add(String.valueOf(error.getMessage()));
        }
        return verdict;
    }
}
