package completion

import (
	"fmt"
	"strings"
)

// fish returns a script for fish.
func fish(program string, all []command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Completion of %s for fish.\n\n", program)
	var paths, valued []string
	for _, c := range all {
		paths = append(paths, fishQuote(c.path))
		for _, f := range c.flags {
			for _, spelling := range f.spellings() {
				if !f.bool {
					valued = append(valued, fishQuote(strings.TrimSpace(c.path+" "+spelling)))
				}
			}
		}
	}
	fmt.Fprintf(&b, fishFunction, program, strings.Join(paths, " "), strings.Join(valued, " "))
	fmt.Fprintf(&b, "\ncomplete -c %s -f\n", program)
	for _, c := range all {
		at := fmt.Sprintf("complete -c %s -n %s", program, fishQuote(fmt.Sprintf("__%s_at %s", program, fishQuote(c.path))))
		for _, sub := range c.below {
			fmt.Fprintf(&b, "%s -a %s -d %s\n", at, sub.name(), fishQuote(sub.help))
		}
		for _, f := range c.flags {
			line := at + " -l " + f.name
			if f.short != 0 {
				line += " -s " + string(f.short)
			}
			if !f.bool {
				line += fishValues(f, " -r")
			}
			b.WriteString(line + " -d " + fishQuote(f.help) + "\n")
		}
		for _, a := range c.args {
			if values := fishValues(a, ""); values != "" {
				b.WriteString(at + values + " -d " + fishQuote(a.help) + "\n")
			}
		}
	}
	return b.String()
}

func fishValues(v value, other string) string {
	switch {
	case v.file:
		return other + " -F"
	case len(v.words) > 0:
		return other + " -f -a " + fishQuote(strings.Join(v.words, " "))
	}
	return strings.ReplaceAll(other, " -r", " -x")
}

// fishQuote puts a text between single quotes; in these, fish knows two escapes.
func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// fishFunction says whether the words so far are those of a command. Words that are no command below the one so far are
// flags and arguments; what follows a flag with a value is its value.
const fishFunction = `function __%[1]s_at
    set -l path ''
    set -l value no
    for word in (commandline -opc)[2..]
        set -l next (string trim -- "$path $word")
        if test $value = yes
            set value no
        else if contains -- $next %[3]s
            set value yes
        else if contains -- $next %[2]s
            set path $next
        end
    end
    test "$path" = "$argv[1]"
end
`
