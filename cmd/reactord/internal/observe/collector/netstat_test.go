package collector

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/reactord/reactord/internal/series/seriestest"
)

func TestListenQueues(t *testing.T) {
	file := filepath.Join(t.TempDir(), "netstat")
	for text, want := range map[string]string{
		"TcpExt: A ListenOverflows B\nTcpExt: 1 27 3\nIpExt: ListenOverflows\nIpExt: 4\n": " 27\n",
		"IpExt: ListenOverflows\nIpExt: 4\nTcpExt: A ListenOverflows\nTcpExt: 1 5\n":      " 5\n",
		"TcpExt: A B\nTcpExt: 1 2\n":             "",
		"TcpExt: A ListenOverflows\nTcpExt: 1\n": "",
		"TcpExt: A ListenOverflows\nTcpExt: 1 x": "",
		"":                                       "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if want != "" {
			want = "reactord_listen_queue_overflows_total" + want
		}
		if got := seriestest.Samples(seriestest.Expose(t, newListenQueues(file))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	seriestest.Expect(t, newListenQueues("missing"), "")
}

// This kernel has the counter.
func TestListenQueuesOfThisMachine(t *testing.T) {
	got := seriestest.Samples(seriestest.Expose(t, NewListenQueues()))
	if !regexp.MustCompile(`^reactord_listen_queue_overflows_total \S+\n$`).MatchString(got) {
		t.Errorf("%q", got)
	}
}
