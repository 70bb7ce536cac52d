package metrics

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/histogram"
	"github.com/reactord/reactord/internal/series/seriestest"
	"github.com/reactord/reactord/reactor"
)

// patience is how long Prometheus may take.
const patience = 30 * time.Second

// A real Prometheus gets the same histogram in either form.
func TestPrometheus(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds for Prometheus to start")
	}
	slow := counted(histogram.SlowTurns)
	slow.Counts[histogram.SlowTurns.Find(30*time.Millisecond)] = 3
	slow.Counts[histogram.SlowTurns.Find(time.Minute)] = 1
	slow.Sum = time.Minute + 90*time.Millisecond
	target := httptest.NewServer(Handler(newLoops(nil, 1, func(int) reactor.Stats {
		return reactor.Stats{SlowTurns: slow}
	})))
	t.Cleanup(target.Close)
	const name = "reactord_reactor_slow_turn_seconds"
	for _, c := range []struct {
		form, feature, count, sum, quantile string
	}{
		{"classic", "", name + "_count", name + "_sum", "histogram_quantile(0.5, " + name + "_bucket)"},
		{"native", "native-histograms", "histogram_count(" + name + ")", "histogram_sum(" + name + ")",
			"histogram_quantile(0.5, " + name + ")"},
	} {
		t.Run(c.form, func(t *testing.T) {
			t.Parallel()
			address := startPrometheus(t, target.Listener.Addr().String(), c.feature)
			if n := eventually(t, address, c.count); n != 4 {
				t.Errorf("%v slow turns, want 4", n)
			}
			if sum := eventually(t, address, c.sum); sum != 60.09 {
				t.Errorf("a sum of %v s, want 60.09", sum)
			}
			if median := eventually(t, address, c.quantile); median < 0.02 || median > 0.05 {
				t.Errorf("a median of %v s, want about 0.03", median)
			}
		})
	}
}

// startPrometheus starts Prometheus, which scrapes the target, and returns its address. It ends with the test.
func startPrometheus(t *testing.T, target, feature string) (address string) {
	t.Helper()
	program, dir := seriestest.Need(t, "prometheus"), t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	err := os.WriteFile(config, fmt.Appendf(nil, `
global: {scrape_interval: 500ms, scrape_timeout: 500ms}
scrape_configs:
  - job_name: loops
    static_configs: [{targets: ['%s']}]
`, target), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	_ = l.Close()
	var out strings.Builder
	cmd := exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--log.level=error", "--enable-feature="+feature)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("prometheus said:\n%s", out.String())
		}
	})
	return address
}

// eventually returns the value of an expression, once it has one.
func eventually(t *testing.T, address, expression string) float64 {
	t.Helper()
	var last error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var value float64
		if value, last = query(address, expression); last == nil {
			return value
		}
	}
	t.Fatalf("%s has no value: %v", expression, last)
	return 0
}

// query asks for the value of an expression.
func query(address, expression string) (float64, error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	resp, err := client.Get("http://" + address + "/api/v1/query?query=" + url.QueryEscape(expression))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var answer struct {
		Data struct {
			Result []struct{ Value []any }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return 0, err
	}
	if r := answer.Data.Result; len(r) != 1 || len(r[0].Value) != 2 {
		return 0, fmt.Errorf("%d values: %v", len(r), r)
	}
	return strconv.ParseFloat(answer.Data.Result[0].Value[1].(string), 64)
}
