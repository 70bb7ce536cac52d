package main

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/clusterpb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/discoverypb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/listenerpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// The types of resources.
const (
	typeListener  = "type.googleapis.com/envoy.config.listener.v3.Listener"
	typeCluster   = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	typeEndpoints = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
)

// fakeControlPlane is a server of delta ADS that sends what is asked for, once.
type fakeControlPlane struct {
	resources map[string]map[string]proto.Message // by type and name
	address   string

	mu    sync.Mutex
	node  *corepb.Node
	acks  int
	nacks []string
}

// startControlPlane serves until the test ends.
func startControlPlane(
	t *testing.T, settings *tls.Config, resources map[string]map[string]proto.Message,
) *fakeControlPlane {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &fakeControlPlane{resources: resources, address: l.Addr().String()}
	s := &http.Server{Handler: p, TLSConfig: settings, Protocols: &http.Protocols{}}
	s.Protocols.SetHTTP2(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.ServeTLS(l, "", "")
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return p
}

// ServeHTTP serves a stream.
func (p *fakeControlPlane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/grpc")
	w.WriteHeader(http.StatusOK)
	for nonce := 1; ; nonce++ {
		var head [5]byte
		if _, err := io.ReadFull(r.Body, head[:]); err != nil {
			return
		}
		data := make([]byte, binary.BigEndian.Uint32(head[1:]))
		request := &discoverypb.DeltaDiscoveryRequest{}
		if _, err := io.ReadFull(r.Body, data); err != nil || proto.Unmarshal(data, request) != nil {
			return
		}
		if answer := p.answer(request); answer != nil {
			answer.Nonce = fmt.Sprint(nonce)
			body, _ := proto.Marshal(answer)
			_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...))
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// answer is what a request is answered with; nil: nothing.
func (p *fakeControlPlane) answer(r *discoverypb.DeltaDiscoveryRequest) *discoverypb.DeltaDiscoveryResponse {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Node != nil {
		p.node = r.Node
	}
	if r.ErrorDetail != nil {
		p.nacks = append(p.nacks, r.ErrorDetail.Message)
	} else if r.ResponseNonce != "" {
		p.acks++
	}
	names := r.ResourceNamesSubscribe
	if r.ResponseNonce == "" && len(names) == 0 && len(r.ResourceNamesUnsubscribe) == 0 || slices.Contains(names, "*") {
		names = nil
		for name := range p.resources[r.TypeUrl] {
			names = append(names, name)
		}
	}
	out := &discoverypb.DeltaDiscoveryResponse{TypeUrl: r.TypeUrl}
	for _, name := range names {
		if m := p.resources[r.TypeUrl][name]; m != nil {
			body, _ := proto.Marshal(m)
			out.Resources = append(out.Resources, &discoverypb.Resource{
				Name: name, Version: "1", Resource: &anypb.Any{TypeUrl: r.TypeUrl, Value: body},
			})
		}
	}
	if len(out.Resources) == 0 {
		return nil
	}
	return out
}

// recordedListener is the listener for readiness that Envoy Gateway was recorded to send, at another port.
func recordedListener(t *testing.T, name string, port uint32) *listenerpb.Listener {
	t.Helper()
	text, err := os.ReadFile("internal/source/xds/translate/testdata/resources.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name string
		Body []byte
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Name == name {
			l := &listenerpb.Listener{}
			if err := proto.Unmarshal(r.Body, l); err != nil {
				t.Fatal(err)
			}
			l.Address = socketAddress("127.0.0.1", port)
			return l
		}
	}
	t.Fatalf("there is no recorded listener %s", name)
	return nil
}

func socketAddress(host string, port uint32) *corepb.Address {
	return &corepb.Address{Address: &corepb.Address_SocketAddress{SocketAddress: &corepb.SocketAddress{
		Address: host, PortSpecifier: &corepb.SocketAddress_PortValue{PortValue: port},
	}}}
}

// servedResources are a listener at a port, with a cluster that has an endpoint, and a listener for readiness.
func servedResources(t *testing.T, port, ready, server uint32) map[string]map[string]proto.Message {
	t.Helper()
	filter, err := anypb.New(&listenerpb.TcpProxy{
		ClusterSpecifier: &listenerpb.TcpProxy_Cluster{Cluster: "echo"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const readiness = "envoy-gateway-proxy-ready-0.0.0.0-19003"
	return map[string]map[string]proto.Message{
		typeListener: {
			"tcp": &listenerpb.Listener{
				Name: "tcp", Address: socketAddress("127.0.0.1", port),
				FilterChains: []*listenerpb.FilterChain{{Filters: []*listenerpb.Filter{{
					Name: "tcp", ConfigType: &listenerpb.Filter_TypedConfig{TypedConfig: filter},
				}}}},
			},
			readiness: recordedListener(t, readiness, ready),
		},
		typeCluster: {"echo": &clusterpb.Cluster{
			Name: "echo", ClusterDiscoveryType: &clusterpb.Cluster_Type{Type: clusterpb.Cluster_EDS},
			EdsClusterConfig: &clusterpb.Cluster_EdsClusterConfig{EdsConfig: &corepb.ConfigSource{
				ConfigSourceSpecifier: &corepb.ConfigSource_Ads{Ads: &corepb.AggregatedConfigSource{}},
			}},
		}},
		typeEndpoints: {"echo": &clusterpb.ClusterLoadAssignment{
			ClusterName: "echo",
			Endpoints: []*clusterpb.LocalityLbEndpoints{{LbEndpoints: []*clusterpb.LbEndpoint{{
				HostIdentifier: &clusterpb.LbEndpoint_Endpoint{
					Endpoint: &clusterpb.Endpoint{Address: socketAddress("127.0.0.1", server)},
				},
			}}}},
		}},
	}
}

// freePort is a port that is free.
func freePort(t *testing.T) uint32 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return uint32(l.Addr().(*net.TCPAddr).Port)
}

// envoyBootstrap is the recorded bootstrap of Envoy Gateway, with another server and other files.
func envoyBootstrap(t *testing.T, ca, client *certstest.Authority, server string) string {
	t.Helper()
	dir := t.TempDir()
	secret := func(file, text string, args ...any) string {
		path := filepath.Join(dir, file)
		text = `{"resources":[{"@type":"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",` + text + `}]}`
		if err := os.WriteFile(path, fmt.Appendf(nil, text, args...), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own := client.Issue("envoy", certstest.Key(t), time.Hour, "envoy")
	text, err := os.ReadFile("internal/envoy/bootstrap/testdata/envoy-gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(server)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(
		"port_value: 18000", "port_value: "+port,
		"/fleet/eg/home/certs/envoy/xds-certificate.json", secret("certificate.json",
			`"name":"xds_certificate","tls_certificate":{"certificate_chain":{"filename":%q},"private_key":{"filename":%q}}`,
			own, own),
		"/fleet/eg/home/certs/envoy/xds-trusted-ca.json", secret("trusted.json",
			`"name":"xds_trusted_ca","validation_context":{"trusted_ca":{"filename":%q},`+
				`"match_typed_subject_alt_names":[{"san_type":"DNS","matcher":{"exact":"envoy-gateway"}}]}`, ca.File),
	).Replace(string(text))
}

// startEnvoy starts this program in the place of an Envoy. What it logs is in the buffer once it has ended.
func startEnvoy(t *testing.T, log *bytes.Buffer, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Args[0] = "/usr/local/bin/envoy"
	c.Env = append(os.Environ(), asReactord+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
		if t.Failed() {
			t.Logf("it said:\n%s", log)
		}
	})
	return c
}

// soon waits until something is so.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not in time", what)
		}
	}
}

// httpAnswer is the status and the text of an answer; "": there is none.
func httpAnswer(method, url string) string {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	r, err := http.NewRequest(method, url, http.NoBody)
	if err != nil {
		return err.Error()
	}
	answer, err := client.Do(r)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return fmt.Sprint(answer.StatusCode, " ", strings.TrimSpace(string(text)))
}

// echoed reports whether what is sent over a connection comes back.
func echoed(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	got := make([]byte, 5)
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
		t.Fatalf("got %q, %v", got, err)
	}
}

// The command line that Envoy Gateway was recorded to give its Envoy runs this program, with mTLS and secrets in files.
func TestEnvoyGatewayRunsReactord(t *testing.T) {
	ca, client := certstest.New(t), certstest.New(t)
	echo := listenEchoes(t)
	port, ready := freePort(t), freePort(t)
	control := startControlPlane(t, &tls.Config{
		Certificates: []tls.Certificate{ca.Pair(ca.Issue("server", certstest.Key(t), time.Hour, "envoy-gateway"))},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: client.Pool,
	}, servedResources(t, port, ready, echo))
	file := filepath.Join(t.TempDir(), "admin-address.txt")
	var log bytes.Buffer
	c := startEnvoy(t, &log, "--service-cluster", "default/l4", "--service-node", "default-l4-9c662b7b",
		"--config-yaml", envoyBootstrap(t, ca, client, control.address), "--log-level", "warn", "--cpuset-threads",
		"--drain-strategy", "immediate", "--component-log-level", "misc:error", "--drain-time-s", "60",
		"--admin-address-path", file, "--", "--run-id", "20261122_070238_002")

	var admin string
	soon(t, "the file with the admin's address", func() bool {
		text, _ := os.ReadFile(file)
		admin = "http://" + string(text)
		return len(text) > 0
	})
	asked := fmt.Sprintf("http://127.0.0.1:%d/ready", ready)
	soon(t, "ready", func() bool { return httpAnswer("GET", admin+"/ready") == "200 LIVE" })
	soon(t, "the listener for readiness", func() bool { return httpAnswer("GET", asked) == "200 LIVE" })
	var open net.Conn
	soon(t, "the listener", func() (up bool) {
		var err error
		open, err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		return err == nil
	})
	defer open.Close()
	echoed(t, open)

	stats := `//stats?filter=^listener%5C..*%5C.downstream_cx_active$&format=json`
	want := fmt.Sprintf(`{"name":"listener.127.0.0.1_%d.downstream_cx_active","value":1}`, port)
	if got := httpAnswer("GET", admin+stats); !strings.Contains(got, want) {
		t.Errorf("Envoy Gateway's shutdown manager sees %s, want %s", got, want)
	}
	if got := httpAnswer("GET", admin+"/stats/prometheus"); !strings.Contains(got, "reactord_build_info") {
		t.Errorf("metrics: %.200s", got)
	}
	if got := httpAnswer("GET", admin+"/server_info"); !strings.Contains(got, `"id":"default-l4-9c662b7b"`) {
		t.Errorf("server_info: %s", got)
	}
	for _, change := range []struct{ post, ready string }{
		{"/healthcheck/fail", "503 DRAINING"}, {"/healthcheck/ok", "200 LIVE"},
		{"/drain_listeners?graceful&skip_exit", "503 DRAINING"},
	} {
		if got := httpAnswer("POST", admin+change.post); got != "200 OK" {
			t.Errorf("%s: %s", change.post, got)
		}
		for _, url := range []string{admin + "/ready", asked} {
			if got := httpAnswer("GET", url); got != change.ready {
				t.Errorf("after %s %s: %s", change.post, url, got)
			}
		}
		next, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)) // it still accepts
		if err != nil {
			t.Fatal(err)
		}
		echoed(t, next)
		next.Close()
	}
	control.mu.Lock()
	if n := control.node; n.GetId() != "default-l4-9c662b7b" || n.GetCluster() != "default/l4" || n.GetLocality() != nil {
		t.Errorf("node %v", n)
	}
	if control.acks == 0 || len(control.nacks) > 0 {
		t.Errorf("%d ACKs, NACKs %q", control.acks, control.nacks)
	}
	control.mu.Unlock()

	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	soon(t, "no more connections", func() bool {
		next, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			next.Close()
		}
		return err != nil
	})
	echoed(t, open) // what is open is drained
	if got := httpAnswer("GET", admin+"/ready"); got != "503 DRAINING" {
		t.Errorf("while it drains: %s", got)
	}
	open.Close()
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// listenEchoes is the port of a server that echoes, until the test ends.
func listenEchoes(t *testing.T) uint32 {
	t.Helper()
	return uint32(netip.MustParseAddrPort(echo(t)).Port())
}

// A control plane whose certificate is for another name is not followed: the process is alive, and not ready.
func TestEnvoyIsNotReadyWithoutControlPlane(t *testing.T) {
	ca, client := certstest.New(t), certstest.New(t)
	control := startControlPlane(t, &tls.Config{
		Certificates: []tls.Certificate{ca.Pair(ca.Issue("server", certstest.Key(t), time.Hour, "other"))},
	}, nil)
	file := filepath.Join(t.TempDir(), "admin-address.txt")
	var log bytes.Buffer
	c := startEnvoy(t, &log, "--config-yaml", envoyBootstrap(t, ca, client, control.address), "--admin-address-path", file)
	soon(t, "the admin server", func() bool {
		text, _ := os.ReadFile(file)
		return len(text) > 0 && httpAnswer("GET", "http://"+string(text)+"/ready") == "503 PRE_INITIALIZING"
	})
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}
