package xds

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// daemon is a running reactord.
type daemon struct {
	t       *testing.T
	cmd     *exec.Cmd
	path    string // of the configuration
	metrics string // its address
	http    http.Client

	mu    sync.Mutex
	log   strings.Builder
	ended chan struct{}
}

// start starts a daemon that follows control planes. more is further lines of the configuration's xds.
func start(t *testing.T, ring string, servers []string, more ...string) *daemon {
	t.Helper()
	text := fmt.Sprintf(`ring: %s
loops: 2
metrics: {address: 127.0.0.1:0, per_server: false}
admin: {address: 'unix://%s'}
xds:
  servers: %s
  node: {id: test, cluster: test}
  gather: 1ms
  reconnect: {min: 20ms, max: 200ms}
  %s
`, ring, filepath.Join(t.TempDir(), "admin"), quoted(servers), strings.Join(more, "\n  "))
	d := &daemon{t: t, path: filepath.Join(t.TempDir(), "reactord.yaml")}
	if err := os.WriteFile(d.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.run()
	return d
}

func quoted(list []string) string {
	text, _ := json.Marshal(list) // of strings
	return string(text)
}

// run runs the process, until the test ends.
func (d *daemon) run() {
	d.t.Helper()
	ended := make(chan struct{})
	d.ended = ended
	cmd := exec.Command(reactord, "serve", "--config", d.path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	d.cmd = cmd
	out, err := cmd.StderrPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() {
		defer close(ended)
		for s := bufio.NewScanner(out); s.Scan(); {
			d.mu.Lock()
			d.log.WriteString(s.Text() + "\n")
			d.mu.Unlock()
		}
		_ = cmd.Wait()
	}()
	d.t.Cleanup(func() {
		d.http.CloseIdleConnections()
		_ = cmd.Process.Kill()
		<-ended
		if d.t.Failed() {
			d.t.Logf("the daemon's log:\n%s", d.logged())
		}
	})
	address := regexp.MustCompile(`"msg":"metrics","address":"([^"]+)"`)
	eventually(d.t, "the daemon says where its metrics are", func() bool {
		found := address.FindStringSubmatch(d.logged())
		if found == nil {
			return false
		}
		d.metrics = found[1]
		return true
	})
}

func (d *daemon) logged() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}

// sum adds the values of the series of this name whose labels have this text.
func (d *daemon) sum(name, labels string) (total float64) {
	d.t.Helper()
	response, err := d.http.Get("http://" + d.metrics + "/metrics")
	if err != nil {
		d.t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		rest, found := strings.CutPrefix(strings.TrimSpace(line), name)
		if !found || rest[0] != '{' && rest[0] != ' ' || !strings.Contains(rest, labels) {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndex(rest, " ")+1:], 64)
		if err != nil {
			d.t.Fatal(err)
		}
		total += value
	}
	return total
}

// stop ends the process as kill -9 does.
func (d *daemon) stop() {
	d.http.CloseIdleConnections()
	_ = d.cmd.Process.Kill()
	<-d.ended
	d.mu.Lock()
	d.log.Reset()
	d.mu.Unlock()
}
