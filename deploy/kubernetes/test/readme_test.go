package kubernetes

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// piece is the piece of the README that begins so.
func piece(t *testing.T, begin string) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "\n```"+begin)
	inside, _, ends := strings.Cut(after, "\n```\n")
	if !found || !ends {
		t.Fatalf("the README has no %q", begin)
	}
	_, after, _ = strings.Cut(begin, "\n")
	return after + inside + "\n"
}

// TestOverlayOfREADME renders the overlay of the README, from this directory instead of GitHub.
func TestOverlayOfREADME(t *testing.T) {
	remote := regexp.MustCompile(`https://github\.com/reactord/reactord//deploy/kubernetes/([a-z/-]+)\?ref=v[0-9.]+`)
	kustomization := remote.ReplaceAllString(piece(t, "yaml\n# kustomization.yaml"), "../$1")
	configuration := piece(t, "yaml\n# reactord.yaml")
	o := render(t, overlay(t, map[string]string{"kustomization.yaml": kustomization, "reactord.yaml": configuration}))

	const want = "ConfigMap Deployment NetworkPolicy PodDisruptionBudget PodMonitor Service ServiceAccount"
	if got := strings.Join(o.kinds(), " "); got != want {
		t.Errorf("it renders %s, want %s", got, want)
	}
	o.checkReferences(t)
	template, _ := o.template(t)
	if refused := podSecurity(t, template); len(refused) != 0 {
		t.Errorf("not restricted: %q", refused)
	}
	if o["ConfigMap"].(*corev1.ConfigMap).Data["reactord.yaml"] != configuration {
		t.Error("the configuration is not the overlay's")
	}
	if len(o["ServiceAccount"].(*corev1.ServiceAccount).ImagePullSecrets) != 1 {
		t.Error("the ServiceAccount has no imagePullSecrets")
	}
	var secret *corev1.SecretVolumeSource
	mounts := map[string]string{}
	for _, v := range template.Spec.Volumes {
		if v.Secret != nil {
			secret = v.Secret
			mounts[v.Name] = ""
		}
	}
	for _, m := range template.Spec.Containers[0].VolumeMounts {
		if _, ok := mounts[m.Name]; ok {
			mounts[m.Name] = m.MountPath
		}
	}
	if secret == nil || *secret.DefaultMode != 0o440 || mounts["tls"] != "/etc/reactord-tls" {
		t.Errorf("the certificates are in %v, at %v", secret, mounts)
	}
	check(t, strings.ReplaceAll(configuration, "/etc/reactord-tls", certificates(t)))
}

// certificates returns a directory with what a Secret of type kubernetes.io/tls has.
func certificates(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pair := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "tls.key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestRulesOfREADME runs the commands of the README, with a kubectl that writes down what it is given.
func TestRulesOfREADME(t *testing.T) {
	bin := t.TempDir()
	kubectl := "#!/bin/sh\ncase $1 in apply) echo ---; cat;; esac\n"
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	commands := exec.Command("sh", "-euc", piece(t, "sh\nfor name in"))
	commands.Dir = "../../.."
	commands.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := commands.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	names := map[string]int{}
	for document := range bytes.SplitSeq(out, []byte("---\n")) {
		var rule monitoringv1.PrometheusRule
		if err := yaml.UnmarshalStrict(document, &rule); err != nil {
			t.Fatal(err)
		}
		names[rule.Name] = len(rule.Spec.Groups)
	}
	if names["reactord-rules"] == 0 || names["reactord-alerts"] == 0 {
		t.Errorf("groups of rules: %v", names)
	}
}
