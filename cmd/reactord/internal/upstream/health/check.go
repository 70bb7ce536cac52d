package health

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"io"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/proxyproto"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender/task"
	"golang.org/x/sys/unix"
)

// answerLimit limits the bytes of an answer that are searched.
const answerLimit = 64 << 10

// defaultTimeout applies to a check without a timeout.
const defaultTimeout = 2 * time.Second

// proxyLocal is a PROXY header of version 2 with the command LOCAL, for connections of the proxy itself.
var proxyLocal = proxyproto.Append(nil, &proxyproto.Header{Version: 2, Local: true})

// Check checks the server at an address once, as c says, at another port if c has one. It returns nil if the server
// is healthy, [sender.ErrStopped] if the task is requested to stop, an error that matches [ErrInconclusive], or why
// the server is unhealthy. c is only read. keys has the authorities and the client certificate for TLS; nil means the
// system's authorities.
//
// It is called by the function of t, which runs on a loop. If c.TLSServerName is set, call [Preload] first.
func Check(t *task.T, to serveraddr.Addr, c *config.Check, keys *certs.Client) error {
	steps, err := exchangesOf(c)
	if err != nil {
		return err
	}
	if c.Port != 0 {
		to = to.WithPort(uint16(c.Port))
	}
	timeout := cmp.Or(c.Timeout, defaultTimeout)
	if c.Protocol == config.CheckUDP {
		var header []byte
		if c.Proxy {
			header = proxyLocal
		}
		return run(t, to, unix.SOCK_DGRAM, timeout, func(p *probe, _ *netconn.Conn) error {
			return p.exchangeUDP(steps, header, timeout/udpTries)
		})
	}
	return run(t, to, unix.SOCK_STREAM, timeout, func(p *probe, conn *netconn.Conn) error {
		if c.Proxy {
			if err := p.send(conn, proxyLocal); err != nil {
				return err
			}
		}
		var stream io.ReadWriter = conn
		if c.TLS && c.Protocol == config.CheckPostgreSQL {
			if err := p.requestTLS(conn); err != nil {
				return err
			}
		}
		if c.TLS {
			p.step = "TLS handshake"
			client := netconn.Client(conn, keys.Check(c.TLSServerName))
			if err := client.Handshake(); err != nil {
				return err
			}
			stream = client
		}
		switch c.Protocol {
		case config.CheckPostgreSQL:
			return p.postgreSQL(stream, c, c.TLS || to.IsUnix())
		case config.CheckMySQL:
			return p.mySQL(stream, c)
		case config.CheckRedis:
			return p.redis(stream, c)
		}
		return p.converse(stream, steps)
	})
}

// Preload reads the system's certificates, once for the process. Otherwise, Check would do so and block its loop. It
// is called on a goroutine that may block.
func Preload(c *config.Check) error {
	if c.TLSServerName == "" {
		return nil
	}
	_, err := x509.SystemCertPool()
	return err
}

// quote quotes the start of what was sent or received.
func quote(b []byte) string {
	const most = 64
	if len(b) > most {
		return fmt.Sprintf("%q…", b[:most])
	}
	return fmt.Sprintf("%q", b)
}
