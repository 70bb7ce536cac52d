package discovery

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// TestRealAPIServer runs against a kube-apiserver with etcd, of a directory that has both:
//
//	REACTORD_KUBE=/tmp/lab/bin go test -run RealAPIServer ./cmd/reactord/internal/source/discovery
//
// It takes about half a minute. The two are built from their Go modules; see e2e/fleet.
func TestRealAPIServer(t *testing.T) {
	bin := os.Getenv("REACTORD_KUBE")
	if bin == "" {
		t.Skip("REACTORD_KUBE is not set")
	}
	k := newRealAPI(t, bin)
	k.start()
	k.post("/api/v1/namespaces", object{"metadata": object{"name": "edge"}})
	settings := config.New().Kubernetes
	settings.Address, settings.CAFile = k.url, filepath.Join(k.dir, "apiserver.crt")
	settings.TokenFile = filepath.Join(k.dir, "token")
	write(t, settings.TokenFile, "the-wrong-token")
	source := serviceOf(NewCluster(settings))
	source.most = time.Second
	r := start(t, source)

	r.awaitError("status 401 Unauthorized")
	write(t, settings.TokenFile, "reactord-token\n")
	r.awaitError("is forbidden")
	const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/edge"
	k.post(rbac+"/roles", object{"metadata": object{"name": "reactord"},
		"rules": []object{{"apiGroups": []string{"discovery.k8s.io"}, "resources": []string{"endpointslices"},
			"verbs": []string{"list", "watch"}}}})
	k.post(rbac+"/rolebindings", object{"metadata": object{"name": "reactord"},
		"subjects": []object{{"kind": "ServiceAccount", "name": "reactord", "namespace": "edge"}},
		"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reactord"}})
	r.awaitError("no EndpointSlice")

	k.slice("app-a", http80, "10.0.0.1", "10.0.0.2 not", "10.0.0.3 ending")
	r.awaitStates("10.0.0.1:80 up", "10.0.0.3:80 drain")
	k.slice("app-b", []string{"http:81"}, "10.0.0.1")
	r.awaitStates("10.0.0.1:80 up", "10.0.0.1:81 up", "10.0.0.3:80 drain")
	k.slice("app-a", http80, "10.0.0.1 ending")
	r.awaitStates("10.0.0.1:80 drain", "10.0.0.1:81 up")
	k.call(http.MethodDelete, slicesOf+"/app-b", nil)
	r.awaitStates("10.0.0.1:80 up")

	// The API server dies, and comes back with a cache that does not reach back to the version of the watch.
	k.stop()
	r.awaitError("connect: connection refused")
	k.start()
	k.slice("app-a", http80, "10.0.0.4")
	r.awaitStates("10.0.0.4:80 up")

	// Several pages, as they come: 120 slices.
	var want []string
	for i := range 120 {
		k.slice(fmt.Sprintf("app-%03d", i), http80, fmt.Sprintf("10.1.0.%d", i))
		want = append(want, fmt.Sprintf("10.1.0.%d:80 up", i))
	}
	want = append([]string{"10.0.0.4:80 up"}, want...)
	r.awaitStates(want...)
	start(t, serviceOf(NewCluster(settings))).awaitStates(want...)
}

const slicesOf = "/apis/discovery.k8s.io/v1/namespaces/edge/endpointslices"

// realAPI is a kube-apiserver with its etcd.
type realAPI struct {
	t         *testing.T
	bin, dir  string
	etcd, url string
	client    *http.Client
	server    *exec.Cmd
}

func newRealAPI(t *testing.T, bin string) *realAPI {
	k := &realAPI{t: t, bin: bin, dir: t.TempDir()}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(k.dir, "sa.key"), string(pem.EncodeToMemory(
		&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})))
	write(t, filepath.Join(k.dir, "sa.pub"), string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})))
	write(t, filepath.Join(k.dir, "tokens.csv"), "admin-token,admin,1,system:masters\n"+
		"reactord-token,system:serviceaccount:edge:reactord,2,\"system:serviceaccounts,system:serviceaccounts:edge\"\n")
	k.etcd, k.url = "http://"+free(t), "https://"+free(t)
	peer := "http://" + free(t)
	k.run(filepath.Join(bin, "etcd"), "--name=e", "--data-dir="+filepath.Join(k.dir, "etcd"),
		"--listen-client-urls="+k.etcd, "--advertise-client-urls="+k.etcd, "--listen-peer-urls="+peer,
		"--initial-advertise-peer-urls="+peer, "--initial-cluster=e="+peer, "--unsafe-no-fsync", "--log-level=warn")
	k.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // of a throw-away server
	}}
	t.Cleanup(k.client.CloseIdleConnections)
	return k
}

// free is a free address.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// run starts a program, which ends with the test.
func (k *realAPI) run(path string, args ...string) *exec.Cmd {
	k.t.Helper()
	log, err := os.Create(filepath.Join(k.dir, filepath.Base(path)+".log"))
	if err != nil {
		k.t.Fatal(err)
	}
	defer log.Close()
	c := exec.CommandContext(context.Background(), path, args...)
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
		if text, err := os.ReadFile(log.Name()); err == nil && k.t.Failed() {
			k.t.Logf("the end of %s:\n%s", log.Name(), text[max(0, len(text)-4000):])
		}
	})
	return c
}

// start starts the API server, and waits until it is ready.
func (k *realAPI) start() {
	k.t.Helper()
	k.server = k.run(filepath.Join(k.bin, "kube-apiserver"), "--etcd-servers="+k.etcd, "--cert-dir="+k.dir,
		"--service-account-key-file="+filepath.Join(k.dir, "sa.pub"),
		"--service-account-signing-key-file="+filepath.Join(k.dir, "sa.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--token-auth-file="+filepath.Join(k.dir, "tokens.csv"),
		"--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.96.0.0/16",
		"--bind-address=127.0.0.1", "--secure-port="+k.url[strings.LastIndex(k.url, ":")+1:],
		"--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none")
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		status, said := k.ask(http.MethodGet, "/readyz", nil)
		if status == 200 {
			return
		}
		if time.Since(began) > 2*time.Minute {
			k.t.Fatalf("the API server is not ready: %d %s", status, said)
		}
	}
}

// stop kills the API server.
func (k *realAPI) stop() {
	_ = k.server.Process.Kill()
	_ = k.server.Wait()
}

func (k *realAPI) ask(method, path string, body []byte) (status int, said string) {
	r, err := http.NewRequest(method, k.url+path, bytes.NewReader(body)) //nolint:noctx // of a test
	if err != nil {
		k.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer admin-token")
	r.Header.Set("Content-Type", "application/json")
	answer, err := k.client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

func (k *realAPI) call(method, path string, o object) {
	k.t.Helper()
	body, err := json.Marshal(o)
	if err != nil {
		k.t.Fatal(err)
	}
	if status, said := k.ask(method, path, body); status >= 300 {
		k.t.Fatalf("%s %s: %d %s", method, path, status, said)
	}
}

func (k *realAPI) post(path string, o object) {
	k.t.Helper()
	k.call(http.MethodPost, path, o)
}

// slice makes or replaces a slice of the Service app.
func (k *realAPI) slice(name string, ports []string, endpoints ...string) {
	k.t.Helper()
	o := sliced(ports, endpoints...)
	o["apiVersion"] = "discovery.k8s.io/v1"
	o["metadata"] = object{"name": name, "labels": object{"kubernetes.io/service-name": "app"}}
	if status, _ := k.ask(http.MethodGet, slicesOf+"/"+name, nil); status == 404 {
		k.post(slicesOf, o)
		return
	}
	k.call(http.MethodPut, slicesOf+"/"+name, o)
}
