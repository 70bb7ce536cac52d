package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/laboratory"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// explainCommand explains by a configuration file what would happen to a connection.
type explainCommand struct {
	Config string `required:"" short:"c" placeholder:"FILE" help:"Configuration file; -: standard input."`
	clientFlags
	At   laboratory.States `placeholder:"BACKEND/SERVER=STATE" help:"State of a server: up, down, drain or maintenance. Default: as in the file, and up by its check."`
	JSON bool              `name:"json" help:"Print JSON."`
}

// clientFlags describe a client.
type clientFlags struct {
	Listener string   `placeholder:"NAME" help:"Name of the listener. Default: the only one."`
	From     string   `placeholder:"IP[:PORT]" help:"Address of the client. Default: none, as of a client of a unix socket."`
	Via      string   `placeholder:"IP[:PORT]" help:"Address of a proxy that sends a PROXY header with the addresses of --from and --to, or unix."`
	To       string   `placeholder:"IP:PORT" help:"Address that the client connects to. Default: that of the listener."`
	SNI      string   `name:"sni" placeholder:"NAME" help:"Server name of its ClientHello."`
	ALPN     []string `name:"alpn" placeholder:"PROTOCOL" help:"Protocol of its ClientHello."`
	TLS      bool     `name:"tls" help:"The client speaks TLS. It does with --sni or --alpn."`
}

func (f *clientFlags) query() *admin.ExplanationQuery {
	return &admin.ExplanationQuery{
		Listener: f.Listener, From: f.From, Via: f.Via, To: f.To, SNI: f.SNI, ALPN: strings.Join(f.ALPN, ","), TLS: f.TLS,
	}
}

// Run explains what would happen to a connection by the file.
func (c explainCommand) Run() error {
	l, err := laboratory.Open(context.Background(), c.Config)
	if err != nil {
		return err
	}
	x, err := l.Explain((*proxy.ClientText)(&c.clientFlags), c.At)
	if wrong, ok := errors.AsType[*laboratory.StateError](err); ok {
		return fmt.Errorf("%w: --at %w", errFlags, wrong)
	}
	if err != nil {
		return err
	}
	w := bufio.NewWriter(os.Stdout)
	if c.JSON {
		text, err := json.MarshalIndent(x, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\n", text)
	} else {
		showExplanation(w, x, wantsColour(os.Stdout))
	}
	return w.Flush()
}

type ctlExplain struct {
	clientFlags
	Connection string `placeholder:"ID" help:"An open connection, as listed by ctl connections, instead of all that."`
}

// Run explains what would happen to a connection now, or what an open one has got.
func (l ctlExplain) Run(c *ctl) error {
	q := l.query()
	q.Connection = l.Connection
	return call(c, admin.GetExplanation, *q, func(w *bufio.Writer, x *stats.Explanation) {
		showExplanation(w, x, c.colour)
	})
}

// showExplanation prints an explanation for people.
func showExplanation(w io.Writer, x *stats.Explanation, colour bool) {
	c := &ctl{colour: colour}
	if o := x.Connection; o != nil {
		t := newTable("ID", "CLIENT", "STATE", "SNI", "ROUTE", "BACKEND", "SERVER", "ADDRESS")
		t.add(o.ID, o.Client, o.State, o.SNI, o.Route, o.Backend, o.Server, o.Address)
		c.table(w, t)
		fmt.Fprint(w, "\na connection like it would get now:\n\n")
	}
	fmt.Fprintf(w, "listener %s: %s\n", plain(x.Listener), describeOutcome(x.Outcome, x.Reason))
	for _, s := range x.Steps {
		mark := "no "
		if s.OK {
			mark = "ok "
		}
		fmt.Fprintf(w, "  %s %s: %s%s\n", mark, s.Setting, plain(s.Text), at(s.Origin))
	}
	if len(x.Routes) > 0 {
		fmt.Fprintln(w)
		t := newTable("ROUTE", "MATCHES", "WHY NOT", "ORIGIN")
		for _, r := range x.Routes {
			t.add(r.Name, yes(r.Unmet == ""), strings.TrimPrefix(r.Unmet+": "+r.Text, ": "), r.Origin)
		}
		c.table(w, t)
	}
	for i := range x.Backends {
		c.showBackend(w, &x.Backends[i])
	}
	showLimits(c, w, x)
	showTimeouts(c, w, x)
}

// describeOutcome describes what becomes of a connection.
func describeOutcome(outcome stats.Outcome, reason string) string {
	text := map[stats.Outcome]string{
		stats.OutcomeForward: "the connection is forwarded",
		stats.OutcomeQueue:   "the connection waits for a server",
		stats.OutcomeWait:    "the connection is not accepted yet",
		stats.OutcomeRefuse:  "the connection is refused",
		stats.OutcomeUnknown: "it is not known what a connection like it would get",
	}[outcome]
	text = cmp.Or(text, plain(string(outcome))) // of a later version
	if reason != "" {
		text += ": " + plain(reason)
	}
	return text
}

// at formats the origin of a setting.
func at(origin string) string {
	if origin == "" {
		return ""
	}
	return " (" + plain(origin) + ")"
}

func (c *ctl) showBackend(w io.Writer, b *stats.ExplainedBackend) {
	fmt.Fprintf(w, "\nbackend %s", plain(b.Backend))
	if b.Percent < 100 {
		fmt.Fprintf(w, ", of %.3g %% of such connections", b.Percent)
	}
	fmt.Fprintf(w, ": %s, policy %s", describeOutcome(b.Outcome, b.Reason), b.Policy)
	if b.Hashes {
		fmt.Fprint(w, ", by the address of the client")
	}
	if b.Sticky != "" {
		fmt.Fprintf(w, ", the client stays at %s", plain(b.Sticky))
	}
	if b.Panic {
		fmt.Fprint(w, ", in panic mode")
	}
	fmt.Fprintf(w, "\nTLS of the client: %s; PROXY header for the server: %s\n", b.ClientTLS,
		strings.Join(append([]string{b.Header}, b.TLVs...), " "))
	t := newTable("SERVER", "ADDRESS", "STATE", ">WEIGHT", ">PRIORITY", "LOCALITY", ">SHARE", ">CONNECTIONS", ">LIMIT",
		"CHOSEN", "CHECKS", "TLS NAME", "ORIGIN", "REASON")
	for _, s := range b.Servers {
		priority := strconv.Itoa(s.Priority)
		if s.Backup {
			priority = "backup"
		}
		t.add(s.Server, s.Address, s.State, s.Weight, priority, s.Locality, fmt.Sprintf("%.3g%%", s.Percent), s.Connections,
			limited(s.MaxConnections), yes(s.Chosen), s.OwnChecks, s.TLS, s.Origin, s.Reason)
	}
	c.table(w, t)
	for _, s := range b.TLS {
		fmt.Fprintf(w, "TLS with the %s: %s, ALPN %s, certificate %s, verifies %s%s\n", s.Side, s.Versions,
			cmp.Or(strings.Join(s.ALPN, ", "), "-"), cmp.Or(plain(s.Certificate), "-"), plain(s.Verifies), at(s.Origin))
	}
}

func showLimits(c *ctl, w io.Writer, x *stats.Explanation) {
	t := newTable("LIMIT", "OF", ">NOW", ">LIMIT", "ORIGIN")
	add := func(all []stats.ExplainedLimit) {
		for _, l := range all {
			t.add(l.Setting, l.Of, l.Now, limited(int(l.Limit)), l.Origin)
		}
	}
	add(x.Limits)
	for i := range x.Backends {
		add(x.Backends[i].Limits)
	}
	for _, r := range x.Rates {
		t.add(r.Setting, r.Of, "", fmt.Sprintf("%d %s/s", r.PerSecond, r.Unit), r.Origin)
	}
	fmt.Fprintln(w)
	c.table(w, t)
}

func showTimeouts(c *ctl, w io.Writer, x *stats.Explanation) {
	t := newTable("TIMEOUT", "OF", ">VALUE", "ORIGIN")
	add := func(of string, all []stats.ExplainedTimeout) {
		for i := range all {
			t.add(all[i].Setting, of, &all[i], all[i].Origin)
		}
	}
	add("listener "+x.Listener, x.Timeouts)
	for i := range x.Backends {
		add("backend "+x.Backends[i].Backend, x.Backends[i].Timeouts)
	}
	if len(t.rows) > 0 {
		fmt.Fprintln(w)
		c.table(w, t)
	}
}
