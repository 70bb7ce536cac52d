package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/fetch"
)

// Kubernetes watches a Service of Kubernetes.
//
// It lists the EndpointSlices of the Service, and watches them from the version of the list on. A watch that ends is
// resumed from its last event, so that nothing is missed or listed twice. Only when the API server no longer knows
// that version (410 Gone) are they listed again.
//
// While the API server fails, the servers stay. They also stay when all slices are deleted, as with their Service:
// the slices of the last run of deletions count until there is a slice again. Failed attempts are repeated after a
// random part of a growing delay, up to 30 s.
type Kubernetes struct {
	stats
	cfg     config.KubernetesDiscovery
	cluster *Cluster
	name    string
	unit    time.Duration // first back-off, and shortest duration of a working watch: minBackOff
	most    time.Duration // longest back-off: maxBackOff

	// Used by Run only.
	reader   sliceReader
	reporter reporter
	parts    map[string]part
	deleted  map[string]part // by the last run of deletions
	version  string          // of the last list or event; "" requires a list
	unpaged  bool            // list without pages: the last list expired between two of them
	backOff  time.Duration

	sawEvent bool // in the last watch
}

// NewKubernetes returns the source for a Service.
func NewKubernetes(cfg config.KubernetesDiscovery, cluster *Cluster) *Kubernetes {
	name := cfg.Kind() + " " + cfg.Key()
	return &Kubernetes{
		cfg: cfg, cluster: cluster, name: name, unit: minBackOff, most: maxBackOff,
		reader: sliceReader{port: cfg.Port, family: cfg.AddressType, origin: name},
	}
}

// Name returns "kubernetes NAMESPACE/SERVICE:PORT".
func (k *Kubernetes) Name() string { return k.name }

// A watch is requested for a random time between watchTime and twice that. The server ends it then, or the client
// watchSlack later.
const (
	watchTime  = 5 * time.Minute
	watchSlack = 30 * time.Second
)

const (
	pageSize  = 50    // slices, usually of at most 100 endpoints each
	maxSlices = 10000 // per Service
)

// errExpired means that the API server no longer knows a version.
var errExpired = errors.New("the version is too old")

// errBroken means that a watch ended early.
var errBroken = errors.New("the watch was interrupted")

// Run lists and watches.
func (k *Kubernetes) Run(ctx context.Context, report Report) {
	defer k.cluster.idle()
	k.reporter.report = report
	for {
		wait := k.attempt(ctx)
		if ctx.Err() != nil || !fetch.Sleep(ctx, wait) {
			return
		}
	}
}

// attempt lists if necessary, and watches until the watch ends. It returns the delay before the next attempt.
func (k *Kubernetes) attempt(ctx context.Context) time.Duration {
	lasted, err := time.Duration(0), error(nil)
	k.sawEvent = false
	if k.version == "" {
		err = k.list(ctx)
	}
	if err == nil {
		lasted, err = k.watch(ctx)
	}
	if ctx.Err() != nil {
		return 0 // cancelled, not failed
	}
	if err == nil && lasted >= watchTime {
		k.backOff = 0
		return 0 // ended as requested, at a random time
	}
	worked := lasted >= k.unit || k.sawEvent
	if worked {
		k.backOff = 0
	}
	switch {
	case errors.Is(err, errExpired):
		k.version = ""
	case worked && (err == nil || errors.Is(err, errBroken)):
	case err == nil:
		k.failed(fmt.Errorf("%w after %v", errBroken, lasted.Round(time.Millisecond)))
	default:
		k.failed(err)
	}
	k.backOff = min(max(2*k.backOff, k.unit), k.most)
	wait := rand.N(k.backOff) //nolint:gosec // need not be secret
	if of, ok := errors.AsType[*statusError](err); ok {
		wait = max(wait, of.after)
	}
	return wait
}

// failed reports an error. The servers stay.
func (k *Kubernetes) failed(err error) {
	if wrongJSON(err) {
		err = fmt.Errorf("%w: %w", errInvalid, err)
	}
	if errors.Is(err, errInvalid) {
		k.version = "" // unreliable
	}
	err = fmt.Errorf("%s: %w", k.name, err)
	k.note(outcome{err: err})
	k.reporter.reportChange(nil, err)
}

// report reports the servers of the slices. counted distinguishes a lookup from an event.
func (k *Kubernetes) report(counted bool) {
	servers, err := join(k.parts, k.cfg.Port)
	if len(k.parts) == 0 && len(k.deleted) > 0 {
		servers, _ = join(k.deleted, k.cfg.Port)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", k.name, err)
	}
	if counted {
		k.note(outcome{servers: servers, err: err})
	} else {
		k.noteEvent(len(servers), servers != nil, err)
	}
	k.reporter.reportChange(servers, err)
}

// get requests the slices of the Service.
func (k *Kubernetes) get(ctx context.Context, query url.Values) (*http.Response, error) {
	namespace := k.cfg.Namespace
	if namespace == "" {
		var err error
		if namespace, err = k.cluster.namespace(); err != nil {
			return nil, err
		}
	}
	query.Set("labelSelector", "kubernetes.io/service-name="+k.cfg.Service)
	path := "/apis/discovery.k8s.io/v1/namespaces/" + url.PathEscape(namespace) + "/endpointslices"
	response, err := k.cluster.get(ctx, path, query)
	if of, ok := errors.AsType[*statusError](err); ok && of.code == http.StatusGone {
		err = errExpired
	}
	return response, err
}

// list lists all slices. A failure changes nothing.
func (k *Kubernetes) list(ctx context.Context) error {
	query := url.Values{}
	if !k.unpaged {
		query.Set("limit", strconv.Itoa(pageSize))
	}
	parts := map[string]part{}
	for {
		page, err := k.page(ctx, query)
		if err != nil {
			k.unpaged = errors.Is(err, errExpired)
			return err
		}
		for i := range page.Items {
			s := &page.Items[i]
			if parts[s.Metadata.Name], err = k.reader.part(s); err != nil {
				return err
			}
		}
		if len(parts) > maxSlices {
			return fmt.Errorf("more than %d EndpointSlices", maxSlices)
		}
		if page.Metadata.Continue == "" {
			k.parts, k.version, k.unpaged = parts, page.Metadata.ResourceVersion, false
			if len(parts) > 0 {
				k.deleted = nil
			}
			k.report(true)
			return nil
		}
		if len(page.Items) == 0 {
			return fmt.Errorf("%w: an empty page before the last one", errInvalid)
		}
		query.Set("continue", page.Metadata.Continue)
	}
}

// page requests a page of the list.
func (k *Kubernetes) page(ctx context.Context, query url.Values) (*sliceList, error) {
	ctx, cancel := context.WithTimeout(ctx, k.cluster.cfg.Timeout)
	defer cancel()
	response, err := k.get(ctx, query)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	page := &sliceList{}
	if err := json.NewDecoder(&bounded{from: response.Body, most: maxPage}).Decode(page); err != nil {
		return nil, err
	}
	if page.Metadata.ResourceVersion == "" {
		return nil, fmt.Errorf("%w: a list without a resourceVersion", errInvalid)
	}
	return page, nil
}

// watch watches until the watch ends, and returns its duration. An end between two events is not an error.
func (k *Kubernetes) watch(ctx context.Context) (lasted time.Duration, err error) {
	most := watchTime + rand.N(watchTime) //nolint:gosec // as above
	ctx, cancel := context.WithTimeout(ctx, most+watchSlack)
	defer cancel()
	response, err := k.get(ctx, url.Values{
		"watch":               {"1"},
		"allowWatchBookmarks": {"true"},
		"resourceVersion":     {k.version},
		"timeoutSeconds":      {strconv.Itoa(int(most.Seconds()))},
	})
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	began := time.Now()
	k.report(true)
	all := newEvents(response.Body)
	for {
		e, err := all.next()
		if err == nil {
			err = k.apply(e)
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return time.Since(began), nil
		case errors.Is(err, errInvalid), errors.Is(err, errExpired):
			return time.Since(began), err
		default:
			if _, ok := errors.AsType[*statusError](err); !ok {
				err = fmt.Errorf("%w: %w", errBroken, err)
			}
			return time.Since(began), err
		}
	}
}

// apply applies an event.
func (k *Kubernetes) apply(e *sliceEvent) error {
	s := &e.Object.endpointSlice
	switch e.Type {
	case "ADDED", "MODIFIED":
		p, err := k.reader.part(s)
		if err != nil {
			return err
		}
		k.deleted = nil
		if k.parts[s.Metadata.Name] = p; len(k.parts) > maxSlices {
			return fmt.Errorf("%w: more than %d EndpointSlices", errInvalid, maxSlices)
		}
	case "DELETED":
		if p, ok := k.parts[s.Metadata.Name]; ok {
			if k.deleted == nil {
				k.deleted = map[string]part{}
			}
			k.deleted[s.Metadata.Name] = p
		}
		delete(k.parts, s.Metadata.Name)
	case "BOOKMARK":
	case "ERROR":
		if e.Object.Code == http.StatusGone {
			return errExpired
		}
		k.version = ""
		return &statusError{code: e.Object.Code, message: printable(e.Object.Message)}
	default:
		return fmt.Errorf("%w: an event of unknown type %.60q", errInvalid, e.Type)
	}
	if s.Metadata.ResourceVersion == "" {
		return fmt.Errorf("%w: an event without a resourceVersion", errInvalid)
	}
	k.version, k.sawEvent = s.Metadata.ResourceVersion, true
	k.report(false)
	return nil
}
