package plan

import "fmt"

// Health says whether the health of a server is what its checks say, or what an operator does.
type Health uint8

// The values of [Health].
const (
	HealthAuto Health = iota // as checks, agent and ejection say
	HealthUp                 // up, whatever they say
	HealthDown               // down: no new connections, not even in panic
)

var healths = [...]string{HealthAuto: "auto", HealthUp: "up", HealthDown: "down"}

// String returns "auto", "up" or "down".
func (h Health) String() string {
	if int(h) < len(healths) {
		return healths[h]
	}
	return fmt.Sprintf("health %d", uint8(h))
}

// MarshalText returns the text of [Health.String].
func (h Health) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText does the same as [ParseHealth].
func (h *Health) UnmarshalText(text []byte) (err error) {
	*h, err = ParseHealth(string(text))
	return err
}

// ParseHealth reads "auto", "up" or "down".
func ParseHealth(text string) (Health, error) {
	for i, name := range healths {
		if text == name {
			return Health(i), nil
		}
	}
	return HealthAuto, fmt.Errorf("%q is unknown: write up, down or auto", text)
}
