package envoypb

import (
	_ "embed" // the table
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
)

//go:embed fields.txt
var table string

// A field is a line of the table.
type field struct {
	name      string
	treatment byte   // h: honoured, i: ignored, r: refused
	remark    string // why it is refused or ignored, or empty
}

// fields returns the table. It is parsed on first use, so a process without a control plane never does.
var fields = sync.OnceValue(func() map[string]map[protoreflect.FieldNumber]field {
	messages := map[string]map[protoreflect.FieldNumber]field{}
	var message map[protoreflect.FieldNumber]field
	for line := range strings.Lines(table) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == ' ':
			words := append(strings.SplitN(line[1:], " ", 4), "")
			number, err := strconv.ParseInt(words[0], 10, 32)
			if err != nil {
				panic("fields.txt: " + line)
			}
			message[protoreflect.FieldNumber(number)] = field{name: words[1], treatment: words[2][0], remark: words[3]}
		default:
			message = map[protoreflect.FieldNumber]field{}
			messages[line] = message
		}
	}
	return messages
})
