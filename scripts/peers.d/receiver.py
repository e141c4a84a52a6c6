"""A strict OTLP receiver, made of the official protobufs. Prints its address, then takes spans and metrics, refuses with 400
what breaks a rule of the protocol or of the GenAI conventions, and tells at /report what it took."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

# Attributes that each operation must have, and the kinds that a span of it may be.
REQUIRED = {
    "invoke_agent": ({"gen_ai.operation.name", "gen_ai.agent.name", "gen_ai.conversation.id"}, {1}),
    "chat": ({"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"}, {3}),
    "execute_tool": ({"gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.id"}, {1}),
}
INTEGERS = {"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.request.max_tokens"}

taken = {"spans": [], "metrics": [], "faults": []}


def unique(attributes):
    keys = [pair.key for pair in attributes]
    assert all(keys), "an attribute without a key"
    assert len(keys) == len(set(keys)), f"an attribute stands twice: {keys}"
    assert all(pair.value.WhichOneof("value") for pair in attributes), "an attribute without a value"
    return {pair.key: pair.value for pair in attributes}


def check(span):
    assert len(span.trace_id) == 16 and any(span.trace_id), "trace_id"
    assert len(span.span_id) == 8 and any(span.span_id), "span_id"
    assert len(span.parent_span_id) in (0, 8), "parent_span_id"
    assert span.name, "a span without a name"
    assert 1 <= span.kind <= 5, f"kind {span.kind}"
    assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, "times"
    assert span.status.code in (0, 1, 2), "status"
    attributes = unique(span.attributes)
    for event in span.events:
        assert event.name and event.time_unix_nano, "event"
        unique(event.attributes)
    operation = attributes.get("gen_ai.operation.name")
    if operation is not None:
        required, kinds = REQUIRED[operation.string_value]
        missing = required - attributes.keys()
        assert not missing, f"{span.name} lacks {missing}"
        assert span.kind in kinds, f"{span.name} has kind {span.kind}"
        assert span.name.startswith(operation.string_value + " "), f"the name {span.name}"
        assert span.status.code != 2 or "error.type" in attributes, f"{span.name} failed without error.type"
    for key in INTEGERS & attributes.keys():
        assert attributes[key].WhichOneof("value") == "int_value", key
    reasons = attributes.get("gen_ai.response.finish_reasons")
    assert reasons is None or reasons.WhichOneof("value") == "array_value", "finish_reasons"
    return {
        "name": span.name,
        "trace": span.trace_id.hex(),
        "id": span.span_id.hex(),
        "parent": span.parent_span_id.hex(),
        "attributes": sorted(attributes),
    }


def traces(body):
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        assert "service.name" in unique(resource.resource.attributes), "service.name"
        for scope in resource.scope_spans:
            taken["spans"].extend(check(span) for span in scope.spans)


def metrics(body):
    for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                assert metric.unit in ("s", "{token}"), metric.unit
                points = metric.histogram.data_points
                assert points, f"{metric.name} is no histogram"
                for point in points:
                    unique(point.attributes)
                    assert len(point.bucket_counts) == len(point.explicit_bounds) + 1, "buckets"
                    assert sum(point.bucket_counts) == point.count, "counts"
                taken["metrics"].append(metric.name)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            assert self.headers["content-type"] == "application/x-protobuf", self.headers["content-type"]
            {"/v1/traces": traces, "/v1/metrics": metrics}[self.path](body)
            self.answer(200, b"")
        except Exception as error:
            taken["faults"].append(f"{self.path}: {type(error).__name__}: {error}")
            self.answer(400, b"")

    def do_GET(self):
        self.answer(200, json.dumps(taken).encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
