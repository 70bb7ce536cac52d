package admin

import (
	"bytes"
	"context"
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
	address string
	http    http.Client
}

// NewClient makes a client of the daemon at an address in the form of [ParseAddress]. It does not connect yet.
func NewClient(address string) (*Client, error) {
	network, at, err := ParseAddress(address)
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		d := net.Dialer{Timeout: dialTimeout}
		return d.DialContext(ctx, network, at)
	}
	return &Client{address, http.Client{
		Transport:     &http.Transport{DialContext: dial, Proxy: nil},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

const (
	dialTimeout = 5 * time.Second
	// maxAnswer is the maximum size of an answer in bytes that a client reads into memory.
	maxAnswer = 64 << 20
)

// Close closes connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call calls the endpoint. It returns the answer, and its text as it was received. A problem that the daemon answers
// with is a [*Problem].
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
		return out, nil, fmt.Errorf("%s answers with something else than the admin API of reactord: %w", c.address, err)
	}
	return out, text, nil
}

// Open calls an endpoint whose answer is not JSON. The caller reads the answer and closes it.
func Open[In any](ctx context.Context, c *Client, e Endpoint[In, Raw], in In) (io.ReadCloser, error) {
	return e.open(ctx, c, in)
}

func (e Endpoint[In, Out]) open(ctx context.Context, c *Client, in In) (io.ReadCloser, error) {
	r, err := e.request(ctx, in)
	if err != nil {
		return nil, err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, c.explain(err)
	}
	if answer.StatusCode/100 == 2 {
		return answer.Body, nil
	}
	defer answer.Body.Close()
	p := &Problem{}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil || json.Unmarshal(text, p) != nil || p.Status == 0 {
		return nil, fmt.Errorf("%s answers %s, which is not an answer of the admin API of reactord", c.address, answer.Status)
	}
	return nil, p
}

// request makes the request for an input.
func (e Endpoint[In, Out]) request(ctx context.Context, in In) (*http.Request, error) {
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
	target := "http://localhost" + path
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

// explain says what to do if no daemon answers.
func (c *Client) explain(err error) error {
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no reactord answers at %s: %w: start it with this address as admin.address, "+
			"or say where it is by --address or REACTORD_ADMIN", c.address, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %w: run this as the user or with the group that owns the socket (admin.owner, admin.group)",
			c.address, err)
	}
	return fmt.Errorf("%s: %w", c.address, err)
}
