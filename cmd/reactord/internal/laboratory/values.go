package laboratory

import (
	"encoding"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// textValue is a value that is read from text.
type textValue interface{ encoding.TextUnmarshaler }

// Duration is a time of a file: "1.5s".
type Duration time.Duration

// UnmarshalText reads a time.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 {
		return fmt.Errorf("%q is no time: write it as 500ms, 10s or 1h", text)
	}
	*d = Duration(v)
	return nil
}

// Share is a part of a whole: "10%".
type Share float64

// UnmarshalText reads a percentage.
func (s *Share) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(string(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !percent || !(v >= 0 && v <= 100) {
		return fmt.Errorf("%q is no percentage: write it as 10%%", text)
	}
	*s = Share(v / 100)
	return nil
}

// Bound limits a number, or a percentage.
type Bound struct {
	Value   float64
	Percent bool
}

var errBound = errors.New("write a number, or a percentage as 10%")

// UnmarshalText reads a bound.
func (b *Bound) UnmarshalText(text []byte) (err error) {
	number, percent := strings.CutSuffix(string(text), "%")
	b.Value, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(b.Value >= 0) || percent && b.Value > 100 {
		return fmt.Errorf("%q is no bound: %w", text, errBound)
	}
	b.Percent = percent
	return nil
}

// String returns the bound as a file has it.
func (b Bound) String() string {
	text := strconv.FormatFloat(b.Value, 'g', 4, 64)
	if b.Percent {
		text += "%"
	}
	return text
}

// of returns how much of all n is, as the bound counts.
func (b Bound) of(n, all int) Bound {
	if !b.Percent {
		return Bound{float64(n), false}
	}
	if all == 0 {
		return Bound{0, true}
	}
	return Bound{100 * float64(n) / float64(all), true}
}
