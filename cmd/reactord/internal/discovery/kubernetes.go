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
)

// Kubernetes is the source for a Service of Kubernetes.
//
// It lists the EndpointSlices of the Service, and watches them from the version of the list on. A watch that ends is
// begun again from the version of its last event, so that nothing is missed and nothing is listed twice. When the API
// server does not know that version any more (410 Gone), they are listed anew. There is no other reason to list: what
// the API server has said is complete.
//
// While the API server fails, the servers stay. They also stay when all slices were deleted, as with their Service:
// then those of a row of deletions count again, until there is a slice. Each attempt waits a random part of a time that
// grows from one failure to the next, up to 30 s.
type Kubernetes struct {
	stats
	cfg     config.KubernetesDiscovery
	cluster *Cluster
	name    string
	unit    time.Duration // the first back-off, and what a watch that works lasts at least: minBackOff
	most    time.Duration // the longest back-off: maxBackOff

	// Only Run uses these.
	reader  sliceReader
	told    reporter
	parts   map[string]part
	deleted map[string]part // by the events since the last one that was of a slice that stays
	version string          // of the last list or event; "": they have to be listed
	whole   bool            // the next list is not in pages: the one before expired between two of them
	backOff time.Duration

	heardEvent bool // in the last watch
}

// NewKubernetes makes the source for a Service.
func NewKubernetes(cfg config.KubernetesDiscovery, cluster *Cluster) *Kubernetes {
	name := cfg.Kind() + " " + cfg.Key()
	return &Kubernetes{
		cfg: cfg, cluster: cluster, name: name, unit: minBackOff, most: maxBackOff,
		reader: sliceReader{port: cfg.Port, family: cfg.AddressType, origin: name},
	}
}

// Name is "kubernetes NAMESPACE/SERVICE:PORT".
func (k *Kubernetes) Name() string { return k.name }

// How long a watch may last, as it is asked for: a random time between watchTime and the double. The server ends it
// then, or else it is ended watchSlack later.
const (
	watchTime  = 5 * time.Minute
	watchSlack = 30 * time.Second
)

const (
	pageSize  = 50    // slices, usually of at most 100 endpoints each
	maxSlices = 10000 // of a Service
)

// errExpired is that the API server does not know a version any more.
var errExpired = errors.New("the version is too old")

// errBroken is that a watch has ended, other than as it was asked for.
var errBroken = errors.New("the watch was interrupted")

// Run lists and watches.
func (k *Kubernetes) Run(ctx context.Context, report Report) {
	defer k.cluster.idle()
	k.told.report = report
	for {
		wait := k.attempt(ctx)
		if ctx.Err() != nil || !sleep(ctx, wait) {
			return
		}
	}
}

// attempt lists if it has to, and watches until the watch ends. It returns how long to wait before the next attempt.
func (k *Kubernetes) attempt(ctx context.Context) time.Duration {
	lasted, err := time.Duration(0), error(nil)
	k.heardEvent = false
	if k.version == "" {
		err = k.list(ctx)
	}
	if err == nil {
		lasted, err = k.watch(ctx)
	}
	if ctx.Err() != nil {
		return 0 // what was cancelled has not failed
	}
	if err == nil && lasted >= watchTime {
		k.backOff = 0
		return 0 // as it was asked for, at a random time
	}
	worked := lasted >= k.unit || k.heardEvent
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
	wait := rand.N(k.backOff) //nolint:gosec // nothing depends on its being a secret
	if of, ok := errors.AsType[*statusError](err); ok {
		wait = max(wait, of.after)
	}
	return wait
}

// failed tells of an error. The servers stay.
func (k *Kubernetes) failed(err error) {
	if wrongJSON(err) {
		err = fmt.Errorf("%w: %w", errInvalid, err)
	}
	if errors.Is(err, errInvalid) {
		k.version = "" // it cannot be relied on
	}
	err = fmt.Errorf("%s: %w", k.name, err)
	k.note(found{err: err})
	k.told.tell(nil, err)
}

// tell tells of the servers that the slices have. counted is whether it is a lookup, and not an event.
func (k *Kubernetes) tell(counted bool) {
	servers, err := join(k.parts, k.cfg.Port)
	if len(k.parts) == 0 && len(k.deleted) > 0 {
		servers, _ = join(k.deleted, k.cfg.Port)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", k.name, err)
	}
	if counted {
		k.note(found{servers: servers, err: err})
	} else {
		k.heard(len(servers), servers != nil, err)
	}
	k.told.tell(servers, err)
}

// get asks for the slices of the Service.
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

// list lists all slices. Nothing changes if it fails.
func (k *Kubernetes) list(ctx context.Context) error {
	query := url.Values{}
	if !k.whole {
		query.Set("limit", strconv.Itoa(pageSize))
	}
	parts := map[string]part{}
	for {
		page, err := k.page(ctx, query)
		if err != nil {
			k.whole = errors.Is(err, errExpired)
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
			k.parts, k.version, k.whole = parts, page.Metadata.ResourceVersion, false
			if len(parts) > 0 {
				k.deleted = nil
			}
			k.tell(true)
			return nil
		}
		if len(page.Items) == 0 {
			return fmt.Errorf("%w: an empty page that is not the last one", errInvalid)
		}
		query.Set("continue", page.Metadata.Continue)
	}
}

// page asks for a page of the list.
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

// watch watches until the watch ends, and returns how long it has lasted. An end between two events is no error.
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
	k.tell(true)
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

// apply takes an event.
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
		return fmt.Errorf("%w: an event of the unknown type %.60q", errInvalid, e.Type)
	}
	if s.Metadata.ResourceVersion == "" {
		return fmt.Errorf("%w: an event without a resourceVersion", errInvalid)
	}
	k.version, k.heardEvent = s.Metadata.ResourceVersion, true
	k.tell(false)
	return nil
}
