package main

import (
	"cmp"
	"context"
	"net/netip"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// export exports a line as a trace: a span for the connection, with a child for each of its phases.
func export(ctx context.Context, tracer trace.Tracer, l *line) {
	began := l.began()
	ctx, root := tracer.Start(ctx, name(l), trace.WithSpanKind(trace.SpanKindServer), trace.WithNewRoot(),
		trace.WithTimestamp(began), trace.WithAttributes(attributes(l)...))
	if root.IsRecording() {
		phases(ctx, tracer, l, began)
	}
	fail(root, l)
	root.End(trace.WithTimestamp(latest(l.Time, began)))
}

// name returns the name of the connection's span. It has few values, because it is independent of the client.
func name(l *line) string {
	if l.Backend == "" {
		return l.Listener
	}
	return l.Listener + " → " + l.Backend
}

// phases makes the spans of the phases. Each begins where the one before it ended.
func phases(ctx context.Context, tracer trace.Tracer, l *line, began time.Time) {
	at := began
	for _, p := range []struct {
		name     string
		took     milliseconds
		upstream bool
	}{
		{"opening", l.Opening, false},
		{"tls", l.TLS, false},
		{"queue", l.Queue, false},
		{"connect", l.Connect, true},
		{"server tls", l.ServerTLS, true},
	} {
		if p.took <= 0 {
			continue
		}
		end := at.Add(p.took.duration())
		start(ctx, tracer, l, p.name, at, p.upstream).End(trace.WithTimestamp(end))
		at = end
	}
	last, upstream := lastPhase(l.Phase)
	s := start(ctx, tracer, l, last, at, upstream)
	fail(s, l)
	s.End(trace.WithTimestamp(latest(l.Time, at)))
}

// lastPhase returns the span name of the phase that the connection ended in, and whether the server takes part in it.
func lastPhase(phase string) (name string, upstream bool) {
	switch phase {
	case "last_data":
		return "data", false
	case "greeting", "tls_server":
		return "server tls", true
	}
	return phase, phase == "connect"
}

func start(ctx context.Context, tracer trace.Tracer, l *line, name string, at time.Time, upstream bool) trace.Span {
	options := []trace.SpanStartOption{trace.WithTimestamp(at)}
	if upstream {
		a := []attribute.KeyValue{transport(l)}
		a = appendAddress(a, l.ServerAddress, semconv.ServerAddress, semconv.ServerPort)
		a = appendAddress(a, l.ServerAddress, semconv.NetworkPeerAddress, semconv.NetworkPeerPort)
		options = append(options, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(a...))
	}
	_, s := tracer.Start(ctx, name, options...)
	return s
}

// fail sets the status of a span to how the connection ended, unless that was normal.
func fail(s trace.Span, l *line) {
	if !l.abnormal() {
		return
	}
	why := l.Why
	if l.Error != "" {
		why += ": " + l.Error
	}
	s.SetStatus(codes.Error, why)
	s.SetAttributes(semconv.ErrorTypeKey.String(l.By))
}

// latest returns t, or atLeast if that is later: a clock that was set back must not make a span of negative length.
func latest(t, atLeast time.Time) time.Time {
	if t.Before(atLeast) {
		return atLeast
	}
	return t
}

// attributes returns the attributes of a connection: OpenTelemetry's conventions if there is one, else below reactord.
func attributes(l *line) []attribute.KeyValue {
	a := []attribute.KeyValue{
		transport(l),
		attribute.Int64("reactord.connection.id", int64(l.ID)),
		attribute.Int64("reactord.bytes_from_client", l.BytesFromClient),
		attribute.Int64("reactord.bytes_from_server", l.BytesFromServer),
		attribute.Int64("reactord.attempts", l.Attempts),
		attribute.Int64("reactord.retries", l.Retries),
		attribute.Int64("reactord.queue_position", l.QueuePosition),
	}
	a = appendAddress(a, l.Client, semconv.ClientAddress, semconv.ClientPort)
	a = appendAddress(a, l.Peer, semconv.NetworkPeerAddress, semconv.NetworkPeerPort)
	a = appendAddress(a, l.Local, func(address string) attribute.KeyValue {
		return semconv.ServerAddress(cmp.Or(l.SNI, address))
	}, semconv.ServerPort)
	a = appendAddress(a, l.Local, semconv.NetworkLocalAddress, semconv.NetworkLocalPort)
	if l.Network == "udp" {
		a = append(a, attribute.Int64("reactord.datagrams_from_client", l.DatagramsFromClient),
			attribute.Int64("reactord.datagrams_from_server", l.DatagramsFromServer))
	}
	if l.abnormal() {
		a = append(a, semconv.ErrorTypeKey.String(l.By)) // the sampler looks at it
	}
	if l.TLSVersion != "" {
		a = append(a, semconv.TLSResumed(l.TLSResumed))
	}
	server := ""
	if l.ServerAddress.IsValid() {
		server = l.ServerAddress.String()
	}
	for _, text := range []struct {
		key   attribute.Key
		value string
	}{
		{"reactord.listener", l.Listener}, {"reactord.route", l.Route}, {"reactord.backend", l.Backend},
		{"reactord.server", l.Server}, {"reactord.server_address", server},
		{"reactord.end.by", l.By}, {"reactord.end.phase", l.Phase}, {"reactord.end.code", l.Code},
		{semconv.TLSNextProtocolKey, l.ALPN},
		{semconv.TLSProtocolVersionKey, version(l.TLSVersion)}, {semconv.TLSCipherKey, l.TLSCipher},
		{"reactord.tls.cause", l.TLSCause},
		{semconv.TLSClientSubjectKey, subject(l.ClientCN)},
	} {
		if text.value != "" {
			a = append(a, text.key.String(text.value))
		}
	}
	return a
}

func transport(l *line) attribute.KeyValue {
	switch l.Network {
	case "udp":
		return semconv.NetworkTransportUDP
	case "unix":
		return semconv.NetworkTransportUnix
	}
	return semconv.NetworkTransportTCP
}

func appendAddress(a []attribute.KeyValue, at netip.AddrPort, address func(string) attribute.KeyValue,
	port func(int) attribute.KeyValue) []attribute.KeyValue {
	if !at.IsValid() {
		return a
	}
	return append(a, address(at.Addr().String()), port(int(at.Port())))
}

// version returns the version of TLS as the conventions write it: "1.3" for "TLS 1.3".
func version(text string) string {
	const prefix = "TLS "
	if len(text) > len(prefix) && text[:len(prefix)] == prefix {
		return text[len(prefix):]
	}
	return text
}

func subject(commonName string) string {
	if commonName == "" {
		return ""
	}
	return "CN=" + commonName
}
