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
	"time"

	"github.com/reactord/reactord/bench/server"
	"github.com/reactord/reactord/reactor"
)

// serveCommands are the servers.
type serveCommands struct {
	Echo    serveEcho    `cmd:"" help:"Send back what comes."`
	Discard serveDiscard `cmd:"" help:"Take what comes."`
	Chargen serveChargen `cmd:"" help:"Send a pattern over and over, which --verify of the mode stream knows."`
	Reply   serveReply   `cmd:"" help:"Send so many bytes for every so many that come."`
	Delay   serveDelay   `cmd:"" help:"Send back what comes, later."`
	Proxy   serveProxy   `cmd:"" help:"Forward connections with net and io.Copy, the plain Go way."`
}

// serveFlags are those that all servers but the proxy have.
type serveFlags struct {
	Listen string `required:"" placeholder:"URL" help:"tcp://HOST:PORT, tls://HOST:PORT, udp://HOST:PORT, unix:///PATH or unix://@NAME; tls with a certificate made up for it."`
	Style  string `enum:"receiver,task,net" default:"receiver" help:"receiver: operation states on the reactor; task: a coroutine a connection on the reactor; net: a goroutine a connection, and the one for tls."`
	Ring   string `enum:"auto,io_uring,epoll" default:"auto" help:"The ring of the reactor's loops."`
	Loops  int    `default:"1" help:"Loops of the reactor, each on a thread of its own."`
	Pin    bool   `help:"Pin each loop's thread to a CPU."`
}

func (f *serveFlags) run(ctx context.Context, cfg server.Config) error {
	cfg.Listen, cfg.Style, cfg.Ring, cfg.Loops, cfg.Pin = f.Listen, f.Style, reactor.RingKind(f.Ring), f.Loops, f.Pin
	if len(f.Listen) > 6 && f.Listen[:6] == "tls://" {
		certificate, err := selfSigned()
		if err != nil {
			return err
		}
		cfg.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	}
	return server.Run(ctx, cfg)
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
	Seed uint64 `default:"0" help:"Of the pattern: that of the load."`
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
	Delay time.Duration `default:"10ms" help:"How much later."`
}

func (s *serveDelay) Run(ctx context.Context) error {
	return s.run(ctx, server.Config{Behaviour: "delay", Delay: s.Delay})
}

// selfSigned is a certificate for this machine's loopback that nobody else knows.
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
