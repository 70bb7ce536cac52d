package main

import (
	"context"
	"fmt"
	"os/exec"
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
	goTLS       = "Go crypto/tls"
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
	oneUring    = "reactord io_uring, 1 loop"
	oneEpoll    = "reactord epoll, 1 loop"
	minUring    = "reactord io_uring, 350 µs"
	minEpoll    = "reactord epoll, 350 µs"
	proxyHAPrxy = "HAProxy"
	redisServer = "redis-server"
)

// The groups of peers.
const (
	echoServers     = "echo"
	datagramServers = "udp"
	redisServers    = "redis"
	httpServers     = "http"
	httpsServers    = "https"
	proxies         = "proxy"
	patientProxies  = "proxy, min_wait"
	crowdedProxies  = "proxy, 8 loops"
	operatedProxies = "operated"
	crowdedOperated = "operated, 8 loops"
	tlsProxies      = "TLS"
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

// suitePeers returns the peers of each group. Commands are the commands of --with.
func suitePeers(commands []string) map[string][]*peer {
	echoes, plain := echoPeers(), plainProxies()
	for _, text := range commands {
		if p := commandPeer(text); strings.Contains(text, "{upstream}") {
			plain = append(plain, p)
		} else {
			echoes = append(echoes, p)
		}
	}
	return map[string][]*peer{
		echoServers: echoes, datagramServers: datagramPeers(), redisServers: redisPeers(),
		httpServers: httpPeers("tcp"), httpsServers: httpPeers("tls"),
		proxies: plain, patientProxies: slices.Concat(plain, patientPeers()),
		crowdedProxies:  crowdedPeers(proxySetup{}),
		operatedProxies: proxyPeers(proxySetup{Loops: 1, Operated: true}),
		crowdedOperated: crowdedPeers(proxySetup{Operated: true}),
		tlsProxies:      tlsPeers(),
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
