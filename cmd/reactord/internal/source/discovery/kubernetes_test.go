package discovery

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// states are "ADDRESS STATE", in order.
func states(servers []plan.Server) (out []string) {
	for _, s := range servers {
		out = append(out, fmt.Sprintf("%v %v", s.Address, s.State))
	}
	return out
}

// awaitStates waits for a report of exactly these servers.
func (r *runner) awaitStates(want ...string) []plan.Server {
	r.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case r.last = <-r.reports:
			if r.last.servers != nil && slices.Equal(states(r.last.servers), want) {
				return r.last.servers
			}
		case <-deadline:
			r.t.Fatalf("not reported: %v; the last report: %v, error %v", want, states(r.last.servers), r.last.err)
		}
	}
}

func TestKubernetes(t *testing.T) {
	f := newFakeAPI(t)
	f.set("app-a", sliced(http80, "10.0.0.1", "10.0.0.2 not", "10.0.0.3 unknown", "10.0.0.4 ending"))
	f.set("app-b", sliced([]string{"metrics:9", "http:81"}, "10.0.0.5 null", "10.0.0.6 ended"))
	f.set("app-c", sliced([]string{"metrics:9"}, "10.0.0.7"))
	source := f.service(t)
	r := start(t, source)
	got := r.awaitStates("10.0.0.1:80 up", "10.0.0.3:80 up", "10.0.0.4:80 drain", "10.0.0.5:81 up")
	want := plan.Server{Name: "10.0.0.1:80", Address: serveraddr.MustParse("10.0.0.1:80"), Weight: 1, Locality: "z-1",
		Origin: "kubernetes edge/app:http, pod app-10.0.0.1"}
	if got[0] != want {
		t.Errorf("%+v\nwant %+v", got[0], want)
	}
	f.set("app-a", sliced(http80, "10.0.0.1 ending", "10.0.0.5"))
	r.awaitStates("10.0.0.1:80 drain", "10.0.0.5:80 up", "10.0.0.5:81 up")
	f.set("app-b", nil)
	r.awaitStates("10.0.0.1:80 drain", "10.0.0.5:80 up")
	f.set("app-a", sliced(nil))
	f.set("app-c", sliced(nil))
	r.awaitStates()
	f.bookmark()
	f.set("app-a", sliced(http80, "10.0.0.9"))
	r.awaitStates("10.0.0.9:80 up")
	f.set("app-a", nil)
	f.set("app-c", nil)
	if got := r.awaitError("no EndpointSlice: check that the Service exists"); !slices.Equal(states(got.servers),
		[]string{"10.0.0.9:80 up"}) {
		t.Errorf("%v", got)
	}
	f.set("app-a", sliced(http80, "10.0.0.9"))
	r.next() // without the error
	if r.last.err != nil {
		t.Error(r.last)
	}
	lists, watches := f.counts()
	if lists != 1 || watches != 1 {
		t.Errorf("%d lists and %d watches, want 1 of each", lists, watches)
	}
	if s := source.Stats(); s.Servers != 1 || s.Lookups[ResultOK] != 2 || s.LastSuccess.IsZero() {
		t.Errorf("%+v", s)
	}
	q := f.watches[0].URL.Query()
	seconds, _ := strconv.Atoi(q.Get("timeoutSeconds"))
	if q.Get("allowWatchBookmarks") != "true" || seconds < 300 || seconds > 600 || f.watches[0].ProtoMajor != 2 {
		t.Errorf("%v, %s", q, f.watches[0].Proto)
	}
}

// The slices of a Service are deleted one after the other: the servers of all of them stay.
func TestKubernetesServiceDeleted(t *testing.T) {
	f := newFakeAPI(t)
	all := []string{"10.0.0.1:80 up", "10.0.0.2:80 up", "10.0.0.3:80 up"}
	for i, name := range []string{"app-a", "app-b", "app-c"} {
		f.set(name, sliced(http80, fmt.Sprintf("10.0.0.%d", i+1)))
	}
	r := start(t, f.service(t))
	r.awaitStates(all...)
	f.set("app-a", nil)
	r.awaitStates(all[1:]...)
	f.set("app-b", nil)
	r.awaitStates(all[2:]...)
	f.set("app-c", nil)
	if got := r.awaitError("no EndpointSlice: check that the Service exists"); !slices.Equal(states(got.servers), all) {
		t.Errorf("%v", states(got.servers))
	}
	f.bookmark()
	f.expire()
	f.set("app-d", sliced(http80, "10.0.0.4"))
	r.awaitStates("10.0.0.4:80 up")
	f.set("app-e", sliced(http80, "10.0.0.5"))
	r.awaitStates("10.0.0.4:80 up", "10.0.0.5:80 up")
	f.set("app-e", nil)
	r.awaitStates("10.0.0.4:80 up")
	f.set("app-d", sliced(http80, "10.0.0.6")) // the Service is there: what was deleted before does not come back
	r.awaitStates("10.0.0.6:80 up")
	f.set("app-d", nil)
	if got := r.awaitError("no EndpointSlice"); got.servers != nil && !slices.Equal(states(got.servers),
		[]string{"10.0.0.6:80 up"}) {
		t.Errorf("%v", states(got.servers))
	}
}

// What slices say, and what is made of it.
func TestEndpointSlices(t *testing.T) {
	v6, fqdn, odd := sliced(http80, "::1"), sliced(http80, "a.example"), sliced(http80, "1.2.3.4")
	v6["addressType"], fqdn["addressType"], odd["addressType"] = "IPv6", "FQDN", "IPv8"
	open := sliced(nil, "10.0.0.1")
	unnumbered := sliced([]string{"http:0"}, "10.0.0.1")
	none := func(k *config.KubernetesDiscovery) { k.Port = "" }
	number := func(k *config.KubernetesDiscovery) { k.Port = "80" }
	only := func(family config.AddressType) func(*config.KubernetesDiscovery) {
		return func(k *config.KubernetesDiscovery) { k.AddressType = family }
	}
	both := []string{"http:80", "https:443"}
	for _, test := range []struct {
		name   string
		change func(*config.KubernetesDiscovery)
		all    []object
		want   []string // nil: none are known
		err    string
	}{
		{"two families", nil, []object{sliced(http80, "10.0.0.1"), v6}, []string{"10.0.0.1:80 up", "[::1]:80 up"}, ""},
		{"IPv4 only", only("IPv4"), []object{sliced(http80, "10.0.0.1"), v6}, []string{"10.0.0.1:80 up"}, ""},
		{"IPv6 only", only("IPv6"), []object{sliced(http80, "10.0.0.1"), v6}, []string{"[::1]:80 up"}, ""},
		{"names", nil, []object{fqdn}, nil, `of the unused type "FQDN"`},
		{"names too", nil, []object{fqdn, sliced(http80, "10.0.0.1")}, []string{"10.0.0.1:80 up"}, `of the unused type "FQDN"`},
		{"an unknown type", nil, []object{odd}, nil, `of the unused type "IPv8"`},
		{"no other port", none, []object{sliced(http80, "10.0.0.1")}, []string{"10.0.0.1:80 up"}, ""},
		{"twice the number", none, []object{sliced([]string{"dns:53", "dns-tcp:53"}, "10.0.0.1")},
			[]string{"10.0.0.1:53 up"}, ""},
		{"several ports", none, []object{sliced(both, "10.0.0.1")}, nil,
			"the endpoints have several ports: write port: they have http (80), https (443)"},
		{"no port at all", none, []object{open}, nil, "the endpoints name no port: write port, as a number"},
		{"any port, by number", number, []object{open}, []string{"10.0.0.1:80 up"}, ""},
		{"an open port, by number", number, []object{unnumbered}, []string{"10.0.0.1:80 up"}, ""},
		{"an open port, by name", nil, []object{unnumbered}, nil, "the endpoints have no port http: they have http (0)"},
		{"by number", number, []object{sliced(both, "10.0.0.1"), sliced([]string{"a:81"}, "10.0.0.2")},
			[]string{"10.0.0.1:80 up"}, ""},
		{"another port", nil, []object{sliced([]string{"https:443"}, "10.0.0.1")}, nil,
			"the endpoints have no port http: they have https (443)"},
		{"another port, nothing ready", nil, []object{sliced([]string{"https:443"}, "10.0.0.1 not")}, []string{}, ""},
		{"only ending", nil, []object{sliced(http80, "10.0.0.1 ending", "10.0.0.2 ended")}, []string{"10.0.0.1:80 up"}, ""},
		{"twice", nil, []object{sliced(http80, "10.0.0.1 ending", "10.0.0.2"), sliced(http80, "10.0.0.1"),
			sliced(http80, "10.0.0.2 not")}, []string{"10.0.0.1:80 up", "10.0.0.2:80 up"}, ""},
		{"not an address", nil, []object{sliced(http80, "10.0.0.1.2")}, nil,
			`"10.0.0.1.2" is not an address of the type IPv4`},
		{"another family", nil, []object{sliced(http80, "::1")}, nil, `"::1" is not an address of the type IPv4`},
		{"no such port", nil, []object{sliced([]string{"http:65536"}, "10.0.0.1")}, nil, "port 65536"},
		{"none", nil, nil, nil, "no EndpointSlice"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFakeAPI(t)
			for i, o := range test.all {
				f.set(fmt.Sprint("app-", i), o)
			}
			change := test.change
			if change == nil {
				change = func(*config.KubernetesDiscovery) {}
			}
			got := start(t, f.service(t, change)).next()
			if !slices.Equal(states(got.servers), test.want) || (got.servers == nil) != (test.want == nil) {
				t.Errorf("got %v, error %v", states(got.servers), got.err)
			}
			if text := fmt.Sprint(got.err); (got.err == nil) != (test.err == "") || !strings.Contains(text, test.err) {
				t.Errorf("error %v", got.err)
			}
		})
	}
}

// What was found stays while the API server fails, and the watch continues where it was.
func TestKubernetesFails(t *testing.T) {
	f := newFakeAPI(t)
	f.set("app-a", sliced(http80, "10.0.0.1"))
	r := start(t, f.service(t))
	r.awaitStates("10.0.0.1:80 up")
	answer := func(code int, message string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { status4(w, code, message); return true }
	}
	for i, test := range []struct {
		fault func(http.ResponseWriter, *http.Request) bool
		want  string
	}{
		{answer(500, "etcdserver: no leader"), "status 500 Internal Server Error: etcdserver: no leader"},
		{answer(401, "Unauthorized"), "the API server rejected the token"},
		{answer(403, "User \"x\" cannot watch"), `cannot watch: allow list and watch of endpointslices.discovery.k8s.io`},
		{answer(302, ""), "status 302 Found"},
		{func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(503)
			_, _ = io.WriteString(w, "<html>\x1b")
			return true
		}, "status 503 Service Unavailable"},
		{func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = io.WriteString(w, "<html>")
			return true
		}, "invalid character"},
		{func(w http.ResponseWriter, _ *http.Request) bool { return true }, "the watch was interrupted"},
		{func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }, "kubernetes edge/app:http: "},
	} {
		f.setFault(test.fault)
		f.CloseClientConnections()
		if got := r.awaitError(test.want); got.servers != nil {
			t.Errorf("%q: %v", test.want, got)
		}
		f.set("app-a", sliced(http80, fmt.Sprintf("10.0.1.%d", i)))
		f.setFault(nil)
		r.awaitStates(fmt.Sprintf("10.0.1.%d:80 up", i))
	}
}

// A version that is too old, as a status, as an event, and between two pages.
func TestKubernetesVersionExpires(t *testing.T) {
	f := newFakeAPI(t)
	f.page = 1
	f.set("app-a", sliced(http80, "10.0.0.1"))
	f.set("app-b", sliced(http80, "10.0.0.2"))
	f.set("app-c", sliced(http80, "10.0.0.3"))
	r := start(t, f.service(t))
	r.awaitStates("10.0.0.1:80 up", "10.0.0.2:80 up", "10.0.0.3:80 up")
	f.mu.Lock()
	delete(f.objects, "app-b") // no watch is told
	f.mu.Unlock()
	f.expire() // an event
	r.awaitStates("10.0.0.1:80 up", "10.0.0.3:80 up")

	f.mu.Lock()
	delete(f.objects, "app-c")
	f.version += 10
	f.oldest, f.history = f.version, nil
	f.mu.Unlock()
	f.CloseClientConnections() // a status
	r.awaitStates("10.0.0.1:80 up")

	pages := 0
	f.setFault(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("continue") != "" {
			pages++
			f.expire()
		}
		return false
	})
	f.set("app-d", sliced(http80, "10.0.0.4"))
	r.awaitStates("10.0.0.1:80 up", "10.0.0.4:80 up")
	f.mu.Lock()
	f.objects["app-e"] = object{"metadata": object{"name": "app-e", "resourceVersion": "1"}, "addressType": "IPv4",
		"endpoints": []object{{"addresses": []string{"10.0.0.5"}}}, "ports": []object{{"name": "http", "port": 80}}}
	f.mu.Unlock()
	f.expire()
	r.awaitStates("10.0.0.1:80 up", "10.0.0.4:80 up", "10.0.0.5:80 up")
	f.setFault(nil)
	if pages == 0 {
		t.Error("no list was in pages")
	}
	for len(r.reports) > 0 {
		if got := <-r.reports; got.err != nil {
			t.Errorf("an expired version is an error for people: %v", got.err)
		}
	}
}

// A token and an authority that change. The process is in a pod.
func TestKubernetesInPod(t *testing.T) {
	f := newFakeAPI(t)
	f.set("app-a", sliced(http80, "10.0.0.1"))
	f.token = "one"
	dir := t.TempDir()
	write(t, filepath.Join(dir, "token"), "one\n")
	write(t, filepath.Join(dir, "namespace"), "edge")
	write(t, filepath.Join(dir, "ca.crt"), string(f.authority()))
	host, port, _ := strings.Cut(strings.TrimPrefix(f.URL, "https://"), ":")
	t.Setenv("KUBERNETES_SERVICE_HOST", host)
	t.Setenv("KUBERNETES_SERVICE_PORT", port)
	c := NewCluster(config.New().Kubernetes)
	c.dir = dir
	r := start(t, serviceOf(c, func(k *config.KubernetesDiscovery) { k.Namespace = "" }))
	if got := r.awaitStates("10.0.0.1:80 up"); got[0].Origin != "kubernetes app:http, pod app-10.0.0.1" {
		t.Error(got[0].Origin)
	}
	f.mu.Lock()
	f.token = "two"
	f.mu.Unlock()
	f.CloseClientConnections()
	r.awaitError("status 401 Unauthorized")
	write(t, filepath.Join(dir, "token"), "two")
	f.set("app-a", sliced(http80, "10.0.0.2"))
	r.awaitStates("10.0.0.2:80 up")

	write(t, filepath.Join(dir, "ca.crt"), "nothing")
	f.CloseClientConnections()
	r.awaitError("no certificate in PEM form")
	write(t, filepath.Join(dir, "ca.crt"), string(f.authority()))
	f.set("app-a", sliced(http80, "10.0.0.3"))
	r.awaitStates("10.0.0.3:80 up")
	if lists, _ := f.counts(); lists != 1 {
		t.Errorf("%d lists, want 1: the watch continues from its version", lists)
	}
	for _, gone := range []string{"token", "ca.crt", "namespace"} {
		was, _ := os.ReadFile(filepath.Join(dir, gone))
		_ = os.Remove(filepath.Join(dir, gone))
		f.CloseClientConnections()
		r.awaitError(gone + ": no such file")
		write(t, filepath.Join(dir, gone), string(was))
		r.awaitStates("10.0.0.3:80 up")
	}
}

func TestKubernetesOutsideOfPod(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	start(t, serviceOf(NewCluster(config.New().Kubernetes))).awaitError("as they are in a pod: write kubernetes.address")
}

// An authority that the server's certificate is not from.
func TestKubernetesWrongAuthority(t *testing.T) {
	f := newFakeAPI(t)
	f.set("app-a", sliced(http80, "10.0.0.1"))
	settings := f.settings(t)
	write(t, settings.CAFile, string(otherAuthority(t)))
	start(t, serviceOf(NewCluster(settings))).awaitError("certificate")
}

// The sources of a cluster share a connection.
func TestKubernetesSharesConnection(t *testing.T) {
	f := newFakeAPI(t)
	f.set("app-a", sliced(http80, "10.0.0.1"))
	c := NewCluster(f.settings(t))
	for range 5 {
		start(t, serviceOf(c)).awaitStates("10.0.0.1:80 up")
	}
	from := map[string]bool{}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.watches {
		from[r.RemoteAddr] = true
	}
	if len(from) != 1 {
		t.Errorf("%d connections for 5 watches", len(from))
	}
}

// Whatever becomes of the events of a watch, the source ends with what the API has.
func TestKubernetesMangledEvents(t *testing.T) {
	f := newFakeAPI(t)
	f.set("app-a", sliced(http80, "10.0.0.1"))
	r := start(t, f.service(t))
	r.awaitStates("10.0.0.1:80 up")
	text := func(s string) func(http.ResponseWriter, []byte) error {
		return func(w http.ResponseWriter, _ []byte) error {
			_, err := io.WriteString(w, s)
			w.(http.Flusher).Flush()
			return err
		}
	}
	for i, test := range []struct {
		name   string
		mangle func(http.ResponseWriter, []byte) error
		want   string // the error, or ""
	}{
		{"cut", func(w http.ResponseWriter, line []byte) error { _, _ = w.Write(line[:len(line)/2]); return io.EOF }, ""},
		{"reset", func(w http.ResponseWriter, line []byte) error {
			_, _ = w.Write(line[:len(line)/2])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, ""},
		{"slow", func(w http.ResponseWriter, line []byte) error {
			for i := range line {
				_, _ = w.Write(line[i : i+1])
				w.(http.Flusher).Flush()
			}
			return nil
		}, ""},
		{"no newlines", func(w http.ResponseWriter, line []byte) error {
			_, err := w.Write(bytes.TrimSpace(line))
			w.(http.Flusher).Flush()
			return err
		}, ""},
		{"garbage", text("garbage\n"), "not an event: invalid character"},
		{"another kind", text("[]\n"), "not an event: json: cannot unmarshal array"},
		{"another type", text(`{"type":"RENAMED","object":{"metadata":{"name":"a","resourceVersion":"1"}}}`),
			`an event of unknown type "RENAMED"`},
		{"no version", text(`{"type":"BOOKMARK","object":{"metadata":{}}}`), "an event without a resourceVersion"},
		{"no name", text(`{"type":"ADDED","object":{"addressType":"IPv4","metadata":{"resourceVersion":"1"}}}`),
			"an EndpointSlice without a name"},
		{"an error", text(`{"type":"ERROR","object":{"kind":"Status","code":500,"message":"out of\u001b"}}`),
			"status 500 Internal Server Error: out of "},
		{"too large", text(`{"type":"` + strings.Repeat("A", maxEvent+1<<20)), "more than 8MiB in one piece"},
	} {
		lists, _ := f.counts()
		f.setMangle(test.mangle)
		f.set("app-a", sliced(http80, fmt.Sprintf("10.0.1.%d", i)))
		if test.want != "" {
			r.awaitError(test.want)
		}
		if test.name != "slow" && test.name != "no newlines" {
			f.setMangle(nil)
		}
		r.awaitStates(fmt.Sprintf("10.0.1.%d:80 up", i))
		if now, _ := f.counts(); (now > lists) != (test.want != "") {
			t.Errorf("%s: %d lists: what is wrong is listed anew, and what was interrupted is not", test.name, now-lists)
		}
	}
}

// corrupt sends the start of an event, and then bytes that make it invalid wherever it was cut. Without the NUL, a cut
// in a string would leave the event incomplete, and the source would wait for the rest.
func corrupt(w http.ResponseWriter, start []byte) error {
	_, err := fmt.Fprintf(w, "%s}}]\x00", start)
	w.(http.Flusher).Flush()
	return err
}

// An event that is corrupt from any point on is reported, and the slices are listed again, without a further event.
func TestKubernetesCorruptEvents(t *testing.T) {
	f := newFakeAPI(t)
	f.set("app-a", sliced(http80, "10.0.0.1"))
	source := f.service(t)
	source.most = time.Millisecond
	r := start(t, source)
	r.awaitStates("10.0.0.1:80 up")
	for percent := range 100 {
		f.setMangle(func(w http.ResponseWriter, line []byte) error { return corrupt(w, line[:len(line)*percent/100]) })
		f.set("app-a", sliced(http80, fmt.Sprintf("10.0.1.%d", percent)))
		r.awaitError("not an event")
		r.awaitStates(fmt.Sprintf("10.0.1.%d:80 up", percent))
	}
}

// The bound is that of an event, and not of a watch.
func TestKubernetesLargeEvents(t *testing.T) {
	f := newFakeAPI(t)
	f.set("app-a", sliced(http80, "10.0.0.1"))
	r := start(t, f.service(t))
	r.awaitStates("10.0.0.1:80 up")
	space := bytes.Repeat([]byte(" "), maxEvent/2)
	f.setMangle(func(w http.ResponseWriter, line []byte) error {
		_, _ = w.Write(space)
		_, err := w.Write(line)
		w.(http.Flusher).Flush()
		return err
	})
	for i := range 4 {
		f.set("app-a", sliced(http80, fmt.Sprintf("10.0.1.%d", i)))
		r.awaitStates(fmt.Sprintf("10.0.1.%d:80 up", i))
	}
	if lists, watches := f.counts(); lists != 1 || watches != 1 {
		t.Errorf("%d lists, %d watches, want 1 of each", lists, watches)
	}
}

// 500 sources lose their API server in the same moment, in virtual time: they do not come back together.
func TestKubernetesHerd(t *testing.T) {
	const herd, down = 500, 3 * time.Minute
	settings := config.New().Kubernetes
	settings.Address = "http://127.0.0.1:0" // connecting fails without a server
	var back []time.Duration
	for range herd {
		k := NewKubernetes(config.KubernetesDiscovery{Service: "app", Namespace: "edge"}, NewCluster(settings))
		k.reporter.report, k.version = func([]plan.Server, error) {}, "1"
		now := time.Duration(0)
		for now < down {
			now += k.attempt(t.Context())
		}
		back = append(back, now-down)
	}
	tenths := make([]int, 10)
	for _, at := range back {
		if at > maxBackOff {
			t.Fatalf("a source is back after %v", at)
		}
		tenths[min(at*10/maxBackOff, 9)]++
	}
	if slices.Max(tenths) > herd/3 || tenths[3] < herd/25 { // 19 % and 13 % are expected
		t.Errorf("the tenths of %v have %v sources", maxBackOff, tenths)
	}
}

// model is slices that change at random, and what the source has to make of them.
type model struct {
	*rand.Rand
	api   *fakeAPI
	slice map[string][]string
}

func (m *model) change() {
	name := fmt.Sprint("app-", m.IntN(5))
	if m.IntN(6) == 0 {
		delete(m.slice, name)
		m.api.set(name, nil)
		return
	}
	var endpoints []string
	for range m.IntN(5) {
		state := []string{"", "", "", "not", "ending", "ended", "unknown", "null"}[m.IntN(8)]
		endpoints = append(endpoints, strings.TrimSpace(fmt.Sprintf("10.0.0.%d %s", m.IntN(12), state)))
	}
	m.slice[name] = endpoints
	m.api.set(name, sliced(http80, endpoints...))
}

// want is the servers of the model, "ADDRESS STATE" in order.
func (m *model) want() []string {
	rank := map[string]int{} // 2: ready, 1: ending
	ready := false
	for _, all := range m.slice {
		for _, text := range all {
			address, state, _ := strings.Cut(text, " ")
			switch state {
			case "", "unknown", "null":
				rank[address], ready = 2, true
			case "ending":
				rank[address] = max(rank[address], 1)
			}
		}
	}
	out := []string{}
	for i := range 12 {
		switch address := fmt.Sprint("10.0.0.", i); {
		case rank[address] == 2, rank[address] == 1 && !ready:
			out = append(out, address+":80 up")
		case rank[address] == 1:
			out = append(out, address+":80 drain")
		}
	}
	return out
}

// fail makes the API fail now and then.
func (m *model) fail() {
	f := m.api
	switch m.IntN(8) {
	case 0:
		f.CloseClientConnections()
	case 1:
		f.expire()
	case 2:
		f.bookmark()
	case 3:
		percent, way := m.IntN(100), m.IntN(3)
		f.setMangle(func(w http.ResponseWriter, line []byte) error {
			start := line[:len(line)*percent/100]
			if way == 2 {
				return corrupt(w, start)
			}
			_, _ = w.Write(start)
			w.(http.Flusher).Flush()
			if way == 0 {
				panic(http.ErrAbortHandler)
			}
			return errors.New("the end")
		})
	case 4:
		code := []int{410, 500, 401, 429, 200}[m.IntN(5)]
		f.setFault(func(w http.ResponseWriter, _ *http.Request) bool { status4(w, code, "a fault"); return true })
	case 5:
		f.setFault(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Query().Get("continue") != "" {
				f.expire()
			}
			return false
		})
	default:
		f.setFault(nil)
		f.setMangle(nil)
	}
}

func TestKubernetesModel(t *testing.T) {
	for range 4 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := newFakeAPI(t)
			f.page = 2
			m := &model{Rand: rand.New(rand.NewPCG(seed, 0)), api: f, slice: map[string][]string{}}
			source := f.service(t)
			source.most = 20 * time.Millisecond
			r := start(t, source)
			for range 10 {
				for range 20 {
					if m.change(); m.IntN(4) == 0 {
						m.fail()
					}
					if m.IntN(4) == 0 {
						time.Sleep(time.Duration(m.IntN(3)) * time.Millisecond) // so that some of it is seen
					}
				}
				f.setFault(nil)
				f.setMangle(nil)
				if len(m.slice) == 0 {
					r.awaitError("no EndpointSlice")
					continue
				}
				m.settle(r)
			}
		})
	}
}

// settle waits until the last report is what the model has.
func (m *model) settle(r *runner) {
	r.t.Helper()
	want, deadline := m.want(), time.After(patience)
	for !slices.Equal(states(r.last.servers), want) || r.last.err != nil {
		select {
		case got := <-r.reports:
			if got.servers == nil {
				got.servers = r.last.servers
			}
			r.last = got
		case <-deadline:
			r.t.Fatalf("the source has %v, error %v\nwant %v", states(r.last.servers), r.last.err, want)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"},"addressType":"IPv4",` +
		`"endpoints":[{"addresses":["10.0.0.1"],"conditions":{"ready":true},"zone":"z"}],` +
		`"ports":[{"name":"http","port":80}]}}` +
		"\n" + `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"2"}}}`))
	f.Add([]byte(`{"type":"ERROR","object":{"kind":"Status","code":410}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		k := serviceOf(NewCluster(config.Kubernetes{}))
		k.parts, k.reporter.report = map[string]part{}, func(servers []plan.Server, err error) {
			for i, s := range servers {
				if !s.Address.IsValid() || s.Address.Port() == 0 || s.Weight != 1 || s.Name != s.Address.String() ||
					i > 0 && servers[i-1].Address.Compare(s.Address) >= 0 {
					t.Errorf("%+v", servers)
				}
			}
			if servers == nil && err == nil {
				t.Error("neither servers nor an error")
			}
		}
		all := newEvents(bytes.NewReader(data))
		for range len(data) + 1 {
			e, err := all.next()
			if err != nil {
				return
			}
			if k.apply(e) != nil {
				return
			}
		}
		t.Error("more events than bytes")
	})
}

// An API server that is silent without closing its connection is noticed by a PING, and asked over another connection.
func TestKubernetesSilence(t *testing.T) {
	f := newFakeAPI(t)
	f.set("app-a", sliced(http80, "10.0.0.1"))
	relay := newRelay(t, f.Listener.Addr().String())
	settings := f.settings(t)
	settings.Address = "https://" + relay.Addr().String()
	c := NewCluster(settings)
	c.quiet, c.unanswered = 50*time.Millisecond, 200*time.Millisecond
	r := start(t, serviceOf(c))
	r.awaitStates("10.0.0.1:80 up")
	relay.freeze()
	f.set("app-a", sliced(http80, "10.0.0.2"))
	r.awaitStates("10.0.0.2:80 up")
	for len(r.reports) > 0 {
		if got := <-r.reports; got.err != nil {
			t.Error(got.err)
		}
	}
}

// relay passes on connections.
type relay struct {
	net.Listener
	mu     sync.Mutex
	frozen chan struct{} // of the connections that are open now: closed when nothing passes any more
	open   []net.Conn
	all    sync.WaitGroup
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: l, frozen: make(chan struct{})}
	r.all.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			other, err := net.Dial("tcp", to)
			if err != nil {
				from.Close()
				continue
			}
			r.mu.Lock()
			r.open = append(r.open, from, other)
			frozen := r.frozen
			r.mu.Unlock()
			r.all.Go(func() { pass(from, other, frozen) })
			r.all.Go(func() { pass(other, from, frozen) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		r.mu.Lock()
		for _, c := range r.open {
			c.Close()
		}
		r.mu.Unlock()
		r.all.Wait()
	})
	return r
}

// pass passes bytes on until a connection ends or is frozen. It closes neither.
func pass(from, to net.Conn, frozen <-chan struct{}) {
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		select {
		case <-frozen:
			return
		default:
		}
		if err == nil {
			_, err = to.Write(piece[:n])
		}
		if err != nil {
			from.Close()
			to.Close()
			return
		}
	}
}

// freeze has nothing pass any more on the connections that are open.
func (r *relay) freeze() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.frozen)
	r.frozen = make(chan struct{})
}

// What an API server that is busy asks for is done.
func TestKubernetesBusy(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": 0, "2": 2 * time.Second, "-1": 0, "x": 0, "99999999": maxBackOff,
	} {
		r := &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {header}}, Body: http.NoBody}
		if got := readStatus(r); got.after != want {
			t.Errorf("%q: %v", header, got.after)
		}
	}
	f := newFakeAPI(t)
	f.setFault(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", "7")
		status4(w, 429, "too many requests")
		return true
	})
	k := f.service(t)
	k.reporter.report = func([]plan.Server, error) {}
	defer k.cluster.idle()
	if wait := k.attempt(t.Context()); wait != 7*time.Second {
		t.Errorf("it waits %v", wait)
	}
}

// A watch begins at the version of the last event, also if that was a bookmark.
func TestKubernetesContinues(t *testing.T) {
	f := newFakeAPI(t)
	f.set("app-a", sliced(http80, "10.0.0.1"))
	source := f.service(t)
	r := start(t, source)
	r.awaitStates("10.0.0.1:80 up")
	for i, happens := range []func(){func() { f.set("app-a", sliced(http80, "10.0.0.2")) }, f.bookmark} {
		eventually(t, "it watches", func() bool { return source.Stats().Lookups[ResultOK] == uint64(i+2) }) // and has listed
		before := source.Stats().LastSuccess
		happens()
		eventually(t, "the event is heard", func() bool { return source.Stats().LastSuccess.After(before) })
		f.CloseClientConnections()
		eventually(t, "it watches again", func() bool { _, n := f.counts(); return n == i+2 })
		f.mu.Lock()
		if got := f.watches[i+1].URL.Query().Get("resourceVersion"); got != strconv.Itoa(f.version) {
			t.Errorf("it watches from %s on, want %d", got, f.version)
		}
		f.mu.Unlock()
	}
}
