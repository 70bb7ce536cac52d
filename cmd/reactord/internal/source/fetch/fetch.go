// Package fetch has what sources share that read files and ask URLs: requests with a token and an authority of their
// own, bounded reads, and the delays between attempts.
package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// maxSecret limits files of tokens, keys and authorities, in bytes.
const maxSecret = 1 << 20

// ErrTooLarge reports a file or an answer that has more bytes than it may have.
var ErrTooLarge = errors.New("too large")

// ReadFile reads a file of up to most bytes.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, most)
}

// ReadAll reads up to most bytes. If there are more, the error is [ErrTooLarge].
func ReadAll(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = ErrTooLarge
	}
	return data, err
}

// Secret reads a file with a token or a key, without white space around it.
func Secret(path string) (string, error) {
	text, err := ReadFile(path, maxSecret)
	return strings.TrimSpace(string(text)), err
}

// Client makes requests for one source. One goroutine at a time uses it. Its files are read again for each request.
type Client struct {
	TokenFile string // with a bearer token; "": none
	CAFile    string // with the certificates of trusted authorities; "": the system's
	// Redirect decides whether a redirect is followed, as CheckRedirect of [http.Client] does. Nil: as that does.
	Redirect func(next *http.Request, via []*http.Request) error

	client    *http.Client
	authority []byte // content of the CA file that client was built with
}

// Do makes a request. The caller closes the body of the answer.
func (c *Client) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("User-Agent", "reactord")
	if c.TokenFile != "" {
		token, err := Secret(c.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("token_file: %w", err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if err := c.trust(); err != nil {
		return nil, err
	}
	response, err := c.client.Do(r)
	if of, ok := errors.AsType[*url.Error](err); ok {
		if response != nil { // of a redirect that was not followed: its body is closed
			response = nil
		}
		err = of.Err // the caller names the URL
	}
	return response, err
}

// Close closes idle connections.
func (c *Client) Close() {
	if c.client != nil {
		c.client.CloseIdleConnections()
	}
}

// trust builds a client that trusts the CA file, unless the current one trusts its present content.
func (c *Client) trust() error {
	var authority []byte
	if c.CAFile != "" {
		var err error
		if authority, err = ReadFile(c.CAFile, maxSecret); err != nil {
			return fmt.Errorf("ca_file: %w", err)
		}
	}
	if c.client != nil && bytes.Equal(authority, c.authority) {
		return nil
	}
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		MaxIdleConns:           1,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
	}
	if authority != nil {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(authority) {
			return fmt.Errorf("ca_file: %s: no certificate in PEM form", c.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	c.Close()
	c.client, c.authority = &http.Client{Transport: transport, CheckRedirect: c.Redirect}, authority
	return nil
}

// maxRedirects bounds the redirects of [SameHost].
const maxRedirects = 3

// SameHost follows a few redirects within the host and the scheme of the first request.
func SameHost(next *http.Request, via []*http.Request) error {
	switch first := via[0].URL; {
	case next.URL.Host != first.Host || next.URL.Scheme != first.Scheme:
		return fmt.Errorf("redirect to another host: write the URL %s if it is trusted", next.URL.Redacted())
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	return nil
}

// NoRedirect follows none.
func NoRedirect(next *http.Request, _ []*http.Request) error {
	return fmt.Errorf("redirect to %s: none is followed", next.URL.Redacted())
}

// Redacted returns a URL without its password.
func Redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return u.Redacted()
}

// Delays between two attempts after failures.
const (
	minBackOff = time.Second
	maxBackOff = 30 * time.Second
)

// jitterPercent is the largest deviation of an interval.
const jitterPercent = 10

// Jitter draws the deviations of intervals.
type Jitter struct{ Random *rand.Rand } // nil: that of the process

// UpTo returns a random part of d's jitter.
func (j Jitter) UpTo(d time.Duration) time.Duration {
	most := int64(max(d/100*jitterPercent, 1))
	if j.Random != nil {
		return time.Duration(j.Random.Int64N(most))
	}
	return time.Duration(rand.Int64N(most)) //nolint:gosec // need not be secret
}

// Around returns an interval with its jitter.
func (j Jitter) Around(d time.Duration) time.Duration { return d + j.UpTo(d) - j.UpTo(d) }

// Pace says when the next attempt follows.
type Pace struct {
	Jitter
	First   time.Duration // delay after a first failure, at most a second
	backOff time.Duration
}

// Next returns the time until the next attempt after one that has ended with err. regular is the time between two
// attempts if all is well, and the longest after a failure; 0: after a failure, only the growing delay counts.
func (p *Pace) Next(err error, regular time.Duration) time.Duration {
	if err == nil {
		p.backOff = 0
		return regular
	}
	p.backOff = min(max(2*p.backOff, min(p.First, minBackOff)), maxBackOff)
	if wait := p.backOff + p.UpTo(p.backOff); regular == 0 || wait < regular {
		return wait
	}
	return regular
}

// Sleep waits, and reports whether ctx is not done.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
	return ctx.Err() == nil
}
