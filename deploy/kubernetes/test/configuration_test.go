package kubernetes

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestConfiguration checks the file of the ConfigMap, as reactord would, and what the pod says about it.
func TestConfiguration(t *testing.T) {
	o := render(t, "base")
	text := o["ConfigMap"].(*corev1.ConfigMap).Data["reactord.yaml"]
	template, _ := o.template(t)
	pod := template.Spec

	var c struct {
		Watch   bool
		Metrics string
		Drain   struct{ Delay, Timeout string }
	}
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	if !c.Watch {
		t.Error("a changed ConfigMap is not read")
	}
	grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second
	if needed := duration(t, c.Drain.Delay) + duration(t, c.Drain.Timeout); needed+5*time.Second > grace {
		t.Errorf("a drain takes %v, of a grace period of %v", needed, grace)
	}
	container := pod.Containers[0]
	for _, p := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
		if p.HTTPGet.Port.String() != "metrics" {
			t.Errorf("a probe asks port %s", p.HTTPGet.Port.String())
		}
	}
	port := container.Ports[1]
	if c.Metrics != "${REACTORD_METRICS:-[::]:9090}" || port.Name != "metrics" || port.ContainerPort != 9090 {
		t.Errorf("metrics are at %s, and the port is %v", c.Metrics, port)
	}
	check(t, text)
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// check runs reactord check. The names of the cluster are not looked up before reactord serves.
func check(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "reactord")
	build := exec.Command("go", "build", "-o", program, "./cmd/reactord")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file := filepath.Join(dir, "reactord.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "check", "--config", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
