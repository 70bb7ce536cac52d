package planner

import (
	"fmt"
	"reflect"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// checkFixed returns a problem for each changed setting that a reload cannot change. Such a reload is refused: a
// process that runs half of its file would surprise at its next start.
func checkFixed(old, next *config.Config) (problems []config.Problem) {
	for _, s := range []struct {
		path      string
		old, next any
	}{
		{"ring", old.Ring, next.Ring},
		{"loops", old.Loops, next.Loops},
		{"pin", old.Pin, next.Pin},
		{"incoming_cpu", old.IncomingCPU, next.IncomingCPU},
		{"min_wait", old.MinWait, next.MinWait},
		{"user", old.User, next.User},
		{"group", old.Group, next.Group},
		{"metrics.address", old.Metrics.Address, next.Metrics.Address},
		{"metrics.web_config_file", old.Metrics.WebConfigFile, next.Metrics.WebConfigFile},
		{"admin", old.Admin, next.Admin},
		{"log.format", old.Log.Format, next.Log.Format},
	} {
		if !reflect.DeepEqual(s.old, s.next) {
			problems = append(problems, config.Problem{Path: s.path, Text: fmt.Sprintf(
				"%s changes from %v to %v: a reload cannot do that; restart or upgrade the process", s.path,
				orNothing(s.old), orNothing(s.next))})
		}
	}
	return problems
}

// orNothing returns the text of a value, or "nothing" if that is empty.
func orNothing(v any) string {
	if text := fmt.Sprint(v); text != "" {
		return text
	}
	return "nothing"
}
