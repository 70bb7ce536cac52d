package main

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"

	"github.com/reactord/reactord/internal/assert"
)

// proxy is the program about the daemon's proxy, which only packages of the daemon may import: a test of that package
// plays it.
const proxy = "proxy"

// exploreProxy lets the proxy's test play the seeds, with all faults.
func (s *search) exploreProxy() (failed uint64) {
	if s.faults != nil || s.shrink {
		fmt.Fprintf(s.out, "%s: -faults and -shrink are for the other programs only\n", proxy)
	}
	const pkg = "github.com/reactord/reactord/cmd/reactord/internal/proxy"
	tags := ""
	if assert.Enabled {
		tags = "reactordebug"
	}
	cmd := exec.Command("go", "test", pkg, "-tags="+tags, "-count=1", "-timeout=0", "-v",
		"-run=^TestSimulation$", "-args", fmt.Sprintf("-sim.from=%d", s.from), fmt.Sprintf("-sim.seeds=%d", s.seeds),
		"-sim.flaw="+string(s.flaw), fmt.Sprintf("-sim.trace=%v", s.trace))
	cmd.Stderr = s.out
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintf(s.out, "%s: %v\n", proxy, err)
		return s.seeds
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		_, failure, found := strings.Cut(line, ": seed ")
		switch {
		case found:
			failed++
			number, what, _ := strings.Cut(failure, ": ")
			var seed uint64
			_, _ = fmt.Sscan(number, &seed)
			s.report(proxy, seed, fmt.Errorf("%s", what))
		case s.trace:
			fmt.Fprintln(s.out, line)
		}
	}
	if err := cmd.Wait(); err != nil && failed == 0 {
		fmt.Fprintf(s.out, "%s: go test: %v\n", proxy, err)
		return 1
	}
	return failed
}
