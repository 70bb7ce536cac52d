package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes.
type Size int64

// Binary units (IEC 80000-13).
const (
	KiB Size = 1 << (10 * (iota + 1))
	MiB
	GiB
)

// units lists the suffixes of sizes. Longer suffixes precede those that they end with.
var units = []struct {
	suffix string
	bytes  Size
}{
	{"KiB", KiB}, {"MiB", MiB}, {"GiB", GiB},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1},
}

// ParseSize parses a whole number with a unit: B, kB, MB, GB (powers of 1000), KiB, MiB or GiB (powers of 1024).
// Without a unit, it counts bytes.
func ParseSize(text string) (Size, error) {
	number, unit := text, Size(1)
	for _, u := range units {
		if n, ok := strings.CutSuffix(text, u.suffix); ok {
			number, unit = strings.TrimSuffix(n, " "), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange),
		err == nil && (n > math.MaxInt64/int64(unit) || n < math.MinInt64/int64(unit)):
		return 0, fmt.Errorf("%s is too large", quote(text))
	case err != nil:
		return 0, fmt.Errorf("%s is not a size: write a whole number with B, KiB, MiB or GiB, as in 64KiB", quote(text))
	}
	return Size(n) * unit, nil
}

// String formats the size in the largest binary unit that divides it.
func (s Size) String() string {
	for _, unit := range []struct {
		bytes  Size
		suffix string
	}{{GiB, "GiB"}, {MiB, "MiB"}, {KiB, "KiB"}} {
		if s != 0 && s%unit.bytes == 0 {
			return strconv.FormatInt(int64(s/unit.bytes), 10) + unit.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// UnmarshalText parses a size like [ParseSize].
func (s *Size) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSize(string(text))
	return err
}
