package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
)

const tlsHandoverConfig = `
ring: %s
loops: %d
admin: {address: 'unix://%s/admin'}
drain: {timeout: 100ms}
listeners:
  - name: a
    address: 'tcp://%s'
    backend: b
    tls: {certificates: [{cert: '%[5]s'}], handover: true}
backends:
  - name: b
    servers: ['tcp://%[6]s']
    tls: {enabled: true, ca: '%[7]s', server_name: server.test, handover: true}
`

// A connection of TLS 1.3 between a client of openssl or GnuTLS and a server of openssl, with TLS on both sides of the
// proxy, lives through upgrades that alternate ring and loops, with KeyUpdates of both peers in between.
func TestUpgradeMovesTLS(t *testing.T) {
	needIOURing(t)
	a := newAuthority(t)
	front, back := a.issue("front", "front.test"), a.issue("server", "server.test")
	clients := map[string][]string{
		"openssl": {a.openssl, "s_client", "-tls1_3", "-servername", "front.test", "-connect"},
		"gnutls":  {need(t, "gnutls-cli", "gnutls-bin"), "--insecure", "--priority", "NORMAL:-VERS-ALL:+VERS-TLS1.3"},
	}
	for name, argv := range clients {
		t.Run(name, func(t *testing.T) {
			dir, addr, behind := t.TempDir(), testenv.Vacant(t), testenv.Vacant(t)
			server := exec.CommandContext(t.Context(), a.openssl,
				"s_server", "-tls1_3", "-accept", behind, "-cert", back)
			behindProxy := converse(t, server)
			eventually(t, "the server listens", func() bool { return listens(server.Process.Pid, behind) })
			text := func(i int) string {
				return fmt.Sprintf(tlsHandoverConfig, []string{"io_uring", "epoll"}[i%2], 1+i%3, dir, addr, front, behind,
					a.path("ca.pem"))
			}
			g, config, _ := configured(t, text(0))
			if name == "openssl" {
				argv = append(argv, addr)
			} else {
				host, port, _ := strings.Cut(addr, ":")
				argv = append(argv, "--port", port, host)
			}
			inFront := converse(t, exec.CommandContext(t.Context(), argv[0], argv[1:]...))
			inFront.say("begin", behindProxy)
			for i := range 3 {
				old := g.pid
				writeFile(t, config, text(i+1))
				g.upgrade()
				g.awaitGone(old)
				inFront.say(fmt.Sprintf("client %d", i), behindProxy)
				behindProxy.say(fmt.Sprintf("server %d", i), inFront)
				behindProxy.order("K") // it sends a KeyUpdate, and wants one, before it reads what comes next
				if name == "openssl" {
					inFront.order("K")
					inFront.await("KEYUPDATE")
				}
				inFront.say(fmt.Sprintf("client %d, updated", i), behindProxy)
				behindProxy.say(fmt.Sprintf("server %d, updated", i), inFront)
			}
			g.end()
		})
	}
}
