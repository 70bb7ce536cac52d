package cli

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/convert"
)

type convertCommand struct {
	File   string `arg:"" placeholder:"FILE" help:"Configuration of HAProxy or nginx; -: standard input."`
	From   string `enum:"auto,haproxy,nginx" default:"auto" help:"What FILE is for: haproxy, nginx, or auto (default), which is by its content."`
	Report string `placeholder:"FILE" help:"Write the report there. Default: standard error."`
	JSON   bool   `name:"json" help:"Write the report as JSON."`
}

// errLeftOut reports that the configuration could not be converted as a whole. Its report has said why.
var errLeftOut = errors.New("something was left out")

// statusLeftOut is the exit status of a conversion that has left something out.
const statusLeftOut = 3

// Run prints the configuration, and reports what became of each line. The error matches errLeftOut if something could
// not be said, or must be supplied.
func (c convertCommand) Run() error {
	text, err := c.read()
	if err != nil {
		return err
	}
	s := &convert.Source{Name: c.File, Text: text, Files: convert.System{}, Env: os.LookupEnv}
	if c.From != "auto" {
		s.Kind = convert.Kind(c.From)
	}
	result, failed := convert.Convert(s)
	if failed == nil {
		w := bufio.NewWriter(os.Stdout)
		if err := errors.Join(result.WriteYAML(w), w.Flush()); err != nil {
			return err
		}
	}
	if err := c.report(&result.Report); err != nil || failed != nil {
		return errors.Join(failed, err)
	}
	if result.Report.Count(convert.LeftOut)+result.Report.Count(convert.Supply) > 0 {
		return errLeftOut
	}
	return nil
}

func (c convertCommand) read() (string, error) {
	if c.File == "-" {
		text, err := io.ReadAll(os.Stdin)
		return string(text), err
	}
	return convert.System{}.ReadFile(c.File)
}

// report writes the report.
func (c convertCommand) report(r *convert.Report) error {
	to := os.Stderr
	if c.Report != "" {
		f, err := os.Create(c.Report)
		if err != nil {
			return err
		}
		defer f.Close()
		to = f
	}
	w := bufio.NewWriter(to)
	write := r.WriteText
	if c.JSON {
		write = r.WriteJSON
	}
	return errors.Join(write(w), w.Flush())
}
