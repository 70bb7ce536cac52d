package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/e2e/blackbox"
)

// The suite of package blackbox passes through reactord.
func TestBlackbox(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		runBlackbox(t, func(t *testing.T, to string) string {
			return startProxy(t, ring, []string{to}).addr
		}, nil)
	})
}

// The suite itself is proved by proxies that many people use. Where they do something else, the suite must say so.
func TestBlackboxOfOthers(t *testing.T) {
	t.Run("haproxy", func(t *testing.T) {
		program := need(t, "haproxy", "haproxy")
		runBlackbox(t, func(t *testing.T, to string) string {
			addr := vacant(t)
			config := filepath.Join(t.TempDir(), "haproxy.cfg")
			write(t, config, fmt.Sprintf(haproxyConfig, addr, to))
			launch(t, addr, program, "-db", "-f", config)
			return addr
		}, haproxyDiffers)
	})
	t.Run("nginx", func(t *testing.T) {
		program := need(t, "nginx", "libnginx-mod-stream")
		runBlackbox(t, func(t *testing.T, to string) string {
			addr, home := vacant(t), t.TempDir()
			config := filepath.Join(home, "nginx.conf")
			write(t, config, fmt.Sprintf(nginxStreamConfig, home, addr, to))
			launch(t, addr, program, "-p", home, "-e", "stderr", "-c", config)
			return addr
		}, nginxDiffers)
	})
}

const haproxyConfig = `
defaults
	mode tcp
	timeout connect 5s
	timeout client 1m
	timeout server 1m
listen suite
	bind %s
	server one %s
`

const nginxStreamConfig = `
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
daemon off; pid %[1]s/pid; error_log stderr crit; worker_processes 1; user root;
events { worker_connections 1024; }
stream {
	server { listen %[2]s; proxy_pass %[3]s; proxy_half_close on; }
}
`

const (
	serverResetIsEOF = "a reset of the server becomes EOF for the client"
	resetIsEOF       = "a reset of one side becomes EOF for the other"
	sometimes        = "sometimes "
	urgentStalls     = sometimes + "the bytes behind urgent data wait until more come"
)

// What others do differently: the case, and why.
var (
	haproxyDiffers = map[string]string{
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
)

// runBlackbox runs every case through one proxy, which start starts before a server.
func runBlackbox(t *testing.T, start func(t *testing.T, to string) string, differs map[string]string) {
	t.Helper()
	upstream := listen(t)
	addr := start(t, upstream.addr())
	drainProbes(upstream)
	for _, c := range blackbox.Cases {
		t.Run(c.Name, func(t *testing.T) {
			if why := differs[c.Name]; strings.HasPrefix(why, sometimes) {
				t.Skip("known difference: ", why)
			}
			err := c.Run(t.Context(), blackbox.To(addr), upstream.TCPListener)
			switch why, known := differs[c.Name]; {
			case known && err == nil:
				t.Errorf("passes, but was listed: %s", why)
			case known:
				t.Skipf("known difference: %s: %v", why, err)
			case err != nil:
				t.Error(err)
			}
			drainProbes(upstream)
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(strings.TrimPrefix(text, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// drainProbes takes connections that belong to no case: of launch, which waits until the proxy listens, and of a case
// that has failed.
func drainProbes(upstream server) {
	for {
		_ = upstream.SetDeadline(time.Now().Add(50 * time.Millisecond))
		c, err := upstream.Accept()
		if err != nil {
			return
		}
		c.Close()
	}
}
