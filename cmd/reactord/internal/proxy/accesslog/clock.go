package accesslog

import "time"

// Layouts of times without fractions of a second: RFC 3339, as in the daemon's log, and HAProxy's.
const (
	rfc3339Layout = "2006-01-02T15:04:05"
	haproxyLayout = "02/Jan/2006:15:04:05"
)

// clock formats times. It caches the second, which many lines share.
type clock struct {
	layout string
	in     *time.Location
	second int64
	text   []byte // of the second; empty at first
}

// append appends a time with up to 9 digits of the fraction.
func (c *clock) append(line []byte, t time.Time, digits int) []byte {
	if s := t.Unix(); len(c.text) == 0 || s != c.second {
		c.second = s
		c.text = t.In(c.in).AppendFormat(c.text[:0], c.layout)
	}
	line = append(line, c.text...)
	if digits == 0 {
		return line
	}
	line = append(line, '.')
	fraction := t.Nanosecond()
	for scale := 100_000_000; digits > 0; digits, scale = digits-1, scale/10 {
		line = append(line, byte('0'+fraction/scale%10))
	}
	return line
}
