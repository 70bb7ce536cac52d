package discovery

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// object is an EndpointSlice as the API has it, without what reactord does not read.
type object map[string]any

// fakeAPI is an API server for EndpointSlices, over HTTP/2 and TLS: lists in pages, watches from a version on, with
// bookmarks, and versions that expire. What it cannot do is told by TestRealAPIServer.
type fakeAPI struct {
	*httptest.Server

	mu      sync.Mutex
	version int
	oldest  int // versions before it have expired
	objects map[string]object
	history []change
	changed chan struct{} // closed at each change
	token   string        // "": none is needed
	page    int           // the most slices of a page; 0: as asked for
	lists   int
	watches []*http.Request

	// fault may answer a request; then it returns true.
	fault func(w http.ResponseWriter, r *http.Request) bool
	// mangle may send something else than an event. It returns an error to end the watch.
	mangle func(w http.ResponseWriter, line []byte) error
}

type change struct {
	version int
	kind    string
	object  object
}

const prefix = "/apis/discovery.k8s.io/v1/namespaces/edge/endpointslices"

func newFakeAPI(t *testing.T) *fakeAPI {
	t.Helper()
	f := &fakeAPI{version: 100, oldest: 100, objects: map[string]object{}, changed: make(chan struct{})}
	f.Server = httptest.NewUnstartedServer(f)
	f.EnableHTTP2 = true
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.StartTLS()
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// settings are those with which the fake is reached.
func (f *fakeAPI) settings(t *testing.T) config.Kubernetes {
	t.Helper()
	k := config.New().Kubernetes
	k.Address, k.CAFile = f.URL, filepath.Join(t.TempDir(), "ca.crt")
	write(t, k.CAFile, string(f.authority()))
	return k
}

func (f *fakeAPI) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
}

// otherAuthority is one that has signed nothing.
func otherAuthority(t *testing.T) []byte {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)},
		&x509.Certificate{SerialNumber: big.NewInt(1)}, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// service is the source for edge/app:http, which tries again soon.
func (f *fakeAPI) service(t *testing.T, change ...func(*config.KubernetesDiscovery)) *Kubernetes {
	t.Helper()
	return serviceOf(NewCluster(f.settings(t)), change...)
}

func serviceOf(c *Cluster, change ...func(*config.KubernetesDiscovery)) *Kubernetes {
	k := config.NewKubernetesDiscovery()
	k.Service, k.Namespace, k.Port = "app", "edge", "http"
	for _, f := range change {
		f(&k)
	}
	out := NewKubernetes(k, c)
	out.unit = time.Millisecond
	return out
}

// set replaces a slice, or removes it if it is nil.
func (f *fakeAPI) set(name string, o object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	kind := "MODIFIED"
	was, known := f.objects[name]
	switch {
	case o == nil && !known:
		return
	case o == nil:
		kind, o = "DELETED", maps.Clone(was)
		delete(f.objects, name)
	case !known:
		kind = "ADDED"
	}
	o = maps.Clone(o)
	o["metadata"] = map[string]any{"name": name, "resourceVersion": strconv.Itoa(f.version)}
	if kind != "DELETED" {
		f.objects[name] = o
	}
	f.history = append(f.history, change{f.version, kind, o})
	f.wake()
}

func (f *fakeAPI) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// expire forgets all versions but the present one, and ends the watches.
func (f *fakeAPI) expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	f.oldest, f.history = f.version, nil
	f.wake()
}

func (f *fakeAPI) setFault(fault func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

func (f *fakeAPI) setMangle(mangle func(w http.ResponseWriter, line []byte) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mangle = mangle
}

func (f *fakeAPI) counts() (lists, watches int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lists, len(f.watches)
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	fault, token := f.fault, f.token
	f.mu.Unlock()
	q := r.URL.Query()
	switch {
	case fault != nil && fault(w, r):
	case token != "" && r.Header.Get("Authorization") != "Bearer "+token:
		status4(w, 401, "Unauthorized")
	case r.Method != http.MethodGet || r.URL.Path != prefix || q.Get("labelSelector") != "kubernetes.io/service-name=app":
		status4(w, 404, "the server could not find the requested resource")
	case q.Get("watch") == "1":
		f.watch(w, r)
	default:
		f.list(w, q.Get("limit"), q.Get("continue"))
	}
}

// status4 answers with a Status.
func status4(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
		"message": message, "metadata": object{}})
}

// list answers with a page. The continue token is "VERSION NAME".
func (f *fakeAPI) list(w http.ResponseWriter, limit, after string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	version, from := f.version, ""
	if after != "" {
		_, _ = fmt.Sscan(after, &version, &from)
		if version < f.oldest {
			status4(w, 410, "The provided continue parameter is too old")
			return
		}
	} else {
		f.lists++
	}
	most, _ := strconv.Atoi(limit)
	if f.page != 0 && most != 0 {
		most = min(most, f.page)
	}
	items, metadata, last := []object{}, object{"resourceVersion": strconv.Itoa(version)}, ""
	for _, name := range slices.Sorted(maps.Keys(f.objects)) {
		if name <= from {
			continue
		}
		if most != 0 && len(items) == most {
			metadata["continue"] = fmt.Sprint(version, " ", last)
			break
		}
		items, last = append(items, f.objects[name]), name
	}
	_ = json.NewEncoder(w).Encode(object{"kind": "EndpointSliceList", "apiVersion": "discovery.k8s.io/v1",
		"metadata": metadata, "items": items})
}

func (f *fakeAPI) watch(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	at, _ := strconv.Atoi(q.Get("resourceVersion"))
	f.mu.Lock()
	f.watches = append(f.watches, r)
	expired := at < f.oldest
	f.mu.Unlock()
	if expired {
		status4(w, 410, "too old resource version")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(200)
	w.(http.Flusher).Flush()
	for {
		f.mu.Lock()
		var due []change
		for _, c := range f.history {
			if c.version > at {
				due = append(due, c)
			}
		}
		if at < f.oldest {
			due = []change{{0, "ERROR", object{"kind": "Status", "code": 410, "message": "too old resource version"}}}
		}
		changed, mangle := f.changed, f.mangle
		f.mu.Unlock()
		for _, c := range due {
			line, _ := json.Marshal(object{"type": c.kind, "object": c.object})
			if err := f.send(w, append(line, '\n'), mangle); err != nil || c.kind == "ERROR" {
				return
			}
			at = c.version
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

func (f *fakeAPI) send(w http.ResponseWriter, line []byte, mangle func(http.ResponseWriter, []byte) error) error {
	if mangle != nil {
		return mangle(w, line)
	}
	if _, err := w.Write(line); err != nil {
		return err
	}
	w.(http.Flusher).Flush()
	return nil
}

// bookmark is an event with the present version only.
func (f *fakeAPI) bookmark() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	f.history = append(f.history, change{f.version, "BOOKMARK", object{"kind": "EndpointSlice",
		"metadata": object{"resourceVersion": strconv.Itoa(f.version), "creationTimestamp": nil}, "endpoints": nil,
		"ports": nil, "addressType": ""}})
	f.wake()
}

// sliced is a slice of IPv4 endpoints, each "ADDRESS", or "ADDRESS STATE" as in conditions; ports are "NAME:NUMBER".
func sliced(ports []string, endpoints ...string) object {
	all := []object{}
	for _, text := range endpoints {
		address, state, _ := strings.Cut(text, " ")
		e := object{"addresses": []string{address}, "conditions": conditions(state), "zone": "z-" + address[len(address)-1:],
			"nodeName": "n1", "targetRef": object{"kind": "Pod", "name": "app-" + address}}
		all = append(all, e)
	}
	numbers := []object{}
	for _, p := range ports {
		name, number, _ := strings.Cut(p, ":")
		n, _ := strconv.Atoi(number)
		numbers = append(numbers, object{"name": name, "port": n, "protocol": "TCP"})
	}
	return object{"kind": "EndpointSlice", "addressType": "IPv4", "endpoints": all, "ports": numbers}
}

func conditions(state string) object {
	switch state {
	case "unknown":
		return object{}
	case "not":
		return object{"ready": false, "serving": false, "terminating": false}
	case "ending":
		return object{"ready": false, "serving": true, "terminating": true}
	case "ended":
		return object{"ready": false, "serving": false, "terminating": true}
	case "null":
		return object{"ready": nil, "serving": nil, "terminating": nil}
	}
	return object{"ready": true, "serving": true, "terminating": false}
}

var http80 = []string{"http:80"}
