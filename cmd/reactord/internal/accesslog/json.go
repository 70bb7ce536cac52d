package accesslog

import (
	"slices"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// asJSON makes an object of the fields. Texts and addresses that are not known are left out.
type asJSON struct {
	fields  []*field
	encoder zapcore.Encoder
	record  *Record // of the line that is made
	scratch []byte
	self    []zapcore.Field // the object, for the encoder
}

func newJSON(names []string) (*asJSON, error) {
	j := &asJSON{encoder: zapcore.NewJSONEncoder(zapcore.EncoderConfig{})}
	j.self = []zapcore.Field{zap.Inline(j)}
	if len(names) == 0 {
		for i := range fields {
			j.fields = append(j.fields, &fields[i])
		}
	}
	for _, name := range names {
		f, err := fieldOf(name)
		if err != nil {
			return nil, err
		}
		j.fields = append(j.fields, f)
	}
	return j, nil
}

func (j *asJSON) wants(name string) bool {
	return slices.ContainsFunc(j.fields, func(f *field) bool { return f.name == name })
}

func (j *asJSON) append(line []byte, r *Record) []byte {
	j.record = r
	text, err := j.encoder.EncodeEntry(zapcore.Entry{}, j.self)
	if err != nil {
		panic(err) // no field has an error
	}
	line = append(line, text.Bytes()...)
	text.Free()
	return line
}

// MarshalLogObject adds the fields of the record.
func (j *asJSON) MarshalLogObject(e zapcore.ObjectEncoder) error {
	for _, f := range j.fields {
		j.add(e, f)
	}
	return nil
}

func (j *asJSON) add(e zapcore.ObjectEncoder, f *field) {
	r := j.record
	switch {
	case f.text != nil:
		if s := f.text(r); s != "" {
			e.AddString(f.name, s)
		}
	case f.number != nil:
		e.AddInt64(f.name, f.number(r))
	case f.took != nil:
		e.AddFloat64(f.name, milliseconds(f.took(r)))
	case f.flag != nil:
		e.AddBool(f.name, f.flag(r))
	case f.at != nil:
		j.scratch = f.at(r).UTC().AppendFormat(j.scratch[:0], isoTime)
		e.AddByteString(f.name, j.scratch)
	case f.address != nil:
		if a := f.address(r); a.IsValid() {
			j.scratch = a.AppendTo(j.scratch[:0])
			e.AddByteString(f.name, j.scratch)
		}
	}
}

// isoTime is RFC 3339 in UTC with microseconds, as in the daemon's log.
const isoTime = "2006-01-02T15:04:05.000000Z"

// milliseconds is a duration as a number with three digits; -1: it was not reached.
func milliseconds(d time.Duration) float64 {
	if d < 0 {
		return -1
	}
	return float64(d/time.Microsecond) / 1000
}
