package manual

import (
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Commands writes reactord(1). It returns errors of w only.
func Commands(w io.Writer, app *kong.Application, e Edition) error {
	var p page
	p.title(app.Name, 1, "User Commands", e)
	p.section("NAME")
	p.WriteString(app.Name + ` \- layer 4 proxy of TCP, TLS and UDP on io_uring or epoll` + "\n")
	p.section("SYNOPSIS")
	p.WriteString(".B " + app.Name + "\n.I command\n.RI [ options ]\n.RI [ arguments ]\n")
	p.section("DESCRIPTION")
	for _, text := range description {
		p.paragraph(text)
	}
	p.section("OPTIONS")
	p.flags(app.Node)
	p.section("COMMANDS")
	environment := p.commands(app.Node)
	p.section("SIGNALS")
	p.entries(signals)
	p.section("EXIT STATUS")
	p.entries(status)
	p.section("ENVIRONMENT")
	p.entries(append(environment, variables...))
	p.section("FILES")
	p.entries(files)
	p.section("SEE ALSO")
	p.WriteString(".BR reactord.yaml (5),\n.BR systemctl (1),\n.BR io_uring (7)\n")
	_, err := io.WriteString(w, p.String())
	return err
}

// term is a name with its description.
type term struct{ name, text string }

var (
	description = []string{
		"`reactord` proxies connections of TCP, TLS and unix sockets, and datagrams of UDP, to groups of servers. It has " +
			"one thread and one ring of io_uring for each CPU, or epoll where io_uring is not available.",
		"A configuration file says what it does; see `reactord.yaml`(5). `reactord serve` runs the proxy of a file, " +
			"`reactord check` says what is wrong with a file, `reactord explain`, `reactord test` and " +
			"`reactord simulate` what it does with connections, and `reactord ctl` inspects and changes a running process.",
	}
	signals = []term{
		{"SIGTERM, SIGINT", "It drains: it stops accepting, and exits when all connections have ended. When the drain " +
			"times out, or on a second signal, it resets the remaining connections and exits."},
		{"SIGHUP", "It reads its configuration file again."},
		{"SIGUSR1", "It reopens its access log."},
		{"SIGUSR2", "It starts its program again, which takes over the listening sockets; then it ends with its last " +
			"connection."},
	}
	status = []term{
		{"0", "Success; after a drain."},
		{"1", "An error."},
		{"2", "A wrong command line."},
		{"3", "`reactord convert` has left something out, or something must be supplied; its report says what."},
	}
	variables = []term{
		{"NO_COLOR", "If it is not empty, tables have no colours."},
		{"NOTIFY_SOCKET, WATCHDOG_USEC, LISTEN_FDS, LISTEN_FDNAMES, FDSTORE", "See `sd_notify`(3) and `sd_listen_fds`(3)."},
	}
	files = []term{
		{"/etc/reactord/reactord.yaml", "The configuration file of the service."},
		{"/run/reactord/admin.sock", "The socket of the admin API, which `reactord ctl` asks."},
		{"/var/log/reactord/access.log", "The access log of the service, if the configuration has one."},
	}
)

func (p *page) entries(all []term) {
	for _, d := range all {
		names := strings.Split(d.name, ", ")
		for i, name := range names {
			names[i] = bold(name)
		}
		p.entry(strings.Join(names, ", "), d.text)
	}
}

// commands writes a subsection for each visible command that can be run or has flags. It returns the environment
// variables of the flags.
func (p *page) commands(n *kong.Node) (environment []term) {
	for _, c := range n.Children {
		if c.Hidden {
			continue
		}
		if flags := visible(c); c.Leaf() || len(flags) > 0 {
			p.subsection(c.FullPath())
			p.synopsis(c)
			p.paragraph(c.Help)
			for _, a := range c.Positional {
				p.entry(italic(a.Name), a.Help)
			}
			p.flags(c)
			for _, f := range flags {
				for _, name := range f.Envs {
					environment = append(environment, term{name, "The value of `--" + f.Name + "`, if the flag is not given."})
				}
			}
		}
		environment = append(environment, p.commands(c)...)
	}
	return environment
}

func visible(n *kong.Node) (flags []*kong.Flag) {
	for _, f := range n.Flags {
		if !f.Hidden {
			flags = append(flags, f)
		}
	}
	return flags
}

// synopsis returns one line: the command, its required flags, and its arguments.
func (p *page) synopsis(c *kong.Node) {
	words := []string{bold(c.FullPath())}
	optional := false
	for _, f := range visible(c) {
		if f.Required {
			words = append(words, tag(f))
		} else {
			optional = true
		}
	}
	if optional {
		words = append(words, "["+italic("options")+"]")
	}
	for _, a := range c.Positional {
		name := italic(a.Name)
		if a.IsCumulative() {
			name += " ..."
		}
		if !a.Required {
			name = "[" + name + "]"
		}
		words = append(words, name)
	}
	if !c.Leaf() {
		words = append(words, italic("command"))
	}
	p.line(strings.Join(words, " "))
}

func (p *page) flags(n *kong.Node) {
	for _, f := range visible(n) {
		name := tag(f)
		if f.Short != 0 {
			name = bold("-"+string(f.Short)) + ", " + name
		}
		p.entry(name, f.Help)
	}
}

// tag returns a flag as it is written on the command line.
func tag(f *kong.Flag) string {
	name := bold("--" + f.Name)
	if f.IsBool() || f.IsCounter() {
		return name
	}
	value := strings.Trim(f.PlaceHolder, `"`)
	if value == "" {
		value = strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
	}
	return name + "=" + italic(value)
}
