package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"text/template"
)

// A proxySetup is how a proxy is set up.
type proxySetup struct {
	Loops    int    // loops, threads or worker processes; all are on one CPU
	MinWait  string // of reactord, such as 350us; "": none
	TLS      bool   // TLS ends at the proxy
	Operated bool   // as for operation: with limits, timeouts, checks of the upstream, counters and an access log
}

// plainProxies forward TCP, on one loop.
func plainProxies() []*peer {
	reference := needsIOUring(referencePeer(cUring, "proxy_uring", "-luring"))
	return append(append([]*peer{reference}, proxyPeers(proxySetup{Loops: 1})...), copyPeer(goCopy, "tcp"))
}

// patientPeers returns proxies with a minimum wait. They are for open loops: in a closed loop there is nothing to
// batch.
func patientPeers() []*peer {
	s := proxySetup{Loops: 1, MinWait: "350us"}
	return []*peer{needsIOUring(reactordPeer(minUring, "io_uring", s)), reactordPeer(minEpoll, "epoll", s)}
}

// crowdedPeers returns proxies with eight loops on the one CPU, and reactord with one loop for comparison.
func crowdedPeers(s proxySetup) []*peer {
	s.Loops = 1
	one := []*peer{needsIOUring(reactordPeer(oneUring, "io_uring", s)), reactordPeer(oneEpoll, "epoll", s)}
	s.Loops = 8
	return append(proxyPeers(s), one...)
}

// tlsPeers are proxies at which TLS ends.
func tlsPeers() []*peer {
	return append(proxyPeers(proxySetup{Loops: 1, TLS: true}), copyPeer(goTLS, "tls"))
}

// proxyPeers returns the proxies that can be set up in every way.
func proxyPeers(s proxySetup) []*peer {
	return []*peer{
		needsIOUring(reactordPeer(proxyUring, "io_uring", s)),
		reactordPeer(proxyEpoll, "epoll", s),
		nginxPeer(s),
		haproxyPeer(s),
	}
}

// reactordPeer returns the daemon, built from this module.
func reactordPeer(name, ring string, s proxySetup) *peer {
	return &peer{
		name: name,
		prepare: func(ctx context.Context, w *workshop) (string, error) {
			return w.buildReactord(ctx)
		},
		command: func(w *workshop, listen, upstream string) ([]string, error) {
			cfg := proxyConfig{proxySetup: s, w: w, Ring: ring, Listen: listen, Upstream: upstream}
			file, err := cfg.write("reactord.yaml", reactordConfig)
			return []string{w.path("reactord"), "serve", "--config", file}, err
		},
	}
}

// nginxModule is the path of the stream module in Debian.
const nginxModule = "/usr/lib/nginx/modules/ngx_stream_module.so"

func nginxPeer(s proxySetup) *peer {
	return &peer{
		name: proxyNginx,
		prepare: func(ctx context.Context, _ *workshop) (string, error) {
			if _, err := os.Stat(nginxModule); err != nil {
				return "", err
			}
			said, err := exec.CommandContext(ctx, "nginx", "-v").CombinedOutput()
			return strings.TrimPrefix(firstLine(said), "nginx version: "), err
		},
		command: func(w *workshop, listen, upstream string) ([]string, error) {
			cfg := proxyConfig{proxySetup: s, w: w, Listen: listen, Upstream: upstream}
			file, err := cfg.write("nginx.conf", nginxConfig)
			return []string{"nginx", "-p", w.dir, "-e", w.path("error.log"), "-c", file}, err
		},
	}
}

func haproxyPeer(s proxySetup) *peer {
	return &peer{
		name: proxyHAPrxy,
		prepare: func(ctx context.Context, _ *workshop) (string, error) {
			said, err := exec.CommandContext(ctx, "haproxy", "-v").CombinedOutput()
			version, _, _ := strings.Cut(firstLine(said), " 20") // the date of the release follows
			return version, err
		},
		command: func(w *workshop, listen, upstream string) ([]string, error) {
			cfg := proxyConfig{proxySetup: s, w: w, Listen: listen, Upstream: upstream}
			file, err := cfg.write("haproxy.cfg", haproxyConfig)
			argv := []string{"haproxy", "-db", "-f", file}
			if s.Operated { // it writes its log to no file but the standard output
				argv = append([]string{"sh", "-c", `exec "$@" >"$0"`, w.accessLog()}, argv...)
			}
			return argv, err
		},
	}
}

// copyPeer returns the proxy of this program, over tcp or tls.
func copyPeer(name, scheme string) *peer {
	return &peer{
		name:    name,
		prepare: goVersion,
		command: func(w *workshop, listen, upstream string) ([]string, error) {
			return append(w.self, "serve", "proxy", "--listen", scheme+"://"+listen, "--to", "tcp://"+upstream), nil
		},
	}
}

// A proxyConfig is the configuration of one start.
type proxyConfig struct {
	proxySetup
	w                      *workshop
	Ring, Listen, Upstream string
}

// write writes a file with the configuration, and empties the access log.
func (c proxyConfig) write(name string, text *template.Template) (string, error) {
	var b bytes.Buffer
	if err := text.Execute(&b, c); err != nil {
		return "", err
	}
	if err := os.WriteFile(c.w.accessLog(), nil, 0o644); err != nil {
		return "", err
	}
	file := c.w.path(name)
	return file, os.WriteFile(file, b.Bytes(), 0o644)
}

// What follows is for the templates.

func (c proxyConfig) Dir() string         { return c.w.dir }
func (c proxyConfig) Certificate() string { return c.w.certificate() }
func (c proxyConfig) AccessLog() string   { return c.w.accessLog() }
func (c proxyConfig) CPU() int            { return c.w.serverCPU }

// CPUMask returns the CPU as nginx takes it.
func (c proxyConfig) CPUMask() string { return "1" + strings.Repeat("0", c.w.serverCPU) }

// Metrics returns a new address for metrics.
func (c proxyConfig) Metrics() (string, error) { return freeAddress() }
