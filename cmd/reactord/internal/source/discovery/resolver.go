package discovery

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"golang.org/x/net/dns/dnsmessage"
)

// udpSize is the largest UDP answer requested, in bytes: it passes without fragmentation. See RFC 9715.
const udpSize = 1232

// maxForeign limits the unrelated messages read in an exchange.
const maxForeign = 100

// resolver queries DNS servers. Its methods may be called from any goroutine.
type resolver struct {
	servers  func() []string // HOST:PORT
	timeout  time.Duration
	attempts int
}

func newResolver(cfg config.Resolver) *resolver {
	r := &resolver{timeout: cfg.Timeout, attempts: max(cfg.Attempts, 1)}
	if r.timeout <= 0 {
		r.timeout = config.New().Resolver.Timeout
	}
	if len(cfg.Servers) != 0 {
		r.servers = func() []string { return cfg.Servers }
	} else {
		r.servers = systemServers.list
	}
	return r
}

var systemServers = &system{path: resolvConf}

// ask tries each server in order until one answers, in as many rounds as there are attempts. That a name or record
// does not exist is an answer, too.
func (r *resolver) ask(ctx context.Context, q question) (answer, error) {
	servers := r.servers()
	var last error
	for range r.attempts {
		for _, server := range servers {
			a, err := r.askOne(ctx, server, q)
			if err == nil || errors.Is(err, errNoName) || errors.Is(err, errEmpty) || ctx.Err() != nil {
				return a, err
			}
			last = fmt.Errorf("%v: DNS server %s: %w", q, server, err)
		}
	}
	return answer{}, last
}

// askOne asks one server over UDP; over TCP if the answer is truncated; and without EDNS(0) if the server does not
// know it.
func (r *resolver) askOne(ctx context.Context, server string, q question) (answer, error) {
	for _, extended := range []bool{true, false} {
		a, err := r.exchange(ctx, "udp", server, q, extended)
		if errors.Is(err, errTruncated) {
			a, err = r.exchange(ctx, "tcp", server, q, extended)
		}
		if !errors.Is(err, errFormat) {
			return a, err
		}
		if !extended {
			return a, err
		}
	}
	panic("unreachable")
}

// exchange sends a question from a fresh port, and waits for the answer.
func (r *resolver) exchange(ctx context.Context, network, server string, q question, extended bool) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	id, message, err := q.message(extended)
	if err != nil {
		return answer{}, err
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, network, server)
	if err != nil {
		return answer{}, plain(ctx, err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	if network == "tcp" {
		a, err := overTCP(c, message, id, q)
		return a, plain(ctx, err)
	}
	a, err := overUDP(c, message, id, q)
	return a, plain(ctx, err)
}

// plain strips the addresses from an error of package net, since the caller names them.
func plain(ctx context.Context, err error) error {
	var op *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return noAnswer{}
		}
		return ctx.Err()
	case errors.As(err, &op):
		return op.Err
	}
	return err
}

// noAnswer is the error of a server that does not answer in time.
type noAnswer struct{}

func (noAnswer) Error() string { return "no answer in time" }
func (noAnswer) Unwrap() error { return os.ErrDeadlineExceeded }

// message encodes a question with a random id.
func (q question) message(extended bool) (id uint16, _ []byte, err error) {
	name, err := dnsmessage.NewName(q.name)
	if err != nil {
		return 0, nil, fmt.Errorf("%q: name too long", q.name)
	}
	var random [2]byte
	_, _ = rand.Read(random[:]) // never fails
	id = binary.BigEndian.Uint16(random[:])
	b := dnsmessage.NewBuilder(make([]byte, 2, 2+512), dnsmessage.Header{ID: id, RecursionDesired: true})
	err = errors.Join(b.StartQuestions(),
		b.Question(dnsmessage.Question{Name: name, Type: q.kind, Class: dnsmessage.ClassINET}))
	if extended && err == nil {
		var opt dnsmessage.ResourceHeader
		err = errors.Join(b.StartAdditionals(), opt.SetEDNS0(udpSize, dnsmessage.RCodeSuccess, false),
			b.OPTResource(opt, dnsmessage.OPTResource{}))
	}
	if err != nil {
		return 0, nil, fmt.Errorf("%q: %w", q.name, err)
	}
	out, err := b.Finish()
	if err != nil {
		return 0, nil, fmt.Errorf("%q: %w", q.name, err)
	}
	binary.BigEndian.PutUint16(out, uint16(len(out)-2)) // length prefix for TCP
	return id, out, nil
}

// overUDP ignores messages that do not answer the question: they may be forged or late.
func overUDP(c net.Conn, message []byte, id uint16, q question) (answer, error) {
	if _, err := c.Write(message[2:]); err != nil {
		return answer{}, err
	}
	buffer := make([]byte, 64<<10)
	for range maxForeign {
		n, err := c.Read(buffer)
		if err != nil {
			return answer{}, err
		}
		a, err := read(buffer[:n], id, q)
		if !errors.Is(err, errForeign) {
			return a, err
		}
	}
	return answer{}, fmt.Errorf("%w: %d messages that do not answer the question", errFailure, maxForeign)
}

func overTCP(c net.Conn, message []byte, id uint16, q question) (answer, error) {
	if _, err := c.Write(message); err != nil {
		return answer{}, err
	}
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return answer{}, err
	}
	buffer := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, buffer); err != nil {
		return answer{}, err
	}
	a, err := read(buffer, id, q)
	if errors.Is(err, errForeign) || errors.Is(err, errTruncated) {
		err = fmt.Errorf("%w: over TCP: %w", errFailure, err)
	}
	return a, err
}
