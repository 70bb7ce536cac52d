package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"time"

	"github.com/reactord/reactord/bench/server"
	"github.com/reactord/reactord/reactor"
)

// serveCommands are the servers.
type serveCommands struct {
	Echo    serveEcho    `cmd:"" help:"Send back what is received."`
	Discard serveDiscard `cmd:"" help:"Receive, and send nothing."`
	Chargen serveChargen `cmd:"" help:"Send a pattern without end, which the mode stream can --verify."`
	Reply   serveReply   `cmd:"" help:"Send a reply of fixed size for each request of fixed size."`
	Delay   serveDelay   `cmd:"" help:"Send back what is received, after a delay."`
	Redis   serveRedis   `cmd:"" help:"Answer PING, GET, SET and a few more commands in RESP, as redis does."`
	HTTP    serveHTTP    `cmd:"" name:"http" help:"Answer each HTTP/1.1 request with a short text."`
	Proxy   serveProxy   `cmd:"" help:"Forward connections with net and io.Copy."`
}

// serveFlags are the flags of all servers except the proxy.
type serveFlags struct {
	Listen string `required:"" placeholder:"URL" help:"tcp://HOST:PORT, tls://HOST:PORT, udp://HOST:PORT, unix:///PATH or unix://@NAME. tls uses a new self-signed certificate."`
	Style  string `enum:"receiver,handler,task,goroutine,net" default:"receiver" help:"receiver: operation states on the reactor; handler: a handler of package server; task: a coroutine for each connection, on the reactor; goroutine: a goroutine for each connection, on the reactor; net: the same on Go's net."`
	Ring   string `enum:"auto,io_uring,epoll" default:"auto" help:"The ring of the reactor's loops."`
	Loops  int    `default:"1" help:"Number of loops of the reactor, each on its own thread."`
	Pin    bool   `help:"Pin each loop's thread to a CPU."`
}

func (f *serveFlags) run(ctx context.Context, cfg server.Config) error {
	cfg.Listen, cfg.Style, cfg.Ring, cfg.Loops, cfg.Pin = f.Listen, f.Style, reactor.RingKind(f.Ring), f.Loops, f.Pin
	if strings.HasPrefix(f.Listen, "tls://") {
		var err error
		if cfg.TLS, err = serverTLS(); err != nil {
			return err
		}
	}
	return server.Run(ctx, cfg)
}

// serverTLS returns the configuration of a server with a new certificate.
func serverTLS() (*tls.Config, error) {
	certificate, err := selfSigned()
	return &tls.Config{Certificates: []tls.Certificate{certificate}}, err
}

type serveEcho struct{ serveFlags }

func (s *serveEcho) Run(ctx context.Context) error {
	return s.run(ctx, server.Config{Behaviour: "echo"})
}

type serveDiscard struct{ serveFlags }

func (s *serveDiscard) Run(ctx context.Context) error {
	return s.run(ctx, server.Config{Behaviour: "discard"})
}

type serveChargen struct {
	serveFlags
	Seed uint64 `default:"0" help:"Seed of the pattern: the same as that of the load."`
}

func (s *serveChargen) Run(ctx context.Context) error {
	return s.run(ctx, server.Config{Behaviour: "chargen", Seed: s.Seed})
}

type serveReply struct {
	serveFlags
	Request int `default:"1" placeholder:"BYTES" help:"Bytes of a request."`
	Reply   int `default:"128" placeholder:"BYTES" help:"Bytes of a reply."`
}

func (s *serveReply) Run(ctx context.Context) error {
	return s.run(ctx, server.Config{Behaviour: "reply", Request: s.Request, Reply: s.Reply})
}

type serveDelay struct {
	serveFlags
	Delay time.Duration `default:"10ms" help:"Time between receiving and sending back."`
}

func (s *serveDelay) Run(ctx context.Context) error {
	return s.run(ctx, server.Config{Behaviour: "delay", Delay: s.Delay})
}

type serveRedis struct{ serveFlags }

func (s *serveRedis) Run(ctx context.Context) error {
	return s.run(ctx, server.Config{Behaviour: "redis"})
}

type serveHTTP struct{ serveFlags }

func (s *serveHTTP) Run(ctx context.Context) error {
	return s.run(ctx, server.Config{Behaviour: "http"})
}

// selfSigned returns a new certificate for the loopback addresses.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(30 * 24 * time.Hour),
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(crand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
