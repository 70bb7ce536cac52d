package accesslog

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/tlscause"
)

func formatted(t testing.TB, c config.AccessLog, r Record) string {
	t.Helper()
	f, err := newFormat(&c)
	if err != nil {
		t.Fatal(err)
	}
	return string(f.append(nil, &r))
}

// The settings and this package know the same fields.
func TestFieldsAreThoseOfTheSettings(t *testing.T) {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	if diff := cmp.Diff(config.AccessLogFields, names); diff != "" {
		t.Error(diff)
	}
}

func TestJSON(t *testing.T) {
	const want = `{"time":"2026-01-02T03:04:08.178901Z","accepted":"2026-01-02T03:04:05.678901Z","id":7,"interim":false,` +
		`"listener":"web","network":"tcp","route":"api","backend":"app","server":"app1","server_address":"10.0.0.1:80",` +
		`"client":"192.0.2.1:1234","peer":"[2001:db8::1]:99","local":"192.0.2.9:443","sni":"example.org","alpn":"h2",` +
		`"tls_version":"TLS 1.3","tls_cipher":"TLS_AES_128_GCM_SHA256","tls_resumed":true,"client_cn":"bob",` +
		`"opening_ms":1.001,"tls_ms":2.000,"queue_ms":3.000,"connect_ms":4.000,"server_tls_ms":-1,"total_ms":2500.000,` +
		`"bytes_from_client":1000,"bytes_from_server":2000,"datagrams_from_client":0,"datagrams_from_server":0,` +
		`"client_rtt_ms":40.000,"client_min_rtt_ms":39.000,"client_retransmits":9,"client_delivery_rate":123456,` +
		`"server_retransmits":0,"attempts":3,"retries":2,"queue_position":6,"connections":14,"listener_connections":13,` +
		`"backend_connections":12,"server_connections":11,"by":"client","phase":"data","code":"CD",` +
		`"why":"the client has reset the connection","error":"connection refused"}` + "\n"
	if diff := cmp.Diff(want, formatted(t, config.AccessLog{}, sample())); diff != "" {
		t.Error(diff)
	}
	got := formatted(t, config.AccessLog{Fields: []string{"why", "id", "sni"}}, Record{ID: 1, End: End{Why: "x"}})
	if want := `{"why":"x","id":1}` + "\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestText(t *testing.T) {
	const template = "{{{client}}} {time} {total_ms} {server_tls_ms} {sni} {interim} {why} {id}"
	r := sample()
	r.SNI = "a b\n\"\\\x7fé"
	got := formatted(t, config.AccessLog{Format: "text", Template: template}, r)
	want := `{192.0.2.1:1234} 2026-01-02T03:04:08.178901Z 2500.000 -1 a\x20b\x0a\x22\x5c\x7f\xc3\xa9 false ` +
		"the client has reset the connection 7\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got = formatted(t, config.AccessLog{
		Format: "text", Template: "{client_rtt_ms} {client_retransmits} {server_rtt_ms} {server_retransmits}",
	}, r)
	if got != "40.000 9 - 0\n" {
		t.Errorf("got %q", got)
	}
	got = formatted(t, config.AccessLog{Format: "text", Template: "{sni}|{client}|{error}|{why}"}, Record{})
	if got != "-|-|-|-\n" {
		t.Errorf("got %q", got)
	}
}

// tcplogLine is a line of HAProxy's `option tcplog`, with its fields.
var tcplogLine = regexp.MustCompile(`^(?P<client>\S+:\d+) \[(?P<accepted>\d\d/\w{3}/\d{4}(?::\d\d){3}\.\d{3})\] ` +
	`(?P<frontend>\S+) (?P<backend>[^/ ]+)/(?P<server>\S+) (?P<Tw>-?\d+)/(?P<Tc>-?\d+)/(?P<Tt>\+?\d+) ` +
	`(?P<bytes>\+?\d+) (?P<code>[-A-Za-z]{2}) (?P<act>\d+)/(?P<fe>\d+)/(?P<be>\d+)/(?P<srv>\d+)/(?P<retries>\+?\d+) ` +
	`(?P<srvq>\d+)/(?P<backq>\d+)(?P<tls> tls:[a-z_]+)?$`)

func TestTCPLog(t *testing.T) {
	r := sample()
	c := config.AccessLog{Format: "tcplog"}
	at := r.Accepted.Local().Format("02/Jan/2006:15:04:05.000")
	refused := Record{
		Listener: "web", Backend: "app", Client: r.Peer, Accepted: r.Accepted,
		Phases: [PhaseCount]time.Duration{-1, -1, -1, -1, -1}, End: End{Code: "SC"},
	}
	untrusted := refused
	untrusted.Server, untrusted.TLSCause = "app1", tlscause.Untrusted
	open := r
	open.Interim, open.End.Code = true, "--"
	for _, test := range []struct {
		r    Record
		want string
	}{
		{r, "192.0.2.1:1234 [" + at + "] web~ app/app1 3/4/2500 2000 CD 14/13/11/10/+2 0/6\n"},
		{refused, "2001:db8::1:99 [" + at + "] web app/<NOSRV> -1/-1/0 0 SC 0/0/0/0/0 0/0\n"},
		{Record{Listener: "web", Accepted: r.Accepted, End: End{Code: "PR"}},
			"unix:1 [" + at + "] web web/<NOSRV> 0/0/0 0 PR 0/0/0/0/0 0/0\n"},
		{untrusted, "2001:db8::1:99 [" + at + "] web app/app1 -1/-1/0 0 SC 0/0/0/0/0 0/0 tls:untrusted\n"},
		{open, "192.0.2.1:1234 [" + at + "] web~ app/app1 3/4/+2500 +2000 -- 14/13/12/11/+2 0/6\n"},
	} {
		got := formatted(t, c, test.r)
		if got != test.want {
			t.Errorf("got  %swant %s", got, test.want)
		}
		if !tcplogLine.MatchString(strings.TrimSuffix(got, "\n")) {
			t.Errorf("not a line of HAProxy: %s", got)
		}
	}
}

// FuzzFormats has what comes from outside in each text. A line stays one line, and each field stays itself.
func FuzzFormats(f *testing.F) {
	f.Add("example.org", "bob", int64(1500))
	f.Add("a\nb", "{\"x\":1}", int64(-1))
	f.Add("\x00\xff\u2028", "] web app/", int64(1<<62))
	f.Fuzz(func(t *testing.T, sni, cn string, ns int64) {
		r := sample()
		r.SNI, r.ClientCN, r.Total = sni, cn, time.Duration(ns)
		r.Err = fmt.Errorf("x509: %s", cn)
		line := formatted(t, config.AccessLog{}, r)
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil || strings.Count(line, "\n") != 1 {
			t.Fatalf("%v: %q", err, line)
		}
		if s, _ := got["sni"].(string); utf8.ValidString(sni) && s != sni {
			t.Errorf("SNI %q became %q", sni, s)
		}
		line = formatted(t, config.AccessLog{Format: "text", Template: "{sni} {client_cn} {error} {total_ms}"}, r)
		if len(strings.Split(line, " ")) != 4 || strings.Count(line, "\n") != 1 {
			t.Errorf("not four fields: %q", line)
		}
		if bad := strings.IndexFunc(line[:len(line)-1], func(r rune) bool { return r < ' ' || r > '~' }); bad >= 0 {
			t.Errorf("%q has something else than ASCII", line)
		}
		r.Server = sni
		if r.Total = max(r.Total, 0); !tcplogLine.MatchString(strings.TrimSuffix(
			formatted(t, config.AccessLog{Format: "tcplog"}, r), "\n")) {
			t.Errorf("not a line of HAProxy")
		}
	})
}

// A log says which fields it wants.
func TestWants(t *testing.T) {
	for _, test := range []struct {
		c    config.AccessLog
		want bool
	}{
		{config.AccessLog{}, true}, {config.AccessLog{Fields: []string{"id"}}, false},
		{config.AccessLog{Format: "tcplog"}, false}, {config.AccessLog{Format: "text", Template: "{local}"}, true},
	} {
		if f, err := newFormat(&test.c); err != nil || f.wants("local") != test.want {
			t.Errorf("%+v: %v", test.c, err)
		}
	}
	if !slices.Contains(config.AccessLogFields, "local") {
		t.Error("there is no such field")
	}
}

func BenchmarkFormats(b *testing.B) {
	for _, c := range []config.AccessLog{
		{Format: "json"}, {Format: "tcplog"},
		{Format: "text", Template: "{time} {client} {backend} {server} {total_ms} {code}"},
	} {
		b.Run(string(c.Format), func(b *testing.B) {
			f, err := newFormat(&c)
			if err != nil {
				b.Fatal(err)
			}
			r := sample()
			var line []byte
			b.ReportAllocs()
			for b.Loop() {
				line = f.append(line[:0], &r)
			}
			b.SetBytes(int64(len(line)))
		})
	}
}

func BenchmarkQueue(b *testing.B) {
	q, r := newQueue(8192), sample()
	b.ReportAllocs()
	for b.Loop() {
		q.put(&r)
		q.release(q.takeAll())
	}
}
