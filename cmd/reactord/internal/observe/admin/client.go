package admin

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"syscall"
	"time"
)

// Client calls the endpoints of a daemon: see [Endpoint.Call]. Its methods may be called from any goroutine.
type Client struct {
	access Access
	url    string // URL up to the path
	http   http.Client
}

// NewClient returns a client. It reads the certificate files, and does not connect yet.
func NewClient(a Access) (*Client, error) {
	t, err := a.target()
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		d := net.Dialer{Timeout: dialTimeout}
		return d.DialContext(ctx, t.network, t.address)
	}
	return &Client{a, t.url, http.Client{
		Transport: &http.Transport{
			DialContext: dial, Proxy: nil, TLSClientConfig: t.tls, TLSHandshakeTimeout: dialTimeout,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

const (
	dialTimeout = 5 * time.Second
	// maxAnswer limits an answer read into memory, in bytes.
	maxAnswer = 64 << 20
)

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call calls the endpoint, and returns the answer and its text as received. An error reported by the daemon is a
// [*Problem].
func (e Endpoint[In, Out]) Call(ctx context.Context, c *Client, in In) (out Out, text []byte, err error) {
	r, err := e.open(ctx, c, in)
	if err != nil {
		return out, nil, err
	}
	defer r.Close()
	text, err = io.ReadAll(io.LimitReader(r, maxAnswer))
	if err != nil {
		return out, nil, c.explain(err)
	}
	if raw, ok := any(&out).(*Raw); ok {
		*raw = text
		return out, text, nil
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return out, nil, fmt.Errorf("%s is not an admin API of reactord: %w",
			c.access.Address, err)
	}
	return out, text, nil
}

// Open calls an endpoint whose answer is not JSON. The caller reads and closes the answer.
func Open[In any](ctx context.Context, c *Client, e Endpoint[In, Raw], in In) (io.ReadCloser, error) {
	return e.open(ctx, c, in)
}

func (e Endpoint[In, Out]) open(ctx context.Context, c *Client, in In) (io.ReadCloser, error) {
	r, err := e.request(ctx, c.url, in)
	if err != nil {
		return nil, err
	}
	answer, err := c.do(r)
	if err != nil {
		return nil, c.explain(err)
	}
	if answer.StatusCode/100 == 2 {
		return answer.Body, nil
	}
	defer answer.Body.Close()
	return nil, c.refused(answer)
}

// do sends a request with the password.
func (c *Client) do(r *http.Request) (*http.Response, error) {
	if c.access.User != "" {
		r.SetBasicAuth(c.access.User, c.access.Password)
	}
	answer, err := c.http.Do(r)
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	return answer, err
}

// refused returns the error of an answer.
func (c *Client) refused(answer *http.Response) error {
	p := &Problem{}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err == nil && json.Unmarshal(text, p) == nil && p.Status != 0 {
		return p
	}
	if err := c.stranger(answer.StatusCode, string(text)); err != nil {
		return err
	}
	return fmt.Errorf("%s answers %s, which is not an answer of the admin API of reactord",
		c.access.Address, answer.Status)
}

// stranger returns the error of an answer that denies access, or nil.
func (c *Client) stranger(code int, text string) error {
	switch {
	case code == http.StatusUnauthorized && c.access.User == "":
		return fmt.Errorf("%s requires a password: give --user, and the password by --password-file or "+
			"REACTORD_PASSWORD", c.access.Address)
	case code == http.StatusUnauthorized:
		return fmt.Errorf("%s rejects user %q with this password", c.access.Address, c.access.User)
	case strings.Contains(text, "HTTP request to an HTTPS server"):
		return fmt.Errorf("%s speaks TLS: write https://HOST:PORT", c.access.Address)
	}
	return nil
}

// request returns the request for an input.
func (e Endpoint[In, Out]) request(ctx context.Context, base string, in In) (*http.Request, error) {
	v := reflect.ValueOf(&in).Elem()
	path, query := e.Path, url.Values{}
	for _, p := range params(v.Type()) {
		switch text := p.get(v); {
		case p.in == "path":
			path = strings.ReplaceAll(path, "{"+p.name+"}", url.PathEscape(text))
		case text != "":
			query.Set(p.name, text)
		}
	}
	target := base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	var body io.Reader
	f, has := bodyOf(v.Type())
	if has {
		text, err := json.Marshal(v.FieldByIndex(f.Index).Interface())
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, e.Method, target, body)
	if has && err == nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, err
}

// explain adds advice to the error if no daemon answers.
func (c *Client) explain(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no reactord answers at %s: %w: start it with this address as admin.address, "+
			"or give its address by --address or REACTORD_ADMIN", c.access.Address, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %w: run this as the user or group that owns the socket (admin.owner, admin.group)",
			c.access.Address, err)
	}
	return fmt.Errorf("%s: %w", c.access.Address, c.explainTLS(err))
}

// explainTLS adds advice to the error if a certificate is the reason.
func (c *Client) explainTLS(err error) error {
	switch {
	case isUnknownAuthority(err) && c.access.CACert == "":
		return fmt.Errorf("%w: give the trusted certificates by --cacert", err)
	case strings.Contains(err.Error(), "tls: certificate required"):
		return fmt.Errorf("%w: give one by --cert and --key", err)
	}
	return err
}

func isUnknownAuthority(err error) bool {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	return unknown
}
