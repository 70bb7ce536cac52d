// Package units formats figures with three significant digits and a unit, for terminals and pages: [Duration], [Count],
// [Bytes] and [Percent].
package units

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Duration formats a duration: 1.23 ms.
func Duration(d time.Duration) string {
	ns := float64(d)
	switch {
	case d == 0:
		return "0"
	case math.Abs(ns) < 1e3:
		return digits(ns) + " ns"
	case math.Abs(ns) < 999.5e3:
		return digits(ns/1e3) + " µs"
	case math.Abs(ns) < 999.5e6:
		return digits(ns/1e6) + " ms"
	}
	return digits(ns/1e9) + " s"
}

// Count formats a number, with k, M or G for thousands: 12.3 k.
func Count(v float64) string {
	switch a := math.Abs(v); {
	case a < 999.5:
		if v == math.Trunc(v) {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return digits(v)
	case a < 999.5e3:
		return digits(v/1e3) + " k"
	case a < 999.5e6:
		return digits(v/1e6) + " M"
	}
	return digits(v/1e9) + " G"
}

// Bytes formats a number of bytes: 1.23 MB.
func Bytes(v float64) string {
	text := Count(v)
	if math.Abs(v) < 999.5 {
		return text + " B"
	}
	return text + "B"
}

// digits formats three significant digits.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// Percent formats a share of 1: 12.3 %.
func Percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
