package sets

import (
	"context"
	"fmt"
	"net/http"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/sets/list"
	"github.com/reactord/reactord/cmd/reactord/internal/source/fetch"
)

// httpFeed polls a URL.
type httpFeed struct {
	cfg              config.SetHTTP
	set              *config.Set
	client           fetch.Client
	etag, modifiedAt string // of the last good answer
}

func newHTTPFeed(cfg config.SetHTTP, s *config.Set) *httpFeed {
	return &httpFeed{
		cfg: cfg, set: s,
		client: fetch.Client{TokenFile: cfg.TokenFile, CAFile: cfg.CAFile, Redirect: fetch.SameHost},
	}
}

func (f *httpFeed) run(ctx context.Context, report func(*list.List, error)) {
	defer f.client.Close()
	pace := fetch.Pace{First: f.cfg.Interval}
	for {
		l, err := f.attempt(ctx)
		if ctx.Err() != nil {
			return
		}
		report(l, err)
		if !fetch.Sleep(ctx, pace.Next(err, pace.Around(f.cfg.Interval))) {
			return
		}
	}
}

// attempt requests the URL once. It returns nil without an error if nothing has changed.
func (f *httpFeed) attempt(ctx context.Context) (*list.List, error) {
	ctx, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.cfg.URL, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/plain, */*;q=0.1")
	for header, value := range map[string]string{"If-None-Match": f.etag, "If-Modified-Since": f.modifiedAt} {
		if value != "" {
			r.Header.Set(header, value)
		}
	}
	response, err := f.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotModified && f.etag+f.modifiedAt != "":
		return nil, nil
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %s", response.Status)
	}
	l, err := list.Read(response.Body, f.set)
	if err != nil {
		return nil, fmt.Errorf("answer refused: line %w", err)
	}
	f.etag, f.modifiedAt = response.Header.Get("ETag"), response.Header.Get("Last-Modified")
	return l, nil
}
