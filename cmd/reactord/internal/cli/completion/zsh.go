package completion

import (
	"fmt"
	"strings"
)

// zsh returns a script for zsh: a function for each command, for _arguments of zshcompsys(1). It can be loaded from
// fpath, as a file _PROGRAM, or sourced.
func zsh(program string, all []command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n\n# Completion of %[1]s for zsh.\n", program)
	for _, c := range all {
		fmt.Fprintf(&b, "\n%s() {\n", identifier(program, c))
		if len(c.below) > 0 {
			b.WriteString("\tlocal curcontext=$curcontext state line\n\ttypeset -A opt_args\n")
		}
		b.WriteString("\t_arguments -C")
		for _, f := range c.flags {
			b.WriteString(" \\\n\t\t" + zshFlag(f))
		}
		for i, a := range c.args {
			at := fmt.Sprint(i + 1)
			if a.repeated {
				at = "*"
			}
			b.WriteString(" \\\n\t\t" + quote(at+":"+zshText(a.name)+":"+zshValues(a)))
		}
		if len(c.below) > 0 {
			b.WriteString(" \\\n\t\t'1:command:->command' \\\n\t\t'*::argument:->argument'")
		}
		b.WriteString("\n")
		if len(c.below) > 0 {
			zshBelow(&b, program, c)
		}
		b.WriteString("}\n")
	}
	fmt.Fprintf(&b, "\nif [[ $funcstack[1] == _%s ]]; then\n\t_%[1]s \"$@\"\nelse\n\tcompdef _%[1]s %[1]s\nfi\n", program)
	return b.String()
}

// zshBelow completes the name of a command below c, and what follows it.
func zshBelow(b *strings.Builder, program string, c command) {
	b.WriteString("\tcase $state in\n\tcommand)\n\t\tlocal -a commands=(\n")
	for _, sub := range c.below {
		fmt.Fprintf(b, "\t\t\t%s\n", quote(sub.name()+":"+strings.ReplaceAll(sub.help, ":", `\:`)))
	}
	b.WriteString("\t\t)\n\t\t_describe -t commands command commands\n\t\t;;\n\targument)\n\t\tcase $words[1] in\n")
	for _, sub := range c.below {
		fmt.Fprintf(b, "\t\t%s) %s ;;\n", sub.name(), identifier(program, sub))
	}
	b.WriteString("\t\tesac\n\t\t;;\n\tesac\n")
}

// zshFlag returns a flag for _arguments.
func zshFlag(f value) string {
	spec := "[" + zshText(f.help) + "]"
	equals := ""
	if !f.bool {
		spec += ":" + f.name + ":" + zshValues(f)
		equals = "="
	}
	switch {
	case f.repeated:
		return quote("*--" + f.name + equals + spec)
	case f.short != 0:
		return fmt.Sprintf("%s{-%c,--%s%s}%s", quote(fmt.Sprintf("(-%c --%s)", f.short, f.name)), f.short, f.name, equals,
			quote(spec))
	}
	return quote("--" + f.name + equals + spec)
}

func zshValues(v value) string {
	switch {
	case v.file:
		return "_files"
	case len(v.words) > 0:
		return "(" + strings.Join(v.words, " ") + ")"
	}
	return " "
}

// zshText returns a description in a specification of _arguments.
func zshText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`).Replace(s)
}
