package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// spansOf are the spans of lines, at a ratio.
func spansOf(t *testing.T, ratio float64, lines ...string) tracetest.SpanStubs {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(kept), sdk.WithSampler(newSampler(ratio)))
	defer func() { _ = provider.Shutdown(context.WithoutCancel(t.Context())) }()
	each := exportEach(t.Context(), provider.Tracer(scope))
	for _, text := range lines {
		each([]byte(text))
	}
	return kept.GetSpans()
}

// lineOf is a line with some fields changed.
func lineOf(t *testing.T, change string) string {
	t.Helper()
	all := map[string]any{
		"time": "2026-11-23T02:00:10.000000Z", "accepted": "2026-11-23T02:00:00.000000Z", "id": 7, "listener": "web",
		"network": "tcp", "backend": "app", "server": "a", "server_address": "192.0.2.9:80", "client": "192.0.2.1:1000",
		"peer": "192.0.2.2:2000", "local": "192.0.2.3:443", "opening_ms": 1, "tls_ms": 2, "queue_ms": 3,
		"connect_ms": 0.25, "server_tls_ms": 4, "total_ms": 10000, "by": "normal", "phase": "data", "why": "why",
	}
	if err := json.Unmarshal([]byte(change), &all); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// timeline is the spans with when they begin and end, in microseconds since the connection was accepted.
func timeline(spans tracetest.SpanStubs) string {
	began := time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)
	all := make([]string, 0, len(spans))
	for _, s := range spans {
		failed := ""
		if s.Status.Code == codes.Error {
			failed = "!"
		}
		all = append(all, fmt.Sprintf("%s%s %d-%d", s.Name, failed, s.StartTime.Sub(began).Microseconds(),
			s.EndTime.Sub(began).Microseconds()))
	}
	return strings.Join(all, ", ")
}

func TestPhases(t *testing.T) {
	for _, test := range []struct{ change, want string }{
		{`{}`, "opening 0-1000, tls 1000-3000, queue 3000-6000, connect 6000-6250, server tls 6250-10250, " +
			"data 10250-10000000, web → app 0-10000000"},
		{`{"opening_ms": -1, "tls_ms": -1, "queue_ms": 0, "server_tls_ms": -1}`,
			"connect 0-250, data 250-10000000, web → app 0-10000000"},
		{`{"tls_ms": -1, "queue_ms": -1, "connect_ms": -1, "server_tls_ms": -1, "backend": "", "by": "client", "phase": "tls"}`,
			"opening 0-1000, tls! 1000-10000000, web! 0-10000000"},
		{`{"server_tls_ms": -1, "by": "server", "phase": "tls_server"}`, "opening 0-1000, tls 1000-3000, queue 3000-6000, " +
			"connect 6000-6250, server tls! 6250-10000000, web → app! 0-10000000"},
		{`{"opening_ms": -1, "tls_ms": -1, "queue_ms": 0, "server_tls_ms": -1, "by": "drain", "phase": "last_data"}`,
			"connect 0-250, data 250-10000000, web → app 0-10000000"},
		{`{"time": "2026-11-23T01:00:00Z", "opening_ms": -1, "tls_ms": -1, "queue_ms": 0, "server_tls_ms": -1}`,
			"connect 0-250, data 250-250, web → app 0-0"}, // the clock was set back
		{`{"network": "udp", "opening_ms": -1, "tls_ms": -1, "queue_ms": 0, "connect_ms": -1, "server_tls_ms": -1,
			"by": "idle_timeout"}`, "data 0-10000000, web → app 0-10000000"}, // as all sessions end
		{`{"interim": true}`, ""},
	} {
		if got := timeline(spansOf(t, 1, lineOf(t, test.change))); got != test.want {
			t.Errorf("%s:\n%s, want\n%s", test.change, got, test.want)
		}
	}
}

func TestAttributes(t *testing.T) {
	spans := spansOf(t, 1, lineOf(t, `{"network": "udp", "sni": "a.test", "alpn": "h2", "tls_version": "TLS 1.3",
		"tls_cipher": "TLS_AES_128_GCM_SHA256", "tls_resumed": true, "client_cn": "ops", "datagrams_from_client": 5,
		"by": "server", "error": "e"}`))
	whole := spans[len(spans)-1]
	got := attribute.NewSet(whole.Attributes...)
	for key, want := range map[attribute.Key]string{
		"client.address": "192.0.2.1", "client.port": "1000", "network.peer.address": "192.0.2.2",
		"network.local.port": "443", "server.address": "a.test", "server.port": "443", "network.transport": "udp",
		"tls.next_protocol": "h2", "tls.protocol.version": "1.3", "tls.cipher": "TLS_AES_128_GCM_SHA256",
		"tls.resumed": "true", "tls.client.subject": "CN=ops", "error.type": "server",
		"reactord.connection.id": "7", "reactord.server_address": "192.0.2.9:80", "reactord.datagrams_from_client": "5",
	} {
		if value, _ := got.Value(key); value.String() != want {
			t.Errorf("%s is %q, want %q", key, value.String(), want)
		}
	}
	if whole.Status.Description != "why: e" {
		t.Errorf("the status is %v", whole.Status)
	}
}

// A part of the connections is exported, and each that ended in another way than it should.
func TestSampler(t *testing.T) {
	good, bad := lineOf(t, `{}`), lineOf(t, `{"by": "client"}`)
	count := func(ratio float64, one string) (traces int) {
		lines := make([]string, 1000)
		for i := range lines {
			lines[i] = one
		}
		for _, s := range spansOf(t, ratio, lines...) {
			if !s.Parent.IsValid() {
				traces++
			}
		}
		return traces
	}
	if n := count(0, good); n != 0 {
		t.Errorf("%d at 0", n)
	}
	if n := count(0.5, good); n < 350 || n > 650 { // nine standard deviations
		t.Errorf("%d at 0.5", n)
	}
	if n := count(0, bad); n != 1000 {
		t.Errorf("%d of those with a fault", n)
	}
}

// What is no line of the access log is left out.
func TestOtherLines(t *testing.T) {
	lines := []string{"", "text", "{}", `{"time": 5}`, "[]", "null", lineOf(t, `{"accepted": null, "total_ms": -1}`)}
	if spans := spansOf(t, 1, lines...); len(spans) != 0 {
		t.Errorf("%v", spans)
	}
	if spans := spansOf(t, 1, lineOf(t, `{"accepted": null}`)); timeline(spans[len(spans)-1:]) != "web → app 0-10000000" {
		t.Errorf("from the total: %s", timeline(spans))
	}
}

func TestCommandLine(t *testing.T) {
	for _, test := range []struct {
		sampler, argument string
		args              string
		ratio             float64 // -1: an error
	}{
		{"", "", "", defaultRatio},
		{"", "", "-ratio 0.5 a", 0.5},
		{"always_on", "", "", 1},
		{"parentbased_always_off", "", "", 0},
		{"traceidratio", "0.25", "", 0.25},
		{"parentbased_traceidratio", "0.25", "-ratio 1", 1},
		{"traceidratio", "2", "", -1},
		{"other", "", "", -1},
		{"", "", "-ratio 2", -1},
		{"", "", "a b", -1},
	} {
		t.Setenv("OTEL_TRACES_SAMPLER", test.sampler)
		t.Setenv("OTEL_TRACES_SAMPLER_ARG", test.argument)
		c, err := commandLine(strings.Fields(test.args))
		if (err != nil) != (test.ratio < 0) || err == nil && c.ratio != test.ratio {
			t.Errorf("%+v: %+v, %v", test, c, err)
		}
	}
}

func TestLeftOut(t *testing.T) {
	for lines, want := range map[int]string{1: "1 line is left out", 2: "2 lines are left out"} {
		if got := leftOut(lines); got != want {
			t.Errorf("%d: %q", lines, got)
		}
	}
}
