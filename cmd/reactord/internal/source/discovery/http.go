package discovery

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/source/fetch"
)

// Limits of files and answers in bytes.
const (
	maxContent = 8 << 20
	maxSecret  = 1 << 20
)

func sizeText(bytes int64) string { return config.Size(bytes).String() }

// HTTP polls a URL for servers.
type HTTP struct {
	stats
	cfg    config.HTTPDiscovery
	name   string
	lookup lookupFunc

	// Used by attempts only.
	client fetch.Client
	etag   string        // of the last good answer
	last   []plan.Server // servers of the last good answer
}

// NewHTTP returns the source for a URL.
func NewHTTP(cfg config.HTTPDiscovery) *HTTP {
	return &HTTP{
		cfg: cfg, name: fetch.Redacted(cfg.URL), lookup: lookupHost,
		client: fetch.Client{TokenFile: cfg.TokenFile, CAFile: cfg.CAFile},
	}
}

// Name returns the URL without its password.
func (h *HTTP) Name() string { return h.name }

// Run polls the URL, after each interval.
func (h *HTTP) Run(ctx context.Context, report Report) {
	defer h.client.Close()
	p := poller{stats: &h.stats, Pace: fetch.Pace{First: h.cfg.Interval}, attempt: func(ctx context.Context) outcome {
		ctx, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
		defer cancel()
		servers, err := h.attempt(ctx)
		f := outcome{servers: servers, next: fetch.Jitter{}.Around(h.cfg.Interval)}
		if err != nil {
			f.err = fmt.Errorf("%s: %w", h.name, err)
		}
		return f
	}}
	p.run(ctx, report)
}

// attempt requests the URL once.
func (h *HTTP) attempt(ctx context.Context) ([]plan.Server, error) {
	request, err := h.request(ctx)
	if err != nil {
		return nil, err
	}
	response, err := h.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotModified:
		if h.last != nil {
			return h.last, nil
		}
		fallthrough
	default:
		return nil, fmt.Errorf("status %s", response.Status)
	}
	data, err := boundedAll(response.Body, maxContent)
	if err != nil {
		return nil, err
	}
	g := groups{lookup: h.lookup, origin: func(*value) string { return h.name }}
	servers, err := g.parse(ctx, data, parseJSON)
	if err != nil {
		return nil, err
	}
	h.etag, h.last = response.Header.Get("ETag"), unique(servers)
	return h.last, nil
}

// request returns a request like Prometheus's.
func (h *HTTP) request(ctx context.Context) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.cfg.URL, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("X-Prometheus-Refresh-Interval-Seconds", strconv.FormatFloat(h.cfg.Interval.Seconds(), 'f', -1, 64))
	if h.etag != "" {
		r.Header.Set("If-None-Match", h.etag)
	}
	return r, nil
}

// lookupHost finds the address of a host: the first IPv4 address, or else the first one, as [net.ResolveTCPAddr]
// does.
func lookupHost(ctx context.Context, host string) (netip.Addr, error) {
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.Addr{}, err
	}
	best := ips[0]
	for _, ip := range ips {
		if ip.Unmap().Is4() {
			best = ip
			break
		}
	}
	return best.Unmap(), nil
}
