package units

import (
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0", 999: "999 ns", 1234: "1.23 µs", 12345: "12.3 µs",
		999_600: "1.00 ms", 1234567: "1.23 ms", 2 * time.Minute: "120 s"} {
		if got := Duration(d); got != want {
			t.Errorf("%d ns is %q, want %q", d, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 7: "7", 0.5: "0.50", 999: "999", 1000: "1.00 k", 12345: "12.3 k",
		1e6: "1.00 M", 2.5e9: "2.50 G"} {
		if got := Count(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
	if got := Bytes(12); got != "12 B" {
		t.Error(got)
	}
	if got := Bytes(12345); got != "12.3 kB" {
		t.Error(got)
	}
}
