package completion

import (
	"fmt"
	"strings"
)

// bash returns a script for bash. It needs no other package: the completions of Debian load it by the program's name.
func bash(program string, all []command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Completion of %s for bash.\n\n", program)
	b.WriteString(strings.ReplaceAll(bashFunction, "PROGRAM", program))
	fmt.Fprintf(&b, "\n# What may follow a command.\n_%s_at() {\n\tcase $1 in\n", program)
	for _, c := range all {
		var below, flags, valued []string
		for _, sub := range c.below {
			below = append(below, sub.name())
		}
		for _, f := range c.flags {
			flags = append(flags, f.spellings()...)
			if !f.bool {
				valued = append(valued, f.spellings()...)
			}
		}
		fmt.Fprintf(&b, "\t%s)\n\t\tcommands=%s\n\t\tflags=%s\n\t\tvalued=%s\n\t\t;;\n", quote(c.path),
			quote(strings.Join(below, " ")), quote(strings.Join(flags, " ")), quote(strings.Join(valued, " ")))
	}
	fmt.Fprintf(&b, "\tesac\n}\n\n# What may be written for a flag, or for an argument by its position.\n"+
		"_%s_values() {\n\tcase $1 in\n", program)
	row := func(patterns []string, v value) {
		for i, p := range patterns {
			patterns[i] = quote(p)
		}
		switch {
		case v.file:
			fmt.Fprintf(&b, "\t%s) files=yes ;;\n", strings.Join(patterns, "|"))
		case len(v.words) > 0:
			fmt.Fprintf(&b, "\t%s) words=%s ;;\n", strings.Join(patterns, "|"), quote(strings.Join(v.words, " ")))
		}
	}
	for _, c := range all {
		for _, f := range c.flags {
			if patterns := f.spellings(); !f.bool {
				for i := range patterns {
					patterns[i] = c.path + " " + patterns[i]
				}
				row(patterns, f)
			}
		}
		for i, a := range c.args {
			row([]string{fmt.Sprintf("%s %d", c.path, i)}, a)
		}
	}
	fmt.Fprintf(&b, "\tesac\n}\n\ncomplete -F _%s %[1]s\n", program)
	return b.String()
}

// bashFunction completes a word. = is a word of its own for bash, unless it is taken out of COMP_WORDBREAKS.
const bashFunction = `_PROGRAM() {
	local cur=${COMP_WORDS[COMP_CWORD]} path= flag= position=0 word commands flags valued words= files=
	COMPREPLY=()
	_PROGRAM_at ''
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		if [[ -n $flag ]]; then
			[[ $word == '=' ]] || flag=
		elif [[ " $valued " == *" $word "* ]]; then
			flag=$word
		elif [[ $word == -* ]]; then
			:
		elif [[ " $commands " == *" $word "* ]]; then
			path=${path:+$path }$word
			_PROGRAM_at "$path"
		else
			position=$((position + 1))
		fi
	done
	if [[ -n $flag ]]; then
		[[ $cur != '=' ]] || cur=
		_PROGRAM_values "$path $flag"
	elif [[ $cur == -* ]]; then
		words=$flags
	elif [[ -n $commands ]]; then
		words=$commands
	else
		_PROGRAM_values "$path $position"
		[[ -n $words$files$cur ]] || words=$flags
	fi
	if [[ -n $files ]]; then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	fi
}
`
