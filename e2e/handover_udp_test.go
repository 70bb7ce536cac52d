package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
)

const sessionsConfig = `
ring: %s
loops: %d
admin: {address: 'unix://%s/admin'}
access_log: {format: json, path: '%[3]s/access.log'}
listeners:
  - {name: a, address: 'udp://%[4]s', backend: b, udp: {idle_timeout: 3s}}
backends:
  - {name: b, servers: ['udp://%[5]s']}
`

// Clients of UDP keep their sessions through upgrades that alternate the ring and the number of loops: the server sees
// each at one address, no datagram is lost, every old process ends within seconds, and the access log has one line for
// each client. A DTLS connection continues, too.
func TestUpgradeMovesSessions(t *testing.T) {
	needIOURing(t)
	const clients, upgrades = 20, 6
	dir, addr, server := t.TempDir(), testenv.Vacant(t), mirror(t)
	text := func(i int) string {
		return fmt.Sprintf(sessionsConfig, []string{"io_uring", "epoll"}[i%2], 1+i%3, dir, addr, server)
	}
	g, config, _ := configured(t, text(0))
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i := range clients {
		c, err := net.Dial("udp", addr)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer c.Close()
			if err := asks(c, stop); err != nil {
				t.Errorf("client %d: %v", i, err)
			}
		})
	}
	for i := range upgrades {
		old := g.pid
		writeFile(t, config, text(i+1))
		g.upgrade()
		g.awaitGone(old)
	}
	close(stop)
	all.Wait()
	g.end()
	lines := linesOf(t, filepath.Join(dir, "access.log"))
	for _, line := range lines {
		var l struct {
			By       string
			Requests int `json:"datagrams_from_client"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.By != "idle_timeout" || l.Requests < upgrades {
			t.Errorf("%v: %s", err, line)
		}
	}
	if len(lines) != clients {
		t.Errorf("%d lines of %d clients", len(lines), clients)
	}
}

// asks asks a mirror again and again until stop is closed. A datagram is sent once.
func asks(c net.Conn, stop <-chan struct{}) error {
	b, known := make([]byte, 100), ""
	for n := 0; ; n++ {
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_ = c.SetReadDeadline(time.Now().Add(patience))
		size, err := c.Read(b)
		switch {
		case err != nil:
			return fmt.Errorf("question %d: %w", n, err)
		case known == "":
			known = string(b[:size])
		case known != string(b[:size]):
			return fmt.Errorf("the server knows it as %s and as %s", known, b[:size])
		}
		select {
		case <-stop:
			return nil
		case <-time.After(time.Millisecond):
		}
	}
}

// mirror is a UDP server that answers with the address that the datagram came from.
func mirror(t *testing.T) string {
	t.Helper()
	s, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	go func() {
		b := make([]byte, 100)
		for {
			_, from, err := s.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			_, _ = s.WriteToUDPAddrPort([]byte(from.String()), from)
		}
	}()
	return s.LocalAddr().String()
}

// A connection of DTLS lives through upgrades: openssl's server knows the client by its address.
func TestUpgradeMovesDTLS(t *testing.T) {
	a := newAuthority(t)
	cert := a.issue("dtls", "dtls")
	onEachRing(t, func(t *testing.T, ring string) {
		dir, addr, behind := t.TempDir(), testenv.Vacant(t), testenv.Vacant(t)
		server := exec.CommandContext(t.Context(), a.openssl, "s_server", "-dtls1_2", "-quiet", "-accept", behind,
			"-cert", cert)
		behindProxy := converse(t, server)
		g, _, _ := configured(t, fmt.Sprintf(sessionsConfig, ring, 2, dir, addr, behind))
		client := exec.CommandContext(t.Context(), a.openssl, "s_client", "-dtls1_2", "-quiet", "-connect", addr)
		inFront := converse(t, client)
		inFront.say("begin", behindProxy)
		for range 3 {
			old := g.pid
			g.upgrade()
			g.awaitGone(old)
			inFront.say("from the client", behindProxy)
			behindProxy.say("from the server", inFront)
		}
		g.end()
	})
}
