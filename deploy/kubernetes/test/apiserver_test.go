package kubernetes

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/resource"
)

// TestAPIServer applies everything to a real kube-apiserver, with strict field validation, in namespaces of its own. It
// needs one to which it may do anything:
//
//	APISERVER=https://127.0.0.1:6443 TOKEN=… go test -run APIServer .
func TestAPIServer(t *testing.T) {
	url := os.Getenv("APISERVER")
	if url == "" {
		t.Skip("APISERVER is not set")
	}
	s := &apiServer{t, url, os.Getenv("TOKEN"), http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // of a throw-away server
	}}}
	defer s.client.CloseIdleConnections()
	all := combined(t, []string{"../components/podmonitor", "../components/networkpolicy", "../components/io-uring",
		"../components/endpointslices"})
	for _, k := range []struct{ dir, level string }{
		{"base", "restricted"}, {"overlays/io-uring", "restricted"}, {"overlays/podmonitor", "restricted"},
		{"overlays/endpointslices", "restricted"},
		{all, "restricted"}, {"overlays/daemonset", "privileged"},
	} {
		t.Run(filepath.Base(k.dir), func(t *testing.T) {
			s := *s
			s.t = t
			namespace := "reactord-" + filepath.Base(k.dir)
			s.apply("/api/v1/namespaces/"+namespace, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":
				{"name":%q,"labels":{"pod-security.kubernetes.io/enforce":%[2]q,"pod-security.kubernetes.io/warn":%[2]q}}}`,
				namespace, k.level))
			for _, r := range resources(t, k.dir) {
				text, err := r.AsYAML()
				if err != nil {
					t.Fatal(err)
				}
				s.apply(path(namespace, r), text)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		s := *s
		s.t = t
		status, said := s.patch("/api/v1/namespaces/default/configmaps/wrong",
			[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"wrong"},"dat":{}}`))
		if status < 400 || !strings.Contains(said, ".dat") {
			t.Errorf("an unknown field: %d %s", status, said)
		}
	})
}

type apiServer struct {
	t          *testing.T
	url, token string
	client     http.Client
}

// apply applies an object. A warning, as of a violation of the Pod Security Standards, fails the test.
func (s *apiServer) apply(path string, object []byte) {
	s.t.Helper()
	if status, said := s.patch(path, object); status >= 300 || said != "" {
		s.t.Errorf("%s: %d %s", path, status, said)
	} else {
		s.t.Logf("%s: %d", path, status)
	}
}

// patch returns the status, and what the server has against the object.
func (s *apiServer) patch(path string, object []byte) (status int, said string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPatch,
		s.url+path+"?fieldManager=reactord-test&force=true&fieldValidation=Strict", bytes.NewReader(object))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/apply-patch+yaml")
	request.Header.Set("Authorization", "Bearer "+s.token)
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	said = strings.Join(response.Header.Values("Warning"), "; ")
	if response.StatusCode >= 300 {
		said += string(text)
	}
	return response.StatusCode, said
}

// path is where the API has an object.
func path(namespace string, r *resource.Resource) string {
	kind := r.GetGvk()
	root := "/api/" + kind.Version
	if kind.Group != "" {
		root = "/apis/" + kind.Group + "/" + kind.Version
	}
	return fmt.Sprintf("%s/namespaces/%s/%s/%s", root, namespace, plural(kind.Kind), r.GetName())
}

func plural(kind string) string {
	return strings.Replace(strings.ToLower(kind)+"s", "ys", "ies", 1)
}
