package e2e

import (
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
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
	at := testenv.Vacant(t)
	fmt.Fprintf(&b, "loops: 2\nadmin: {address: \"tcp://%s\"}\nlisteners:\n", at)
	fmt.Fprintf(&b, "- {name: web, address: \"tcp://127.0.0.1:0\", backend: app, max_connections: 200}\n")
	fmt.Fprintf(&b, "- {name: postgres, address: \"tcp://127.0.0.1:0\", backend: app}\n")
	fmt.Fprintf(&b, "- {name: public, address: \"tcp://127.0.0.1:0\", backend: app, source_rate: {connections: 1}}\n")
	fmt.Fprintf(&b, "backends:\n- name: app\n  max_connections: 300\n  check: {interval: 100ms, fall: 2, rise: 2}\n"+
		"  ejection: {failures: 0}\n  servers:\n")
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

// The page shows figures as they change, and a server that goes down and comes back. It says when the daemon is gone,
// and continues with the next one. It does not complain, and asks for nothing elsewhere.
func TestStatusPage(t *testing.T) {
	t.Parallel()
	mortal := newMortal(t)
	p := openStatusPage(t, 0, serve(t, echo), mortal.addr)
	p.load(t)
	p.await("connections are counted", "Number.parseFloat("+tile("New connections")+") > 0")
	p.await("bytes are counted", tile("Received")+"?.match(/[1-9].*B.s/)")
	p.await("rejections have a reason", row("public")+"?.textContent.includes('source rate')")
	p.await("failures have a reason", "document.querySelector('[aria-label=\"Failures, table\"]').textContent"+
		".includes('source rate, accept')")
	p.await("a chart says what it shows", "document.querySelector('.chart [role=img]').ariaLabel.includes('open: ')")
	for _, scheme := range []string{"light", "dark"} {
		p.show(1600, 1000, scheme)
		p.contrasts(scheme)
		p.screenshot("wide-" + scheme)
		p.show(360, 740, scheme)
		p.fits()
		p.screenshot("narrow-" + scheme)
	}
	p.names()
	p.keys()
	p.looksUp()

	mortal.stop()
	p.await("the server is down", row("app-2")+"?.textContent.includes('down')")
	p.await("the feed says so", feed("server is down", "app-2"))
	p.findsProblems()
	p.show(1600, 1000, "dark")
	p.screenshot("down-dark")
	mortal.start()
	p.await("the server is up", row("app-2")+"?.cells[1].textContent === 'up'")
	p.await("the feed says so", feed("server is up", "app-2"))
	p.operate()
	p.complains()

	p.daemon.signal(syscall.SIGKILL)
	<-p.daemon.exited
	p.await("the page says that the daemon is gone",
		"document.querySelector('#lost').textContent.includes('not answered')")
	p.start(t)
	p.await("the page has found the next daemon", "document.querySelector('#lost').hidden")
	p.await("it says that it is another", feed("another process", fmt.Sprint(p.daemon.pid())))
}

// findsProblems checks that what is down comes first, and alone if that is asked for.
func (p *statusPage) findsProblems() {
	p.browser.t.Helper()
	host, err := os.Hostname()
	if err != nil {
		p.browser.t.Fatal(err)
	}
	const servers = "[...document.querySelectorAll('[aria-label=\"Servers, table\"] tbody th')]" +
		".map((h) => h.textContent).join()"
	p.await("what is down comes first", servers+" === 'app-2,app-1'")
	p.await("the title has the host", fmt.Sprintf("document.title.includes(%q)", host))
	p.eval("(document.getElementById('problems').click(), 0)", new(int))
	p.await("only what is down is shown", servers+" === 'app-2'")
	p.eval("(document.getElementById('problems').click(), 0)", new(int))
}

// operate drains a server, and ends that, by the buttons of the page.
func (p *statusPage) operate() {
	p.browser.t.Helper()
	p.eval("(window.confirm = () => false, document.querySelector('[aria-label=\"Drain app-1\"]').click(), "+
		"window.confirm = () => true, document.querySelector('[aria-label=\"Drain app-2\"]').click(), 0)", new(int))
	p.await("what is confirmed is drained", row("app-2")+"?.cells[1].textContent === 'drain'")
	p.await("the other one is not", row("app-1")+"?.cells[1].textContent === 'up'")
	p.eval("(document.querySelector('[aria-label=\"Ready app-2\"]').click(), 0)", new(int))
	p.await("it is back", row("app-2")+"?.cells[1].textContent === 'up'")
}

// A mortal is an echo server that can be stopped and started at the same address.
type mortal struct {
	t    *testing.T
	addr string
	l    net.Listener
	all  sync.WaitGroup
}

func newMortal(t *testing.T) *mortal {
	t.Helper()
	m := &mortal{t: t, addr: testenv.Vacant(t)}
	m.start()
	t.Cleanup(m.stop)
	return m
}

func (m *mortal) start() {
	m.t.Helper()
	l, err := net.Listen("tcp", m.addr)
	if err != nil {
		m.t.Fatal(err)
	}
	m.l = l
	m.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			m.all.Go(func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(2 * time.Second))
				echo(c.(*net.TCPConn))
			})
		}
	})
}

// stop ends accepting. Open connections end by themselves.
func (m *mortal) stop() {
	m.l.Close()
	m.all.Wait()
}

// A thousand servers are in pages, are found by words, are sorted, and keep the browser busy for a moment only.
func TestStatusPageOfManyServers(t *testing.T) {
	t.Parallel()
	p := openStatusPage(t, 1000, serve(t, echo))
	p.await("a page of servers", "document.querySelectorAll('tbody tr').length > 25")
	p.eval(`(() => {
		const box = document.querySelector('[aria-label="Filter servers"]');
		box.value = 'MANY-77 many up';
		box.dispatchEvent(new Event('input'));
		return 0;
	})()`, new(int))
	var found []string
	const table = "document.querySelector('[aria-label=\"Servers, table\"]')"
	const servers = "[..." + table + ".querySelectorAll('tbody th')].map((h) => h.textContent)"
	p.eval(servers, &found)
	if len(found) != 11 || found[0] != "many-77" { // 770 to 779, too
		t.Errorf("found %v", found)
	}
	const sort = "[..." + table + ".querySelectorAll('thead button')].find((b) => b.textContent === 'Server')"
	p.eval("("+sort+".click(), "+sort+".click(), 0)", new(int))
	p.eval(servers, &found)
	var order string
	p.eval(sort+".parentElement.getAttribute('aria-sort')", &order)
	if len(found) != 11 || found[0] != "many-779" || order != "descending" {
		t.Errorf("sorted %s: %v", order, found)
	}
	var took float64
	p.eval(`(async () => {
		const { Model } = await import('./page/model.js');
		const { Tables } = await import('./page/tables.js');
		const model = new Model(), tables = new Tables();
		const text = await (await fetch('v1/snapshot')).text();
		let most = 0;
		for (let i = 0; i < 5; i++) {
			const began = performance.now();
			tables.show(model.read(JSON.parse(text)));
			document.body.getBoundingClientRect(); // lays it out
			if (i > 1) most = Math.max(most, performance.now() - began);
		}
		return most;
	})()`, &took)
	t.Logf("a snapshot of a thousand servers takes %.0f ms", took)
	if took > 500 { // a jam of the machine, or of the page
		t.Errorf("a snapshot of a thousand servers takes %.0f ms", took)
	}
	p.complains()
}

// complains fails the test if the page has complained, or has asked for something elsewhere.
func (p *statusPage) complains() {
	p.browser.t.Helper()
	p.browser.mu.Lock()
	defer p.browser.mu.Unlock()
	if len(p.problems) > 0 {
		p.browser.t.Errorf("the page complains: %q", p.problems)
	}
	for _, r := range p.requests {
		if !strings.HasPrefix(r, p.url) {
			p.browser.t.Errorf("the page asks for %s", r)
		}
	}
	if len(p.requests) < 10 {
		p.browser.t.Errorf("the page has asked for %v only", p.requests)
	}
}

// fits checks that nothing but tables scrolls sideways.
func (p *statusPage) fits() {
	p.browser.t.Helper()
	var widths []int
	p.eval("[document.documentElement.scrollWidth, innerWidth]", &widths)
	if widths[0] > widths[1] {
		p.browser.t.Errorf("the page is %d wide in a window of %d", widths[0], widths[1])
	}
}

// names checks the accessibility tree: what can be used or is a landmark, a table or a picture has a name.
func (p *statusPage) names() {
	p.browser.t.Helper()
	type value struct{ Value any }
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name value
		}
	}
	p.call("Accessibility.getFullAXTree", object{}, &tree)
	seen := map[any]int{}
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		seen[n.Role.Value]++
		switch n.Role.Value {
		case "button", "link", "searchbox", "textbox", "table", "image", "img", "region", "heading", "columnheader",
			"rowheader", "navigation", "DisclosureTriangle":
			if name, _ := n.Name.Value.(string); strings.TrimSpace(name) == "" {
				p.browser.t.Errorf("a %s has no name", n.Role.Value)
			}
		}
	}
	for _, role := range []string{
		"banner", "main", "heading", "table", "columnheader", "rowheader", "button", "link", "status",
	} {
		if seen[role] == 0 {
			p.browser.t.Errorf("the page has no %s: %v", role, seen)
		}
	}
	if seen["image"]+seen["img"] < 5 {
		p.browser.t.Errorf("%d charts are pictures", seen["image"]+seen["img"])
	}
}

// keys checks the first steps with a keyboard: the way past the header, and the button that pauses the page.
func (p *statusPage) keys() {
	p.browser.t.Helper()
	var focused string
	for _, want := range []string{"Skip to the figures", "Pause"} {
		for _, kind := range []string{"rawKeyDown", "keyUp"} {
			p.call("Input.dispatchKeyEvent", object{"type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}, nil)
		}
		p.eval("document.activeElement.textContent + getComputedStyle(document.activeElement).outlineStyle", &focused)
		if focused != want+"solid" {
			p.browser.t.Errorf("the key Tab leads to %q, want %q with an outline", focused, want)
		}
	}
	p.eval("(pause.click(), state.textContent)", &focused)
	if focused != "Paused" {
		p.browser.t.Errorf("paused, the page is %q", focused)
	}
	p.eval("(pause.click(), state.textContent)", &focused)
	if focused != "Live" {
		p.browser.t.Errorf("after the pause, the page is %q", focused)
	}
}

// looksUp reads what the page reads on request only, and shows the last hour.
func (p *statusPage) looksUp() {
	p.browser.t.Helper()
	read := func(what string) {
		p.eval(fmt.Sprintf("(document.querySelector('[aria-label=\"Read %s\"]').click(), 0)", what), new(int))
	}
	text := func(table string) string {
		return fmt.Sprintf("document.querySelector('[aria-label=\"%s, table\"] tbody').textContent", table)
	}
	for _, request := range p.asked() {
		if strings.Contains(request, "connections") || strings.Contains(request, "sources") {
			p.browser.t.Errorf("the page asks for %s unasked", request)
		}
	}
	idle := dial(p.browser.t, p.busy[0])
	read("open connections")
	p.await("an open connection is listed", text("Open connections")+".includes('"+idle.LocalAddr().String()+"')")
	read("top sources")
	p.await("its source is listed", text("Top sources")+".includes('127.0.0.1/32')")
	read("routes")
	p.await("the listeners are listed", text("Routes")+".includes('postgres')")
	p.eval(`(() => {
		const real = window.fetch, evil = '<img src=x onerror="document.title=1"></table><script>document.title=1<' + '/script>';
		window.fetch = async () => new Response(JSON.stringify({connections: [{client: evil, listener: evil, backend: evil,
			server: evil, sni: evil, state: 'data', id: evil, age_seconds: 1, idle_seconds: 0, received_bytes: 1, sent_bytes: 1}]}));
		document.querySelector('[aria-label="Read open connections"]').click();
		window.fetch = real;
		return 0;
	})()`, new(int))
	p.await("hostile names are text", text("Open connections")+".includes('<img')")
	var elements int
	p.eval("document.querySelectorAll('#lookups img, #lookups script').length", &elements)
	if elements != 0 {
		p.browser.t.Errorf("hostile names have become %d elements", elements)
	}
	p.eval("(document.getElementById('range').click(), 0)", new(int))
	p.await("the last hour is shown", "document.querySelector('.chart [role=img]').ariaLabel.includes('last hour')")
	p.eval("(document.getElementById('range').click(), 0)", new(int))
}

// asked returns what the page has asked for.
func (p *statusPage) asked() []string {
	p.browser.mu.Lock()
	defer p.browser.mu.Unlock()
	return slices.Clone(p.requests)
}

// contrasts computes the contrasts of the colours that the style sheet defines, as WCAG 2.2 does.
func (p *statusPage) contrasts(scheme string) {
	p.browser.t.Helper()
	var colours map[string]string
	p.eval(`Object.fromEntries(
		['page', 'card', 'text', 'soft', 'control', 'accent', 'good', 'warn', 'bad', 'line0', 'line1', 'line2']
		.map((n) => [n, getComputedStyle(document.documentElement).getPropertyValue('--' + n).trim()]))`, &colours)
	for _, behind := range []string{"page", "card"} {
		for name, least := range map[string]float64{
			"text": 4.5, "soft": 4.5, "accent": 4.5, "good": 4.5, "warn": 4.5, "bad": 4.5,
			"control": 3, "line0": 3, "line1": 3, "line2": 3,
		} {
			if got := contrast(p.browser.t, colours[name], colours[behind]); got < least {
				p.browser.t.Errorf("%s: %s on %s has a contrast of %.2f, want %v", scheme, name, behind, got, least)
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance is the relative luminance of a colour #rrggbb.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	var rgb [3]uint8
	if _, err := fmt.Sscanf(colour, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
		t.Fatalf("colour %q: %v", colour, err)
	}
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := float64(rgb[i]) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// tile is the text of a figure.
func tile(name string) string {
	return fmt.Sprintf("[...document.querySelectorAll('#tiles > div')].find((d) => "+
		"d.querySelector('dt').textContent === %q)?.querySelector('dd').textContent", name)
}

// row is the row of a table that has a name.
func row(name string) string {
	return fmt.Sprintf("[...document.querySelectorAll('tbody tr')].find((r) => r.cells[0].textContent === %q)", name)
}

// feed says whether an event has both texts.
func feed(message, about string) string {
	return fmt.Sprintf("[...document.querySelectorAll('#events li')].some((e) => "+
		"e.textContent.includes(%q) && e.textContent.includes(%q))", message, about)
}
