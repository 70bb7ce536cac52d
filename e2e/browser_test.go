package e2e

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// browser is a headless Chromium with one page, driven by its DevTools protocol on a pair of pipes.
type browser struct {
	t       *testing.T
	to      *os.File
	session string // of the page

	mu       sync.Mutex
	last     int // id of a call
	answers  map[int]chan<- answerOfBrowser
	problems []string // what the page has complained of
	requests []string // addresses that it has asked for
}

type answerOfBrowser struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// messageOfBrowser is an answer, or an event.
type messageOfBrowser struct {
	answerOfBrowser
	ID     int
	Method string
	Params json.RawMessage
}

// object is what the protocol takes.
type object = map[string]any

func startBrowser(t *testing.T) *browser {
	t.Helper()
	cmd := exec.Command(need(t, "chromium", "chromium"), "--headless=new", "--no-sandbox", "--disable-gpu",
		"--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-extensions",
		"--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	itReads, to := pipe(t)
	from, itWrites := pipe(t)
	cmd.ExtraFiles = []*os.File{itReads, itWrites} // 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	itReads.Close()
	itWrites.Close()
	b := &browser{t: t, to: to, answers: map[int]chan<- answerOfBrowser{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.read(from)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		to.Close()
		<-ended
		from.Close()
		if t.Failed() {
			t.Logf("the page has complained: %q", b.problems)
		}
	})
	b.attach()
	return b
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// read reads messages, each of which ends with a zero byte, until the browser has ended.
func (b *browser) read(from *os.File) {
	for r := bufio.NewReader(from); ; {
		text, err := r.ReadBytes(0)
		if err != nil {
			break
		}
		var m messageOfBrowser
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		if to := b.answers[m.ID]; to != nil {
			to <- m.answerOfBrowser
			delete(b.answers, m.ID)
		}
		b.note(&m)
		b.mu.Unlock()
	}
}

// note notes what the page does. b.mu is held.
func (b *browser) note(m *messageOfBrowser) {
	var p struct {
		Type    string
		Request struct{ URL string }
		Entry   struct{ Level, Text, URL string }
		Details struct {
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
	}
	_ = json.Unmarshal(m.Params, &p)
	switch m.Method {
	case "Network.requestWillBeSent":
		b.requests = append(b.requests, p.Request.URL)
	case "Runtime.exceptionThrown":
		b.problems = append(b.problems, p.Details.Exception.Description)
	case "Runtime.consoleAPICalled":
		b.problems = append(b.problems, fmt.Sprintf("console.%s: %s", p.Type, m.Params))
	case "Log.entryAdded":
		b.problems = append(b.problems, fmt.Sprintf("%s: %s %s", p.Entry.Level, p.Entry.Text, p.Entry.URL))
	}
}

// call calls a method of the protocol, and decodes its answer into result unless that is nil.
func (b *browser) call(method string, params object, result any) {
	b.t.Helper()
	if err := b.tryCall(method, params, result); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

func (b *browser) tryCall(method string, params object, result any) error {
	answer := make(chan answerOfBrowser, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.answers[id] = answer
	b.mu.Unlock()
	call := object{"id": id, "method": method, "params": params}
	if b.session != "" {
		call["sessionId"] = b.session
	}
	text, err := json.Marshal(call)
	if err != nil {
		return err
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		return err
	}
	select {
	case a := <-answer:
		if a.Error != nil {
			return errors.New(a.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(a.Result, result)
	case <-time.After(patience):
		return os.ErrDeadlineExceeded
	}
}

// attach makes a page, and has its events told.
func (b *browser) attach() {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("Target.createTarget", object{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", object{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log", "Accessibility"} {
		b.call(domain+".enable", object{}, nil)
	}
}

// open loads a page.
func (b *browser) open(url string) {
	b.t.Helper()
	var failed struct{ ErrorText string }
	b.call("Page.navigate", object{"url": url}, &failed)
	if failed.ErrorText != "" {
		b.t.Fatalf("%s: %s", url, failed.ErrorText)
	}
	b.await("the page is loaded", "document.readyState === 'complete'")
}

// eval evaluates an expression on the page into result. A promise is awaited.
func (b *browser) eval(expression string, result any) {
	b.t.Helper()
	var answer struct {
		Result  struct{ Value json.RawMessage }
		Details *struct {
			Text      string
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
	}
	b.call("Runtime.evaluate", object{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	if d := answer.Details; d != nil {
		b.t.Fatalf("%s: %s %s", expression, d.Text, d.Exception.Description)
	}
	if err := json.Unmarshal(answer.Result.Value, result); err != nil {
		b.t.Fatalf("%s: %s: %v", expression, answer.Result.Value, err)
	}
}

// await waits until a condition holds on the page.
func (b *browser) await(what, condition string) {
	b.t.Helper()
	eventually(b.t, what, func() bool {
		var holds bool
		b.eval("!!("+condition+")", &holds)
		return holds
	})
}

// show sets the size of the page, and whether it is dark.
func (b *browser) show(width, height int, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", object{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
	}, nil)
	b.call("Emulation.setEmulatedMedia", object{
		"features": []object{{"name": "prefers-color-scheme", "value": scheme}},
	}, nil)
}

// screenshot takes a picture of the whole page, and keeps it if REACTORD_E2E_SCREENSHOTS names a directory.
func (b *browser) screenshot(name string) {
	b.t.Helper()
	b.capture(name, object{"format": "png", "captureBeyondViewport": true})
}

// screenshotOfTop is the same of the first lines of the page.
func (b *browser) screenshotOfTop(name string, width, height int) {
	b.t.Helper()
	clip := object{"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
	b.capture(name, object{"format": "png", "captureBeyondViewport": true, "clip": clip})
}

func (b *browser) capture(name string, how object) {
	b.t.Helper()
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", how, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil || len(png) == 0 {
		b.t.Fatalf("screenshot: %d bytes: %v", len(png), err)
	}
	if dir := os.Getenv("REACTORD_E2E_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}
