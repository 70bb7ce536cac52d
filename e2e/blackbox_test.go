package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/e2e/blackbox"
	"github.com/reactord/reactord/internal/testenv"
)

// The suite of package blackbox passes through reactord.
func TestBlackbox(t *testing.T) {
	t.Parallel()
	onEachRing(t, func(t *testing.T, ring string) {
		runBlackbox(t, func(t *testing.T, to string) string {
			return startProxy(t, ring, []string{to}).addr
		}, blackbox.Cases, nil)
	})
}

// The cases with PROXY headers pass through reactord.
func TestBlackboxProxied(t *testing.T) {
	t.Parallel()
	onEachRing(t, func(t *testing.T, ring string) {
		runBlackbox(t, func(t *testing.T, to string) string {
			return startFile(t, writeConfig(t, fmt.Sprintf(proxiedConfig, ring, to))).addr
		}, append(blackbox.Proxied(true), blackbox.Cut()...), nil)
	})
}

const proxiedConfig = `
ring: %s
metrics: 127.0.0.1:0
listeners: [{name: l, address: 'tcp://127.0.0.1:0', proxy_protocol: {trusted: [127.0.0.0/8]}, backend: b}]
backends: [{name: b, servers: ['tcp://%s'], proxy_protocol: {version: v1}}]
`

// The suite itself is proved by proxies that many people use. Where they do something else, the suite must say so.
func TestBlackboxOfOthers(t *testing.T) {
	t.Parallel()
	t.Run("haproxy", func(t *testing.T) {
		runBlackbox(t, startHAProxy("", ""), blackbox.Cases, haproxyDiffers)
	})
	t.Run("nginx", func(t *testing.T) { runBlackbox(t, startNginx("", ""), blackbox.Cases, nginxDiffers) })
	t.Run("haproxy, proxied", func(t *testing.T) {
		runBlackbox(t, startHAProxy("accept-proxy", "send-proxy"), blackbox.Proxied(true), haproxyProxiedDiffers)
	})
	t.Run("nginx, proxied", func(t *testing.T) {
		// It tells servers its own address as the destination, so it is not asked to.
		runBlackbox(t, startNginx("proxy_protocol", ""), blackbox.Proxied(false), nginxProxiedDiffers)
	})
}

// startHAProxy starts haproxy before a server, with options of its bind and server lines.
func startHAProxy(bind, server string) func(t *testing.T, to string) string {
	return func(t *testing.T, to string) string {
		program := need(t, "haproxy", "haproxy")
		addr := testenv.Vacant(t)
		config := filepath.Join(t.TempDir(), "haproxy.cfg")
		write(t, config, fmt.Sprintf(haproxyConfig, addr, bind, to, server))
		launch(t, addr, program, "-db", "-f", config)
		return addr
	}
}

// startNginx starts nginx before a server, with options of listen, and further directives.
func startNginx(listen, more string) func(t *testing.T, to string) string {
	return func(t *testing.T, to string) string {
		program := need(t, "nginx", "libnginx-mod-stream")
		addr, home := testenv.Vacant(t), t.TempDir()
		config := filepath.Join(home, "nginx.conf")
		write(t, config, fmt.Sprintf(nginxStreamConfig, home, addr, listen, to, more))
		launch(t, addr, program, "-p", home, "-e", "stderr", "-c", config)
		return addr
	}
}

const haproxyConfig = `
defaults
	mode tcp
	timeout connect 5s
	timeout client 1m
	timeout server 1m
listen suite
	bind %s %s
	server one %s %s
`

const nginxStreamConfig = `
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
daemon off; pid %[1]s/pid; error_log stderr crit; worker_processes 1; user root;
events { worker_connections 1024; }
stream {
	server { listen %[2]s %[3]s; proxy_pass %[4]s; proxy_half_close on; %[5]s }
}
`

const (
	serverResetIsEOF = "a reset of the server becomes EOF for the client"
	resetIsEOF       = "a reset of one side becomes EOF for the other"
	oneSegment       = "a header must come in one segment"
	unchecked        = "accepted"
	sometimes        = "sometimes "
	urgentStalls     = sometimes + "the bytes behind urgent data wait until more come"
	earlyEOFIsReset  = sometimes + "a client that has gone before the server is connected becomes a reset"
)

// What others do differently: the case, and why.
var (
	haproxyDiffers = map[string]string{
		"the client connects and closes":      earlyEOFIsReset,
		"reset of the idle server":            serverResetIsEOF,
		"reset of the server in mid transfer": serverResetIsEOF,
		"reset of the server by unread data":  serverResetIsEOF,
	}
	nginxDiffers = map[string]string{
		"reset of the idle client":            resetIsEOF,
		"reset of the idle server":            resetIsEOF,
		"reset of the client in mid transfer": resetIsEOF,
		"reset of the server in mid transfer": resetIsEOF,
		"reset of the client by unread data":  resetIsEOF,
		"reset of the server by unread data":  resetIsEOF,
		"reset of the client behind a flood":  resetIsEOF,

		"urgent data of the client is not passed on, and costs no other byte": urgentStalls,
		"urgent data of the server is not passed on, and costs no other byte": urgentStalls,
	}
	haproxyProxiedDiffers = map[string]string{
		"v1 in two segments":      oneSegment,
		"v1 UNKNOWN with more":    "refused, though the rest of the line should be ignored",
		"v2 without a family":     "refused, as the specification allows",
		"v1 with a wrong port":    unchecked,
		"v1 with a wrong address": unchecked,
	}
	nginxProxiedDiffers = map[string]string{
		"v1 in two segments":      oneSegment,
		"v1 with a wrong address": unchecked,
		"v1 of another family":    unchecked,
		"v2 with another command": unchecked,
		"v2 with an oversize TLV": unchecked,
		"v2 with a wrong CRC32c":  unchecked,
	}
)

// runBlackbox runs the cases through one proxy, which start starts before a server.
func runBlackbox(t *testing.T, start func(t *testing.T, to string) string, cases []blackbox.Case,
	differs map[string]string) {
	t.Helper()
	upstream := listen(t)
	addr := start(t, upstream.addr())
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			if why := differs[c.Name]; strings.HasPrefix(why, sometimes) {
				t.Skip("known difference: ", why)
			}
			why, known := differs[c.Name]
			ctx := t.Context()
			if known { // no answer is known very soon
				limited, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				ctx = limited
			}
			err := c.Run(ctx, blackbox.To(addr), upstream.TCPListener)
			if err != nil || c.Server == "" {
				if n := acceptOthers(upstream); n > 0 && err == nil {
					err = errors.New("the server was connected")
				}
			}
			switch {
			case known && err == nil:
				t.Errorf("passes, but was listed: %s", why)
			case known:
				t.Skipf("known difference: %s: %v", why, err)
			case err != nil:
				t.Error(err)
			}
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(strings.TrimPrefix(text, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// acceptOthers closes connections that the case has not accepted, and returns how many there were.
func acceptOthers(upstream server) (n int) {
	for ; ; n++ {
		_ = upstream.SetDeadline(time.Now().Add(50 * time.Millisecond))
		c, err := upstream.Accept()
		if err != nil {
			return n
		}
		c.Close()
	}
}
