package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/reactord/reactord/uring"
)

// The names of the peers, as the tables show them.
const (
	cUring      = "C io_uring"
	cEpoll      = "C epoll"
	goNet       = "Go net"
	goCopy      = "Go io.Copy"
	echoUring   = "reactor/ io_uring"
	echoEpoll   = "reactor/ epoll"
	handUring   = "reactor/ io_uring, handlers"
	handEpoll   = "reactor/ epoll, handlers"
	taskUring   = "reactor/ io_uring, tasks"
	taskEpoll   = "reactor/ epoll, tasks"
	gorUring    = "reactor/ io_uring, goroutines"
	gorEpoll    = "reactor/ epoll, goroutines"
	gnetEcho    = "gnet"
	netpollEcho = "netpoll"
	nbioEcho    = "nbio"
	proxyUring  = "reactord io_uring"
	proxyEpoll  = "reactord epoll"
	proxyNginx  = "nginx stream"
	minUring    = "reactord io_uring, 350 µs"
	minEpoll    = "reactord epoll, 350 µs"
	proxyHAPrxy = "HAProxy"
	redisServer = "redis-server"
)

// What the peers of a case serve, if it is not an echo.
const (
	serveRESP  = "redis"
	serveHTTP1 = "http"
	serveHTTPS = "https"
)

// A peer is a server that can be measured.
type peer struct {
	name string

	// prepare builds or finds what the peer needs, once, and returns its version. An error means that the peer is
	// missing, and says why.
	prepare func(ctx context.Context, w *workshop) (version string, err error)

	// command returns the command that starts it. An echo server ignores upstream.
	command func(w *workshop, listen, upstream string) (argv []string, err error)
}

// suitePeers returns the peers in groups. Commands are the commands of --with.
func suitePeers(commands []string) map[string][]*peer {
	echoes, proxies := echoPeers(), proxyPeers()
	for _, text := range commands {
		if p := commandPeer(text); strings.Contains(text, "{upstream}") {
			proxies = append(proxies, p)
		} else {
			echoes = append(echoes, p)
		}
	}
	return map[string][]*peer{
		"echo": echoes, "udp": datagramPeers(), "proxy": proxies, "patient": slices.Concat(proxies, patientPeers()),
		serveRESP: redisPeers(), serveHTTP1: httpPeers("tcp"), serveHTTPS: httpPeers("tls"),
	}
}

func echoPeers() []*peer {
	return []*peer{
		needsIOUring(referencePeer(cUring, "echo_uring", "-luring")),
		referencePeer(cEpoll, "echo_epoll"),
		needsIOUring(stylePeer(echoUring, "echo", "tcp", "receiver", "io_uring")),
		stylePeer(echoEpoll, "echo", "tcp", "receiver", "epoll"),
		needsIOUring(stylePeer(handUring, "echo", "tcp", "handler", "io_uring")),
		stylePeer(handEpoll, "echo", "tcp", "handler", "epoll"),
		needsIOUring(stylePeer(taskUring, "echo", "tcp", "task", "io_uring")),
		stylePeer(taskEpoll, "echo", "tcp", "task", "epoll"),
		needsIOUring(stylePeer(gorUring, "echo", "tcp", "goroutine", "io_uring")),
		stylePeer(gorEpoll, "echo", "tcp", "goroutine", "epoll"),
		libraryPeer(gnetEcho, "echo"),
		libraryPeer(netpollEcho, "echo"),
		libraryPeer(nbioEcho, "echo"),
		netPeer("echo", "tcp"),
	}
}

// datagramPeers echo datagrams.
func datagramPeers() []*peer {
	return []*peer{
		needsIOUring(stylePeer(echoUring, "echo", "udp", "receiver", "io_uring")),
		stylePeer(echoEpoll, "echo", "udp", "receiver", "epoll"),
		netPeer("echo", "udp"),
	}
}

// redisPeers answer commands in RESP.
func redisPeers() []*peer {
	return []*peer{
		needsIOUring(stylePeer(handUring, "redis", "tcp", "handler", "io_uring")),
		stylePeer(handEpoll, "redis", "tcp", "handler", "epoll"),
		needsIOUring(stylePeer(taskUring, "redis", "tcp", "task", "io_uring")),
		stylePeer(taskEpoll, "redis", "tcp", "task", "epoll"),
		needsIOUring(stylePeer(gorUring, "redis", "tcp", "goroutine", "io_uring")),
		stylePeer(gorEpoll, "redis", "tcp", "goroutine", "epoll"),
		libraryPeer(gnetEcho, "redis"),
		netPeer("redis", "tcp"),
		redisPeer(),
	}
}

// httpPeers answer requests in HTTP/1.1, over tcp or tls.
func httpPeers(scheme string) []*peer {
	return []*peer{
		needsIOUring(stylePeer(taskUring, "http", scheme, "task", "io_uring")),
		stylePeer(taskEpoll, "http", scheme, "task", "epoll"),
		needsIOUring(stylePeer(gorUring, "http", scheme, "goroutine", "io_uring")),
		stylePeer(gorEpoll, "http", scheme, "goroutine", "epoll"),
		netPeer("http", scheme),
	}
}

func proxyPeers() []*peer {
	return []*peer{
		needsIOUring(referencePeer(cUring, "proxy_uring", "-luring")),
		needsIOUring(reactordPeer(proxyUring, "io_uring")),
		reactordPeer(proxyEpoll, "epoll"),
		nginxPeer(),
		haproxyPeer(),
		{
			name:    goCopy,
			prepare: goVersion,
			command: func(w *workshop, listen, upstream string) ([]string, error) {
				return append(w.self, "serve", "proxy", "--listen", "tcp://"+listen, "--to", "tcp://"+upstream), nil
			},
		},
	}
}

// patientPeers returns proxies with a minimum wait. They are for open loops: in a closed loop there is nothing to
// batch.
func patientPeers() []*peer {
	return []*peer{
		needsIOUring(reactordPeer(minUring, "io_uring", "--min-wait", "350us")),
		reactordPeer(minEpoll, "epoll", "--min-wait", "350us"),
	}
}

// needsIOUring makes a peer missing where io_uring cannot be used.
func needsIOUring(p *peer) *peer {
	prepare := p.prepare
	p.prepare = func(ctx context.Context, w *workshop) (string, error) {
		version, err := prepare(ctx, w)
		if err != nil {
			return "", err
		}
		_, err = uring.Probe()
		return version, err
	}
	return p
}

// stylePeer returns a server of this program on one loop, over tcp, tls or udp.
func stylePeer(name, behaviour, scheme, style, ring string) *peer {
	return selfPeer(name, behaviour, scheme, "--style", style, "--ring", ring, "--loops", "1")
}

// netPeer returns a server of this program on Go's net.
func netPeer(behaviour, scheme string) *peer {
	return selfPeer(goNet, behaviour, scheme, "--style", "net")
}

func selfPeer(name, behaviour, scheme string, args ...string) *peer {
	return &peer{
		name:    name,
		prepare: goVersion,
		command: func(w *workshop, listen, _ string) ([]string, error) {
			argv := append(w.self, "serve", behaviour, "--listen", scheme+"://"+listen)
			return append(argv, args...), nil
		},
	}
}

// libraryPeer returns a server of the nested module peers/, which is named after the library.
func libraryPeer(name, server string) *peer {
	return &peer{
		name: name,
		prepare: func(ctx context.Context, w *workshop) (string, error) {
			return w.buildPeers(ctx, name)
		},
		command: func(w *workshop, listen, _ string) ([]string, error) {
			return []string{w.path("peers"), name, server, "--listen", "tcp://" + listen, "--loops", "1"}, nil
		},
	}
}

// referencePeer returns a server of reference/, compiled by gcc.
func referencePeer(name, source string, libs ...string) *peer {
	return &peer{
		name: name,
		prepare: func(ctx context.Context, w *workshop) (string, error) {
			return w.compile(ctx, source, libs...)
		},
		command: func(w *workshop, listen, upstream string) ([]string, error) {
			argv := append([]string{w.path(source)}, strings.Split(listen, ":")...)
			if upstream != "" {
				argv = append(argv, strings.Split(upstream, ":")...)
			}
			return argv, nil
		},
	}
}

// reactordPeer returns the daemon's proxy, built from this module.
func reactordPeer(name, ring string, flags ...string) *peer {
	return &peer{
		name: name,
		prepare: func(ctx context.Context, w *workshop) (string, error) {
			return w.buildReactord(ctx)
		},
		command: func(w *workshop, listen, upstream string) ([]string, error) {
			return append([]string{w.path("reactord"), "proxy", "--listen", "tcp://" + listen, "--to", "tcp://" + upstream,
				"--ring", ring, "--loops", "1"}, flags...), nil
		},
	}
}

// nginxModule is the path of the stream module in Debian.
const nginxModule = "/usr/lib/nginx/modules/ngx_stream_module.so"

func nginxPeer() *peer {
	return &peer{
		name: proxyNginx,
		prepare: func(ctx context.Context, w *workshop) (string, error) {
			if _, err := os.Stat(nginxModule); err != nil {
				return "", err
			}
			said, err := exec.CommandContext(ctx, "nginx", "-v").CombinedOutput()
			return strings.TrimPrefix(firstLine(said), "nginx version: "), err
		},
		command: func(w *workshop, listen, upstream string) ([]string, error) {
			dir := w.path("nginx")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return nil, err
			}
			mask := "1" + strings.Repeat("0", w.serverCPU)
			config := fmt.Sprintf(nginxConfig, nginxModule, mask, dir, dir, listen, upstream)
			file := filepath.Join(dir, "nginx.conf")
			return []string{"nginx", "-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", file},
				os.WriteFile(file, []byte(config), 0o644)
		},
	}
}

// nginxConfig has one worker and no access log (the default of the stream module). Only the limits are raised, for
// 3 000 pairs.
const nginxConfig = `load_module %s;
daemon off;
worker_processes 1;
worker_cpu_affinity %s;
worker_rlimit_nofile 16384;
pid %s/nginx.pid;
error_log %s/error.log;
events { worker_connections 8192; }
stream {
	server {
		listen %s backlog=4096;
		proxy_pass %s;
	}
}
`

func haproxyPeer() *peer {
	return &peer{
		name: proxyHAPrxy,
		prepare: func(ctx context.Context, w *workshop) (string, error) {
			said, err := exec.CommandContext(ctx, "haproxy", "-v").CombinedOutput()
			version, _, _ := strings.Cut(firstLine(said), " 20") // the date of the release follows
			return version, err
		},
		command: func(w *workshop, listen, upstream string) ([]string, error) {
			config := fmt.Sprintf(haproxyConfig, w.serverCPU, listen, upstream)
			file := w.path("haproxy.cfg")
			return []string{"haproxy", "-db", "-f", file}, os.WriteFile(file, []byte(config), 0o644)
		},
	}
}

const haproxyConfig = `global
	nbthread 1
	cpu-map 1/1 %d
	maxconn 8192
defaults
	mode tcp
	timeout connect 5s
	timeout client 10m
	timeout server 10m
listen bench
	bind %s backlog 4096
	server upstream %s
`

// redisPeer returns redis-server without persistence.
func redisPeer() *peer {
	return &peer{
		name: redisServer,
		prepare: func(ctx context.Context, _ *workshop) (string, error) {
			said, err := exec.CommandContext(ctx, "redis-server", "--version").CombinedOutput()
			version, _, _ := strings.Cut(firstLine(said), " sha=") // the build follows
			return version, err
		},
		command: func(w *workshop, listen, _ string) ([]string, error) {
			host, port, _ := strings.Cut(listen, ":")
			return []string{"redis-server", "--bind", host, "--port", port, "--dir", w.dir, "--save", "", "--appendonly", "no",
				"--loglevel", "warning"}, nil
		},
	}
}

// commandPeer returns a server that the user names, as NAME=COMMAND.
func commandPeer(text string) *peer {
	name, command, _ := strings.Cut(text, "=")
	return &peer{
		name: name,
		prepare: func(context.Context, *workshop) (string, error) {
			words := strings.Fields(command)
			if len(words) == 0 {
				return "", fmt.Errorf("--with %s has no command", text)
			}
			return exec.LookPath(words[0])
		},
		command: func(_ *workshop, listen, upstream string) ([]string, error) {
			host, port, _ := strings.Cut(listen, ":")
			place := strings.NewReplacer("{host}", host, "{port}", port, "{upstream}", upstream)
			return strings.Fields(place.Replace(command)), nil
		},
	}
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line
}

func goVersion(ctx context.Context, _ *workshop) (string, error) {
	return runtime.Version(), ctx.Err()
}

// cpuString returns the number of a CPU as an argument.
func cpuString(cpu int) string { return strconv.Itoa(cpu) }
