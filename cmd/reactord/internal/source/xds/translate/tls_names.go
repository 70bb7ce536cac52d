package translate

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// isHost reports whether a name can be requested.
func isHost(name string) bool {
	a, err := config.ParseAddress(net.JoinHostPort(name, "1"))
	return err == nil && a.Host == name
}

// narrower returns the names in both lists; an empty list stands for all.
func narrower(own, wanted []string) ([]string, error) {
	if len(own) == 0 || len(wanted) == 0 {
		return append(slices.Clip(own), wanted...), nil
	}
	var both []string
	for _, w := range wanted {
		for _, o := range own {
			one, err := meet(o, w)
			if err != nil {
				return nil, err
			}
			if one != "" {
				both = append(both, one)
			}
		}
	}
	if len(both) == 0 {
		return nil, errors.New("the names required by the listener and by its TLS context exclude each other")
	}
	return both, nil
}

// meet returns the names that match both forms, or "".
func meet(a, b string) (string, error) {
	x, err := config.ParseSAN(a)
	y, also := config.ParseSAN(b)
	if err := cmp.Or(err, also); err != nil {
		return "", err
	}
	if x.Match == "" {
		x, y = y, x // y is the narrower one
	}
	switch {
	case x.Kind == config.AnySAN:
		return y.String(), nil
	case y.Kind == config.AnySAN:
		return x.String(), nil
	case x.Kind != y.Kind:
		return "", nil
	case y.Match == "":
		if fits(x, y.Value) {
			return y.String(), nil
		}
		return "", nil
	case x == y:
		return a, nil
	case x.Match != y.Match || x.Match == "regex":
		return "", fmt.Errorf("%s and %s cannot be compared: write one of them in full", a, b)
	case fits(x, y.Value):
		return y.String(), nil
	case fits(y, x.Value):
		return x.String(), nil
	case x.Match == "contains":
		return "", fmt.Errorf("%s and %s cannot be compared: write one of them in full", a, b)
	}
	return "", nil
}

// fits reports whether a name, or part of one, matches s.
func fits(s config.SAN, name string) bool {
	want := s.Value
	if s.Kind == "dns" {
		name, want = strings.ToLower(name), strings.ToLower(want)
	}
	switch s.Match {
	case "regex":
		pattern, err := regexp.Compile(s.Pattern())
		return err == nil && pattern.MatchString(name)
	case "prefix":
		return strings.HasPrefix(name, want)
	case "suffix":
		return strings.HasSuffix(name, want)
	case "contains":
		return strings.Contains(name, want)
	}
	return name == want
}
