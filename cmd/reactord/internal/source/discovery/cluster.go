package discovery

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// serviceAccount is the directory in a pod with its token, the authority of the API server, and its namespace.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// A silent API server is noticed after this long without a frame, and then this long without an answer to an HTTP/2
// PING.
const (
	quiet      = 15 * time.Second
	unanswered = 15 * time.Second
)

// Cluster is the API server of Kubernetes, with the connection that sources share. Its methods may be called from any
// goroutine.
type Cluster struct {
	cfg        config.Kubernetes
	dir        string // serviceAccount
	quiet      time.Duration
	unanswered time.Duration

	mu        sync.Mutex
	client    *http.Client
	authority []byte // content of the CA file that client was built with
}

// NewCluster returns the API server of these settings. It is contacted when a source runs.
func NewCluster(cfg config.Kubernetes) *Cluster {
	return &Cluster{cfg: cfg, dir: serviceAccount, quiet: quiet, unanswered: unanswered}
}

// Settings returns the settings of c.
func (c *Cluster) Settings() config.Kubernetes { return c.cfg }

// podFile returns a file of the pod's ServiceAccount, unless the settings name another one, or "" outside of a pod.
func (c *Cluster) podFile(set, name string) string {
	if set != "" || c.cfg.Address != "" {
		return set
	}
	return filepath.Join(c.dir, name)
}

// address returns the URL of the API server.
func (c *Cluster) address() (string, error) {
	if c.cfg.Address != "" {
		return strings.TrimSuffix(c.cfg.Address, "/"), nil
	}
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return "", errors.New("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, as they are in a pod: " +
			"write kubernetes.address")
	}
	return "https://" + net.JoinHostPort(host, port), nil
}

// namespace returns the pod's namespace.
func (c *Cluster) namespace() (string, error) {
	text, err := readBounded(filepath.Join(c.dir, "namespace"), maxSecret)
	if err != nil {
		return "", fmt.Errorf("namespace of the pod: %w: write namespace", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// get requests a path of the API. The answer must begin within the timeout; its body, which the caller closes, may
// take as long as ctx. An answer other than 200 is a *statusError.
func (c *Cluster) get(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	request, err := c.request(ctx, path, query)
	if err != nil {
		return nil, err
	}
	client, err := c.trust()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(c.cfg.Timeout, func() { cancel(context.DeadlineExceeded) })
	response, err := client.Do(request.WithContext(ctx))
	if !late.Stop() && err == nil {
		response.Body.Close()
		err = context.DeadlineExceeded
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(nil)
		if of, ok := errors.AsType[*url.Error](err); ok {
			err = of.Err // without the query
		}
		return nil, err
	}
	response.Body = &cancelling{response.Body, cancel}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, readStatus(response)
	}
	return response, nil
}

// cancelling is a body whose Close cancels its request.
type cancelling struct {
	body interface {
		Read([]byte) (int, error)
		Close() error
	}
	cancel context.CancelCauseFunc
}

func (c *cancelling) Read(p []byte) (int, error) { return c.body.Read(p) }

func (c *cancelling) Close() error {
	c.cancel(nil)
	return c.body.Close()
}

// request returns a request with the current token, which changes about every hour.
func (c *Cluster) request(ctx context.Context, path string, query url.Values) (*http.Request, error) {
	address, err := c.address()
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "reactord")
	if file := c.podFile(c.cfg.TokenFile, "token"); file != "" {
		token, err := readBounded(file, maxSecret)
		if err != nil {
			return nil, fmt.Errorf("token: %w", err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	return r, nil
}

// trust returns a client that trusts the current content of the CA file.
func (c *Cluster) trust() (*http.Client, error) {
	var authority []byte
	file := c.podFile(c.cfg.CAFile, "ca.crt")
	if file != "" {
		var err error
		if authority, err = readBounded(file, maxSecret); err != nil {
			return nil, fmt.Errorf("certificate authority: %w", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil && bytes.Equal(authority, c.authority) {
		return c.client, nil
	}
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12}
	if file != "" {
		tlsConfig.RootCAs = x509.NewCertPool()
		if !tlsConfig.RootCAs.AppendCertsFromPEM(authority) {
			return nil, fmt.Errorf("certificate authority: %s: no certificate in PEM form", file)
		}
	}
	if c.cfg.CertFile != "" {
		tlsConfig.GetClientCertificate = c.certificate
	}
	if c.client != nil {
		c.client.CloseIdleConnections()
	}
	c.client, c.authority = &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			TLSClientConfig:        tlsConfig,
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: 64 << 10,
			ForceAttemptHTTP2:      true,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: c.quiet, PingTimeout: c.unanswered},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, authority
	return c.client, nil
}

// certificate reads the client certificate again for each connection.
func (c *Cluster) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	chain, err := readBounded(c.cfg.CertFile, maxSecret)
	if err != nil {
		return nil, err
	}
	key, err := readBounded(cmp.Or(c.cfg.KeyFile, c.cfg.CertFile), maxSecret)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(chain, key)
	return &pair, err
}

// idle closes the connection if it is unused.
func (c *Cluster) idle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil {
		c.client.CloseIdleConnections()
	}
}

// statusError is an answer other than 200, or an error event.
type statusError struct {
	code    int
	message string
	after   time.Duration // shortest wait that the server demands
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("status %d %s", e.code, http.StatusText(e.code))
	if e.message != "" {
		text += ": " + e.message
	}
	switch e.code {
	case http.StatusUnauthorized:
		text += ": the API server rejected the token or the certificate"
	case http.StatusForbidden:
		text += ": allow list and watch of endpointslices.discovery.k8s.io"
	}
	return text
}

// status is a Status of the API.
type status struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func readStatus(r *http.Response) *statusError {
	e := &statusError{code: r.StatusCode}
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.after = min(time.Duration(min(seconds, 3600))*time.Second, maxBackOff)
	}
	var s status
	if data, err := boundedAll(r.Body, maxStatus); err == nil && json.Unmarshal(data, &s) == nil {
		e.message = printable(s.Message)
	}
	return e
}

// maxStatus limits a Status, and maxMessage the part of its message that is shown, in bytes.
const (
	maxStatus  = 64 << 10
	maxMessage = 300
)

// printable makes a text of the server fit for a log.
func printable(text string) string {
	if len(text) > maxMessage {
		text = text[:maxMessage]
	}
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}
