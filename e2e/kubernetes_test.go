package e2e

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
)

// apiServer is an API server of Kubernetes with one EndpointSlice, over HTTP/2. What a real one says is tested in
// package discovery.
type apiServer struct {
	*httptest.Server
	ca string // the file of its certificate

	mu      sync.Mutex
	version int
	slice   map[string]any
	changed chan struct{} // closed at each change
}

// newAPIServer is an API server whose slice has endpoints, each "ADDRESS:PORT STATE": ready, ending or ended. All have
// the same port.
func newAPIServer(t *testing.T, endpoints ...string) *apiServer {
	t.Helper()
	a := &apiServer{ca: filepath.Join(t.TempDir(), "ca.crt"), changed: make(chan struct{})}
	a.set(endpoints...)
	a.Server = httptest.NewUnstartedServer(a)
	a.EnableHTTP2 = true
	a.StartTLS()
	writeFile(t, a.ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})))
	t.Cleanup(a.stop)
	return a
}

func (a *apiServer) stop() {
	a.CloseClientConnections()
	a.Close()
}

// set replaces the endpoints.
func (a *apiServer) set(endpoints ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	all, port := []any{}, 0
	for _, text := range endpoints {
		address, state, _ := strings.Cut(text, " ")
		host, number, _ := net.SplitHostPort(address)
		port, _ = strconv.Atoi(number)
		all = append(all, map[string]any{"addresses": []string{host}, "zone": "z", "conditions": map[string]bool{
			"ready": state == "ready", "serving": state != "ended", "terminating": state != "ready"}})
	}
	a.slice = map[string]any{
		"metadata":    map[string]string{"name": "app-x", "resourceVersion": strconv.Itoa(a.version)},
		"addressType": "IPv4", "endpoints": all, "ports": []any{map[string]any{"name": "app", "port": port}},
	}
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if r.URL.Path != "/apis/discovery.k8s.io/v1/namespaces/edge/endpointslices" ||
		q.Get("labelSelector") != "kubernetes.io/service-name=app" {
		http.NotFound(w, r)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if q.Get("watch") == "" {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"metadata": map[string]string{"resourceVersion": strconv.Itoa(a.version)}, "items": []any{a.slice}})
		return
	}
	for at, _ := strconv.Atoi(q.Get("resourceVersion")); ; {
		if at != a.version {
			at = a.version
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "MODIFIED", "object": a.slice})
		}
		w.(http.Flusher).Flush()
		changed := a.changed
		a.mu.Unlock()
		select {
		case <-changed:
		case <-r.Context().Done():
		}
		if a.mu.Lock(); r.Context().Err() != nil {
			return
		}
	}
}

// greetsAt is a server at an address that sends its name, and then back what it receives.
func greetsAt(t *testing.T, address, name string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, l.(*net.TCPListener), func(c *net.TCPConn) {
		if _, err := c.Write([]byte(name)); err == nil {
			echo(c)
		}
	})
}

// greeting is the name of the server that answers at an address, or "".
func greeting(addr string) string {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return ""
	}
	defer c.Close()
	name := make([]byte, 1)
	_ = c.SetDeadline(time.Now().Add(patience))
	n, _ := c.Read(name)
	return string(name[:n])
}

// greeted is a connection to the server of this name.
func greeted(t *testing.T, addr, name string) peer {
	t.Helper()
	p := dial(t, addr)
	p.expect([]byte(name))
	return p
}

// A pod that ends drains: its connections stay, and new ones go elsewhere. What is known stays when the API server is
// gone.
func TestDiscoveryKubernetes(t *testing.T) {
	t.Parallel()
	onEachRing(t, func(t *testing.T, ring string) {
		a, port, err := net.SplitHostPort(testenv.Vacant(t))
		if err != nil {
			t.Fatal(err)
		}
		b := strings.TrimSuffix(a, ".1") + ".2"
		greetsAt(t, net.JoinHostPort(a, port), "a")
		greetsAt(t, net.JoinHostPort(b, port), "b")
		a, b = net.JoinHostPort(a, port), net.JoinHostPort(b, port)
		api := newAPIServer(t, a+" ready", b+" ended")
		d := startDiscovery(t, ring, fmt.Sprintf(`
kubernetes: {address: '%s', ca_file: %s}
backends:
  - {name: b, kubernetes: [{service: app, namespace: edge, port: app}]}`, api.URL, api.ca))
		open := greeted(t, d.addr, "a")
		api.set(a+" ready", b+" ready")
		eventually(t, "b serves, too", func() bool { return greeting(d.addr) == "b" })
		api.set(a+" ending", b+" ready")
		eventually(t, "a drains", func() bool {
			_, page := d.get("/metrics")
			return strings.Contains(page, `reactord_server_state{backend="b",server="`+a+`",state="drain"} 1`)
		})
		for range 50 {
			if got := greeting(d.addr); got != "b" {
				t.Fatalf("a new connection went to %q while a drains", got)
			}
		}
		open.send([]byte("x"))
		open.expect([]byte("x"))
		api.set(b + " ready")
		eventually(t, "a is gone", func() bool {
			_, page := d.get("/metrics")
			return strings.Contains(page, `reactord_discovery_servers{backend="b",source="kubernetes edge/app:app"} 1`)
		})
		open.send([]byte("y"))
		open.expect([]byte("y"))
		api.set(b + " ending")
		api.stop()
		eventually(t, "the source fails", func() bool {
			_, page := d.get("/metrics")
			return strings.Contains(page, `reactord_discovery_successful{backend="b",source="kubernetes edge/app:app"} 0`)
		})
		for range 10 {
			if got := greeting(d.addr); got != "b" {
				t.Fatalf("%q serves without the API server", got)
			}
		}
		open.finish()
		d.stop()
	})
}
