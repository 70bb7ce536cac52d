package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// reloadConfig is a file with listeners "name=address" for one backend.
func reloadConfig(ring, settings string, listeners []string, servers ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "ring: %s\nmetrics: 127.0.0.1:0\n%s\nlisteners:\n", ring, settings)
	for _, l := range listeners {
		name, address, _ := strings.Cut(l, "=")
		fmt.Fprintf(&text, "  - {name: %s, address: 'tcp://%s', backend: b}\n", name, address)
	}
	fmt.Fprintf(&text, "backends:\n  - {name: b, servers: ['tcp://%s']}\n", strings.Join(servers, "', 'tcp://"))
	return text.String()
}

// replace replaces a file as editors and configuration management do.
func replace(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// startFile starts the daemon with a file, and waits until it listens.
func startFile(t *testing.T, path string) *daemon {
	t.Helper()
	d := spawn(t, nil, nil, "serve", "--config", path)
	d.addr = d.await("listening").str("address")
	d.metrics = d.await("metrics").str("address")
	return d
}

// awaitLines waits until so many lines have a message.
func (d *daemon) awaitLines(msg string, n int) []line {
	d.t.Helper()
	var found []line
	eventually(d.t, fmt.Sprintf("%d lines %q", n, msg), func() bool {
		found = d.logged(func(l line) bool { return l.Msg == msg })
		return len(found) >= n
	})
	return found
}

const refusedReload = "the reload was refused: the configuration is what it was"

// SIGHUP puts what is new in force and leaves all else alone: the connections of listeners that stay, and of listeners
// and servers that are gone.
func TestReload(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		first, second := serve(t, echo), serve(t, echo)
		path := writeConfig(t, reloadConfig(ring, "", []string{"stays=127.0.0.1:0", "goes=127.0.0.1:0"}, first))
		d := startFile(t, path)
		at := map[string]string{}
		for _, l := range d.awaitLines("listening", 2) {
			at[l.str("listener")] = l.str("address")
		}
		stays, goes := dial(t, at["stays"]), dial(t, at["goes"])
		flows := func(p peer, text string) {
			t.Helper()
			p.send([]byte(text))
			p.expect([]byte(text))
		}
		flows(stays, "before")
		flows(goes, "before")

		replace(t, path, reloadConfig(ring, "", []string{"stays=127.0.0.1:0", "comes=127.0.0.1:0"}, second))
		d.signal(syscall.SIGHUP)
		d.await("reloaded")
		flows(stays, "after")
		flows(goes, "after")
		comes := d.awaitLines("listening", 3)[2]
		if comes.str("listener") != "comes" {
			t.Errorf("%s listens", comes.str("listener"))
		}
		briefly := func(addr, text string) {
			t.Helper()
			p := dial(t, addr)
			flows(p, text)
			p.finish()
			p.expectEOF()
		}
		briefly(comes.str("address"), "new listener")
		briefly(at["stays"], "new server")
		eventually(t, "the listener that is gone refuses", func() bool { return refused(at["goes"]) })

		taken := listen(t)
		for i, text := range []string{
			"listeners: [",
			reloadConfig(ring, "loops: 3", []string{"stays=127.0.0.1:0"}, first),
			reloadConfig(ring, "", []string{"stays=127.0.0.1:0", "taken=" + taken.addr()}, first),
		} {
			replace(t, path, text)
			d.signal(syscall.SIGHUP)
			why := d.awaitLines(refusedReload, i+1)[i].str("error")
			want := []string{path + ":1:", path + ":3:8: loops changes", taken.addr() + ": bind: address already in use"}[i]
			if !strings.Contains(why, want) {
				t.Errorf("refused with %q, want %q", why, want)
			}
		}
		flows(stays, "after refusals")
		briefly(comes.str("address"), "after refusals")
		page := d.scrape()
		if n := page.sum("reactord_config_reloads_total", "result=success"); n != 1 {
			t.Errorf("%.0f reloads succeeded", n)
		}
		if n := page.sum("reactord_config_reloads_total", "result=failure"); n != 3 {
			t.Errorf("%.0f reloads failed", n)
		}
		if page.sum("reactord_config_last_reload_successful") != 0 {
			t.Error("the last reload was successful")
		}
		stays.finish()
		stays.expectEOF()
		goes.finish()
		goes.expectEOF()
		d.stop()
	})
}

// A file that is watched is read again when it is replaced in any of the ways in which files are replaced.
func TestWatch(t *testing.T) {
	t.Parallel()
	server := serve(t, echo)
	text := func(n int) string {
		return reloadConfig("auto", fmt.Sprintf("watch: true\nlimits: {max_connections: %d}", n),
			[]string{"echo=127.0.0.1:0"}, server)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// A ConfigMap: the file is a link into ..data, which is a link to a directory that is replaced as a whole.
	dir := t.TempDir()
	version := func(n int) {
		at := fmt.Sprintf("..2026_%d", n)
		must(os.Mkdir(filepath.Join(dir, at), 0o700))
		must(os.WriteFile(filepath.Join(dir, at, "reactord.yaml"), []byte(text(n)), 0o600))
		must(os.Symlink(at, filepath.Join(dir, "..data_tmp")))
		must(os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
		if n > 1 {
			must(os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..2026_%d", n-1))))
		}
	}
	path := filepath.Join(dir, "reactord.yaml")
	version(1)
	must(os.Symlink("..data/reactord.yaml", path))
	d := startFile(t, path)
	c := dial(t, d.addr)
	for i, change := range []func(n int){
		version,
		version,
		func(n int) { replace(t, path, text(n)) },
		func(n int) { must(os.WriteFile(path, []byte(text(n)), 0o600)) },
		func(n int) { // gone for a while
			must(os.Remove(path))
			time.Sleep(1500 * time.Millisecond)
			must(os.WriteFile(path, []byte(text(n)), 0o600))
		},
	} {
		change(i + 2)
		want := fmt.Sprintf("limits: max_connections %d → %d", i+1, i+2)
		if got := d.awaitLines("changed", i+1)[i].str("change"); got != want {
			t.Errorf("change %d: %s, want %s", i, got, want)
		}
		c.send([]byte("still here"))
		c.expect([]byte("still here"))
	}
	d.awaitLines("reloaded", 5) // which comes behind "changed"
	if n := len(d.logged(func(l line) bool { return l.Msg == "reloaded" || l.Msg == refusedReload })); n != 5 {
		t.Errorf("%d reloads for 5 changes", n)
	}
	c.finish()
	c.expectEOF()
	d.stop()
}

// A hundred reloads under load disturb no connection: none is refused or reset, and no byte is lost.
func TestReloadUnderLoad(t *testing.T) {
	const (
		reloads = 100
		workers = 16
	)
	onEachRing(t, func(t *testing.T, ring string) {
		servers := []string{serve(t, echo), serve(t, echo), serve(t, echo)}
		config := func(i int) string {
			listeners := []string{"stays=127.0.0.1:0"}
			if i%2 == 1 {
				listeners = append(listeners, "sometimes=127.0.0.1:0")
			}
			settings := fmt.Sprintf("limits: {max_connections: %d}", 5000+i)
			return reloadConfig(ring, settings, listeners, servers[:1+i%len(servers)]...)
		}
		path := writeConfig(t, config(0))
		d := startFile(t, path)
		var (
			next   atomic.Int64
			failed = make(chan error, workers)
			wg     sync.WaitGroup
			stop   = make(chan struct{})
		)
		start := time.Now()
		for range workers {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if err := exchange(d.addr, int(next.Add(1))); err != nil {
						failed <- err
						return
					}
				}
			})
		}
		long := dial(t, d.addr)
		for i := range reloads {
			sent := random(byte(i), 256<<10)
			replace(t, path, config(i+1))
			d.signal(syscall.SIGHUP)
			go func() { _, _ = long.Write(sent) }() // what does not arrive fails the test
			long.expect(sent)
			d.awaitLines("reloaded", i+1)
		}
		close(stop)
		wg.Wait()
		close(failed)
		for err := range failed {
			t.Error(err)
		}
		long.finish()
		long.expectEOF()
		t.Logf("%d reloads in %v, %.0f connections/s", reloads, time.Since(start).Round(time.Millisecond),
			float64(next.Load())/time.Since(start).Seconds())
		if n := d.scrape().sum("reactord_config_reloads_total", "result=success"); n != reloads {
			t.Errorf("%.0f reloads", n)
		}
		d.stop()
	})
}
