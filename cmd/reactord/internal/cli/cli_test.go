package cli

import (
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// The advice for a socket's file is not that for a port.
func TestAdviceOnBind(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "bind", Path: "/run/reactord", Err: syscall.EACCES}, "must be able to write to that directory"},
		{os.NewSyscallError("bind", syscall.EACCES), "a port below 1024 requires CAP_NET_BIND_SERVICE"},
	} {
		if got := explain(c.err); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// A parser of one command finds what the parser of all finds.
func TestParserOfOneCommand(t *testing.T) {
	for _, line := range [][]string{
		{"serve", "--config", "reactord.yaml"},
		{"serve", "-c", "-"},
		{"check", "--config", "reactord.yaml"},
		{"proxy", "--listen", "tcp://127.0.0.1:1", "--to", "tcp://127.0.0.1:2,tcp://127.0.0.1:3"},
		{"ctl", "--admin", "unix:///run/x", "backends"},
		{"completion", "bash"},
		{"envoy", "-c", "bootstrap.yaml"},
		{"version"},
		{"serve"},
		{"serve", "--confi", "reactord.yaml"},
		{"Serve", "--config", "reactord.yaml"},
		{"printversion"},
		{"sevre"},
	} {
		_, one, err := parseLine(line)
		all, wanted := newParser().Parse(line)
		if fmt.Sprint(err) != fmt.Sprint(wanted) {
			t.Errorf("%q: %v, want %v", line, err, wanted)
		}
		if err != nil || wanted != nil {
			continue
		}
		got, want := one.Selected().Target.Interface(), all.Selected().Target.Interface()
		if one.Command() != all.Command() || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %s %+v, want %s %+v", line, one.Command(), got, all.Command(), want)
		}
	}
}

func BenchmarkParseLine(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := parseLine([]string{"serve", "--config", "reactord.yaml"}); err != nil {
			b.Fatal(err)
		}
	}
}
