package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A statusPage is a daemon with its status page, open in a browser.
type statusPage struct {
	daemon *daemon
	*browser
	file, url string
	busy      []string // addresses of listeners
}

// openStatusPage starts a daemon with a backend app of two servers, and one of many servers that nothing connects to.
func openStatusPage(t *testing.T, many int, servers ...string) *statusPage {
	t.Helper()
	var b strings.Builder
	at := vacant(t)
	fmt.Fprintf(&b, "loops: 2\nadmin: {address: \"tcp://%s\"}\nlisteners:\n", at)
	fmt.Fprintf(&b, "- {name: web, address: \"tcp://127.0.0.1:0\", backend: app, max_connections: 200}\n")
	fmt.Fprintf(&b, "- {name: postgres, address: \"tcp://127.0.0.1:0\", backend: app}\n")
	fmt.Fprintf(&b, "- {name: public, address: \"tcp://127.0.0.1:0\", backend: app, source_rate: {connections: 1}}\n")
	fmt.Fprintf(&b, "backends:\n- name: app\n  max_connections: 300\n  check: {interval: 100ms, fall: 2, rise: 2}\n  servers:\n")
	for i, s := range servers {
		fmt.Fprintf(&b, "  - {name: app-%d, address: \"tcp://%s\"}\n", i+1, s)
	}
	if many > 0 {
		fmt.Fprintf(&b, "- name: many\n  servers:\n")
		for i := range many {
			fmt.Fprintf(&b, "  - {name: many-%d, address: \"tcp://127.1.%d.%d:9\"}\n", i+1, i/250, i%250+1)
		}
	}
	p := &statusPage{file: filepath.Join(t.TempDir(), "reactord.yaml"), url: "http://" + at + "/"}
	if err := os.WriteFile(p.file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p.browser = startBrowser(t)
	p.start(t)
	p.show(1440, 900, "light")
	p.open(p.url)
	return p
}

func (p *statusPage) start(t *testing.T) {
	t.Helper()
	p.daemon = spawn(t, nil, nil, "serve", "--config", p.file)
	p.daemon.await("admin")
	p.busy = nil
	eventually(t, "all listeners listen", func() bool {
		return len(p.daemon.logged(func(l line) bool { return l.Msg == "listening" })) == 3
	})
	for _, l := range p.daemon.logged(func(l line) bool { return l.Msg == "listening" }) {
		p.busy = append(p.busy, l.str("address"))
	}
}

// load makes connections through the listeners until the test ends: short ones, and some that stay open.
func (p *statusPage) load(t *testing.T) {
	t.Helper()
	stop := make(chan struct{})
	var running sync.WaitGroup
	t.Cleanup(func() { close(stop); running.Wait() })
	for i := range 12 {
		to := p.busy[i%len(p.busy)]
		running.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(5+n%40) * time.Millisecond):
				}
				c, err := net.Dial("tcp", to)
				if err != nil {
					continue
				}
				_ = c.SetDeadline(time.Now().Add(time.Second))
				_, _ = c.Write(bulk[:1+n*977%65536])
				_, _ = c.Read(make([]byte, 65536))
				if i%4 == 3 { // it stays for a moment
					select {
					case <-stop:
					case <-time.After(700 * time.Millisecond):
					}
				}
				c.Close()
			}
		})
	}
}

// The page shows numbers as they change, a server that goes down and comes back, and that the daemon is gone.
func TestStatusPage(t *testing.T) {
	mortal := listen(t)
	at := mortal.addr()
	go echoAll(mortal.TCPListener)
	p := openStatusPage(t, 0, serve(t, echo), at)
	p.load(t)
	p.await("figures are shown", tile("New connections")+" !== '–'")
	first := p.text("#events li")
	p.await("connections are counted", "Number.parseFloat("+tile("New connections")+") > 0")
	time.Sleep(time.Second)
	t.Log(first)
	for _, s := range []string{"light", "dark"} {
		p.show(1600, 1000, s)
		p.screenshot("wide-" + s)
		p.show(360, 740, s)
		p.screenshot("narrow-" + s)
	}
	mortal.Close()
	p.await("the server is down", row("app-2")+"?.textContent.includes('down')")
	if len(p.problems) > 0 {
		t.Errorf("the page complains: %q", p.problems)
	}
	p.show(1600, 1000, "dark")
	p.screenshot("down-dark")
	t.Log(p.requests)
}

// tile is the text of a figure.
func tile(name string) string {
	return fmt.Sprintf("[...document.querySelectorAll('#tiles > div')].find((d) => "+
		"d.querySelector('dt').textContent === %q).querySelector('dd').textContent", name)
}

// row is the row of a table that has a name.
func row(name string) string {
	return fmt.Sprintf("[...document.querySelectorAll('tbody tr')].find((r) => r.cells[0].textContent === %q)", name)
}

func echoAll(l *net.TCPListener) {
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			return
		}
		go func() { defer c.Close(); echo(c) }()
	}
}
