package completion

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Shells are the shells that there is a script for.
var Shells = []string{"bash", "zsh", "fish"}

// Values has the possible values of flags and arguments by name, in addition to the model's.
type Values map[string][]string

// Write writes the script for a shell. The error is one of w, or says that the shell is unknown.
func Write(w io.Writer, shell string, app *kong.Application, values Values) error {
	scripts := map[string]func(program string, all []command) string{"bash": bash, "zsh": zsh, "fish": fish}
	script, ok := scripts[shell]
	if !ok {
		return fmt.Errorf("there is no completion for %q: write one of %s", shell, strings.Join(Shells, ", "))
	}
	_, err := io.WriteString(w, script(app.Name, commands(app, values)))
	return err
}

// command is a command, and what may follow it.
type command struct {
	path  string // of the commands, separated by spaces; "" for the program itself
	help  string
	below []command // without what follows them
	flags []value   // its own, and those of the commands above it
	args  []value
}

// value is a flag or an argument, and what may be written for it.
type value struct {
	name     string
	short    rune
	help     string
	bool     bool // a flag without a value
	repeated bool // it may be written again
	file     bool // the value is the path of a file
	words    []string
}

// commands returns all commands that are not hidden, the program itself first.
func commands(app *kong.Application, values Values) (all []command) {
	var visit func(n *kong.Node, above []value)
	visit = func(n *kong.Node, above []value) {
		c := command{path: n.Path(), help: n.Help, flags: slices.Clone(above)}
		for _, f := range n.Flags {
			if !f.Hidden {
				c.flags = append(c.flags, values.flag(f))
			}
		}
		for _, a := range n.Positional {
			c.args = append(c.args, values.of(a, a.Name))
		}
		at := len(all)
		all = append(all, c)
		for _, child := range n.Children {
			if !child.Hidden {
				all[at].below = append(all[at].below, command{path: child.Path(), help: child.Help})
				visit(child, c.flags)
			}
		}
	}
	visit(app.Node, nil)
	return all
}

func (v Values) flag(f *kong.Flag) value {
	out := v.of(f.Value, f.PlaceHolder)
	out.short = f.Short
	out.bool = f.IsBool() || f.IsCounter()
	return out
}

// of returns the value of a flag or an argument. One that is called FILE is the path of a file.
func (v Values) of(a *kong.Value, called string) value {
	out := value{
		name: a.Name, help: a.Help, repeated: a.IsCumulative(), file: strings.EqualFold(called, "file"), words: v[a.Name],
	}
	if a.Enum != "" {
		out.words = slices.DeleteFunc(a.EnumSlice(), func(s string) bool { return s == "" })
	}
	return out
}

// name returns the last word of the command's path.
func (c command) name() string { return c.path[strings.LastIndexByte(c.path, ' ')+1:] }

// spellings returns the ways to write a flag.
func (v value) spellings() []string {
	if v.short == 0 {
		return []string{"--" + v.name}
	}
	return []string{"-" + string(v.short), "--" + v.name}
}

// identifier returns the name of the shell's function for a command.
func identifier(program string, c command) string {
	return "_" + strings.NewReplacer(" ", "_", "-", "_").Replace(strings.TrimSpace(program+" "+c.path))
}

// quote puts a text between single quotes, as a POSIX shell does.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
