package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Sizes is a distribution of message sizes in bytes. As text it is one of
//
//	128             always this size
//	64-4k           every size of the range, with the same probability
//	64*70,1k*25,1m  a choice by weight; the default weight is 1
//	exp(512)        exponential with this mean, at most 16 times the mean
//
// where k is 1024 and m is 1024².
type Sizes struct {
	text    string
	mean    float64 // of exp; else 0
	choices []choice
	total   float64 // of all weights
	max     int
	fixed   int // the size, if there is only one; else 0
}

// choice is a range of sizes with a weight.
type choice struct {
	low, high int
	weight    float64
}

// MaxMessage is the largest message in bytes.
const MaxMessage = 64 << 20

// FixedSize returns the distribution with one size.
func FixedSize(n int) Sizes {
	return Sizes{text: strconv.Itoa(n), choices: []choice{{n, n, 1}}, total: 1, max: n, fixed: n}
}

// ParseSizes parses a distribution.
func ParseSizes(text string) (Sizes, error) {
	s := Sizes{text: text}
	if mean, ok := strings.CutPrefix(text, "exp("); ok {
		n, err := parseSize(strings.TrimSuffix(mean, ")"))
		if err != nil || n > MaxMessage/16 {
			return s, fmt.Errorf("%q is not a distribution of sizes", text)
		}
		s.mean, s.max = float64(n), 16*n
		return s, nil
	}
	for item := range strings.SplitSeq(text, ",") {
		size, weight, weighted := strings.Cut(item, "*")
		low, high, ranged := strings.Cut(size, "-")
		c := choice{weight: 1}
		var err, err2, err3 error
		c.low, err = parseSize(low)
		if c.high = c.low; ranged {
			c.high, err2 = parseSize(high)
		}
		if weighted {
			c.weight, err3 = strconv.ParseFloat(weight, 64)
		}
		if err != nil || err2 != nil || err3 != nil || c.high < c.low || c.weight <= 0 || math.IsInf(c.weight, 0) {
			return s, fmt.Errorf("%q is not a distribution of sizes: examples are 128, 64-4k, 64*70,1k*30 and exp(512)", text)
		}
		s.choices = append(s.choices, c)
		s.total += c.weight
		s.max = max(s.max, c.high)
	}
	if len(s.choices) == 1 && s.choices[0].low == s.max {
		s.fixed = s.max
	}
	return s, nil
}

func parseSize(text string) (int, error) {
	digits, unit := text, 1
	switch {
	case strings.HasSuffix(text, "k"):
		digits, unit = text[:len(text)-1], 1<<10
	case strings.HasSuffix(text, "m"):
		digits, unit = text[:len(text)-1], 1<<20
	}
	n, err := strconv.Atoi(digits)
	if err == nil && (n <= 0 || n > MaxMessage/unit) {
		err = strconv.ErrRange
	}
	return n * unit, err
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Sizes) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSizes(string(text))
	return err
}

// MarshalText implements encoding.TextMarshaler.
func (s Sizes) MarshalText() ([]byte, error) { return []byte(s.text), nil }

func (s Sizes) String() string { return s.text }

// Max returns the largest size.
func (s *Sizes) Max() int { return s.max }

// next draws a random size.
func (s *Sizes) next(r *rand.PCG) int {
	if s.fixed != 0 {
		return s.fixed
	}
	return s.draw(r)
}

func (s *Sizes) draw(r *rand.PCG) int {
	if s.mean != 0 {
		n := int(-s.mean * math.Log(1-unit(r)))
		return min(max(n, 1), s.max)
	}
	c := &s.choices[0]
	if len(s.choices) > 1 {
		at := unit(r) * s.total
		for i := range s.choices {
			if c = &s.choices[i]; at < c.weight {
				break
			}
			at -= c.weight
		}
	}
	if c.low == c.high {
		return c.low
	}
	return c.low + int(r.Uint64()%uint64(c.high-c.low+1))
}

// unit draws a number from [0, 1).
func unit(r *rand.PCG) float64 { return float64(r.Uint64()>>11) / (1 << 53) }
