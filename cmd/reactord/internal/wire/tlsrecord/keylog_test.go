package tlsrecord

import (
	"bytes"
	"crypto/tls"
	"strings"
	"testing"
)

// The sequence numbers behind a handshake: only a server has sent records of the connection by then, its tickets.
func TestStateBehindHandshake(t *testing.T) {
	eachSuite(t, func(t *testing.T, _ uint16) {
		for name, c := range map[string]struct {
			change func(client, server *tls.Config)
			want   uint64 // tickets
		}{
			"ticket":    {func(_, _ *tls.Config) {}, 1},
			"no ticket": {func(_, server *tls.Config) { server.SessionTicketsDisabled = true }, 0},
			"client certificate": {func(client, server *tls.Config) {
				client.Certificates, server.ClientAuth = server.Certificates, tls.RequireAnyClientCert
			}, 1},
			"client without certificate": {func(_, server *tls.Config) { server.ClientAuth = tls.RequestClientCert }, 1},
			"hello retry": {func(client, server *tls.Config) {
				client.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP256}
				server.CurvePreferences = []tls.CurveID{tls.CurveP256}
			}, 1},
			"many certificates": {func(_, server *tls.Config) {
				pair := server.Certificates[0]
				for range 100 {
					pair.Certificate = append(pair.Certificate, pair.Certificate[0])
				}
				server.Certificates = []tls.Certificate{pair}
			}, 1},
		} {
			clientConfig, serverConfig := configs(t)
			c.change(clientConfig, serverConfig)
			client, server := shake(t, nil, clientConfig, serverConfig)
			if client.state.Out.Sequence != 0 || client.state.In.Sequence != 0 || server.state.In.Sequence != 0 ||
				server.state.Out.Sequence != c.want {
				t.Errorf("%s: client: %v, server: %v", name, client.state, server.state)
			}
			if len(client.in.b) != 0 != (c.want != 0) || len(server.in.b) != 0 {
				t.Errorf("%s: %d and %d bytes were not read", name, len(client.in.b), len(server.in.b))
			}
			if _, err := server.conn(t).Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if o := receive(client.conn(t), make([]byte, 100)); string(o.data) != "x" {
				t.Errorf("%s: the client gets %q, %v", name, o.data, o.err)
			}
		}
	})
}

// A second ticket is counted, and the end of a stream is not cut.
func TestCountSealed(t *testing.T) {
	_, _, _, server := pair(t)
	s := newSealer(t, server.state.Suite, server.state.Out)
	for want := uint64(1); want < 4; want++ {
		for _, c := range []struct {
			stream []byte
			secret []byte
			want   uint64
		}{{server.written, server.state.Out.Secret, want}, {server.written, server.state.In.Secret, 0}, {nil, nil, 0}} {
			if n, err := countSealed(c.stream, server.state.Suite, c.secret); n != c.want || err != nil {
				t.Errorf("%d sealed records, want %d: %v", n, c.want, err)
			}
		}
		before := bytes.Clone(server.written)
		if _, err := countSealed(server.written[:len(server.written)-1], server.state.Suite, nil); err == nil {
			t.Error("a record that is cut is counted")
		}
		if !bytes.Equal(before, server.written) {
			t.Error("the stream is changed")
		}
		server.written = append(server.written, s.record(typeHandshake, ticket())...)
	}
	if _, err := countSealed(nil, 1, nil); err == nil {
		t.Error("records of an unknown suite are counted")
	}
}

// A log has two secrets, and takes no lines that are none.
func TestKeyLog(t *testing.T) {
	var k KeyLog
	secret := strings.Repeat("0f", 32)
	for line, ok := range map[string]bool{
		"CLIENT_TRAFFIC_SECRET_0 00 " + secret + "\n":         true,
		"CLIENT_HANDSHAKE_TRAFFIC_SECRET 00 " + secret + "\n": true,
		"SERVER_TRAFFIC_SECRET_0 00 0g\n":                     false,
		"SERVER_TRAFFIC_SECRET_0 00\n":                        false,
	} {
		if n, err := k.Write([]byte(line)); (err == nil) != ok || ok && n != len(line) {
			t.Errorf("%q: %d, %v", line, n, err)
		}
	}
	if !bytes.Equal(k.client, bytes.Repeat([]byte{15}, 32)) {
		t.Errorf("the secret is %x", k.client)
	}
	k = KeyLog{client: k.client}
	if _, err := k.State(tls.TLS_AES_128_GCM_SHA256, true, nil); err == nil {
		t.Error("a state has one secret")
	}
}

// A client gives the tickets that come first to the tls.Conn of its handshake, and resumes the session with them.
func TestTickets(t *testing.T) {
	eachSuite(t, func(t *testing.T, _ uint16) {
		for _, lead := range []string{"", "data before the ticket"} {
			clientConfig, serverConfig := configs(t)
			serverConfig.SetSessionTicketKeys([][32]byte{{1}})
			clientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(1)
			for i := range 3 {
				client, server := shake(t, nil, clientConfig, serverConfig)
				if resumed := client.tls.ConnectionState().DidResume; resumed != (i != 0 && lead == "") {
					t.Fatalf("connection %d, %q: resumed: %t", i, lead, resumed)
				}
				c := client.conn(t)
				if lead != "" { // instead of the ticket
					client.in.b = newSealer(t, client.state.Suite, client.state.In).record(typeApplicationData, []byte(lead))
				}
				records := 0
				c.OnTicket(func(record []byte) {
					records++
					other, _ := newEnds(nil)
					other.in.b = record
					client.end.in, client.end.out = other.in, other.out
					if o := receive(client.tls, make([]byte, 1)); !o.goesOn() || len(o.data) != 0 || len(other.out.b) != 0 {
						t.Errorf("the tls.Conn reads %q, %v", o.data, o.err)
					}
				})
				transport := *client.end
				c.transport = &transport
				o := receive(c, make([]byte, 1000))
				if _, err := server.conn(t).Write([]byte("x")); err == nil && lead == "" {
					o = receive(c, make([]byte, 1000))
				}
				if want := map[bool]string{true: "x", false: lead}[lead == ""]; string(o.data) != want {
					t.Errorf("the client reads %q, %v", o.data, o.err)
				}
				if c.ticket != nil || records != 1 != (lead != "") {
					t.Errorf("%d records with tickets; more are awaited: %t", records, c.ticket != nil)
				}
			}
		}
	})
}

// Only the records before any other are offered, and only those with nothing but tickets.
func TestTicketsAreOffered(t *testing.T) {
	clientConfig, serverConfig := configs(t)
	handshake := func(messages ...[]byte) func(w *twins) []byte {
		return func(w *twins) []byte { return w.record(typeHandshake, bytes.Join(messages, nil)) }
	}
	update := func(w *twins) []byte { return w.keyUpdate(t, 0) }
	for name, c := range map[string]struct {
		want    int // of the records
		records []func(w *twins) []byte
	}{
		"two records":   {2, []func(w *twins) []byte{handshake(ticket(), ticket()), handshake(ticket())}},
		"KeyUpdate":     {0, []func(w *twins) []byte{update, handshake(ticket())}},
		"then one":      {1, []func(w *twins) []byte{handshake(ticket()), update, handshake(ticket())}},
		"pieces":        {0, []func(w *twins) []byte{handshake(ticket()[:9]), handshake(ticket()[9:]), handshake(ticket())}},
		"user_canceled": {0, []func(w *twins) []byte{func(w *twins) []byte { return w.record(typeAlert, []byte{1, 90}) }}},
	} {
		for _, size := range []int{1, 18 << 10} {
			w := newTwins(t, clientConfig, serverConfig, false)
			var sent, offered []byte
			for i, record := range c.records {
				b := record(w)
				w.oursEnd.in.b = append(w.oursEnd.in.b, b...)
				if i < c.want {
					sent = append(sent, b...)
				}
			}
			w.ours.OnTicket(func(record []byte) { offered = append(offered, record...) })
			if o := receive(w.ours, make([]byte, size)); !o.goesOn() || !bytes.Equal(offered, sent) {
				t.Errorf("%s: %d bytes are offered, want %d: %v", name, len(offered), len(sent), o.err)
			}
		}
	}
}
